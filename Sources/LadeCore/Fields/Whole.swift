#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// Reads numbers, durations and dates whole: the one place where text of a server or a user becomes a quantity.
///
/// A text that is not understood to its last byte gives nil, never the number it begins with.
///
/// | function | reads | reads not |
/// | --- | --- | --- |
/// | ``count(_:)`` | `0`, `1000` | `1,000`, `+5`, `5x`, `0x10` |
/// | ``decimal(_:)`` | `5`, `1.5`, `.5` | `1e3`, `inf`, `-1` |
/// | ``duration(_:)`` | `90`, `1.5`, `5m0s`, `1h30m`, `250ms` | `5x`, `5m0`, `1m1h` |
/// | ``date(_:now:)`` | HTTP dates, `2026-01-01T00:00:05Z`, `2026-01-01`, seconds or milliseconds since 1970 | `2026`, `tomorrow` |
///
/// White space at both ends does not count. `Retry-After`, whose grammar is narrower, is read by ``Headers/RetryAfter``; the dates
/// of cookies, whose grammar is wider (RFC 6265bis §5.1.1), by ``CookieDate``.
package enum Whole {
    /// A number of digits; more than fits counts as the greatest number.
    package static func count(_ text: some StringProtocol) -> Int64? {
        let digits = trimmed(text.utf8)
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
        return digits.reduce(0) { sum, digit in
            let (product, isTooLarge) = sum.multipliedReportingOverflow(by: 10)
            let (result, isAbove) = product.addingReportingOverflow(Int64(digit - 0x30))
            return isTooLarge || isAbove ? .max : result
        }
    }

    /// A number of digits with at most one decimal point; no sign and no exponent.
    package static func decimal(_ text: some StringProtocol) -> Double? {
        decimal(bytes: trimmed(text.utf8))
    }

    /// A duration: seconds, or numbers with the units `d`, `h`, `m`, `s`, `ms`, `us` or `µs`, and `ns`, each at most once
    /// and the longest first.
    package static func duration(_ text: some StringProtocol) -> Duration? {
        var rest = trimmed(text.utf8)[...]
        if let seconds = decimal(bytes: Array(rest)) { return duration(seconds: seconds) }
        guard !rest.isEmpty else { return nil }
        var seconds = 0.0
        var last = Double.infinity
        while !rest.isEmpty {
            let number = rest.prefix { $0.isDigit || $0 == UInt8(ascii: ".") }
            let unit = rest[number.endIndex...].prefix { !$0.isDigit && $0 != UInt8(ascii: ".") }
            guard let value = decimal(bytes: Array(number)), let length = units[Array(unit)], length < last else {
                return nil
            }
            seconds += value * length
            last = length
            rest = rest[unit.endIndex...]
        }
        return duration(seconds: seconds)
    }

    /// A date: of HTTP in any of its forms, of ISO 8601 with its zone, or a number of seconds or milliseconds since 1970.
    ///
    /// Since September 2001 the seconds have ten digits, and the milliseconds thirteen. A smaller number is no date.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - now: The reference for two-digit years; see ``Headers/HTTPDate/init(_:now:)``.
    /// - Returns: The date; nil for anything else.
    package static func date(_ text: some StringProtocol, now: Date) -> Date? {
        if let number = decimal(text) {
            guard number >= 1e9, number < 1e15 else { return nil }
            return Date(timeIntervalSince1970: number >= 1e12 ? number / 1000 : number)
        }
        if let date = isoDate(trimmed(text.utf8)) { return date }
        return (try? Headers.HTTPDate(text, now: now))?.date
    }

    // MARK: - Parts

    private static let units: [[UInt8]: Double] = [
        Array("d".utf8): 86_400, Array("h".utf8): 3_600, Array("m".utf8): 60, Array("s".utf8): 1,
        Array("ms".utf8): 1e-3, Array("us".utf8): 1e-6, Array("\u{B5}s".utf8): 1e-6,
        Array("\u{3BC}s".utf8): 1e-6, Array("ns".utf8): 1e-9,
    ]

    private static func trimmed(_ bytes: some Collection<UInt8>) -> [UInt8] {
        let start = bytes.drop(while: \.isFieldWhitespace)
        return Array(start.reversed().drop(while: \.isFieldWhitespace).reversed())
    }

    private static func decimal(bytes: [UInt8]) -> Double? {
        let points = bytes.count { $0 == UInt8(ascii: ".") }
        guard bytes.contains(where: \.isDigit), points <= 1,
            bytes.allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") })
        else { return nil }
        return Double(String(decoding: bytes, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
    }

    /// At most 2³¹ seconds (68 years), as for every number of seconds of HTTP.
    private static func duration(seconds: Double) -> Duration {
        .seconds(min(seconds, Double(FieldCursor.deltaSecondsLimit)))
    }

    /// `2026-01-01`, or `2026-01-01T00:00:05.5Z` with a zone (RFC 3339 §5.6).
    private static func isoDate(_ bytes: [UInt8]) -> Date? {
        var cursor = FieldCursor(bytes, field: "date")
        guard let year = cursor.number(digits: 4...4), cursor.take("-"),
            let month = cursor.number(digits: 2...2), cursor.take("-"),
            let day = cursor.number(digits: 2...2)
        else { return nil }
        var time = CivilTime(year: year, month: month, day: day)
        var (fraction, offset) = (0.0, Int64(0))
        if !cursor.isAtEnd {
            guard let mark = cursor.take(), mark == UInt8(ascii: "T") || mark == UInt8(ascii: "t") || mark == 0x20,
                let hour = cursor.number(digits: 2...2), cursor.take(":"),
                let minute = cursor.number(digits: 2...2), cursor.take(":"),
                let second = cursor.number(digits: 2...2)
            else { return nil }
            (time.hour, time.minute, time.second) = (hour, minute, second)
            if cursor.take(".") {
                let digits = cursor.take(while: \.isDigit)
                guard !digits.isEmpty, let value = decimal(bytes: [UInt8(ascii: ".")] + bytes[digits]) else {
                    return nil
                }
                fraction = value
            }
            guard let zone = zone(&cursor), cursor.isAtEnd else { return nil }
            offset = zone
        }
        guard time.isValid else { return nil }
        return Date(timeIntervalSince1970: Double(time.secondsSince1970 - offset) + fraction)
    }

    /// `Z`, `+01:00` or `-0100`, in seconds east of Greenwich.
    private static func zone(_ cursor: inout FieldCursor) -> Int64? {
        guard let sign = cursor.take() else { return nil }
        if sign == UInt8(ascii: "Z") || sign == UInt8(ascii: "z") { return 0 }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), let hours = cursor.number(digits: 2...2) else {
            return nil
        }
        _ = cursor.take(":")
        guard let minutes = cursor.number(digits: 2...2), hours < 24, minutes < 60 else { return nil }
        return (sign == UInt8(ascii: "-") ? -1 : 1) * (hours * 3_600 + minutes * 60)
    }
}
