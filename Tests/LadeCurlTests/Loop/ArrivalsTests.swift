import Foundation
import LadeCore
import LadeCurl
import LadeTesting
import Testing

@Suite("Bytes that arrive before a request", .timeLimit(.minutes(5)))
struct ArrivalsTests {
    @Test("finding FH-1 a byte that arrived before the first request of a connection is no part of its response")
    func beforeFirstRequest() async throws {
        let answer = Data("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8)
        let proxy = try LoopbackServer { connection in
            // SOCKS 5: methods, then the address. The response arrives with the end of the proxy's own.
            _ = try connection.receive()
            try connection.send(Data([5, 0]))
            _ = try connection.receive()
            try connection.send(Data([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]) + answer)
            try connection.stall()
        }
        var settings = TransportSettings()
        settings.proxy = .proxy(.init(.socks5, host: "127.0.0.1", port: Int(proxy.port)))
        let transport = try CurlTransport(settings: settings)

        let error = await #expect(throws: LoadingError.self) {
            try await transport.send(Request(.get, "http://192.0.2.1/"), call: Call())
        }

        guard case .malformedResponse(let fault) = error?.kind, fault.rule == .beforeRequest else {
            Issue.record("\(String(describing: error))")
            return
        }
        await transport.shutDown()
    }
}
