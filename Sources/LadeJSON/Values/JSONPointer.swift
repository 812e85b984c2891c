/// A path to a value within a JSON document: `/data/items/0` (RFC 6901).
///
/// ```swift
/// let items = try JSONPointer("/data/items")
/// let same: JSONPointer = ["data", "items"]
/// ```
public struct JSONPointer: Sendable, Hashable {
    /// The names and indices along the path, unescaped; empty for the whole document.
    public let tokens: [String]

    /// Makes a pointer from its text.
    ///
    /// - Parameter text: The pointer in the form of RFC 6901; an empty text is the whole document.
    /// - Throws: ``JSONError/Reason/invalidPointer`` when the text is not a pointer.
    public init(_ text: String) throws(JSONError) {
        guard !text.isEmpty else {
            tokens = []
            return
        }
        guard text.utf8.first == UInt8(ascii: "/") else { throw JSONError(.invalidPointer, offset: 0) }
        var tokens: [String] = []
        for part in text.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
            guard let token = Self.unescaped(part) else {
                throw JSONError(
                    .invalidPointer,
                    offset: Int64(text.utf8.distance(from: text.startIndex, to: part.startIndex))
                )
            }
            tokens.append(token)
        }
        self.tokens = tokens
    }

    /// Makes a pointer from unescaped names and indices.
    public init(tokens: [String]) {
        self.tokens = tokens
    }

    private static func unescaped(_ part: Substring.UTF8View) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(part.count)
        var rest = part
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "~") else {
                bytes.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "0"): bytes.append(UInt8(ascii: "~"))
            case UInt8(ascii: "1"): bytes.append(UInt8(ascii: "/"))
            default: return nil
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The array index that a token represents; nil when it can only be a name (RFC 6901 §4).
    package static func index(_ token: String) -> Int? {
        guard token == "0" || token.utf8.first != UInt8(ascii: "0") else { return nil }
        guard token.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int(token)
    }
}

extension JSONPointer: ExpressibleByArrayLiteral {
    /// Makes a pointer from unescaped names and indices.
    public init(arrayLiteral elements: String...) {
        tokens = elements
    }
}

extension JSONPointer: CustomStringConvertible {
    /// The pointer in the form of RFC 6901.
    public var description: String {
        tokens.map { token in
            var escaped = "/"
            for character in token.unicodeScalars {
                switch character {
                case "~": escaped += "~0"
                case "/": escaped += "~1"
                default: escaped.unicodeScalars.append(character)
                }
            }
            return escaped
        }.joined()
    }
}
