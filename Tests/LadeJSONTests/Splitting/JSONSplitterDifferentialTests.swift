import Foundation
import Testing

@testable import LadeJSON

/// The splitter and Foundation's parser read the same documents, whole, mutated and truncated.
@Suite("The JSON splitter against Foundation", .timeLimit(.minutes(5)))
struct JSONSplitterDifferentialTests {
    @Test("agrees with Foundation on generated documents, in whatever pieces", arguments: 1...12 as ClosedRange<UInt64>)
    func generated(seed: UInt64) throws {
        var random = Seeded(seed)
        for round in 0..<60 {
            let document = Generator.document(&random)
            try compare(document, "seed \(seed), round \(round)", &random)
        }
    }

    @Test("agrees with Foundation on mutated and truncated documents", arguments: 101...112 as ClosedRange<UInt64>)
    func mutated(seed: UInt64) throws {
        var random = Seeded(seed)
        for round in 0..<200 {
            var document = Generator.document(&random)
            for _ in 0..<random.next(below: 3) + 1 { Generator.mutate(&document, &random) }
            try compare(document, "seed \(seed), round \(round)", &random)
        }
    }

    @Test("gives the same for every place a document can be cut in two", arguments: 201...203 as ClosedRange<UInt64>)
    func everyCut(seed: UInt64) {
        var random = Seeded(seed)
        let document = Generator.document(&random)
        let settings = JSONSplitter.Settings(values: [["0"], ["1", "a"]], identity: ["a"])
        let whole = JSONSplitterTests.run(document, settings)
        for cut in 0...document.count {
            var splitter = JSONSplitter(settings)
            var lines: [UInt8] = []
            var fault: JSONError?
            do throws(JSONError) {
                try splitter.consume(Data(document[..<cut]))
                splitter.takeLines(into: &lines)
                try splitter.consume(Data(document[cut...]))
                try splitter.finish()
            } catch {
                fault = error
            }
            splitter.takeLines(into: &lines)
            #expect(
                String(decoding: lines, as: UTF8.self) == whole.lines && fault == whole.fault,
                "seed \(seed), cut \(cut)"
            )
        }
    }

    private func compare(_ document: [UInt8], _ label: String, _ random: inout Seeded) throws {
        let outcome = JSONSplitterTests.run(document)
        let pieces = JSONSplitterTests.run(document, pieces: random.next(below: 7) + 1)
        #expect(outcome == pieces, "\(label): pieces change the outcome")
        let parsed = try? JSONSerialization.jsonObject(with: Data(document), options: .fragmentsAllowed)
        let text = String(decoding: document, as: UTF8.self)
        guard let parsed else {
            // Foundation refuses three things that RFC 8259 allows: halves of surrogate pairs, numbers beyond Double's
            // range, and what it takes for UTF-16 or UTF-32 by its first bytes.
            let isLenient = Generator.holdsWhatFoundationRefuses(document)
            #expect(outcome.fault != nil || isLenient, "\(label): Foundation refuses \(text)")
            return
        }
        #expect(
            outcome.fault == nil,
            "\(label): \(outcome) for \(text)"
        )
        guard outcome.fault == nil, let array = parsed as? [Any] else { return }
        let lines = outcome.lines.split(separator: "\n", omittingEmptySubsequences: true)
        try #require(lines.count == array.count, "\(label)")
        for (line, element) in zip(lines, array) {
            let item = try JSONSerialization.jsonObject(with: Data(line.utf8), options: .fragmentsAllowed)
            #expect((item as? NSObject) == (element as? NSObject), "\(label): \(line)")
        }
    }
}

private enum Generator {
    static func document(_ random: inout Seeded) -> [UInt8] {
        var bytes: [UInt8] = random.next(below: 20) == 0 ? [0xEF, 0xBB, 0xBF] : []
        if random.next(below: 30) == 0 {
            let depth = random.next(below: 500)
            bytes += Array(repeating: 0x5B, count: depth + 1) + Array(repeating: 0x5D, count: depth + 1)
            return bytes
        }
        space(&bytes, &random)
        bytes.append(0x5B)
        let count = random.next(below: 6)
        for index in 0..<count {
            if index > 0 { bytes.append(0x2C) }
            space(&bytes, &random)
            value(&bytes, &random, 4)
            space(&bytes, &random)
        }
        bytes.append(0x5D)
        space(&bytes, &random)
        return bytes
    }

    static func value(_ bytes: inout [UInt8], _ random: inout Seeded, _ depth: Int) {
        switch random.next(below: depth > 0 ? 8 : 6) {
        case 0: bytes += Array(["true", "false", "null"][random.next(below: 3)].utf8)
        case 1, 2: number(&bytes, &random)
        case 3, 4, 5: string(&bytes, &random)
        case 6:
            bytes.append(0x5B)
            for index in 0..<random.next(below: 4) {
                if index > 0 { bytes.append(0x2C) }
                space(&bytes, &random)
                value(&bytes, &random, depth - 1)
                space(&bytes, &random)
            }
            bytes.append(0x5D)
        default:
            bytes.append(0x7B)
            for index in 0..<random.next(below: 4) {
                if index > 0 { bytes.append(0x2C) }
                space(&bytes, &random)
                // Numbered, for Foundation may keep either of two members with one name.
                bytes += Array("\"\(index)".utf8)
                string(&bytes, &random, isOpen: true)
                space(&bytes, &random)
                bytes.append(0x3A)
                space(&bytes, &random)
                value(&bytes, &random, depth - 1)
                space(&bytes, &random)
            }
            bytes.append(0x7D)
        }
    }

    static func number(_ bytes: inout [UInt8], _ random: inout Seeded) {
        let samples = [
            "0", "-0", "1", "-12", "3.25", "1e5", "1E-7", "0.1e+3", "123456789012345", "18446744073709551616",
            "0.30000000000000004", "1234567890123456789012345678901234567890", "-9223372036854775808", "2.5e300",
        ]
        bytes += Array(samples[random.next(below: samples.count)].utf8)
    }

    static func string(_ bytes: inout [UInt8], _ random: inout Seeded, isOpen: Bool = false) {
        if !isOpen { bytes.append(0x22) }
        let samples = [
            "a", "bc", "plain text of some length", "é", "日本語", "😀", "\\n", "\\\"", "\\\\", "\\/", "\\u0041",
            "\\ud83d\\ude00", "\\u00e9", "\u{7F}", "{}[],:", " ", "\\b\\f\\r\\t",
        ]
        for _ in 0..<random.next(below: 6) { bytes += Array(samples[random.next(below: samples.count)].utf8) }
        bytes.append(0x22)
    }

    static func space(_ bytes: inout [UInt8], _ random: inout Seeded) {
        let samples: [String] = ["", "", "", " ", "\n", "\t", "\r\n", "          ", "\n    "]
        bytes += Array(samples[random.next(below: samples.count)].utf8)
    }

    static func mutate(_ bytes: inout [UInt8], _ random: inout Seeded) {
        guard !bytes.isEmpty else { return }
        let place = random.next(below: bytes.count)
        let interesting =
            Array("{}[],:\"\\0123456789eE+-.truefalsn \n\u{1}u/ed8".utf8) + [0x80, 0xC3, 0xE2, 0xED, 0xF0, 0xFF]
        switch random.next(below: 4) {
        case 0: bytes[place] = interesting[random.next(below: interesting.count)]
        case 1: bytes.remove(at: place)
        case 2: bytes.insert(interesting[random.next(below: interesting.count)], at: place)
        default: bytes.removeSubrange(place...)
        }
    }

    static func holdsWhatFoundationRefuses(_ bytes: [UInt8]) -> Bool {
        let text = String(decoding: bytes, as: UTF8.self).lowercased()
        return text.contains("\\ud") || text.contains(/[0-9]e/) || bytes.contains(0) || text.contains(/[0-9]{39}/)
    }
}
