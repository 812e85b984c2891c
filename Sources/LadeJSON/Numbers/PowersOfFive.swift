/// The upper 128 bits of the powers of five from −342 to 308, for ``DecimalParser``.
///
/// Positive powers are truncated. Negative powers are reciprocals, also truncated. Those whose power fits into 64 bits
/// are rounded up, which makes their products exact. The source is Lemire, “Number parsing at a gigabyte per second”,
/// §5 and §7.
enum PowersOfFive {
    static let lowest = -342
    static let highest = 308

    /// The two words of each power, upper word first.
    static let words: [UInt64] = {
        let count = highest - lowest + 1
        var table = [UInt64](repeating: 0, count: 2 * count)
        // 5^308 has 716 bits.
        var power = [UInt64](repeating: 0, count: 12)
        power[0] = 1
        for exponent in 0...highest {
            let (upper, lower) = top(power)
            table[2 * (exponent - lowest)] = upper
            table[2 * (exponent - lowest) + 1] = lower
            multiply(&power)
        }
        // 2^1023 / 5^342 has 228 bits left: enough for 128, with the remainders of all divisions in the words below.
        var reciprocal = [UInt64](repeating: 0, count: 16)
        reciprocal[15] = 1 << 63
        for exponent in 1...(-lowest) {
            divide(&reciprocal)
            var (upper, lower) = top(reciprocal)
            if exponent <= 27 {
                let (sum, carry) = lower.addingReportingOverflow(1)
                lower = sum
                if carry { upper += 1 }
            }
            table[2 * (-exponent - lowest)] = upper
            table[2 * (-exponent - lowest) + 1] = lower
        }
        return table
    }()

    private static func multiply(_ number: inout [UInt64]) {
        var carry: UInt64 = 0
        for place in number.indices {
            let (high, low) = number[place].multipliedFullWidth(by: 5)
            let (sum, overflow) = low.addingReportingOverflow(carry)
            number[place] = sum
            carry = high + (overflow ? 1 : 0)
        }
    }

    private static func divide(_ number: inout [UInt64]) {
        var remainder: UInt64 = 0
        for place in number.indices.reversed() {
            (number[place], remainder) = UInt64(5).dividingFullWidth((remainder, number[place]))
        }
    }

    /// The upper 128 bits of a number, shifted so that the highest bit is set.
    private static func top(_ number: [UInt64]) -> (UInt64, UInt64) {
        guard let place = number.lastIndex(where: { $0 != 0 }) else { return (0, 0) }
        let shift = UInt64(number[place].leadingZeroBitCount)
        let middle = place > 0 ? number[place - 1] : 0
        let low = place > 1 ? number[place - 2] : 0
        guard shift > 0 else { return (number[place], middle) }
        return (number[place] << shift | middle >> (64 - shift), middle << shift | low >> (64 - shift))
    }
}
