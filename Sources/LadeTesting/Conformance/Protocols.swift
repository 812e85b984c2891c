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

// Section 2 of the spec, second half: connections, HTTP/2, proxies, addresses.
extension TransportConformance {
    static var protocols: [ConformanceCase] {
        [http2, http2Failures, idleClose, proxies, unixSocket, destination, ipv6, localAddresses]
    }

    // MARK: - HTTP/2

    private static let http2 = ConformanceCase(
        "TR-54",
        "makes 100 calls on one HTTP/2 connection",
        needs: [.peer("h2"), .peer("nginxTLS"), .peer("ca")]
    ) { context in
        await context.part("multiplexed") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            let token = context.token()
            let base = "https://localhost:\(try context.peers.port("h2"))"
            let call: @Sendable (String, String) async throws -> Void = { path, text in
                let request = try Request(.get, "\(base)\(path)token=\(token)")
                let exchange = try await context.exchange(transport, request)
                context.expect(exchange, gives: 200, text)
                context.expectEqual(exchange.version, .http2, "version")
            }
            // A burst makes one connection, not a hundred.
            try await inParallel(100) { _ in try await call("/ok?", "ok") }
            // The server answers none of these before all have come: they are under way at the same time.
            try await inParallel(100) { _ in try await call("/gather?count=100&", "together") }
            let counts = try await context.counts(transport, base, token)
            context.expectEqual(counts["connections"], 1, "connections")
            context.expectEqual(counts["requests"], 200, "requests at the server")
        }
        await context.part("negotiated") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            let address = "https://localhost:\(try context.peers.port("nginxTLS"))/connection"
            for (version, expected) in [
                (Request.VersionPreference.automatic, HTTPVersion.http2), (.http1_1, .http1_1),
            ] {
                var request = try Request(.get, address)
                request.version = version
                let exchange = try await context.exchange(transport, request)
                context.expectEqual(exchange.version, expected, "version asked for as \(version)")
                let told = expected == .http2 ? "\"protocol\":\"HTTP/2.0\"" : "\"protocol\":\"HTTP/1.1\""
                context.expect(exchange.text.contains(told), "the server saw \(exchange.text)")
            }
        }
    }

    private static let http2Failures = ConformanceCase(
        "TR-55",
        "survives GOAWAY between calls and tells what a reset stream means",
        needs: [.peer("h2"), .peer("ca")]
    ) { context in
        let base = "https://localhost:\(try context.peers.port("h2"))"
        let make: (String, Request.Delivery) throws -> (any Transport, Request, String) = { path, delivery in
            let token = context.token()
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            let address = "\(base)\(path)\(path.contains("?") ? "&" : "?")token=\(token)"
            return (transport, try Request(.get, address, delivery: delivery), token)
        }
        for (path, name) in [("/goaway", "GOAWAY"), ("/close-after", "close")] {
            await context.part("\(name) between calls") { context in
                let (transport, request, token) = try make(path, .buffered(limit: 100))
                for _ in 0..<3 { context.expect(try await context.exchange(transport, request), gives: 200, "ok") }
                let counts = try await context.counts(transport, base, token)
                context.expectEqual(counts["connections"], 3, "connections")
            }
        }
        for (name, delivery) in deliveries {
            await context.part("reset in the body, \(name)") { context in
                let (transport, request, token) = try make("/reset", delivery)
                // How much of the body was handed over before the reset is a matter of timing.
                context.expectLost(try await context.exchange(transport, request), nil, isSafeToRepeat: false)
                context.expectEqual(try await context.counts(transport, base, token)["requests"], 1, "requests")
            }
        }
        await context.part("reset before the head") { context in
            let (transport, request, token) = try make("/reset-head", .streamed)
            context.expectLost(try await context.exchange(transport, request), .nothing, isSafeToRepeat: false)
            context.expectEqual(try await context.counts(transport, base, token)["requests"], 1, "requests")
        }
        await context.part("refused again and again") { context in
            let (transport, request, _) = try make("/refuse?times=1000", .streamed)
            context.expectLost(try await context.exchange(transport, request), .nothing, isSafeToRepeat: true)
        }
        // Where GOAWAY leaves the request out it is safe to repeat too, but not every library tells.
        for (path, isSafe) in [("/refuse", true), ("/goaway-before", nil)] as [(String, Bool?)] {
            await context.part("\(path) once") { context in
                let (transport, request, _) = try make(path, .buffered(limit: 100))
                let exchange = try await context.exchange(transport, request)
                // The transport may repeat what was certainly not processed, or leave it to the caller.
                if exchange.error == nil {
                    context.expect(exchange, gives: 200, "ok")
                } else {
                    context.expectLost(exchange, .nothing, isSafeToRepeat: isSafe)
                    context.expect(try await context.exchange(transport, request), gives: 200, "ok")
                }
            }
        }
    }

    // MARK: - Keep-alive

    private static let idleClose = ConformanceCase("TR-56", "survives the close of an idle connection") { context in
        let answer = ServerStep.respond(.text("ok"))
        await context.part("seen before the call") { context in
            let server = try LoopbackServer(script: [.readRequest, answer, .close])
            let transport = try context.transport()
            for number in 0..<5 {
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                _ = try await context.within("the close") { try await server.connectionClosed(at: number) }
            }
        }
        for (name, step) in [("close", ServerStep.close), ("reset", .reset)] {
            await context.part("in a race with the call: \(name)") { context in
                let server = try LoopbackServer { index in
                    index == 0 ? [.readRequest, answer, .readHead, step] : [.readRequest, answer, .stall]
                }
                let transport = try context.transport()
                for _ in 0..<2 {
                    context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                }
                context.expectEqual(server.requestCount, 3, "requests at the server, the repeated one included")
            }
        }
        await context.part("a server that is quick to close") { context in
            let port = try context.peers.port("nginxShortKeepAlive")
            let transport = try context.transport()
            let request = try Request(.get, "http://127.0.0.1:\(port)/small.json")
            for _ in 0..<context.scaled(500) {
                let exchange = try await context.exchange(transport, request)
                guard exchange.error == nil else { return context.expect(exchange, gives: 200) }
            }
        }
    }

    // MARK: - Proxies

    private static let proxies = ConformanceCase(
        "TR-57",
        "goes through HTTP and SOCKS5 proxies and keeps their credentials from the origin",
        needs: [.peer("proxyHTTP"), .peer("nginxTLS"), .peer("ca")],
        // It sets variables of the environment.
        measuresProcess: true
    ) { context in
        let user = try context.peers.text("proxyUser")
        let password = try context.peers.text("proxyPassword")
        let good = ProxySettings.Proxy.Credentials(user: user, password: Secret(password))
        let bad = ProxySettings.Proxy.Credentials(user: user, password: "wrong")
        for (peer, kind, credentials) in [
            ("proxyHTTP", ProxySettings.Proxy.Kind.http, nil), ("proxyHTTPAuth", .http, good),
            ("proxySOCKS5", .socks5, nil), ("proxySOCKS5Auth", .socks5, good),
        ] {
            await context.part(peer) { context in
                let transport = try proxied(context, peer, kind, credentials)
                let origin = try LoopbackServer { .text("\($0.method) \($0.text)") }
                let body = RequestBody.text("through")
                context.expect(
                    try await context.exchange(transport, try origin.request(.post, "/\(peer)", body: body)),
                    gives: 200,
                    "POST through"
                )
                let head = origin.requests.first.map { String(decoding: $0.head, as: UTF8.self) } ?? ""
                context.expect(head.hasPrefix("POST /\(peer) HTTP/1.1\r\n"), "the origin saw \(head)")
                context.expect(!head.lowercased().contains("proxy-auth"), "credentials reached the origin: \(head)")
                try await expectThroughProxy(context, peer, authority: origin.authority)
                // And through a tunnel: TLS from end to end.
                let port = try context.peers.port("nginxTLS")
                let secure = try Request(.get, "https://localhost:\(port)/connection")
                context.expect(try await context.exchange(transport, secure), gives: 200)
                try await expectThroughProxy(context, peer, authority: "localhost:\(port)")
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

    private static func refusals(_ context: ConformanceContext, _ bad: ProxySettings.Proxy.Credentials) async {
        for (peer, kind, credentials) in [
            ("proxyHTTPAuth", ProxySettings.Proxy.Kind.http, nil), ("proxyHTTPAuth", .http, bad),
            ("proxyRefusing", .http, bad), ("proxySOCKS5Auth", .socks5, nil), ("proxySOCKS5Auth", .socks5, bad),
        ] {
            await context.part("\(peer) with \(credentials == nil ? "no" : "wrong") credentials") { context in
                let transport = try proxied(context, peer, kind, credentials)
                let secure = try Request(.get, "https://localhost:\(try context.peers.port("nginxTLS"))/")
                context.expect(
                    try await context.exchange(transport, secure),
                    failsWith: "a proxy that wants credentials"
                ) {
                    if case .proxy(.authenticationRequired, _) = $0 { true } else { false }
                }
            }
        }
        await context.part("proxyForbidding") { context in
            let transport = try proxied(context, "proxyForbidding", .http, nil)
            let secure = try Request(.get, "https://localhost:\(try context.peers.port("nginxTLS"))/")
            context.expect(try await context.exchange(transport, secure), failsWith: "a proxy that refuses with 403") {
                if case .proxy(.refused(_, status: 403), _) = $0 { true } else { false }
            }
        }
        await context.part("no proxy there") { context in
            let server = try LoopbackServer { _ in .status(204) }
            let port = Int(server.port)
            server.stop()
            let transport = try context.transport {
                $0.proxy = .proxy(ProxySettings.Proxy(.http, host: "127.0.0.1", port: port))
            }
            let request = try Request(.get, "http://192.0.2.1/")
            context.expect(try await context.exchange(transport, request), failsWith: "a proxy that cannot be reached")
            {
                if case .proxy(.cannotConnect, _) = $0 { true } else { false }
            }
        }
    }

    /// What the variables of the environment say; the origin's address is one nobody has (RFC 5737).
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
        _ kind: ProxySettings.Proxy.Kind,
        _ credentials: ProxySettings.Proxy.Credentials?,
        exceptions: [String] = []
    ) throws -> any Transport {
        let port = try context.peers.port(peer)
        return try context.transport {
            $0.tls = try context.trustingPeers()
            $0.proxy = .proxy(
                ProxySettings.Proxy(
                    kind,
                    host: "127.0.0.1",
                    port: port,
                    credentials: credentials,
                    exceptions: exceptions
                )
            )
        }
    }

    /// The proxies write a line for each request before they answer it.
    private static func expectThroughProxy(_ context: ConformanceContext, _ peer: String, authority: String)
        async throws
    {
        let log = FileManager.default.contents(atPath: try context.peers.text("proxyLog")) ?? Data()
        let lines = String(decoding: log, as: UTF8.self).split(separator: "\n")
        let isThere = lines.contains { $0.contains("\"proxy\": \"\(peer)\"") && $0.contains("\"\(authority)\"") }
        context.expect(isThere, "\(peer) was not asked for \(authority)")
    }

    // MARK: - Addresses

    private static let unixSocket = ConformanceCase("TR-58", "speaks over a Unix-domain socket") { context in
        var options = LoopbackServer.Options()
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(context.token())").path
        options.endpoint = .unixSocket(path: path)
        let server = try LoopbackServer(options) { .text("\($0["Host"] ?? "") \($0.target) \($0.text)") }
        let transport = try context.transport()
        let request = try server.request(.post, "/x", body: .text("body"))
        context.expect(try await context.exchange(transport, request), gives: 200, "localhost /x body")
        await context.part("nobody there") { context in
            var request = try Request(.get, "http://localhost/")
            request.destination = .unixSocket(path: path + ".not")
            context.expect(try await context.exchange(transport, request), failsWith: "no connection") {
                if case .cannotConnect = $0 { true } else { false }
            }
        }
    }

    private static let destination = ConformanceCase("TR-59", "dials elsewhere than it names") { context in
        await context.part("plain") { context in
            let servers = try (0..<2).map { number in
                try LoopbackServer { .text("\(number): \($0["Host"] ?? "")") }
            }
            let transport = try context.transport()
            for (number, server) in servers.enumerated() {
                var request = try Request(.get, "http://origin.example.com/")
                request.destination = .host("127.0.0.1", port: Int(server.port))
                let exchange = try await context.exchange(transport, request)
                context.expect(exchange, gives: 200, "\(number): origin.example.com")
                // Without a port the one of the address is dialled.
                var ported = try Request(.get, "http://origin.example.com:\(server.port)/")
                ported.destination = .host("127.0.0.1", port: nil)
                context.expect(
                    try await context.exchange(transport, ported),
                    gives: 200,
                    "\(number): origin.example.com:\(server.port)"
                )
            }
        }
        await context.part("TLS") { context in
            let port = try context.peers.port("nginxTLS")
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            var request = try Request(.get, "https://lade.test/connection")
            request.destination = .host("127.0.0.1", port: port)
            let exchange = try await context.exchange(transport, request)
            context.expect(exchange, gives: 200)
            context.expect(exchange.text.contains("\"host\":\"lade.test\""), "the server saw \(exchange.text)")
            context.expect(exchange.text.contains("\"serverName\":\"lade.test\""), "the server saw \(exchange.text)")
            var wrong = try Request(.get, "https://not-in-the-certificate.test/connection")
            wrong.destination = .host("127.0.0.1", port: port)
            context.expect(try await context.exchange(transport, wrong), failsWith: "a certificate for another name") {
                if case .untrustedServer(let fault, _) = $0 { fault.cause == .wrongHost } else { false }
            }
        }
    }

    private static let ipv6 = ConformanceCase("TR-60", "speaks over IPv6 and is not held up by a dead family") {
        context in
        var options = LoopbackServer.Options()
        options.endpoint = .ipv6()
        guard let server = try? LoopbackServer(options, handler: { .text($0["Host"] ?? "") }) else {
            throw ConformanceSkip("needs ::1")
        }
        await context.part("literal") { context in
            let exchange = try await context.exchange(try context.transport(), try server.request())
            context.expect(exchange, gives: 200, "[::1]:\(server.port)")
            context.expectEqual(exchange.metrics.remoteAddress, "::1", "remote address")
        }
        for isSixDead in [true, false] {
            await context.part(isSixDead ? "IPv6 does not answer" : "IPv4 does not answer") { context in
                let (living, dead) = try Blackhole.beside(isSixDead: isSixDead) { .text($0["Host"] ?? "") }
                var request = try Request(.get, "http://localhost:\(living.port)/")
                // A dead family that is waited for would use all of this.
                request.timeouts.connect = .seconds(10)
                let exchange = try await context.exchange(try context.transport(), request)
                context.expect(exchange, gives: 200, "localhost:\(living.port)")
                withExtendedLifetime(dead) {}
            }
        }
    }

    private static let localAddresses = ConformanceCase("TR-61", "answers file: and data: addresses unless told not to")
    {
        context in
        let transport = try context.transport()
        let path = FileManager.default.temporaryDirectory.appending(path: "lade file \(context.token())").path
        _ = FileManager.default.createFile(atPath: path, contents: Data("from a file".utf8))
        // A file that stays behind is the system's to clean up.
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = URL(filePath: path)
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let request = Request(.get, file, delivery: delivery)
                context.expect(try await context.exchange(transport, request), gives: 200, "from a file")
                for (address, text) in [
                    ("data:,a%20b", "a b"), ("data:text/plain;base64,aGVsbG8=", "hello"),
                    ("data:text/plain;charset=utf-8,%C3%A4", "ä"),
                ] {
                    let request = try Request(.get, address, delivery: delivery)
                    context.expect(try await context.exchange(transport, request), gives: 200, text)
                }
                let missing = Request(.get, URL(filePath: path + ".not"), delivery: delivery)
                context.expect(try await context.exchange(transport, missing), failsWith: "a file that cannot be read")
                {
                    if case .file(let fault, _) = $0 {
                        fault.operation == .read && fault.path == path + ".not"
                    } else {
                        false
                    }
                }
            }
        }
        await context.part("switched off") { context in
            let strict = try context.transport { $0.allowsLocalAddresses = false }
            for request in [Request(.get, file), try Request(.get, "data:,x")] {
                context.expect(try await context.exchange(strict, request), failsWith: "a scheme that is not supported")
                {
                    if case .invalidRequest(.unsupportedScheme, _) = $0 { true } else { false }
                }
            }
        }
    }
}

extension ConformanceContext {
    /// What the HTTP/2 peer counted for a token.
    func counts(_ transport: any Transport, _ base: String, _ token: String) async throws -> [String: Int] {
        let exchange = try await exchange(transport, try Request(.get, "\(base)/stats?token=\(token)"))
        guard let counts = try? JSONDecoder().decode([String: Int].self, from: exchange.body) else {
            throw ConformanceFailure(
                number: "peer",
                findings: ["the HTTP/2 peer told “\(exchange.text)”: \(exchange.ending)"]
            )
        }
        return counts
    }
}
