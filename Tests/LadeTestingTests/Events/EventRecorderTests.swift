import LadeCore
import LadeTesting
import Testing

@Suite("The recorder of events", .timeLimit(.minutes(5)))
struct EventRecorderTests {
    private let recorder = EventRecorder()

    @Test("remembers what happened, when, and to which attempt of which call")
    func remembers() {
        let time = VirtualTime()
        var first = Call(id: Call.ID(1), time: time, events: [recorder])
        let second = Call(id: Call.ID(2), time: time, events: [recorder])

        first.record(.callStarted(method: .get, url: "http://a/"))
        time.advance(by: .seconds(3))
        second.record(.callStarted(method: .post, url: "http://b/"))
        first.attempt = 2
        first.record(.callFinished(status: 200))

        #expect(recorder.story == ["call started GET http://a/", "call started POST http://b/", "call finished 200"])
        #expect(recorder.story(of: Call.ID(1)) == ["call started GET http://a/", "call finished 200"])
        #expect(recorder.events(of: Call.ID(2)).count == 1)
        #expect(recorder.records.map(\.call) == [Call.ID(1), Call.ID(2), Call.ID(1)])
        #expect(recorder.records.map(\.attempt) == [1, 1, 2])
        #expect(recorder.records[0].instant.duration(to: recorder.records[1].instant) == .seconds(3))
    }

    private static let context = LoadingError.Context()

    @Test(
        "describes each event in a line without values that differ from run to run",
        arguments: [
            (.exchangeStarted(method: .head, url: "http://a/"), "exchange started HEAD http://a/"),
            (.waitStarted(.connection(host: "a")), "wait started: a connection to a"),
            (.waitEnded(.backoff(attempt: 2), after: .seconds(1)), "wait ended: attempt 2"),
            (.interimResponse(status: 103, headers: [:]), "interim 103"),
            (.headReceived(status: 200, headers: [:], version: .http2), "head 200 HTTP/2"),
            (.headReceived(status: 200, headers: [:], version: nil), "head 200 HTTP"),
            (.exchangeFinished(Response.Metrics()), "exchange finished"),
            (
                .exchangeFailed(LoadingError(.timedOut(.idle), context), Response.Metrics()),
                "exchange failed: timedOut(idle)"
            ),
            (.exchangeFailed(LoadingError(.cancelled, context), Response.Metrics()), "exchange failed: cancelled"),
            (.callFailed(LoadingError(.unacceptableStatus(404), context)), "call failed: unacceptableStatus(404)"),
            (.callFailed(LoadingError(.notStored, context)), "call failed: notStored"),
            (.attemptStarted(2), "attemptStarted(2)"),
        ] as [(Call.Event, String)]
    )
    func lines(event: Call.Event, line: String) {
        #expect(EventRecorder.line(for: event) == line)
    }

    @Test("finds what was recorded before, the first that fits")
    func findsThePast() async throws {
        let call = Call(events: [recorder])
        for number in 1...3 { call.record(.attemptStarted(number)) }

        let event = try await recorder.event { if case .attemptStarted(let number) = $0 { number > 1 } else { false } }

        #expect(EventRecorder.line(for: event) == "attemptStarted(2)")
        try await recorder.line("attemptStarted(3)")
    }

    @Test("waits for what comes, also when what came before is forgotten meanwhile")
    func waitsForTheFuture() async throws {
        let call = Call(events: [recorder])
        for number in 1...3 { call.record(.attemptStarted(number)) }
        let hasLooked = Signal()
        let waiting = Task { [recorder] in
            try await recorder.event { event in
                hasLooked.step()
                return EventRecorder.line(for: event) == "call finished 204"
            }
        }
        for _ in 0..<3 { try await hasLooked.wait() }

        recorder.clear()
        #expect(recorder.story == [])
        call.record(.callFinished(status: 204))

        #expect(EventRecorder.line(for: try await waiting.value) == "call finished 204")
        #expect(recorder.story == ["call finished 204"])
    }

    @Test("ends a wait whose task is cancelled")
    func cancels() async {
        let waiting = Task { [recorder] in try await recorder.line("never") }
        waiting.cancel()
        await #expect(throws: LoadingError.self) { try await waiting.value }
    }
}
