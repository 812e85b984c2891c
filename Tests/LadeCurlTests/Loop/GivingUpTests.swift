import LadeCore
import LadeCurl
import LadeTesting
import Testing

@Suite("Giving up while waiting for a connection", .timeLimit(.minutes(5)))
struct GivingUpTests {
    private func isEnding(_ event: Event) -> Bool {
        switch event {
        case .exchangeFailed, .exchangeFinished: true
        default: false
        }
    }

    @Test("a call whose place came up in the turn in which it was given up is not sent, and ends once")
    func sameTurn() async throws {
        let server = try LoopbackServer { connection in
            let request = try connection.readRequest()
            if request.path == "/stalls" { try connection.stall() }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.perHost = 1
        let transport = try CurlTransport(settings: settings)
        let events = EventRecorder()
        let (stalling, waiting) = (try server.request(.get, "/stalls"), try server.request(.get, "/waits"))
        let first = Task { try await transport.send(stalling, call: Call()) }
        try await server.requests(atLeast: 1)
        let second = Task { try await transport.send(waiting, call: Call(events: [events])) }
        try await events.event { if case .waitStarted = $0 { true } else { false } }

        // Both words of it are on the loop's list before it looks: the first call's end makes room for the second.
        await Task(executorPreference: transport.executor) {
            first.cancel()
            second.cancel()
        }.value

        await #expect(throws: LoadingError.self) { try await first.value }
        await #expect(throws: LoadingError.self) { try await second.value }
        // The place is free again.
        #expect(try await transport.send(server.request(.get, "/next"), call: Call()).status == 200)
        await transport.shutDown()
        #expect(events.events.filter(isEnding).count == 1)
        #expect(!events.events.contains { if case .exchangeStarted = $0 { true } else { false } })
        #expect(server.requestCount == 2)
    }
}
