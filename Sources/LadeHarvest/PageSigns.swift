#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeFields

/// Looks for signs that more pages follow, on a page after which no rule names one.
///
/// Everything that the page says about its list is collected as statements, by the one table ``meanings``. The statements
/// are then compared with the items that came.
struct PageSigns {
    /// The body; nil when it is not one JSON document.
    var document: JSONValue?
    var headers: Headers
    /// Where the list is.
    var items: JSONPointer
    var itemCount: Int
    /// The number of items of this page and of those before it; nil when unknown.
    var itemsSoFar: Int?
    /// The number of items that were asked for; 0 when the server chose.
    var size: Int
    /// The request of the list.
    var request: Request
    /// Whether the page is the first one.
    var isFirst: Bool
    /// The rules of the caller; empty for the usual places.
    var rules: [Pages.Rule]
    /// The announced number of items that the harvest compares by itself.
    var total: Int?
    /// Secrets of the request that a server sends back are not shown.
    var redaction: Redaction

    /// The signs of further pages, the certain ones first.
    func doubts() -> [Harvest.Doubt] {
        let statements = statements
        let saysEnd = statements.contains(where: isEnd) || linkSaysEnd
        let isTotalReached = total.map { (itemsSoFar ?? 0) >= $0 } ?? false
        var found = linkDoubts
        for statement in statements { found += doubts(from: statement, saysEnd: saysEnd, among: statements) }
        found = found.filter { $0.isCertain || !isTotalReached }
        // Where a place says that there is more, the cursor beside it says nothing else.
        let conditions = found.filter { $0.more != nil }
        found = found.filter { doubt in
            doubt.more != nil || doubt.rule == nil || !conditions.contains { $0.rule == doubt.rule }
        }
        if isFirst, !saysEnd, !found.contains(where: \.isCertain) { found += fullPage(statements) }
        let missing = isFirst && !isTotalReached ? missingPlaces : []
        if isFirst, !isTotalReached, !saysEnd, found.isEmpty { found += fullAskedPage }
        // Where no place names the page, the statements may show how it is counted.
        let counting = counting(statements)
        for index in found.indices where found[index].rule == nil { found[index].rule = counting }
        found += missing
        return found.filter(\.isCertain) + found.filter { !$0.isCertain }
    }

    // MARK: - Statements

    /// Something that a page says about its list.
    private struct Statement {
        var meaning: Meaning
        /// The name in lower case without punctuation.
        var name: String
        var place: Pages.Rule.Place
        var value: JSONValue
        var siblings: JSONValue.Object?
        /// Whether it stands where the list is described: at the top, in a field, around the list, or in `meta` and the like.
        var isNearList: Bool
    }

    private var statements: [Statement] {
        var found: [Statement] = []
        if let document { collect(document, at: [], isNearList: true, into: &found) }
        for field in headers where !["link", "content-length"].contains(field.name.asciiLowercased) {
            add(field.name, .string(field.value), at: .header(field.name), nil, isNearList: true, to: &found)
            guard field.value.utf8.first == UInt8(ascii: "{"), let value = JSONValue(tolerant: Data(field.value.utf8)),
                case .object(let members) = value
            else { continue }
            for (name, value) in members.sorted(by: { $0.name < $1.name }) {
                add(name, value, at: .header(field.name, [name]), members, isNearList: true, to: &found)
            }
        }
        return found
    }

    private func collect(_ value: JSONValue, at path: [String], isNearList: Bool, into found: inout [Statement]) {
        // The items have members of their own, which say nothing about the list.
        guard path != items.tokens || path.isEmpty, path.count < 8, case .object(let members) = value else { return }
        for (name, value) in members.sorted(by: { $0.name < $1.name }) where path + [name] != items.tokens {
            let place = JSONPointer(tokens: path + [name])
            let isNext = add(name, value, at: .body(place), members, isNearList: isNearList, to: &found)
            // A member of a cursor or of a link is no statement of its own.
            if isNext, value.namesPage { continue }
            let isAround = items.tokens.starts(with: place.tokens)
            let isNear = isAround || (isNearList && Self.containers.contains(PageNames.normal(name)))
            collect(value, at: place.tokens, isNearList: isNear, into: &found)
        }
    }

    /// Adds a statement if the name is in the table.
    ///
    /// - Returns: Whether it is the name of a next page.
    @discardableResult
    private func add(
        _ name: String,
        _ value: JSONValue,
        at place: Pages.Rule.Place,
        _ siblings: JSONValue.Object?,
        isNearList: Bool,
        to found: inout [Statement]
    ) -> Bool {
        var normal = PageNames.normal(name)
        if case .header(let name, []) = place { normal = PageNames.ofField(name) }
        var meaning = Self.meanings[normal]
        if case .array(let elements) = value {
            guard elements.count <= 64, PageNames.areLinks(elements) else { return false }
            meaning = .links
        }
        // Where its own page length is stated too, “size” is the number of all items.
        if normal == "size", siblings?["pagelen"] != nil { meaning = .total }
        guard let meaning else { return false }
        found.append(
            Statement(
                meaning: meaning,
                name: normal,
                place: place,
                value: value,
                siblings: siblings,
                isNearList: isNearList
            )
        )
        return meaning == .next
    }

    /// Whether a statement says that nothing follows.
    private func isEnd(_ statement: Statement) -> Bool {
        let value = statement.value
        switch statement.meaning {
        case .next: return !value.namesPage
        case .cursor: return statement.name != "cursor" && (value == .null || value == .string(""))
        case .more: return value == .bool(false) || value.string?.asciiLowercased == "false"
        case .last:
            if let count = value.wholeNumber { return isLast(of: count, statement) }
            return value == .bool(true)
        case .done: return value == .bool(true)
        case .pageCount: return value.wholeNumber.map { isLast(of: $0, statement) } ?? false
        case .total: return totalNumber(statement).map { itemCount > 0 && $0 > 0 && $0 <= itemsSoFar ?? -1 } ?? false
        case .links: return PageNames.saysEnd(value.array ?? [])
        case .edge, .page, .position, .size, .pageSize, .ambiguousTotal, .estimate: return false
        }
    }

    /// Whether the present page is the last of a number of pages.
    private func isLast(of count: Int, _ statement: Statement) -> Bool {
        guard count > 0 else { return false }
        return count == 1 || (presentPage(beside: statement).map { $0 >= count } ?? false)
    }

    private func presentPage(beside statement: Statement) -> Int? {
        statement.siblings?.first { Self.meanings[PageNames.normal($0.name)] == .page }?.value.wholeNumber
    }

    /// The number that a statement of all items has.
    private func totalNumber(_ statement: Statement) -> Int? {
        if let number = statement.value.wholeNumber { return number }
        // Content-Range: items 0-9/100.
        guard let text = statement.value.string?.utf8, statement.name == "contentrange",
            let slash = text.lastIndex(of: UInt8(ascii: "/"))
        else { return nil }
        return Int(wholeNumber: String(Substring(text[text.index(after: slash)...])))
    }

    // MARK: - Doubts

    private func doubts(
        from statement: Statement,
        saysEnd: Bool,
        among statements: [Statement]
    ) -> [Harvest.Doubt] {
        let text = PagePlaceText(statement.place)
        let value = statement.value
        switch statement.meaning {
        case .next where value.namesPage && !goesBack:
            return [
                .init(certain: true, "\(text) has \(value.signText(redaction)), and no rule reads it.", rule(statement))
            ]
        case .links where !goesBack && PageNames.nextLink(in: value.array ?? []) != nil:
            let rule = statement.place.bodyPointer.map(Pages.Rule.body)
            return [.init(certain: true, "\(text) has a link to the next page, and no rule reads it.", rule)]
        case .more where value.isTrue:
            let cursor = statements.first { sibling in
                sibling.place.isBeside(statement.place) && [.next, .cursor, .edge].contains(sibling.meaning)
                    && sibling.value.namesPage
            }
            var doubt = Harvest.Doubt(certain: true, "\(text) is true, and no rule names the next page.")
            doubt.rule = cursor.flatMap(rule)
            doubt.more = cursor.map { _ in statement.place }
            return [doubt]
        case .last where value == .bool(false):
            return [.init(certain: true, "\(text) is false, and no rule names the next page.")]
        case .done where value == .bool(false):
            return [.init(certain: false, "\(text) is false, and no rule names the next page.")]
        case .last, .pageCount: return value.wholeNumber.map { pages($0, text, statement) } ?? []
        case .cursor, .edge: return cursorDoubts(statement, saysEnd: saysEnd, among: statements)
        case .total, .ambiguousTotal, .estimate: return totalDoubts(statement, among: statements)
        default: return []
        }
    }

    /// A cursor may stand on the last page as well.
    private func cursorDoubts(
        _ statement: Statement,
        saysEnd: Bool,
        among statements: [Statement]
    ) -> [Harvest.Doubt] {
        guard isFirst, itemCount > 0, !saysEnd, statement.value.namesPage else { return [] }
        let stated = statedSize(statements)
        let isFull = stated == itemCount || askedSize == itemCount
        // One of both edges of the page, as `before` and `after`, is there on each page.
        let isEdge = statement.meaning == .edge || statement.siblings.map(hasBothEdges) == true
        // A page that is shorter than the page size is the last, unless items were left out of it.
        let isShort = stated.map { itemCount < $0 } ?? false
        guard !(isEdge && isShort) else { return [] }
        let isCertain = isFull || !(isEdge || isShort)
        let shown = statement.value.signText(redaction)
        let text =
            isCertain ? "has \(shown), and no rule reads it." : "has \(shown), which may name the next page."
        return [.init(certain: isCertain, "\(PagePlaceText(statement.place)) \(text)", rule(statement))]
    }

    private func hasBothEdges(_ members: JSONValue.Object) -> Bool {
        members.contains {
            ["before", "startcursor", "previous", "prev", "previouscursor", "prevcursor"].contains(
                PageNames.normal($0.name)
            ) && $0.value.namesPage
        }
    }

    private func totalDoubts(_ statement: Statement, among statements: [Statement]) -> [Harvest.Doubt] {
        guard let count = totalNumber(statement), let itemsSoFar, count > itemsSoFar, count != total else { return [] }
        guard statement.meaning != .ambiguousTotal || statement.isNearList else { return [] }
        // All records of a table, of which a filter leaves fewer.
        if statement.name == "recordstotal", statements.contains(where: { $0.name == "recordsfiltered" }) { return [] }
        // A list that is begun in its middle lacks those before.
        let isCertain = statement.meaning != .estimate && !request.url.isInside
        let text = "\(PagePlaceText(statement.place)) announces \(count) items, and \(itemsSoFar) came."
        return [.init(certain: isCertain, text)]
    }

    private func pages(_ count: Int, _ text: PagePlaceText, _ statement: Statement) -> [Harvest.Doubt] {
        guard count > 1 else { return [] }
        let present = presentPage(beside: statement)
        // On a later page the present number is needed, which counts from 0 or from 1.
        guard isFirst ? present ?? 0 < count : present.map({ $0 < count - 1 }) == true else { return [] }
        // Alone, “pages” may be anything.
        let isClear = present != nil || !["pages", "lastpage", "pagecount"].contains(statement.name)
        return [.init(certain: isClear, "\(text) is \(count), and no rule names the second page.")]
    }

    /// A page that is exactly as long as the page itself says that pages are.
    private func fullPage(_ statements: [Statement]) -> [Harvest.Doubt] {
        guard itemCount > 0, let statement = sizeStatement(statements), statement.value.wholeNumber == itemCount else {
            return []
        }
        let text =
            "The only page has all \(itemCount) items that a page may have by \(PagePlaceText(statement.place, inside: true)), "
            + "so that more may follow."
        return [.init(certain: true, text)]
    }

    private func statedSize(_ statements: [Statement]) -> Int? { sizeStatement(statements)?.value.wholeNumber }

    /// The statement of how long pages are at most.
    private func sizeStatement(_ statements: [Statement]) -> Statement? {
        let stated = statements.filter { $0.isNearList && ($0.value.wholeNumber ?? 0) > 0 }
        if let clear = stated.first(where: { $0.meaning == .pageSize }) { return clear }
        // Alone, “size” may be the number of items of this page.
        let isCounted = statements.contains {
            [.page, .position].contains($0.meaning) && $0.value.wholeNumber != nil
        }
        return isCounted ? stated.first { $0.meaning == .size } : nil
    }

    private var askedSize: Int {
        guard size == 0 else { return size }
        let item = request.url.queryItems.first { item in
            let meaning = Self.meanings[PageNames.normal(item.name)]
            return meaning == .pageSize || meaning == .size
                || ["first", "max", "top", "take"].contains(PageNames.normal(item.name))
        }
        return item.flatMap { Int(wholeNumber: $0.value) } ?? 0
    }

    /// A page that is exactly as long as was asked for.
    private var fullAskedPage: [Harvest.Doubt] {
        guard askedSize > 1, askedSize == itemCount else { return [] }
        let text = "The only page is exactly as long as was asked for, \(itemCount) items, so that more may follow."
        return [.init(certain: false, text)]
    }

    /// The places that rules of the caller read, and that the page does not have.
    private var missingPlaces: [Harvest.Doubt] {
        rules.compactMap { rule in
            switch rule {
            case .body(let pointer), .cursor(.body(let pointer), _), .queryItems(.body(let pointer)):
                guard let document, !pointer.tokens.contains("-"), document[pointer] == nil else { return nil }
                let names = document.object?.names.sorted().prefix(12).map { $0.escapedForDisplay(limit: 40) } ?? []
                let members =
                    names.isEmpty ? "" : "; its members are \(names.joined(separator: ", "))"
                return .init(certain: false, "The first page has nothing at \(pointer)\(members).")
            case .header(let name), .cursor(.header(let name, _), _), .queryItems(.header(let name, _)):
                guard !headers.contains(name) else { return nil }
                return .init(certain: false, "The first page has no field \(name).")
            case .link, .pageNumber, .offset: return nil
            }
        }
    }

    // MARK: - Links

    private var links: [WebLink] { (try? WebLink.parse(headers.all("Link"))) ?? [] }

    /// Whether the `Link` field has links to other pages, and none to the next.
    private var linkSaysEnd: Bool {
        let types = Set(links.flatMap(\.relationTypes))
        return !types.isDisjoint(with: ["first", "last", "prev", "previous"]) && linkDoubts.isEmpty
    }

    /// The next page in a `Link` field that no rule reads, or that cannot be read.
    private var linkDoubts: [Harvest.Doubt] {
        let lines = headers.all("Link")
        let readsLinks = rules.isEmpty || rules.contains { if case .link = $0 { true } else { false } }
        guard !lines.isEmpty, !goesBack else { return [] }
        if links.contains(where: { $0.hasRelation("next") }) {
            // A link with an anchor is about another resource, and a link that a rule reads was followed.
            guard !readsLinks, links.contains(where: { $0.hasRelation("next") && $0.anchor == nil }) else { return [] }
            return [
                .init(
                    certain: true,
                    "The field Link names the next page, and no rule reads it.",
                    .link(relation: "next")
                )
            ]
        }
        guard lines.contains(where: PageNames.seemsNext) else { return [] }
        let shown = redaction.unparsable(lines.joined(separator: ", ")).escapedForDisplay(limit: 120)
        return [.init(certain: true, "The field Link seems to name the next page, and cannot be read: \(shown).")]
    }

    /// Whether the caller reads the list backwards, so that the next page is one that was read.
    private var goesBack: Bool {
        let names: Set<String> = ["prev", "previous", "older", "before", "back", "last"]
        return rules.contains { rule in
            switch rule {
            case .link(let relation): relation.asciiLowercased != "next"
            case .body(let pointer), .cursor(.body(let pointer), _):
                pointer.tokens.contains { token in
                    let normal = PageNames.normal(token)
                    return names.contains(normal) || normal.hasPrefix("prev")
                }
            default: false
            }
        }
    }

    // MARK: - Rules

    /// The rule that probably reads the place of a statement; nil where none can.
    private func rule(_ statement: Statement) -> Pages.Rule? {
        let place = statement.place
        switch statement.value {
        case .string(let text):
            guard PageNames.isAddress(text, under: statement.name, of: request.url) else { break }
            switch place {
            case .body(let pointer): return .body(pointer)
            case .header(let name, []): return .header(name)
            case .header: break
            }
        case .object(let members):
            if case .body(let pointer) = place, members.isLink { return .body(pointer) }
            if PageCursorTarget(request) == nil { return members.isQuery ? .queryItems(place) : nil }
        case .array: if PageCursorTarget(request) == nil { return nil }
        case .integer, .number, .bool, .null: break
        }
        return .cursor(place, to: PageCursorTarget(request)?.target(for: statement.name, place) ?? .query("QUERY"))
    }

    /// How pages are counted, by the number that the first page states about itself.
    private func counting(_ statements: [Statement]) -> Pages.Rule? {
        guard isFirst, !request.hasBody else { return nil }
        func first(_ meaning: Meaning, _ names: Set<String>?) -> (name: String, statement: Statement, number: Int)? {
            for statement in statements where statement.meaning == meaning && statement.isNearList {
                guard names?.contains(statement.name) != false, let number = statement.value.wholeNumber, number <= 1,
                    case .body(let pointer) = statement.place, let name = pointer.tokens.last
                else { continue }
                return (name, statement, number)
            }
            return nil
        }
        if let (name, statement, number) = first(.page, nil) {
            let query = ["number", "current", "currentpage", "pageindex"].contains(statement.name) ? "page" : name
            return .pageNumber(query: query, first: number == 1 ? nil : number)
        }
        if let (name, _, number) = first(.position, ["offset", "start", "startindex", "startat", "skip"]) {
            return .offset(query: name, first: number == 0 ? nil : number)
        }
        return nil
    }
}

extension Pages.Rule.Place {
    fileprivate var bodyPointer: JSONPointer? { if case .body(let pointer) = self { pointer } else { nil } }

    /// Whether both places are members of one object.
    fileprivate func isBeside(_ other: Pages.Rule.Place) -> Bool {
        switch (self, other) {
        case (.body(let pointer), .body(let other)): pointer.tokens.dropLast() == other.tokens.dropLast()
        case (.header, .header): true
        default: false
        }
    }
}

extension JSONValue.Object {
    /// Whether it is a link object.
    fileprivate var isLink: Bool {
        contains { ["href", "url", "uri", "$ref"].contains($0.name) && $0.value.string?.isEmpty == false }
    }

    /// Whether the members can be query items.
    fileprivate var isQuery: Bool {
        !isEmpty
            && allSatisfy {
                switch $0.value {
                case .object, .array: false
                default: true
                }
            }
    }
}

/// Where the body of a request takes a cursor, as far as that can be known.
private struct PageCursorTarget {
    private let members: JSONValue.Object

    /// Makes a target; nil where the request has no JSON object as body.
    init?(_ request: Request) {
        guard case .bytes(let bytes) = request.body?.content, let value = JSONValue(tolerant: bytes),
            case .object(let members) = value
        else { return nil }
        self.members = members
    }

    func target(for name: String, _ place: Pages.Rule.Place) -> Pages.Rule.CursorTarget {
        if let query = members["query"]?.string {
            // GraphQL: the variable that is meant for it.
            let names = ["after", "cursor", "endCursor", "afterCursor", "pageToken", "start"]
            let declared = names.first { variable in
                query.utf8.split { !$0.isOfWord && $0 != UInt8(ascii: "$") }
                    .contains { $0.elementsEqual("$\(variable)".utf8) }
            }
            let given = members["variables"]?.object?.names.first { names.contains($0) }
            return .body(["variables", given ?? declared ?? "QUERY"])
        }
        switch name {
        case "nexttoken": return .body([place.bodyPointer?.tokens.last ?? "NextToken"])
        case "lastevaluatedkey": return .body(["ExclusiveStartKey"])
        default: return .body(["QUERY"])
        }
    }
}

/// A place as the subject of a sentence, or inside one.
private struct PagePlaceText: CustomStringConvertible {
    let description: String

    init(_ place: Pages.Rule.Place, inside isInside: Bool = false) {
        switch place {
        case .body(let pointer): description = pointer.description.escapedForDisplay(limit: 80)
        case .header(let name, let pointer):
            description = "\(isInside ? "the" : "The") field " + "\(name)\(pointer)".escapedForDisplay(limit: 80)
        }
    }
}

extension JSONValue {
    /// Whether the value may name a page: not null, `false`, an empty text, 0 or −1.
    fileprivate var namesPage: Bool {
        switch self {
        case .null, .bool(false): false
        case .bool(true): true
        case .string(let text):
            !["", "null", "none", "nil", "undefined", "false", "0", "-1"].contains(text.asciiLowercased)
        case .integer(let number): number > 0
        case .number: true
        case .array(let elements): elements.contains(where: \.namesPage)
        case .object(let members): members.contains { $0.value.namesPage }
        }
    }

    /// The value in a few words, without secrets.
    fileprivate func signText(_ redaction: Redaction) -> String {
        switch self {
        case .string(let text): "the text “\(redaction.unparsable(text).escapedForDisplay(limit: 40))”"
        case .integer(let number): "the number \(number)"
        case .number(let number): "the number \(number.text.escapedForDisplay(limit: 40))"
        case .array: "a list"
        case .object: "an object"
        case .bool(let value): "\(value)"
        case .null: "null"
        }
    }

    fileprivate var isTrue: Bool { self == .bool(true) || string?.asciiLowercased == "true" }

    fileprivate var wholeNumber: Int? {
        integer.flatMap { Int(exactly: $0) } ?? string.flatMap { $0.isEmpty ? nil : Int(wholeNumber: $0) }
    }
}
