import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@testable import LadeCore

@Suite("HTTP dates", .timeLimit(.minutes(5)))
struct HTTPDateTests {
    /// 2025-03-15T12:00:00Z.
    private let now = Date(timeIntervalSince1970: 1_742_040_000)

    @Test(
        "All three forms are read, and their tolerable variants",
        arguments: [
            ("§5.6.7 IMF-fixdate", "Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("§5.6.7 RFC 850", "Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("§5.6.7 asctime", "Sun Nov  6 08:49:37 1994", 784_111_777),
            ("§10.2.3", "Fri, 31 Dec 1999 23:59:59 GMT", 946_684_799),
            ("asctime, two-digit day", "Wed Nov 16 08:49:37 1994", 784_975_777),
            ("asctime, zero-padded day", "Sun Nov 06 08:49:37 1994", 784_111_777),
            ("the epoch", "Thu, 01 Jan 1970 00:00:00 GMT", 0),
            ("before the epoch", "Wed, 31 Dec 1969 23:59:59 GMT", -1),
            ("first year", "Mon, 01 Jan 0001 00:00:00 GMT", -62_135_596_800),
            ("last year", "Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
            ("leap day", "Thu, 29 Feb 2024 00:00:00 GMT", 1_709_164_800),
            ("leap day of a century", "Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600),
            ("§5.6.7 leap second", "Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_800),
            ("leap second at the end of all years", "Fri, 31 Dec 9999 23:59:60 GMT", 253_402_300_799),
            ("RFC 9111 §4.2 any case", "sUN, 06 nOV 1994 08:49:37 gmt", 784_111_777),
            ("RFC 9111 §4.2 UTC", "Sun, 06 Nov 1994 08:49:37 UTC", 784_111_777),
            ("wrong weekday", "Mon, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("one-digit day", "Sun, 6 Nov 1994 08:49:37 GMT", 784_111_777),
            ("more blanks", "  Sun,  06  Nov \t 1994  08:49:37  GMT ", 784_111_777),
            ("no blank after the comma", "Sun,06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("short weekday with dashes", "Sun, 06-Nov-1994 08:49:37 GMT", 784_111_777),
            ("long weekday without dashes", "Sunday, 06 Nov 1994 08:49:37 GMT", 784_111_777),
        ] as [(String, String, Int64)]
    )
    func reads(rule: String, text: String, seconds: Int64) throws {
        #expect(try Headers.HTTPDate(text, now: now).date == Date(timeIntervalSince1970: Double(seconds)), "\(rule)")
    }

    @Test(
        "A two-digit year is the last one that is not more than 50 years ahead (RFC 9110 §5.6.7)",
        arguments: [
            ("Monday, 01-Jan-00 00:00:00 GMT", "2000"), ("Monday, 01-Jan-25 00:00:00 GMT", "2025"),
            ("Monday, 01-Jan-74 00:00:00 GMT", "2074"), ("Friday, 15-Mar-75 12:00:00 GMT", "2075"),
            ("Friday, 15-Mar-75 12:00:01 GMT", "1975"), ("Monday, 01-Jan-76 00:00:00 GMT", "1976"),
            ("Friday, 31-Dec-99 23:59:59 GMT", "1999"),
        ]
    )
    func twoDigitYears(text: String, year: String) throws {
        #expect(try Headers.HTTPDate(text, now: now).description.contains(" \(year) "))
    }

    @Test("Late in a century a two-digit year may belong to the next one")
    func nextCentury() throws {
        let lateNow = Date(timeIntervalSince1970: 3_786_912_000)  // 2090-01-01

        #expect(try Headers.HTTPDate("Friday, 10-Mar-10 12:00:00 GMT", now: lateNow).description.contains(" 2110 "))
        #expect(try Headers.HTTPDate("Friday, 10-Mar-89 12:00:00 GMT", now: lateNow).description.contains(" 2089 "))
    }

    @Test(
        "A text that is not a date is an error at the first invalid byte",
        arguments: [
            ("", 0), ("   ", 3), ("Sun", 3), ("Sun,", 4), ("So, 06 Nov 1994 08:49:37 GMT", 0),
            ("Sunda, 06 Nov 1994 08:49:37 GMT", 0), ("Sundaysunday, 06 Nov 1994 08:49:37 GMT", 0),
            ("Sun, xx Nov 1994 08:49:37 GMT", 5), ("Sun, 006 Nov 1994 08:49:37 GMT", 7),
            ("Sun, 06 Abc 1994 08:49:37 GMT", 8), ("Sun, 06 November 1994 08:49:37 GMT", 8),
            ("Sun, 06 Mär 1994 08:49:37 GMT", 8), ("Sun, 06 Nov 94 08:49:37 GMT", 12),
            ("Sun, 06 Nov 19945 08:49:37 GMT", 16), ("Sun, 06-Nov-994 08:49:37 GMT", 12),
            ("Sun, 06-Nov 94 08:49:37 GMT", 11), ("Sun, 06 Nov 1994 8:49:37 GMT", 17),
            ("Sun, 06 Nov 1994 08:49 GMT", 22), ("Sun, 06 Nov 1994 08:49:37", 25),
            ("Sun, 06 Nov 1994 08:49:37 CET", 26), ("Sun, 06 Nov 1994 08:49:37 +0000", 26),
            ("Sun, 06 Nov 1994 08:49:37 GMT+1", 29), ("Sun Nov  6 08:49:37 1994 GMT", 25),
            ("Sun, 06 Nov -994 08:49:37 GMT", 12), ("784111777", 0), ("1994-11-06T08:49:37Z", 0),
        ]
    )
    func rejects(text: String, offset: Int) throws {
        let error = try #require(throws: Headers.FieldError.self) { try Headers.HTTPDate(text, now: now) }
        #expect(error.offset == offset)
        #expect(error.field == "HTTP date")
    }

    @Test(
        "A date that never was is out of range",
        arguments: [
            "Thu, 29 Feb 2023 00:00:00 GMT", "Thu, 29 Feb 1900 00:00:00 GMT", "Thu, 31 Apr 2023 00:00:00 GMT",
            "Thu, 00 Apr 2023 00:00:00 GMT", "Thu, 32 Jan 2023 00:00:00 GMT", "Sat, 01 Jan 0000 00:00:00 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:00 GMT", "Sun, 06 Nov 1994 08:49:60 GMT",
            "Sun, 06 Nov 1994 23:59:61 GMT",
        ]
    )
    func impossible(text: String) throws {
        let error = try #require(throws: Headers.FieldError.self) { try Headers.HTTPDate(text, now: now) }
        #expect(error.reason == .outOfRange("the date or time"))
    }

    @Test(
        "A date is written as IMF-fixdate to the second below, within the years 1 to 9999",
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (784_111_777.999, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (-0.5, "Wed, 31 Dec 1969 23:59:59 GMT"), (-1e20, "Mon, 01 Jan 0001 00:00:00 GMT"),
            (1e20, "Fri, 31 Dec 9999 23:59:59 GMT"), (.nan, "Mon, 01 Jan 0001 00:00:00 GMT"),
            (.infinity, "Fri, 31 Dec 9999 23:59:59 GMT"), (-.infinity, "Mon, 01 Jan 0001 00:00:00 GMT"),
        ]
    )
    func writes(seconds: Double, text: String) {
        #expect(Headers.HTTPDate(Date(timeIntervalSince1970: seconds)).description == text)
    }

    @Test("Every second of the years 1 to 9999 survives writing and reading")
    func roundTrip() throws {
        var samples = FieldSamples()
        for _ in 0..<5_000 {
            let date = Date(timeIntervalSince1970: Double(samples.int64(CivilTime.earliest...CivilTime.latest)))
            #expect(try Headers.HTTPDate(Headers.HTTPDate(date).description, now: now).date == date, samples.note)
        }
    }

    @Test("The calendar is right on every day of 400 years")
    func calendar() {
        var (year, month, day, weekday): (Int64, Int64, Int64, Int) = (1_900, 1, 1, 0)
        var seconds: Int64 = -2_208_988_800
        for _ in 0..<146_097 {
            let time = CivilTime(secondsSince1970: seconds)
            guard (time.year, time.month, time.day, time.weekday) == (year, month, day, weekday) else {
                Issue.record("\(time) is not \(year)-\(month)-\(day)")
                return
            }
            guard time.secondsSince1970 == seconds else {
                Issue.record("\(time) is not \(seconds)")
                return
            }
            seconds += 86_400
            weekday = (weekday + 1) % 7
            day += 1
            if day > CivilTime.days(inMonth: month, year: year) { (month, day) = (month + 1, 1) }
            if month > 12 { (year, month) = (year + 1, 1) }
        }
        #expect((year, month, day) == (2_300, 1, 1))
    }

    @Test("Dates are ordered by time")
    func order() throws {
        #expect(
            try Headers.HTTPDate("Sun Nov  6 08:49:37 1994", now: now)
                < Headers.HTTPDate("Sun, 06 Nov 1994 08:49:38 GMT", now: now)
        )
    }

    @Test("Long hostile values end in an error", arguments: hostileFields.indices)
    func hostile(index: Int) {
        #expect(throws: Headers.FieldError.self) { try Headers.HTTPDate(hostileFields[index].value, now: now) }
    }
}
