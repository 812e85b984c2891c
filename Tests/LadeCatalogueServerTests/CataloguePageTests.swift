import Foundation
import LadeCatalogueServer
import LadeContent
import LadeTesting
import Testing

/// Cases of pages and requests that need a catalogue.
@MainActor
@Suite("Handles and the local catalogue", .timeLimit(.minutes(1)))
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
    private let loader: Loader

    init() throws {
        catalogue = try LocalCatalogue()
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
        of first: (@escaping @MainActor @Sendable (PageOutcome<List>) -> Void) throws -> any GroupedRequest
    ) async rethrows -> PageOutcome<List> {
        let (stream, continuation) = AsyncStream<PageOutcome<List>>.makeStream()
        let handle = try first { continuation.yield($0) }
        handle.resume()
        var iterator = stream.makeAsyncIterator()
        while true {
            if let outcome = await iterator.next() { return outcome }
        }
    }

    private func load(_ path: String, _ page: Page? = nil, size: Int = 0) async throws -> PageOutcome<List> {
        let list = try list(path)
        return await outcome { completion in
            let first = FirstPageHandle(loader, list, completion: completion).with(pageSize: size)
            return page.map { first.handle(for: $0) } ?? first
        }
    }

    @Test("requests P23 loads all items of a list that can be unlimited")
    func unlimited() async throws {
        let outcome = try await load("srf/showList/tv/alphabetical?pageSize=unlimited")

        #expect(outcome.error == nil && outcome.page.number == 0)
        #expect(outcome.value?.items.count == 240 && outcome.next == nil)
    }

    @Test("requests P24 ends with an error when a list cannot be unlimited")
    func refusedUnlimited() async throws {
        let outcome = try await load("srf/mediaList/video/mostClicked?pageSize=unlimited")

        #expect(outcome.error?.code == .http && outcome.response?.status == 400)
        #expect(outcome.value == nil && outcome.next == nil)
    }

    @Test("requests P25 gets exactly as many items as were asked for last")
    func lastSize() async throws {
        let list = try list("srf/mediaList/video/editorial.json")
        let outcome = await outcome { completion in
            FirstPageHandle(loader, list, completion: completion).with(pageSize: 18).with(pageSize: 3)
        }

        #expect(outcome.value?.items.count == 3)
    }

    @Test("requests P26 P27 gets two pages of two items with the same header fields from the same host")
    func twoPages() async throws {
        let path = "srf/mediaList/video/latestEpisodes?vector=appplay"
        let first = try await load(path, size: 2)
        let second = try await load(path, first.next, size: 2)
        let urns = [first, second].map { $0.value?.items.map(\.urn) ?? [] }

        #expect(urns == [[0, 1], [2, 3]].map { $0.map { "urn:srf:video:10000\($0)" } })
        #expect(second.page == first.next && second.page.number == 1 && second.next?.number == 2)
        #expect(second.content.request.headers["X-Global"] == "here")
        #expect(second.response?.request.url.port == Int(catalogue.port))
        #expect(second.response?.request.url.query()?.contains("vector=appplay") == true)
    }

    @Test("requests R34 ends with an HTTP error for an identifier that is not known, and does not run any more")
    func unknownIdentifier() async throws {
        let address = catalogue.address("/integrationlayer/2.1/mediaComposition/byUrn/urn:srf:video:0")
        let endpoint = try Endpoint(address).jsonObject()
        let (stream, continuation) = AsyncStream<RequestOutcome<[String: JSONValue]>>.makeStream()
        let handle = RequestHandle(loader, endpoint) { continuation.yield($0) }
        let changes = handle.runningChanges
        handle.resume()
        var outcomes = stream.makeAsyncIterator()
        let outcome = await outcomes.next()
        for await isRunning in changes where !isRunning { break }

        #expect(outcome?.value == nil && outcome?.error?.code == .http)
        #expect(!handle.isRunning)
    }

    @Test("requests R37 sends an identifier with spaces and signs, and ends with an error")
    func oddIdentifier() async throws {
        let api = API(try #require(URL(string: catalogue.address("/integrationlayer/2.0/srf"))))
        let endpoint = try api.get("mediaList", "video", "latestByTopic", "not a @ topic/?#.json")
        let failure = await #expect(throws: LoadingError.self) { try await loader.load(endpoint) }

        guard case .unacceptableStatus(let status, _) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(status == 404)
    }
}
