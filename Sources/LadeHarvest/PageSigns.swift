#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Looks for signs that more pages follow, on a page after which no rule names one.
struct PageSigns {
    /// The body; nil when it is not one JSON document.
    var document: JSONValue?
    var headers: Headers
    /// Where the list is.
    var items: JSONPointer
    var itemCount: Int
    /// The number of items that were asked for; 0 when the server chose.
    var size: Int
    /// The address of the list.
    var url: URL
    /// Whether the page is the first one.
    var isFirst: Bool
    /// The rules of the caller; empty for the usual places.
    var rules: [PageRule]
    /// Whether as many items came as are announced.
    var isTotalReached: Bool

    /// Names of members and fields with the next page, whatever they have.
    private static let nextNames: Set<String> = [
        "nextcursor", "nexttoken", "nextpagetoken", "nextpage", "nextpageid", "nextpagenumber", "nextpagelink",
        "nextlink", "nexturl", "nexthref", "nexturi", "nextpageurl", "nextpageuri", "nextrecordsurl", "nextmarker",
        "nextoffset", "nextstart", "nextskip", "nextid", "nextkey", "nextpartitionkey", "nextrowkey", "nextbatch",
        "nextbookmark", "nextposition", "nextindex", "nextfrom", "continuation", "continuationtoken", "continue",
        "lastevaluatedkey", "resumptiontoken", "xmscontinuation", "xnextpage", "xnextcursor", "xnexttoken",
        "xnextoffset", "xnextlink", "xnexturl", "xcontinuationtoken", "xpaginationnext", "xlinknext", "next",
    ]
    /// Names of members that may have a cursor also at the end.
    private static let cursorNames: Set<String> = [
        "cursor", "after", "endcursor", "scrollid", "bookmark", "pagetoken", "marker", "xcursor", "position",
    ]
    /// Names of what is true while there is more.
    private static let moreNames: Set<String> = [
        "hasmore", "hasnext", "hasnextpage", "hasmorepages", "hasmoreitems", "hasmoreresults", "more", "moreavailable",
        "moreresults", "moreitems", "morepages", "moreresultsavailable", "istruncated", "truncated",
        "exceededtransferlimit",
        "xhasmore", "xhasnext", "xhasnextpage", "incompleteresults",
    ]
    /// Names of what is false while there is more.
    private static let lastNames: Set<String> = ["last", "islast", "islastpage", "lastpage"]
    private static let doneNames: Set<String> = ["done", "isdone", "finished", "eof", "isend"]
    private static let pageCountNames: Set<String> = [
        "totalpages", "pagecount", "pagestotal", "numpages", "pages", "lastpage", "xtotalpages", "xwptotalpages",
        "totalpagecount", "numberofpages", "maxpage",
    ]
    private static let pageNames: Set<String> = ["page", "currentpage", "pagenumber", "number", "current", "pageindex"]
    private static let sizeNames: Set<String> = [
        "size", "limit", "perpage", "pagesize", "top", "maxresults", "first", "rows", "rpp", "max",
    ]

    /// What speaks for further pages, the certain signs first.
    func doubts() -> [Harvest.Doubt] {
        var found: [Harvest.Doubt] = []
        if let document { scan(document, at: [], into: &found) }
        for field in headers { read(field.name, .string(field.value), at: .header(field.name), siblings: nil, &found) }
        for field in headers {
            guard field.value.utf8.first == UInt8(ascii: "{"),
                let value = try? JSONValue(parsing: Data(field.value.utf8)), case .object(let members) = value
            else { continue }
            for (name, value) in members.sorted(by: { $0.name < $1.name }) {
                read(name, value, at: .header(field.name, [name]), siblings: members, &found)
            }
        }
        found = found.filter { $0.isCertain || !isTotalReached }
        if isFirst, !isTotalReached { found += found.isEmpty ? missingPlaces + fullPage : missingPlaces }
        return found.filter(\.isCertain) + found.filter { !$0.isCertain }
    }

    private func scan(_ value: JSONValue, at path: [String], into found: inout [Harvest.Doubt]) {
        // The items have members of their own, which say nothing about the list.
        guard path != items.tokens || path.isEmpty, path.count < 4, case .object(let members) = value else { return }
        for (name, value) in members.sorted(by: { $0.name < $1.name }) where path + [name] != items.tokens {
            let place = JSONPointer(tokens: path + [name])
            read(name, value, at: .body(place), siblings: members, &found)
            scan(value, at: place.tokens, into: &found)
        }
    }

    private func read(
        _ name: String,
        _ value: JSONValue,
        at place: PageRule.Place,
        siblings: JSONValue.Object?,
        _ found: inout [Harvest.Doubt]
    ) {
        let normal = PageNames.normal(name)
        let text = PagePlaceText(place)
        let shown = value.signText
        if Self.nextNames.contains(normal), let shown {
            let isAddress = value.string.map(PageNames.isAddress) ?? false
            found.append(
                .init(certain: true, "\(text) has \(shown), and no rule reads it.", at: place, isAddress: isAddress)
            )
        } else if Self.moreNames.contains(normal), value.isTrue {
            found.append(.init(certain: true, "\(text) is true, and no rule names the next page."))
        } else if Self.lastNames.contains(normal), value == .bool(false) {
            found.append(.init(certain: true, "\(text) is false, and no rule names the next page."))
        } else if Self.doneNames.contains(normal), value == .bool(false) {
            found.append(.init(certain: false, "\(text) is false, and no rule names the next page."))
        } else if Self.pageCountNames.contains(normal), let count = value.wholeNumber, count > 1 {
            pages(count, text, normal, siblings, &found)
        } else if isFirst, itemCount > 0, Self.cursorNames.contains(normal), let shown {
            found.append(.init(certain: false, "\(text) has \(shown), which may name the next page.", at: place))
        }
    }

    private func pages(
        _ count: Int,
        _ text: PagePlaceText,
        _ normal: String,
        _ siblings: JSONValue.Object?,
        _ found: inout [Harvest.Doubt]
    ) {
        let present = siblings?.first { Self.pageNames.contains(PageNames.normal($0.name)) }?.value.wholeNumber
        // On a later page the present number is needed, which counts from 0 or from 1.
        guard isFirst ? present ?? 0 < count : present.map({ $0 < count - 1 }) == true else { return }
        // Alone, “pages” may be anything.
        let isClear = present != nil || !["pages", "lastpage", "pagecount"].contains(normal)
        found.append(
            .init(certain: isClear, "\(text) is \(count), and no rule names the second page.")
        )
    }

    /// The places that rules of the caller read, and that the page does not have.
    private var missingPlaces: [Harvest.Doubt] {
        rules.compactMap { rule in
            switch rule {
            case .body(let pointer), .cursor(.body(let pointer), _):
                guard let document, !pointer.tokens.contains("-"), document[pointer] == nil else { return nil }
                let names = document.object?.names.sorted().prefix(12).map { $0.escapedForDisplay(limit: 40) } ?? []
                let members =
                    names.isEmpty ? "" : "; its members are \(names.joined(separator: ", "))"
                return .init(certain: false, "The first page has nothing at \(pointer)\(members).")
            case .header(let name), .cursor(.header(let name, _), _):
                guard !headers.contains(name) else { return nil }
                return .init(certain: false, "The first page has no field \(name).")
            case .link, .pageNumber, .offset: return nil
            }
        }
    }

    /// A page that is exactly as long as was asked for.
    private var fullPage: [Harvest.Doubt] {
        var asked = size
        if asked == 0 {
            let item = url.queryItems.first { Self.sizeNames.contains(PageNames.normal($0.name)) }
            asked = item.flatMap { Int(wholeNumber: $0.value) } ?? 0
        }
        guard asked > 1, asked == itemCount else { return [] }
        let text = "The only page is exactly as long as was asked for, \(asked) items, so that more may follow."
        return [.init(certain: false, text)]
    }
}

/// A place as the subject of a sentence.
private struct PagePlaceText: CustomStringConvertible {
    let description: String

    init(_ place: PageRule.Place) {
        let text =
            switch place {
            case .body(let pointer): pointer.description
            case .header(let name, let pointer): "the field \(name)\(pointer)"
            }
        let shown = text.escapedForDisplay(limit: 80)
        description = shown.prefix(1) == "t" ? "T" + shown.dropFirst() : shown
    }
}

extension JSONValue {
    /// The value in a few words, if it may name a page; nil for what names none.
    fileprivate var signText: String? {
        switch self {
        case .null, .bool(false): return nil
        case .bool(true): return "true"
        case .string(let text):
            return text.isEmpty || text == "null" ? nil : "the text “\(text.escapedForDisplay(limit: 40))”"
        case .integer(let number): return number < 0 ? nil : "the number \(number)"
        case .number(let number): return "the number \(number.text.escapedForDisplay(limit: 40))"
        case .array(let elements): return elements.contains { $0.signText != nil } ? "a list" : nil
        case .object(let members): return members.contains { $0.value.signText != nil } ? "an object" : nil
        }
    }

    fileprivate var isTrue: Bool { self == .bool(true) || string?.asciiLowercased == "true" }

    fileprivate var wholeNumber: Int? {
        integer.flatMap { Int(exactly: $0) } ?? string.flatMap { Int(wholeNumber: $0) }
    }
}
