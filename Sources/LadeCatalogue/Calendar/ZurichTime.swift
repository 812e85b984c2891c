#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The time in Zurich, without time zone data, which programs that link `FoundationEssentials` alone do not have.
///
/// Source: the zone Europe/Zurich of the IANA time zone database; the summers of 1941 and 1942 and the times before 1894 are
/// left out, because the catalogue has no dates there.
enum ZurichTime {
    static let identifier = "Europe/Zurich"

    /// Seconds east of UTC at a moment, in seconds since 1970.
    static func offset(at seconds: Double) -> Int {
        let year = year(of: seconds)
        guard let summer = summer(of: year) else { return 3_600 }
        return summer.contains(seconds) ? 7_200 : 3_600
    }

    /// Seconds east of UTC at a local time, in seconds from the beginning of 1970 there.
    static func offset(atLocal seconds: Double) -> Int {
        let winter = offset(at: seconds - 3_600)
        return winter == 3_600 ? 3_600 : offset(at: seconds - 7_200)
    }

    /// A moment as `yyyy-MM-dd'T'HH:mm:ss` in Zurich.
    static func text(of date: Date) -> String {
        let seconds = min(max(date.timeIntervalSince1970, -6e10), 2.5e11).rounded(.down)
        let local = Int(seconds) + offset(at: seconds)
        let second = ((local % 86_400) + 86_400) % 86_400
        let parts = [second / 3_600, second / 60 % 60, second % 60].map { $0.padded(to: 2) }
        return "\(Day(date).string)T\(parts.joined(separator: ":"))"
    }

    /// When summer time lasts: since 1981 from the last Sunday of March, until 1995 to the last Sunday of September, then
    /// of October; each at 01:00 UTC.
    private static func summer(of year: Int) -> Range<Double>? {
        guard year >= 1981 else { return nil }
        let end = year < 1996 ? 9 : 10
        return change(year, month: 3)..<change(year, month: end)
    }

    private static func change(_ year: Int, month: Int) -> Double {
        let last = Day.number(year: year, month: month + 1, day: 1) - 1
        // Day 0 was a Thursday, so Sundays are the days that are 3 modulo 7.
        let sunday = last - (last - 3) % 7
        return Double(sunday * 86_400 + 3_600)
    }

    /// The year in UTC, which is that of Zurich wherever summer time may be.
    private static func year(of seconds: Double) -> Int {
        let limited = min(max(seconds, -1e15), 1e15)
        return 1970 + Int((limited / 31_556_952).rounded(.down))
    }
}
