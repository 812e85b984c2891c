import Foundation
import Lade
import Testing

@testable import LadeHarvest

/// The partitions of a list, from ranges and from lines.
@Suite("Partitions of a list", .timeLimit(.minutes(5)))
struct HarvestPartitionsTests {
    private static func queries(_ partitions: HarvestPartitions?) throws -> [String] {
        let partitions = try #require(partitions)
        let original = try Request("https://api.example.com/list?size=5")
        return (0..<partitions.count).map { index in
            partitions.request(index, of: original).url.query(percentEncoded: false) ?? ""
        }
    }

    @Test(
        "fleet RD-73 a range is half-open, of integers or of dates with a period of ISO 8601",
        arguments: [
            ("year=2020..2023/1", ["year=2020", "year=2021", "year=2022"]),
            ("from,to=0..10/4", ["from=0&to=4", "from=4&to=8", "from=8&to=10"]),
            ("n=-2..1/1", ["n=-2", "n=-1", "n=0"]),
            ("day=2024-02-28..2024-03-02/P1D", ["day=2024-02-28", "day=2024-02-29", "day=2024-03-01"]),
            (
                "s,u=2026-01-31..2026-04-01/P1M",
                [
                    "s=2026-01-31&u=2026-02-28", "s=2026-02-28&u=2026-03-31", "s=2026-03-31&u=2026-04-01",
                ]
            ),
            ("y=1899-01-01..1901-01-01/P1Y", ["y=1899-01-01", "y=1900-01-01"]),
            ("w=2025-12-29..2026-01-10/P1W", ["w=2025-12-29", "w=2026-01-05"]),
            (
                "t=2026-12-31T18:00:00Z..2027-01-01T06:00:01Z/PT6H",
                [
                    "t=2026-12-31T18:00:00Z", "t=2027-01-01T00:00:00Z", "t=2027-01-01T06:00:00Z",
                ]
            ),
        ] as [(String, [String])]
    )
    func ranges(text: String, expected: [String]) throws {
        #expect(try Self.queries(HarvestPartitions(range: text)) == expected.map { "size=5&" + $0 })
    }

    @Test(
        "fleet RD-73 a range that is empty, endless, too long or of no form is refused",
        arguments: [
            "", "year", "year=", "year=1..2", "year=1..2/", "year=2..2/1", "year=3..2/1", "year=1..9/0", "year=1..9/-1",
            "=1..2/1", "a,=1..2/1", "year=0..1000001/1", "d=2026-02-30..2026-03-01/P1D", "d=2026-01-01..2026-02-01/P0D",
            "d=2026-01-01..2026-02-01/PT6H", "d=2026-01-01..2026-02-01T00:00:00Z/P1D", "d=2026-1-1..2026-02-01/P1D",
            "d=2026-01-01..2026-02-01/1", "d=2026-01-01..2026-02-01/P", "d=2026-01-01..2026-02-01/P1",
            "n=-9223372036854775808..9223372036854775807/1", "n=1..2/1/1",
        ]
    )
    func refused(text: String) {
        #expect(HarvestPartitions(range: text) == nil)
    }

    @Test("fleet RD-73 lines are sets of query items; lines that cannot stand in an address are refused")
    func lines() throws {
        let partitions = HarvestPartitions(lines: "region=eu&kind=a\r\n\nregion=us\nregion=s%C3%BCd\n")

        #expect(
            try Self.queries(partitions) == [
                "size=5&region=eu&kind=a", "size=5&region=us", "size=5&region=süd",
            ]
        )
        #expect(HarvestPartitions(lines: "\n\n") == nil)
        #expect(try Self.queries(HarvestPartitions.none) == ["size=5"])
    }

    @Test("fleet RD-73 steps of days agree with the calendar over four centuries")
    func calendar() throws {
        let range = try #require(PartitionRange("1800-01-01..2200-01-01/P7D"))
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        let start = try #require(calendar.date(from: DateComponents(year: 1800, month: 1, day: 1)))
        for index in stride(from: 0, to: range.count, by: 13) {
            let date = try #require(calendar.date(byAdding: .day, value: 7 * index, to: start))
            let parts = calendar.dateComponents([.year, .month, .day], from: date)
            let expected = String(format: "%04d-%02d-%02d", parts.year ?? 0, parts.month ?? 0, parts.day ?? 0)
            #expect(range.bound(index) == expected)
        }
    }
}
