#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A condition on the date of the resource, as `--time-cond` writes it.
struct TimeCondition: Equatable, Sendable {
    var date: Headers.HTTPDate
    /// Whether the resource must be older instead of newer.
    var isReversed: Bool

    /// Parses a date or the name of a file, behind a dash for the reverse.
    ///
    /// - Throws: A usage error for a text that is neither.
    init(_ argument: String) throws(CommandError) {
        isReversed = argument.utf8.first == UInt8(ascii: "-")
        let text = isReversed ? String(decoding: argument.utf8.dropFirst(), as: UTF8.self) : argument
        if let date = Self.date(text) {
            self.date = Headers.HTTPDate(date)
            return
        }
        var status = stat()
        guard stat(text, &status) == 0 else {
            throw .usage(
                "--time-cond: “\(text.asArgument)” is neither a date nor a file",
                advice: "Write it as 'Sun, 06 Nov 1994 08:49:37 GMT' or 1994-11-06."
            )
        }
        #if canImport(Darwin)
            let seconds = status.st_mtimespec.tv_sec
        #else
            let seconds = status.st_mtim.tv_sec
        #endif
        date = Headers.HTTPDate(Date(timeIntervalSince1970: Double(seconds)))
    }

    /// The field that states the condition.
    var field: HeaderEdit { .set(isReversed ? "If-Unmodified-Since" : "If-Modified-Since", date.description) }

    /// Whether the server should have withheld a response; a server that ignores the condition sends it.
    func withholds(_ response: Response, now: Date) -> Bool {
        guard response.status == 200, let text = response.headers.value(.lastModified),
            let modified = try? Headers.HTTPDate(text, now: now)
        else { return false }
        return isReversed ? modified > date : modified <= date
    }

    private static func date(_ text: String) -> Date? {
        // The reference matters to two-digit years alone.
        if let date = try? Headers.HTTPDate(text, now: Date()) { return date.date }
        let digits = Array(text.utf8)
        if digits.count == 10, digits[4] == 0x2D, digits[7] == 0x2D {
            return LooseDate(digits.filter { $0 != UInt8(ascii: "-") })?.date
        }
        return LooseDate(digits)?.date
    }
}

/// A date as curl reads it.
///
/// Its parts stand in any order: a day, a month by its name, a year, a time of day and a zone. Eight digits are a date, too.
private struct LooseDate {
    private var day: Int64?
    private var month: Int64?
    private var year: Int64?
    private var time: (hour: Int64, minute: Int64, second: Int64)?
    /// Minutes east of Greenwich.
    private var zone: Int64?

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    private static let fullMonths = [
        "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
        "december",
    ]
    private static let weekdays = [
        "mon", "tue", "wed", "thu", "fri", "sat", "sun", "monday", "tuesday", "wednesday", "thursday", "friday",
        "saturday", "sunday",
    ]
    /// Hours east of Greenwich.
    private static let zones: [String: Int64] = [
        "gmt": 0, "utc": 0, "ut": 0, "z": 0, "wet": 0, "bst": 1, "west": 1, "cet": 1, "met": 1, "mez": 1, "cest": 2,
        "mest": 2, "mesz": 2, "eet": 2, "eest": 3, "jst": 9, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7,
        "mdt": -6, "pst": -8, "pdt": -7,
    ]

    init?(_ text: [UInt8]) {
        var rest = text[...]
        var previous: UInt8?
        while let byte = rest.first {
            if byte.isLetter {
                let word = rest.prefix(while: \.isLetter)
                guard take(name: String(decoding: word, as: UTF8.self).lowercased()) else { return nil }
                rest = rest.dropFirst(word.count)
            } else if byte.isDigit {
                let piece = rest.prefix { $0.isDigit || $0 == UInt8(ascii: ":") }
                guard piece.contains(UInt8(ascii: ":")) ? take(time: piece) : take(number: piece, after: previous)
                else {
                    return nil
                }
                rest = rest.dropFirst(piece.count)
            } else {
                guard " ,-+\t".utf8.contains(byte) else { return nil }
                rest.removeFirst()
            }
            previous = byte
        }
        guard day != nil, month != nil, year != nil else { return nil }
    }

    /// The moment; nil for a day that the month does not have.
    var date: Date? {
        guard let day, let month, let year, year > 1582 else { return nil }
        let civil = CivilTime(
            year: year,
            month: month,
            day: day,
            hour: time?.hour ?? 0,
            minute: time?.minute ?? 0,
            second: time?.second ?? 0
        )
        guard civil.isValid else { return nil }
        return Date(timeIntervalSince1970: Double(civil.secondsSince1970 - (zone ?? 0) * 60))
    }

    private mutating func take(name: String) -> Bool {
        if Self.weekdays.contains(name) { return true }
        if let index = Self.months.firstIndex(of: name) ?? Self.fullMonths.firstIndex(of: name), month == nil {
            month = Int64(index + 1)
            return true
        }
        guard let hours = Self.zones[name], zone == nil else { return false }
        zone = hours * 60
        return true
    }

    private mutating func take(time text: ArraySlice<UInt8>) -> Bool {
        let parts = text.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
            .map { $0.count < 3 ? Int64(String(decoding: $0, as: UTF8.self)) : nil }
        guard time == nil, (2...3).contains(parts.count), let hour = parts[0], let minute = parts[1] else {
            return false
        }
        guard let second = parts.count == 3 ? parts[2] : 0 else { return false }
        time = (hour, minute, second)
        return true
    }

    private mutating func take(number text: ArraySlice<UInt8>, after previous: UInt8?) -> Bool {
        guard text.count < 9, let value = Int64(String(decoding: text, as: UTF8.self)) else { return false }
        let isSigned = previous == UInt8(ascii: "+") || previous == UInt8(ascii: "-")
        if isSigned, text.count == 4, value <= 1_400, value % 100 < 60, zone == nil || zone == 0, time != nil {
            zone = (value / 100 * 60 + value % 100) * (previous == UInt8(ascii: "-") ? -1 : 1)
            return true
        }
        if text.count == 8, day == nil, month == nil, year == nil {
            (year, month, day) = (value / 10_000, value / 100 % 100, value % 100)
            return true
        }
        if day == nil, (1...31).contains(value), text.count < 3 {
            day = value
            return true
        }
        guard year == nil, text.count == 4 || text.count == 2 else { return false }
        year = text.count == 4 ? value : value > 70 ? 1_900 + value : 2_000 + value
        return true
    }
}

extension UInt8 {
    fileprivate var isLetter: Bool { (0x41...0x5A).contains(self & 0xDF) && self & 0xC0 == 0x40 }

    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
}
