#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// The lenient date of a cookie's `Expires` (RFC 6265bis §5.1.1).
///
/// A text is a date if it has a time of day, a day, a month and a year. They may be in any order, with any separators,
/// and other words are ignored. Examples: `Wed, 09 Jun 2021 10:18:14 GMT`, `9-jun-21 10:18:14`, `10:18:14 2021 june
/// 9th`.
package enum CookieDate {
    /// Reads a date; nil when a part is missing or impossible.
    package static func date(_ text: String) -> Date? {
        var parts = Parts()
        for token in text.utf8.split(whereSeparator: isDelimiter) { parts.take(Array(token)) }
        return parts.date
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
        default: false
        }
    }

    private struct Parts {
        var time: (hour: Int64, minute: Int64, second: Int64)?
        var day: Int64?
        var month: Int64?
        var year: Int64?

        /// Each token is taken as the first of these parts that it can be and that is still missing.
        mutating func take(_ token: [UInt8]) {
            if time == nil, let found = Self.time(token) {
                time = found
            } else if day == nil, let found = Self.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = Self.month(token) {
                month = found
            } else if year == nil, let found = Self.number(token, digits: 2...4) {
                year = found < 70 ? found + 2000 : found < 100 ? found + 1900 : found
            }
        }

        var date: Date? {
            guard let time, let day, let month, let year, year >= 1601, time.second < 60 else { return nil }
            let civil = CivilTime(
                year: year,
                month: month,
                day: day,
                hour: time.hour,
                minute: time.minute,
                second: time.second
            )
            return civil.isValid ? Date(timeIntervalSince1970: Double(civil.secondsSince1970)) : nil
        }

        /// `1*2DIGIT ":" 1*2DIGIT ":" 1*2DIGIT`, then anything except a digit.
        private static func time(_ token: [UInt8]) -> (Int64, Int64, Int64)? {
            let fields = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard fields.count == 3,
                fields[0].allSatisfy(\.isDigit), fields[1].allSatisfy(\.isDigit),
                let hour = number(Array(fields[0]), digits: 1...2),
                let minute = number(Array(fields[1]), digits: 1...2),
                let second = number(Array(fields[2]), digits: 1...2)
            else { return nil }
            return (hour, minute, second)
        }

        /// The number at the start of a token, if its number of digits is within the given range.
        private static func number(_ token: [UInt8], digits: ClosedRange<Int>) -> Int64? {
            let start = token.prefix(while: \.isDigit)
            guard digits.contains(start.count) else { return nil }
            return start.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
        }

        private static func month(_ token: [UInt8]) -> Int64? {
            let name = String(decoding: token.prefix(3).map(\.lowercasedASCII), as: UTF8.self)
            let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
            return months.firstIndex(of: name).map { Int64($0) + 1 }
        }
    }
}
