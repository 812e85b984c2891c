import Foundation
import LadeTesting
import Testing

@testable import LadeCatalogue

@Suite("Days in Zurich", .timeLimit(.minutes(5)))
struct DayTests {
    @Test("catalogue IL-CAL1 the calendar has the current locale")
    func locale() throws {
        #expect(try #require(Calendar.catalogue).locale == Locale.current)
    }

    @Test("catalogue IL-CAL2 the calendar is in Zurich")
    func zone() throws {
        let calendar = try #require(Calendar.catalogue)

        #expect(calendar.timeZone.identifier == "Europe/Zurich" && calendar.identifier == .gregorian)
    }

    private func expect(_ day: Catalogue.Day, _ text: String, _ location: SourceLocation = #_sourceLocation) {
        #expect(day.string == text && day.description == text, sourceLocation: location)
    }

    @Test("catalogue IL-DAY1 a day is written as year, month and day")
    func written() {
        expect(Catalogue.Day(day: 7, month: 1, year: 2016), "2016-01-07")
    }

    @Test("catalogue IL-DAY3 a day without components is 1 January of year 1")
    func noComponents() {
        expect(Catalogue.Day(), "0001-01-01")
    }

    @Test("catalogue IL-DAY4 a year alone is its first day")
    func yearAlone() {
        expect(Catalogue.Day(year: 2015), "2015-01-01")
    }

    @Test("catalogue IL-DAY5 a month alone is its first day in year 1")
    func monthAlone() {
        expect(Catalogue.Day(month: 12), "0001-12-01")
    }

    @Test("catalogue IL-DAY6 a day alone is in January of year 1")
    func dayAlone() {
        expect(Catalogue.Day(day: 7), "0001-01-07")
    }

    @Test("catalogue IL-DAY7 day 40 of January is in February")
    func dayBeyondItsMonth() {
        expect(Catalogue.Day(day: 40, month: 1, year: 2015), "2015-02-09")
    }

    @Test("catalogue IL-DAY8 month 15 is in the next year")
    func monthBeyondItsYear() {
        expect(Catalogue.Day(day: 10, month: 15, year: 2012), "2013-03-10")
    }

    @Test("catalogue IL-DAY15 days, months and years are added")
    func adding() {
        expect(Catalogue.Day(day: 3, month: 1, year: 2016).adding(days: 7, months: 4, years: 1), "2017-05-10")
    }

    @Test("catalogue IL-DAY16 days, months and years are subtracted")
    func subtracting() {
        expect(Catalogue.Day(day: 3, month: 1, year: 2016).adding(days: -4, months: -6, years: -1), "2014-06-29")
    }

    @Test("catalogue IL-DAY17 more days than a month has, and more months than a year has, are added")
    func addingMany() {
        expect(Catalogue.Day(day: 3, month: 1, year: 2016).adding(days: 50, months: 20), "2017-10-23")
    }

    @Test("catalogue IL-DAY18 more days than a month has, and more months than a year has, are subtracted")
    func subtractingMany() {
        expect(Catalogue.Day(day: 3, month: 1, year: 2016).adding(days: -70, months: -15), "2014-07-25")
    }

    @Test("catalogue IL-DAY19 the start of a year is its first day")
    func startOfYear() {
        expect(Catalogue.Day(day: 3, month: 7, year: 2015).start(of: .year), "2015-01-01")
    }

    @Test("catalogue IL-DAY20 the start of a month is its first day")
    func startOfMonth() {
        expect(Catalogue.Day(day: 3, month: 7, year: 2015).start(of: .month), "2015-07-01")
    }

    @Test("catalogue IL-DAY2 an instant is on the day that Zurich has")
    func instant() throws {
        #expect(Catalogue.Day(try date("2015-07-03T07:41:00Z")).string == "2015-07-03")
        #expect(Catalogue.Day(try date("2015-07-03T21:59:59Z")).string == "2015-07-03")
        #expect(Catalogue.Day(try date("2015-07-03T22:00:00Z")).string == "2015-07-04")
        #expect(Catalogue.Day(try date("2015-01-03T22:59:59Z")).string == "2015-01-03")
        #expect(Catalogue.Day(try date("2015-01-03T23:00:00Z")).string == "2015-01-04")
    }

    @Test("catalogue IL-DAY9 days are equal when day, month and year are")
    func equality() {
        let day = Catalogue.Day(day: 7, month: 4, year: 2010)

        #expect(day == Catalogue.Day(day: 7, month: 4, year: 2010))
        #expect(day.hashValue == Catalogue.Day(day: 7, month: 4, year: 2010).hashValue)
        #expect(day != Catalogue.Day(day: 3, month: 4, year: 2010))
        #expect(day != Catalogue.Day(day: 7, month: 4, year: 2011))
    }

    @Test("catalogue IL-DAY10 days are ordered by date")
    func order() {
        let day = Catalogue.Day(day: 7, month: 4, year: 2010)

        #expect(
            !(day < Catalogue.Day(day: 7, month: 4, year: 2010)) && !(day > Catalogue.Day(day: 7, month: 4, year: 2010))
        )
        #expect(day > Catalogue.Day(day: 3, month: 4, year: 2010))
        #expect(day < Catalogue.Day(day: 7, month: 4, year: 2011))
    }

    @Test("catalogue IL-DAY11 the day of an instant is that day")
    func dayOfInstant() throws {
        #expect(Catalogue.Day(day: 7, month: 4, year: 2010) == Catalogue.Day(try date("2010-04-07T07:41:00Z")))
    }

    @Test("catalogue IL-DAY12 a copy is equal")
    func copy() {
        let day = Catalogue.Day(day: 7, month: 4, year: 2010)
        let copy = day

        #expect(copy == day)
    }

    @Test("catalogue IL-DAY13 today is the day of the current instant")
    func today() throws {
        let time = VirtualTime()

        #expect(Catalogue.Day.today(time) == Catalogue.Day(time.date))
    }

    @Test("catalogue IL-DAY14 the time of day does not count")
    func timeOfDay() throws {
        #expect(Catalogue.Day(try date("2013-04-05T08:45:27Z")) == Catalogue.Day(day: 5, month: 4, year: 2013))
        #expect(
            Catalogue.Day(try date("2013-04-05T08:45:27Z"))
                == Catalogue.Day(Catalogue.Day(day: 5, month: 4, year: 2013).date)
        )
    }

    private func distance(_ units: Set<Catalogue.Day.Unit>) -> [Int?] {
        let components = Catalogue.Day(day: 4, month: 1, year: 2014).components(
            units,
            to: Catalogue.Day(day: 8, month: 5, year: 2017)
        )
        return [components[.year], components[.month], components[.week], components[.day]]
    }

    @Test("catalogue IL-DAY21 a distance has years, months and days")
    func yearsMonthsDays() {
        #expect(distance([.year, .month, .day]) == [3, 4, nil, 4])
    }

    @Test("catalogue IL-DAY22 a distance in years and months has no days")
    func yearsMonths() {
        #expect(distance([.year, .month]) == [3, 4, nil, nil])
    }

    @Test("catalogue IL-DAY23 a distance in years and days has no months")
    func yearsDays() {
        #expect(distance([.year, .day]) == [3, nil, nil, 124])
    }

    @Test("catalogue IL-DAY24 a distance in years has nothing else")
    func years() {
        #expect(distance([.year]) == [3, nil, nil, nil])
    }

    @Test("catalogue IL-DAY25 a distance in months counts those of the years")
    func months() {
        #expect(distance([.month]) == [nil, 40, nil, nil])
    }

    @Test("catalogue IL-DAY26 a distance in days counts all of them")
    func days() {
        #expect(distance([.day]) == [nil, nil, nil, 1220])
    }

    @Test("catalogue IL-DAY27 days have no smaller units: hours, minutes and seconds between them are 0")
    func smallUnits() {
        let start = Catalogue.Day(day: 4, month: 1, year: 2014)
        let rest = start.adding(days: 4, months: 4, years: 3)

        #expect(rest == Catalogue.Day(day: 8, month: 5, year: 2017))
        #expect(rest.date.timeIntervalSince(Catalogue.Day(day: 8, month: 5, year: 2017).date) == 0)
    }

    @Test("catalogue IL-DAY28 a day begins at midnight in Zurich")
    func beginning() throws {
        #expect(Catalogue.Day(day: 3, month: 1, year: 2016).date == (try date("2016-01-02T23:00:00Z")))
        #expect(Catalogue.Day(day: 3, month: 7, year: 2016).date == (try date("2016-07-02T22:00:00Z")))
    }

    @Test("distances go back as they go forth, and in weeks")
    func backwards() {
        let start = Catalogue.Day(day: 8, month: 5, year: 2017)
        let components = start.components(
            [.year, .month, .week, .day],
            to: Catalogue.Day(day: 4, month: 1, year: 2014)
        )

        #expect((components[.year], components[.month], components[.week], components[.day]) == (-3, -4, 0, -4))
        #expect(start.components([.week, .day], to: start.adding(days: 17))[.week] == 2)
        #expect(start.start(of: .week).string == "2017-05-08" && start.adding(days: 6).start(of: .week) == start)
        #expect(start.start(of: .day) == start)
    }

    @Test("a month without the day ends with its last one")
    func shortMonths() {
        #expect(Catalogue.Day(day: 31, month: 1, year: 2016).adding(months: 1).string == "2016-02-29")
        #expect(Catalogue.Day(day: 29, month: 2, year: 2016).adding(years: 1).string == "2017-02-28")
    }

    @Test("days agree with the calendar for every day of 60 years")
    func agreesWithFoundation() throws {
        let calendar = try #require(Calendar.catalogue)
        var day = Catalogue.Day(day: 1, month: 1, year: 1982)
        while day.year < 2042 {
            let parts = calendar.dateComponents([.year, .month, .day, .hour], from: day.date)
            guard (parts.year, parts.month, parts.day, parts.hour) == (day.year, day.month, day.day, 0) else {
                Issue.record("\(day) begins at \(day.date)")
                return
            }
            let last = day.adding(days: 1).date.addingTimeInterval(-1)
            guard Catalogue.Day(last) == day else {
                Issue.record("\(day) ends before \(last)")
                return
            }
            day = day.adding(days: 1)
        }
    }

    @Test("only days that exist can be read, and huge numbers end nothing")
    func reading() throws {
        #expect(Catalogue.Day("2016-02-29")?.string == "2016-02-29")
        for text in [
            "", "2015-02-29", "2016-2-3", "2016-13-01", "2016-00-10", "0000-01-01", "+016-01-01", "2016-01-01T00", "x",
        ] {
            #expect(Catalogue.Day(text) == nil, "\(text)")
            #expect(throws: CatalogueError.dayOutOfRange(text)) { try Catalogue.Day(validating: text) }
        }
        #expect(!Catalogue.Day(day: .max, month: .min, year: .max).isInRange)
        #expect(
            !Catalogue.Day(day: 1, month: 1, year: 10_000).isInRange
                && Catalogue.Day(day: 31, month: 12, year: 9_999).isInRange
        )
        #expect(!Catalogue.Day(Date(timeIntervalSince1970: .infinity)).isInRange)
        #expect(Catalogue.Day(Date(timeIntervalSince1970: .nan)) == Catalogue.Day(day: 1, month: 1, year: 1970))
    }

    @Test("times are written as they are in Zurich, without zone")
    func times() throws {
        #expect(ZurichTime.text(of: try date("2023-05-01T18:00:24Z")) == "2023-05-01T20:00:24")
        #expect(ZurichTime.text(of: try date("2023-12-31T23:30:00Z")) == "2024-01-01T00:30:00")
        #expect(ZurichTime.text(of: try date("2023-03-26T00:59:59Z")) == "2023-03-26T01:59:59")
        #expect(ZurichTime.text(of: try date("2023-03-26T01:00:00Z")) == "2023-03-26T03:00:00")
        #expect(ZurichTime.text(of: try date("2023-10-29T00:59:59Z")) == "2023-10-29T02:59:59")
        #expect(ZurichTime.text(of: try date("2023-10-29T01:00:00Z")) == "2023-10-29T02:00:00")
        // Summer time exists since 1981, and ended in September until 1995.
        #expect(ZurichTime.text(of: try date("1980-07-01T12:00:00Z")) == "1980-07-01T13:00:00")
        #expect(ZurichTime.text(of: try date("1981-07-01T12:00:00Z")) == "1981-07-01T14:00:00")
        #expect(ZurichTime.text(of: try date("1995-10-10T12:00:00Z")) == "1995-10-10T13:00:00")
        #expect(ZurichTime.text(of: try date("1996-10-10T12:00:00Z")) == "1996-10-10T14:00:00")
        #expect(ZurichTime.text(of: Date(timeIntervalSince1970: -0.5)) == "1970-01-01T00:59:59")
    }
}
