#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Addresses.
extension TransportConformance {
    static let unixSocket = ConformanceCase("TR-58", "speaks over a Unix-domain socket") { context in
        var options = LoopbackServer.Options()
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(context.token())").path
        options.address = .unixSocket(path: path)
        let server = try LoopbackServer(options) { .text("\($0["Host"] ?? "") \($0.target) \($0.text)") }
        let transport = try context.transport()
        let request = try server.request(.post, "/x", body: .text("body"))
        context.expect(try await context.exchange(transport, request), gives: 200, "localhost /x body")
        await context.part("no server") { context in
            var request = try Request(.get, "http://localhost/")
            request.destination = .unixSocket(path: path + ".not")
            context.expect(try await context.exchange(transport, request), failsWith: "no connection") {
                if case .cannotConnect = $0.kind { true } else { false }
            }
        }
    }

    static let destination = ConformanceCase("TR-59", "connects to another host than the address names") { context in
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
                // Without a port, the address's port is used.
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
                if case .untrustedServer(let fault) = $0.kind { fault.cause == .wrongHost } else { false }
            }
        }
    }

    static let ipv6 = ConformanceCase("TR-60", "speaks over IPv6 and is not delayed by an unreachable address family") {
        context in
        var options = LoopbackServer.Options()
        options.address = .ipv6()
        guard let server = try? LoopbackServer(options, handler: { .text($0["Host"] ?? "") }) else {
            throw ConformanceError.skipped("needs ::1")
        }
        await context.part("literal") { context in
            let exchange = try await context.exchange(try context.transport(), try server.request())
            context.expect(exchange, gives: 200, "[::1]:\(server.port)")
            context.expectEqual(exchange.metrics.remoteAddress, "::1", "remote address")
        }
        for isSixDead in [true, false] {
            await context.part(isSixDead ? "IPv6 does not respond" : "IPv4 does not respond") { context in
                let (living, dead) = try Blackhole.beside(isSixDead: isSixDead) { .text($0["Host"] ?? "") }
                var request = try Request(.get, "http://localhost:\(living.port)/")
                // RFC 8305 §8: the other family is tried within 2 s.
                request.timeouts.connect = .seconds(2)
                let exchange = try await context.exchange(try context.transport(), request)
                context.expect(exchange, gives: 200, "localhost:\(living.port)")
                withExtendedLifetime(dead) {}
            }
        }
    }

    static let localAddresses = ConformanceCase("TR-61", "loads file: and data: addresses unless forbidden") {
        context in
        let transport = try context.transport()
        let path = FileManager.default.temporaryDirectory.appending(path: "lade file \(context.token())").path
        _ = FileManager.default.createFile(atPath: path, contents: Data("from a file".utf8))
        // A file that remains is left to the system to clean up.
        defer { try? FileManager.default.removeItem(atPath: path) }
        let file = URL(filePath: path)
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let request = Request(.get, file, delivery: delivery)
                context.expect(local: try await context.exchange(transport, request), gives: 200, "from a file")
                for (address, text) in [
                    ("data:,a%20b", "a b"), ("data:text/plain;base64,aGVsbG8=", "hello"),
                    ("data:text/plain;charset=utf-8,%C3%A4", "ä"),
                ] {
                    let request = try Request(.get, address, delivery: delivery)
                    context.expect(local: try await context.exchange(transport, request), gives: 200, text)
                }
                let missing = Request(.get, URL(filePath: path + ".not"), delivery: delivery)
                context.expect(try await context.exchange(transport, missing), failsWith: "a file that cannot be read")
                {
                    if case .file(let fault) = $0.kind {
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
                    if case .invalidRequest(.unsupportedScheme) = $0.kind { true } else { false }
                }
            }
        }
    }
}
