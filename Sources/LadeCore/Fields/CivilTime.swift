/// A date and time of day in UTC by the proleptic Gregorian calendar, and its second since 1970.
///
/// All arithmetic is on integers, without calendar objects, locales or time zones.
package struct CivilTime: Hashable, Sendable {
    /// 0001-01-01T00:00:00Z.
    static let earliest: Int64 = -62_135_596_800
    /// 9999-12-31T23:59:59Z.
    static let latest: Int64 = 253_402_300_799

    package var year: Int64
    package var month: Int64
    package var day: Int64
    package var hour: Int64
    package var minute: Int64
    package var second: Int64

    /// Makes a time of its parts, which need not be possible.
    package init(year: Int64, month: Int64, day: Int64, hour: Int64 = 0, minute: Int64 = 0, second: Int64 = 0) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    /// A leap second, 60, is the same moment as the second after it.
    package var secondsSince1970: Int64 {
        let days = Self.days(beforeYear: year) + Self.days(beforeMonth: month, year: year) + day - 1
        return Self.earliest + days * 86_400 + hour * 3_600 + minute * 60 + second
    }

    /// 0 for Monday to 6 for Sunday; the first day of year 1 is a Monday.
    var weekday: Int { Int((secondsSince1970 - Self.earliest) / 86_400 % 7) }

    /// Whether each part is possible: years 1…9999, a day that the month has, second 60 at 23:59 only.
    package var isValid: Bool {
        (1...9999).contains(year) && (1...12).contains(month)
            && (1...Self.days(inMonth: month, year: year)).contains(day)
            && (0...23).contains(hour) && (0...59).contains(minute)
            && ((0...59).contains(second) || (hour == 23 && minute == 59 && second == 60))
    }

    static func isLeap(_ year: Int64) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    static func days(inMonth month: Int64, year: Int64) -> Int64 {
        switch month {
        case 2: isLeap(year) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func days(beforeMonth month: Int64, year: Int64) -> Int64 {
        (1..<month).reduce(0) { $0 + days(inMonth: $1, year: year) }
    }

    /// Days from the start of year 1 to the start of a year.
    private static func days(beforeYear year: Int64) -> Int64 {
        let past = year - 1
        return past * 365 + past / 4 - past / 100 + past / 400
    }
}

extension CivilTime {
    /// The civil time of a second between `earliest` and `latest`; a second outside counts as the nearer end.
    init(secondsSince1970 seconds: Int64) {
        let elapsed = min(max(seconds, Self.earliest), Self.latest) - Self.earliest
        var days = elapsed / 86_400
        // 146,097 days are 400 years, so this is the year or the one after it.
        year = days * 400 / 146_097 + 1
        while Self.days(beforeYear: year) > days { year -= 1 }
        while Self.days(beforeYear: year + 1) <= days { year += 1 }
        days -= Self.days(beforeYear: year)
        month = 1
        while days >= Self.days(inMonth: month, year: year) {
            days -= Self.days(inMonth: month, year: year)
            month += 1
        }
        day = days + 1
        hour = elapsed % 86_400 / 3_600
        minute = elapsed % 3_600 / 60
        second = elapsed % 60
    }
}
