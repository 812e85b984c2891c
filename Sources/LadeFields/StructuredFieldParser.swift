#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The parsing algorithms of RFC 9651 §4.2, one function each.
///
/// Nesting ends at the items of inner lists, so no input causes recursion.
struct StructuredFieldParser {
    private var cursor: FieldCursor
    private let limits: StructuredField.Limits

    /// Reads a whole field (§4.2): the lines joined by commas, without the blanks around them.
    static func parse<Value>(
        _ lines: [[UInt8]],
        limits: StructuredField.Limits,
        _ read: (inout StructuredFieldParser) throws(Headers.FieldError) -> Value
    ) throws(Headers.FieldError) -> Value {
        let joined = Array(lines.joined(separator: Array(", ".utf8)))
        var parser = StructuredFieldParser(
            cursor: FieldCursor(joined, field: "structured field"),
            limits: limits
        )
        parser.skipBlanks()
        let value = try read(&parser)
        parser.skipBlanks()
        guard parser.cursor.isAtEnd else { throw parser.cursor.error(.trailingBytes) }
        return value
    }

    // MARK: - Containers

    /// §4.2.1.
    mutating func list() throws(Headers.FieldError) -> StructuredField.List {
        var members: [StructuredField.Member] = []
        try eachMember { parser throws(Headers.FieldError) in
            guard members.count < parser.limits.members else {
                throw parser.cursor.error(.limitExceeded(parser.limits.members))
            }
            members.append(try parser.member())
        }
        return StructuredField.List(members)
    }

    /// §4.2.2.
    mutating func dictionary() throws(Headers.FieldError) -> StructuredField.Dictionary {
        var assembly = Assembly<StructuredField.Member>()
        try eachMember { parser throws(Headers.FieldError) in
            let key = try parser.key()
            let member: StructuredField.Member =
                parser.cursor.take("=")
                ? try parser.member() : .item(.init(.boolean(true), parameters: try parser.parameters()))
            guard assembly.set(key, member, limit: parser.limits.members) else {
                throw parser.cursor.error(.limitExceeded(parser.limits.members))
            }
        }
        return assembly.values
    }

    /// The common part of lists and dictionaries: members between commas, none of them empty, none after the last
    /// comma.
    private mutating func eachMember(
        _ read: (inout StructuredFieldParser) throws(Headers.FieldError) -> Void
    ) throws(Headers.FieldError) {
        guard !cursor.isAtEnd else { return }
        while true {
            try read(&self)
            cursor.skipWhitespace()
            guard !cursor.isAtEnd else { return }
            guard cursor.take(",") else { throw cursor.error(.expected("a comma")) }
            cursor.skipWhitespace()
            guard !cursor.isAtEnd else { throw cursor.error(.expected("a member after the comma")) }
        }
    }

    /// §4.2.1.1.
    private mutating func member() throws(Headers.FieldError) -> StructuredField.Member {
        cursor.take("(") ? .innerList(try innerList()) : .item(try item())
    }

    /// §4.2.1.2, after the opening parenthesis.
    private mutating func innerList() throws(Headers.FieldError) -> StructuredField.InnerList {
        var items: [StructuredField.Item] = []
        while true {
            let start = cursor.offset
            skipBlanks()
            if cursor.take(")") { return .init(items, parameters: try parameters()) }
            guard items.isEmpty || cursor.offset > start else {
                throw cursor.error(.expected("a space or a closing parenthesis"))
            }
            guard items.count < limits.innerListItems else {
                throw cursor.error(.limitExceeded(limits.innerListItems))
            }
            items.append(try item())
        }
    }

    /// §4.2.3.
    mutating func item() throws(Headers.FieldError) -> StructuredField.Item {
        let value = try bareItem()
        return StructuredField.Item(value, parameters: try parameters())
    }

    /// §4.2.3.2.
    private mutating func parameters() throws(Headers.FieldError) -> StructuredField.Parameters {
        var assembly = Assembly<StructuredField.BareItem>()
        while cursor.take(";") {
            skipBlanks()
            let key = try key()
            let value = cursor.take("=") ? try bareItem() : .boolean(true)
            guard assembly.set(key, value, limit: limits.parameters) else {
                throw cursor.error(.limitExceeded(limits.parameters))
            }
        }
        return assembly.values
    }

    /// §4.2.3.3.
    private mutating func key() throws(Headers.FieldError) -> String {
        guard let first = cursor.next, first.isLowercaseLetter || first == UInt8(ascii: "*") else {
            throw cursor.error(.expected("a key"))
        }
        return cursor.text(cursor.take(while: \.isStructuredKeyByte))
    }

    // MARK: - Bare items

    /// §4.2.3.1.
    private mutating func bareItem() throws(Headers.FieldError) -> StructuredField.BareItem {
        switch cursor.next {
        case UInt8(ascii: "\""): .string(try string())
        case UInt8(ascii: ":"): .byteSequence(try byteSequence())
        case UInt8(ascii: "?"): .boolean(try boolean())
        case UInt8(ascii: "@"): .date(try date())
        case UInt8(ascii: "%"): .displayString(try displayString())
        case let byte? where byte.isDigit || byte == UInt8(ascii: "-"): try number()
        case let byte? where byte.isLetter || byte == UInt8(ascii: "*"):
            .token(cursor.text(cursor.take(while: \.isStructuredTokenByte)))
        default: throw cursor.error(.expected("a value"))
        }
    }

    /// §4.2.4: at most 15 digits, or at most 12 before and 3 after the point.
    private mutating func number() throws(Headers.FieldError) -> StructuredField.BareItem {
        let start = cursor.offset
        let sign: Int64 = cursor.take("-") ? -1 : 1
        let digits = cursor.offset
        guard let whole = cursor.number(digits: 1...15) else { throw cursor.error(.expected("a digit")) }
        let width = cursor.offset - digits
        guard cursor.take(".") else {
            guard cursor.next?.isDigit != true else { throw cursor.error(.outOfRange("the integer"), offset: start) }
            return .integer(sign * whole)
        }
        let point = cursor.offset
        guard let fraction = cursor.number(digits: 1...3) else { throw cursor.error(.expected("a digit")) }
        let scale: Int64 = [100, 10, 1][cursor.offset - point - 1]
        guard cursor.next?.isDigit != true, width <= 12,
            let decimal = StructuredField.Decimal(thousandths: sign * (whole * 1_000 + fraction * scale))
        else { throw cursor.error(.outOfRange("the decimal"), offset: start) }
        return .decimal(decimal)
    }

    /// §4.2.5.
    private mutating func string() throws(Headers.FieldError) -> String {
        _ = cursor.take()
        var content: [UInt8] = []
        while let byte = cursor.next, (0x20...0x7E).contains(byte) {
            _ = cursor.take()
            if byte == UInt8(ascii: "\"") { return String(decoding: content, as: UTF8.self) }
            guard byte == UInt8(ascii: "\\") else {
                content.append(byte)
                continue
            }
            guard let escaped = cursor.next, escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
                throw cursor.error(.expected("a quote or a backslash"))
            }
            _ = cursor.take()
            content.append(escaped)
        }
        throw cursor.error(.expected("a printable ASCII character or the closing quote"))
    }

    /// Padding may be missing and the bits that it fills need not be zero, as §4.2.7 allows.
    private mutating func byteSequence() throws(Headers.FieldError) -> [UInt8] {
        _ = cursor.take()
        let start = cursor.offset
        let encoded = cursor.text(cursor.take(while: \.isBase64Byte))
        let padding = cursor.take { $0 == UInt8(ascii: "=") }.count
        guard cursor.take(":") else { throw cursor.error(.expected("base64 or a colon")) }
        let missing = (4 - encoded.utf8.count % 4) % 4
        guard padding <= missing,
            let data = Data(base64Encoded: encoded + String(repeating: "=", count: missing))
        else { throw cursor.error(.expected("base64"), offset: start) }
        return Array(data)
    }

    /// §4.2.8.
    private mutating func boolean() throws(Headers.FieldError) -> Bool {
        _ = cursor.take()
        if cursor.take("1") { return true }
        guard cursor.take("0") else { throw cursor.error(.expected("0 or 1")) }
        return false
    }

    /// §4.2.9.
    private mutating func date() throws(Headers.FieldError) -> Date {
        _ = cursor.take()
        let start = cursor.offset
        guard cursor.next?.isDigit == true || cursor.next == UInt8(ascii: "-"),
            case .integer(let seconds) = try number()
        else { throw cursor.error(.expected("an integer"), offset: start) }
        return Date(timeIntervalSince1970: Double(seconds))
    }

    /// §4.2.10: percent escapes are in lower case, and the decoded bytes are UTF-8.
    private mutating func displayString() throws(Headers.FieldError) -> String {
        _ = cursor.take()
        let start = cursor.offset
        guard cursor.take("\"") else { throw cursor.error(.expected("a quote")) }
        var content: [UInt8] = []
        while let byte = cursor.next, (0x20...0x7E).contains(byte) {
            _ = cursor.take()
            switch byte {
            case UInt8(ascii: "\""):
                guard let text = String(validating: content, as: UTF8.self) else {
                    throw cursor.error(.expected("UTF-8"), offset: start)
                }
                return text
            case UInt8(ascii: "%"): content.append(try lowercaseDigit() << 4 | lowercaseDigit())
            default: content.append(byte)
            }
        }
        throw cursor.error(.expected("a printable ASCII character or the closing quote"))
    }

    private mutating func lowercaseDigit() throws(Headers.FieldError) -> UInt8 {
        guard let byte = cursor.next, byte.lowercasedASCII == byte, let value = byte.hexadecimalValue else {
            throw cursor.error(.expected("a hexadecimal digit in lower case"))
        }
        _ = cursor.take()
        return value
    }

    /// Spaces only: tabs are allowed only around commas.
    private mutating func skipBlanks() {
        cursor.take { $0 == UInt8(ascii: " ") }
    }
}

/// Collects values by key in linear time; a repeated key takes the new value in its old position.
private struct Assembly<Value: Sendable & Hashable> {
    private var entries: [StructuredField.KeyedValues<Value>.Entry] = []
    /// The position of each key.
    ///
    /// Swift seeds its hashes, so that keys cannot be chosen to collide.
    private var places: [String: Int] = [:]

    var values: StructuredField.KeyedValues<Value> { .init(distinct: entries) }

    /// Returns false, and adds nothing, if the key would exceed the limit.
    mutating func set(_ key: String, _ value: Value, limit: Int) -> Bool {
        if let place = places[key] {
            entries[place].value = value
            return true
        }
        guard entries.count < limit else { return false }
        places[key] = entries.count
        entries.append(.init(key: key, value: value))
        return true
    }
}

extension UInt8 {
    /// The bytes of a key after its first (RFC 9651 §3.1.2).
    var isStructuredKeyByte: Bool {
        if isLowercaseLetter || isDigit { return true }
        return switch self {
        case UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "*"): true
        default: false
        }
    }

    /// The bytes of a token after its first (RFC 9651 §3.3.4).
    var isStructuredTokenByte: Bool { isTokenCharacter || self == UInt8(ascii: ":") || self == UInt8(ascii: "/") }

    /// The base64 alphabet without padding (RFC 4648 §4).
    var isBase64Byte: Bool { isLetter || isDigit || self == UInt8(ascii: "+") || self == UInt8(ascii: "/") }
}
