import Testing

@testable import CatalogueBrowser

@Suite("Keys", .timeLimit(.minutes(1)))
struct KeysTests {
    private func keys(_ pieces: [UInt8]...) -> [Key] {
        var parser = KeyParser()
        return pieces.flatMap { parser.keys(in: $0) }
    }

    @Test(
        "reads each key, also where a read ends within it",
        arguments: [
            ("\u{1B}[A\u{1B}[B", [Key.up, .down]), ("\u{1B}OA", [.up]), ("\u{1B}[5~\u{1B}[6~", [.pageUp, .pageDown]),
            ("\u{1B}[H\u{1B}[4~", [.home, .end]), ("\r\t\u{7F}\u{3}", [.enter, .tab, .backspace, .interrupt]),
            ("a/é東🎬", [.character("a"), .character("/"), .character("é"), .character("東"), .character("🎬")]),
        ]
    )
    func keys(text: String, keys: [Key]) {
        let bytes = Array(text.utf8)
        #expect(self.keys(bytes) == keys)
        for cut in bytes.indices where cut > 0 && bytes[cut - 1] != 0x1B {
            #expect(self.keys(Array(bytes[..<cut]), Array(bytes[cut...])) == keys, "cut at \(cut)")
        }
    }

    @Test("reads an escape at the end of a read as the key of that name")
    func escape() {
        #expect(keys([0x1B]) == [.escape])
        #expect(keys([0x1B], [0x5B, 0x41]) == [.escape, .character("["), .character("A")])
        #expect(keys([0x1B, 0x1B]) == [.escape, .escape])
        #expect(keys([0x1B, 0x61]) == [.escape, .character("a")])
    }

    @Test("skips what is no key")
    func others() {
        #expect(keys(Array("\u{1B}[15~\u{1B}[1;5Ca".utf8)) == [.character("a")])
        #expect(keys([0x00, 0x01, 0xFF, 0x61]) == [.character("a")])
        #expect(keys([0x1B, 0x5B] + Array(repeating: 0x31, count: 20), [0x61]) == [.character("a")])
    }

    @Test("gives letters to a text only while there is one")
    func actions() {
        #expect(Action(.character("q"), isTyping: false) == .quit)
        #expect(Action(.character("q"), isTyping: true) == .type("q"))
        #expect(Action(.character("x"), isTyping: false) == nil)
        #expect(Action(.backspace, isTyping: false) == .back)
        #expect(Action(.backspace, isTyping: true) == .erase)
        #expect(Action(.interrupt, isTyping: true) == .quit)
    }
}
