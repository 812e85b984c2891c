extension JSONValue {
    /// A number with its exact text, for numbers that no 64-bit integer can hold.
    ///
    /// Numbers are equal when they have the same value, even if written differently: `1.50` and `15e-1`. Converting to a
    /// `Double` may round; the text never changes.
    ///
    /// ```swift
    /// let value = try JSONValue(parsing: Data("3.14159265358979323846".utf8))
    /// if case .number(let number) = value { print(number.text) }   // 3.14159265358979323846
    /// ```
    public struct Number: Sendable {
        /// The number in JSON's form.
        public let text: String

        /// Makes a number from a text; nil when the text is not a JSON number (RFC 8259 §6).
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
                do throws(JSONError) {
                    return try scanner.scan(start + 1, piece) == nil && scanner.isComplete
                } catch {
                    // The kind of fault does not matter here.
                    return false
                }
            }
            guard isWhole else { return nil }
            self.text = text
        }

        /// Makes a number from a text that a scanner has validated.
        init(scanned text: String) { self.text = text }

        /// Makes a number from a finite `Double`, with the fewest digits; nil for infinity and NaN.
        public init?(finite value: Double) {
            guard value.isFinite else { return nil }
            text = value.jsonText
        }

        /// The nearest `Double`; infinite when the number is too large.
        public var double: Double {
            var text = text
            return text.withUTF8 { DecimalParser.double($0) }
        }

        /// The integer value; nil when the number has a fraction or does not fit.
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

        /// The value independent of its notation: sign, digits without zeros at either end, and the power of ten of the
        /// last digit.
        private struct Canonical: Hashable {
            var isNegative = false
            var digits: [UInt8] = []
            var exponent = 0
        }

        private var canonical: Canonical {
            var canonical = Canonical(isNegative: text.utf8.first == UInt8(ascii: "-"))
            let mantissa = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
            // An exponent beyond 64 bits is clamped; such numbers are not distinguished by it.
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
            // −0 and 0 are equal, as for floating-point numbers.
            guard !canonical.digits.isEmpty else { return Canonical() }
            canonical.exponent = exponent
            return canonical
        }
    }
}

extension JSONValue.Number: Hashable {
    /// Whether two numbers have the same value.
    public static func == (lhs: JSONValue.Number, rhs: JSONValue.Number) -> Bool {
        lhs.text == rhs.text || lhs.canonical == rhs.canonical
    }

    /// Hashes the value.
    public func hash(into hasher: inout Hasher) { hasher.combine(canonical) }
}

extension JSONValue.Number: CustomStringConvertible {
    /// The number in JSON's form.
    public var description: String { text }
}

extension JSONValue.Number: ExpressibleByFloatLiteral, ExpressibleByIntegerLiteral {
    /// Makes a number from a literal, which is rounded to a `Double`.
    public init(floatLiteral value: Double) {
        precondition(value.isFinite, "The literal is beyond the range of Double")
        text = value.jsonText
    }

    /// Makes a number from a literal.
    public init(integerLiteral value: Int64) { text = String(value) }
}

extension BinaryFloatingPoint where Self: LosslessStringConvertible {
    /// A finite number with the fewest digits that identify it, without a fraction of zero.
    var jsonText: String {
        let text = description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
