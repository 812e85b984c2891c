#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Testing

@testable import Lade

/// The decision about the next page, without a network.
@Suite("Which page comes next", .timeLimit(.minutes(5)))
struct PageWalkTests {
    private func walk(
        _ rules: [Pages.Rule],
        from address: String = "https://api.example.com/list?page=1",
        total: Pages.Rule.Place? = nil,
        otherOrigins: Pages.Rule.OtherOrigins = .withoutCredentials,
        change: (inout Request) -> Void = { _ in }
    ) throws -> PageWalk {
        var request = try Request(address)
        change(&request)
        return PageWalk(
            original: request,
            size: 0,
            sizer: nil,
            rules: rules,
            total: total,
            otherOrigins: otherOrigins
        )
    }

    private func facts(
        _ walk: PageWalk,
        _ headers: Headers = [:],
        _ scalars: [JSONSplitter.Scalar?] = [],
        items: Int? = 2
    ) -> PageWalk.Facts {
        let response = Response(status: 200, headers: headers, request: walk.first.request)
        return PageWalk.Facts(response: response, scalars: scalars, itemCount: items)
    }

    /// The address of the page after the first; nil after the last.
    private func next(_ walk: PageWalk, _ facts: PageWalk.Facts) throws -> String? {
        try walk.next(after: walk.first, facts)?.request.url.absoluteString
    }

    @Test(
        "RFC 8288 §3.2: a link with an anchor is about another resource",
        arguments: [
            (#"</a>; rel=next; anchor="/other""#, nil),
            (#"</a>; rel=next; anchor="/other", </b>; rel=next"#, "https://api.example.com/b"),
        ]
    )
    func anchors(field: String, expected: String?) throws {
        let walk = try walk([.link(relation: "next")])

        #expect(try next(walk, facts(walk, ["Link": field])) == expected)
    }

    @Test("a page with the largest number is followed by the one that it names, and a counted list ends with an error")
    func largestNumber() throws {
        let linked = try walk([.link(relation: "next")])
        let counted = try walk([.pageNumber(query: "page", first: 1)])
        func last(_ walk: PageWalk) -> PageRequest {
            PageRequest(size: 0, number: .max, request: walk.first.request, itemsBefore: nil)
        }

        let page = try linked.next(after: last(linked), facts(linked, ["Link": "</b>; rel=next"]))

        #expect(page?.number == .max && page?.request.url.path() == "/b")
        #expect(throws: PageError.Cause.self) { _ = try counted.next(after: last(counted), facts(counted)) }
    }

    @Test("an empty target or cursor names no page, and leaves the decision to the next rule")
    func emptyTargets() throws {
        let bodies = try walk([.body(["next"]), .body(["more"])])
        let cursors = try walk([.headerCursor("X-Cursor", query: "after"), .link(relation: "next")])

        #expect(try next(bodies, facts(bodies, [:], [.string(""), .string("/b")])) == "https://api.example.com/b")
        #expect(try next(bodies, facts(bodies, [:], [.string(""), nil])) == nil)
        #expect(
            try next(cursors, facts(cursors, ["X-Cursor": "", "Link": "</c>; rel=next"])) == "https://api.example.com/c"
        )
        #expect(try next(cursors, facts(cursors, ["X-Cursor": ""])) == nil)
    }

    @Test(
        "a counted list ends where as many items came as there are, and not at a total that is none",
        arguments: [("1", false), ("2", false), ("3", true), ("-1", true), ("many", true), ("", true)]
    )
    func totals(field: String, goesOn: Bool) throws {
        let counted = try walk([.pageNumber(query: "page")], total: .header("X-Total"))
        let linked = try walk([.link(relation: "next")], total: .header("X-Total"))

        let next = try next(counted, facts(counted, ["X-Total": field]))
        let named = try self.next(linked, facts(linked, ["Link": "</b>; rel=next", "X-Total": field]))

        #expect((next != nil) == goesOn)
        #expect(named != nil)
    }

    @Test(
        "a page without items is the last of a counted list, and goes on where it names a page",
        arguments: [0, nil, 1]
    )
    func emptyPages(items: Int?) throws {
        let linked = try walk([.link(relation: "next")])
        let counted = try walk([.pageNumber(query: "page")])

        #expect(try next(linked, facts(linked, ["Link": "</b>; rel=next"], items: items)) != nil)
        if let items { #expect((try next(counted, facts(counted, items: items)) == nil) == (items == 0)) }
    }

    @Test("a total of zero is a total, and a negative number is none", arguments: [("0", 0), ("-1", nil), ("x", nil)])
    func zeroTotal(field: String, total: Int?) throws {
        let walk = try walk([.link(relation: "next")], total: .header("X-Total"))

        #expect(walk.total(facts(walk, ["X-Total": field])) == total)
    }

    @Test("an absent cursor leaves the decision to the next rule")
    func absentCursor() throws {
        let walk = try walk([.bodyCursor(["cursor"], query: "after"), .link(relation: "next")])

        #expect(try next(walk, facts(walk, ["Link": "</c>; rel=next"], [nil])) == "https://api.example.com/c")
    }

    @Test("pages can be addressed when one rule counts them, and are counted when any does")
    func addressablePages() throws {
        let one = try walk([.pageNumber(query: "page", first: 1)])
        let two = try walk([.pageNumber(query: "page", first: 1), .link(relation: "next")])

        #expect(one.isAddressable && one.countsPages)
        #expect(!two.isAddressable && two.countsPages)
    }

    @Test("the page that is guessed after a counted one has the next number from the first one on")
    func guessedPage() throws {
        let walk = try walk([.pageNumber(query: "page", first: 5)])

        let page = walk.guess(after: walk.first, stride: 2)

        #expect(page?.number == 1 && page?.itemsBefore == 2)
        #expect(page?.request.url.query() == "page=6")
    }

    @Test("counted pages end with an error when their items, or those before them, were not counted")
    func uncountedPages() throws {
        let numbers = try walk([.pageNumber(query: "page", first: 1)])
        let offsets = try walk([.offset(query: "offset")])
        let unknown = PageRequest(size: 0, number: 1, request: offsets.first.request, itemsBefore: nil)

        #expect(throws: PageError.Cause.self) { _ = try next(numbers, facts(numbers, items: nil)) }
        for (page, items) in [(offsets.first, nil), (unknown, 2)] as [(PageRequest, Int?)] {
            do throws(PageError.Cause) {
                _ = try offsets.next(after: page, facts(offsets, items: items))
                Issue.record("no error")
            } catch {
                guard case .invalidSetting(name: "itemCount", _)? = error.loadingError?.kind else {
                    Issue.record("\(error)")
                    return
                }
            }
        }
    }

    @Test("another origin gets fields of content negotiation only, from wherever the server is, and keeps its secrets")
    func otherOrigin() throws {
        let walk = try walk([.link(relation: "next")]) { request in
            request.headers = [
                "Authorization": "Bearer token-canary", "Host": "api.example.com", "X-Own": "mine",
                "Accept": "application/json", "Accept-Language": "de",
            ]
            request.destination = .host("127.0.0.1", port: 1)
        }

        let page = try walk.next(after: walk.first, facts(walk, ["Link": "<https://other.example/b>; rel=next"]))
        let same = try walk.next(after: walk.first, facts(walk, ["Link": "</b>; rel=next"]))

        let request = try #require(page?.request)
        #expect(Set(request.headers.map(\.name)) == ["Accept", "Accept-Language"])
        #expect(request.destination == nil)
        #expect(Redaction(request).maskingValues("token-canary") != "token-canary")
        #expect(same?.request.headers.count == 5 && same?.request.destination != nil)
    }

    @Test("a request of the app's own for another origin gets no credentials, and keeps its other fields")
    func vetsOwnRequests() throws {
        let walk = try walk([]) { $0.headers.set("Authorization", "Bearer token-canary") }
        var request = try Request("https://other.example/b")
        request.headers = ["Authorization": "Bearer t", "Cookie": "a=b", "Host": "api.example.com", "X-Own": "mine"]
        request.destination = .unixSocket(path: "/run/a")

        let vetted = try walk.vetted(request)

        #expect(vetted.headers.map(\.name) == ["X-Own"])
        #expect(vetted.destination == nil)
        #expect(Redaction(vetted).maskingValues("token-canary") != "token-canary")
    }

    @Test("the next request hides the secrets that the one before was given on its way")
    func keepsSecretsOfTheAnswered() throws {
        let walk = try walk([.link(relation: "next")])
        var answered = walk.first.request
        answered.headers.set("Authorization", "Bearer later-canary")
        let url = try #require(URL(string: "https://api.example.com/b"))

        let next = try walk.moved(to: url, from: answered)

        #expect(next.headers["Authorization"] == nil)
        #expect(Redaction(next).maskingValues("later-canary") != "later-canary")
    }

    @Test(
        "a page on another origin is refused, or its path is used at the first one",
        arguments: [
            ("https://other.example:444/b?c=d#e", "https://api.example.com:8443/b?c=d#e"),
            ("http://other.example/b", "https://api.example.com:8443/b"),
            ("https://api.example.com/b", "https://api.example.com:8443/b"),
        ]
    )
    func replacesOrigins(target: String, expected: String) throws {
        let home = "https://api.example.com:8443/list"
        let field = "<\(target)>; rel=next"
        let refused = try walk([.link(relation: "next")], from: home, otherOrigins: .refused)
        let replaced = try walk([.link(relation: "next")], from: home, otherOrigins: .replacedByFirst) {
            $0.headers.set("Authorization", "Bearer token")
        }

        #expect(throws: PageError.Cause.self) { try next(refused, facts(refused, ["Link": field])) }
        let page = try replaced.next(after: replaced.first, facts(replaced, ["Link": field]))
        #expect(page?.request.url.absoluteString == expected)
        // The request goes to the first origin, which its credentials are for.
        #expect(page?.request.headers["Authorization"] == "Bearer token")
    }

    @Test("the first of counted pages has its number, unless other rules follow")
    func firstNumber() throws {
        let number = Pages.Rule.pageNumber(query: "p", first: 1)

        let counted = try walk([number], from: "https://api.example.com/list")
        let mixed = try walk([number, .link(relation: "next")], from: "https://api.example.com/list")

        #expect(counted.first.request.url.query() == "p=1")
        #expect(mixed.first.request.url.query() == nil)
        #expect(try next(counted, facts(counted)) == "https://api.example.com/list?p=2")
    }

    @Test(
        "reads back no marks that none has written",
        arguments: [
            (1, 0, true), (1, 512, true), (1, 513, false), (2, 1, true), (0, 1, false), (-1, 1, false),
        ]
    )
    func storedMarks(stride: Int, count: Int, isValid: Bool) throws {
        let keys = String(repeating: "0123456789abcdef", count: count)
        let text = #"{"every":\#(stride),"keys":"\#(keys)"}"#

        let marks = try? JSONDecoder().decode(PageMarks.self, from: Data(text.utf8))

        #expect((marks?.keys.count == count) == isValid)
    }
}
