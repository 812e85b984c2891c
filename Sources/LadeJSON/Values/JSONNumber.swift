/// A number exactly as a document writes it, for numbers that no integer of 64 bits can hold.
///
/// Numbers are equal when they have the same value, however it is written: `1.50` and `15e-1`. A `Double` that is made of
/// one may be rounded; the text never is.
///
/// ```swift
/// let value = try JSONValue(parsing: Data("3.14159265358979323846".utf8))
/// if case .number(let number) = value { print(number.text) }   // 3.14159265358979323846
/// ```
public struct JSONNumber: Sendable {
    /// The number as JSON writes it.
    public let text: String

    /// Makes a number from a text; nil when JSON does not write numbers that way (RFC 8259 §6).
    public init?(_ text: String) {
        var scanner = JSONNumberScanner()
        guard let first = text.utf8.first else { return nil }
        switch first {
        case UInt8(ascii: "-"): scanner.begin(.minus)
        case UInt8(ascii: "0"): scanner.begin(.zero)
        case UInt8(ascii: "1")...UInt8(ascii: "9"): scanner.begin(.integer)
        default: return nil
        }
        var rest = text
        let isWhole = rest.withUTF8 { bytes in
            guard let start = bytes.baseAddress else { return false }
            let piece = JSONPiece(start: start, end: start + bytes.count, place: .init())
            do throws(JSONFault) {
                return try scanner.scan(start + 1, piece) == nil && scanner.isComplete
            } catch {
                // What is wrong with the text does not matter here.
                return false
            }
        }
        guard isWhole else { return nil }
        self.text = text
    }

    /// Makes a number from a text that a scanner let through.
    init(scanned text: String) { self.text = text }

    /// Makes the number that a finite `Double` is written as in the fewest digits; nil for infinity and NaN.
    public init?(finite value: Double) {
        guard value.isFinite else { return nil }
        text = value.jsonText
    }

    /// The nearest `Double`; infinite when the number is too large.
    public var double: Double {
        var text = text
        return text.withUTF8 { DecimalParser.double($0) }
    }

    /// The integer that the number is; nil when it has a fraction or does not fit.
    public func integer<T: FixedWidthInteger>(as type: T.Type = T.self) -> T? {
        var text = text
        return text.withUTF8 { bytes in
            IntegerParser.integer(
                bytes,
                isDecimal: bytes.contains { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") },
                as: type
            )
        }
    }

    /// The value without the way of writing it: sign, digits without zeros at either end, and the power of ten of the last.
    private struct Canonical: Hashable {
        var isNegative = false
        var digits: [UInt8] = []
        var exponent = 0
    }

    private var canonical: Canonical {
        var canonical = Canonical(isNegative: text.utf8.first == UInt8(ascii: "-"))
        let mantissa = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        // An exponent beyond 64 bits belongs to no number that can be told from others of its kind.
        let written = text.utf8[mantissa.endIndex...].dropFirst()
        let isSmall = written.first == UInt8(ascii: "-")
        var exponent = written.isEmpty ? 0 : Int(Substring(written)) ?? (isSmall ? .min / 2 : .max / 2)
        exponent = min(max(exponent, .min / 2), .max / 2)
        var isFraction = false
        for byte in mantissa where byte != UInt8(ascii: "-") {
            guard byte != UInt8(ascii: ".") else {
                isFraction = true
                continue
            }
            if isFraction { exponent -= 1 }
            if byte != UInt8(ascii: "0") || !canonical.digits.isEmpty { canonical.digits.append(byte) }
        }
        while canonical.digits.last == UInt8(ascii: "0") {
            canonical.digits.removeLast()
            exponent += 1
        }
        // −0 and 0 are equal, as they are among floating-point numbers.
        guard !canonical.digits.isEmpty else { return Canonical() }
        canonical.exponent = exponent
        return canonical
    }
}

extension JSONNumber: Hashable {
    /// Whether two numbers have the same value.
    public static func == (lhs: JSONNumber, rhs: JSONNumber) -> Bool {
        lhs.text == rhs.text || lhs.canonical == rhs.canonical
    }

    /// Hashes the value.
    public func hash(into hasher: inout Hasher) { hasher.combine(canonical) }
}

extension JSONNumber: CustomStringConvertible {
    /// The number as JSON writes it.
    public var description: String { text }
}

extension JSONNumber: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    /// Makes the number of a literal, which is rounded to a `Double`.
    public init(floatLiteral value: Double) {
        precondition(value.isFinite, "The literal is beyond the range of Double")
        text = value.jsonText
    }

    /// Makes the number of a literal.
    public init(integerLiteral value: Int64) { text = String(value) }
}

extension BinaryFloatingPoint where Self: LosslessStringConvertible {
    /// A finite number in the fewest digits that mean it, without a fraction of zero.
    var jsonText: String {
        let text = description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
