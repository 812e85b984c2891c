import Foundation
import LadeConformance
import LadeCore
import LadeTesting
import Testing

@testable import LadeCurl

@Suite("Connections that are lost", .timeLimit(.minutes(5)))
struct LostConnectionTests {
    private let transport: CurlTransport

    init() throws {
        var settings = TransportSettings()
        settings.proxy = .direct
        transport = try CurlTransport(settings: settings)
    }

    @Test(
        "a request whose new connection is closed without a response is sent once",
        arguments: [Request.Method.get, .put]
    )
    func sendsOnce(method: Request.Method) async throws {
        let server = try LoopbackServer(script: [.readRequest, .close])

        let error = await #expect(throws: LoadingError.self) {
            try await transport.send(server.request(method), call: Call())
        }

        guard case .connectionLost(.nothing, isSafeToRepeat: false) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(server.requestCount == 1)
        await transport.shutDown()
    }

    @Test(
        "finding FH-14 an answer that is cut short while its request is not read is incomplete",
        arguments: [
            "Content-Length: 10\r\n\r\nok", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
            "Transfer-Encoding: chunked\r\n\r\na\r\nok",
        ]
    )
    func cutWhileSending(answer: String) async throws {
        let isRead = Signal()
        let server = try LoopbackServer(
            script: [.readHead, .send("HTTP/1.1 200 OK\r\n" + answer), .wait(for: isRead), .reset]
        )
        let body = Request.Body.bytes(Data(count: 32 << 20))
        let request = try server.request(.post, "/", body: body, delivery: .streamed)
        let response = try await transport.send(request, call: Call())
        var chunks = response.body.makeAsyncIterator()
        #expect(try await chunks.next() == Data("ok".utf8))

        isRead.raise()

        await #expect(throws: LoadingError.self) { try await chunks.next() }
        await transport.shutDown()
    }

    // MARK: - HTTP/2

    private static let hasPeers = ConformancePeers.fromEnvironment().contains("hostileH2")

    /// A transport that trusts the hostile HTTP/2 peer, and the peer's address.
    private func rig(perHost: Int = 6) throws -> (CurlTransport, base: String) {
        let peers = ConformancePeers.fromEnvironment()
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = [.file(try peers.text("ca"))]
        settings.connections.perHost = perHost
        return (try CurlTransport(settings: settings), "https://localhost:\(try peers.port("hostileH2"))")
    }

    /// Waits until a number of requests are sent, with no other in flight.
    private func sent(_ count: Int, by transport: CurlTransport) async {
        let loop = transport.loop
        func areSent() async -> Bool {
            await Task(executorPreference: transport.executor) {
                loop.running.count { ($0.handle?.sending.sendings ?? 0) > 0 } == count
            }.value
        }
        while await !areSent() {}
    }

    @Test(
        "finding FH-14 an answer over HTTP/1.1 that is cut short is incomplete, also after the server required HTTP/1.1",
        .enabled(if: hasPeers)
    )
    func cutAfterDowngrade() async throws {
        let (transport, base) = try rig()
        let request = try Request(.get, "\(base)/http-1-1-required?missing=3")

        let error = await #expect(throws: LoadingError.self) { try await transport.send(request, call: Call()) }

        guard case .incompleteBody(received: 4, expected: 7) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        await transport.shutDown()
    }

    @Test(
        "finding FH-14 calls share a connection of HTTP/2 as before after a request that the server required over HTTP/1.1",
        .enabled(if: hasPeers)
    )
    func sharingAfterDowngrade() async throws {
        let (transport, base) = try rig(perHost: 1)
        #expect(try await transport.send(Request(.get, base + "/ok"), call: Call()).version == .http2)
        let required = try Request(.get, base + "/http-1-1-required")
        #expect(try await transport.send(required, call: Call()).version == .http1_1)
        // Answered when both are there; one connection must carry them.
        let request = try Request(.get, "\(base)/goaway-then-end?count=2&token=\(UInt64.random(in: 0...(.max)))")
        var call = Call()
        call.deadline = call.time.now.advanced(by: .seconds(60))
        let bounded = call

        async let one = transport.send(request, call: bounded)
        async let two = transport.send(request, call: bounded)

        let versions = try await [one.version, two.version]
        #expect(versions == [.http2, .http2])
        await transport.shutDown()
    }

    @Test(
        "finding FH-4 streams without an answer end with their broken connection, not by a time-out",
        .enabled(if: hasPeers)
    )
    func streamsOfBrokenConnection() async throws {
        let (transport, base) = try rig()
        #expect(try await transport.send(Request(.get, base + "/ok"), call: Call()).version == .http2)
        let token = UInt64.random(in: 0...(.max))
        // The server waits for one more of these than there will be. They are not sent again.
        let waiting = try Request(.post, "\(base)/break?stay&count=21&token=\(token)", body: .text("asked"))
        let calls = (0..<20).map { _ in Task { try await transport.send(waiting, call: Call()) } }
        await sent(calls.count, by: transport)

        let breaking = try Request(.get, base + "/break-head?stay")
        await #expect(throws: LoadingError.self) { try await transport.send(breaking, call: Call()) }

        for call in calls {
            let error = await #expect(throws: LoadingError.self) { try await call.value }
            #expect(error.map { if case .timedOut = $0.kind { true } else { false } } == false)
        }
        await transport.shutDown()
    }

    @Test(
        "finding FH-4 no stream is complete whose connection breaks at another stream, though the server stays connected",
        .enabled(if: hasPeers)
    )
    func begunStreamsOfBrokenConnection() async throws {
        let (transport, base) = try rig()
        #expect(try await transport.send(Request(.get, base + "/ok"), call: Call()).version == .http2)
        let request = try Request(.get, base + "/hold")
        var calls: [Task<Response, any Error>] = []
        for _ in 0..<8 {
            let events = EventRecorder()
            calls.append(Task { try await transport.send(request, call: Call(events: [events])) })
            try await events.event { if case .headReceived = $0 { true } else { false } }
        }

        let breaking = try Request(.get, base + "/break-head?stay")
        await #expect(throws: LoadingError.self) { try await transport.send(breaking, call: Call()) }

        for call in calls {
            let error = await #expect(throws: LoadingError.self) { try await call.value }
            #expect(error.map { if case .timedOut = $0.kind { true } else { false } } == false)
        }
        await transport.shutDown()
    }

    @Test(
        "finding FH-14 a stream that the server refuses ends no other stream of its connection",
        .enabled(if: hasPeers)
    )
    func streamsBesideRefusedOne() async throws {
        let (transport, base) = try rig()
        #expect(try await transport.send(Request(.get, base + "/ok"), call: Call()).version == .http2)
        // The server waits for one more of these. They are not sent again.
        let address = "\(base)/break?count=2&token=\(UInt64.random(in: 0...(.max)))"
        let request = try Request(.post, address, body: .text("asked"))
        let waiting = Task { try await transport.send(request, call: Call()) }
        await sent(1, by: transport)

        await #expect(throws: LoadingError.self) {
            try await transport.send(Request(.post, base + "/refuse", body: .text("asked")), call: Call())
        }

        let loop = transport.loop
        #expect(await Task(executorPreference: transport.executor) { loop.running.count }.value == 1)
        await transport.shutDown()
        await #expect(throws: LoadingError.self) { try await waiting.value }
    }

    @Test(
        "finding FH-4 no stream of a broken connection is complete, however much arrived before the breach",
        .enabled(if: hasPeers),
        arguments: [1, 10, 40]
    )
    func largeStreamsOfBrokenConnection(frames: Int) async throws {
        let (transport, base) = try rig()
        #expect(try await transport.send(Request(.get, base + "/ok"), call: Call()).version == .http2)
        let token = UInt64.random(in: 0...(.max))
        let request = try Request(.get, "\(base)/break?count=8&frames=\(frames)&token=\(token)")

        let calls = (0..<8).map { _ in Task { try await transport.send(request, call: Call()) } }

        for call in calls {
            let error = await #expect(throws: LoadingError.self) { try await call.value }
            #expect(error.map { if case .timedOut = $0.kind { true } else { false } } == false)
        }
        await transport.shutDown()
    }
}
