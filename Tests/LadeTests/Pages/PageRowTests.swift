import Foundation
import LadeCore
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

/// Rules of pages that hold for the sequence as a whole.
@Suite("Rows of pages", .timeLimit(.minutes(5)))
struct PageRowTests {
    /// A loader of `source` with a specific policy.
    private func loader(
        _ source: PagedSource,
        observers: [any Call.Observer] = [],
        _ change: (inout Service.Settings) -> Void = { _ in }
    ) -> Loader {
        var settings = Service.Settings.still(in: source.time)
        settings.random = SeededRandom(seed: 1)
        settings.observers = observers
        change(&settings)
        return Service(settings, transport: source.transport).anonymous.makeLoader()
    }

    @Test("finding FQ-24 pages PA-05 by default another origin gets the request without credentials and cookies only")
    func otherOriginGetsTheRest() async throws {
        let source = PagedSource { asked in
            switch asked["p"] {
            case nil:
                .json(PagedSource.body([0], next: "/list?p=1")).adding("Set-Cookie", "sid=1; Path=/")
            case 1: .json(PagedSource.body([1], next: "https://other.example:444/list?p=2"))
            default: .json(PagedSource.body([2]))
            }
        }
        let authoriser = Authorisation.Bearer(token: "t", scope: try Authorisation.Scope("https://api.example.com"))
        var settings = Service.Settings()
        settings.time = source.time
        let loader = Service(settings, transport: source.transport)
            .account(identifier: "a", authorisers: [authoriser]).makeLoader()
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.endpoint = endpoint.endpoint.header("X-Api-Key", "k").header("Accept", "application/json")

        #expect(try await loader.pages(of: endpoint).collected() == [0, 1, 2])

        let sent = source.transport.requests
        #expect(sent.map { $0.headers["Authorization"] } == ["Bearer t", "Bearer t", nil])
        #expect(sent.map { $0.headers["Cookie"] } == [nil, "sid=1", nil])
        #expect(sent.map { $0.headers["X-Api-Key"] } == ["k", "k", nil])
        var rest = sent[0].headers
        for name in ["Authorization", "Cookie", "X-Api-Key"] { rest.remove(name) }
        #expect(sent[2].headers == rest)
    }

    @Test(
        "finding FQ-24 pages PA-05 when other origins are refused, nothing is sent to them, not even ahead",
        arguments: [0, 3]
    )
    func otherOriginIsRefused(prefetch: Int) async throws {
        let source = PagedSource { asked in
            .json(PagedSource.body([1], next: asked["p"] == nil ? "http://api.example.com/list?p=1" : nil))
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.otherOrigins = .refused
        var items: [Int] = []

        let failure = await #expect(throws: PageError.self) {
            for try await page in source.loader.pages(of: endpoint, prefetch: prefetch) { items += page.value.items }
        }

        guard case .otherOrigin = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(items == [1])
        #expect(source.transport.requests.map { $0.url.scheme } == ["https"])
    }

    @Test("finding FQ-24 pages PA-12 linked pages are fetched while the consumer works on the one before")
    func overlapsTheConsumer() async throws {
        let (delay, work) = (Duration.milliseconds(100), Duration.milliseconds(100))
        let source = PagedSource.linked(count: 20, size: 2, after: delay)
        let pages = source.loader.pages(of: try .numbers(), prefetch: 1)
        let time = source.time
        let walk = Task {
            var items: [Int] = []
            for try await page in pages {
                items += page.value.items
                try await time.sleep(for: work)
            }
            return items
        }
        _ = try await time.sleepers(atLeast: 1)
        time.advance(by: delay)
        for _ in 0..<9 {
            // The consumer and the load of the next page wait at the same time; sequentially there would be one wait.
            #expect(try await time.sleepers(atLeast: 2).count == 2)
            time.advance(by: delay)
        }
        _ = try await time.sleepers(atLeast: 1)
        time.advance(by: work)

        #expect(try await walk.value == Array(0..<20))
        #expect(time.now == Instant(nanoseconds: 11 * 100_000_000))
        #expect(source.transport.maximumInFlight == 1)
    }

    @Test("finding FQ-24 pages PA-13 a page that fails is fetched again as itself, and no other", arguments: [0, 2])
    func retriesThePage(prefetch: Int) async throws {
        let failures = Locked(2)
        let source = PagedSource { asked in
            let first = asked["from"] ?? 0
            let isFailing = failures.withLock { left in
                guard first == 4, left > 0 else { return false }
                left -= 1
                return true
            }
            if isFailing { return .status(503) }
            return .json(PagedSource.body(first..<first + 2, next: first < 6 ? "/list?from=\(first + 2)" : nil))
        }
        let loader = loader(source) {
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }

        #expect(try await loader.pages(of: try .numbers(), prefetch: prefetch).collected() == Array(0..<8))
        #expect(
            source.transport.requests.map { $0.url.query() ?? "" } == [
                "", "from=2", "from=4", "from=4", "from=4", "from=6",
            ]
        )
    }

    @Test(
        "finding FQ-24 pages PA-14 progress has pages, items, exact bytes, the total, and what a call really waits for"
    )
    func progress() async throws {
        let bodies = [
            PagedSource.body([1, 2], next: "/list?p=1", total: 4), PagedSource.body([3, 4], total: 4),
        ]
        let isFirst = Locked(true)
        let source = PagedSource { asked in
            guard asked["p"] == 1 else { return .json(bodies[0]) }
            let isRefused = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            return isRefused ? .status(503) : .json(bodies[1])
        }
        let reports = Locked<[Pages.Progress]>([])
        let meter = Pages.Progress.Meter { progress in reports.withLock { $0.append(progress) } }
        let loader = loader(source, observers: [meter]) { $0.retries.limit = 1 }
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.total = .body(["total"])
        let pages = loader.pages(of: endpoint, meter: meter)
        let walk = Task { try await pages.collected() }

        try await source.time.advanceToNextSleeper()

        #expect(try await walk.value == [1, 2, 3, 4])
        let seen = reports.withLock { $0 }.drop { $0.pages == 0 }
        #expect(seen.map(\.pages) == [1, 1, 1, 2])
        #expect(seen.map(\.items) == [2, 2, 2, 4])
        let sizes = bodies.map { Int64($0.utf8.count) }
        #expect(seen.map(\.bytes) == [sizes[0], sizes[0], sizes[0], sizes[0] + sizes[1]])
        #expect(seen.map(\.total) == [4, 4, 4, 4])
        #expect(seen.map(\.waiting) == [nil, .backoff(attempt: 2), nil, nil])
    }
}
