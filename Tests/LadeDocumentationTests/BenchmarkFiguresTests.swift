import Foundation
import Testing

/// What is measured of the cache, against the goals of its contract.
@Suite("Figures of the benchmarks", .timeLimit(.minutes(5)))
struct BenchmarkFiguresTests {
    /// A row of the table: id, what was measured, the figure, the goal, and whether it is met.
    private static func rows(of id: String) throws -> [[String]] {
        let page = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Benchmarks/README.md")
        return try String(contentsOf: page, encoding: .utf8).split(separator: "\n")
            .filter { $0.hasPrefix("| \(id) |") }
            .map { line in line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
    }

    private static func number(_ text: String) throws -> Double {
        try #require(Double(text.filter { $0.isNumber || $0 == "." }), "\(text)")
    }

    @Test(
        "cache CA-240 CA-241 CA-242 CA-243 CA-244 CA-245 CA-246 CA-247 every goal has a figure, which says if it is met",
        arguments: (240...247).map { "CA-\($0)" }
    )
    func states(id: String) throws {
        let rows = try Self.rows(of: id)

        #expect(!rows.isEmpty)
        for row in rows {
            try #require(row.count == 5, "\(row)")
            let (figure, goal) = (try Self.number(row[2]), try Self.number(row[3]))
            let isMet = row[3].hasPrefix("≥") ? figure >= goal : figure <= goal
            #expect(row[4] == (isMet ? "met" : "missed"), "\(row)")
        }
    }
}
