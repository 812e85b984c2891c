import Foundation
import LadeCore
import LadeTesting
import Testing

@Suite("The local catalogue", .timeLimit(.minutes(5)))
struct LocalCatalogueTests {
    private func get(
        _ catalogue: LocalCatalogue,
        _ target: String,
        _ fields: [(String, String)] = [],
        method: String = "GET",
        body: String = ""
    ) throws -> (status: Int, fields: String, body: Data) {
        let client = RawClient(port: catalogue.port)
        var head = "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:\(catalogue.port)\r\nConnection: close\r\n"
        for (name, value) in fields { head += "\(name): \(value)\r\n" }
        if !body.isEmpty { head += "Content-Length: \(body.utf8.count)\r\n" }
        client.send(head + "\r\n" + body)
        guard let answer = client.receiveAll() else { throw CancellationError() }
        let end = try #require(answer.firstRange(of: "\r\n\r\n"))
        let text = String(answer[..<end.lowerBound])
        let status = try #require(Int(text.split(separator: " ")[1]))
        return (status, text, Data(answer[end.upperBound...].utf8))
    }

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
    func pages() throws {
        var options = LocalCatalogue.Options()
        options.medias = 25
        let catalogue = try LocalCatalogue(options)
        var target: String? = "/integrationlayer/2.0/rts/mediaList/video/latestEpisodes?vector=app&pageSize=10"
        var identifiers: [String] = []
        var sizes: [Int] = []
        while let path = target {
            let page = try JSONDecoder().decode(Medias.self, from: try get(catalogue, path).body)
            identifiers += page.mediaList.map(\.id)
            sizes.append(page.mediaList.count)
            target = page.next.map { String($0.dropFirst(catalogue.address("").count)) }
        }

        #expect(sizes == [10, 10, 5])
        #expect(identifiers == (0..<25).map { String(100_000 + $0) })
        #expect(catalogue.counts.pages == 3)
    }

    @Test("has at least 200 shows and 20,000 medias, the same for the same seed and others for another")
    func stock() throws {
        let catalogue = try LocalCatalogue()
        var other = LocalCatalogue.Options()
        other.seed = 2
        let last = try get(catalogue, "/medias?page=200&per_page=100")
        let medias = try JSONDecoder().decode([Medias.Media].self, from: last.body)

        #expect(medias.last?.id == "119999")
        #expect(last.fields.contains("X-Total-Count: 20000") && !last.fields.contains("Link:"))
        #expect(try get(catalogue, "/integrationlayer/2.0/srf/showList/tv/alphabetical?next=token-199").status == 200)
        #expect(catalogue.media(7) == (try LocalCatalogue()).media(7))
        #expect(catalogue.media(7) != (try LocalCatalogue(other)).media(7))
        #expect(try get(catalogue, "/nothing").status == 404)
    }

    @Test("gives tokens to its client, and lists only for a token that is still good")
    func tokens() throws {
        var options = LocalCatalogue.Options()
        let time = VirtualTime()
        options.time = time
        options.requiresToken = true
        let catalogue = try LocalCatalogue(options)
        let client = "client_id=\(LocalCatalogue.client.identifier)&client_secret=\(LocalCatalogue.client.secret)"
        let type = [("Content-Type", "application/x-www-form-urlencoded")]
        func grant(_ form: String) throws -> (Int, [String: Any]) {
            let answer = try get(catalogue, "/oauth2/token", type, method: "POST", body: form)
            return (answer.status, try JSONSerialization.jsonObject(with: answer.body) as? [String: Any] ?? [:])
        }
        func list(_ token: Any?) throws -> Int {
            try get(catalogue, "/medias", [("Authorization", "Bearer \(token as? String ?? "")")]).status
        }

        #expect(try get(catalogue, "/medias").status == 401)
        let (status, first) = try grant("grant_type=client_credentials&\(client)")
        #expect(status == 200 && first["expires_in"] as? Int == 30)
        #expect(try list(first["access_token"]) == 200)
        time.advance(by: .seconds(31))
        #expect(try list(first["access_token"]) == 401)
        let refresh = "grant_type=refresh_token&refresh_token=\(first["refresh_token"] as? String ?? "")&\(client)"
        let (_, second) = try grant(refresh)
        #expect(try list(second["access_token"]) == 200)
        #expect(try grant(refresh).0 == 400)
        #expect(try grant("grant_type=client_credentials&client_id=lade&client_secret=no").0 == 401)
    }

    @Test("refuses what goes beyond its limit, and says when to come again")
    func limits() throws {
        var options = LocalCatalogue.Options()
        let time = VirtualTime()
        options.time = time
        options.requestsPerSecond = 2
        let catalogue = try LocalCatalogue(options)

        #expect(try get(catalogue, "/medias").fields.contains("RateLimit: \"second\";r=1;t=1"))
        #expect(try get(catalogue, "/medias").status == 200)
        let refused = try get(catalogue, "/medias")
        #expect(refused.status == 429 && refused.fields.contains("Retry-After: 1"))
        time.advance(by: .seconds(1))
        #expect(try get(catalogue, "/medias").status == 200)
        #expect(catalogue.counts.limited == 1)
    }

    /// The first line of an answer, read on a thread that may block; nil when there is none.
    private func statusLine(_ catalogue: LocalCatalogue, _ target: String) async -> Substring? {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [port = catalogue.port] in
                let client = RawClient(port: port)
                client.send("GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
                continuation.resume(returning: client.receiveAll()?.split(separator: "\r\n").first)
            }
        }
    }

    @Test("holds each answer back for the latency, of its own time", .timeLimit(.minutes(5)))
    func latency() async throws {
        var options = LocalCatalogue.Options()
        let time = VirtualTime()
        options.time = time
        options.latency = .milliseconds(200)
        let catalogue = try LocalCatalogue(options)
        async let medias = statusLine(catalogue, "/medias")
        async let nothing = statusLine(catalogue, "/nothing")

        let sleepers = try await time.sleepers(atLeast: 2)
        #expect(sleepers.map(\.deadline) == Array(repeating: time.now.advanced(by: .milliseconds(200)), count: 2))
        time.advance(by: .milliseconds(199))
        #expect(catalogue.counts.pages == 0)
        time.advance(by: .milliseconds(1))

        #expect(await medias == "HTTP/1.1 200 OK")
        #expect(await nothing == "HTTP/1.1 404 Not Found")
        #expect(catalogue.counts.pages == 1)
    }

    @Test("lets answers go that it holds back when it is stopped", .timeLimit(.minutes(5)))
    func stopsWhileItHoldsBack() async throws {
        var options = LocalCatalogue.Options()
        let time = VirtualTime()
        options.time = time
        options.latency = .seconds(3600)
        let catalogue = try LocalCatalogue(options)
        async let medias = statusLine(catalogue, "/medias")
        _ = try await time.sleepers(atLeast: 1)

        catalogue.stop()

        _ = await medias
        #expect(try await time.sleepers(atLeast: 0).isEmpty)
    }

    @Test("makes a requested number of mistakes")
    func faults() throws {
        let catalogue = try LocalCatalogue()

        #expect(try get(catalogue, "/medias?fault=503").status == 503)
        #expect(try get(catalogue, "/medias?fault=429").status == 429)
        #expect(try get(catalogue, "/medias?fault=401").status == 401)
        let whole = try get(catalogue, "/medias").body.count
        #expect(try get(catalogue, "/medias?fault=truncate").body.count < whole)
        #expect(throws: (any Error).self) { try get(catalogue, "/medias?fault=reset") }
        let bounded = try (0..<4).map { _ in try get(catalogue, "/medias?fault=503:2").status }
        #expect(bounded == [503, 503, 200, 200])
        #expect(catalogue.counts.faults[.unavailable] == 3)
    }
}
