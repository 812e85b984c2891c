import LadeCore
import LadeExchange
import LadeTesting
import Testing

@testable import LadeCurl

@Suite("Cancelling while waiting for a connection", .timeLimit(.minutes(5)))
struct GivingUpTests {
    private func isEnding(_ event: Call.Event) -> Bool {
        switch event {
        case .exchangeFailed, .exchangeFinished: true
        default: false
        }
    }

    @Test("a call that waits for its head ends in the turn in which it is cancelled: finding FQ-24 transport TR-37")
    func oneTurn() async throws {
        // The loop reads its clock three times in a turn, and at its end.
        let readings = Locked(0)
        let clock = LoopClock(lead: {
            readings.withLock { $0 += 1 }
            return 0
        })
        let server = try LoopbackServer(script: [.readRequest, .stall])
        var settings = TransportSettings()
        settings.proxy = .direct
        let transport = try CurlTransport(settings: settings, clock: clock)
        let request = try server.request()
        let ending = Locked<Int?>(nil)
        let sink = EndingSink {
            let count = readings.withLock { $0 }
            ending.withLock { $0 = count }
        }
        let call = Task { try await transport.send(request, call: Call(events: [sink])) }
        try await server.requests(atLeast: 1)

        let cancelled = await Task(executorPreference: transport.executor) {
            call.cancel()
            return readings.withLock { $0 }
        }.value

        let error = await #expect(throws: LoadingError.self) { try await call.value }
        #expect(error?.isCancellation == true)
        let ended = try #require(ending.withLock { $0 })
        #expect(ended - cancelled <= 3)
        try await server.open(atMost: 0)
        await transport.shutDown()
    }

    /// Calls a closure when an exchange fails, on the thread of the loop.
    private struct EndingSink: Call.Observer {
        let failed: @Sendable () -> Void

        func record(_ event: Call.Event, of call: Call) {
            if case .exchangeFailed = event { failed() }
        }
    }

    @Test("a call that gets its slot in the turn in which it is cancelled is not sent, and ends once")
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
        // An exchange that has not begun has no end.
        #expect(!events.events.contains(where: isEnding))
        #expect(!events.events.contains { if case .exchangeStarted = $0 { true } else { false } })
        #expect(server.requestCount == 2)
    }

    @Test(
        "a call that gets its slot in the turn in which the transport ends is cancelled once",
        arguments: [false, true]
    )
    func lastTurn(isCancelled: Bool) async throws {
        let server = try LoopbackServer(script: [.readRequest, .stall])
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.perHost = 1
        let transport = try CurlTransport(settings: settings)
        let events = EventRecorder()
        let request = try server.request()
        let first = Task { try await transport.send(request, call: Call()) }
        try await server.requests(atLeast: 1)
        let second = Task { try await transport.send(request, call: Call(events: [events])) }
        try await events.event { if case .waitStarted = $0 { true } else { false } }

        // The loop finds all of it at once: the first call's end makes room for the second.
        let inbox = transport.loop.inbox
        await Task(executorPreference: transport.executor) {
            first.cancel()
            if isCancelled { second.cancel() }
            inbox.stop()
        }.value

        for call in [first, second] {
            let error = await #expect(throws: LoadingError.self) { try await call.value }
            #expect(error?.isCancellation == true)
        }
        await inbox.ended()
        // An exchange that has not begun has no end.
        #expect(!events.events.contains(where: isEnding))
        #expect(server.requestCount == 1)
    }
}
