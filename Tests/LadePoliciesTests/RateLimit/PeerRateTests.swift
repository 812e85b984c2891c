#if canImport(LadeWire)
    #if canImport(FoundationEssentials)
        import FoundationEssentials
    #else
        import Foundation
    #endif
    import LadeConformance
    import LadeCore
    import LadePolicies
    import LadeTesting
    import LadeWire
    import Testing

    /// nginx with `limit_req`, which refuses calls above the rate.
    @Suite(.timeLimit(.minutes(5)))
    struct PeerRateTests {
        private static let peers = ConformancePeers.fromEnvironment()

        private func send(_ count: Int, _ path: String, rate: Double?) async throws -> [Int] {
            let port = try Self.peers.port("nginxHTTP")
            let transport = try WireTransport()
            let limiter = try RateLimiter(RateLimits(default: rate.map { .perSecond($0) }))
            let chain = Chain([ExchangeInterceptor(limiter: limiter)], transport: transport)
            let request = try Request("http://127.0.0.1:\(port)\(path)?token=\(UInt64.random(in: 0 ... .max))")
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 1...count {
                    group.addTask {
                        try await chain.send(request, call: Call(id: .init(UInt64(number)))).status.code
                    }
                }
                return try await group.reduce(into: [Int]()) { $0.append($1) }
            }
            await transport.shutDown()
            return statuses
        }

        @Test(
            "policies PL-24 is within what nginx allows, 40 calls at 20 per second and 3 of leeway",
            .enabled(if: peers.contains("nginxHTTP"), "needs nginx: start the peers and set LADE_PEERS"),
            .disabled(
                if: ProcessInfo.processInfo.environment["LADE_SANITIZER"] != nil,
                "a sanitizer delays calls by more than the leeway"
            )
        )
        func satisfiesThePeer() async throws {
            #expect(try await send(40, "/limited-fast", rate: 20) == Array(repeating: 200, count: 40))
        }

        @Test(
            "policies PL-24 the server refuses calls without a limit",
            .enabled(if: peers.contains("nginxHTTP"), "needs nginx: start the peers and set LADE_PEERS")
        )
        func peerIsStrict() async throws {
            #expect(try await send(40, "/limited-fast", rate: nil).contains(429))
        }
    }
#endif
