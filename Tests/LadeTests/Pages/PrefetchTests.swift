import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Prefetch", .timeLimit(.minutes(1)))
struct PrefetchTests {
    @Test(
        "finding FL-2 delivers pages with the number of items before them, so that an iteration can resume at any page"
    )
    func resumesFromAnyPage() async throws {
        let loader = PagedSource { asked in
            let first = asked["offset"] ?? 0
            // Prefetch may ask for what is beyond the end.
            return .json(PagedSource.body(min(first, 100)..<min(first + (first == 0 ? 10 : 7), 100)))
        }.loader
        var endpoint = try PagedEndpoint<Numbers>.numbers(.rule(.offset(query: "offset")))
        endpoint.total = .body(["total"])
        var items: [Int] = []
        var next: Page?

        for try await page in loader.pages(of: endpoint, prefetch: 4, pageLimit: 5) {
            items += page.value.items
            next = page.next
        }
        let start = try #require(next)
        items += try await loader.pages(of: endpoint, prefetch: 4, from: start).collected()

        #expect(items == Array(0..<100))
    }

    @Test(
        "finding FL-1 does not trap when an answer says how many items it has",
        arguments: [Int.min, -1, .max - 1, .max]
    )
    func itemCounts(count: Int) async throws {
        struct Answer: Codable, Sendable {
            var count: Int
        }
        let source = PagedSource { asked in
            .json(
                "{\"count\":\(["page", "offset"].allSatisfy { (asked[$0] ?? 0) == 0 } ? count : 0),\"total\":\(count)}"
            )
        }
        for rule in [PageRule.pageNumber(query: "page", first: 0), .offset(query: "offset")] {
            for prefetch in [0, 3] {
                var endpoint = PagedEndpoint(
                    try Endpoint("https://api.example.com/list").decoding(Answer.self),
                    paginator: .rule(rule),
                    itemCount: \.count
                )
                endpoint.total = .body(["total"])
                let meter = PageMeter()
                var pages = 0
                do throws(PageFailure) {
                    for try await _ in source.loader.pages(of: endpoint, prefetch: prefetch, meter: meter) {
                        pages += 1
                    }
                } catch {}
                #expect(pages >= 1)
                #expect(meter.progress.items >= 0)
            }
        }
    }
}
