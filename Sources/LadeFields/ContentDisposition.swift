public import LadeCore

/// How content is to be presented, and under which file name (RFC 6266): `attachment; filename="report.pdf"`.
public struct ContentDisposition: Sendable, Hashable {
    /// The disposition in lower case: `inline`, `attachment`, `form-data`; an unknown one means `attachment` (§4.2).
    ///
    /// A field that begins with a parameter has none; it is read as `attachment`, as browsers and curl read it.
    public let type: String
    /// The name that the sender gives, decoded but not to be trusted: use `safeFilename` for a file.
    ///
    /// `filename*` (RFC 8187, in UTF-8 or ISO-8859-1) if it can be decoded, else `filename` (§4.3).
    public let filename: String?
    /// The other parameters in the order they were written.
    public let parameters: [FieldParameter]

    /// Makes a disposition that can be written.
    ///
    /// Every file name is accepted.
    ///
    /// - Throws: `Headers.FieldError` if the type is not a token, or a parameter is a file name.
    public init(
        type: String,
        filename: String? = nil,
        parameters: [FieldParameter] = []
    ) throws(Headers.FieldError) {
        guard type.isToken else {
            throw Headers.FieldError(field: "Content-Disposition", reason: .notWritable("the type"), offset: 0)
        }
        guard !parameters.contains(where: { Self.isFilename($0.name) }) else {
            throw Headers.FieldError(
                field: "Content-Disposition",
                reason: .notWritable("a second file name"),
                offset: 0
            )
        }
        self.type = type.asciiLowercased
        self.filename = filename
        self.parameters = parameters
    }

    /// Reads the field.
    ///
    /// Faults in the parameters are tolerated. Unreadable parameters are left out. An unquoted file name may contain
    /// blanks and other characters, and a closing quote may be missing. The type may be missing where a parameter or a
    /// semicolon stands in its place: `filename=a`.
    ///
    /// - Throws: `Headers.FieldError` if there is neither a disposition type nor a parameter, or something other than parameters
    ///   follows the type.
    public init(_ string: some StringProtocol) throws(Headers.FieldError) {
        try self.init(bytes: Array(string.utf8))
    }

    /// Reads the field from bytes as they were received; see `init(_:)`.
    ///
    /// - Throws: `Headers.FieldError` if there is no disposition type, or something other than parameters follows it.
    public init(bytes: [UInt8]) throws(Headers.FieldError) {
        var cursor = FieldCursor(bytes, field: "Content-Disposition")
        cursor.skipWhitespace()
        let start = cursor
        let type: String
        var pairs: [FieldCursor.Pair] = []
        if cursor.next == UInt8(ascii: ";") {
            type = Self.defaultType
        } else {
            guard let token = cursor.lowercasedToken() else { throw cursor.error(.expected("a disposition type")) }
            cursor.skipWhitespace()
            if cursor.next == UInt8(ascii: "=") {
                type = Self.defaultType
                cursor = start
                pairs = [cursor.pair(before: .semicolon)].compactMap(\.self)
            } else {
                type = token
            }
        }
        guard cursor.isAt(.semicolon) else { throw cursor.error(.expected("a semicolon")) }
        pairs += cursor.pairs(delimiters: .semicolon)
        let extended = pairs.first { $0.name == "filename*" }?.value
        self.type = type
        self.filename = extended.flatMap(ExtendedValue.decode) ?? pairs.first { $0.name == "filename" }?.value
        self.parameters = pairs.filter { !Self.isFilename($0.name) }.compactMap { FieldParameter($0) }
    }

    /// The name of the form field that a part of a `multipart/form-data` body belongs to (RFC 7578 §4.2).
    public var name: String? { parameters.first("name") }

    /// The type that a field without a type has.
    private static let defaultType = "attachment"

    private static func isFilename(_ name: String) -> Bool { name == "filename" || name == "filename*" }
}

extension ContentDisposition: CustomStringConvertible {
    /// The field as it is sent.
    ///
    /// A file name that is not plain ASCII is sent twice (RFC 6266 appendix D). `filename` has `_` for characters that
    /// old clients misread. `filename*` has the whole name, and others prefer it.
    public var description: String {
        var text = type
        if let filename {
            let fallback = Self.plain(filename)
            text += "; filename=\(fallback.quoted)"
            if fallback != filename { text += "; filename*=\(ExtendedValue.encode(filename))" }
        }
        return parameters.reduce(into: text) { $0 += "; \($1)" }
    }

    /// Clients disagree on characters beyond ASCII, controls, quotes, backslashes and percent signs (appendix D).
    private static func plain(_ filename: String) -> String {
        var text = String.UnicodeScalarView()
        for scalar in filename.unicodeScalars {
            switch scalar {
            case "\"", "\\", "%": text.append("_")
            case " "..."~": text.append(scalar)
            default: text.append("_")
            }
        }
        return String(text)
    }
}
