import LadeCore
import LadeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The value at a place of a response.
package enum PageValue: Sendable, Hashable {
    /// There is nothing: no such member, no such field.
    case missing
    /// Null, `false`, or an empty string, which say that there is nothing.
    case none
    case text(String)
    case number(String)
    case isTrue
    /// An array or object, as it is written.
    case json([UInt8])

    /// Reads a place; `index` is the index of its pointer, if the place is in the body.
    package init(_ place: Pages.Rule.Place, _ index: Int?, _ facts: PageWalk.Facts) {
        switch place {
        case .body(let pointer):
            guard let index else {
                self = .missing
                return
            }
            if facts.containers.contains(index) {
                let text = facts.document.flatMap { JSONBody(Array($0))?.text(at: pointer) }
                self = .json(text ?? [])
            } else {
                self.init(index < facts.scalars.count ? facts.scalars[index] : nil)
            }
        case .header(let name, let pointer):
            // Different values together name no page. As one text they are no number and no address, and the rule reports this.
            let text: String
            switch facts.response.headers.reading(SingleField(text: name)) {
            case .none where !facts.response.headers.contains(name):
                self = .missing
                return
            case .none: text = ""
            case .one(let field): text = field.value
            case .contradiction(let fields): text = fields.map(\.value).joined(separator: ", ")
            }
            let isJSON = text.utf8.first == UInt8(ascii: "{") || !pointer.tokens.isEmpty
            guard isJSON, let body = JSONBody(Array(text.utf8)) else {
                self = !pointer.tokens.isEmpty ? .missing : text.isEmpty ? .none : .text(text)
                return
            }
            guard let value = body.text(at: pointer) else {
                self = .missing
                return
            }
            self.init(json: value)
        }
    }

    init(_ scalar: JSONSplitter.Scalar?) {
        switch scalar {
        case nil: self = .missing
        case .null, .boolean(false): self = .none
        case .boolean(true): self = .isTrue
        case .number(let text): self = .number(text)
        case .string(let text): self = text.isEmpty ? .none : .text(text)
        }
    }

    private init(json: [UInt8]) {
        switch json.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): self = .json(json)
        case UInt8(ascii: "\""):
            let text = JSONValue(tolerant: Data(json))?.string ?? ""
            self = text.isEmpty ? .none : .text(text)
        case UInt8(ascii: "n"), UInt8(ascii: "f"): self = .none
        case UInt8(ascii: "t"): self = .isTrue
        default: self = .number(String(decoding: json, as: UTF8.self))
        }
    }

    /// The text of a string or number.
    var text: String? {
        switch self {
        case .text(let text), .number(let text): text
        case .missing, .none, .isTrue, .json: nil
        }
    }

    /// The number of a page in a usual place: a whole number.
    var pageNumber: Int? { text.flatMap { Int(wholeNumber: $0) } }

    /// The value as JSON.
    var json: String {
        switch self {
        case .missing, .none: "null"
        case .text(let text): JSONQuoting.string(text)
        case .number(let text): text
        case .isTrue: "true"
        case .json(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    /// The number of items that the value announces; nil for any other value.
    var total: Int? {
        switch self {
        case .number(let text): return Int(wholeNumber: text)
        case .text(let text):
            // Content-Range: items 0-9/100.
            let rest = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            let isRange = rest.count == 2 && text.utf8.contains(UInt8(ascii: " "))
            return Int(wholeNumber: isRange ? String(Substring(rest[1])) : text)
        case .json(let bytes):
            guard let value = JSONValue(tolerant: Data(bytes)), case .object(let members) = value else { return nil }
            let totals = members.filter { Self.totalNames.contains(PageNames.normal($0.name)) }
            return totals.compactMap { $0.value.integer.flatMap { Int(exactly: $0) } }.first { $0 >= 0 }
        case .missing, .none, .isTrue: return nil
        }
    }

    private static let totalNames: Set<String> = [
        "total", "count", "totalcount", "totalitems", "totalrecords", "totalresults", "totalelements", "value",
    ]
}

extension PageValue {
    /// The value in a few words, with its beginning, escaped and without secrets.
    func shown(_ redaction: Redaction) -> String {
        let kind =
            switch self {
            case .missing: "nothing"
            case .none: "null, false or an empty text"
            case .text: "the text"
            case .number: "the number"
            case .isTrue: "the truth value"
            case .json(let bytes): bytes.first == UInt8(ascii: "[") ? "the list" : "the object"
            }
        // Secrets are masked before the text is cut: half an address may have no `@`.
        switch self {
        case .missing, .none: return kind
        case .text: return "\(kind) \(redaction.unparsable(json).escapedForDisplay(limit: 80))"
        default: return "\(kind) \(redaction.text(json).escapedForDisplay(limit: 80))"
        }
    }
}

/// Names and values of members that concern pages, compared without their spelling.
package enum PageNames {
    /// A name in lower case without punctuation: `next_page`, `nextPage` and `Next-Page` are `nextpage`.
    package static func normal(_ name: String) -> String {
        String(decoding: name.asciiLowercased.utf8.filter { $0.isASCIILetterOrDigit || $0 >= 0x80 }, as: UTF8.self)
    }

    private static let relationNames: Set<String> = ["rel", "rels", "relation", "relations", "relationship"]
    private static let nextRelations: Set<String> = ["next", "nextpage"]

    /// The relations of a link object, compared as names are; none when it has no relation.
    private static func relations(of link: JSONValue) -> [String] {
        guard case .object(let members) = link else { return [] }
        return members.filter { relationNames.contains(normal($0.name)) }
            .flatMap { $0.value.array?.compactMap(\.string) ?? [$0.value.string].compactMap(\.self) }
            .flatMap { $0.utf8.split(separator: 0x20).map { normal(String(Substring($0))) } }
    }

    /// Whether an array has links with relations.
    package static func areLinks(_ elements: [JSONValue]) -> Bool {
        elements.contains { !relations(of: $0).isEmpty }
    }

    /// The link to the next page; nil when there is none, or when it leads nowhere.
    package static func nextLink(in elements: [JSONValue]) -> JSONValue? {
        elements.first { link in
            guard case .object(let members) = link, !nextRelations.isDisjoint(with: relations(of: link)) else {
                return false
            }
            return members.contains { !relationNames.contains(normal($0.name)) && $0.value.string?.isEmpty == false }
        }
    }

    /// Whether links lead to other pages, and none to the next.
    package static func saysEnd(_ elements: [JSONValue]) -> Bool {
        let others: Set<String> = ["first", "last", "prev", "previous"]
        return elements.contains { !others.isDisjoint(with: relations(of: $0)) } && nextLink(in: elements) == nil
    }

    /// Whether a text is clearly an address, and not a cursor.
    package static func isAddress(_ text: String) -> Bool {
        let lower = text.asciiLowercased
        return ["http://", "https://", "/", "?", "./", "../"].contains(where: lower.hasPrefix)
            || text.utf8.contains(UInt8(ascii: "?"))
    }
}

extension UInt8 {
    fileprivate var isASCIILetterOrDigit: Bool { (0x61...0x7A).contains(self) || (0x30...0x39).contains(self) }
}

/// The address of the next page in an array or object of links.
struct PageLinks {
    enum Target: Hashable {
        case missing
        case none
        case target(String)
    }

    let next: Target

    /// Reads a link object, an array of links with relations, or an object with a link to the next page.
    init(_ json: [UInt8]) {
        // The bytes are a part of a valid document.
        next = JSONValue(tolerant: Data(json)).map(Self.next) ?? .missing
    }

    private static func next(_ value: JSONValue) -> Target {
        switch value {
        case .object(let members):
            for name in ["href", "url", "uri", "$ref"] {
                if let link = members[name] { return target(of: link) }
            }
            let named = members.filter { addressNames.contains(PageNames.normal($0.name)) }
            return named.map { target(of: $0.value) }.first { $0 != .missing } ?? .missing
        case .array(let links):
            guard !links.isEmpty else { return .none }
            guard PageNames.areLinks(links) else { return .missing }
            return PageNames.nextLink(in: links).map(next) ?? .none
        default: return .missing
        }
    }

    private static func target(of value: JSONValue) -> Target {
        switch value {
        case .string(let text): text.isEmpty ? .none : .target(text)
        case .null, .bool(false): .none
        default: .missing
        }
    }

    private static let addressNames: Set<String> = ["next", "nextlink", "nextpagelink", "nextpageurl", "nexturl"]
}
