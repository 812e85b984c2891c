#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// The partitions of a list: sets of query items, each of which begins a walk of its own.
package struct HarvestPartitions: Sendable, Equatable {
    /// The most partitions of a run.
    package static let limit = 1_000_000

    private enum Source: Sendable, Equatable {
        case sets([String])
        case range(start: String, end: String?, PartitionRange)
    }

    private let source: Source
    /// The number of partitions.
    package let count: Int
    /// The partitions as text, which is the same for all workers of a run.
    package let description: String

    /// One walk with the items of the request itself.
    package static let none = HarvestPartitions(.sets([""]), count: 1, "")

    private init(_ source: Source, count: Int, _ description: String) {
        (self.source, self.count, self.description) = (source, count, description)
    }

    /// Sets of query items, one a line as they stand in an address; empty lines are skipped.
    ///
    /// - Returns: nil without a set, with more than ``limit``, and for a line that is no set.
    package init?(lines text: String) {
        let lines = text.utf8.split { $0 == 0x0A || $0 == 0x0D }.map { String(Substring($0)) }
        guard !lines.isEmpty, lines.count <= Self.limit, lines.allSatisfy({ Self.items($0)?.isEmpty == false }) else {
            return nil
        }
        self.init(.sets(lines), count: lines.count, lines.joined(separator: "\n"))
    }

    /// A range: `QUERY=A..B/STEP`, half-open, of integers or of dates with a period of ISO 8601.
    ///
    /// With two names, as in `since,until=2026-01-01..2027-01-01/P1M`, the second has the end of each partition.
    /// - Returns: nil for any other text, an empty range, and more than ``limit`` partitions.
    package init?(range text: String) {
        guard let (names, range) = text.halves(at: "="), let parsed = PartitionRange(range) else { return nil }
        let pair = names.halves(at: ",")
        let (start, end) = (pair?.0 ?? names, pair?.1)
        guard !start.isEmpty, end?.isEmpty != true, (1...Self.limit).contains(parsed.count) else { return nil }
        self.init(.range(start: start, end: end, parsed), count: parsed.count, text)
    }

    /// The items of a set; nil for a text that cannot stand in an address.
    private static func items(_ set: String) -> [(name: String, value: String)]? {
        URL(string: "http://localhost/?\(set)")?.queryItems
    }

    /// The request of a partition's first page.
    func request(_ index: Int, of original: Request) -> Request {
        var request = original
        switch source {
        case .sets(let sets):
            for item in Self.items(sets[index]) ?? [] {
                request.url = request.url.settingQuery(item.name, item.value)
            }
        case .range(let start, let end, let range):
            request.url = request.url.settingQuery(start, range.bound(index))
            if let end { request.url = request.url.settingQuery(end, range.bound(index + 1)) }
        }
        return request
    }
}

/// A half-open range that is divided into steps.
struct PartitionRange: Sendable, Equatable {
    private enum Step: Sendable, Equatable {
        case number(Int)
        case period(Period, hasTime: Bool)
    }

    /// A period of ISO 8601 as months and seconds.
    private struct Period: Sendable, Equatable {
        var months = 0
        var seconds = 0
    }

    private let from: Int
    private let to: Int
    private let step: Step
    /// The number of steps, of which the last may be shorter.
    let count: Int

    /// Reads `A..B/STEP`; nil for any other text.
    init?(_ text: String) {
        guard let (range, step) = text.halves(at: "/"), let (from, rest) = range.halves(at: "."),
            rest.utf8.first == UInt8(ascii: ".")
        else { return nil }
        let to = String(Substring(rest.utf8.dropFirst()))
        if let from = Int(from), let to = Int(to), let step = Int(step), from < to, step > 0 {
            let (length, overflow) = to.subtractingReportingOverflow(from)
            guard !overflow else { return nil }
            (self.from, self.to, self.step) = (from, to, .number(step))
            count = (length - 1) / step + 1
            return
        }
        guard let start = Instants.read(from), let end = Instants.read(to), start.hasTime == end.hasTime,
            start.seconds < end.seconds, let period = Self.period(step),
            start.hasTime || period.seconds.isMultiple(of: 86_400)
        else { return nil }
        self.step = .period(period, hasTime: start.hasTime)
        (self.from, self.to) = (start.seconds, end.seconds)
        // The first step that is not inside, by halving.
        var (low, high) = (1, HarvestPartitions.limit + 1)
        while low < high {
            let middle = (low + high) / 2
            if Self.instant(start.seconds, period, middle) < end.seconds { low = middle + 1 } else { high = middle }
        }
        count = low
    }

    /// The value at which a step begins; for `count` the end of the range.
    func bound(_ index: Int) -> String {
        switch step {
        case .number(let step): return String(index < count ? from + index * step : to)
        case .period(let period, let hasTime):
            return Instants.text(index < count ? Self.instant(from, period, index) : to, hasTime: hasTime)
        }
    }

    private static func instant(_ start: Int, _ period: Period, _ index: Int) -> Int {
        Instants.adding(period.months * index, to: start) + period.seconds * index
    }

    /// Reads a period such as `P1D`, `P1M`, `P2W` or `PT6H`.
    private static func period(_ text: String) -> Period? {
        var period = Period()
        var digits = ""
        var isTime = false
        guard text.utf8.first == UInt8(ascii: "P") else { return nil }
        for unit in text.unicodeScalars.dropFirst() {
            if ("0"..."9").contains(unit) {
                digits.unicodeScalars.append(unit)
                continue
            }
            if unit == "T", !isTime, digits.isEmpty {
                isTime = true
                continue
            }
            guard digits.utf8.count <= 6, let number = Int(digits) else { return nil }
            digits = ""
            switch (unit, isTime) {
            case ("Y", false): period.months += 12 * number
            case ("M", false): period.months += number
            case ("W", false): period.seconds += 604_800 * number
            case ("D", false): period.seconds += 86_400 * number
            case ("H", true): period.seconds += 3_600 * number
            case ("M", true): period.seconds += 60 * number
            case ("S", true): period.seconds += number
            default: return nil
            }
        }
        return digits.isEmpty && (period.months > 0 || period.seconds > 0) ? period : nil
    }
}

/// Dates and instants of UTC as seconds since 1970, in the calendar of ISO 8601.
private enum Instants {
    /// Reads `2026-01-31` or `2026-01-31T12:00:00Z`.
    static func read(_ text: String) -> (seconds: Int, hasTime: Bool)? {
        let (date, time) = text.halves(at: "T") ?? (text, nil)
        guard let parts = numbers(date, [4, 2, 2], "-"), (1...12).contains(parts[1]), parts[2] >= 1,
            parts[2] <= length(year: parts[0], month: parts[1])
        else { return nil }
        let days = self.days(parts[0], parts[1], parts[2])
        guard let time else { return (days * 86_400, false) }
        guard time.utf8.last == UInt8(ascii: "Z"),
            let clock = numbers(String(Substring(time.utf8.dropLast())), [2, 2, 2], ":"),
            clock[0] < 24, clock[1] < 60, clock[2] < 60
        else { return nil }
        return (days * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2], true)
    }

    static func text(_ seconds: Int, hasTime: Bool) -> String {
        let (days, rest) = split(seconds)
        let date = self.date(days)
        let day = "\(padded(date.year, 4))-\(padded(date.month))-\(padded(date.day))"
        return hasTime ? "\(day)T\(padded(rest / 3_600)):\(padded(rest / 60 % 60)):\(padded(rest % 60))Z" : day
    }

    /// The same day and time some months later; the last day of a shorter month.
    static func adding(_ months: Int, to seconds: Int) -> Int {
        let (days, rest) = split(seconds)
        let date = self.date(days)
        let month = date.year * 12 + date.month - 1 + months
        let (year, number) = (month / 12, month % 12 + 1)
        return self.days(year, number, min(date.day, length(year: year, month: number))) * 86_400 + rest
    }

    private static func split(_ seconds: Int) -> (days: Int, rest: Int) {
        let rest = (seconds % 86_400 + 86_400) % 86_400
        return ((seconds - rest) / 86_400, rest)
    }

    private static func numbers(_ text: String, _ widths: [Int], _ separator: Unicode.Scalar) -> [Int]? {
        let parts = text.unicodeScalars.split(separator: separator, omittingEmptySubsequences: false).map(String.init)
        guard parts.map(\.utf8.count) == widths else { return nil }
        let numbers = parts.compactMap { Int(wholeNumber: $0) }
        return numbers.count == widths.count ? numbers : nil
    }

    private static func padded(_ number: Int, _ width: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }

    private static func isLeap(_ year: Int) -> Bool {
        year.isMultiple(of: 4) && !year.isMultiple(of: 100) || year.isMultiple(of: 400)
    }

    private static func length(year: Int, month: Int) -> Int {
        month == 2 ? (isLeap(year) ? 29 : 28) : [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// The days since 1970 of the first day of a year from 0.
    private static func days(_ year: Int) -> Int {
        let before = year - 1
        let leaps = year == 0 ? -1 : before / 4 - before / 100 + before / 400
        // 719,162 days are between the first day of year 1 and that of 1970.
        return before * 365 + leaps - 719_162
    }

    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        days(year) + (1..<month).reduce(0) { $0 + length(year: year, month: $1) } + day - 1
    }

    private static func date(_ days: Int) -> (year: Int, month: Int, day: Int) {
        var year = max(0, 1_970 + (days < 0 ? days / 365 - 1 : days / 366))
        while self.days(year + 1) <= days { year += 1 }
        var rest = days - self.days(year)
        var month = 1
        while rest >= length(year: year, month: month) {
            rest -= length(year: year, month: month)
            month += 1
        }
        return (year, month, rest + 1)
    }
}

extension String {
    /// The texts before and behind the first delimiter; nil without one.
    fileprivate func halves(at delimiter: Unicode.Scalar) -> (String, String)? {
        let scalars = unicodeScalars
        guard let index = scalars.firstIndex(of: delimiter) else { return nil }
        return (String(scalars[..<index]), String(scalars[scalars.index(after: index)...]))
    }
}
