#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

extension Catalogue {
    /// A calendar day in Zurich: day, month and year, without a time.
    ///
    /// ```swift
    /// let day = Catalogue.Day(day: 3, month: 1, year: 2016).adding(days: 7, months: 4, years: 1)   // 2017-05-10
    /// ```
    public struct Day: Sendable, Hashable {
        /// The day of the month.
        public let day: Int
        /// The month, from 1.
        public let month: Int
        /// The year.
        public let year: Int

        /// A calendar unit.
        public enum Unit: Sendable, Hashable, CaseIterable {
            /// Years.
            case year
            /// Months.
            case month
            /// Weeks that begin on Monday.
            case week
            /// Days.
            case day
        }

        /// Makes a day; values out of range carry over, so that day 40 of January is February 9.
        ///
        /// Numbers beyond 100 million are clamped.
        public init(day: Int = 1, month: Int = 1, year: Int = 1) {
            let limit = 100_000_000
            let (day, month, year) = (day.clamped(to: limit), month.clamped(to: limit), year.clamped(to: limit))
            self.init(number: Self.number(year: year, month: month, day: day))
        }

        /// Makes the day of a date in Zurich.
        public init(_ date: Date) {
            let seconds = date.timeIntervalSince1970.clamped(to: 1e15)
            let local = (seconds + Double(ZurichTime.offset(at: seconds))) / 86_400
            self.init(number: Int(local.rounded(.down)))
        }

        /// Makes a day from a text such as `2016-01-07`; nil for any other form, and for a day that does not exist.
        public init?(_ text: String) {
            let parts = text.parts(at: "-")
            guard parts.count == 3, parts[0].utf8.count == 4, parts[1].utf8.count == 2, parts[2].utf8.count == 2,
                text.utf8.allSatisfy({ (0x30...0x39).contains($0) || $0 == UInt8(ascii: "-") }),
                let year = Int(parts[0]), let month = Int(parts[1]), let day = Int(parts[2]), year > 0
            else { return nil }
            self.init(day: day, month: month, year: year)
            guard self.day == day, self.month == month else { return nil }
        }

        /// Makes a day from a text.
        ///
        /// - Throws: ``CatalogueError/dayOutOfRange(_:)`` for any text not of the form `2016-01-07`.
        public init(validating text: String) throws(CatalogueError) {
            guard let day = Day(text) else { throw .dayOutOfRange(text.escapedForDisplay(limit: 40)) }
            self = day
        }

        /// The current day in Zurich.
        public static func today(_ time: any TimeSource = SystemTime()) -> Day { Day(time.date) }

        /// The beginning of the day in Zurich.
        public var date: Date {
            let midnight = Double(number) * 86_400
            // Clocks never change within an hour of midnight, so the offset an hour off is the same.
            return Date(timeIntervalSince1970: midnight - Double(ZurichTime.offset(at: midnight - 3_600)))
        }

        /// The day in the form `2016-01-07`.
        public var string: String {
            "\(year.padded(to: 4))-\(month.padded(to: 2))-\(day.padded(to: 2))"
        }

        /// Whether services accept the day: its year is from 1 to 9999.
        public var isInRange: Bool { (1...9_999).contains(year) }

        /// The day after a number of years, then months, then days.
        ///
        /// A day that the month does not have becomes the last day of the month.
        public func adding(days: Int = 0, months: Int = 0, years: Int = 0) -> Day {
            let limit = 100_000_000
            let afterYears = clampedToMonth(year: year + years.clamped(to: limit), month: month)
            let afterMonths = afterYears.clampedToMonth(
                year: afterYears.year,
                month: afterYears.month + months.clamped(to: limit)
            )
            return Day(number: afterMonths.number + days.clamped(to: limit))
        }

        /// The first day of the unit that contains the day.
        public func start(of unit: Unit) -> Day {
            switch unit {
            case .year: Day(day: 1, month: 1, year: year)
            case .month: Day(day: 1, month: month, year: year)
            // Day 0 was a Thursday.
            case .week: Day(number: number - (number + 3).modulo(7))
            case .day: self
            }
        }

        /// The distance to another day in the given units: as many as possible of the largest unit, then of the next.
        public func components(_ units: Set<Unit>, to end: Day) -> [Unit: Int] {
            let sign = end < self ? -1 : 1
            var components: [Unit: Int] = [:]
            var current = self
            if units.contains(.year) {
                let years = Self.largest { current.adding(years: sign * $0).isReached(from: self, by: end) }
                components[.year] = sign * years
                current = current.adding(years: sign * years)
            }
            if units.contains(.month) {
                let base = current
                let months = Self.largest { base.adding(months: sign * $0).isReached(from: self, by: end) }
                components[.month] = sign * months
                current = base.adding(months: sign * months)
            }
            if units.contains(.week) {
                let weeks = (end.number - current.number) / 7
                components[.week] = weeks
                current = current.adding(days: weeks * 7)
            }
            if units.contains(.day) { components[.day] = end.number - current.number }
            return components
        }

        // MARK: - Counting

        /// Days since 1970-01-01.
        private var number: Int { Self.number(year: year, month: month, day: day) }

        private init(number: Int) {
            // A year begins in March, so that the leap day is its last.
            let shifted = number + 719_468
            let era = shifted.floorDivided(by: 146_097)
            let dayOfEra = shifted - era * 146_097
            let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
            let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
            let shiftedMonth = (5 * dayOfYear + 2) / 153
            day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
            month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
            year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        }

        static func number(year: Int, month: Int, day: Int) -> Int {
            let months = year * 12 + month - 1 - 2
            let shiftedYear = months.floorDivided(by: 12)
            let shiftedMonth = months.modulo(12)
            let era = shiftedYear.floorDivided(by: 400)
            let yearOfEra = shiftedYear - era * 400
            let dayOfYear = (153 * shiftedMonth + 2) / 5 + day - 1
            return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        }

        private func clampedToMonth(year: Int, month: Int) -> Day {
            let first = Self.number(year: year, month: month, day: 1)
            let last = Self.number(year: year, month: month + 1, day: 1) - 1
            return Day(number: min(first + day - 1, last))
        }

        private func isReached(from start: Day, by end: Day) -> Bool {
            start <= end ? self <= end : self >= end
        }

        /// The largest number that meets a condition, which holds for 0 and all numbers up to some limit.
        private static func largest(_ holds: (Int) -> Bool) -> Int {
            var step = 1
            while step < 1 << 40, holds(step) { step *= 2 }
            var (low, high) = (step / 2, step)
            while high - low > 1 {
                let middle = (low + high) / 2
                if holds(middle) { low = middle } else { high = middle }
            }
            return low
        }
    }
}

extension Catalogue.Day: Comparable {
    /// Whether a day is before another.
    public static func < (lhs: Catalogue.Day, rhs: Catalogue.Day) -> Bool {
        (lhs.year, lhs.month, lhs.day) < (rhs.year, rhs.month, rhs.day)
    }
}

extension Catalogue.Day: Decodable {
    /// Decodes a text such as `2016-01-07`.
    ///
    /// - Throws: `DecodingError` for any other value.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let day = Catalogue.Day(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "It is no day.")
        }
        self = day
    }
}

extension Catalogue.Day: CustomStringConvertible {
    /// The day in the form `2016-01-07`.
    public var description: String { string }
}

extension Calendar {
    /// The Gregorian calendar in Zurich, with the current locale.
    ///
    /// ``Catalogue/Day`` does not use it. It is nil when the program has no time zone data, as without `Foundation` on Linux.
    public static var catalogue: Calendar? {
        guard let zone = TimeZone(identifier: ZurichTime.identifier) else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = zone
        calendar.locale = .current
        return calendar
    }
}

extension Int {
    fileprivate func floorDivided(by divisor: Int) -> Int {
        (self - modulo(divisor)) / divisor
    }

    fileprivate func modulo(_ divisor: Int) -> Int {
        let rest = self % divisor
        return rest < 0 ? rest + divisor : rest
    }

    fileprivate func clamped(to limit: Int) -> Int { Swift.min(Swift.max(self, -limit), limit) }

    func padded(to length: Int) -> String {
        let digits = String(magnitude)
        return (self < 0 ? "-" : "") + String(repeating: "0", count: Swift.max(0, length - digits.count)) + digits
    }
}

extension Double {
    fileprivate func clamped(to limit: Double) -> Double {
        isNaN ? 0 : Swift.min(Swift.max(self, -limit), limit)
    }
}
