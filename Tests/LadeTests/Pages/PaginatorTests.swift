import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade

@Suite("Paginators", .timeLimit(.minutes(5)))
struct PaginatorTests {
    @Test("pages PA-01 finds the next page in a Link field: quoted, relative, one of several, in any case")
    func linkField() async throws {
        let source = PagedSource { asked in
            let page = asked["page"] ?? 1
            let next = "</list?page=\(page + 1)>; title=\"a, \\\"b\\\"; rel=prev\"; REL=\"last NEXT\""
            let link = "<https://elsewhere.example/>; rel=prev, " + (page < 3 ? next : "</x>; rel=\"first\"")
            return .json(PagedSource.body([page]), headers: ["link": link])
        }
        let pages = source.loader.pages(of: try .numbers(.rule(.link(relation: "next"))))

        #expect(try await pages.collected() == [1, 2, 3])
        #expect(source.transport.lines.last == "GET /list?page=3")
    }

    @Test("pages PA-01 finds the next page in the body by pointer and by key path", arguments: [true, false])
    func bodyTarget(byPointer: Bool) async throws {
        let source = PagedSource.linked(count: 5, size: 2)
        let paginator: Pages.Paginator<Numbers> = byPointer ? .rule(.body(["next"])) : .target(\.next)

        #expect(try await source.loader.pages(of: try .numbers(paginator)).collected() == [0, 1, 2, 3, 4])
        #expect(source.transport.lines == ["GET /list", "GET /list?from=2", "GET /list?from=4"])
    }

    @Test("pages PA-01 puts a cursor from body or header into a query item", arguments: [true, false])
    func cursor(inBody: Bool) async throws {
        let source = PagedSource { asked in
            let cursor = asked["after"] ?? 0
            let next = cursor < 2 ? String(cursor + 1) : ""
            return .json(
                PagedSource.body([cursor], next: inBody ? next : nil),
                headers: inBody ? [:] : ["X-Cursor": next]
            )
        }
        let rule: Pages.Rule =
            inBody ? .bodyCursor(["next"], query: "after") : .headerCursor("x-cursor", query: "after")
        let pages = source.loader.pages(of: try .numbers(.rule(rule), at: "https://api.example.com/list?q=a%20b"))

        #expect(try await pages.collected() == [0, 1, 2])
        #expect(source.transport.lines.last == "GET /list?q=a%20b&after=2")
    }

    @Test("pages PA-01 counts pages, and items before a page")
    func counted() async throws {
        let numbered = PagedSource { asked in
            let page = asked["page"] ?? -1
            return .json(PagedSource.body(page < 3 ? [page] : []))
        }
        let offset = PagedSource { asked in
            let first = asked["offset"] ?? 0
            return .json(PagedSource.body(first..<max(first, min(first + 2, 5))))
        }

        let pages = numbered.loader.pages(of: try .numbers(.rule(.pageNumber(query: "page", first: 0))))
        #expect(try await pages.collected() == [0, 1, 2])
        let items = offset.loader.pages(of: try .numbers(.rule(.offset(query: "offset"))), size: 2)
        #expect(try await items.collected() == [0, 1, 2, 3, 4])
        #expect(offset.transport.lines.first == "GET /list?size=2")
        #expect(offset.transport.lines[1] == "GET /list?size=2&offset=2")
    }

    @Test("pages PA-01 calls a closure with the original request, the value, the size and the next number")
    func closure() async throws {
        let source = PagedSource { asked in .json(PagedSource.body([asked["n"] ?? 0])) }
        let seen = Locked<[String]>([])
        let paginator = Pages.Paginator<Numbers> { loaded in
            seen.withLock { $0.append("\(loaded.original.url.query() ?? "-") \(loaded.size) \(loaded.number)") }
            guard loaded.value.items[0] < 2, loaded.response.status == 200 else { return nil }
            return try Request("https://api.example.com/list?n=\(loaded.number)")
        }

        #expect(try await source.loader.pages(of: try .numbers(paginator), size: 7).collected() == [0, 1, 2])
        #expect(seen.withLock { $0 } == ["- 7 1", "- 7 2", "- 7 3"])
    }

    @Test("pages PA-01 uses the first of several rules that names a page")
    func severalRules() async throws {
        let source = PagedSource.linked(count: 4, size: 2)
        let paginator = Pages.Paginator<Numbers>.rules([.link(relation: "next"), .body(["next"])])

        #expect(try await source.loader.pages(of: try .numbers(paginator)).collected() == [0, 1, 2, 3])
    }
}
