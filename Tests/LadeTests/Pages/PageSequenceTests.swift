import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Pages", .timeLimit(.minutes(5)))
struct PageSequenceTests {
    @Test("pages PA-02 sets the size on the original request, leaves other items alone, and not without a size")
    func sizes() throws {
        let endpoint = try PagedEndpoint<Numbers>.numbers(at: "https://api.example.com/list?a=%2f&size=1&b=x+y#f")

        #expect(endpoint.firstPage(size: 18).request.url.absoluteString.hasSuffix("?a=%2f&size=18&b=x+y#f"))
        #expect(endpoint.firstPage().request.url == endpoint.endpoint.request.url)
        #expect(endpoint.firstPage(size: 3).size == 3)
        let custom = Pages.Sizer { request, size in
            var sized = request
            sized.headers.set("X-Size", String(size))
            return sized
        }
        #expect(try PagedEndpoint<Numbers>.numbers(sizer: custom).firstPage(size: 5).request.headers["X-Size"] == "5")
    }

    @Test("pages PA-03 ends counted pages at an empty one and at the total, and all at the page limit")
    func ends() async throws {
        let empty = PagedSource { asked in
            .json(PagedSource.body(asked["page"] == 2 ? [] : [asked["page"] ?? 9]))
        }
        let counted = Pages.Paginator<Numbers>.rule(.pageNumber(query: "page", first: 0))
        #expect(try await empty.loader.pages(of: try .numbers(counted)).collected() == [0, 1])

        let total = PagedSource { asked in
            let first = (asked["page"] ?? 0) * 2
            return .json(PagedSource.body([first, first + 1], total: 4))
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers(counted)
        endpoint.total = .body(["total"])
        #expect(try await total.loader.pages(of: endpoint).collected() == [0, 1, 2, 3])

        let limited = PagedSource.linked(count: 10, size: 2)
        #expect(try await limited.loader.pages(of: try .numbers(), pageLimit: 2).collected() == [0, 1, 2, 3])
        #expect(limited.transport.requests.count == 2)
    }

    @Test("pages PA-03 loads nothing with a limit of no page", arguments: [0, -1], [0, 2])
    func limitOfNothing(limit: Int, prefetch: Int) async throws {
        let source = PagedSource.linked(count: 10, size: 2)
        let pages = source.loader.pages(of: try .numbers(), prefetch: prefetch, pageLimit: limit)
        #expect(try await pages.collected() == [])
        #expect(source.transport.requests.isEmpty)
    }

    @Test("pages PA-04 delivers the page that reveals a circle, then throws", arguments: [0, 2])
    func loops(prefetch: Int) async throws {
        let source = PagedSource { asked in
            let page = asked["p"] ?? 0
            return .json(PagedSource.body([page], next: "/list?p=\(page == 3 ? 1 : page + 1)"))
        }
        var iterator = source.loader.pages(of: try .numbers(), prefetch: prefetch).makeAsyncIterator()
        var items: [Int] = []

        let failure = await #expect(throws: PageError.self) {
            while let page = try await iterator.next() { items += page.value.items }
        }

        #expect(items == [0, 1, 2, 3])
        guard case .loop = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(failure?.page.request.url.query() == "p=1")
        #expect(try await iterator.next() == nil)
    }

    @Test("pages PA-05 follows to another origin without credentials and cookies, or refuses")
    func otherOrigins() async throws {
        let source = PagedSource { asked in
            .json(
                PagedSource.body(
                    [1],
                    next: asked.request.url.host() == "api.example.com" ? "https://other.example:444/list" : nil
                )
            )
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.endpoint = endpoint.endpoint.header("Authorization", "Bearer t").header("Cookie", "a=b")
            .header("X-Api-Key", "k").header("Accept", "application/json")

        #expect(try await source.loader.pages(of: endpoint).collected() == [1, 1])
        let sent = source.transport.requests
        #expect(sent[0].headers.contains("Authorization") && sent[0].headers.contains("Cookie"))
        #expect(sent[1].headers.contains("Accept") && !sent[1].headers.contains(where: \.carriesCredentials))

        endpoint.otherOrigins = .refused
        let failure = await #expect(throws: PageError.self) {
            try await source.loader.pages(of: endpoint).collected()
        }
        guard case .otherOrigin = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test("pages PA-05 keeps credentials on the same origin, whatever its case and port")
    func sameOrigin() async throws {
        let source = PagedSource { asked in
            .json(PagedSource.body([1], next: asked["p"] == nil ? "HTTPS://API.example.com:443/list?p=1" : nil))
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.endpoint = endpoint.endpoint.header("Authorization", "Bearer t")

        #expect(try await source.loader.pages(of: endpoint).collected() == [1, 1])
        #expect(source.transport.requests[1].headers["Authorization"] == "Bearer t")
    }

    @Test(
        "pages PA-05 refuses other schemes",
        arguments: ["file:///etc/passwd", "ftp://api.example.com/", "data:,x", "javascript:1"]
    )
    func otherSchemes(target: String) async throws {
        let source = PagedSource { _ in .json(PagedSource.body([1], next: target)) }

        let failure = await #expect(throws: PageError.self) {
            try await source.loader.pages(of: try .numbers()).collected()
        }
        guard case .invalidTarget = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(source.transport.requests.count == 1)
    }

    @Test("pages PA-06 drops items whose identity occurred before, when configured")
    func unique() async throws {
        let source = PagedSource { asked in
            let page = asked["p"] ?? 0
            return .json(PagedSource.body([page, page + 1], next: page < 2 ? "/list?p=\(page + 1)" : nil))
        }
        let items = source.loader.pages(of: try .numbers()).items(\.items)

        var all: [Int] = []
        for try await item in items { all.append(item) }
        var once: [Int] = []
        for try await item in items.unique(by: { $0 }) { once.append(item) }

        #expect(all == [0, 1, 1, 2, 2, 3])
        #expect(once == [0, 1, 2, 3])
    }

    @Test("pages PA-10 requests a page only when the consumer does")
    func lazy() async throws {
        let source = PagedSource.linked(count: 10, size: 2)
        let pages = source.loader.pages(of: try .numbers())
        var iterator = pages.makeAsyncIterator()
        #expect(source.transport.requests.isEmpty)

        for count in 1...3 {
            _ = try await iterator.next()
            #expect(source.transport.requests.count == count)
        }
    }

    @Test("pages PA-11 loads at most so many pages ahead of a stalled consumer", arguments: [1, 2, 4], [false, true])
    func backPressure(prefetch: Int, isAddressable: Bool) async throws {
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            return .json(PagedSource.body([page], next: "/list?page=\(page + 1)"))
        }
        let paginator: Pages.Paginator<Numbers> =
            isAddressable ? .rule(.pageNumber(query: "page", first: 0)) : .rule(.body(["next"]))
        var iterator = source.loader.pages(of: try .numbers(paginator), prefetch: prefetch).makeAsyncIterator()

        for taken in 1...5 {
            #expect(try await iterator.next()?.page.number == taken - 1)
            // The request that may start does start in the end; another one would be an error.
            _ = try await source.transport.request(at: taken + prefetch - 1)
            #expect(source.transport.requests.count == taken + prefetch)
        }
    }

    @Test("pages PA-11 cancels exactly the loads in flight when the loop is left", arguments: [false, true])
    func leaving(isAddressable: Bool) async throws {
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            return page == 0 ? .json(PagedSource.body([page], next: "/list?page=1")) : .stalls
        }
        let paginator: Pages.Paginator<Numbers> =
            isAddressable ? .rule(.pageNumber(query: "page", first: 0)) : .rule(.body(["next"]))
        let inFlight = isAddressable ? 3 : 1

        for try await page in source.loader.pages(of: try .numbers(paginator), prefetch: 3) {
            #expect(page.value.items == [0])
            _ = try await source.transport.request(at: inFlight)
            break
        }

        try await source.transport.cancellations(atLeast: inFlight)
        #expect(source.transport.requests.count == inFlight + 1)
    }

    @Test("pages PA-11 ends the wait for a page when the task is cancelled", arguments: [0, 2])
    func cancelling(prefetch: Int) async throws {
        let source = PagedSource { _ in .stalls }
        let pages = source.loader.pages(of: try .numbers(), prefetch: prefetch)
        let task = Task { try await pages.collected() }
        _ = try await source.transport.request(at: 0)

        task.cancel()

        let failure = await #expect(throws: PageError.self) { try await task.value }
        #expect(failure?.isCancellation == true)
    }

    @Test("pages PA-12 fetches addressable pages in parallel and delivers them in order", arguments: [1, 3, 7])
    func parallel(prefetch: Int) async throws {
        let delay = Duration.milliseconds(100)
        let source = PagedSource(after: delay) { asked in
            let page = asked["page"] ?? 0
            return .json(PagedSource.body([page], total: 64))
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers(.rule(.pageNumber(query: "page", first: 0)))
        endpoint.total = .body(["total"])
        let pages = source.loader.pages(of: endpoint, prefetch: prefetch)
        let start = source.time.now
        let walk = Task { try await pages.collected() }
        // The first page is loaded alone, because it has the total.
        _ = try await source.time.sleepers(atLeast: 1)
        source.time.advance(by: delay)
        for left in stride(from: 63, to: 0, by: -(prefetch + 1)) {
            _ = try await source.time.sleepers(atLeast: min(prefetch + 1, left))
            source.time.advance(by: delay)
        }
        let items = try await walk.value

        #expect(items == Array(0..<64))
        #expect(source.transport.requests.count == 64)
        let rounds = 1 + (63 + prefetch) / (prefetch + 1)
        #expect(start.duration(to: source.time.now) == delay * rounds)
    }

    @Test("pages PA-12 accepts shorter pages than requested")
    func shorterPages() async throws {
        let source = PagedSource { asked in
            let first = asked["offset"] ?? 0
            return .json(PagedSource.body(first..<max(first, min(first + 3, 10))))
        }
        let pages = source.loader.pages(
            of: try .numbers(.rule(.offset(query: "offset"))),
            size: 500,
            prefetch: 2
        )

        #expect(try await pages.collected() == Array(0..<10))
    }

    @Test("pages PA-13 returns the page that failed, and resumes there", arguments: [0, 2])
    func resuming(prefetch: Int) async throws {
        let isBroken = Locked(true)
        let source = PagedSource { asked in
            let first = asked["from"] ?? 0
            if first == 4, isBroken.withLock({ $0 }) { return .status(500) }
            let end = first + 2
            return .json(PagedSource.body(first..<end, next: end < 8 ? "/list?from=\(end)" : nil))
        }
        let endpoint = try PagedEndpoint<Numbers>.numbers()
        var items: [Int] = []
        let failure = await #expect(throws: PageError.self) {
            for try await page in source.loader.pages(of: endpoint, size: 2, prefetch: prefetch) {
                items += page.value.items
            }
        }
        #expect(items == [0, 1, 2, 3])
        #expect(failure?.page.number == 2)
        guard let page = failure?.page, case .unacceptableStatus(500) = failure?.cause.loadingError?.kind else {
            Issue.record("\(String(describing: failure))")
            return
        }

        isBroken.withLock { $0 = false }
        items += try await source.loader.pages(of: endpoint, prefetch: prefetch, from: page).collected()

        #expect(items == Array(0..<8))
    }

    @Test("pages PA-13 ignores what was loaded in vain beyond the end")
    func beyondTheEnd() async throws {
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            return page < 3 ? .json(PagedSource.body([page])) : page == 3 ? .json(PagedSource.body([])) : .status(404)
        }
        let pages = source.loader.pages(of: try .numbers(.rule(.pageNumber(query: "page", first: 0))), prefetch: 4)

        #expect(try await pages.collected() == [0, 1, 2])
    }

    @Test("pages PA-14 reports pages, items, bytes, the total, and the current wait")
    func progress() async throws {
        let source = PagedSource { asked in
            .json(PagedSource.body([1, 2], next: asked["p"] == nil ? "/list?p=1" : nil, total: 4))
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.total = .body(["total"])
        let reports = Locked<[Pages.Progress]>([])
        let meter = Pages.Progress.Meter { progress in reports.withLock { $0.append(progress) } }

        _ = try await source.loader.pages(of: endpoint, meter: meter).collected()
        let call = Call(id: Call.ID(1), time: source.time)
        meter.record(.waitStarted(.backoff(attempt: 2)), of: call)
        meter.record(.waitEnded(.backoff(attempt: 2), after: .seconds(1)), of: call)

        let seen = reports.withLock { $0 }
        #expect(seen.map(\.pages) == [1, 2, 2, 2])
        #expect(seen.map(\.items) == [2, 4, 4, 4])
        #expect(seen[1].total == 4 && seen[1].bytes > 60)
        #expect(seen.map(\.waiting) == [nil, nil, .backoff(attempt: 2), nil])
    }

    @Test("compares pages by size, number and address, and describes an unspecified size")
    func pageValues() throws {
        let endpoint = try PagedEndpoint<Numbers>.numbers()
        #expect(endpoint.firstPage() == endpoint.firstPage(size: 0))
        #expect(endpoint.firstPage() != endpoint.firstPage(size: 1))
        #expect(Set([endpoint.firstPage(size: 2), endpoint.firstPage(size: 2)]).count == 1)
        #expect(endpoint.firstPage().description.contains("unspecified"))
    }
}
