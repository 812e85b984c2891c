import LadeCore
import Testing
import TransportDoubles

@testable import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite("The inbox of the loop", .timeLimit(.minutes(5)))
struct InboxTests {
    /// An inbox that wakes a pipe instead of a loop.
    private final class Rig {
        let inbox: Inbox
        private let ends: [Int32]

        init() {
            var ends: [Int32] = [-1, -1]
            pipe(&ends)
            _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
            self.ends = ends
            inbox = Inbox(wakeUpDescriptor: ends[1])
        }

        deinit {
            for end in ends { close(end) }
        }

        /// How often the loop was woken since it was asked last.
        func takeWakeUps() -> Int {
            var bytes = [UInt8](repeating: 0, count: 1024)
            let count = read(ends[0], &bytes, bytes.count)
            return max(count, 0) / 8
        }

        /// The addresses of the exchanges that were posted since, and whether to stop.
        func drain() -> (submitted: [String], stops: Bool) {
            var messages: [LoopMessage] = []
            let stops = inbox.drain(into: &messages)
            return (InboxTests.addresses(messages), stops)
        }
    }

    private let rig = Rig()

    private static func addresses(_ messages: [LoopMessage]) -> [String] {
        messages.compactMap { if case .submit(let exchange) = $0 { exchange.address } else { nil } }
    }

    private func submission(_ number: Int) -> LoopMessage {
        .submit(.numbered(number))
    }

    @Test("hands over what was posted, in order and once")
    func handsOverInOrder() throws {
        for number in 0..<3 { #expect(rig.inbox.post(submission(number))) }

        let (submitted, stops) = rig.drain()
        #expect(submitted == ["http://127.0.0.1/0", "http://127.0.0.1/1", "http://127.0.0.1/2"])
        #expect(!stops)
        #expect(rig.drain().submitted.isEmpty)
    }

    @Test("wakes a sleeping loop once for a batch, and one that is awake never")
    func wakesOnce() throws {
        rig.inbox.post(submission(0))
        #expect(rig.takeWakeUps() == 0)
        _ = rig.drain()

        #expect(rig.inbox.fallAsleep())
        for number in 0..<3 { rig.inbox.post(submission(number)) }

        #expect(rig.takeWakeUps() == 1)
        _ = rig.drain()
        rig.inbox.post(submission(3))
        #expect(rig.takeWakeUps() == 0)
    }

    @Test("does not wake a loop that woke by itself")
    func knowsWhoIsAwake() throws {
        #expect(rig.inbox.fallAsleep())
        rig.inbox.wakeUp()
        rig.inbox.post(submission(0))
        #expect(rig.takeWakeUps() == 0)
    }

    @Test("does not let the loop sleep over a message or the end")
    func keepsTheLoopAwake() throws {
        rig.inbox.post(submission(0))
        #expect(!rig.inbox.fallAsleep())
        _ = rig.drain()
        #expect(rig.inbox.fallAsleep())

        rig.inbox.stop()

        #expect(rig.takeWakeUps() == 1)
        #expect(!rig.inbox.fallAsleep())
    }

    @Test("refuses messages after the stop, but hands over those from before")
    func stops() throws {
        rig.inbox.post(submission(0))
        rig.inbox.stop()

        #expect(!rig.inbox.post(submission(1)))
        let (submitted, stops) = rig.drain()
        #expect(submitted == ["http://127.0.0.1/0"])
        #expect(stops)
    }

    @Test("gives the closing loop what came too late, and touches the descriptor no more")
    func closes() throws {
        #expect(rig.inbox.fallAsleep())
        rig.inbox.post(submission(0))
        #expect(rig.takeWakeUps() == 1)

        #expect(Self.addresses(rig.inbox.close()) == ["http://127.0.0.1/0"])

        #expect(!rig.inbox.post(submission(1)))
        rig.inbox.stop()
        #expect(rig.takeWakeUps() == 0)
        #expect(rig.inbox.close().isEmpty)
    }

    @Test("resumes every waiter for the end, when it is announced and after")
    func announcesTheEnd() {
        let executor = HeldExecutor()
        let waiting = (0..<2).map { _ in executor.start { [inbox = rig.inbox] in await inbox.ended() } }
        _ = rig.inbox.close()
        executor.run()
        #expect(waiting.allSatisfy { $0.result == nil })

        rig.inbox.announceEnd()
        executor.run()

        #expect(waiting.allSatisfy { $0.value != nil })
        let late = executor.start { [inbox = rig.inbox] in await inbox.ended() }
        #expect(late.value != nil)
    }
}
