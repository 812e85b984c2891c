import Foundation
import LadeCore
import LadeCurl
import LadeTesting
import Testing

@Suite("Connections that are lost", .timeLimit(.minutes(5)))
struct LostConnectionTests {
    private let transport: CurlTransport

    init() throws {
        var settings = TransportSettings()
        settings.proxy = .direct
        transport = try CurlTransport(settings: settings)
    }

    @Test("a request whose new connection is closed without an answer is sent once", arguments: [Method.get, .put])
    func sendsOnce(method: Method) async throws {
        let server = try LoopbackServer(script: [.readRequest, .close])

        let error = await #expect(throws: LoadingError.self) {
            try await transport.send(server.request(method), call: Call())
        }

        guard case .connectionLost(.nothing, isSafeToRepeat: false, _) = error else {
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
        let body = RequestBody.bytes(Data(count: 32 << 20))
        let request = try server.request(.post, "/", body: body, delivery: .streamed)
        let response = try await transport.send(request, call: Call())
        var chunks = response.body.makeAsyncIterator()
        #expect(try await chunks.next() == Data("ok".utf8))

        isRead.raise()

        await #expect(throws: LoadingError.self) { try await chunks.next() }
        await transport.shutDown()
    }
}
