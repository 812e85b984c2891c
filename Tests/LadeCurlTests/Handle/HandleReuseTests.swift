import LadeCore
import LadeCurl
import LadeTesting
import Testing

@Suite struct HandleReuseTests {
    @Test("a handle that is used again dials the same other destination again, on a fresh connection too")
    func keepsDestination() async throws {
        let server = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        var settings = TransportSettings()
        settings.proxy = .direct
        let transport = try CurlTransport(settings: settings)
        var request = try Request("http://elsewhere.test/")
        request.destination = .host("127.0.0.1", port: Int(server.port))

        // The server closes each connection, so that every exchange looks at the destination.
        for _ in 0..<20 { #expect(try await transport.send(request, call: Call()).status == 200) }

        await transport.shutDown()
    }
}
