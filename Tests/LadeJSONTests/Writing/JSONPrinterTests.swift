import LadeJSON
import Testing

@Suite(.timeLimit(.minutes(5)))
struct JSONPrinterTests {
    private static let controls: Set<Unicode.Scalar> = ["\u{1B}", "\u{9B}", "\u{202E}", "\n"]

    private func printed(_ text: String, isColoured: Bool = false) -> String {
        var printer = JSONPrinter(isColoured: isColoured) { Self.controls.contains($0) }
        var result = ""
        for scalar in text.unicodeScalars { printer.write(scalar, to: &result) }
        printer.end(&result)
        return result
    }

    @Test(
        "command CM-02 lays JSON out and keeps every digit, key and duplicate",
        arguments: [
            ("{}", "{}\n"),
            ("[ ]", "[]\n"),
            ("1.10", "1.10\n"),
            (
                #" {"b":1.0,"a":[1, 2e5,{}],"b":null} "#,
                "{\n  \"b\": 1.0,\n  \"a\": [\n    1,\n    2e5,\n    {}\n  ],\n  \"b\": null\n}\n"
            ),
            (#"{"a\"{[,:":"\u00e4\\"}"#, "{\n  \"a\\\"{[,:\": \"ä\\\\\"\n}\n"),
            ("{\"a\":1}\n{\"a\":2}", "{\n  \"a\": 1\n}\n{\n  \"a\": 2\n}\n"),
            ("", ""),
        ]
    )
    func laysOut(text: String, shown: String) {
        #expect(printed(text) == shown)
    }

    @Test(
        "finding QF-5 ends the colour of a value that is the last one, or that is cut",
        arguments: [
            "12", "-", "true", "nul", "\"a", "\"a\\", "\"a\\u00", "[1", "[1, 2", "{\"a\": 1", "{\"a", "{\"a\": \"b",
            "[null",
        ]
    )
    func endsColour(text: String) throws {
        let shown = printed(text, isColoured: true)

        let last = try #require(shown.split(separator: "\u{1B}[").last)
        #expect(last.hasPrefix("0m"), "\(shown.debugDescription)")
        #expect(!last.dropFirst(2).contains { !$0.isNewline }, "\(shown.debugDescription)")
    }

    @Test(
        "prints all characters of a text that is not JSON",
        arguments: ["{\"a\":", "]]}", "nonsense here", "[1,]", "{1 2}", "\"abc", "a\"b\"c", "{\"a\" \"b\"}", "<html>"]
    )
    func noJSON(text: String) {
        #expect(printed(text).filter { !$0.isWhitespace } == text.filter { !$0.isWhitespace })
    }

    @Test("command CM-02 colours keys, strings, numbers and words apart")
    func colours() {
        let shown = printed(#"{"a":["b",1,true]}"#, isColoured: true)
        #expect(shown.contains("\u{1B}[34;1m\"a\"\u{1B}[0m: ["))
        #expect(shown.contains("\u{1B}[32m\"b\"\u{1B}[0m,"))
        #expect(shown.contains("\u{1B}[33m1\u{1B}[0m,"))
        #expect(shown.contains("\u{1B}[35mtrue\u{1B}[0m\n"))
    }

    @Test("command CM-02 shows control characters as the JSON escapes that mean the same")
    func controls() {
        #expect(printed("\"\u{1B}[2J\u{9B}\u{202E}\n\"") == "\"\\u001B[2J\\u009B\\u202E\\u000A\"\n")
        #expect(printed("[\u{1B}]").contains("\\u001B"))
    }

    @Test(
        "shows escapes as the characters they mean, unless those would do harm",
        arguments: [
            (#""\u00e4\u00C4""#, #""äÄ""#), (#""\ud83d\ude00""#, #""😀""#), (#""a\/b""#, #""a/b""#),
            (#""\ud83d""#, #""\ud83d""#), (#""\ude00""#, #""\ude00""#), (#""\ud83dx""#, #""\ud83dx""#),
            (#""\ud83d\n""#, #""\ud83d\n""#), (#""\ud83d\u0041""#, #""\ud83d\u0041""#),
            (#""\u0022\u005c""#, #""\u0022\u005c""#),
            (#""\u0000\u001b\u009b\u202e\u2028""#, #""\u0000\u001b\u009b\u202e\u2028""#), (#""\u00g0""#, #""\u00g0""#),
            (#""\ud83d\ud83d\ude00""#, #""\ud83d\ud83d\ude00""#), (#""\ud83dx\ude00""#, #""\ud83dx\ude00""#),
            (#""\\u00e4""#, #""\\u00e4""#), (#""\u00"#, #""\u00"#), (#""\"#, #""\"#), (#""\n\"""#, #""\n\"""#),
        ]
    )
    func escapes(text: String, shown: String) {
        #expect(printed(text) == shown + "\n")
    }

    @Test("a text that has ended gets no further line end")
    func ends() {
        var printer = JSONPrinter()
        var result = ""
        for scalar in "[1]".unicodeScalars { printer.write(scalar, to: &result) }
        printer.end(&result)
        printer.end(&result)
        #expect(result == "[\n  1\n]\n")
    }

    @Test("does not make a screen of spaces out of a page of brackets")
    func depth() {
        let text = String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)
        #expect(printed(text).utf8.count < 2_000_000)
    }
}
