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

/// What ends a list, where a cursor is read, and where it is written.
@Suite("Paging rules", .timeLimit(.minutes(5)))
struct PagingRuleTests {
    /// A body with a member that has a value.
    private static func body(_ items: [Int], _ member: String, _ value: String?) -> String {
        let rest = value.map { ", \"\(member)\": \($0)" } ?? ""
        return "{\"items\": \(items)\(rest)}"
    }

    private func collect<Value: Itemised>(
        _ source: PagedSource,
        _ endpoint: PagedEndpoint<Value>,
        prefetch: Int = 0
    ) async -> (items: [Int], failure: PageError?) {
        var items: [Int] = []
        do throws(PageError) {
            for try await page in source.loader.pages(of: endpoint, prefetch: prefetch) { items += page.value.items }
            return (items, nil)
        } catch {
            return (items, error)
        }
    }

    /// An endpoint whose values are the items alone, so that other members may have any type.
    private func endpoint(
        _ rules: [Pages.Rule],
        at address: String = "https://api.example.com/list",
        body: String? = nil
    ) throws -> PagedEndpoint<Items> {
        var endpoint = PagedEndpoint(
            try Endpoint(address).decoding(Items.self),
            paginator: .rules(rules),
            itemCount: { $0.items.count }
        )
        if let body {
            endpoint.endpoint = endpoint.endpoint.request {
                $0.method = .post
                $0.body = .bytes(Data(body.utf8), contentType: "application/json")
            }
        }
        return endpoint
    }

    @Test(
        "finding LF-3 pages PA-03 a page without items that names a next one does not end the list",
        arguments: ["link", "body", "cursor", "target", "closure"],
        [0, 2]
    )
    func emptyPages(kind: String, prefetch: Int) async throws {
        let source = PagedSource { asked in
            let page = asked["p"] ?? 0
            let next = page < 6 ? page + 1 : nil
            let items = page.isMultiple(of: 3) ? [page] : []
            let link = next.map { ["Link": "</list?p=\($0)>; rel=next"] as Headers } ?? [:]
            return .json(
                Self.body(items, "next", next.map { kind == "cursor" ? "\($0)" : "\"/list?p=\($0)\"" }),
                headers: kind == "link" ? link : [:]
            )
        }
        let paginator: Pages.Paginator<Numbers> =
            switch kind {
            case "link": .rule(.link(relation: "next"))
            case "body": .rule(.body(["next"]))
            case "target": .target(\.next)
            default: Pages.Paginator { page in try page.value.next.map { try Request("https://api.example.com\($0)") } }
            }
        let cursors = try endpoint([.bodyCursor(["next"], query: "p")])
        let others = try PagedEndpoint<Numbers>.numbers(paginator)
        let result: (items: [Int], failure: PageError?)
        if kind == "cursor" {
            result = await collect(source, cursors, prefetch: prefetch)
        } else {
            result = await collect(source, others, prefetch: prefetch)
        }

        #expect(result.failure == nil && result.items == [0, 3, 6])
    }

    @Test("finding LF-3 more pages without items in a row than allowed are an error that says so", arguments: [3, 2])
    func boundOnEmptyPages(limit: Int) async throws {
        let source = PagedSource { asked in
            let page = asked["p"] ?? 0
            return .json(
                PagedSource.body((1...3).contains(page) ? [] : [page], next: page < 5 ? "/list?p=\(page + 1)" : nil)
            )
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.emptyPageLimit = limit

        let (items, failure) = await collect(source, endpoint)

        guard limit == 2 else {
            #expect(items == [0, 4, 5] && failure == nil)
            return
        }
        #expect(items == [0])
        guard case .emptyPages(limit: 2) = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(failure?.description.contains("more than 2 pages without items") == true)
        #expect(try PagedEndpoint<Numbers>.numbers().emptyPageLimit == 100)
    }

    @Test("finding LF-3 a wrong total does not end a list whose links go on")
    func wrongTotal() async throws {
        let source = PagedSource { asked in
            let page = asked["p"] ?? 0
            return .json(PagedSource.body([page], next: page < 4 ? "/list?p=\(page + 1)" : nil, total: 2))
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers()
        endpoint.total = .body(["total"])

        #expect(await collect(source, endpoint).items == [0, 1, 2, 3, 4])
    }

    @Test(
        "finding CF-5 null, false, an empty text and nothing end a list",
        arguments: [Pages.Rule.body(["next"]), .bodyCursor(["next"], query: "c")],
        ["null", "false", "\"\"", nil] as [String?]
    )
    func ends(rule: Pages.Rule, value: String?) async throws {
        let source = PagedSource { _ in .json(Self.body([1], "next", value)) }

        let (items, failure) = await collect(source, try endpoint([rule]))

        #expect(items == [1] && failure == nil)
    }

    @Test(
        "finding CF-5 any other value that names no page is an error that shows it",
        arguments: [
            (Pages.Rule.body(["next"]), "{\"a\":1}", "{\"a\":1}"), (.body(["next"]), "7", "7"),
            (.body(["next"]), "true", "true"), (.body(["next"]), "[1]", "[1]"),
            (.bodyCursor(["next"], query: "c"), "{\"a\":1}", "{\"a\":1}"),
            (.bodyCursor(["next"], query: "c"), "true", "true"),
            (.bodyCursor(["next"], query: "c"), "[\"a\"]", "[\"a\"]"),
            (.cursor(.body(["next"]), to: .header("X-C")), "{}", "{}"),
        ] as [(Pages.Rule, String, String)]
    )
    func unusable(rule: Pages.Rule, value: String, shown: String) async throws {
        let source = PagedSource { _ in .json(Self.body([1], "next", value)) }

        let (items, failure) = await collect(source, try endpoint([rule]))

        #expect(items == [1])
        guard case .unusable(.body(["next"]), let found) = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(found.contains(shown) && failure?.description.contains(shown) == true)
    }

    @Test("finding CF-5 a number or a text is a cursor", arguments: [("5", "5"), ("\"a b\"", "a%20b"), ("0", "0")])
    func cursors(value: String, query: String) async throws {
        let source = PagedSource { asked in .json(Self.body([1], "next", asked.query["c"] == nil ? value : nil)) }
        var endpoint = try endpoint([.bodyCursor(["next"], query: "c")])
        endpoint.repeatedPages = .kept

        let (items, _) = await collect(source, endpoint)

        #expect(items == [1, 1])
        #expect(source.transport.requests.last?.url.query() == "c=\(query)")
    }

    @Test("finding LF-18 a rule that cannot be read is skipped with an event when others follow")
    func skipsUnreadable() async throws {
        let recorder = EventRecorder()
        let source = PagedSource { asked in
            let page = asked["p"] ?? 0
            return .json(
                PagedSource.body([page], next: page < 2 ? "/list?p=\(page + 1)" : nil),
                headers: ["Link": "nonsense"]
            )
        }
        var settings = Service.Settings()
        settings.time = source.time
        settings.observers = [recorder]
        let loader = Service(settings, transport: source.transport).anonymous.makeLoader()
        let both = try PagedEndpoint<Numbers>.numbers(.rules([.link(relation: "next"), .body(["next"])]))
        let alone = try PagedEndpoint<Numbers>.numbers(.rule(.link(relation: "next")))

        let items = try await loader.pages(of: both).collected()
        let failure = await collect(source, alone).failure

        #expect(items == [0, 1, 2])
        let skipped = recorder.events.filter { if case .pageRuleSkipped("link next", _) = $0 { true } else { false } }
        #expect(skipped.count == 3)
        guard case .invalidTarget = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test(
        "finding LF-21 a status of endStatuses ends a counted list after its first page",
        arguments: [404, 400, 416],
        [0, 3]
    )
    func endStatuses(status: Int, prefetch: Int) async throws {
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            return page > 3 ? .status(Response.Status(status)) : .json(PagedSource.body([page]))
        }
        var endpoint = try PagedEndpoint<Numbers>.numbers(.rule(.pageNumber(query: "page", first: 1)))

        let refused = await collect(source, endpoint, prefetch: prefetch)
        endpoint.endStatuses = [status]
        let ended = await collect(source, endpoint, prefetch: prefetch)
        let first = await collect(PagedSource { _ in .status(Response.Status(status)) }, endpoint, prefetch: prefetch)

        #expect(refused.items == [1, 2, 3])
        #expect(refused.failure?.description.contains("endStatuses should have \(status)") == true)
        #expect(ended.items == [1, 2, 3] && ended.failure == nil)
        #expect(first.failure != nil && first.items == [])
    }

    @Test(
        "finding CF-14 a counted list begins at the number in the address",
        arguments: [
            (Pages.Rule.pageNumber(query: "page"), "?page=0", ["page=0", "page=1"]),
            (.pageNumber(query: "page"), "", ["page=1", "page=2"]),
            (.pageNumber(query: "page", first: 1), "?page=5", ["page=1", "page=2"]),
            (.offset(query: "offset"), "?offset=40", ["offset=40", "offset=42"]),
            (.offset(query: "offset"), "", [nil, "offset=2"]),
        ] as [(Pages.Rule, String, [String?])]
    )
    func beginning(rule: Pages.Rule, query: String, expected: [String?]) async throws {
        let source = PagedSource { asked in
            let number = asked["page"] ?? asked["offset"] ?? 0
            return .json("{\"items\": [\(number), \(number)]}")
        }
        let endpoint = try endpoint([rule], at: "https://api.example.com/list\(query)")

        for try await _ in source.loader.pages(of: endpoint, pageLimit: 2) {}

        #expect(source.transport.requests.map { $0.url.query() } == expected)
    }

    @Test("finding RF-3 a cursor is written into the JSON of the body, and nothing else of it changes")
    func bodyCursor() async throws {
        let source = PagedSource { asked in
            guard case .bytes(let bytes) = asked.request.body?.content else { return .status(400) }
            let text = String(decoding: bytes, as: UTF8.self)
            let next = text.contains("\"k\"") ? nil : #"{"id": {"N": "12345678901234567890"}, "k": 1.50}"#
            return .json(Self.body([text.utf8.count], "last", next))
        }
        let body = #"{ "b" : 1.0, "a": "é", "vars": {"after": null} }"#
        let paths: [JSONPointer] = [["vars", "after"], ["start"], ["vars", "deep", "er"]]
        for path in paths {
            let rule = Pages.Rule.cursor(.body(["last"]), to: .body(path))
            for try await _ in source.loader.pages(of: try endpoint([rule], body: body)) {}
        }

        let sent = source.transport.requests.compactMap { request -> String? in
            guard case .bytes(let bytes) = request.body?.content else { return nil }
            return String(decoding: bytes, as: UTF8.self)
        }
        let cursor = #"{"id": {"N": "12345678901234567890"}, "k": 1.50}"#
        #expect(
            sent == [
                body, #"{ "b" : 1.0, "a": "é", "vars": {"after": \#(cursor)} }"#,
                body, #"{"start":\#(cursor), "b" : 1.0, "a": "é", "vars": {"after": null} }"#,
                body, #"{ "b" : 1.0, "a": "é", "vars": {"deep":{"er":\#(cursor)},"after": null} }"#,
            ]
        )
        #expect(source.transport.requests.allSatisfy { $0.method == .post })
    }

    @Test("finding RF-3 a cursor goes from a field to a field, and a condition says whether there is more")
    func headerCursor() async throws {
        let source = PagedSource { asked in
            let page = asked.request.headers["X-After"].flatMap { Int($0) } ?? 0
            return .json(Self.body([page], "more", page < 3 ? "true" : "false"), headers: ["X-Next": "\(page + 1)"])
        }
        var endpoint = try endpoint([.cursor(.header("X-Next"), to: .header("X-After"))])
        endpoint.more = .body(["more"])

        #expect(await collect(source, endpoint).items == [0, 1, 2, 3])
    }

    @Test("finding RF-4 a cursor is read from the last item", arguments: [0, 1])
    func lastItem(prefetch: Int) async throws {
        let source = PagedSource { asked in
            let first = (asked["after"] ?? 0) + 1
            let items = (first..<min(first + 2, 8)).map { "{\"id\": \($0)}" }.joined(separator: ",")
            return .json("{\"items\": [\(items)], \"has_more\": \(first + 2 < 8)}")
        }
        struct Item: Decodable, Sendable { var id: Int }
        struct Objects: Decodable, Sendable, Itemised {
            var objects: [Item]
            var items: [Int] { objects.map(\.id) }

            enum CodingKeys: String, CodingKey { case objects = "items" }
        }
        var endpoint = PagedEndpoint(
            try Endpoint("https://api.example.com/list").decoding(Objects.self),
            paginator: .rule(.cursor(.body(["items", "-", "id"]), to: .query("after"))),
            itemCount: { $0.items.count }
        )
        endpoint.more = .body(["has_more"])

        let (items, failure) = await collect(source, endpoint, prefetch: prefetch)

        #expect(items == Array(1...7) && failure == nil)
        #expect(source.transport.requests.count == 4)
    }

    @Test("finding CF-5 a list that says that there is more and names no page is an error")
    func cut() async throws {
        let source = PagedSource { _ in .json(#"{"items": [1], "has_more": true}"#) }
        var endpoint = try endpoint([.bodyCursor(["cursor"], query: "c")])
        endpoint.more = .body(["has_more"])

        let (items, failure) = await collect(source, endpoint)

        #expect(items == [1])
        guard case .cut(.body(["has_more"])) = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test("finding RF-3 a page with a cursor is stored and read back as the same page")
    func storedCursor() async throws {
        let endpoint = try endpoint([.cursor(.body(["c"]), to: .header("X-C"))], body: "{}")
        let source = PagedSource { _ in .json(#"{"items":[1],"c":"a"}"#) }

        let next = try #require(try await source.loader.load(endpoint.firstPage(), of: endpoint).next)
        let read = try JSONDecoder().decode(PageRequest.self, from: JSONEncoder().encode(next))
        let attached = try endpoint.walk(size: 0).attached(read)

        #expect(attached.request.headers["X-C"] == "a" && read == next)
    }

    @Test(
        "finding RF-1 the common places name the next page",
        arguments: [
            (#""next": "/list?p=1""#, [:]), (#""links": {"next": "/list?p=1"}"#, [:]),
            (#""links": {"next": {"href": "/list?p=1"}}"#, [:]), (#""_links": {"next": {"href": "list?p=1"}}"#, [:]),
            (#""@odata.nextLink": "https://api.example.com/list?p=1""#, [:]), (#""next_page_url": "/list?p=1""#, [:]),
            (#""links": [{"rel": "self", "href": "/"}, {"rel": "next", "href": "?p=1"}]"#, [:]),
            (#""link": [{"relation": "next", "url": "/list?p=1"}]"#, [:]),
            (#""meta": {"next": "/list?p=1"}"#, [:]), ("", ["Next-Page": "https://api.example.com/list?p=1"]),
            ("", ["Link": "</list?p=1>; rel=\"next\""]), ("", ["X-Pagination": #"{"nextPageLink": "/list?p=1"}"#]),
            ("", ["X-Pagination": #"{"total": 2, "next_page": 1}"#]), ("", ["X-Next-Page": "2", "X-Page": "1"]),
            ("", ["Next-Page": "2"]), ("", ["X-Next-Page": "/list?p=1"]),
        ] as [(String, Headers)]
    )
    func common(members: String, headers: Headers) async throws {
        let source = PagedSource { asked in
            guard asked["p"] ?? asked["page"] == nil else { return .json(#"{"items": [2], "next": null}"#) }
            return .json("{\"items\": [1]\(members.isEmpty ? "" : ", ")\(members)}", headers: headers)
        }

        #expect(await collect(source, try endpoint(Pages.Rule.common)).items == [1, 2])
    }

    @Test(
        "finding RF-1 a number of a page in a field is followed in the query, until the field is empty",
        arguments: ["X-Next-Page", "Next-Page"],
        ["", "?page=1&per_page=1", "?per_page=1"]
    )
    func numberInField(name: String, query: String) async throws {
        let source = PagedSource { asked in
            let page = asked["page"] ?? 1
            return .json(
                "{\"items\": [\(page)]}",
                headers: [name: page < 3 ? "\(page + 1)" : "", "X-Total-Pages": "3"]
            )
        }

        #expect(
            await collect(source, try endpoint(Pages.Rule.common, at: "https://api.example.com/list\(query)")).items
                == [
                    1, 2, 3,
                ]
        )
    }

    @Test("finding RF-8 a page that repeats an earlier one and leads in a circle is not delivered", arguments: [0, 2])
    func circleOfRepeats(prefetch: Int) async throws {
        let source = PagedSource { asked in
            .json(PagedSource.body([asked["p"] ?? 1], next: "/list?p=\(asked["p"] == 2 ? 1 : 2)"))
        }

        let (items, failure) = await collect(source, try PagedEndpoint<Numbers>.numbers(), prefetch: prefetch)

        // The third page is the first one by its other address.
        #expect(items == [1, 2])
        guard case .loop = failure?.cause else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }
}

private protocol Itemised: Sendable {
    var items: [Int] { get }
}

private struct Items: Decodable, Itemised { var items: [Int] }

extension Numbers: Itemised {}
