#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads one JSON text (RFC 8259), strictly.
struct JSONParser {
    private let bytes: [UInt8]
    private var position = 0
    private var depth = 0

    init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    mutating func document() throws(JSONFault) -> JSONValue {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
        skipBlanks()
        let value = try value()
        skipBlanks()
        guard position == bytes.count else { throw fault("There is more after the value") }
        return value
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func fault(_ reason: String) -> JSONFault { JSONFault(offset: position, reason: reason) }

    private mutating func skipBlanks() {
        while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard current == byte else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(JSONFault) -> JSONValue {
        switch current {
        case UInt8(ascii: "{"): return try object()
        case UInt8(ascii: "["): return try array()
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case let byte? where byte == UInt8(ascii: "-") || (0x30...0x39).contains(byte): return try number()
        case nil: throw fault("The text ends where a value should be")
        default: throw fault("There is no value")
        }
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(JSONFault) -> JSONValue {
        let text = Array("\(word)".utf8)
        guard bytes[position...].starts(with: text) else { throw fault("There is no value") }
        position += text.count
        return value
    }

    private mutating func enter() throws(JSONFault) {
        depth += 1
        guard depth <= JSONValue.depthLimit else { throw fault("It is nested more than \(JSONValue.depthLimit) deep") }
        position += 1
        skipBlanks()
    }

    private mutating func object() throws(JSONFault) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var members = JSONObject()
        if take(UInt8(ascii: "}")) { return .object(members) }
        while true {
            guard current == UInt8(ascii: "\"") else { throw fault("A member has no name") }
            let name = try string()
            skipBlanks()
            guard take(UInt8(ascii: ":")) else { throw fault("A name has no colon after it") }
            skipBlanks()
            members[name] = try value()
            skipBlanks()
            if take(UInt8(ascii: "}")) { return .object(members) }
            guard take(UInt8(ascii: ",")) else { throw fault("A member has neither comma nor brace after it") }
            skipBlanks()
        }
    }

    private mutating func array() throws(JSONFault) -> JSONValue {
        try enter()
        defer { depth -= 1 }
        var elements: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return .array(elements) }
        while true {
            elements.append(try value())
            skipBlanks()
            if take(UInt8(ascii: "]")) { return .array(elements) }
            guard take(UInt8(ascii: ",")) else { throw fault("An element has neither comma nor bracket after it") }
            skipBlanks()
        }
    }

    private mutating func digits() throws(JSONFault) {
        let start = position
        while let byte = current, (0x30...0x39).contains(byte) { position += 1 }
        if position == start { throw fault("A number lacks a digit") }
    }

    private mutating func number() throws(JSONFault) -> JSONValue {
        let start = position
        var isWhole = true
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) {
            isWhole = false
            try digits()
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isWhole = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isWhole, let number = Int64(text) { return .integer(number) }
        guard let number = Double(text), number.isFinite else { throw fault("A number is too large") }
        return .number(number)
    }

    private mutating func string() throws(JSONFault) -> String {
        position += 1
        let start = position
        var unescaped: [UInt8]?
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                let content = unescaped.map { $0[...] } ?? bytes[start..<position]
                guard let text = String(validating: content, as: UTF8.self) else { throw fault("A text is no UTF-8") }
                position += 1
                return text
            case UInt8(ascii: "\\"):
                if unescaped == nil { unescaped = Array(bytes[start..<position]) }
                position += 1
                unescaped?.append(contentsOf: try escape())
            case 0..<0x20:
                throw fault("A text has a control character")
            default:
                unescaped?.append(byte)
                position += 1
            }
        }
        throw fault("The text ends within a string")
    }

    private mutating func escape() throws(JSONFault) -> [UInt8] {
        guard let byte = current else { throw fault("The text ends within a string") }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return [byte]
        case UInt8(ascii: "b"): return [0x08]
        case UInt8(ascii: "f"): return [0x0C]
        case UInt8(ascii: "n"): return [0x0A]
        case UInt8(ascii: "r"): return [0x0D]
        case UInt8(ascii: "t"): return [0x09]
        case UInt8(ascii: "u"): return Array(String(try escapedScalar()).utf8)
        default: throw fault("An escape is unknown")
        }
    }

    /// The character of a `\u` escape, or of the two that make a surrogate pair.
    private mutating func escapedScalar() throws(JSONFault) -> Character {
        let first = try codeUnit()
        if let scalar = Unicode.Scalar(first) { return Character(scalar) }
        guard first < 0xDC00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else {
            throw fault("A surrogate stands alone")
        }
        let second = try codeUnit()
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw fault("A surrogate stands alone") }
        return Character(scalar)
    }

    private mutating func codeUnit() throws(JSONFault) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue else {
                throw fault("An escape lacks a hexadecimal digit")
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }
}
