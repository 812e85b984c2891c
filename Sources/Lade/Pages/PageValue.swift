import LadeCore
import LadeJSON

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What stands at a place of a response.
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

    /// Reads a place; `index` is that of its pointer, if it is in the body.
    package init(_ place: PageRule.Place, _ index: Int?, _ facts: PageWalk.Facts) {
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
            guard let text = facts.response.headers[name] else {
                self = .missing
                return
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
            // It is valid JSON, so only a lone surrogate is no string.
            let text = (try? JSONValue(parsing: Data(json)))?.string ?? ""
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
            guard let value = try? JSONValue(parsing: Data(bytes)), case .object(let members) = value else {
                return nil
            }
            let totals = members.filter { Self.totalNames.contains(PageNames.normal($0.name)) }
            return totals.compactMap { $0.value.integer.flatMap { Int(exactly: $0) } }.first { $0 >= 0 }
        case .missing, .none, .isTrue: return nil
        }
    }

    private static let totalNames: Set<String> = [
        "total", "count", "totalcount", "totalitems", "totalrecords", "totalresults", "totalelements",
    ]
}

extension PageValue: CustomStringConvertible {
    /// The value in a few words, with its beginning, escaped.
    package var description: String {
        let kind =
            switch self {
            case .missing: "nothing"
            case .none: "null, false or an empty text"
            case .text: "the text"
            case .number: "the number"
            case .isTrue: "the truth value"
            case .json(let bytes): bytes.first == UInt8(ascii: "[") ? "the list" : "the object"
            }
        switch self {
        case .missing, .none: return kind
        default: return "\(kind) \(json.escapedForDisplay(limit: 80))"
        }
    }
}

/// Names and values of members that concern pages, compared without their spelling.
package enum PageNames {
    /// A name in lower case without punctuation: `next_page`, `nextPage` and `Next-PageRequest` are `nextpage`.
    package static func normal(_ name: String) -> String {
        String(decoding: name.asciiLowercased.utf8.filter { $0.isASCIILetterOrDigit || $0 >= 0x80 }, as: UTF8.self)
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
        next = (try? JSONValue(parsing: Data(json))).map(Self.next) ?? .missing
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
            let related = links.filter { $0["rel"] ?? $0["relation"] != nil }
            guard related.count == links.count, !links.isEmpty else { return .missing }
            let found = related.first { link in
                let relation = link["rel"] ?? link["relation"]
                let names = relation?.array?.compactMap(\.string) ?? [relation?.string ?? ""]
                return names.contains { $0.asciiLowercased == "next" }
            }
            return found.map(next) ?? .none
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
