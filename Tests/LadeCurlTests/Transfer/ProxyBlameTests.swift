import Foundation
import LadeConformance
import LadeCore
import LadeCurl
import LadeTesting
import Testing

@Suite("What a proxy is blamed for", .timeLimit(.minutes(5)))
struct ProxyBlameTests {
    private func transport() throws -> CurlTransport {
        var settings = TransportSettings()
        // A port at which nothing listens.
        settings.proxy = .proxy(.init(.http, host: "127.0.0.1", port: 1, exceptions: ["127.0.0.1"]))
        return try CurlTransport(settings: settings)
    }

    @Test("finding FT-15 a 407 of a server to which the request went directly is an answer like any other")
    func directAnswer() async throws {
        let server = try LoopbackServer { _ in .status(407) }
        let transport = try transport()

        #expect(try await transport.send(server.request(), call: Call()).status == 407)
        await transport.shutDown()
    }

    @Test("finding FT-15 a 407 that a server sends through the proxy's tunnel is an answer like any other")
    func tunnelledAnswer() async throws {
        let peers = ConformancePeers.fromEnvironment()
        guard let proxy = try? peers.port("proxyHTTP"), let port = try? peers.port("h2"), let ca = try? peers.text("ca")
        else {
            if ProcessInfo.processInfo.environment["CI"] == "true" { Issue.record("a peer is missing (LADE_PEERS)") }
            try Test.cancel("needs the peers proxyHTTP and h2 (LADE_PEERS)")
        }
        var settings = TransportSettings()
        settings.proxy = .proxy(.init(.http, host: "127.0.0.1", port: proxy))
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = [.file(ca)]
        let transport = try CurlTransport(settings: settings)

        let request = try Request(.get, "https://localhost:\(port)/status/407")
        #expect(try await transport.send(request, call: Call()).status == 407)
        await transport.shutDown()
    }

    @Test("finding FT-15 a refused connection is the server's where no proxy is in use")
    func directConnection() async throws {
        let transport = try transport()

        let error = await #expect(throws: LoadingError.self) {
            try await transport.send(Request(.get, "http://127.0.0.1:1/"), call: Call())
        }
        guard case .cannotConnect(host: "127.0.0.1", reason: .refused) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        await transport.shutDown()
    }

    @Test("a proxy that cannot be reached is named for a host that only ends like an exception")
    func similarName() async throws {
        var settings = TransportSettings()
        settings.proxy = .proxy(.init(.http, host: "127.0.0.1", port: 1, exceptions: ["example.test"]))
        let transport = try CurlTransport(settings: settings)

        let error = await #expect(throws: LoadingError.self) {
            try await transport.send(Request(.get, "http://otherexample.test/"), call: Call())
        }
        guard case .proxy(.cannotConnect(proxy: "127.0.0.1:1")) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        await transport.shutDown()
    }

    @Test("finding FT-15 a Unix-domain socket that does not exist is not the proxy's failure")
    func unixSocket() async throws {
        var settings = TransportSettings()
        settings.proxy = .proxy(.init(.http, host: "127.0.0.1", port: 1))
        let transport = try CurlTransport(settings: settings)
        var request = try Request(.get, "http://localhost/")
        request.destination = .unixSocket(path: "/nonexistent/lade")
        let ready = request

        let error = await #expect(throws: LoadingError.self) {
            try await transport.send(ready, call: Call())
        }
        guard case .cannotConnect(host: "localhost", reason: _) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        await transport.shutDown()
    }
}
