import Foundation
import Testing

@testable import LadeCore

/// Numbers, durations and dates are read whole or not at all.
@Suite("Whole", .timeLimit(.minutes(5)))
struct WholeTests {
    private let now = Date(timeIntervalSince1970: 1_767_225_600)

    static let counts: [(String, Int64?)] = [
        ("0", 0), ("5", 5), (" 5 ", 5), ("007", 7), ("9223372036854775807", .max), ("99999999999999999999999", .max),
        ("", nil), (" ", nil), ("+5", nil), ("-5", nil), ("5x", nil), ("1,000", nil), ("1 000", nil), ("5.0", nil),
        ("0x10", nil), ("1e3", nil), ("5\u{301}", nil), ("٣", nil), ("5\0", nil), ("2026-01-01", nil), ("5, 6", nil),
    ]

    @Test("finding LF-4 a count is digits and nothing else", arguments: counts)
    func count(text: String, value: Int64?) {
        #expect(Whole.count(text) == value)
    }

    static let decimals: [(String, Double?)] = [
        ("5", 5), ("1.5", 1.5), (".5", 0.5), ("5.", 5), (".", nil), ("", nil), ("1.2.3", nil), ("1e3", nil),
        ("inf", nil),
        ("nan", nil), ("-1", nil), ("+1", nil), ("0x1p3", nil), ("1,5", nil), ("5s", nil), ("1_000", nil),
    ]

    @Test("finding LF-4 a decimal has one point at most, no sign and no exponent", arguments: decimals)
    func decimal(text: String, value: Double?) {
        #expect(Whole.decimal(text) == value)
    }

    static let durations: [(String, Double?)] = [
        ("90", 90), ("1.5", 1.5), ("5m0s", 300), ("1h30m", 5_400), ("6m0s", 360), ("250ms", 0.25), ("1d2h", 93_600),
        ("20us", 0.00002), ("20µs", 0.00002), ("1.5h", 5_400), ("99999999999999", 2_147_483_648), ("5m0", nil),
        ("m", nil),
        ("5x", nil), ("5 m", nil), ("1m1h", nil), ("1s1s", nil), ("-5s", nil), ("5M", nil), ("", nil), ("5mx", nil),
        ("2026-01-01T00:00:05Z", nil),
    ]

    @Test("finding LF-4 a duration has known units, the longest first, or is a number of seconds", arguments: durations)
    func duration(text: String, seconds: Double?) {
        #expect(Whole.duration(text) == seconds.map { .seconds($0) })
    }

    static let dates: [(String, Double?)] = [
        ("2026-01-01T00:00:05Z", 1_767_225_605), ("2026-01-01t00:00:05z", 1_767_225_605),
        ("2026-01-01 00:00:05Z", 1_767_225_605), ("2026-01-01T01:00:05+01:00", 1_767_225_605),
        ("2025-12-31T23:30:05-0030", 1_767_225_605), ("2026-01-01T00:00:05.5Z", 1_767_225_605.5),
        ("2026-01-01", 1_767_225_600), ("Thu, 01 Jan 2026 00:00:05 GMT", 1_767_225_605),
        ("Thu Jan  1 00:00:05 2026", 1_767_225_605), ("1767225605", 1_767_225_605), ("1767225605.5", 1_767_225_605.5),
        ("1767225605000", 1_767_225_605), ("2026", nil), ("60", nil), ("2026-01-01T00:00:05", nil),
        ("2026-13-01T00:00:05Z", nil), ("2026-02-30", nil), ("2026-01-01T00:00:05Zx", nil), ("2026-01-01T", nil),
        ("tomorrow", nil), ("", nil), ("1767225605s", nil), ("1,767,225,605", nil), ("Thu, 01 Jan 2026", nil),
        ("99999999999999999", nil),
    ]

    @Test("finding LF-4 a date is that of HTTP or ISO 8601, or seconds or milliseconds since 1970", arguments: dates)
    func date(text: String, seconds: Double?) {
        #expect(Whole.date(text, now: now)?.timeIntervalSince1970 == seconds)
    }

    #if !os(iOS)
        /// The folder of the sources.
        private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources")

        @Test("finding LF-4 no parser reads the number at the beginning of a text")
        func noPrefixes() throws {
            let readers = [
                "Int(", "Int64(", "UInt(", "UInt16(", "UInt32(", "UInt64(", "Double(", "Float(", "Decimal(",
            ]
            let forbidden = ["strtol", "strtod", "atoi(", "atof(", "sscanf", "Scanner(string"]
            // Hexadecimal digits that are checked before they are read.
            let known = ["PageMarks.swift", "ServerConnection.swift"]
            var found: [String] = []
            let files = try #require(FileManager.default.enumerator(atPath: Self.sources.path()))
            for case let path as String in files
            where path.hasSuffix(".swift") && !known.contains(where: path.hasSuffix) {
                let bytes = try Data(contentsOf: Self.sources.appending(path: path))
                // Few lines have one of these, so that the slow search in texts has little to do.
                for mark in [".prefix {", ".prefix(while"] + forbidden {
                    var rest = bytes.startIndex..<bytes.endIndex
                    while let place = bytes.range(of: Data(mark.utf8), in: rest) {
                        rest = place.upperBound..<bytes.endIndex
                        let start = bytes[..<place.lowerBound].lastIndex(of: 0x0A).map { $0 + 1 } ?? bytes.startIndex
                        let before = String(decoding: bytes[start..<place.lowerBound], as: UTF8.self)
                        let isPrefix = readers.contains { reader in
                            before.range(of: reader, options: .backwards).map {
                                !before[$0.upperBound...].contains(")")
                            }
                                ?? false
                        }
                        if isPrefix || forbidden.contains(mark) { found.append("\(path): \(before)\(mark)") }
                    }
                }
            }
            #expect(found.isEmpty)
        }
    #endif
}
