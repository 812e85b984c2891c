import Foundation
import Testing

@testable import LadeCatalogue

@Suite("Segments without overlaps", .timeLimit(.minutes(5)))
struct SegmentTrackTests {
    static let reasons: [String: String] = ["L": "LEGAL", "G": "GEOBLOCK", "C": "COMMERCIAL"]

    private static func chapter(_ text: String, _ extra: String = "") throws -> Catalogue.Chapter {
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
        return try decoded(Catalogue.Chapter.self, "{\(extra)\"segmentList\": [\(segments.joined(separator: ", "))]}")
    }

    private static func text(_ segments: [Catalogue.Segment]) -> String {
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

    /// Compares the segments of a chapter with their text, such as `A 10 20 L, B 30 40`: URN, marks in seconds, and a letter for the
    /// reason that blocks the segment.
    private func expect(
        _ input: String,
        becomes output: String? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let segments = try #require(try Self.chapter(input).segments)

        #expect(Self.text(segments) == output ?? input, sourceLocation: location)
        #expect(segments.allSatisfy { $0.duration == $0.markOut - $0.markIn }, sourceLocation: location)
    }

    @Test("catalogue IL-SEG1 segments apart stay as they are")
    func segments1() throws {
        try expect("A 10 20, B 40 45")
    }

    @Test("catalogue IL-SEG2 blocked segments apart stay as they are")
    func segments2() throws {
        try expect("A 10 20 L, B 40 45 G")
    }

    @Test("catalogue IL-SEG3 the later of two overlapping segments goes first")
    func segments3() throws {
        try expect("A 10 20, B 15 35", becomes: "A 10 15, B 15 35")
    }

    @Test("catalogue IL-SEG4 a blocked later segment cuts the one before")
    func segments4() throws {
        try expect("A 10 20, B 15 35 G", becomes: "A 10 15, B 15 35 G")
    }

    @Test("catalogue IL-SEG5 a blocked earlier segment cuts the one after")
    func segments5() throws {
        try expect("A 10 20 G, B 15 35", becomes: "A 10 20 G, B 20 35")
    }

    @Test("catalogue IL-SEG6 of two blocked segments the later cuts the earlier")
    func segments6() throws {
        try expect("A 10 20 L, B 15 35 G", becomes: "A 10 15 L, B 15 35 G")
    }

    @Test("catalogue IL-SEG7 a segment inside another divides it")
    func segments7() throws {
        try expect("A 10 60, B 20 40", becomes: "A 10 20, B 20 40, A 40 60")
    }

    @Test("catalogue IL-SEG8 a blocked segment inside another divides it")
    func segments8() throws {
        try expect("A 10 60, B 20 40 G", becomes: "A 10 20, B 20 40 G, A 40 60")
    }

    @Test("catalogue IL-SEG9 a segment inside a blocked one is not shown")
    func segments9() throws {
        try expect("A 10 60 G, B 20 40", becomes: "A 10 60 G")
    }

    @Test("catalogue IL-SEG10 a blocked segment inside a blocked one divides it")
    func segments10() throws {
        try expect("A 10 60 L, B 20 40 G", becomes: "A 10 20 L, B 20 40 G, A 40 60 L")
    }

    @Test("catalogue IL-SEG11 a segment that begins with a longer one goes before it")
    func segments11() throws {
        try expect("A 10 60, B 10 40", becomes: "B 10 40, A 40 60")
    }

    @Test("catalogue IL-SEG12 a blocked segment that begins with a longer one goes before it")
    func segments12() throws {
        try expect("A 10 60, B 10 40 G", becomes: "B 10 40 G, A 40 60")
    }

    @Test("catalogue IL-SEG13 a segment that begins with a longer blocked one is not shown")
    func segments13() throws {
        try expect("A 10 60 G, B 10 40", becomes: "A 10 60 G")
    }

    @Test("catalogue IL-SEG14 a blocked segment that begins with a longer blocked one goes before it")
    func segments14() throws {
        try expect("A 10 60 L, B 10 40 G", becomes: "B 10 40 G, A 40 60 L")
    }

    @Test("catalogue IL-SEG15 of two segments with the same marks the last is shown")
    func segments15() throws {
        try expect("A 10 60, B 10 60", becomes: "B 10 60")
    }

    @Test("catalogue IL-SEG16 neighbours stay as they are")
    func segments16() throws {
        try expect("A 10 20, B 20 45")
    }

    @Test("catalogue IL-SEG18 segments without a duration or with their marks in the wrong order are none")
    func segments18() throws {
        try expect("A 10 10, A 60 10 50", becomes: "")
        try expect("A 10 20 0, B 30 40 -1", becomes: "")
    }

    @Test("catalogue IL-SEG19 each of a chain of segments cuts the one before")
    func segments19() throws {
        try expect("A 10 40, B 20 50, C 60 90", becomes: "A 10 20, B 20 50, C 60 90")
    }

    @Test("catalogue IL-SEG20 a chain of blocked segments is cut by its reasons")
    func segments20() throws {
        try expect(
            "A 10 40, B 20 70 L, C 30 60 C, D 60 90",
            becomes: "A 10 20, B 20 30 L, C 30 60 C, B 60 70 L, D 70 90"
        )
    }

    @Test("catalogue IL-SEG21 each step of a staircase cuts the one before")
    func segments21() throws {
        try expect("A 10 30, B 30 50 L, C 45 70 C, D 65 80", becomes: "A 10 30, B 30 45 L, C 45 70 C, D 70 80")
    }

    @Test("catalogue IL-SEG22 a rest below one second is dropped")
    func segments22() throws {
        try expect("A 10 60, B 10.5 30 G", becomes: "B 10.5 30 G, A 30 60")
    }

    @Test("catalogue IL-SEG17 a chapter without the list has no segments, and none of a list without a valid one")
    func absent() throws {
        #expect(try decoded(Catalogue.Chapter.self, "{}").segments == nil)
        #expect(try decoded(Catalogue.Chapter.self, #"{"segmentList": null}"#).segments == nil)
        #expect(try decoded(Catalogue.Chapter.self, #"{"segmentList": []}"#).segments == [])
        #expect(try decoded(Catalogue.Chapter.self, #"{"segmentList": [null]}"#).segments == [])
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

        #expect(try decoded(Catalogue.Chapter.self, "{\"segmentList\": [\(marks)]}").segments?.count == 2)
    }

    @Test("a visible segment goes before a hidden one")
    func hidden() throws {
        let json = """
            {"segmentList": [
                {"urn": "A", "markIn": 0, "markOut": 60000, "duration": 60000, "displayable": true},
                {"urn": "B", "markIn": 10000, "markOut": 20000, "duration": 10000, "displayable": false}
            ]}
            """

        #expect(Self.text(try #require(try decoded(Catalogue.Chapter.self, json).segments)) == "A 0 60")
    }

    @Test("of segments that begin together the shorter goes first, whatever their order")
    func equalBeginnings() throws {
        try expect("A 10 20, B 10 40", becomes: "A 10 20, B 20 40")
        try expect("B 10 40, A 10 20", becomes: "A 10 20, B 20 40")
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
