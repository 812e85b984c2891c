import LadeTesting
import Testing

@testable import LadeCore

@Suite("Waits of a call", .timeLimit(.minutes(5)))
struct CallWaitingTests {
    private let time = VirtualTime()
    private let recorder = EventRecorder()

    private func makeCall() -> Call {
        var call = Call(time: time, events: [recorder])
        call.scope = Call.Scope()
        call.recordTimes(since: time.now)
        return call
    }

    private var waitEnds: Int {
        recorder.events.filter { if case .waitEnded = $0 { true } else { false } }.count
    }

    @Test("a wait that is cancelled ends in the events, and its time counts")
    func cancelledWait() async throws {
        let call = makeCall()
        let end = time.now.advanced(by: .seconds(60))
        let task = Task {
            await #expect(throws: LoadingError.self) { try await call.wait(until: end, for: .connectivity) }
        }
        _ = try await time.sleepers(atLeast: 1)
        time.advance(by: .seconds(2))

        call.scope?.cancel()
        _ = await task.value

        #expect(waitEnds == 1)
        #expect(call.times?.stages.entries == [.init(stage: .wait(.connectivity), duration: .seconds(2))])
    }

    @Test("a wait that fails ends in the events, and its time counts")
    func failedWait() async {
        let call = makeCall()

        await #expect(throws: LoadingError.self) {
            try await call.wait(for: .connectivity) { () async throws(LoadingError) in
                time.advance(by: .seconds(2))
                throw LoadingError(.notStored)
            }
        }

        #expect(waitEnds == 1)
        #expect(call.times?.stages.entries == [.init(stage: .wait(.connectivity), duration: .seconds(2))])
    }

    @Test("a wait may end at the deadline, and no nanosecond later")
    func waitsUntilTheDeadline() throws {
        var late = makeCall()
        late.deadline = time.now.advanced(by: .seconds(5))
        let call = late

        try call.checkDeadline(wait: .seconds(5), for: .connectivity)
        #expect(throws: LoadingError.self) {
            try call.checkDeadline(wait: .seconds(5) + .nanoseconds(1), for: .connectivity)
        }
    }
}
