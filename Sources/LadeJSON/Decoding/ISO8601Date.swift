#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads and writes the most common form of dates: `2023-04-02T19:30:00Z` and `2023-04-02T19:30:00+02:00` (RFC 3339).
enum ISO8601Date {
    /// The date; nil for any other form, which Foundation then parses.
    @inline(__always)
    static func parse(_ bytes: UnsafeBufferPointer<UInt8>) -> Date? {
        guard let text = bytes.baseAddress, bytes.count == 20 || bytes.count == 25 else { return nil }
        guard text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"), text[10] == UInt8(ascii: "T"),
            text[13] == UInt8(ascii: ":"), text[16] == UInt8(ascii: ":")
        else { return nil }
        guard let century = pair(text), let years = pair(text + 2), let month = pair(text + 5),
            let day = pair(text + 8),
            let hour = pair(text + 11), let minute = pair(text + 14), let second = pair(text + 17)
        else { return nil }
        let year = century * 100 + years
        // Foundation handles dates before the Gregorian calendar of 1582, leap seconds, and days that do not exist.
        guard year >= 1583, month >= 1, month <= 12, day >= 1, day <= 28 || day <= days(month, year) else { return nil }
        guard hour < 24, minute < 60, second < 60 else { return nil }
        var offset = 0
        if bytes.count == 20 {
            guard text[19] == UInt8(ascii: "Z") else { return nil }
        } else {
            guard text[19] == UInt8(ascii: "+") || text[19] == UInt8(ascii: "-"), text[22] == UInt8(ascii: ":"),
                let hours = pair(text + 20), let minutes = pair(text + 23), hours < 15, minutes < 60
            else { return nil }
            offset = (hours * 60 + minutes) * 60
            if text[19] == UInt8(ascii: "-") { offset = -offset }
        }
        let seconds = ((daysSince1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second - offset
        return Date(timeIntervalSince1970: Double(seconds))
    }

    @inline(__always)
    private static func pair(_ text: UnsafePointer<UInt8>) -> Int? {
        let tens = text[0] &- 0x30
        let ones = text[1] &- 0x30
        guard tens <= 9, ones <= 9 else { return nil }
        return Int(tens) &* 10 &+ Int(ones)
    }

    private static func days(_ month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days in the Gregorian calendar; a year begins in March, so that the leap day is its last.
    @inline(__always)
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
    }

    /// Writes a date with its quotation marks; false for years that Foundation must write.
    static func write(_ date: Date, to output: inout EncodedOutput) -> Bool {
        let time = date.timeIntervalSince1970.rounded(.down)
        // The years from 1583 to 9999.
        guard time >= -12_212_553_600, time < 253_402_300_800 else { return false }
        let seconds = Int(time)
        let day = seconds >= 0 ? seconds / 86_400 : (seconds - 86_399) / 86_400
        let ofDay = seconds - day * 86_400
        // A year begins in March, so that the leap day is its last; an era has 400 years.
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let isNextYear = month >= 10
        let year = era * 400 + yearOfEra + (isNextYear ? 1 : 0)
        output.reserve(22)
        output.write(UInt8(ascii: "\""))
        write(year / 100, "", &output)
        write(year % 100, "-", &output)
        write(isNextYear ? month - 9 : month + 3, "-", &output)
        write(dayOfYear - (153 * month + 2) / 5 + 1, "T", &output)
        write(ofDay / 3600, ":", &output)
        write(ofDay / 60 % 60, ":", &output)
        write(ofDay % 60, "Z\"", &output)
        return true
    }

    private static func write(_ pair: Int, _ separator: StaticString, _ output: inout EncodedOutput) {
        output.write(UInt8(truncatingIfNeeded: pair / 10) | 0x30)
        output.write(UInt8(truncatingIfNeeded: pair % 10) | 0x30)
        output.write(separator)
    }
}
