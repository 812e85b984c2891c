#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// HTTP/2.
extension TransportConformance {
    static let http2 = ConformanceCase(
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
            // A burst opens one connection, not a hundred.
            try await inParallel(100) { _ in try await call("/ok?", "ok") }
            // The server responds to none of these before all have arrived: they are in flight at the same time.
            try await inParallel(100) { _ in try await call("/gather?count=100&", "together") }
            let counts = try await context.counts(transport, base, token)
            context.expectEqual(counts["connections"], 1, "connections")
            context.expectEqual(counts["requests"], 200, "requests at the server")
        }
        await context.part("negotiated") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            let address = "https://localhost:\(try context.peers.port("nginxTLS"))/connection"
            for (version, expected) in [
                (Request.VersionPreference.automatic, Response.Version.http2), (.http1_1, .http1_1),
            ] {
                var request = try Request(.get, address)
                request.version = version
                let exchange = try await context.exchange(transport, request)
                context.expectEqual(exchange.version, expected, "version requested as \(version)")
                let reported = expected == .http2 ? "\"protocol\":\"HTTP/2.0\"" : "\"protocol\":\"HTTP/1.1\""
                context.expect(exchange.text.contains(reported), "the server saw \(exchange.text)")
            }
        }
    }

    static let http2Failures = ConformanceCase(
        "TR-55",
        "survives GOAWAY between calls and reports what a reset stream means",
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
                // How much of the body was delivered before the reset depends on timing.
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
        // If GOAWAY excludes the request, a retry is safe too, but not every library reports that.
        for (path, isSafe) in [("/refuse", true), ("/goaway-before", nil)] as [(String, Bool?)] {
            await context.part("\(path) once") { context in
                let (transport, request, _) = try make(path, .buffered(limit: 100))
                let exchange = try await context.exchange(transport, request)
                // The transport may resend a request that was certainly not processed, or leave that to the caller.
                if exchange.error == nil {
                    context.expect(exchange, gives: 200, "ok")
                } else {
                    context.expectLost(exchange, .nothing, isSafeToRepeat: isSafe)
                    context.expect(try await context.exchange(transport, request), gives: 200, "ok")
                }
            }
        }
    }
}

extension ConformanceContext {
    /// The counts of the HTTP/2 peer for a token.
    func counts(_ transport: any Transport, _ base: String, _ token: String) async throws -> [String: Int] {
        let exchange = try await exchange(transport, try Request(.get, "\(base)/stats?token=\(token)"))
        guard let counts = try? JSONDecoder().decode([String: Int].self, from: exchange.body) else {
            throw ConformanceError.failed(
                number: "peer",
                findings: ["the HTTP/2 peer reported “\(exchange.text)”: \(exchange.ending)"]
            )
        }
        return counts
    }
}
