#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The time in Zurich, for programs without time zone data, such as those that link only `FoundationEssentials`.
///
/// The rules are those of Europe/Zurich in the IANA time zone database. The summers of 1941 and 1942 and all years
/// before 1894 are omitted, because the catalogue has no such dates.
enum ZurichTime {
    static let identifier = "Europe/Zurich"

    /// Seconds east of UTC at an instant, in seconds since 1970.
    static func offset(at seconds: Double) -> Int {
        let year = year(of: seconds)
        guard let summer = summer(of: year) else { return 3_600 }
        return summer.contains(seconds) ? 7_200 : 3_600
    }

    /// An instant as `yyyy-MM-dd'T'HH:mm:ss` in Zurich.
    static func text(of date: Date) -> String {
        let seconds = min(max(date.timeIntervalSince1970, -6e10), 2.5e11).rounded(.down)
        let local = Int(seconds) + offset(at: seconds)
        let second = ((local % 86_400) + 86_400) % 86_400
        let parts = [second / 3_600, second / 60 % 60, second % 60].map { $0.padded(to: 2) }
        return "\(Catalogue.Day(date).string)T\(parts.joined(separator: ":"))"
    }

    /// The summer time of a year: from the last Sunday of March to the last Sunday of October, at 01:00 UTC.
    ///
    /// It exists since 1981, and ended on the last Sunday of September until 1995.
    private static func summer(of year: Int) -> Range<Double>? {
        guard year >= 1981 else { return nil }
        let end = year < 1996 ? 9 : 10
        return change(year, month: 3)..<change(year, month: end)
    }

    private static func change(_ year: Int, month: Int) -> Double {
        let last = Catalogue.Day.number(year: year, month: month + 1, day: 1) - 1
        // Day 0 was a Thursday, so a Sunday is a day that is 3 modulo 7.
        let sunday = last - (last - 3) % 7
        return Double(sunday * 86_400 + 3_600)
    }

    /// The year in UTC, which equals the year in Zurich during summer time.
    private static func year(of seconds: Double) -> Int {
        let limited = min(max(seconds, -1e15), 1e15)
        return 1970 + Int((limited / 31_556_952).rounded(.down))
    }
}
