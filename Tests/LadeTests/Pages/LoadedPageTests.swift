import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("One page at a time", .timeLimit(.minutes(5)))
struct LoadedPageTests {
    /// Pages 0, 1, 2, 3, then 1 again.
    private static let circle = PagedSource { asked in
        let page = asked["p"] ?? 0
        return .json(PagedSource.body([page], next: "/list?p=\(page == 3 ? 1 : page + 1)", total: 40))
    }

    /// The page as it is after it was written and read.
    private static func stored(_ page: PageRequest) throws -> PageRequest {
        try JSONDecoder().decode(PageRequest.self, from: JSONEncoder().encode(page))
    }

    private static func isLoop(_ failure: PageError?) -> Bool {
        if case .loop = failure?.cause { true } else { false }
    }

    @Test("loads one page with its value, its answer, the total and the page after it")
    func onePage() async throws {
        let source = PagedSource.linked(count: 5, size: 2)
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.total = .header("X-Total")
        var page: PageRequest? = endpoint.firstPage(size: 2)
        var loaded: [Pages.Page<Loader.Loaded<Numbers>>] = []
        while let current = page {
            loaded.append(try await source.loader.load(current, of: endpoint))
            page = loaded.last?.next
        }

        #expect(loaded.map(\.value.items) == [[0, 1], [2, 3], [4]])
        #expect(loaded.map(\.page.number) == [0, 1, 2])
        #expect(loaded.map(\.page.size) == [2, 2, 2])
        #expect(loaded.map(\.next) == [loaded[1].page, loaded[2].page, nil])
        #expect(loaded.allSatisfy { $0.response.status == 200 && $0.nextFailure == nil && $0.total == nil })
        #expect(source.transport.requests.map { $0.url.query() } == ["size=2", "from=2", "from=4"])
    }

    @Test("finding SF-11 a paged endpoint loads its first page with load, in the requested size", arguments: [0, 2])
    func firstPage(size: Int) async throws {
        let source = PagedSource.linked(count: 5, size: 2)
        let endpoint = try PagedEndpoint<Numbers>.numbers()
        let numbers = try await source.loader.load(endpoint, size: size)

        #expect(numbers.items == [0, 1])
        #expect(source.transport.requests.map { $0.url.query() } == [size == 0 ? nil : "size=2"])
    }

    @Test("throws what kept a page from coming, with the page")
    func failure() async throws {
        let source = PagedSource { _ in .status(500) }
        let endpoint = try PagedEndpoint<Numbers>.numbers()
        let first = endpoint.firstPage(size: 3)

        let failure = await #expect(throws: PageError.self) { try await source.loader.load(first, of: endpoint) }

        #expect(failure?.page == first)
        guard case .unacceptableStatus(let status) = failure?.cause.loadingError?.kind else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(status == 500)
    }

    @Test("pages PA-04 pages loaded one by one notice a circle, stored pages too", arguments: [false, true])
    func circles(storing: Bool) async throws {
        let endpoint = try PagedEndpoint<Numbers>.numbers()
        var page = endpoint.firstPage()
        var items: [Int] = []
        for _ in 0..<8 {
            let loaded = try await Self.circle.loader.load(page, of: endpoint)
            items += loaded.value.items
            guard let next = loaded.next else {
                #expect(Self.isLoop(loaded.nextFailure))
                #expect(loaded.nextFailure?.page.request.url.query() == "p=1")
                break
            }
            page = storing ? try Self.stored(next) : next
        }

        #expect(items == [0, 1, 2, 3])
    }

    @Test("pages PA-04 a walk that begins with a later page has the pages before it", arguments: [0, 2])
    func circleAcrossWalks(prefetch: Int) async throws {
        let endpoint = try PagedEndpoint<Numbers>.numbers()
        let loader = Self.circle.loader
        var iterator = loader.pages(of: endpoint, pageLimit: 2).makeAsyncIterator()
        _ = try await iterator.next()
        let third = try #require(try await iterator.next()?.next)
        var walk = loader.pages(of: endpoint, prefetch: prefetch, from: third).makeAsyncIterator()
        var pages: [Pages.Page<Loader.Loaded<Numbers>>] = []

        let failure = await #expect(throws: PageError.self) {
            while let page = try await walk.next() { pages.append(page) }
        }

        #expect(pages.map(\.value.items) == [[2], [3]])
        #expect(Self.isLoop(failure) && Self.isLoop(pages.last?.nextFailure) && pages.last?.next == nil)
    }

    @Test("the page after another leads in no circle")
    func pageAfter() async throws {
        let endpoint = try PagedEndpoint<Numbers>.numbers()
        var page = endpoint.firstPage()
        for _ in 0..<3 {
            let loaded = try await Self.circle.loader.load(page, of: endpoint)
            page = try #require(loaded.next)
        }
        let last = try await Self.circle.loader.load(page, of: endpoint)

        #expect(last.next == nil)
        #expect(Self.isLoop(last.nextFailure))
    }

    @Test("the page after another is not that page itself")
    func pageAfterItself() async throws {
        let source = PagedSource { _ in .json(PagedSource.body([1], next: "/list?p=0")) }
        let endpoint = try PagedEndpoint<Numbers>.numbers(at: "https://api.example.com/list?p=0")
        let page = endpoint.firstPage()

        let loaded = try await source.loader.load(page, of: endpoint)

        #expect(loaded.next == nil)
        #expect(Self.isLoop(loaded.nextFailure))
    }

    @Test("a page that was not stored is loaded with the header fields of its own request")
    func ownFields() async throws {
        let source = PagedSource { asked in .json(PagedSource.body([asked["p"] ?? 0])) }
        let endpoint = try PagedEndpoint<Numbers>.numbers(
            Pages.Paginator { loaded in
                var request = try Request("https://api.example.com/list?p=\(loaded.number)")
                request.headers.set("X-Page", "\(loaded.number)")
                return request
            }
        )
        let next = try #require(try await source.loader.load(endpoint.firstPage(), of: endpoint).next)

        _ = try await source.loader.load(next, of: endpoint)

        #expect(source.transport.requests.map { $0.headers["X-Page"] } == [nil, "1"])
    }

    @Test("counted pages after a stored one have its size, whatever size the walk asks for")
    func storedSize() async throws {
        let source = PagedSource { asked in
            .json(PagedSource.body(asked["page"] ?? 0 < 3 ? [asked["page"] ?? 0] : []))
        }
        let endpoint = try PagedEndpoint<Numbers>.numbers(.rule(.pageNumber(query: "page", first: 0)))
        let next = try #require(try await source.loader.load(endpoint.firstPage(size: 7), of: endpoint).next)

        _ = try await source.loader.pages(of: endpoint, size: 2, from: Self.stored(next)).collected()

        let sizes = source.transport.requests.map { $0.url.query()?.contains("size=7") }
        #expect(sizes == [true, true, true, true])
    }

    @Test("a page is stored and read back equal, and loaded with the header fields of its endpoint")
    func storing() async throws {
        let source = PagedSource.linked(count: 6, size: 2)
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.endpoint = endpoint.endpoint.header("Authorization", "Bearer canary")
        let next = try #require(try await source.loader.load(endpoint.firstPage(size: 2), of: endpoint).next)
        let text = String(decoding: try JSONEncoder().encode(next), as: UTF8.self)
        let read = try Self.stored(next)

        #expect(read == next && read.hashValue == next.hashValue && read.itemsBefore == 2)
        #expect(!text.contains("canary"))
        #expect(try await source.loader.load(read, of: endpoint).value.items == [2, 3])
        #expect(try await source.loader.pages(of: endpoint, from: read).collected() == [2, 3, 4, 5])
        #expect(source.transport.requests.allSatisfy { $0.headers["Authorization"] == "Bearer canary" })
    }

    @Test("a stored page keeps method and body, and counted pages continue from it")
    func storedBody() async throws {
        let source = PagedSource { asked in
            .json(PagedSource.body([asked["page"] ?? -1], next: nil))
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers(.rule(.pageNumber(query: "page", first: 1)))
        endpoint.endpoint = endpoint.endpoint.request { request in
            request.method = .post
            request.body = .text("q")
        }
        let loaded = try await source.loader.load(endpoint.firstPage(size: 1), of: endpoint)
        let read = try Self.stored(try #require(loaded.next))

        #expect(try await source.loader.load(read, of: endpoint).value.items == [2])
        let sent = try #require(source.transport.requests.last)
        #expect(sent.method == .post && read.trail.keys.isEmpty)
        guard case .bytes(let bytes) = sent.body?.content else {
            Issue.record("\(String(describing: sent.body))")
            return
        }
        #expect(bytes == Data("q".utf8))
    }

    @Test("a stored page that leads to another origin gets no credentials, or is refused")
    func storedOrigin() async throws {
        let source = PagedSource { _ in .json(PagedSource.body([1])) }
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.endpoint = endpoint.endpoint.header("Authorization", "Bearer canary").header("X-Mine", "canary")
        let json = #"{"size": 2, "number": 1, "url": "https://other.example/list?p=1"}"#
        let page = try JSONDecoder().decode(PageRequest.self, from: Data(json.utf8))

        #expect(try await source.loader.load(page, of: endpoint).value.items == [1])
        #expect(source.transport.requests[0].headers.allSatisfy { !$0.value.contains("canary") })

        endpoint.otherOrigins = .refused
        let failure = await #expect(throws: PageError.self) {
            try await source.loader.load(page, of: endpoint)
        }
        guard case .otherOrigin = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(source.transport.requests.count == 1)
    }

    @Test(
        "refuses a stored page that can be none",
        arguments: [
            #"{"size": -1, "number": 0, "url": "https://a.example/"}"#,
            #"{"size": 0, "number": -1, "url": "https://a.example/"}"#,
            #"{"size": 0, "number": 0, "itemsBefore": -1, "url": "https://a.example/"}"#,
            #"{"size": 0, "number": 0, "url": "file:///etc/passwd"}"#,
            #"{"size": 0, "number": 0, "url": "/relative"}"#,
            #"{"size": 0, "number": 0, "url": "https://user:canary@a.example/"}"#,
            #"{"size": 0, "number": 0, "method": "GET /", "url": "https://a.example/"}"#,
            #"{"size": 0, "number": 0, "url": "https://a.example/", "trail": {"every": 1, "keys": "xyz"}}"#,
            #"{"size": 0, "number": 0, "url": "https://a.example/", "trail": {"every": 0, "keys": "0000000000000001"}}"#,
            #"{"number": 0, "url": "https://a.example/"}"#,
        ]
    )
    func invalid(json: String) throws {
        let error = #expect(throws: DecodingError.self) {
            try JSONDecoder().decode(PageRequest.self, from: Data(json.utf8))
        }
        #expect(!String(describing: error).contains("canary"))
    }

    @Test("a stored page with the largest number is followed by the next one", arguments: [true, false])
    func largestNumber(isTarget: Bool) async throws {
        let source = PagedSource.linked(count: 4, size: 2)
        let closure = Pages.Paginator<Numbers> { loaded in
            guard let next = loaded.value.next else { return nil }
            return try Request("https://api.example.com" + next)
        }
        let endpoint = try PagedEndpoint<Numbers>.numbers(isTarget ? .target(\.next) : closure)
        let first = endpoint.firstPage().request.url.absoluteString
        let json = #"{"size": 0, "number": \#(Int.max), "url": "\#(first)"}"#
        let page = try JSONDecoder().decode(PageRequest.self, from: Data(json.utf8))

        let loaded = try await source.loader.load(page, of: endpoint)

        #expect(loaded.next?.number == .max)
        #expect(loaded.nextFailure == nil)
    }

    @Test("a trail of stored pages has a bound")
    func boundedTrail() throws {
        let keys = String(repeating: "0123456789abcdef", count: PageMarks.limit + 1)
        let json = #"{"size": 0, "number": 0, "url": "https://a.example/", "trail": {"every": 1, "keys": "\#(keys)"}}"#

        #expect(throws: DecodingError.self) { try JSONDecoder().decode(PageRequest.self, from: Data(json.utf8)) }
    }
}
