/// Parses the text of a number to an integer.
enum IntegerParser {
    /// The integer value of a number; nil when it has a fraction or does not fit.
    ///
    /// A text with a point or an exponent may also be an integer: `34.0`, `1e3`.
    static func integer<T: FixedWidthInteger>(
        _ bytes: UnsafeBufferPointer<UInt8>,
        isDecimal: Bool,
        as type: T.Type
    ) -> T? {
        // A `Double` may be the rounding of a different number, also below 2⁵³: 1.00000000000000000001.
        isDecimal ? scaled(bytes, as: type) : digits(bytes, as: type)
    }

    private static func digits<T: FixedWidthInteger>(_ bytes: UnsafeBufferPointer<UInt8>, as type: T.Type) -> T? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        var value: T = 0
        for byte in bytes.dropFirst(isNegative ? 1 : 0) {
            guard append(byte, to: &value, isNegative: isNegative) else { return nil }
        }
        return value
    }

    @inline(__always)
    private static func append<T: FixedWidthInteger>(_ byte: UInt8, to value: inout T, isNegative: Bool) -> Bool {
        let (product, overflow) = value.multipliedReportingOverflow(by: 10)
        let digit = T(truncatingIfNeeded: byte &- 0x30)
        let (sum, carry) =
            isNegative ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
        value = sum
        return !overflow && !carry
    }

    /// The integer value of a number with a point or an exponent, without rounding.
    private static func scaled<T: FixedWidthInteger>(_ bytes: UnsafeBufferPointer<UInt8>, as type: T.Type) -> T? {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let text = bytes.dropFirst(isNegative ? 1 : 0)
        let mantissa = text.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        // Zero is an integer with every exponent.
        guard mantissa.contains(where: { (0x31...0x39).contains($0) }) else { return 0 }
        let written = text[mantissa.endIndex...].dropFirst()
        // With an exponent beyond 64 bits the number is too large or has a fraction.
        guard let exponent = written.isEmpty ? 0 : Int(String(decoding: written, as: UTF8.self)) else { return nil }
        let whole = mantissa.prefix { $0 != UInt8(ascii: ".") }
        let places = exponent.addingReportingOverflow(whole.count)
        guard !places.overflow else { return nil }
        var value: T = 0
        var place = 0
        for byte in mantissa where byte != UInt8(ascii: ".") {
            if place < places.partialValue {
                guard append(byte, to: &value, isNegative: isNegative) else { return nil }
            } else if byte != UInt8(ascii: "0") {
                return nil
            }
            place += 1
        }
        while place < places.partialValue {
            guard append(0x30, to: &value, isNegative: isNegative) else { return nil }
            place += 1
        }
        return value
    }
}
