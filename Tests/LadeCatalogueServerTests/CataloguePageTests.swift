import Foundation
import LadeCatalogue
import LadeCatalogueServer
import LadeCallbacks
import LadeTesting
import Testing

/// Cases of pages and requests that need a catalogue.
@MainActor
@Suite("Handles and the local catalogue", .timeLimit(.minutes(5)))
struct CataloguePageTests {
    private struct List: Decodable, Sendable {
        struct Item: Decodable, Sendable {
            var urn: String
        }
        var mediaList: [Item]?
        var showList: [Item]?
        var next: String?
        var items: [Item] { mediaList ?? showList ?? [] }
    }

    private let catalogue: LocalCatalogue
    private let client: Catalogue
    private let loader: Loader

    init() throws {
        catalogue = try LocalCatalogue()
        var client = try Catalogue(catalogue.address(""))
        client.globalHeaders = ["X-Global": "here"]
        self.client = client
        loader = try Loader()
    }

    private func list(_ path: String) throws -> PagedEndpoint<List> {
        let address = catalogue.address("/integrationlayer/2.0/\(path)")
        return PagedEndpoint(
            try Endpoint(address).decoding(List.self).header("X-Global", "here"),
            sizer: .query("pageSize"),
            paginator: .target(\.next)
        )
    }

    private func outcome(
        of first: (@escaping @MainActor @Sendable (Pages.Page<Outcome<List, NetworkError>>) -> Void) throws ->
            any GroupedRequest
    ) async rethrows -> Pages.Page<Outcome<List, NetworkError>> {
        let (stream, continuation) = AsyncStream<Pages.Page<Outcome<List, NetworkError>>>.makeStream()
        let handle = try first { continuation.yield($0) }
        handle.resume()
        var iterator = stream.makeAsyncIterator()
        while true {
            if let outcome = await iterator.next() { return outcome }
        }
    }

    /// The outcome of a list of the catalogue's client.
    private func listing<Item>(
        _ make: (Catalogue) throws -> PagedEndpoint<Catalogue.Listing<Item>>,
        _ page: PageRequest? = nil,
        size: Int
    ) async throws -> Pages.Page<Outcome<Catalogue.Listing<Item>, NetworkError>> {
        let list = try make(client)
        let (stream, continuation) = AsyncStream<Pages.Page<Outcome<Catalogue.Listing<Item>, NetworkError>>>
            .makeStream()
        let first = FirstPageHandle(loader, list) { continuation.yield($0) }.with(pageSize: size)
        let handle: any GroupedRequest = page.map { first.handle(for: $0) } ?? first
        handle.resume()
        var iterator = stream.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    /// The outcome of an object of the catalogue's client, and whether its request still runs after it.
    private func object<Value>(
        _ make: (Catalogue) throws -> Endpoint<Value>
    ) async throws -> (outcome: Outcome<Value, NetworkError>?, isRunning: Bool) {
        let endpoint = try make(client)
        let (stream, continuation) = AsyncStream<Outcome<Value, NetworkError>>.makeStream()
        let handle = RequestHandle(loader, endpoint) { continuation.yield($0) }
        let changes = handle.runningChanges
        handle.resume()
        var outcomes = stream.makeAsyncIterator()
        let outcome = await outcomes.next()
        for await isRunning in changes where !isRunning { break }
        return (outcome, handle.isRunning)
    }

    @Test("requests P23 loads all items of a list that can be unlimited")
    func unlimited() async throws {
        let outcome = try await listing({ try $0.tvShows(.srf) }, size: Catalogue.PageSize.unlimited)

        #expect(outcome.page.number == 0 && outcome.page.size == Catalogue.PageSize.unlimited)
        #expect(outcome.error == nil && outcome.value?.items.count == 240 && outcome.next == nil)
    }

    @Test("requests P24 ends with an error when a list cannot be unlimited")
    func refusedUnlimited() async throws {
        let outcome = try await listing({ try $0.tvMostPopularMedias(.srf) }, size: Catalogue.PageSize.unlimited)

        #expect(outcome.page.number == 0 && outcome.page.size == Catalogue.PageSize.unlimited)
        #expect(outcome.error?.code == .http && outcome.response?.status == 400)
        #expect(outcome.value == nil && outcome.next == nil)
    }

    @Test("requests P25 gets exactly as many items as were asked for last")
    func lastSize() async throws {
        let list = try list("srf/mediaList/video/editorial.json")
        let outcome = await outcome { completion in
            FirstPageHandle(loader, list, completion: completion).with(pageSize: 18).with(pageSize: 3)
        }

        #expect(outcome.page.number == 0 && outcome.page.size == 3)
        #expect(outcome.error == nil && outcome.value?.items.count == 3)
    }

    @Test("requests P26 gets two pages of two items, each with a next page")
    func twoPages() async throws {
        let first = try await listing({ try $0.tvLatestEpisodes(.srf) }, size: 2)
        let second = try await listing({ try $0.tvLatestEpisodes(.srf) }, first.next, size: 2)
        let urns = [first, second].map { $0.value?.items.map(\.urn) ?? [] }

        #expect(urns == [[0, 1], [2, 3]].map { $0.map { "urn:srf:video:10000\($0)" } })
        #expect(first.error == nil && second.error == nil)
        #expect(first.next?.number == 1 && second.page == first.next && second.next?.number == 2)
    }

    @Test("requests P27 gets each page with the same header fields from the same host")
    func hostAndHeaders() async throws {
        let first = try await listing({ try $0.tvLatestEpisodes(.srf) }, size: 2)
        let second = try await listing({ try $0.tvLatestEpisodes(.srf) }, first.next, size: 2)

        #expect(second.value?.items.count == 2)
        for request in [first.content.request, second.content.request] {
            #expect(request.headers["X-Global"] == "here" && request.url.host() == "127.0.0.1")
            #expect(request.url.port == Int(catalogue.port) && request.url.query()?.contains("vector=") == true)
        }
    }

    @Test("requests P28 pages of a catalogue behind another address come from there")
    func mirror() async throws {
        // The responses name a host that does not answer.
        let mirror = try LoopbackServer { request in
            let next = request.queryItem("next").flatMap { Int($0) } ?? 0
            let address = "http://127.0.0.1:1\(request.path)?next=\(next + 1)"
            let tail = next < 2 ? ", \"next\": \"\(address)\"" : ""
            return .json("{\"mediaList\": [{\"urn\": \"urn:srf:video:\(next)\"}]\(tail)}")
        }
        var mirrored = try Catalogue(mirror.address(""))
        mirrored.globalHeaders = ["X-Global": "here"]
        let list = try mirrored.tvLatestEpisodes(.srf)
        var items: [String] = []
        for try await page in loader.pages(of: list, size: 1) { items += page.value.items.map(\.urn) }

        #expect(items == (0..<3).map { "urn:srf:video:\($0)" })
        #expect(mirror.requests.count == 3 && mirror.requests.allSatisfy { $0["X-Global"] == "here" })
    }

    @Test("requests R34 ends with an HTTP error for an identifier that is not known, and does not run any more")
    func unknownIdentifier() async throws {
        let today = try await object { try $0.mediaComposition(urn: "urn:srf:video:0") }
        let seed = try await object { try $0.videoComposition(.srf, uid: "nothing") }

        for (outcome, isRunning, status) in [
            (today.outcome, today.isRunning, 400), (seed.outcome, seed.isRunning, 404),
        ] {
            #expect(outcome?.value == nil && outcome?.error?.code == .http && !isRunning)
            #expect(outcome?.response?.status.code == status)
        }
    }

    @Test("requests R37 sends an identifier with spaces and signs, and ends with an error")
    func oddIdentifier() async throws {
        let (outcome, isRunning) = try await object { try $0.videoComposition(.srf, uid: "not a @ video/?#%é") }
        let list = try await listing({ try $0.tvTopicLatestMedias(.srf, topicUid: "not a @ topic") }, size: 10)

        #expect(outcome?.value == nil && outcome?.error?.code == .http && !isRunning)
        #expect(outcome?.response?.status == 404 && list.response?.status == 404)
        #expect(list.value == nil && list.error?.code == .http && list.next == nil)
    }
}
