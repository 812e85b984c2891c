#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Testing

@testable import LadeJSON

@Suite(.timeLimit(.minutes(5))) struct NumberTests {
    private func double(_ text: String) -> Double {
        Array(text.utf8).withUnsafeBufferPointer { DecimalParser.double($0) }
    }

    @Test func roundsRandomNumbersAsTheStandardLibraryDoes() {
        var bits = Seeded(7)
        for _ in 0..<20_000 {
            let digits = (0...bits.next(below: 25)).map { _ in String(bits.next(below: 10)) }.joined()
            let fraction = (0...bits.next(below: 20)).map { _ in String(bits.next(below: 10)) }.joined()
            let text = "\(bits.next(below: 2) == 0 ? "-" : "")\(digits).\(fraction)e\(bits.next(below: 700) - 360)"
            #expect(double(text).bitPattern == Double(text)?.bitPattern, "\(text)")
        }
    }

    @Test func readsBackEveryDoubleThatIsWritten() {
        var bits = Seeded(8)
        for _ in 0..<20_000 {
            let pattern = UInt64(bits.next(below: 1 << 31)) << 33 ^ UInt64(bits.next(below: 1 << 40))
            let value = Double(bitPattern: pattern)
            guard value.isFinite else { continue }
            #expect(double("\(value)").bitPattern == value.bitPattern)
        }
    }

    @Test(arguments: [
        "2.2250738585072011e-308", "4.9406564584124654e-324", "2.4703282292062327e-324", "2.4703282292062328e-324",
        "1.7976931348623158e308", "1.7976931348623159e308", "9007199254740993",
        "9007199254740992.99999999999999999999999",
        "9007199254740993.00000000000000000000000001", "0.000000000000000000000000000000000000000000000000001", "1e23",
        "8.5e22",
        "6929495644600919.5", "7120190517612959703", "1090544144181609348671888949248", "0e5", "-0", "1e-5000",
        "1e99999999999999999999", "1e-99999999999999999999", "1e18446744073709551617", "1e-18446744073709551617",
        "1e5000", "123456789012345678901234567890",
    ])
    func roundsDifficultNumbers(_ text: String) {
        #expect(double(text).bitPattern == Double(text)?.bitPattern)
    }

    @Test(
        "an integer that is written with a point or an exponent is exact, and a number with any fraction is none",
        arguments: [
            ("1.00000000000000000001", nil), ("0.99999999999999999999", nil), ("1e-400", nil), ("-1e-400", nil),
            ("1e99999999999999999999", nil), ("1e-99999999999999999999", nil), ("0e99999999999999999999", 0),
            ("-0.0e-99999999999999999999", 0), ("0e999999999999", 0), ("10e-1", 1), ("1.50e1", 15), ("-1.0", -1),
            ("4503599627370496.5", nil), ("9007199254740993.0", 9_007_199_254_740_993), ("0.000e3", 0),
            ("12.30e1", 123), ("12.3e0", nil), ("1e18", 1_000_000_000_000_000_000), ("1e19", nil),
            ("100000000000000000000e-20", 1), ("0.00000000000000000001e20", 1),
        ] as [(String, Int?)]
    )
    func integersWithAPoint(_ text: String, _ value: Int?) {
        #expect((try? FastJSONDecoder().decode(Int.self, from: Data(text.utf8))) == value)
        #expect(JSONValue.Number(text)?.integer(as: Int.self) == value)
    }

    @Test(
        "dates of any other form, and those that do not exist, are left to Foundation",
        arguments: [
            "2023-01-01T24:00:00Z", "2023-01-01T23:60:00Z", "2023-01-01T23:59:60Z", "2023-01-01T00:00:00+15:00",
            "2023-01-01T00:00:00+02-00", "2023-01-01T00:00:00+02:60", "2023-01-01T00:00:00X", "2023-02-29T00:00:00Z",
            "2023-04-31T00:00:00Z", "1900-02-29T00:00:00Z", "2023-00-01T00:00:00Z", "2023-13-01T00:00:00Z",
            "2023-01-00T00:00:00Z", "1582-12-31T00:00:00Z", "2023/01/01T00:00:00Z", "2023-01-01 00:00:00Z",
            "2023-01-01T00.00.00Z", "2023-01-01T00:00:00Z ", "2023-01-01T00:00:00*02:00", "2o23-01-01T00:00:00Z",
        ]
    )
    func otherDates(text: String) {
        #expect(Array(text.utf8).withUnsafeBufferPointer { ISO8601Date.parse($0) } == nil)
    }

    @Test func readsRandomDatesAsFoundationDoes() throws {
        var bits = Seeded(9)
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        for _ in 0..<3_000 {
            let day =
                "\(1583 + bits.next(below: 900))-\(two(1 + bits.next(below: 12)))-\(two(1 + bits.next(below: 31)))"
            let time = "\(two(bits.next(below: 24))):\(two(bits.next(below: 60))):\(two(bits.next(below: 60)))"
            let zone =
                bits.next(below: 2) == 0
                ? "Z"
                : "\(bits.next(below: 2) == 0 ? "+" : "-")\(two(bits.next(below: 15))):\(two(bits.next(below: 60)))"
            let text = "\(day)T\(time)\(zone)"
            guard let date = Array(text.utf8).withUnsafeBufferPointer({ ISO8601Date.parse($0) }) else { continue }
            #expect(try Date.ISO8601FormatStyle().parse(text) == date, "\(text)")
        }
    }
}
