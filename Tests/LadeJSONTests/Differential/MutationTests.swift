#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Testing

/// Samples with bytes changed at random: still the same responses as Foundation's.
@Suite(.timeLimit(.minutes(5))) struct MutationTests {
    private static let pieces = [
        "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "null", "true", "\\u0061", "\\ud83d", "a", " ",
        "\u{1}", "é",
    ]

    private static func mutated(_ sample: Data, _ bits: inout Seeded) -> Data {
        var bytes = Array(sample.prefix(2000))
        for _ in 0...bits.next(below: 2) {
            let place = bits.next(below: bytes.count + 1)
            switch bits.next(below: 4) {
            case 0: bytes.insert(contentsOf: pieces[bits.next(below: pieces.count)].utf8, at: place)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2 where place < bytes.count: bytes[place] = UInt8(bits.next(below: 256))
            default: bytes.removeSubrange(min(place, max(bytes.count - 3, 0))...)
            }
        }
        return Data(bytes)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func answersAsFoundationDoesToMutations(_ seed: UInt64) {
        var bits = Seeded(seed)
        let (foundation, fast) = DifferentialTests.Setting.all[Int(seed)].decoders
        var differences: [String] = []
        for round in 0..<1500 {
            let data = Self.mutated(Samples.all[bits.next(below: Samples.all.count)], &bits)
            let subject = Subject.all[bits.next(below: Subject.all.count)]
            let found = subject.fast(fast, data)
            // It is known to be malformed, by the grammar that was written down a second time.
            if found == Outcome.invalid, !Grammar.accepts(data) { continue }
            let expected = subject.foundation(foundation, data)
            guard expected != found, Difference.known(subject.name, data, expected, found) == nil else { continue }
            differences.append(
                "seed \(seed), round \(round), \(subject.name) of \(Array(data)):\n\(expected)\n\(found)"
            )
        }
        #expect(differences.isEmpty, "\(differences.prefix(10).joined(separator: "\n"))")
    }
}
