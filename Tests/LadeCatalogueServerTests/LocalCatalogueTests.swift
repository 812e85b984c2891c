import Foundation
import Lade
import LadeCatalogueServer
import LadeTesting
import Testing

@Suite("The local catalogue", .timeLimit(.minutes(5)))
struct LocalCatalogueTests {
    private struct Medias: Decodable {
        struct Media: Decodable {
            var id: String
            var urn: String
            var title: String
            var show: Show
        }
        struct Show: Decodable { var id: String }
        var mediaList: [Media]
        var next: String?
    }

    @Test("gives pages of medias that lead from one to the next, up to the last")
    func pages() async throws {
        var options = LocalCatalogue.Options()
        options.medias = 25
        let catalogue = try LocalCatalogue(options)
        let client = try CatalogueClient(catalogue)
        var target: String? = "/integrationlayer/2.0/rts/mediaList/video/latestEpisodes?vector=app&pageSize=10"
        var identifiers: [String] = []
        var sizes: [Int] = []
        while let path = target {
            let page = try JSONDecoder().decode(Medias.self, from: try await client.get(path).body.bytes ?? Data())
            identifiers += page.mediaList.map(\.id)
            sizes.append(page.mediaList.count)
            target = page.next.map { String($0.dropFirst(catalogue.address("").count)) }
        }

        #expect(sizes == [10, 10, 5])
        #expect(identifiers == (0..<25).map { String(100_000 + $0) })
        #expect(catalogue.counts.pages == 3)
    }

    @Test("has at least 200 shows and 20,000 medias, the same for the same seed and others for another")
    func stock() async throws {
        let catalogue = try LocalCatalogue()
        let client = try CatalogueClient(catalogue)
        var other = LocalCatalogue.Options()
        other.seed = 2
        let last = try await client.get("/medias?page=200&per_page=100")
        let medias = try JSONDecoder().decode([Medias.Media].self, from: last.body.bytes ?? Data())

        #expect(medias.last?.id == "119999")
        #expect(last.headers["X-Total-Count"] == "20000" && last.headers["Link"] == nil)
        #expect(try await client.get("/integrationlayer/2.0/srf/showList/tv/alphabetical?next=token-199").status == 200)
        #expect(catalogue.media(7) == (try LocalCatalogue()).media(7))
        #expect(catalogue.media(7) != (try LocalCatalogue(other)).media(7))
        #expect(try await client.get("/nothing").status == 404)
    }

    @Test("gives tokens to its client, and lists only for a token that is still good")
    func tokens() async throws {
        var options = LocalCatalogue.Options()
        let time = VirtualTime()
        options.time = time
        options.requiresToken = true
        let catalogue = try LocalCatalogue(options)
        let client = try CatalogueClient(catalogue)
        let secret = "client_id=\(LocalCatalogue.client.identifier)&client_secret=\(LocalCatalogue.client.secret)"
        let type = [("Content-Type", "application/x-www-form-urlencoded")]
        func grant(_ form: String) async throws -> (Int, [String: Any]) {
            let answer = try await client.get("/oauth2/token", type, method: .post, body: form)
            return (
                answer.status.code,
                try JSONSerialization.jsonObject(with: answer.body.bytes ?? Data()) as? [String: Any] ?? [:]
            )
        }
        func list(_ token: Any?) async throws -> Int {
            try await client.get("/medias", [("Authorization", "Bearer \(token as? String ?? "")")]).status.code
        }

        #expect(try await client.get("/medias").status == 401)
        let (status, first) = try await grant("grant_type=client_credentials&\(secret)")
        #expect(status == 200 && first["expires_in"] as? Int == 30)
        #expect(try await list(first["access_token"]) == 200)
        time.advance(by: .seconds(31))
        #expect(try await list(first["access_token"]) == 401)
        let refresh = "grant_type=refresh_token&refresh_token=\(first["refresh_token"] as? String ?? "")&\(secret)"
        let (_, second) = try await grant(refresh)
        #expect(try await list(second["access_token"]) == 200)
        #expect(try await grant("grant_type=client_credentials&client_id=lade&client_secret=no").0 == 401)

        // A second use of a refresh token revokes what came from its sign-in, and nothing else (RFC 9700 §4.14.2).
        let (_, other) = try await grant("grant_type=client_credentials&\(secret)")
        #expect(try await grant(refresh).0 == 400)
        #expect(try await list(second["access_token"]) == 401)
        let newest = "grant_type=refresh_token&refresh_token=\(second["refresh_token"] as? String ?? "")&\(secret)"
        #expect(try await grant(newest).0 == 400)
        #expect(try await list(other["access_token"]) == 200)
        #expect(catalogue.counts.reusedTokens == 1)
    }

    @Test("refuses what goes beyond its limit, and says when to come again")
    func limits() async throws {
        var options = LocalCatalogue.Options()
        let time = VirtualTime()
        options.time = time
        options.requestsPerSecond = 2
        let catalogue = try LocalCatalogue(options)
        let client = try CatalogueClient(catalogue)

        #expect(try await client.get("/medias").headers["RateLimit"] == "\"second\";r=1;t=1")
        #expect(try await client.get("/medias").status == 200)
        let refused = try await client.get("/medias")
        #expect(refused.status == 429 && refused.headers["Retry-After"] == "1")
        time.advance(by: .seconds(1))
        #expect(try await client.get("/medias").status == 200)
        #expect(catalogue.counts.limited == 1)
    }

    @Test("holds each answer back for the latency, of its own time", .timeLimit(.minutes(5)))
    func latency() async throws {
        var options = LocalCatalogue.Options()
        let time = VirtualTime()
        options.time = time
        options.latency = .milliseconds(200)
        let catalogue = try LocalCatalogue(options)
        let client = try CatalogueClient(catalogue)
        async let medias = client.get("/medias").status
        async let nothing = client.get("/nothing").status

        let sleepers = try await time.sleepers(atLeast: 2)
        #expect(sleepers.map(\.deadline) == Array(repeating: time.now.advanced(by: .milliseconds(200)), count: 2))
        time.advance(by: .milliseconds(199))
        #expect(catalogue.counts.pages == 0)
        time.advance(by: .milliseconds(1))

        #expect(try await medias == 200)
        #expect(try await nothing == 404)
        #expect(catalogue.counts.pages == 1)
    }

    @Test("lets answers go that it holds back when it is stopped", .timeLimit(.minutes(5)))
    func stopsWhileItHoldsBack() async throws {
        var options = LocalCatalogue.Options()
        let time = VirtualTime()
        options.time = time
        options.latency = .seconds(3600)
        let catalogue = try LocalCatalogue(options)
        let client = try CatalogueClient(catalogue)
        async let medias = client.get("/medias").status
        _ = try await time.sleepers(atLeast: 1)

        catalogue.stop()

        _ = try? await medias
        #expect(try await time.sleepers(atLeast: 0).isEmpty)
    }

    @Test("makes mistakes when asked to, so many times as asked")
    func faults() async throws {
        let catalogue = try LocalCatalogue()
        let client = try CatalogueClient(catalogue)

        #expect(try await client.get("/medias?fault=503").status == 503)
        #expect(try await client.get("/medias?fault=429").status == 429)
        #expect(try await client.get("/medias?fault=401").status == 401)
        await #expect(throws: LoadingError.self) { try await client.get("/medias?fault=truncate") }
        await #expect(throws: LoadingError.self) { try await client.get("/medias?fault=reset") }
        var bounded: [Response.Status] = []
        for _ in 0..<4 { bounded.append(try await client.get("/medias?fault=503:2").status) }
        #expect(bounded == [503, 503, 200, 200])
        #expect(catalogue.counts.faults[.unavailable] == 3)
    }
}
