#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// A page of a walk that another run or another process continues with.
///
/// It has the address and the cursor that a server named, so they are vetted as a link of the server is.
struct PageStart: Codable, Equatable, Sendable {
    /// The number of the page, from 0.
    var number = 0
    /// The address of the page; nil for the first one.
    var url: String?
    /// The cursor, where the address is not all that the page takes.
    var cursor: PageCursor?
    var itemsBefore: Int? = 0
    /// The number of pages without items directly before it.
    var emptyBefore: Int?
    /// The contents that the page must not have again; nil where pages are not compared.
    var contents: PageContents?
    /// The marks of the pages before it; nil where pages are numbered.
    var marks: PageMarks?

    /// The page, with the fields of the walk's requests.
    ///
    /// - Throws: `HarvestError.page` for an address that cannot be followed.
    func page(in walk: PageWalk) throws(HarvestError) -> PageRequest {
        guard let url else { return walk.first }
        do throws(PageError.Cause) {
            guard let target = URL(string: url) else { throw walk.invalid(url) }
            var page = PageRequest(
                size: walk.first.size,
                number: number,
                request: try walk.moved(to: target),
                itemsBefore: itemsBefore
            )
            page.emptyBefore = emptyBefore ?? 0
            page.contents = contents
            if let cursor {
                page.cursor = cursor
                page.request = try walk.request(with: cursor)
            }
            return page
        } catch {
            throw .page(PageError(page: walk.first, cause: error))
        }
    }
}

extension PageStart {
    /// Where a walk continues after a page, as a text for other workers.
    ///
    /// Secrets in the query of the list's own address are left out: each worker has its own.
    init(_ page: PageRequest, marks: PageMarks) {
        number = page.number
        url = page.request.url.absoluteString
        cursor = page.cursor
        itemsBefore = page.itemsBefore
        emptyBefore = page.emptyBefore == 0 ? nil : page.emptyBefore
        contents = page.contents
        self.marks = marks.keys.isEmpty ? nil : marks
    }

    /// The text; nil when it has more bytes than a board takes, marks left out.
    func text(in walk: PageWalk) -> String? {
        var start = self
        if let url = url.flatMap({ URL(string: $0) }) {
            start.url = Self.exchanging(walk.secretItems.map { ($0.name, $0.value, "") }, in: url).absoluteString
        }
        if let text = start.json, text.utf8.count <= BoardSequel.cursorLimit { return text }
        start.marks = nil
        return start.json.flatMap { $0.utf8.count <= BoardSequel.cursorLimit ? $0 : nil }
    }

    private var json: String? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Reads a text of another worker, which comes from a store; nil for one that no worker writes.
    init?(_ text: String, in walk: PageWalk) {
        guard let start = try? JSONDecoder().decode(PageStart.self, from: Data(text.utf8)), start.url != nil,
            (1...Int.max / 4).contains(start.number), (0...Int.max / 4).contains(start.itemsBefore ?? 0),
            (0...Int.max / 4).contains(start.emptyBefore ?? 0)
        else { return nil }
        self = start
        if let url = url.flatMap({ URL(string: $0) }) {
            self.url = Self.exchanging(walk.secretItems.map { ($0.name, "", $0.value) }, in: url).absoluteString
        }
    }

    private static func exchanging(_ items: [(name: String, before: String, after: String)], in url: URL) -> URL {
        items.reduce(url) { url, item in
            url.queryValue(item.name) == item.before ? url.settingQuery(item.name, item.after) : url
        }
    }
}

extension PageWalk {
    /// The items with secret names in the query of the first page.
    fileprivate var secretItems: [(name: String, value: String)] {
        let redaction = Redaction(names: first.request.secretQueryNames, values: [])
        return first.request.url.queryItems.filter { redaction.isSecret($0.name) }.map { ($0.name, $0.value) }
    }
}
