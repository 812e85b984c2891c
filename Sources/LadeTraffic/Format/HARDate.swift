#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// Dates of recordings: `2026-11-29T07:30:00.123Z`, read with any offset and number of digits (RFC 3339).
enum HARDate {
    /// The date with milliseconds, in UTC.
    static func text(_ date: Date) -> String {
        var bytes: [UInt8] = []
        append(date, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Appends the date with milliseconds, in UTC.
    static func append(_ date: Date, to bytes: inout [UInt8]) {
        let milliseconds = Int64((date.timeIntervalSince1970 * 1_000).rounded())
        let seconds = milliseconds >= 0 ? milliseconds / 1_000 : (milliseconds - 999) / 1_000
        let days = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let second = seconds - days * 86_400
        // Days are counted from 0000-03-01, so that the leap day is the last of its year.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        func add(_ mark: Unicode.Scalar, _ number: Int64, width: Int = 2) {
            bytes.append(UInt8(ascii: mark))
            bytes.append(decimal: number, width: width)
        }
        bytes.append(decimal: year, width: 4)
        add("-", month)
        add("-", day)
        add("T", second / 3_600)
        add(":", second / 60 % 60)
        add(":", second % 60)
        add(".", milliseconds - seconds * 1_000, width: 3)
        bytes.append(UInt8(ascii: "Z"))
    }

    /// The date of a text; nil for what is no whole date.
    static func date(_ text: String) -> Date? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[10] == 0x54 || bytes[10] == 0x74,
            bytes[13] == 0x3A, bytes[16] == 0x3A, let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]), let minute = number(bytes[14..<16]),
            let second = number(bytes[17..<19])
        else { return nil }
        let time = CivilTime(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        guard time.isValid else { return nil }
        var rest = bytes[19...]
        var fraction = 0.0
        if rest.first == UInt8(ascii: ".") {
            let digits = rest.dropFirst().prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty else { return nil }
            var unit = 0.1
            for digit in digits.prefix(9) {
                fraction += Double(digit - 0x30) * unit
                unit /= 10
            }
            rest = rest[digits.endIndex...]
        }
        guard let offset = offset(Array(rest)) else { return nil }
        return Date(timeIntervalSince1970: Double(time.secondsSince1970 - offset) + fraction)
    }

    /// The seconds of `Z`, `+02:00` or `+0200`.
    private static func offset(_ bytes: [UInt8]) -> Int64? {
        if bytes == [0x5A] || bytes == [0x7A] { return 0 }
        let digits = bytes.dropFirst().filter { $0 != 0x3A }
        guard bytes.count == 5 || bytes.count == 6 && bytes[3] == 0x3A, bytes[0] == 0x2B || bytes[0] == 0x2D,
            let hours = number(digits[0..<2]), let minutes = number(digits[2...]), hours < 24, minutes < 60
        else { return nil }
        return (hours * 3_600 + minutes * 60) * (bytes[0] == 0x2D ? -1 : 1)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int64? {
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }), !digits.isEmpty else { return nil }
        return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
}

extension [UInt8] {
    /// Appends a number in decimal, with zeros in front up to a width.
    mutating func append(decimal number: Int64, width: Int = 1) {
        if number < 0 { append(UInt8(ascii: "-")) }
        var (unit, digits) = (UInt64(1), 1)
        while number.magnitude / unit >= 10 { (unit, digits) = (unit * 10, digits + 1) }
        for _ in digits..<Swift.max(width, digits) { append(UInt8(ascii: "0")) }
        while unit > 0 {
            append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number.magnitude / unit % 10))
            unit /= 10
        }
    }

    /// Appends a duration in milliseconds, as JSON: `12.345`.
    mutating func append(milliseconds duration: Duration) {
        let microseconds = duration.microseconds
        if microseconds < 0 { append(UInt8(ascii: "-")) }
        append(decimal: Int64(clamping: microseconds.magnitude / 1_000))
        let rest = Int64(clamping: microseconds.magnitude % 1_000)
        guard rest > 0 else { return }
        append(UInt8(ascii: "."))
        append(decimal: rest, width: 3)
    }
}

extension Duration {
    /// The duration in whole microseconds.
    var microseconds: Int64 { wholeNanoseconds / 1_000 }

    /// The duration in milliseconds, as JSON: `12.345`.
    var millisecondsText: String {
        var bytes: [UInt8] = []
        bytes.append(milliseconds: self)
        return String(decoding: bytes, as: UTF8.self)
    }
}
