#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeCurl
import LadeTesting
import Testing

@Suite("How long a transfer holds its request", .timeLimit(.minutes(5)))
struct TransferLifetimeTests {
    /// Raises its signal when it is released.
    private final class ReleaseSignal: Sendable {
        private let isGone: Signal

        init(_ isGone: Signal) { self.isGone = isGone }

        deinit { isGone.raise() }
    }

    private static func isHeld(_ releaseSignal: ReleaseSignal) {}

    private func send(
        _ transport: CurlTransport,
        _ server: LoopbackServer,
        _ isGone: Signal,
        _ events: EventRecorder = EventRecorder(),
        scope: Call.Scope? = nil
    ) async throws -> Response.Status {
        let releaseSignal = ReleaseSignal(isGone)
        let body = Request.Body.writer { write in
            Self.isHeld(releaseSignal)
            for _ in 0..<3 { try await write(Data("some".utf8)) }
        }
        let request = try server.request(.post, "/", body: body)
        var call = Call(events: [events])
        call.scope = scope
        let response = try await transport.send(request, call: call)
        return response.status
    }

    private func makeTransport() throws -> CurlTransport {
        var settings = TransportSettings()
        settings.proxy = .direct
        return try CurlTransport(settings: settings)
    }

    @Test("releases a body that was written when the exchange has ended")
    func letsGoOfBodies() async throws {
        let server = try LoopbackServer { .text($0.text) }
        let transport = try makeTransport()
        let isGone = Signal()

        #expect(try await send(transport, server, isGone) == 200)

        try await isGone.wait()
        await transport.shutDown()
    }

    @Test("releases a body when the exchange has ended, while the scope of its call lives on")
    func letsGoOfScopedBodies() async throws {
        let server = try LoopbackServer { .text($0.text) }
        let transport = try makeTransport()
        let (isGone, scope) = (Signal(), Call.Scope())

        #expect(try await send(transport, server, isGone, scope: scope) == 200)

        try await isGone.wait()
        scope.cancel()
        await transport.shutDown()
    }

    @Test("releases a body when the exchange has failed in the middle of it")
    func letsGoOfFailedBodies() async throws {
        let server = try LoopbackServer(script: [.readHead, .reset])
        let transport = try makeTransport()
        let isGone = Signal()

        await #expect(throws: LoadingError.self) { try await send(transport, server, isGone) }

        try await isGone.wait()
        await transport.shutDown()
    }

    @Test("releases the body of a call that is cancelled while it waits for a connection")
    func letsGoOfQueuedBodies() async throws {
        let server = try LoopbackServer(script: [.readRequest, .stall])
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.perHost = 1
        let transport = try CurlTransport(settings: settings)
        let first = Task { try await transport.send(server.request(), call: Call()) }
        try await server.requests(atLeast: 1)
        let (isGone, events) = (Signal(), EventRecorder())
        let second = Task { try await send(transport, server, isGone, events) }
        try await events.event { if case .waitStarted = $0 { true } else { false } }

        second.cancel()
        await #expect(throws: LoadingError.self) { try await second.value }

        // The first call still has the only connection.
        try await isGone.wait()
        first.cancel()
        await transport.shutDown()
    }
}
