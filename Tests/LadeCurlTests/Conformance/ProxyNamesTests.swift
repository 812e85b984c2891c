import Foundation
import LadeCore
import LadeCurl
import LadeConformance
import LadeTesting
import Testing

@Suite("Names behind proxies", .timeLimit(.minutes(5)))
struct ProxyNamesTests {
    @Test(
        "finding FQ-15 a name that only the proxy can resolve is the proxy's to resolve",
        arguments: [("proxySOCKS5", TransportSettings.ProxyChoice.Proxy.Kind.socks5), ("proxyHTTP", .http)]
    )
    func leavesNamesToTheProxy(_ peer: String, _ kind: TransportSettings.ProxyChoice.Proxy.Kind) async throws {
        let peers = ConformancePeers.fromEnvironment()
        guard peers.contains(peer) else {
            if ProcessInfo.processInfo.environment["CI"] == "true" { Issue.record("\(peer) is missing (LADE_PEERS)") }
            try Test.cancel("needs the peer \(peer) (LADE_PEERS)")
        }
        let server = try LoopbackServer { request in .text("for \(request["Host"] ?? "")") }
        var settings = TransportSettings()
        settings.proxy = .proxy(
            TransportSettings.ProxyChoice.Proxy(kind, host: "127.0.0.1", port: try peers.port(peer))
        )
        let transport = try CurlTransport(settings: settings)
        // RFC 6761 §6.4: no resolver knows the name, but the proxy does (see Tests/Peers/proxy.py).
        let request = try Request(.get, "http://known-to-proxy.invalid:\(server.port)/")
        let response = try await transport.send(request, call: Call(id: Call.ID(1)))
        #expect(response.status == 200)
        let body = try await response.body.collect(limit: 1000)
        #expect(String(decoding: body, as: UTF8.self) == "for known-to-proxy.invalid:\(server.port)")
        await transport.shutDown()
    }
}
