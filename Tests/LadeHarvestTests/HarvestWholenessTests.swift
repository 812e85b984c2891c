import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

/// What shows that a list is not whole, and what belongs to the identity of a journal.
@Suite(.timeLimit(.minutes(5)))
struct HarvestWholenessTests {
    private func run(
        _ body: String,
        headers: Headers = [:],
        at address: String = "https://api.example.com/list",
        _ change: (inout Harvest) -> Void = { _ in }
    ) async throws -> Harvest.Summary {
        let source = PagedSource { _ in .json(body, headers: headers) }
        var harvest = Harvest(try Request(address))
        harvest.items = ["items"]
        change(&harvest)
        return try await harvest.run(with: source.loader, to: .writer { _ in })
    }

    @Test(
        "finding RF-1 a list whose page certainly names more is cut, and the place is named",
        arguments: [
            (#""next_token": "a""#, [:], "/next_token"), (#""next": 2"#, [:], "/next"),
            (#""next": "eyJhIjoxfQ==""#, [:], "/next"), (#""meta": {"nextCursor": "a"}"#, [:], "/meta/nextCursor"),
            (#""has_more": true"#, [:], "/has_more"), (#""pageInfo": {"hasNextPage": true}"#, [:], "hasNextPage"),
            (#""IsTruncated": true"#, [:], "/IsTruncated"), (#""last": false"#, [:], "/last"),
            (#""LastEvaluatedKey": {"id": {"S": "a"}}"#, [:], "/LastEvaluatedKey"),
            (#""page": 1, "total_pages": 31"#, [:], "/total_pages"), (#""count": 3037"#, [:], "3037"),
            (#""total": 3037"#, [:], "3037"), (#""meta": {"total": 3037}"#, [:], "3037"),
            ("", ["X-Next-Page": "b"], "X-Next-Page"), ("", ["X-Total-Count": "3037"], "3037"),
            ("", ["X-Pagination": #"{"total": 3037}"#], "3037"), ("", ["X-Total-Pages": "31"], "X-Total-Pages"),
            ("", ["X-Pagination": #"{"HasNext": true}"#], "X-Pagination/HasNext"),
            ("", ["Content-Range": "items 0-99/3037"], "3037"), ("", ["Next-Page": "b"], "Next-Page"),
        ] as [(String, Headers, String)]
    )
    func certain(members: String, headers: Headers, place: String) async throws {
        let summary = try await run("{\"items\": [1, 2]\(members.isEmpty ? "" : ", ")\(members)}", headers: headers)

        #expect(summary.ending == .complete && summary.isCut)
        #expect(summary.doubts.first?.description.contains(place) == true, "\(summary.doubts)")
    }

    @Test(
        "finding RF-1 what is only likely to name more is no certain sign",
        arguments: [
            (#""bookmark": "a""#, "", 1), (#""done": false"#, "", 1), (#""pages": 31"#, "", 1), ("", "?limit=2", 1),
            ("", "?limit=3", 0), (#""total": 2"#, "?limit=2", 0), (#""next": null, "has_more": false"#, "", 0),
            (#""links": {"next": {"href": null}}"#, "", 0), (#""page": 1, "pages": 1"#, "", 0),
            (#""number": 0, "totalPages": 1, "last": true"#, "", 0), (#""next_token": """#, "", 0),
        ] as [(String, String, Int)]
    )
    func likely(members: String, query: String, count: Int) async throws {
        let summary = try await run(
            "{\"items\": [1, 2]\(members.isEmpty ? "" : ", ")\(members)}",
            at: "https://api.example.com/list\(query)"
        )

        #expect(!summary.isCut && summary.doubts.count == count, "\(summary.doubts)")
    }

    @Test("finding RF-2 a name that is missing on the first page shows the members there are")
    func missingName() async throws {
        let summary = try await run(#"{"items": [1], "following": "a", "size": 1}"#) { $0.rules = [.body(["nxt"])] }
        let cut = try await run(#"{"items": [1], "next": "/b", "size": 1}"#) { $0.rules = [.body(["nxt"])] }

        #expect(summary.doubts.map(\.isCertain) == [false])
        #expect(
            summary.doubts.first?.description
                == "The first page has nothing at /nxt; its members are following, items, size."
        )
        #expect(cut.isCut && cut.doubts.first?.rule == .body(["next"]))
    }

    @Test("finding RF-1 a list that is cut stays so when it is run again")
    func stored() async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { _ in .json(#"{"items": [1], "next_token": "a"}"#) }
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.items = ["items"]

        let first = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        let second = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(first.isCut && second.isCut && first.doubts == second.doubts)
        #expect(source.transport.requests.count == 1)
    }

    @Test("finding RF-1 a total that links do not reach is a certain sign, unless the list was begun in its middle")
    func missedTotal() async throws {
        let source = PagedSource { asked in
            let page = asked["page"] ?? 1
            return .json(
                "{\"items\": [\(page)], \"total\": 9, \"next\": \(page < 5 ? "\"/list?page=\(page + 1)\"" : "null")}"
            )
        }
        func summary(_ query: String) async throws -> Harvest.Summary {
            var harvest = Harvest(try Request("https://api.example.com/list\(query)"))
            harvest.items = ["items"]
            return try await harvest.run(with: source.loader, to: .writer { _ in })
        }

        let whole = try await summary("")
        let middle = try await summary("?page=3")

        #expect(whole.isCut && whole.missing == 4)
        #expect(!middle.isCut && middle.doubts.count == 1)
    }

    @Test("finding RF-1 the number of items of a page is not taken for the total")
    func countOfPage() async throws {
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            let items = page < 2 ? [1, 2, 3] : [4]
            return .json(
                "{\"items\": \(items), \"count\": \(items.count), \"next\": \(page < 2 ? "\"?page=\(page + 1)\"" : "null")}"
            )
        }
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.items = ["items"]

        let summary = try await harvest.run(with: source.loader, to: .writer { _ in })

        #expect(summary.items == 7 && summary.total == nil && summary.doubts == [])
    }

    @Test("finding RF-6 a total that falls while a list is read by position is reported", arguments: [true, false])
    func changedTotal(falls: Bool) async throws {
        let folder = try TemporaryFolder()
        let isLater = Locked(false)
        let source = PagedSource { asked in
            let offset = asked["offset"] ?? 0
            let total = isLater.withLock { $0 } ? falls ? 6 : 10 : 8
            let items = offset < total ? Array(offset..<min(offset + 2, total)) : []
            return .json("{\"items\": \(items), \"total\": \(total)}")
        }
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.items = ["items"]
        harvest.rules = [.offset(query: "offset")]
        harvest.pageLimit = 2
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        isLater.withLock { $0 = true }
        harvest.pageLimit = nil

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.ending == .complete && summary.missing == 0)
        #expect(summary.doubts.map(\.isCertain) == [falls])
        #expect(summary.doubts.first?.description.contains("went from 8 to \(falls ? 6 : 10)") == true)
    }

    @Test(
        "finding RF-6 a first page that has changed is reported when a counted list is continued",
        arguments: [true, false]
    )
    func changedFirstPage(changes: Bool) async throws {
        let folder = try TemporaryFolder()
        let shift = Locked(0)
        let source = PagedSource { asked in
            let page = asked["page"] ?? 1
            let first = (page - 1) * 2 + shift.withLock(\.self)
            return .json("{\"items\": \(page < 4 ? [first, first + 1] : [])}")
        }
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.items = ["items"]
        harvest.rules = [.pageNumber(query: "page")]
        harvest.pageLimit = 1
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        if changes { shift.withLock { $0 = 1 } }
        harvest.pageLimit = nil

        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(summary.doubts.map(\.isCertain) == (changes ? [false] : []))
        #expect(summary.doubts.allSatisfy { $0.description.hasPrefix("The first page has other items") })
    }

    @Test(
        "finding CF-13 what can change what the server returns belongs to the journal, by digests alone",
        arguments: [
            "X-Tenant", "Cookie", "Authorization", "Range", "user", "body", "added", "removed", "query",
        ]
    )
    func identity(change: String) async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.request.method = .post
        harvest.request.body = .text("body-canary")
        harvest.request.url = try #require(URL(string: "https://api.example.com/list?api_key=key-canary"))
        harvest.request.secretQueryNames = ["api_key"]
        harvest.circumstances = ["user": "ann-canary"]
        for name in ["X-Tenant", "Cookie", "Range"] { harvest.request.headers.set(name, "value-canary") }
        harvest.request.headers.set("Authorization", "Bearer token-canary")
        harvest.pageLimit = 1
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        let journal = try #require(folder.text("out.journal"))
        var changed = harvest
        switch change {
        case "user": changed.circumstances["user"] = "bob"
        case "body": changed.request.body = .text("other")
        case "added": changed.request.headers.set("X-New", "1")
        case "removed": changed.request.headers.remove("X-Tenant")
        case "query": changed.request.url = try #require(URL(string: "https://api.example.com/list?api_key=other"))
        default: changed.request.headers.set(change, "Bearer other")
        }

        let error = await #expect(throws: HarvestError.self) {
            try await changed.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        }

        guard case .argumentsDiffer(_, let differences) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(differences.count == 1)
        #expect(!journal.contains("canary") && error?.description.contains("canary") == false)
        #expect(folder.text("out.journal") == journal)
    }

    @Test("finding CF-13 what does not change what the server returns may change, and so may a password")
    func changing() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.request.headers.set("Authorization", "Basic " + Data("ann:old".utf8).base64EncodedString())
        harvest.pageLimit = 1
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        for name in ["User-Agent", "traceparent", "X-Request-Id", "Cache-Control", "Accept-Encoding"] {
            harvest.request.headers.set(name, "1")
        }
        harvest.request.headers.set("Authorization", "Basic " + Data("ann:new".utf8).base64EncodedString())
        harvest.pageLimit = 2
        harvest.prefetch = 1

        let summary = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))

        #expect(summary.resumedPages == 1 && summary.pages == 2)
    }

    /// A run of the list into the file `out`, with a secret in one place.
    private func runs(
        _ place: String,
        _ secret: String,
        in folder: TemporaryFolder,
        from source: PagedSource,
        sameSignIn: Bool = false,
        pages: Int? = nil
    ) async throws -> Harvest.Summary {
        var harvest = Harvest(try Request("https://api.example.com/list?api_key=\(place == "query" ? secret : "k")"))
        harvest.items = ["items"]
        switch place {
        case "token": harvest.secrets["token"] = secret
        case "query": break
        case "Cookie": harvest.request.headers.set("Cookie", "sid=\(secret)")
        case "Authorization": harvest.request.headers.set("Authorization", "Bearer \(secret)")
        default: harvest.request.headers.set(place, secret)
        }
        harvest.isSameSignIn = sameSignIn
        harvest.pageLimit = pages
        return try await harvest.run(with: source.loader, to: .file(folder.file("out")))
    }

    @Test(
        "finding PG-3 a renewed secret continues the journal when the user says that the sign-in is the same",
        arguments: ["token", "query", "Cookie", "Authorization", "X-API-Key", "Private-Token"]
    )
    func renewedSecret(place: String) async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { asked in
            let page = asked["page"] ?? 0
            let key = asked.request.url.queryValue("api_key") ?? "none"
            let next = page < 4 ? #","next":"/list?page=\#(page + 1)&api_key=\#(key)""# : ""
            return .json("{\"items\":[\(page)]\(next)}")
        }
        _ = try await runs(place, "first-secret", in: folder, from: source, pages: 1)

        let refused = await #expect(throws: HarvestError.self) {
            try await runs(place, "second-secret", in: folder, from: source)
        }
        _ = try await runs(place, "second-secret", in: folder, from: source, sameSignIn: true, pages: 2)
        // The journal remembers it, for this secret and for later ones.
        _ = try await runs(place, "second-secret", in: folder, from: source, pages: 3)
        let summary = try await runs(place, "third-secret", in: folder, from: source)

        guard case .argumentsDiffer(_, let differences) = refused else {
            Issue.record("\(String(describing: refused))")
            return
        }
        #expect(differences.map(\.isRenewal) == [true])
        #expect(folder.text("out") == "0\n1\n2\n3\n4\n")
        #expect(summary.ending == .complete && summary.resumedPages == 3)
        if place == "query" {
            let keys = source.transport.requests.compactMap { $0.url.queryValue("api_key") }
            #expect(
                keys == ["first-secret", "second-secret", "second-secret", "third-secret", "third-secret"]
            )
        }
        #expect(folder.text("out.journal")?.contains("first-secret") == false)
    }

    @Test("finding PG-3 the same sign-in allows no other user, no new secret, and no other argument")
    func otherSignIn() async throws {
        let folder = try TemporaryFolder()
        var harvest = try HarvestSample.harvest()
        harvest.circumstances["user"] = "ann"
        harvest.secrets["token"] = "first"
        harvest.pageLimit = 1
        _ = try await harvest.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
        harvest.isSameSignIn = true
        var user = harvest
        user.circumstances["user"] = "bob"
        var added = harvest
        added.request.headers.set("X-API-Key", "added")
        var removed = harvest
        removed.secrets = [:]
        var size = harvest
        size.secrets["token"] = "second"
        size.size = 7

        for changed in [user, added, removed, size] {
            await #expect(throws: HarvestError.self) {
                try await changed.run(with: HarvestSample.source().loader, to: .file(folder.file("out")))
            }
        }
    }

    @Test("finding PG-3 a cursor with the name of a secret stays when secrets are renewed")
    func cursorNamedLikeASecret() async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { asked in
            let page = asked.request.url.queryValue("page_token").flatMap { Int($0) } ?? 0
            return .json("{\"items\":[\(page)]\(page < 3 ? ",\"next\":\"/list?page_token=\(page + 1)\"" : "")}")
        }
        var harvest = Harvest(try Request("https://api.example.com/list?page_token=0"))
        harvest.items = ["items"]
        harvest.secrets["token"] = "first"
        harvest.pageLimit = 2
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        harvest.secrets["token"] = "second"
        harvest.isSameSignIn = true
        harvest.pageLimit = nil

        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(folder.text("out") == "0\n1\n2\n3\n")
    }

    @Test("finding RF-3 a list whose cursor is in the body is continued from there", arguments: [1, 2, 3])
    func resumedCursor(pages: Int) async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { asked in
            guard case .bytes(let bytes) = asked.request.body?.content else { return .status(400) }
            let text = String(decoding: bytes, as: UTF8.self)
            let page = (0..<4).last { text.contains("\"k\": \($0)") } ?? 0
            return .json("{\"items\": [\(page)]\(page < 3 ? ", \"last\": {\"k\": \(page + 1)}" : "")}")
        }
        var harvest = Harvest(try Request(.post, "https://api.example.com/list"))
        harvest.request.body = .bytes(Data(#"{"secret": "canary"}"#.utf8), contentType: "application/json")
        harvest.items = ["items"]
        harvest.rules = [.cursor(.body(["last"]), to: .body(["from"]))]
        harvest.pageLimit = pages

        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        let journal = try #require(folder.text("out.journal"))
        harvest.pageLimit = nil
        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(folder.text("out") == "0\n1\n2\n3\n" && summary.resumedPages == pages)
        #expect(source.transport.requests.count == 4 && !journal.contains("canary"))
    }

    @Test("finding RF-12 lines of JSON are items, in any spelling, and a line that is none is an error")
    func lines() async throws {
        let written = Locked(Data())
        let source = PagedSource { asked in
            let isFirst = asked["p"] == nil
            return .json(
                isFirst ? "{\"id\": 1 }\r\n\r\n [2]\n" : "\"x\"",
                headers: isFirst ? ["Link": "</list?p=1>; rel=next"] : [:]
            )
        }
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.format = .lines
        harvest.identity = ["id"]

        let summary = try await harvest.run(
            with: source.loader,
            to: .writer { bytes in written.withLock { $0 += bytes } }
        )
        let two = PagedSource { _ in .json("1\n2,3\n") }
        let error = await #expect(throws: HarvestError.self) {
            try await harvest.run(with: two.loader, to: .writer { _ in })
        }

        #expect(
            summary.items == 3
                && String(decoding: written.withLock(\.self), as: UTF8.self) == "{\"id\":1}\n[2]\n\"x\"\n"
        )
        #expect(error?.description.contains("Line 2 is not one JSON value") == true)
    }

    @Test("finding CF-31 a response without content is a page without items")
    func noContent() async throws {
        let source = PagedSource { asked in
            let page = asked["p"] ?? 0
            let headers: Headers = page < 2 ? ["Link": "</list?p=\(page + 1)>; rel=next"] : [:]
            return page == 1 ? .status(204, headers: headers) : .json("[\(page)]", headers: headers)
        }
        let harvest = Harvest(try Request("https://api.example.com/list"))

        let summary = try await harvest.run(with: source.loader, to: .writer { _ in })

        #expect(summary.ending == .complete && summary.items == 2 && summary.pages == 3)
    }

    @Test("finding RF-9 a list that is elsewhere is named with its length")
    func otherList() async throws {
        let error = await #expect(throws: HarvestError.self) {
            _ = try await run(#"{"count": 3, "results": [1, 2, 3], "meta": {"tags": ["a"]}}"#)
        }

        #expect(error?.description.contains("there is one at /results (3), /meta/tags (1)") == true)
    }

    /// Members of a page with three items that certainly is not the last, and a part of what is said.
    private static let cutPages: [(members: String, headers: Headers, words: String)] = [
        // The page length that the page itself states.
        (#""page": 1, "perPage": 3, "totalItems": -1, "totalPages": -1"#, [:], "/perPage"),
        (#""per_page": 3"#, [:], "/per_page"), (#""pageSize": "3""#, [:], "/pageSize"),
        (#""limit": 3, "total": null"#, [:], "/limit"), (#""meta": {"itemsPerPage": 3}"#, [:], "/meta/itemsPerPage"),
        (#""pagelen": 3, "page": 1"#, [:], "/pagelen"), (#""page": {"number": 0, "size": 3}"#, [:], "/page/size"),
        (#""offset": 0, "size": 3"#, [:], "/size"), (#""total": 0, "limit": 3"#, [:], "/limit"),
        (#""count": 3, "per_page": 3"#, [:], "/per_page"),
        ("", ["X-Per-Page": "3"], "field X-Per-Page"), ("", ["Pagination-Limit": "3"], "field Pagination-Limit"),
        // Cursors.
        (#""results_per_page": 3, "cursor": "a""#, [:], "/cursor"), (#""cursor": "a""#, [:], "/cursor"),
        (#""data": {"after": "t3_a", "before": null}"#, [:], "/data/after"),
        (#""next_max_id": "a_1""#, [:], "/next_max_id"),
        (#""limit": 3, "bookmark": "a""#, [:], "/bookmark"),
        ("", ["X-Continuation-Token": "a"], "X-Continuation-Token"),
        (#""a": {"b": {"c": {"d": {"pageInfo": {"endCursor": "a", "hasNextPage": true}}}}}"#, [:], "hasNextPage"),
        // Links.
        (#""pages": [{"rel": "self", "href": "/a"}, {"rel": "next", "href": "/b"}]"#, [:], "/pages"),
        (#""meta": {"links": [{"rel": ["next"], "url": "/b"}, {"url": "/c"}]}"#, [:], "/meta/links"),
        (#""meta": {"refs": [{"relation": "Next", "link": "/b"}]}"#, [:], "/meta/refs"),
        ("", ["Link": "</2>, rel=next"], "field Link"), ("", ["Link": "/2; rel=\"next\""], "field Link"),
        ("", ["Link": "</2>; rel: next"], "field Link"), ("", ["Link": "</2>; rel"], ""),
        // Totals.
        (#""totalSize": 9"#, [:], "9"), (#""numberMatched": 9"#, [:], "9"), (#""nbHits": 9"#, [:], "9"),
        (#""result_info": {"count": 3, "total_count": 9}"#, [:], "9"), (#""recordsFiltered": 9"#, [:], "9"),
        (#""hits": {"total": {"value": 9}}"#, [:], "9"), (#""total": {"count": 9}"#, [:], "9"),
        (#""pagination": {"totalCount": "9"}"#, [:], "9"), (#""count": 3, "totalResults": 9"#, [:], "9"),
        (#""pagelen": 10, "size": 9"#, [:], "9"), ("", ["X-Total-Results": "9"], "9"), ("", ["Total": "9"], "9"),
        ("", ["Content-Range": "items 0-2/9"], "9"), ("", ["X-Pagination": #"{"totalItems":9}"#], "9"),
        (#""nbPages": 3, "page": 0"#, [:], "/nbPages"),
    ]

    @Test("finding PG-1 a page that states more than came is not the whole list", arguments: cutPages.indices)
    func cutByStatement(index: Int) async throws {
        let (members, headers, words) = Self.cutPages[index]
        let summary = try await run("{\"items\": [1, 2, 3]\(members.isEmpty ? "" : ", ")\(members)}", headers: headers)

        #expect(summary.isCut == !words.isEmpty, "\(members) \(headers): \(summary.doubts)")
        #expect(words.isEmpty || summary.doubts.first?.description.contains(words) == true, "\(summary.doubts)")
    }

    @Test(
        "finding PG-1 what is no statement that more follows gives no doubt",
        arguments: [
            (#""perPage": 5, "totalItems": -1"#, [:]), (#""perPage": 3, "totalItems": 3"#, [:]),
            (#""limit": 3, "next": null"#, [:]), (#""per_page": 3, "has_more": false"#, [:]),
            (#""page": 1, "totalPages": 1, "perPage": 3"#, [:]), (#""number": 0, "size": 3, "last": true"#, [:]),
            (#""per_page": 3"#, ["Link": "</1>; rel=\"first\", </1>; rel=\"last\""]), (#""cursor": null"#, [:]),
            (#""next_cursor": -1"#, [:]), (#""next_cursor": 0"#, [:]), (#""next_cursor": """#, [:]),
            (#""nextPage": "null""#, [:]), (#""total": 0"#, [:]), (#""total": -1"#, [:]), (#""total": null"#, [:]),
            (#""total": "many""#, [:]), (#""recordsTotal": 9, "recordsFiltered": 3"#, [:]), (#""size": 3"#, [:]),
            (#""limit": 3, "size": 3, "isLastPage": true"#, [:]), (#""pagelen": 3, "size": 3, "page": 1"#, [:]),
            (#""count": 3"#, [:]), (#""invoice": {"total": 99, "count": 12}"#, [:]),
            (#""paging": {"cursors": {"before": "a", "after": "b"}}, "limit": 9"#, [:]),
            (#""links": [{"rel": "self", "href": "/a"}, {"rel": "first", "href": "/a"}], "limit": 3"#, [:]),
            (#""pageInfo": {"endCursor": "a", "hasNextPage": false}"#, [:]),
            (#""links": {"self": "/a", "next": null}, "meta": {"per_page": 3}"#, [:]),
            ("", ["Content-Range": "items 0-2/*"]), ("", ["X-Next-Page": "", "X-Per-Page": "3"]),
            ("", ["Link": "</a>; rel=\"next\"; anchor=\"/other\""]), ("", ["X-RateLimit-Limit": "3"]),
        ] as [(String, Headers)]
    )
    func wholeByStatement(members: String, headers: Headers) async throws {
        let summary = try await run("{\"items\": [1, 2, 3]\(members.isEmpty ? "" : ", ")\(members)}", headers: headers)

        #expect(summary.doubts == [], "\(members) \(headers)")
    }

    @Test(
        "finding PG-1 links that the rule of the caller does not read are named, and a list that is read backwards ends"
    )
    func otherRules() async throws {
        let links = #""links": [{"rel": "next", "href": "/b"}], "total": 1250"#
        let array = try await run("{\"items\": [1], \(links)}") { $0.rules = [.body(["nxt"])] }
        let link = try await run(#"{"items": [1]}"#, headers: ["Link": "</2>; rel=next"]) {
            $0.rules = [.body(["nxt"])]
        }
        let back = try await run(#"{"items": [1], "links": {"next": "/b", "prev": null}}"#) {
            $0.rules = [.body(["links", "prev"])]
        }

        #expect(array.isCut && array.doubts.first?.rule == .body(["links"]))
        #expect(link.isCut && link.doubts.first?.rule == .link(relation: "next"))
        #expect(back.doubts == [])
    }

    @Test(
        "finding PG-5 a relation in quotes of another kind is read",
        arguments: [
            "</2>; rel='next'", "</2>; rel=\u{2018}next\u{2019}", "</2>; rel=\u{201C}next\u{201D}", "</2>; rel=\"next",
            "</2>; rel='last next'", "</0>; rel='prev', </2>; rel='next'", "</2>; REL=NEXT", "</2>;rel = ' next '",
        ]
    )
    func quotedRelation(link: String) async throws {
        let source = PagedSource { asked in
            asked.request.url.path == "/2" ? .json("[2]") : .json("[1]", headers: ["Link": link])
        }

        let summary = try await Harvest(try Request("https://api.example.com/list")).run(
            with: source.loader,
            to: .writer { _ in }
        )

        #expect(summary.items == 2 && summary.doubts == [])
    }

    @Test("finding LX-12 half a surrogate pair in an item does not hide that the list is not whole")
    func loneSurrogate() async throws {
        let cut = try await run(#"{"items": [{"t": "\ud83d"}], "next_token": "a", "x\udc00": 1}"#)
        let total = try await run(#"{"items": ["\ud83d"], "meta": {"totalItems": 9, "note": "\ud83d"}}"#)
        let cursor = await #expect(throws: HarvestError.self) {
            try await run(#"{"items": [1], "next": "a\ud83d"}"#) { $0.rules = [.bodyCursor(["next"], query: "c")] }
        }
        let address = await #expect(throws: HarvestError.self) {
            try await run(#"{"items": [1], "next": "/a\ud83d"}"#) { $0.rules = [.body(["next"])] }
        }

        #expect(cut.isCut && total.isCut)
        #expect(cursor?.description.contains("which names no page") == true, "\(String(describing: cursor))")
        #expect(address?.description.contains("which names no page") == true, "\(String(describing: address))")
    }

    @Test(
        "finding LX-12 a next page that cannot be read is neither shown nor stored with its password",
        arguments: [
            "https://ann:canary@[::1/x", "ftp://ann:canary@api.example.com/x", "https://ann:canary@h:99999999/x",
            "http://api.example.com:x/?access_token=canary", "https:// ann:canary@h/",
            "https://ann:canary\(String(repeating: "y", count: 200))@h",
        ],
        [
            [Pages.Rule.body(["next"])], Pages.Rule.common, [.body(["nxt"])],
            [.cursor(.body(["next"]), to: .body(["x"]))],
        ]
    )
    func maskedTarget(target: String, rules: [Pages.Rule]) async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { _ in .json("{\"items\": [1], \"next\": \"\(target)\"}") }
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.items = ["items"]
        harvest.rules = rules

        let result = await Result<Harvest.Summary, any Error> { [harvest] in
            try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        }

        var shown = folder.text("out.journal") ?? ""
        switch result {
        case .success(let summary): shown += "\(summary.doubts)"
        case .failure(let error):
            shown += "\(error)"
            if case .page(let failure)? = error as? HarvestError { shown += "\(failure) \(failure.cause)" }
        }
        #expect(!shown.contains("canary"), "\(shown)")
    }

    @Test(
        "finding PG-2 a list that counts its items from 1 is whole, and an item too many is said",
        arguments: [(true, false), (true, true), (false, true), (false, false)],
        [0, 3]
    )
    func countedFromOne(start: (isStated: Bool, isGiven: Bool), prefetch: Int) async throws {
        let (isStated, isGiven) = start
        let source = PagedSource { asked in
            let start = asked["startIndex"] ?? 1
            let items = start <= 73 ? Array(start...min(start + 9, 73)) : []
            let stated = isStated ? "\"startIndex\": \(start), \"itemsPerPage\": \(items.count), " : ""
            return .json("{\(stated)\"totalResults\": 73, \"items\": \(items)}")
        }
        let written = Locked(Data())
        var harvest = Harvest(try Request("https://api.example.com/list"))
        harvest.items = ["items"]
        harvest.rules = [.offset(query: "startIndex", first: isGiven ? 1 : nil)]
        harvest.prefetch = prefetch

        let summary = try await harvest.run(
            with: source.loader,
            to: .writer { bytes in written.withLock { $0 += bytes } }
        )

        let lines = String(decoding: written.withLock(\.self), as: UTF8.self).split(separator: "\n").map(String.init)
        if isStated || isGiven {
            #expect(lines == (1...73).map(String.init) && summary.doubts == [])
        } else {
            #expect(summary.doubts.map(\.isCertain) == [false])
            #expect(summary.doubts.first?.description.contains("more than the 73 that are announced") == true)
            #expect(summary.doubts.first?.rule == .offset(query: "startIndex", first: 1))
        }
    }

    @Test(
        "finding PG-4 an object of query items is merged into the request of the next page, and continued after a kill"
    )
    func mergedQuery() async throws {
        let folder = try TemporaryFolder()
        let source = PagedSource { asked in
            let page = asked["plcontinue"] ?? 0
            let other =
                page < 3
                ? ",\"continue\": {\"plcontinue\": \(page + 1), \"continue\": \"|| \(page)\", \"f\": null}" : ""
            return .json("{\"query\": {\"pages\": [\(page)]}\(other)}")
        }
        var harvest = Harvest(try Request("https://api.example.com/api.php?action=query&f=1"))
        harvest.items = ["query", "pages"]
        harvest.rules = [.queryItems(.body(["continue"]))]
        harvest.pageLimit = 2
        _ = try await harvest.run(with: source.loader, to: .file(folder.file("out")))
        harvest.pageLimit = nil
        let summary = try await harvest.run(with: source.loader, to: .file(folder.file("out")))

        #expect(folder.text("out") == "0\n1\n2\n3\n" && summary.ending == .complete && summary.doubts == [])
        let queries = source.transport.requests.compactMap { $0.url.query() }
        #expect(queries[1] == "action=query&continue=%7C%7C%200&plcontinue=1", "\(queries)")
        for value in ["{\"a\": [1]}", "7", "\"x\"", "true"] {
            await #expect(throws: HarvestError.self) {
                try await run("{\"items\": [1], \"continue\": \(value)}") {
                    $0.rules = [.queryItems(.body(["continue"]))]
                }
            }
        }
        for value in ["{}", "[]", "null", "false"] {
            let ended = try await run("{\"items\": [1], \"continue\": \(value)}") {
                $0.rules = [.queryItems(.body(["continue"]))]
            }
            #expect(ended.doubts == [])
        }
    }
}
