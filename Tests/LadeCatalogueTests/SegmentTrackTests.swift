import Foundation
import Testing

@testable import LadeCatalogue

@Suite("Segments without overlaps", .timeLimit(.minutes(1)))
struct SegmentTrackTests {
    /// `A 10–20 L`: URN, marks in seconds, and a letter for what blocks it.
    struct Row: Sendable {
        let input: String
        let output: String

        init(_ input: String, _ output: String? = nil) {
            self.input = input
            self.output = output ?? input
        }
    }

    static let cases: [Case<Row>] = [
        Case("IL-SEG1", Row("A 10 20, B 40 45")),
        Case("IL-SEG2", Row("A 10 20 L, B 40 45 G")),
        Case("IL-SEG3", Row("A 10 20, B 15 35", "A 10 15, B 15 35")),
        Case("IL-SEG4", Row("A 10 20, B 15 35 G", "A 10 15, B 15 35 G")),
        Case("IL-SEG5", Row("A 10 20 G, B 15 35", "A 10 20 G, B 20 35")),
        Case("IL-SEG6", Row("A 10 20 L, B 15 35 G", "A 10 15 L, B 15 35 G")),
        Case("IL-SEG7", Row("A 10 60, B 20 40", "A 10 20, B 20 40, A 40 60")),
        Case("IL-SEG8", Row("A 10 60, B 20 40 G", "A 10 20, B 20 40 G, A 40 60")),
        Case("IL-SEG9", Row("A 10 60 G, B 20 40", "A 10 60 G")),
        Case("IL-SEG10", Row("A 10 60 L, B 20 40 G", "A 10 20 L, B 20 40 G, A 40 60 L")),
        Case("IL-SEG11", Row("A 10 60, B 10 40", "B 10 40, A 40 60")),
        Case("IL-SEG12", Row("A 10 60, B 10 40 G", "B 10 40 G, A 40 60")),
        Case("IL-SEG13", Row("A 10 60 G, B 10 40", "A 10 60 G")),
        Case("IL-SEG14", Row("A 10 60 L, B 10 40 G", "B 10 40 G, A 40 60 L")),
        Case("IL-SEG15", Row("A 10 60, B 10 60", "B 10 60")),
        Case("IL-SEG16", Row("A 10 20, B 20 45")),
        Case("IL-SEG18", Row("A 10 10, A 60 10 50", "")),
        Case("IL-SEG19", Row("A 10 40, B 20 50, C 60 90", "A 10 20, B 20 50, C 60 90")),
        Case(
            "IL-SEG20",
            Row("A 10 40, B 20 70 L, C 30 60 C, D 60 90", "A 10 20, B 20 30 L, C 30 60 C, B 60 70 L, D 70 90")
        ),
        Case(
            "IL-SEG21",
            Row("A 10 30, B 30 50 L, C 45 70 C, D 65 80", "A 10 30, B 30 45 L, C 45 70 C, D 70 80")
        ),
        Case("IL-SEG22", Row("A 10 60, B 10.5 30 G", "B 10.5 30 G, A 30 60")),
    ]

    static let reasons: [String: String] = ["L": "LEGAL", "G": "GEOBLOCK", "C": "COMMERCIAL"]

    private static func chapter(_ text: String, _ extra: String = "") throws -> Chapter {
        let segments = text.split(separator: ", ").map { item -> String in
            let words = item.split(separator: " ").map(String.init)
            let marks = words.compactMap { Double($0) }.map { Int($0 * 1000) }
            let reason = words.last.flatMap { reasons[$0] }.flatMap { words.count > 3 ? $0 : nil }
            let duration = marks.count > 2 ? marks[2] : marks[1] - marks[0]
            return """
                {"urn": "\(words[0])", "markIn": \(marks[0]), "markOut": \(marks[1]), "duration": \(duration)\
                \(reason.map { ", \"blockReason\": \"\($0)\"" } ?? "")}
                """
        }
        return try decoded(Chapter.self, "{\(extra)\"segmentList\": [\(segments.joined(separator: ", "))]}")
    }

    private static func text(_ segments: [Segment]) -> String {
        segments.map { segment in
            let marks = [segment.markIn, segment.markOut].map { mark -> String in
                let seconds = mark / .seconds(1)
                return Int(exactly: seconds).map(String.init) ?? String(seconds)
            }
            let reason = reasons.first { $0.value == segment.originalBlockingReason.rawValue }?.key
            return ([segment.urn] + marks + (reason.map { [$0] } ?? [])).joined(separator: " ")
        }
        .joined(separator: ", ")
    }

    @Test("catalogue IL-SEG1 to IL-SEG22: segments are cut where they overlap", arguments: cases)
    func flattening(_ entry: Case<Row>) throws {
        let segments = try #require(try Self.chapter(entry.row.input).segments)

        #expect(Self.text(segments) == entry.row.output)
        #expect(segments.allSatisfy { $0.duration == $0.markOut - $0.markIn })
    }

    @Test("catalogue IL-SEG17 a chapter without the list has no segments, and none of a list without a valid one")
    func absent() throws {
        #expect(try decoded(Chapter.self, "{}").segments == nil)
        #expect(try decoded(Chapter.self, #"{"segmentList": null}"#).segments == nil)
        #expect(try decoded(Chapter.self, #"{"segmentList": []}"#).segments == [])
        #expect(try decoded(Chapter.self, #"{"segmentList": [null]}"#).segments == [])
    }

    @Test("parts of one segment merge when they are neighbours, and not across a gap")
    func gaps() throws {
        #expect(Self.text(try #require(try Self.chapter("A 10 20, A 30 40").segments)) == "A 10 20, A 30 40")
        #expect(Self.text(try #require(try Self.chapter("A 10 20, A 20 40").segments)) == "A 10 40")
    }

    @Test("segments without URN never merge")
    func withoutURN() throws {
        let marks =
            #"{"markIn": 0, "markOut": 5000, "duration": 5000}, {"markIn": 5000, "markOut": 9000, "duration": 4000}"#

        #expect(try decoded(Chapter.self, "{\"segmentList\": [\(marks)]}").segments?.count == 2)
    }

    @Test("a visible segment goes before a hidden one")
    func hidden() throws {
        let json = """
            {"segmentList": [
                {"urn": "A", "markIn": 0, "markOut": 60000, "duration": 60000, "displayable": true},
                {"urn": "B", "markIn": 10000, "markOut": 20000, "duration": 10000, "displayable": false}
            ]}
            """

        #expect(Self.text(try #require(try decoded(Chapter.self, json).segments)) == "A 0 60")
    }

    @Test("thousands of nested segments are cut in a moment")
    func many() throws {
        let text = (0..<20_000).map { "S\($0) \($0) \(80_000 - $0)" }.joined(separator: ", ")
        let segments = try #require(try Self.chapter(text).segments)

        #expect(segments.count == 39_999 && segments.first?.urn == "S0" && segments.last?.urn == "S0")
    }

    @Test("random segments are disjoint, in order, and cover what the input covers", arguments: UInt64(1)...40)
    func random(seed: UInt64) throws {
        var state = seed
        func next(_ limit: UInt64) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int((state >> 33) % limit)
        }
        let text = (0..<(2 + next(8))).map { index -> String in
            let start = next(50)
            let reason = ["", " L", "", " G"][next(4)]
            return "S\(index) \(start) \(start + 1 + next(30))\(reason)"
        }
        .joined(separator: ", ")
        let segments = try #require(try Self.chapter(text).segments)

        for (segment, following) in zip(segments, segments.dropFirst()) { #expect(segment.markOut <= following.markIn) }
        let blocked = text.split(separator: ", ").filter { $0.hasSuffix("L") || $0.hasSuffix("G") }
        for second in 0..<90 {
            let instant = Duration.seconds(second)
            func covers(_ item: Substring) -> Bool {
                let marks = item.split(separator: " ").compactMap { Int($0) }
                return marks[0] <= second && second < marks[1]
            }
            let found = segments.filter { $0.markIn <= instant && instant < $0.markOut }
            #expect(
                found.count == (text.split(separator: ", ").contains(where: covers) ? 1 : 0),
                "seed \(seed), \(second) s"
            )
            let isBlocked = found.first.map { $0.originalBlockingReason != .none } ?? false
            #expect(isBlocked == blocked.contains(where: covers), "seed \(seed), \(second) s")
        }
    }
}
