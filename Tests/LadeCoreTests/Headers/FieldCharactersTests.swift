import LadeCore
import Testing

@Suite("Characters of fields", .timeLimit(.minutes(5)))
struct FieldCharactersTests {
    /// Words of mostly common bytes, with occasional arbitrary ones.
    private func samples() -> [[UInt8]] {
        let random = SeededRandom(seed: 7)
        let usual = Array("Content-Length-abcxyzABCXYZ".utf8)
        return (0..<20_000).map { _ in
            (0..<random.next() % 41).map { _ in
                let bits = random.next()
                return bits % 24 == 0 ? UInt8(truncatingIfNeeded: bits >> 8) : usual[Int(bits >> 8) & 15]
            }
        }
    }

    @Test("a token's length is the same eight bytes at a time as byte by byte")
    func measuresTokens() {
        for bytes in samples() {
            let expected = bytes.firstIndex { !$0.isTokenCharacter } ?? bytes.count
            #expect(bytes.withUnsafeBufferPointer(\.tokenPrefixLength) == expected, "\(bytes)")
        }
    }

    @Test("every byte is recognised as a token byte or not at every position in a word", arguments: 0..<17)
    func measuresAtEachPlace(place: Int) {
        for byte in UInt8.min...UInt8.max {
            var bytes = [UInt8](repeating: 0x7A, count: 17)
            bytes[place] = byte
            let expected = byte.isTokenCharacter ? 17 : place
            #expect(bytes.withUnsafeBufferPointer(\.tokenPrefixLength) == expected, "\(byte)")
        }
    }

    @Test("checking a value eight bytes at a time has the same result as one by one")
    func checksValues() {
        for bytes in samples() {
            let expected = bytes.allSatisfy(\.isFieldContent)
            #expect(bytes.withUnsafeBufferPointer(\.areFieldContent) == expected, "\(bytes)")
        }
    }

    @Test("every byte is checked at every position of a value", arguments: 0..<17)
    func checksAtEachPlace(place: Int) {
        for byte in UInt8.min...UInt8.max {
            for count in [place + 1, 17] {
                var bytes = [UInt8](repeating: 0x20, count: count)
                bytes[place] = byte
                #expect(bytes.withUnsafeBufferPointer(\.areFieldContent) == byte.isFieldContent, "\(byte)")
            }
        }
    }

    @Test("two texts are spelled alike when their bytes are the same, whatever Unicode calls equivalent")
    func comparesSpelling() {
        #expect("é" == "e\u{301}")
        #expect(!"é".isSpelled(like: "e\u{301}"))
        #expect("".isSpelled(like: ""))
        #expect("a long text of more than fifteen bytes".isSpelled(like: "a long text of more than fifteen bytes"))
        #expect(!"a long text of more than fifteen bytes".isSpelled(like: "a long text of more than fifteen bytez"))
        #expect(!"a".isSpelled(like: "ab"))
    }
}
