import LadeCore
import Testing

@testable import LadeCache

@Suite("The timer of calls that wait together", .timeLimit(.minutes(5)))
struct WaitTimerTests {
    private func at(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test("cache CA-177 the timer is set for the earliest end, and later ones need no other timer")
    func setsEarliest() {
        var timer = WaitTimer()

        let ends = [10, 10, 20, 5, 5, 7].map { timer.set(until: at($0))?.end }

        #expect(ends == [at(10), nil, nil, at(5), nil, nil])
    }

    @Test("cache CA-177 a timer that another one has taken the place of rings without effect, and is cancelled")
    func replaces() throws {
        var timer = WaitTimer()
        let task = Task<Void, Never> {}
        let first = timer.set(until: at(10))
        let isKept = timer.keep(task, try #require(first).number)

        let second = timer.set(until: at(5))

        let hasEnded = [timer.end(try #require(first).number), timer.end(try #require(second).number)]
        #expect(isKept)
        #expect(second?.replaced == task)
        #expect(hasEnded == [false, true])
    }

    @Test("cache CA-177 once no call waits the timer is stopped, also one whose task is not known yet")
    func stops() throws {
        var timer = WaitTimer()
        let task = Task<Void, Never> {}
        let first = timer.set(until: at(10))
        let unknown = timer.stop()
        let isKeptLate = timer.keep(task, try #require(first).number)
        let second = timer.set(until: at(10))
        _ = timer.keep(task, try #require(second).number)

        let stopped = timer.stop()
        let hasEnded = timer.end(try #require(second).number)

        #expect(unknown == nil)
        #expect(!isKeptLate)
        #expect(stopped == task)
        #expect(!hasEnded)
    }
}
