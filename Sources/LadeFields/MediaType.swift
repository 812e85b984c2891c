public import LadeCore

/// A media type with its parameters, as in `Content-Type: text/html; charset=utf-8` (RFC 9110 §8.3.1).
public struct MediaType: Sendable, Hashable {
    /// The type in lower case: `text` of `text/html`.
    public let type: String
    /// The subtype in lower case: `html` of `text/html`.
    public let subtype: String
    /// The parameters in the order they were written; of repeated ones the first counts.
    public let parameters: [FieldParameter]

    /// Makes a media type that can be written.
    ///
    /// - Throws: `Headers.FieldError` if the type or subtype is not a token.
    public init(type: String, subtype: String, parameters: [FieldParameter] = []) throws(Headers.FieldError) {
        guard type.isToken, subtype.isToken else {
            throw Headers.FieldError(field: "media type", reason: .notWritable("the type"), offset: 0)
        }
        self.init(checkedType: type.asciiLowercased, subtype: subtype.asciiLowercased, parameters: parameters)
    }

    private init(checkedType type: String, subtype: String, parameters: [FieldParameter] = []) {
        self.type = type
        self.subtype = subtype
        self.parameters = parameters
    }

    /// Reads a media type.
    ///
    /// Faults in the parameters are tolerated. Unreadable parameters are left out, and unquoted values may contain more
    /// than token characters. White space may surround `=`, and a closing quote may be missing.
    ///
    /// - Throws: `Headers.FieldError` if there is no `type/subtype`, or something other than parameters follows it.
    public init(_ string: some StringProtocol) throws(Headers.FieldError) {
        try self.init(bytes: Array(string.utf8))
    }

    /// Reads a media type from bytes as they were received; see `init(_:)`.
    ///
    /// - Throws: `Headers.FieldError` if there is no `type/subtype`, or something other than parameters follows it.
    public init(bytes: [UInt8]) throws(Headers.FieldError) {
        var cursor = FieldCursor(bytes, field: "media type")
        cursor.skipWhitespace()
        guard let type = cursor.lowercasedToken() else { throw cursor.error(.expected("a type")) }
        guard cursor.take("/") else { throw cursor.error(.expected("a slash")) }
        guard let subtype = cursor.lowercasedToken() else { throw cursor.error(.expected("a subtype")) }
        cursor.skipWhitespace()
        guard cursor.isAt(.semicolon) else { throw cursor.error(.expected("a semicolon")) }
        let parameters = cursor.pairs(delimiters: .semicolon).compactMap { FieldParameter($0) }
        self.init(checkedType: type, subtype: subtype, parameters: parameters)
    }

    /// `type/subtype` without parameters, in lower case.
    public var essence: String { "\(type)/\(subtype)" }

    /// The structured-syntax suffix, such as `json` of `application/problem+json` (RFC 6838 §4.2.8).
    public var suffix: String? {
        guard let plus = subtype.utf8.lastIndex(of: UInt8(ascii: "+")) else { return nil }
        let suffix = subtype[subtype.utf8.index(after: plus)...]
        return suffix.isEmpty ? nil : String(suffix)
    }

    /// The name of the character set, in lower case.
    public var charset: String? { parameters.first("charset")?.asciiLowercased }

    /// The separator between the parts of a multipart body, exactly as written.
    public var boundary: String? { parameters.first("boundary") }

    /// The value of the first parameter of that name; the name is matched in any letter case.
    public func parameter(_ name: String) -> String? { parameters.first(name.asciiLowercased) }

    /// Whether the content is JSON: `application/json`, `text/json` or a `+json` suffix.
    public var isJSON: Bool { suffix == "json" || essence == "application/json" || essence == "text/json" }

    /// Whether the content is XML: `application/xml`, `text/xml` or a `+xml` suffix.
    public var isXML: Bool { suffix == "xml" || essence == "application/xml" || essence == "text/xml" }

    /// Whether the content is meant to be read as text: `text/*`, JSON or XML.
    public var isText: Bool { type == "text" || isJSON || isXML }
}

extension MediaType {
    /// `application/json`.
    public static let json = MediaType(checkedType: "application", subtype: "json")
    /// `application/x-www-form-urlencoded`.
    public static let form = MediaType(checkedType: "application", subtype: "x-www-form-urlencoded")
    /// `application/octet-stream`.
    public static let octets = MediaType(checkedType: "application", subtype: "octet-stream")
    /// `text/plain; charset=utf-8`.
    public static let plainText = MediaType(
        checkedType: "text",
        subtype: "plain",
        parameters: [FieldParameter(checkedName: "charset", value: "utf-8")]
    )
}

extension MediaType: CustomStringConvertible {
    /// The media type as it is sent.
    public var description: String {
        parameters.reduce(into: essence) { $0 += "; \($1)" }
    }
}
