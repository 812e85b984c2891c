import Foundation
import LadeCore
import LadePolicies
import LadeTesting
import LadeWire
import Testing

/// Tokens of a real OAuth 2 server (Authlib) that replaces refresh tokens: a second refresh with the same one would fail.
@Suite(.timeLimit(.minutes(5)))
struct OAuthPeerTests {
    private struct Stats: Decodable {
        var tokens: Int
        var refreshes: Int
        var refused: Int
        var served: Int
    }

    private func authoriser(
        _ origin: String,
        client: String,
        _ grant: Authorisation.OAuth2.Settings.Grant,
        proof: Authorisation.OAuth2.Settings.ClientProof = .basic("secret")
    ) throws -> Authorisation.OAuth2 {
        let endpoint = try #require(URL(string: origin + "/token"))
        var settings = Authorisation.OAuth2.Settings(
            tokenEndpoint: endpoint,
            grant: grant,
            clientID: client,
            clientProof: proof
        )
        settings.allowsInsecureEndpoint = true
        // The machine may be busy with other tests.
        settings.refresh.deadline = .seconds(240)
        return Authorisation.OAuth2(settings, scope: try Peers.scope(origin))
    }

    private func stats(_ origin: String, _ client: String, _ transport: WireTransport) async throws -> Stats {
        let response = try await transport.send(Request(origin + "/stats?client=" + client), call: Call())
        return try JSONDecoder().decode(Stats.self, from: try #require(response.body.bytes))
    }

    @Test(
        "a hundred calls that a real server refuses together make one refresh, and all succeed: policies PL-42 service D-27"
    )
    func hundred() async throws {
        let origin = try Peers.origin("oauth")
        let client = "hundred-\(UUID().uuidString)"
        let transport = try Peers.transport { $0.connections.perHost = 110 }
        let authoriser = try authoriser(origin, client: client, .password(user: "ann", password: "wonderland"))
        let chain = Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)
        #expect(try await chain.send(Request(origin + "/resource"), call: Call()).status == 200)
        _ = try await transport.send(Request(.post, origin + "/expire?client=" + client), call: Call())

        let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 1...100 {
                group.addTask {
                    // The server answers none of them before all have arrived.
                    let address = origin + "/resource?parties=100&barrier=" + client
                    return try await chain.send(Request(address), call: Call(id: .init(UInt64(number)))).status.code
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        let stats = try await stats(origin, client, transport)
        #expect(statuses.count == 100)
        #expect(statuses.allSatisfy { $0 == 200 })
        #expect(stats.refused == 100)
        #expect(stats.refreshes == 1)
        #expect(stats.served == 101)
        await transport.shutDown()
    }

    @Test("policies PL-45 every grant and proof gets a token from a real token endpoint", arguments: 0..<4)
    func grants(row: Int) async throws {
        let origin = try Peers.origin("oauth")
        let transport = try Peers.transport()
        let client = "grants:\(row)-\(UUID().uuidString)"
        let authoriser =
            switch row {
            case 0: try authoriser(origin, client: client, .clientCredentials)
            case 1: try authoriser(origin, client: client, .clientCredentials, proof: .form("secret"))
            case 2: try authoriser(origin, client: client, .password(user: "ann", password: "wonderland"), proof: .none)
            default: try authoriser(origin, client: client, .password(user: "ann", password: "wonderland"))
            }
        let chain = Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)

        for _ in 0..<2 {
            #expect(try await chain.send(Request(origin + "/resource"), call: Call()).status == 200)
            authoriser.refresh()
        }

        await transport.shutDown()
    }

    @Test(
        "policies PL-41 short-lived tokens are renewed when they end by the clock of the call, and none is ever refused"
    )
    func shortLived() async throws {
        let origin = try Peers.origin("oauth")
        let transport = try Peers.transport()
        let (client, time) = ("short-\(UUID().uuidString).600", VirtualTime())
        let authoriser = try authoriser(origin, client: client, .password(user: "ann", password: "wonderland"))
        let chain = Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)

        for _ in 0..<4 {
            // The client's clock is ahead of the server's, so that no token expires on a busy machine.
            #expect(try await chain.send(Request(origin + "/resource"), call: Call(time: time)).status == 200)
            time.advance(by: .seconds(605))
        }

        let stats = try await stats(origin, client, transport)
        #expect(stats.refused == 0)
        #expect(stats.refreshes == 3)
        await transport.shutDown()
    }

    @Test("policies PL-43 a refresh token that the server does not know requires a sign-in")
    func unknownToken() async throws {
        let origin = try Peers.origin("oauth")
        let transport = try Peers.transport()
        let authoriser = try authoriser(origin, client: "unknown", .refreshToken("never given"))
        let chain = Chain([AttemptInterceptor(authorisers: [authoriser])], transport: transport)

        let error = await #expect(throws: LoadingError.self) {
            _ = try await chain.send(Request(origin + "/resource"), call: Call())
        }

        guard case .authorisationFailed(let fault) = error?.kind, case .signInRequired = fault.cause else {
            Issue.record("\(String(describing: error))")
            return
        }
        await transport.shutDown()
    }
}
