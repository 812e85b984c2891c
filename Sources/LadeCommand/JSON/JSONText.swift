/// JSON as text: written in the order given, and checked without being turned into values (RFC 8259).
///
/// Numbers keep their digits and keys their order, which no decoder promises.
enum JSONText {
    /// A text as a JSON string, quotes included.
    static func string(_ text: String) -> String {
        var result = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": result += "\\\""
            case "\\": result += "\\\\"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case "\t": result += "\\t"
            case _ where scalar.value < 0x20 || scalar.value == 0x7F: result += escaped(scalar)
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result + "\""
    }

    /// A scalar as one or, above the basic plane, two `\u` escapes.
    static func escaped(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.reduce(into: "") { result, unit in
            let digits = String(unit, radix: 16, uppercase: true)
            result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
    }

    /// An object with its members in order; each value is JSON already.
    static func object(_ members: [(name: String, value: String)]) -> String {
        "{" + members.map { "\(string($0.name)):\($0.value)" }.joined(separator: ",") + "}"
    }

    /// Whether a text is exactly one JSON value.
    static func isValid(_ text: String) -> Bool {
        var scanner = Scanner(rest: text.utf8[...])
        scanner.skipSpace()
        guard scanner.value(depth: 0) else { return false }
        scanner.skipSpace()
        return scanner.rest.isEmpty
    }

    /// Walks over a text by the grammar of RFC 8259.
    private struct Scanner {
        // Deeper texts are refused rather than followed to the end of the stack.
        static let depthLimit = 512

        var rest: Substring.UTF8View

        mutating func skipSpace() {
            while let byte = rest.first, [0x20, 0x09, 0x0A, 0x0D].contains(byte) { rest.removeFirst() }
        }

        mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: character) else { return false }
            rest.removeFirst()
            return true
        }

        mutating func value(depth: Int) -> Bool {
            guard depth < Self.depthLimit, let first = rest.first else { return false }
            switch first {
            case UInt8(ascii: "{"): return object(depth: depth)
            case UInt8(ascii: "["): return array(depth: depth)
            case UInt8(ascii: "\""): return string()
            case UInt8(ascii: "t"): return word("true")
            case UInt8(ascii: "f"): return word("false")
            case UInt8(ascii: "n"): return word("null")
            default: return number()
            }
        }

        mutating func object(depth: Int) -> Bool {
            rest.removeFirst()
            skipSpace()
            if take("}") { return true }
            repeat {
                skipSpace()
                guard string() else { return false }
                skipSpace()
                guard take(":") else { return false }
                skipSpace()
                guard value(depth: depth + 1) else { return false }
                skipSpace()
            } while take(",")
            return take("}")
        }

        mutating func array(depth: Int) -> Bool {
            rest.removeFirst()
            skipSpace()
            if take("]") { return true }
            repeat {
                skipSpace()
                guard value(depth: depth + 1) else { return false }
                skipSpace()
            } while take(",")
            return take("]")
        }

        mutating func string() -> Bool {
            guard take("\"") else { return false }
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "\"") { return true }
                guard byte >= 0x20 else { return false }
                guard byte == UInt8(ascii: "\\") else { continue }
                guard let escape = rest.popFirst() else { return false }
                if escape == UInt8(ascii: "u") {
                    guard rest.prefix(4).count == 4, rest.prefix(4).allSatisfy(Self.isHexadecimal) else { return false }
                    rest = rest.dropFirst(4)
                } else if !"\"\\/bfnrt".utf8.contains(escape) {
                    return false
                }
            }
            return false
        }

        mutating func word(_ word: String) -> Bool {
            guard rest.starts(with: word.utf8) else { return false }
            rest = rest.dropFirst(word.utf8.count)
            return true
        }

        mutating func number() -> Bool {
            _ = take("-")
            if !take("0") { guard digits() else { return false } }
            if take(".") { guard digits() else { return false } }
            if take("e") || take("E") {
                if !take("+") { _ = take("-") }
                guard digits() else { return false }
            }
            return true
        }

        mutating func digits() -> Bool {
            let start = rest.startIndex
            while let byte = rest.first, (0x30...0x39).contains(byte) { rest.removeFirst() }
            return rest.startIndex > start
        }

        static func isHexadecimal(_ byte: UInt8) -> Bool {
            (0x30...0x39).contains(byte) || (0x41...0x46).contains(byte & 0xDF)
        }
    }
}
