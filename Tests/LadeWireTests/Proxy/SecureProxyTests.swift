import COpenSSL
import Foundation
import LadeCore
import LadeExchange
import LadeTesting
import Testing

@testable import LadeWire

/// TLS through proxies and with proxies, over simulated sockets.
@Suite("TLS and proxies", .timeLimit(.minutes(5)))
struct SecureProxyTests {
    private static let answer = [SecureSystem.Step.text("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")]

    /// Runs one exchange.
    ///
    /// - Returns: Its error; nil when it succeeds.
    /// - Throws: When the loop cannot be made, or the exchange does not end.
    private func run(
        _ realm: Realm,
        _ plan: SecureSystem.Plan,
        proxy scheme: String,
        _ url: String = "https://10.0.0.1/"
    ) throws -> (error: LoadingError?, system: SecureSystem) {
        let system = SecureSystem([plan])
        let loop = try WireLoop(realm.settings, system: system, proxies: realm.proxies(scheme), now: { 1 })
        let recorder = EventRecorder()
        var request = try Request(url)
        request.headers = ["Authorization": "Bearer origin-secret"]
        request.timeouts.idle = .seconds(5)
        request.timeouts.connect = .seconds(3)
        let exchange = try Exchange(
            request,
            call: Call(events: [recorder]),
            rules: Exchange.Rules(realm.settings),
            lane: .direct
        )
        loop.inbox.post(.submit(exchange))
        var isOver = false
        for _ in 0..<100_000 where !isOver {
            #expect(loop.turn())
            if case .finished = exchange.phase { isOver = true }
        }
        #expect(isOver, "the exchange did not end")
        loop.inbox.stop()
        #expect(!loop.turn())
        loop.shutDown()
        #expect(system.openSockets == 0)
        for event in recorder.events {
            if case .exchangeFailed(let error, _) = event { return (error, system) }
        }
        return (nil, system)
    }

    @Test(
        "wire WR-66 TLS from end to end through an HTTP proxy and within an HTTPS one, at any split",
        arguments: [("http", Int.max), ("http", 7), ("https", .max), ("https", 7)]
    )
    func tunnels(scheme: String, piece: Int) throws {
        let realm = try Realm()
        let own = scheme == "https" ? try TLSServer(realm.proxyIdentity()) : nil
        let origin = try TLSServer(Identity("server", names: "IP:10.0.0.1", issuer: realm.authority))
        var plan = SecureSystem.Plan(server: origin, responses: [Self.answer])
        plan.proxy = SecureSystem.Proxy(server: own)
        plan.piece = piece
        let (error, system) = try run(realm, plan, proxy: scheme)
        #expect(error == nil)
        let peer = try #require(system.peers.first)
        #expect(
            peer.seenByProxy
                == "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1:443\r\nProxy-Authorization: Basic \(SimulatedProxy.basic)\r\n\r\n"
        )
        #expect(peer.seen.contains("origin-secret"))
        #expect(!peer.seen.contains(SimulatedProxy.basic))
    }

    @Test("wire WR-43 an HTTPS proxy receives http requests in the absolute form, within its TLS")
    func absoluteForm() throws {
        let realm = try Realm()
        var plan = SecureSystem.Plan(server: try realm.server(nil), responses: [Self.answer])
        plan.proxy = SecureSystem.Proxy(server: try TLSServer(realm.proxyIdentity()), response: nil)
        let (error, system) = try run(realm, plan, proxy: "https", "http://10.0.0.1/a")
        #expect(error == nil)
        #expect(system.peers.first?.seenByProxy.hasPrefix("GET http://10.0.0.1/a HTTP/1.1\r\n") == true)
    }

    @Test("an HTTPS proxy that is not trusted is named, and receives no credentials")
    func untrusted() throws {
        let realm = try Realm()
        let other = try TLSServer(Identity("other", names: "IP:127.0.0.9", issuer: nil))
        var plan = SecureSystem.Plan(server: try realm.server(nil), responses: [Self.answer])
        plan.proxy = SecureSystem.Proxy(server: other)
        let (error, system) = try run(realm, plan, proxy: "https")
        guard case .untrustedServer(let cause)? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause.host == "127.0.0.9")
        #expect(system.peers.first?.seenByProxy.isEmpty == true)
    }

    @Test("an origin that is not trusted is named, whatever the proxy", arguments: ["http", "https"])
    func untrustedOrigin(scheme: String) throws {
        let realm = try Realm()
        let own = scheme == "https" ? try TLSServer(realm.proxyIdentity()) : nil
        // Its certificate is for another address.
        var plan = SecureSystem.Plan(server: try realm.server(nil), responses: [Self.answer])
        plan.proxy = SecureSystem.Proxy(server: own)
        let (error, system) = try run(realm, plan, proxy: scheme)
        guard case .untrustedServer(let cause)? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause.host == "10.0.0.1")
        #expect(cause.cause == .wrongHost)
        #expect(system.peers.first?.seen.isEmpty == true)
    }

    @Test("the end of an HTTPS proxy within the handshakes is typed by whose it was", arguments: [1, 500, 1_200])
    func ends(cut: Int) throws {
        let realm = try Realm()
        let origin = try TLSServer(Identity("server", names: "IP:10.0.0.1", issuer: realm.authority))
        var plan = SecureSystem.Plan(server: origin, responses: [Self.answer])
        plan.proxy = SecureSystem.Proxy(server: try TLSServer(realm.proxyIdentity()))
        plan.cut = cut
        let (error, _) = try run(realm, plan, proxy: "https")
        switch error?.kind {
        case .proxy(.cannotConnect(let proxy))?: #expect(proxy.hasPrefix("127.0.0.9:3128"))
        case .proxy(.refused(_, status: nil))?: #expect(cut > 500)
        case .cannotConnect(_, .handshakeFailed)?: #expect(cut > 500)
        default: Issue.record("\(String(describing: error))")
        }
    }

    @Test("wire WR-66 a refusal within the TLS of a proxy has its status")
    func refusal() throws {
        let realm = try Realm()
        var plan = SecureSystem.Plan(server: try realm.server(nil), responses: [Self.answer])
        let response = "HTTP/1.1 503 No\r\nContent-Length: 2\r\n\r\nno"
        plan.proxy = SecureSystem.Proxy(server: try TLSServer(realm.proxyIdentity()), response: response, ends: true)
        let (error, _) = try run(realm, plan, proxy: "https")
        #expect(error?.kind == .proxy(.refused(proxy: "127.0.0.9:3128 (from all_proxy)", status: 503)))
    }
}

extension Realm {
    /// The identity of the proxy at 127.0.0.9.
    fileprivate func proxyIdentity() throws -> Identity {
        try Identity("proxy", names: "IP:127.0.0.9", issuer: authority)
    }

    fileprivate func proxies(_ scheme: String) throws -> ProxyRules {
        try ProxyRules(settings, environment: ["all_proxy": "\(scheme)://proxy-user:proxy-secret@127.0.0.9:3128"])
    }
}
