import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Prefetch", .timeLimit(.minutes(5)))
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
        var next: PageRequest?

        for try await page in loader.pages(of: endpoint, prefetch: 4, pageLimit: 5) {
            items += page.value.items
            next = page.next
        }
        let start = try #require(next)
        items += try await loader.pages(of: endpoint, prefetch: 4, from: start).collected()

        #expect(items == Array(0..<100))
    }

    @Test(
        "finding FL-2 each page has the number of items before it, when the guess was right about the address alone",
        arguments: [0, 4]
    )
    func itemsBefore(prefetch: Int) async throws {
        let ends = [0, 3, 5, 8, 9]
        let loader = PagedSource { asked in
            let page = asked["page"] ?? 0
            return .json(PagedSource.body(page < 4 ? ends[page]..<ends[page + 1] : 9..<9))
        }.loader
        let endpoint = try PagedEndpoint<Numbers>.numbers(.rule(.pageNumber(query: "page", first: 0)))
        var pages: [Pages.Page<Loader.Loaded<Numbers>>] = []

        for try await page in loader.pages(of: endpoint, prefetch: prefetch) { pages.append(page) }

        #expect(pages.map(\.page.number) == [0, 1, 2, 3, 4])
        #expect(pages.map(\.page.itemsBefore) == ends)
        #expect(pages.map { $0.next?.itemsBefore } == [3, 5, 8, 9, nil])
    }

    @Test("pages PA-12 cancels the pages that were requested on a wrong assumption")
    func cancelsWrongPages() async throws {
        let short = Signal()
        let source = PagedSource { asked in
            switch asked["offset"] ?? 0 {
            case 0: .json(PagedSource.body(0..<10))
            case 10: .json(PagedSource.body(10..<17)).after(short)
            case 17: .json(PagedSource.body(17..<17))
            default: .stalls
            }
        }
        let pages = source.loader.pages(of: try .numbers(.rule(.offset(query: "offset"))), prefetch: 2)
        let isOver = Signal()
        let walk = Task {
            var iterator = pages.makeAsyncIterator()
            var items: [Int] = []
            while let page = try await iterator.next() { items += page.value.items }
            // The iteration is not left before, so that nothing but the dropping of the page cancels its load.
            try await isOver.wait()
            _ = try await iterator.next()
            return items
        }
        // The pages from 10 and from 20 are in flight; the next begins with 17.
        _ = try await source.transport.request(at: 2)

        short.raise()

        try await source.transport.cancellations(atLeast: 1)
        isOver.raise()
        #expect(try await walk.value == Array(0..<17))
    }

    /// Starts to collect a list of numbered pages whose total is in the body.
    private func walk(_ source: PagedSource, prefetch: Int) throws -> Task<[Int], any Error> {
        var endpoint = try PagedEndpoint<Numbers>.numbers(.rule(.pageNumber(query: "page", first: 0)))
        endpoint.total = .body(["total"])
        let pages = source.loader.pages(of: endpoint, prefetch: prefetch)
        return Task { try await pages.collected() }
    }

    @Test("pages PA-12 fetches ahead to the last page of the announced total, however short that page is")
    func lastPage() async throws {
        let second = Signal()
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            let answer = ScriptedResponse.json(PagedSource.body(page * 10..<min(page * 10 + 10, 25), total: 25))
            return page == 1 ? answer.after(second) : answer
        }
        let walk = try walk(source, prefetch: 5)

        // The page after the second is requested although the second is not there.
        _ = try await source.transport.request(at: 2)
        second.raise()

        #expect(try await walk.value == Array(0..<25))
        #expect(source.transport.requests.count == 3)
    }

    @Test("loads at most 64 pages ahead, whatever is asked for")
    func boundsPrefetch() async throws {
        let later = Signal()
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            let answer = ScriptedResponse.json(PagedSource.body(page..<page + 1, total: 200))
            return page == 0 ? answer : answer.after(later)
        }
        let walk = try walk(source, prefetch: 1_000)
        // The first page, the second that is waited for, and 64 more.
        _ = try await source.transport.request(at: 65)

        later.raise()

        #expect(try await walk.value == Array(0..<200))
        #expect(source.transport.maximumInFlight == 65)
    }

    @Test("a feed that was cancelled loads nothing more, and has no page for a task that goes on", arguments: [0, 3])
    func cancelledFeed(prefetch: Int) async throws {
        let request = try Request("https://api.example.com/list")
        let walk = PageWalk(
            original: request,
            size: 0,
            sizer: nil,
            rules: [.pageNumber(query: "page", first: 0)],
            total: nil,
            otherOrigins: .refused
        )
        let loads = Locked(0)
        var source = PageFeed<Int>.Source(walk: walk, start: walk.first) {
            @concurrent (page) async throws(LoadingError) in
            loads.withLock { $0 += 1 }
            return PagePiece(content: page.number, byteCount: 0)
        }
        source.prefetch = prefetch
        let feed = PageFeed(source)

        feed.cancel()

        #expect(try await feed.next()?.piece.content == nil)
        #expect(loads.withLock(\.self) == 0)
        // The error of a task that was cancelled as well names the page that did not come.
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await feed.next()
        }
        await #expect(throws: PageError.self) { _ = try await cancelled.value }
    }

    @Test("the error of a cancelled task names the page that it asked for")
    func cancelledPage() async throws {
        let source = PagedSource { asked in .json(PagedSource.body([asked["page"] ?? 0])) }
        let endpoint = try PagedEndpoint<Numbers>.numbers(.rule(.pageNumber(query: "page", first: 0)))
        let task = Task {
            var iterator = source.loader.pages(of: endpoint).makeAsyncIterator()
            _ = try await iterator.next()
            withUnsafeCurrentTask { $0?.cancel() }
            _ = try await iterator.next()
        }

        let failure = await #expect(throws: PageError.self) { try await task.value }

        #expect(failure?.page.number == 1)
    }

    @Test("a feed that has ended has no page for a task that was cancelled", arguments: [0, 3])
    func cancelledAfterTheEnd(prefetch: Int) async throws {
        let source = PagedSource { _ in .json(PagedSource.body([1])) }
        let pages = source.loader.pages(of: try .numbers(), prefetch: prefetch)
        let task = Task {
            var iterator = pages.makeAsyncIterator()
            _ = try await iterator.next()
            let end = try await iterator.next()
            withUnsafeCurrentTask { $0?.cancel() }
            let afterwards = try await iterator.next()
            return end == nil && afterwards == nil
        }

        #expect(try await task.value)
    }

    @Test("the page that names one that cannot be followed says so, and none before it")
    func brokenAhead() async throws {
        let isFollowed = Signal()
        let source = PagedSource { asked in
            let page = asked["p"] ?? 0
            if page == 2 { isFollowed.raise() }
            return .json(PagedSource.body([page], next: page < 2 ? "/list?p=\(page + 1)" : "ftp://x/"))
        }
        let pages = source.loader.pages(of: try .numbers(), prefetch: 4)
        var iterator = pages.makeAsyncIterator()
        var loaded = [try #require(try await iterator.next())]
        try await isFollowed.wait()
        // Lets the last page be followed before the second is taken.
        for _ in 0..<100 { await Task.yield() }
        for _ in 0..<2 { loaded.append(try #require(try await iterator.next())) }

        #expect(loaded.map { $0.nextFailure == nil } == [true, true, false])
        #expect(loaded.map { $0.next?.number } == [1, 2, nil])
    }

    @Test("pages that were not counted add no items to the progress")
    func uncounted() async throws {
        let source = PagedSource { _ in .json(PagedSource.body([1, 2])) }
        let endpoint = PagedEndpoint(
            try Endpoint("https://api.example.com/list").decoding(Numbers.self),
            paginator: .rule(.body(["next"]))
        )
        let meter = Pages.Progress.Meter()

        _ = try await source.loader.pages(of: endpoint, meter: meter).collected()

        #expect(meter.progress.pages == 1 && meter.progress.items == 0)
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
        for rule in [Pages.Rule.pageNumber(query: "page", first: 0), .offset(query: "offset")] {
            for prefetch in [0, 3] {
                var endpoint = PagedEndpoint(
                    try Endpoint("https://api.example.com/list").decoding(Answer.self),
                    paginator: .rule(rule),
                    itemCount: \.count
                )
                endpoint.total = .body(["total"])
                let meter = Pages.Progress.Meter()
                var pages = 0
                do throws(PageError) {
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
