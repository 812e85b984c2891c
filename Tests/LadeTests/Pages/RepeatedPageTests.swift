import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Pages that repeat an earlier one", .timeLimit(.minutes(5)))
struct RepeatedPageTests {
    private static let byNumber = Pages.Paginator<Numbers>.rule(.pageNumber(query: "page", first: 0))

    /// Answers the page with a number by the numbers that a closure makes of it.
    private static func source(_ items: @escaping @Sendable (Int) -> [Int]) -> PagedSource {
        PagedSource { asked in .json(PagedSource.body(items(asked["page"] ?? asked["offset"] ?? 0))) }
    }

    /// The items, and why they ended.
    private static func collect(
        _ source: PagedSource,
        _ endpoint: PagedEndpoint<Numbers>,
        prefetch: Int = 0,
        pageLimit: Int? = nil
    ) async -> (items: [Int], failure: PageError?) {
        var items: [Int] = []
        do throws(PageError) {
            let pages = source.loader.pages(of: endpoint, prefetch: prefetch, pageLimit: pageLimit)
            for try await page in pages { items += page.value.items }
            return (items, nil)
        } catch {
            return (items, error)
        }
    }

    private static func isRepeated(_ failure: PageError?) -> Bool {
        if case .repeated = failure?.cause { true } else { false }
    }

    @Test("ends with an error where a server ignores the number or the offset", arguments: [true, false], [0, 2])
    func ignoredQuery(byNumber: Bool, prefetch: Int) async throws {
        let rule: Pages.Rule = byNumber ? .pageNumber(query: "page", first: 0) : .offset(query: "offset")

        let source = Self.source { _ in [1, 2] }

        let (items, failure) = await Self.collect(source, try .numbers(.rule(rule)), prefetch: prefetch)

        #expect(items == [1, 2])
        #expect(Self.isRepeated(failure))
        #expect(failure?.page.number == 1)
        // Nothing is requested ahead of the page that ends the list.
        let requested = source.transport.requests.compactMap { $0.url.query() }
        #expect(requested.allSatisfy { !$0.hasSuffix(byNumber ? "=4" : "=8") })
        #expect(
            failure?.description
                == "Page 2 has the content of an earlier page, so the server ignores the page's number or cursor, "
                + "or has no further pages: GET https://api.example.com/list?\(byNumber ? "page=1" : "offset=2")."
        )
    }

    @Test(
        "ends with an error where a server repeats its last or its first page after the end",
        arguments: [2, 0],
        [0, 3]
    )
    func repeatedEnd(page: Int, prefetch: Int) async throws {
        let source = Self.source { [$0 < 3 ? $0 : page] }

        let (items, failure) = await Self.collect(source, try .numbers(Self.byNumber), prefetch: prefetch)

        #expect(items == [0, 1, 2])
        #expect(Self.isRepeated(failure) && failure?.page.number == 3)
    }

    @Test(
        "cancels the pages that were requested ahead of a repeated one",
        arguments: [Pages.Rule.RepeatedPages.refused, .end]
    )
    func cancelsAhead(repeated: Pages.Rule.RepeatedPages) async throws {
        let second = Signal()
        let source = PagedSource { asked in
            switch asked["page"] ?? 0 {
            case 0: .json(PagedSource.body([1]))
            case 1: .json(PagedSource.body([1])).after(second)
            default: .stalls
            }
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers(Self.byNumber)
        endpoint.repeatedPages = repeated
        let pages = source.loader.pages(of: endpoint, prefetch: 2)
        let isOver = Signal()
        let walk = Task {
            var iterator = pages.makeAsyncIterator()
            _ = try await iterator.next()
            _ = try? await iterator.next()
            // The iteration is not left before, so that nothing but the repeated page cancels the loads.
            try await isOver.wait()
            _ = try await iterator.next()
        }
        _ = try await source.transport.request(at: 3)

        second.raise()

        try await source.transport.cancellations(atLeast: 2)
        isOver.raise()
        _ = await walk.result
    }

    @Test("ends the list there, or delivers such pages, where the endpoint says so", arguments: [0, 2])
    func choices(prefetch: Int) async throws {
        let source = Self.source { [min($0, 2)] }
        var endpoint = try PagedEndpoint<Numbers>.numbers(Self.byNumber)

        endpoint.repeatedPages = .end
        let ended = await Self.collect(source, endpoint, prefetch: prefetch)
        endpoint.repeatedPages = .kept
        let kept = await Self.collect(source, endpoint, prefetch: prefetch, pageLimit: 5)

        #expect(ended.items == [0, 1, 2] && ended.failure == nil)
        #expect(kept.items == [0, 1, 2, 2, 2] && kept.failure == nil)
    }

    @Test("compares pages that a closure finds, and no pages that the server names or that are empty")
    func compared() async throws {
        let closure = Pages.Paginator<Numbers> { page in
            page.number < 4 ? try Request("https://api.example.com/list?page=\(page.number)") : nil
        }
        let linked = PagedSource { asked in
            let page = asked["page"] ?? 0
            return .json(
                PagedSource.body([1]),
                headers: page < 3 ? ["Link": "</list?page=\(page + 1)>; rel=next"] : [:]
            )
        }

        let same = await Self.collect(Self.source { _ in [1] }, try .numbers(closure))
        let empty = await Self.collect(Self.source { _ in [] }, try .numbers(closure))
        let named = await Self.collect(linked, try .numbers(.rule(.link(relation: "next"))))
        let targets = PagedSource { asked in
            let page = asked["page"] ?? 0
            return .json(PagedSource.body([1], next: page < 3 ? "/list?page=\(page + 1)" : nil))
        }
        let targeted = await Self.collect(targets, try .numbers(.target(\.next)))

        #expect(same.items == [1] && Self.isRepeated(same.failure))
        #expect(empty.items == [] && empty.failure == nil)
        #expect(named.items == [1, 1, 1, 1] && named.failure == nil)
        #expect(targeted.items == [1, 1, 1, 1] && targeted.failure == nil)
    }

    @Test("is found where pages are loaded one by one, and where the list continues with a stored page")
    func onePageAtATime() async throws {
        let source = Self.source { [min($0, 2)] }
        let endpoint = try PagedEndpoint<Numbers>.numbers(Self.byNumber)
        var page: PageRequest? = endpoint.firstPage()
        var items: [Int] = []

        let failure = await #expect(throws: PageError.self) {
            while let current = page {
                let stored = try JSONDecoder().decode(PageRequest.self, from: JSONEncoder().encode(current))
                let loaded = try await source.loader.load(stored, of: endpoint)
                items += loaded.value.items
                page = loaded.next
            }
        }

        #expect(items == [0, 1, 2])
        #expect(Self.isRepeated(failure) && failure?.page.number == 3)
        // A page alone has no list that could end before it.
        var ending = endpoint
        ending.repeatedPages = .end
        let last = try #require(page)
        let alone = await #expect(throws: PageError.self) { _ = try await source.loader.load(last, of: ending) }
        #expect(Self.isRepeated(alone))
    }

    @Test("is found by the caller's own loop over pages")
    func ownLoop() async throws {
        let source = Self.source { [min($0, 1)] }
        var endpoint = try PagedEndpoint<Numbers>.numbers(Self.byNumber)
        func next(_ page: PageRequest) async throws -> PageRequest? {
            try await source.loader.load(page, of: endpoint).next
        }
        let second = try #require(try await next(endpoint.firstPage()))
        let third = try #require(try await next(second))

        let failure = await #expect(throws: PageError.self) { _ = try await next(third) }
        endpoint.repeatedPages = .kept
        let fourth = try await next(third)

        #expect(Self.isRepeated(failure) && failure?.page == third)
        #expect(fourth?.number == 3 && fourth?.trail.keys.isEmpty == true)
    }

    @Test("refuses stored contents that are none", arguments: ["", "1", "1 2 3", "g h", "1 10000000000000000"])
    func storedContents(text: String) throws {
        let stored = #"{"size":1,"number":1,"url":"https://api.example.com/list?page=1","contents":"\#(text)"}"#

        #expect(throws: DecodingError.self) { _ = try JSONDecoder().decode(PageRequest.self, from: Data(stored.utf8)) }
    }
}

@Suite("Parts that were not requested", .timeLimit(.minutes(5)))
struct UnrequestedPartTests {
    /// The fields of a response with status 206, and whether its value is used.
    static let rows: [([String: String], Bool)] = [
        (["Content-Range": "bytes 0-4/11"], false), (["Content-Range": "bytes 6-10/11"], false),
        (["Content-Range": "bytes 0-11/*"], false), (["Content-Range": "Bytes of a kind"], false),
        (["Content-Type": "multipart/byteranges; boundary=x"], false),
        // A whole representation, and the pages of services that use the status for lists.
        (["Content-Range": "bytes 0-10/11"], true), (["Content-Range": "items 0-9/50"], true),
        (["Content-Range": "0-9/50"], true), ([:], true),
    ]

    @Test("an endpoint takes no part of a document for the whole", arguments: rows)
    func values(fields: [String: String], isUsed: Bool) async throws {
        let source = PagedSource { _ in
            .bytes(Data(#"{"items":[1]}"#.utf8), status: 206, headers: Headers(fields.map { ($0.key, $0.value) }))
        }
        let endpoint = try PagedEndpoint<Numbers>.numbers().endpoint

        let result: Result<[Int], LoadingError>
        do throws(LoadingError) {
            result = .success(try await source.loader.load(endpoint).items)
        } catch {
            result = .failure(error)
        }

        switch result {
        case .success(let items): #expect(isUsed && items == [1])
        case .failure(let error): #expect(error.kind == .unacceptableStatus(206) && !isUsed)
        }
    }

    @Test("an endpoint takes the part that its request asks for")
    func requestedPart() async throws {
        let source = PagedSource { _ in
            .bytes(Data(#"{"items":[1]}"#.utf8), status: 206, headers: ["Content-Range": "bytes 0-12/50"])
        }
        let endpoint = try PagedEndpoint<Numbers>.numbers().endpoint.header("Range", "bytes=0-12")

        #expect(try await source.loader.load(endpoint).items == [1])
    }
}
