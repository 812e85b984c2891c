import CacheStoreConformance
import LadeCache
import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct BackgroundTests {
    private func at(_ seconds: Int) -> Instant { Instant(nanoseconds: 0).advanced(by: .seconds(seconds)) }

    private func key(_ number: Int) throws -> CacheKey { try RuleSamples.key("https://example.org/\(number)") }

    @Test("cache CA-172 one exchange for a key is in flight at a time")
    func startsOne() throws {
        var state = BackgroundState()
        let begun = try (0..<1_000).map { _ in state.begin(try key(1), now: at(0)) }

        #expect(begun.count { $0 } == 1)
        state.end(try key(1), hasFailed: false, now: at(1))
        let again = state.begin(try key(1), now: at(1))
        #expect(again)
    }

    @Test("cache CA-173 sixteen are in flight at most, and more are skipped")
    func boundsNumber() throws {
        var state = BackgroundState()
        let begun = try (0..<20).map { state.begin(try key($0), now: at(0)) }

        #expect(begun.count { $0 } == 16)
        #expect(state.count == 16)
    }

    @Test("cache CA-173 the next exchange after failures waits 1 s, doubling to 60 s")
    func delays() throws {
        var state = BackgroundState()
        var now = 0
        for delay in [1, 2, 4, 8, 16, 32, 60, 60] {
            let first = state.begin(try key(1), now: at(now))
            state.end(try key(1), hasFailed: true, now: at(now))
            let early = state.begin(try key(1), now: at(now + delay - 1))
            #expect(first, "after \(now) s")
            #expect(!early, "\(delay) s")
            now += delay
        }
        let last = state.begin(try key(1), now: at(now))
        state.end(try key(1), hasFailed: false, now: at(now))
        let restored = state.begin(try key(1), now: at(now))
        #expect(last)
        #expect(restored)
    }

    @Test("cache CA-173 the table of failures is bounded")
    func boundsFailures() throws {
        var state = BackgroundState()
        for number in 0...BackgroundState.failureLimit {
            _ = state.begin(try key(number), now: at(0))
            state.end(try key(number), hasFailed: true, now: at(0))
        }
        let first = state.begin(try key(0), now: at(0))
        let second = state.begin(try key(1), now: at(0))

        #expect(first)
        #expect(!second)
    }
}
