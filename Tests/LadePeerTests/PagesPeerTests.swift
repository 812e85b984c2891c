import Foundation
import LadeHarvest
import LadeTesting
import Testing

/// Harvests of a list from another implementation: fastapi-pagination on FastAPI.
@Suite(.timeLimit(.minutes(5)))
struct PagesPeerTests {
    private func whole(_ origin: String, _ loader: Loader) async throws -> Data {
        try #require(await loader.load(Request(origin + "/all")).body.bytes)
    }

    private func loader() throws -> Loader {
        var settings = Service.Settings()
        settings.transport.proxy = .direct
        // The machine may be busy with other tests.
        settings.deadlines.buffered = nil
        settings.deadlines.attempt = nil
        return try Service(settings).anonymous.makeLoader()
    }

    @Test(
        "harvests a real paged service to the last byte: pages PA-01 PA-20",
        arguments: [
            ("/header", [Pages.Rule.link(relation: "next")], "size", 0),
            ("/body", [.body(["links", "next"])], "size", 2),
            ("/numbers", [.pageNumber(query: "page", first: 1)], "size", 0),
            ("/numbers", [.pageNumber(query: "page", first: 1)], "size", 3),
            ("/offsets", [.offset(query: "offset")], "limit", 3),
        ]
    )
    func harvests(path: String, rules: [Pages.Rule], sizeQuery: String, prefetch: Int) async throws {
        let (origin, loader) = (try Peers.origin("pages"), try loader())
        var harvest = Harvest(try Request(origin + path))
        harvest.items = ["items"]
        harvest.rules = rules
        harvest.sizer = .query(sizeQuery)
        harvest.size = 100
        harvest.total = .body(["total"])
        harvest.identity = ["id"]
        harvest.prefetch = prefetch
        let written = Locked(Data())

        let summary = try await harvest.run(
            with: loader,
            to: .writer { lines in written.withLock { $0 += lines } }
        )

        #expect(summary.ending == .complete)
        #expect(summary.items == 1234)
        #expect(summary.pages >= 13)
        #expect(summary.total == 1234)
        #expect(summary.duplicates == 0)
        #expect(summary.missing == 0)
        // The service's own list, with line feeds instead of commas between items.
        let lines = written.withLock { $0 }.split(separator: 0x0A)
        #expect(Data([0x5B] + lines.joined(separator: [0x2C]) + [0x5D]) == (try await whole(origin, loader)))
    }

    @Test("pages PA-01 reads a real service's pages by Link field as values")
    func reads() async throws {
        struct Item: Decodable, Sendable {
            var id: Int
        }
        struct Items: Decodable, Sendable {
            var items: [Item]
        }
        let (origin, loader) = (try Peers.origin("pages"), try loader())
        let list = PagedEndpoint(
            Endpoint(try Request(origin + "/header")).decoding(Items.self),
            sizer: .query("size"),
            paginator: .rule(.link(relation: "next"))
        )

        var identifiers: [Int] = []
        for try await page in loader.pages(of: list, size: 40, prefetch: 1) {
            identifiers += page.value.items.map(\.id)
        }

        #expect(identifiers == Array(0..<1234))
    }
}
