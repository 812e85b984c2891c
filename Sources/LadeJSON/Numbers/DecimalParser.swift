/// Parses the text of a number to the nearest `Double`.
///
/// Common numbers take one multiplication or division (Clinger), and nearly all others the algorithm of Eisel and
/// Lemire. The standard library parses the rest. The scanner has already validated the text.
enum DecimalParser {
    /// The digits of a number and its power of ten.
    struct Parts {
        /// The first 19 significant digits.
        var mantissa: UInt64 = 0
        /// The power of ten to multiply the mantissa with.
        var exponent = 0
        var isNegative = false
        /// Whether there are significant digits beyond the digits of the mantissa.
        var isTruncated = false
    }

    @inline(__always)
    static func parts(_ bytes: UnsafeBufferPointer<UInt8>) -> Parts {
        var parts = Parts()
        guard var position = bytes.baseAddress else { return parts }
        let end = position + bytes.count
        if position.pointee == UInt8(ascii: "-") {
            parts.isNegative = true
            position += 1
        }
        // Up to 19 digits cannot overflow; longer numbers are parsed again below.
        let first = position
        var mantissa: UInt64 = 0
        while position < end, Bytes.isDigit(position.pointee) {
            mantissa = mantissa &* 10 &+ UInt64(position.pointee &- 0x30)
            position += 1
        }
        var digits = position - first
        var exponent = 0
        if position < end, position.pointee == UInt8(ascii: ".") {
            position += 1
            let fraction = position
            while end - position >= 8 {
                let word = Bytes.word(position)
                guard Bytes.areDigits(word) else { break }
                mantissa = mantissa &* 100_000_000 &+ Bytes.number(digits: word)
                position += 8
            }
            while position < end, Bytes.isDigit(position.pointee) {
                mantissa = mantissa &* 10 &+ UInt64(position.pointee &- 0x30)
                position += 1
            }
            exponent = fraction - position
            digits -= exponent
        }
        let endOfDigits = position
        var written = 0
        if position < end {
            position += 1
            let isNegative = position.pointee == UInt8(ascii: "-")
            if isNegative || position.pointee == UInt8(ascii: "+") { position += 1 }
            while position < end {
                // Beyond this exponent a number is zero or infinite, unless it has as many digits.
                if written < 1_000_000_000_000 { written = written &* 10 &+ Int(position.pointee &- 0x30) }
                position += 1
            }
            if isNegative { written = -written }
        }
        if digits > 19 {
            (mantissa, exponent, parts.isTruncated) = longMantissa(first, endOfDigits)
        }
        parts.mantissa = mantissa
        parts.exponent = exponent &+ written
        return parts
    }

    /// The first 19 significant digits of a long number, its exponent, and whether a nonzero digit follows.
    @inline(never)
    private static func longMantissa(
        _ first: UnsafePointer<UInt8>,
        _ end: UnsafePointer<UInt8>
    ) -> (UInt64, Int, Bool) {
        var mantissa: UInt64 = 0
        var significant = 0
        var exponent = 0
        var isTruncated = false
        var isFraction = false
        var position = first
        while position < end {
            let byte = position.pointee
            position += 1
            guard byte != UInt8(ascii: ".") else {
                isFraction = true
                continue
            }
            if significant < 19 {
                mantissa = mantissa &* 10 &+ UInt64(byte &- 0x30)
                if mantissa != 0 { significant += 1 }
                if isFraction { exponent -= 1 }
            } else {
                if byte != UInt8(ascii: "0") { isTruncated = true }
                if !isFraction { exponent += 1 }
            }
        }
        return (mantissa, exponent, isTruncated)
    }

    /// The nearest `Double`; infinite for a number that is too large, zero for one that is too small.
    static func double(_ bytes: UnsafeBufferPointer<UInt8>) -> Double {
        let parts = parts(bytes)
        if let magnitude = magnitude(parts) { return parts.isNegative ? -magnitude : magnitude }
        return Double(String(decoding: bytes, as: UTF8.self)) ?? .nan
    }

    private static let exactPowers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]

    @inline(__always)
    private static func magnitude(_ parts: Parts) -> Double? {
        let mantissa = parts.mantissa
        if mantissa == 0 { return 0 }
        if !parts.isTruncated, mantissa <= 1 << 53, parts.exponent >= -22, parts.exponent <= 22 {
            let power = exactPowers[abs(parts.exponent)]
            return parts.exponent < 0 ? Double(mantissa) / power : Double(mantissa) * power
        }
        guard let value = approximate(mantissa, parts.exponent) else { return nil }
        // The exact value lies between these two. If both round to the same `Double`, the omitted digits do not matter.
        if parts.isTruncated, approximate(mantissa &+ 1, parts.exponent) != value { return nil }
        return value
    }

    /// The algorithm of Eisel and Lemire; nil when it cannot decide.
    private static func approximate(_ mantissa: UInt64, _ exponent: Int) -> Double? {
        guard exponent >= PowersOfFive.lowest else { return 0 }
        guard exponent <= PowersOfFive.highest else { return .infinity }
        let leading = mantissa.leadingZeroBitCount
        let normal = mantissa << UInt64(leading)
        let (power, powerLow) = PowersOfFive.words.withUnsafeBufferPointer { words in
            let place = 2 * (exponent - PowersOfFive.lowest)
            return (words[place], words[place + 1])
        }
        var (high, low) = normal.multipliedFullWidth(by: power)
        // There are nine bits beyond the required 55; only if all of them are ones can the lower half of the power
        // matter.
        if high & 0x1FF == 0x1FF {
            let (more, _) = normal.multipliedFullWidth(by: powerLow)
            let (sum, carry) = low.addingReportingOverflow(more)
            low = sum
            if carry { high &+= 1 }
        }
        if low == .max, exponent < -27 || exponent > 55 { return nil }
        let upperBit = high >> 63
        var significand = high >> (upperBit &+ 9)
        // 217706/2^16 approximates log2(10) closely enough for all these exponents.
        var binary = ((217_706 &* exponent) >> 16) &+ 63 &+ Int(upperBit) &- leading &+ 1023
        if binary <= 0 {
            guard 1 &- binary < 64 else { return 0 }
            // The result is a subnormal number.
            significand >>= UInt64(1 &- binary)
            significand &+= significand & 1
            significand >>= 1
            return Double(bitPattern: significand)
        }
        if low <= 1, exponent >= -4, exponent <= 23, significand & 3 == 1 {
            // A value exactly between two is rounded to the even one.
            if significand << (upperBit &+ 9) == high { significand &= ~1 }
        }
        significand &+= significand & 1
        significand >>= 1
        if significand >= 1 << 53 {
            significand = 1 << 52
            binary &+= 1
        }
        guard binary < 0x7FF else { return .infinity }
        return Double(bitPattern: (significand & ~(1 << 52)) | UInt64(binary) << 52)
    }
}
