import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeHarvest

/// The merge of parts into one output.
@Suite("Merging parts", .timeLimit(.minutes(5)))
struct PartMergeTests {
    /// Writes a part of items, and returns its entry.
    private static func part(_ name: String, _ numbers: some Sequence<Int>, in folder: TemporaryFolder) throws
        -> PartMerge.Entry
    {
        let text = HarvestSample.lines(numbers)
        try folder.write(text, to: name)
        return PartMerge.Entry(
            name: name,
            bytes: Int64(text.utf8.count),
            checksum: CRC64.checksum(Array(text.utf8)),
            lines: text.utf8.count { $0 == 0x0A }
        )
    }

    @Test("fleet RD-82 RD-93 parts are joined byte for byte, from any of the folders")
    func joined() throws {
        let (one, two) = (try TemporaryFolder(), try TemporaryFolder())
        let entries = [
            try Self.part("a", 0..<3, in: one), try Self.part("b", 3..<3, in: two), try Self.part("c", 3..<7, in: two),
        ]
        let outcome = try PartMerge().write(entries, from: [one.path, two.path], to: one.file("out"))

        #expect(one.text("out") == HarvestSample.lines(0..<7))
        #expect(outcome?.items == 7)
        #expect(outcome?.bytes == Int64(HarvestSample.lines(0..<7).utf8.count))
        #expect(PartMerge.missing(entries, in: [two.path]).map(\.name) == ["a"])
    }

    @Test(
        "fleet RD-93 a part of another length, checksum or number of lines keeps the output of before",
        arguments: ["shorter", "longer", "changed", "lines", "missing", "link"]
    )
    func damaged(kind: String) throws {
        let folder = try TemporaryFolder()
        var entries = [try Self.part("a", 0..<3, in: folder), try Self.part("b", 3..<5, in: folder)]
        let text = try #require(folder.text("b"))
        switch kind {
        case "shorter": try folder.write(String(text.dropLast()), to: "b")
        case "longer": try folder.write(text + "\n", to: "b")
        case "changed": try folder.write(text.replacingOccurrences(of: "1.50", with: "1.51"), to: "b")
        case "lines": entries[1].lines = 3
        case "link":
            try FileManager.default.moveItem(atPath: folder.file("b"), toPath: folder.file("c"))
            try FileManager.default.createSymbolicLink(atPath: folder.file("b"), withDestinationPath: folder.file("c"))
        default: try FileManager.default.removeItem(atPath: folder.file("b"))
        }
        try folder.write("before", to: "out")

        #expect(throws: HarvestError.self) {
            try PartMerge().write(entries, from: [folder.path], to: folder.file("out"))
        }
        #expect(folder.text("out") == "before")
        #expect(!folder.names.contains("out.new"))
    }

    @Test("fleet RD-83 duplicates are counted over parts, and left out in the order of the output")
    func duplicates() throws {
        let folder = try TemporaryFolder()
        let entries = [try Self.part("a", 0..<3, in: folder), try Self.part("b", [2, 3, 0, 4], in: folder)]
        var merge = PartMerge()
        merge.identity = ["id"]
        let kept = try merge.write(entries, from: [folder.path], to: folder.file("kept"))
        merge.duplicates = .dropped
        let dropped = try merge.write(entries, from: [folder.path], to: folder.file("dropped"))

        #expect(folder.text("kept") == HarvestSample.lines([0, 1, 2, 2, 3, 0, 4]))
        #expect(folder.text("dropped") == HarvestSample.lines(0..<5))
        #expect([kept?.duplicates, dropped?.duplicates] == [2, 2])
        #expect(dropped?.items == 5)
    }

    @Test("fleet RD-83 the most items are cut by the merge, at every number", arguments: 0...8)
    func cut(limit: Int) throws {
        let folder = try TemporaryFolder()
        let entries = [try Self.part("a", 0..<3, in: folder), try Self.part("b", 3..<7, in: folder)]
        var merge = PartMerge()
        merge.itemLimit = limit
        let outcome = try merge.write(entries, from: [folder.path], to: folder.file("out"))

        #expect(folder.text("out") == HarvestSample.lines(0..<min(limit, 7)))
        #expect(outcome?.isCut == (limit < 7))
    }

    @Test("fleet RD-92 a worker that has lost the right to merge writes no output")
    func lost() throws {
        let folder = try TemporaryFolder()
        let entries = [try Self.part("a", 0..<3, in: folder), try Self.part("b", 3..<7, in: folder)]
        for allowed in 0..<3 {
            var asked = 0
            let outcome = try PartMerge().write(entries, from: [folder.path], to: folder.file("out")) {
                asked += 1
                return asked <= allowed
            }
            #expect(outcome == nil)
            #expect(!folder.names.contains { $0.hasPrefix("out") })
        }
    }

    @Test("fleet RD-93 ten thousand parts are merged")
    func many() throws {
        let folder = try TemporaryFolder()
        let entries = try (0..<10_000).map { try Self.part("p\($0)", $0..<$0 + 1, in: folder) }
        let outcome = try PartMerge().write(entries, from: [folder.path], to: folder.file("out"))

        #expect(outcome?.items == 10_000)
        #expect(folder.text("out") == HarvestSample.lines(0..<10_000))
    }

    @Test(
        "fleet RD-92 each call to the disk may fail: the output of before stays, or is the new one",
        arguments: RecordingCalls.Fault.allCases
    )
    func faults(fault: RecordingCalls.Fault) throws {
        let folder = try TemporaryFolder()
        let entries = [try Self.part("a", 0..<3, in: folder), try Self.part("b", 3..<7, in: folder)]
        for number in 0..<20 {
            try folder.write("before", to: "out")
            var merge = PartMerge()
            merge.calls = RecordingCalls(failing: number, fault)
            let outcome = try? merge.write(entries, from: [folder.path], to: folder.file("out"))
            let text = folder.text("out")
            #expect(text == (outcome == nil ? "before" : HarvestSample.lines(0..<7)))
            #expect(!folder.names.contains("out.new"))
        }
    }
}
