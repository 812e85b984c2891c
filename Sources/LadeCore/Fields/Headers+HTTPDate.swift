#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension Headers {
    /// A date as HTTP writes it, to the second: `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7).
    ///
    /// All three forms are read, independently of the locale and the time zone of the machine:
    ///
    /// | form | example |
    /// | --- | --- |
    /// | IMF-fixdate, the form that is written | `Sun, 06 Nov 1994 08:49:37 GMT` |
    /// | RFC 850, obsolete | `Sunday, 06-Nov-94 08:49:37 GMT` |
    /// | asctime, obsolete | `Sun Nov  6 08:49:37 1994` |
    ///
    /// Recipients are asked to be robust (RFC 9110 §5.6.7, RFC 9111 §4.2), so the following is tolerated:
    ///
    /// - letters in any case, additional white space, and `UTC` for `GMT`;
    /// - one-digit days, and four-digit years in the RFC 850 form;
    /// - long and short names of weekdays in each form, and a weekday that does not match the date.
    ///
    /// Other zones and impossible dates are errors. A leap second, `23:59:60`, is accepted at the end of any day, and is
    /// the same moment as the second after it.
    public struct HTTPDate: Sendable, Hashable {
        /// Whole seconds since 1970, within the years 1 to 9999.
        private let seconds: Int64

        /// The date to the second below; dates outside the years 1 to 9999 become the nearest that can be written.
        public init(_ date: Date) {
            let seconds = date.timeIntervalSince1970.rounded(.down)
            // NaN compares false and becomes the earliest date, which counts as long past.
            guard seconds > Double(CivilTime.earliest) else {
                self.seconds = CivilTime.earliest
                return
            }
            self.seconds = seconds < Double(CivilTime.latest) ? Int64(seconds) : CivilTime.latest
        }

        /// Reads a date in any of the three forms.
        ///
        /// - Parameters:
        ///   - string: the field value.
        ///   - now: the reference for the two-digit years of the RFC 850 form: such a date is never more than 50 years
        ///     after it (RFC 9110 §5.6.7).
        /// - Throws: `Headers.FieldError` if this is not a date, or an impossible one.
        public init(_ string: some StringProtocol, now: Date) throws(Headers.FieldError) {
            try self.init(bytes: Array(string.utf8), now: now)
        }

        /// Reads a date in any of the three forms from bytes as they were received; see `init(_:now:)`.
        ///
        /// - Throws: `Headers.FieldError` if this is not a date, or an impossible one.
        public init(bytes: [UInt8], now: Date) throws(Headers.FieldError) {
            if let written = Self.written(bytes) {
                self = written
                return
            }
            var cursor = FieldCursor(bytes, field: "HTTP date")
            self = try Self.read(&cursor, now: now)
        }

        /// The moment.
        public var date: Date { Date(timeIntervalSince1970: Double(seconds)) }
    }
}

extension Headers.HTTPDate: Comparable {
    /// Whether the left moment is before the right one.
    public static func < (left: Headers.HTTPDate, right: Headers.HTTPDate) -> Bool { left.seconds < right.seconds }
}

extension Headers.HTTPDate: CustomStringConvertible {
    /// The date as IMF-fixdate, the only form that may be sent (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
    public var description: String {
        let time = CivilTime(secondsSince1970: seconds)
        let weekday = Self.weekdays[time.weekday].prefix(3)
        let month = Self.months[Int(time.month) - 1]
        let clock = "\(padded(time.hour)):\(padded(time.minute)):\(padded(time.second))"
        return "\(weekday), \(padded(time.day)) \(month) \(padded(time.year, to: 4)) \(clock) GMT"
    }

    private func padded(_ number: Int64, to width: Int = 2) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

// MARK: - Reading

extension Headers.HTTPDate {
    private static let weekdays = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let longWeekdaysFolded = Set(weekdays.map(\.asciiLowercased))
    private static let shortWeekdaysFolded = Set(weekdays.map { $0.prefix(3).asciiLowercased })
    private static let monthsFolded = months.map(\.asciiLowercased)

    /// Reads a date that fills the rest of a value.
    static func read(_ cursor: inout FieldCursor, now: Date) throws(Headers.FieldError) -> Headers.HTTPDate {
        cursor.skipWhitespace()
        let start = cursor.offset
        let weekday = word(&cursor)
        guard shortWeekdaysFolded.contains(weekday) || longWeekdaysFolded.contains(weekday) else {
            throw cursor.error(.expected("the name of a weekday"), offset: start)
        }
        let time = cursor.take(",") ? try commaForm(&cursor, now: now) : try asctimeForm(&cursor)
        cursor.skipWhitespace()
        guard cursor.isAtEnd else { throw cursor.error(.trailingBytes) }
        guard time.isValid else { throw cursor.error(.outOfRange("the date or time"), offset: start) }
        // Only 9999-12-31 23:59:60 would leave the range of years.
        return Headers.HTTPDate(seconds: min(time.secondsSince1970, CivilTime.latest))
    }

    private init(seconds: Int64) {
        self.seconds = seconds
    }

    /// A date exactly in the form that is written, which nearly all servers send; nil for any other text.
    private static func written(_ bytes: [UInt8]) -> Headers.HTTPDate? {
        guard bytes.count == 29 else { return nil }
        return bytes.withUnsafeBufferPointer { bytes in
            func has(_ text: StaticString, at offset: Int) -> Bool {
                (0..<text.utf8CodeUnitCount).allSatisfy { bytes[offset + $0] == text.utf8Start[$0] }
            }
            func number(_ range: Range<Int>) -> Int64? {
                var value: Int64 = 0
                for byte in bytes[range] {
                    guard 0x30...0x39 ~= byte else { return nil }
                    value = value * 10 + Int64(byte - 0x30)
                }
                return value
            }
            func index(_ names: StaticString, _ count: Int, at offset: Int) -> Int64? {
                (0..<count).first { name in (0..<3).allSatisfy { bytes[offset + $0] == names.utf8Start[3 * name + $0] }
                }
                .map(Int64.init)
            }
            guard has(", ", at: 3), has(" ", at: 7), has(" ", at: 11), has(" ", at: 16), has(":", at: 19),
                has(":", at: 22), has(" GMT", at: 25), index("MonTueWedThuFriSatSun", 7, at: 0) != nil,
                let month = index("JanFebMarAprMayJunJulAugSepOctNovDec", 12, at: 8), let day = number(5..<7),
                let year = number(12..<16), let hour = number(17..<19), let minute = number(20..<22),
                let second = number(23..<25)
            else { return nil }
            let time = CivilTime(year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
            return time.isValid ? Headers.HTTPDate(seconds: min(time.secondsSince1970, CivilTime.latest)) : nil
        }
    }

    /// `06 Nov 1994 08:49:37 GMT` or `06-Nov-94 08:49:37 GMT`.
    private static func commaForm(_ cursor: inout FieldCursor, now: Date) throws(Headers.FieldError) -> CivilTime {
        cursor.skipWhitespace()
        let day = try number(&cursor, digits: 1...2, "a day")
        let hasDashes = cursor.take("-")
        if !hasDashes { try space(&cursor) }
        let month = try month(&cursor)
        var year: Int64
        var needsCentury = false
        if hasDashes {
            guard cursor.take("-") else { throw cursor.error(.expected("a dash")) }
            let start = cursor.offset
            year = try number(&cursor, digits: 2...4, "a year")
            needsCentury = cursor.offset - start == 2
            guard cursor.offset - start != 3 else { throw cursor.error(.expected("a year"), offset: start) }
        } else {
            try space(&cursor)
            year = try number(&cursor, digits: 4...4, "a year")
        }
        try space(&cursor)
        var time = try timeOfDay(&cursor)
        try space(&cursor)
        let zoneStart = cursor.offset
        guard ["gmt", "utc"].contains(word(&cursor)) else {
            throw cursor.error(.expected("GMT"), offset: zoneStart)
        }
        (time.year, time.month, time.day) = (year, month, day)
        if needsCentury { time.year = fullYear(of: time, now: now) }
        return time
    }

    /// `Nov  6 08:49:37 1994`.
    private static func asctimeForm(_ cursor: inout FieldCursor) throws(Headers.FieldError) -> CivilTime {
        try space(&cursor)
        let month = try month(&cursor)
        try space(&cursor)
        let day = try number(&cursor, digits: 1...2, "a day")
        try space(&cursor)
        var time = try timeOfDay(&cursor)
        try space(&cursor)
        let year = try number(&cursor, digits: 4...4, "a year")
        (time.year, time.month, time.day) = (year, month, day)
        return time
    }

    /// The last year with these two digits in which the date is not more than 50 years after now (RFC 9110 §5.6.7).
    ///
    /// In March 2025: 94 → 1994, 74 → 2074, 76 → 1976; 75 is 2075 until March and 1975 after.
    private static func fullYear(of time: CivilTime, now: Date) -> Int64 {
        var horizon = CivilTime(secondsSince1970: Headers.HTTPDate(now).seconds)
        horizon.year += 50
        let candidate = horizon.year - horizon.year % 100 + time.year
        let isTooLate =
            (candidate, time.month, time.day, time.hour, time.minute, time.second)
            > (horizon.year, horizon.month, horizon.day, horizon.hour, horizon.minute, horizon.second)
        return isTooLate ? candidate - 100 : candidate
    }

    private static func timeOfDay(_ cursor: inout FieldCursor) throws(Headers.FieldError) -> CivilTime {
        var time = CivilTime(year: 1, month: 1, day: 1)
        time.hour = try number(&cursor, digits: 2...2, "an hour")
        guard cursor.take(":") else { throw cursor.error(.expected("a colon")) }
        time.minute = try number(&cursor, digits: 2...2, "a minute")
        guard cursor.take(":") else { throw cursor.error(.expected("a colon")) }
        time.second = try number(&cursor, digits: 2...2, "a second")
        return time
    }

    private static func month(_ cursor: inout FieldCursor) throws(Headers.FieldError) -> Int64 {
        let start = cursor.offset
        guard let index = monthsFolded.firstIndex(of: word(&cursor)) else {
            throw cursor.error(.expected("the name of a month"), offset: start)
        }
        return Int64(index) + 1
    }

    private static func number(
        _ cursor: inout FieldCursor,
        digits: ClosedRange<Int>,
        _ what: String
    ) throws(Headers.FieldError) -> Int64 {
        let start = cursor.offset
        guard let number = cursor.number(digits: digits) else {
            throw cursor.error(.expected(what), offset: start)
        }
        return number
    }

    private static func space(_ cursor: inout FieldCursor) throws(Headers.FieldError) {
        guard cursor.next?.isFieldWhitespace == true else { throw cursor.error(.expected("a space")) }
        cursor.skipWhitespace()
    }

    /// The next letters in lower case, ten at most: no name has more than nine.
    private static func word(_ cursor: inout FieldCursor) -> String {
        cursor.text(cursor.take(atMost: 10, while: \.isLetter)).asciiLowercased
    }
}
