import Foundation
import Lade
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct TerminalTextTests {
    /// Shows the bytes in pieces of a size.
    private func shown(_ bytes: [UInt8], _ kind: TerminalText.Kind = .plain, piece: Int = 1) -> String {
        var text = TerminalText(kind)
        var result = ""
        for start in stride(from: 0, to: bytes.count, by: piece) {
            result += text.text(of: Data(bytes[start..<min(start + piece, bytes.count)]))
        }
        return result + text.end()
    }

    @Test(
        "command CM-02 shows control characters escaped",
        arguments: [
            ("a\tb\nc\n", "a\tb\nc\n"), ("a", "a\n"), ("", ""), ("a\r\nb\r\n", "a\nb\n"), ("a\rb", "a\\x0Db\n"),
            ("\u{1B}]0;x\u{7}", "\\x1B]0;x\\x07\n"), ("\u{9B}2J\u{7F}", "\\x9B2J\\x7F\n"),
            ("\u{202E}abc\u{2069}", "\\u{202E}abc\\u{2069}\n"), ("ä😀\n", "ä😀\n"), ("a\r", "a\n"),
        ]
    )
    func plain(text: String, shown expected: String) {
        for piece in 1...5 { #expect(shown(Array(text.utf8), piece: piece) == expected, "pieces of \(piece)") }
    }

    @Test("shows a replacement for bytes that are no UTF-8")
    func invalid() {
        #expect(shown([0x61, 0xFF, 0x62]) == "a\u{FFFD}b\n")
        #expect(shown([0x61, 0xC3]) == "a\u{FFFD}\n")
        #expect(shown([0xE2, 0x82], piece: 2) == "\u{FFFD}\n")
    }

    @Test("lays out JSON that arrives in pieces as if it came whole")
    func pieces() {
        let bytes = Array(#"{"ä": ["😀", -1.5e3, {"x": null}]}"#.utf8)
        let whole = shown(bytes, .json(isColoured: true), piece: bytes.count)
        for piece in 1...7 { #expect(shown(bytes, .json(isColoured: true), piece: piece) == whole) }
    }

    @Test(
        "recognises JSON by its content type",
        arguments: [
            ("application/json", true), ("Application/JSON; charset=utf-8", true), ("application/hal+json", true),
            ("text/plain", false), ("application/x-ndjson", false), (nil, false),
        ] as [(String?, Bool)]
    )
    func kinds(type: String?, isJSON: Bool) {
        #expect(TerminalText.Kind(contentType: type, isColoured: false) == (isJSON ? .json(isColoured: false) : .plain))
    }

    @Test(
        "writes numbers of bytes with few digits",
        arguments: [
            (0, "0 B"), (999, "999 B"), (1_000, "1.0 kB"), (1_549, "1.5 kB"), (20_000, "20 kB"), (999_999, "999 kB"),
            (1_000_000, "1.0 MB"), (Int64.max, "922337 TB"),
        ] as [(Int64, String)]
    )
    func bytes(count: Int64, text: String) {
        #expect(ProgressLine.bytes(count) == text)
    }
}
