#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

/// Pages, their sizes, and the marks of the pages before them, as values.
@Suite("Pages as values", .timeLimit(.minutes(5)))
struct PageTests {
    private func page(_ size: Int, _ number: Int, _ path: String, body: String? = nil) throws -> PageRequest {
        var request = try Request(body == nil ? .get : .post, "https://api.example.com" + path)
        request.body = body.map { .bytes(Data($0.utf8)) }
        return PageRequest(size: size, number: number, request: request, itemsBefore: nil)
    }

    @Test("pages with another size, number or address are different")
    func equality() throws {
        let page = try page(2, 1, "/a")

        #expect(try page == self.page(2, 1, "/a"))
        for other in [try self.page(3, 1, "/a"), try self.page(2, 2, "/a"), try self.page(2, 1, "/b")] {
            #expect(page != other)
        }
    }

    @Test("a stored page keeps its body, and is requested by its own method with it")
    func storedBody() throws {
        let stored = try JSONEncoder().encode(page(2, 1, "/a", body: "query"))

        let page = try JSONDecoder().decode(PageRequest.self, from: stored)
        let walk = PageWalk(
            original: try Request("https://api.example.com/list"),
            size: 0,
            sizer: nil,
            rules: [.link(relation: "next")],
            total: nil,
            otherOrigins: .withoutCredentials
        )
        let request = try walk.attached(page).request

        #expect(request.method == .post && request.url.path() == "/a")
        guard case .bytes(let bytes) = request.body?.content else {
            Issue.record("\(String(describing: request.body))")
            return
        }
        #expect(bytes == Data("query".utf8))
    }

    @Test("a stored page has no body but its own", arguments: [nil, "query"])
    func ownBody(body: String?) throws {
        let stored = try JSONDecoder().decode(
            PageRequest.self,
            from: JSONEncoder().encode(page(2, 1, "/a", body: body))
        )
        var original = try Request(.post, "https://api.example.com/list")
        original.body = .text("first")
        let walk = PageWalk(
            original: original,
            size: 0,
            sizer: nil,
            rules: [.link(relation: "next")],
            total: nil,
            otherOrigins: .withoutCredentials
        )

        let request = try walk.attached(stored).request

        #expect(request.method == (body == nil ? .get : .post))
        guard case .bytes(let bytes) = request.body?.content else {
            #expect(body == nil && request.body == nil)
            return
        }
        #expect(bytes == body.map { Data($0.utf8) })
    }

    @Test("the contents that a page is compared with stay the same after a page whose content is unknown")
    func unknownContent() {
        let earlier = PageContents(first: 1, last: 2)

        #expect(PageContents.following(nil, after: earlier) == earlier)
        #expect(PageContents.following(3, after: earlier) == PageContents(first: 1, last: 3))
        #expect(PageContents.following(3, after: nil) == PageContents(first: 3, last: 3))
    }

    @Test(
        "the nearest allowed size is requested, or the one that means all",
        arguments: [(0, 1), (1, 1), (50, 50), (100, 100), (101, 100), (9_999, 9_999)]
    )
    func nearestSizes(size: Int, nearest: Int) {
        #expect(Pages.Sizes(standard: 10, allowed: 1...100, unlimited: 9_999).nearest(size) == nearest)
    }

    @Test("a first page has the size that its list allows, and the list's own without one", arguments: [-1, 0, 1, 500])
    func firstPages(size: Int) throws {
        let endpoint = Endpoint(try Request("https://api.example.com/list"))
        var paged = PagedEndpoint(endpoint, sizer: .query("size"), paginator: .rule(.link(relation: "next")))
        paged.sizes = Pages.Sizes(standard: 10, allowed: 1...100)

        let page = paged.firstPage(size: size)

        #expect(page.size == (size < 1 ? 10 : min(size, 100)))
        #expect(page.request.url.query() == (size < 1 ? nil : "size=\(min(size, 100))"))
        #expect(paged.firstPage(requesting: size).size == max(1, min(size, 100)))
        paged.sizes = nil
        #expect(paged.firstPage(size: size).size == max(0, size))
    }

    @Test(
        "the marks of many pages are those of every second, then of every fourth",
        arguments: [512, 513, 1_025, 2_000]
    )
    func thinnedMarks(count: Int) {
        var marks = PageMarks()
        for position in 0..<count { marks.add(UInt64(position), at: position) }

        let stride = count <= 512 ? 1 : count <= 1_024 ? 2 : 4
        #expect(marks.stride == stride)
        #expect(marks.keys == Swift.stride(from: 0, to: count, by: stride).map(UInt64.init))
    }

    @Test("a mark is that of method, address and body, without the fragment")
    func keys() throws {
        func key(_ page: PageRequest) -> UInt64 { PageMarks.key(of: page.request) }
        let get = try page(0, 0, "/a")
        var post = get.request
        post.method = .post

        #expect(try key(page(0, 0, "/a#top")) == key(get))
        #expect(PageMarks.key(of: post) != key(get))
        #expect(try key(page(0, 0, "/a", body: "x")) != key(page(0, 0, "/a", body: "y")))
    }

    @Test("marks are stored whole, and damaged ones are refused")
    func storedMarks() throws {
        var marks = PageMarks()
        for (position, key) in [UInt64(1), 0, .max].enumerated() { marks.add(key, at: position) }

        #expect(try JSONDecoder().decode(PageMarks.self, from: JSONEncoder().encode(marks)) == marks)
        for keys in ["00", "000000000000000100", "zzzzzzzzzzzzzzzz"] {
            let damaged = Data(#"{"every": 1, "keys": "\#(keys)"}"#.utf8)
            #expect(throws: DecodingError.self) { try JSONDecoder().decode(PageMarks.self, from: damaged) }
        }
    }

    @Test("progress continues where an earlier run ended, and keeps a total that later pages do not name")
    func meter() {
        let meter = Pages.Progress.Meter()
        var earlier = Pages.Progress()
        earlier.pages = 2
        earlier.items = 5
        meter.begin(with: earlier)

        meter.add(items: 3, bytes: 10, total: 9)
        meter.add(items: 1, bytes: 10, total: nil)

        #expect(meter.progress.pages == 4 && meter.progress.items == 9)
        #expect(meter.progress.bytes == 20 && meter.progress.total == 9)
    }

    @Test("progress names the wait that remains when another one has ended")
    func waits() {
        let meter = Pages.Progress.Meter()
        let call = Call()
        meter.record(.waitStarted(.connectivity), of: call)
        meter.record(.waitStarted(.backoff(attempt: 2)), of: call)
        #expect(meter.progress.waiting == .backoff(attempt: 2))

        meter.record(.waitEnded(.backoff(attempt: 2), after: .seconds(1)), of: call)
        #expect(meter.progress.waiting == .connectivity)

        meter.record(.waitEnded(.connectivity, after: .seconds(1)), of: call)
        #expect(meter.progress.waiting == nil)
    }

    @Test(
        "an empty target names no further page, and that of a page without items does",
        arguments: ["/b", ""],
        [0, 2]
    )
    func targets(target: String, count: Int) async throws {
        let source = PagedSource { _ in .json("[]") }
        let endpoint = Endpoint(try Request("https://api.example.com/list"))
        let paged = PagedEndpoint(endpoint, paginator: .target { _ in target }, itemCount: { _ in count })

        let first = try await source.loader.load(paged.firstPage(), of: paged)

        #expect(first.next?.request.url.path() == (target.isEmpty ? nil : "/b"))
    }

    @Test("a request that an app makes for the next page is subject to the rule about other origins")
    func paginatorToOtherOrigin() async throws {
        let source = PagedSource { _ in .json("[]") }
        let endpoint = Endpoint(try Request("https://api.example.com/list"))
        var paged = PagedEndpoint(endpoint, paginator: Pages.Paginator { _ in try Request("https://other.example/b") })
        paged.otherOrigins = .refused

        let first = try await source.loader.load(paged.firstPage(), of: paged)

        #expect(first.next == nil)
        #expect(first.nextFailure != nil)
    }
}
