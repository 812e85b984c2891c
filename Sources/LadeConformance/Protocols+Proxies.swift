#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import LadeCore
import LadeTesting

// Proxies.
extension TransportConformance {
    static let proxies = ConformanceCase(
        "TR-57",
        "goes through HTTP and SOCKS5 proxies and keeps their credentials from the origin",
        needs: [.peer("proxyHTTP"), .peer("nginxTLS"), .peer("ca")],
        // It sets variables of the environment.
        measuresProcess: true
    ) { context in
        let user = try context.peers.text("proxyUser")
        let password = try context.peers.text("proxyPassword")
        let good = TransportSettings.ProxyChoice.Proxy.Credentials(user: user, password: Secret(password))
        let bad = TransportSettings.ProxyChoice.Proxy.Credentials(user: user, password: "wrong")
        for (peer, kind, credentials) in [
            ("proxyHTTP", TransportSettings.ProxyChoice.Proxy.Kind.http, nil), ("proxyHTTPAuth", .http, good),
            ("proxySOCKS5", .socks5, nil), ("proxySOCKS5Auth", .socks5, good),
        ] {
            await context.part(peer) { context in
                let transport = try proxied(context, peer, kind, credentials)
                let origin = try LoopbackServer { .text("\($0.method) \($0.text)") }
                let body = Request.Body.text("through")
                context.expect(
                    try await context.exchange(transport, try origin.request(.post, "/\(peer)", body: body)),
                    gives: 200,
                    "POST through"
                )
                let head = origin.requests.first.map { String(decoding: $0.head, as: UTF8.self) } ?? ""
                context.expect(head.hasPrefix("POST /\(peer) HTTP/1.1\r\n"), "the origin saw \(head)")
                context.expect(!head.lowercased().contains("proxy-auth"), "credentials reached the origin: \(head)")
                context.expectEqual(try logged(context, peer, authority: origin.authority), 1, "requests at \(peer)")
                context.expectEqual(origin.requestCount, 1, "requests at the origin")
                // Through a tunnel: TLS from end to end.
                let port = try context.peers.port("nginxTLS")
                let secure = try Request(.get, "https://localhost:\(port)/connection")
                let before = try logged(context, peer, authority: "localhost:\(port)")
                let tunnelled = try await context.exchange(transport, secure)
                context.expect(tunnelled, gives: 200)
                context.expect(tunnelled.text.contains("\"protocol\":\"HTTP/2.0\""), "the origin saw \(tunnelled.text)")
                context.expect(
                    tunnelled.text.contains("\"proxyAuthorization\":\"\""),
                    "the origin saw \(tunnelled.text)"
                )
                context.expect(
                    try logged(context, peer, authority: "localhost:\(port)") > before,
                    "\(peer) got no request for a tunnel"
                )
            }
        }
        await context.part("exceptions") { context in
            let origin = try LoopbackServer { _ in .text("direct") }
            let transport = try proxied(
                context,
                "proxyForbidding",
                .http,
                nil,
                exceptions: ["127.0.0.1", "other.test"]
            )
            context.expect(try await context.exchange(transport, try origin.request()), gives: 200, "direct")
        }
        await refusals(context, bad)
        await environment(context)
    }

    private static func refusals(_ context: ConformanceContext, _ bad: TransportSettings.ProxyChoice.Proxy.Credentials)
        async
    {
        for (peer, kind, credentials) in [
            ("proxyHTTPAuth", TransportSettings.ProxyChoice.Proxy.Kind.http, nil), ("proxyHTTPAuth", .http, bad),
            ("proxyRefusing", .http, bad), ("proxySOCKS5Auth", .socks5, nil), ("proxySOCKS5Auth", .socks5, bad),
        ] {
            await context.part("\(peer) with \(credentials == nil ? "no" : "wrong") credentials") { context in
                let transport = try proxied(context, peer, kind, credentials)
                let secure = try Request(.get, "https://localhost:\(try context.peers.port("nginxTLS"))/")
                context.expect(
                    try await context.exchange(transport, secure),
                    failsWith: "a proxy that requires credentials"
                ) {
                    if case .proxy(.authenticationRequired) = $0.kind { true } else { false }
                }
            }
        }
        await context.part("proxyForbidding") { context in
            let transport = try proxied(context, "proxyForbidding", .http, nil)
            let secure = try Request(.get, "https://localhost:\(try context.peers.port("nginxTLS"))/")
            context.expect(try await context.exchange(transport, secure), failsWith: "a proxy that refuses with 403") {
                if case .proxy(.refused(_, status: 403)) = $0.kind { true } else { false }
            }
        }
        await context.part("no proxy there") { context in
            let server = try LoopbackServer { _ in .status(204) }
            let port = Int(server.port)
            server.stop()
            let transport = try context.transport {
                $0.proxy = .proxy(TransportSettings.ProxyChoice.Proxy(.http, host: "127.0.0.1", port: port))
            }
            let request = try Request(.get, "http://192.0.2.1/")
            context.expect(try await context.exchange(transport, request), failsWith: "a proxy that cannot be reached")
            {
                if case .proxy(.cannotConnect) = $0.kind { true } else { false }
            }
        }
    }

    /// The variables of the environment.
    ///
    /// The origin's address is reserved for documentation (RFC 5737).
    private static func environment(_ context: ConformanceContext) async {
        await context.part("environment") { context in
            let proxy = try LoopbackServer { .text("proxied \($0.target)") }
            let origin = try LoopbackServer { _ in .text("direct") }
            setenv("http_proxy", proxy.address(), 1)
            setenv("no_proxy", "192.0.2.2", 1)
            defer {
                unsetenv("http_proxy")
                unsetenv("no_proxy")
            }
            let transport = try context.transport { $0.proxy = .environment }
            let target = "http://192.0.2.1/x?y"
            context.expect(
                try await context.exchange(transport, try Request(.get, target)),
                gives: 200,
                "proxied \(target)"
            )
            context.expect(try await context.exchange(transport, try origin.request()), gives: 200, "direct")
            var excepted = try Request(.get, "http://192.0.2.2:\(origin.port)/")
            excepted.destination = .host("127.0.0.1", port: nil)
            context.expect(try await context.exchange(transport, excepted), gives: 200, "direct")
        }
    }

    private static func proxied(
        _ context: ConformanceContext,
        _ peer: String,
        _ kind: TransportSettings.ProxyChoice.Proxy.Kind,
        _ credentials: TransportSettings.ProxyChoice.Proxy.Credentials?,
        exceptions: [String] = []
    ) throws -> any Transport {
        let port = try context.peers.port(peer)
        return try context.transport {
            $0.tls = try context.trustingPeers()
            $0.proxy = .proxy(
                TransportSettings.ProxyChoice.Proxy(
                    kind,
                    host: "127.0.0.1",
                    port: port,
                    credentials: credentials,
                    exceptions: exceptions
                )
            )
        }
    }

    /// How many requests for an authority a proxy has logged; it logs a request before it responds.
    private static func logged(_ context: ConformanceContext, _ peer: String, authority: String) throws -> Int {
        let log = FileManager.default.contents(atPath: try context.peers.text("proxyLog")) ?? Data()
        let lines = String(decoding: log, as: UTF8.self).split(separator: "\n")
        return lines.count { $0.contains("\"proxy\": \"\(peer)\"") && $0.contains("\"\(authority)\"") }
    }
}
