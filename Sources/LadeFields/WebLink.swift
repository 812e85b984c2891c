#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// A link from a `Link` field: `<https://api.example.org/items?page=2>; rel="next"` (RFC 8288 §3).
///
/// ```swift
/// let links = try WebLink.parse(response.headers.all("Link"))
/// let next = links.first { $0.hasRelation("next") && $0.anchor == nil }?.resolved(against: url)
/// ```
public struct WebLink: Sendable, Hashable {
    /// The address that it points to, as it was written: a URI or a relative reference, perhaps empty.
    public let target: String
    /// The relation of the target to the context, from the first `rel` only (§3.3).
    ///
    /// Registered types are in lower case, and without the single or typographic quotes that some servers write. Types
    /// with a colon, which are URIs, are kept as written.
    public let relationTypes: [String]
    /// All parameters in the order they were written, repeated ones included; a missing value is empty.
    public let parameters: [FieldParameter]

    /// Makes a link that can be written.
    ///
    /// - Parameters:
    ///   - target: a URI or relative reference; a server needs it in ASCII.
    ///   - relationTypes: the relation types, written as one `rel` parameter in front of the others; none if empty.
    ///   - parameters: further parameters.
    /// - Throws: `Headers.FieldError` if the target holds `>` or a control character, or a relation type white space.
    public init(
        target: String,
        relationTypes: [String],
        parameters: [FieldParameter] = []
    ) throws(Headers.FieldError) {
        guard Self.isTarget(target) else {
            throw Headers.FieldError(field: "Link", reason: .notWritable("the target"), offset: 0)
        }
        guard relationTypes.allSatisfy({ !$0.isEmpty && !$0.utf8.contains(where: \.isFieldWhitespace) }) else {
            throw Headers.FieldError(field: "Link", reason: .notWritable("the relation type"), offset: 0)
        }
        var all = parameters
        if !relationTypes.isEmpty {
            all.insert(try FieldParameter(name: "rel", value: relationTypes.joined(separator: " ")), at: 0)
        }
        self.init(target: target, parameters: all)
    }

    private init(target: String, parameters: [FieldParameter]) {
        self.target = target
        self.parameters = parameters
        let types = (parameters.first("rel") ?? "").utf8.split(whereSeparator: \.isFieldWhitespace)
        self.relationTypes = types.compactMap { type in
            let type = String(Substring(type))
            guard !type.utf8.contains(UInt8(ascii: ":")) else { return type }
            let name = type.asciiLowercased.unquotedRelation
            return name.isEmpty ? nil : name
        }
    }

    /// A label for the target: `title*` if it can be decoded, else `title` (§3.4.1).
    public var title: String? {
        parameters.first("title*").flatMap(ExtendedValue.decode) ?? parameters.first("title")
    }

    /// The languages of the target; the parameter may occur more than once.
    public var hreflang: [String] { parameters.filter { $0.name == "hreflang" }.map(\.value) }

    /// A hint at the media type of the target.
    public var type: String? { parameters.first("type") }

    /// A hint at the medium that the target is for.
    public var media: String? { parameters.first("media") }

    /// The context of the link if it is not the resource that was fetched (§3.2).
    ///
    /// A `next` link with an anchor names the successor of another resource.
    public var anchor: String? { parameters.first("anchor") }

    /// Whether the target has this relation, in any letter case (§2.1).
    public func hasRelation(_ type: String) -> Bool {
        relationTypes.contains { $0.equalsIgnoringASCIICase(type) }
    }

    /// The target as an absolute URL, resolved against `base` where it is relative; `nil` if it cannot be resolved.
    public func resolved(against base: URL) -> URL? {
        URL(reference: target, against: base)
    }

    private static func isTarget(_ target: String) -> Bool {
        target.utf8.allSatisfy { $0.isFieldContent && $0 != 0x09 && $0 != UInt8(ascii: ">") }
    }
}

extension WebLink: CustomStringConvertible {
    /// The link as it is sent.
    ///
    /// Parameters are always quoted, as the oldest clients expect.
    public var description: String {
        parameters.reduce(into: "<\(target)>") { text, parameter in
            // An extended value is a token by definition (RFC 8187 §3.2).
            let isExtended = parameter.name.hasSuffix("*") && parameter.value.isToken
            text += "; \(parameter.name)=\(isExtended ? parameter.value : parameter.value.quoted)"
        }
    }
}

extension String {
    /// The name of a relation without quotes of other kinds: it contains letters, digits, points and hyphens (§3.3).
    fileprivate var unquotedRelation: String {
        let quotes: Set<Unicode.Scalar> = [
            "'", "`", "\u{B4}", "\u{2018}", "\u{2019}", "\u{201C}", "\u{201D}", "\"", "\\",
        ]
        var scalars = unicodeScalars[...]
        while let first = scalars.first, quotes.contains(first) { scalars.removeFirst() }
        while let last = scalars.last, quotes.contains(last) { scalars.removeLast() }
        return String(scalars)
    }
}

// MARK: - Reading

extension WebLink {
    /// Reads the links of all `Link` fields of a message, in order.
    ///
    /// Unreadable parts are skipped, as RFC 8288 appendix B asks: a malformed parameter alone, a malformed link up to
    /// the next comma. If there is content but no link can be read, the method throws. For a caller that follows pages,
    /// an empty result would look like the last page.
    ///
    /// - Parameter lines: the values of the field lines named `Link`.
    /// - Returns: the links; none if the lines are empty.
    /// - Throws: `Headers.FieldError` if there is content and none of it is a link.
    public static func parse(_ lines: [String]) throws(Headers.FieldError) -> [WebLink] {
        try parse(bytes: lines.map { Array($0.utf8) })
    }

    /// Reads the links of all `Link` fields from bytes as they were received; see `parse(_:)`.
    ///
    /// - Throws: `Headers.FieldError` if there is content and none of it is a link.
    public static func parse(bytes lines: [[UInt8]]) throws(Headers.FieldError) -> [WebLink] {
        var links: [WebLink] = []
        var fault: Headers.FieldError?
        var origin = 0
        for line in lines {
            var cursor = FieldCursor(line, field: "Link", origin: origin)
            origin += line.count + 2
            cursor.skipEmptyMembers()
            while !cursor.isAtEnd {
                let failure = cursor.error(.expected("a target in angle brackets"))
                if let link = member(&cursor) { links.append(link) } else { fault = fault ?? failure }
                cursor.skipEmptyMembers()
            }
        }
        if links.isEmpty, let fault { throw fault }
        return links
    }

    private static func member(_ cursor: inout FieldCursor) -> WebLink? {
        guard cursor.take("<") else {
            cursor.skip(to: .comma)
            return nil
        }
        let range = cursor.take { $0 != UInt8(ascii: ">") }
        guard cursor.take(">") else { return nil }
        // The text of the target is created only if this can be a target; its parameters are passed in any case.
        let target = cursor.text(range)
        let parameters = cursor.pairs(delimiters: [.comma, .semicolon])
            .compactMap { FieldParameter($0, absentValue: "") }
        return isTarget(target) ? WebLink(target: target, parameters: parameters) : nil
    }
}
