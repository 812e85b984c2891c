import FoundationEssentials
import LadeJSON
import Testing

/// Samples with bytes changed at random: still the same answers as Foundation's.
@Suite(.timeLimit(.minutes(5))) struct MutationTests {
    /// Numbers that are the same for the same seed (splitmix64).
    struct Bits {
        var state: UInt64

        mutating func below(_ limit: Int) -> Int {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
        }
    }

    private static let pieces = [
        "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "null", "true", "\\u0061", "\\ud83d", "a", " ",
        "\u{1}", "é",
    ]

    private static func mutated(_ sample: Data, _ bits: inout Bits) -> Data {
        var bytes = Array(sample.prefix(2000))
        for _ in 0...bits.below(2) {
            let place = bits.below(bytes.count + 1)
            switch bits.below(4) {
            case 0: bytes.insert(contentsOf: pieces[bits.below(pieces.count)].utf8, at: place)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2 where place < bytes.count: bytes[place] = UInt8(bits.below(256))
            default: bytes.removeSubrange(min(place, max(bytes.count - 3, 0))...)
            }
        }
        return Data(bytes)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func answersAsFoundationDoesToMutations(_ seed: UInt64) {
        var bits = Bits(state: seed)
        let (foundation, fast) = DifferentialTests.Setting.all[Int(seed)].decoders
        var differences: [String] = []
        for round in 0..<1500 {
            let data = Self.mutated(Samples.all[bits.below(Samples.all.count)], &bits)
            let subject = Subject.all[bits.below(Subject.all.count)]
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
