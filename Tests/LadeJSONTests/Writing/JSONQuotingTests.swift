import Testing

@testable import LadeJSON

@Suite(.timeLimit(.minutes(5)))
struct JSONQuotingTests {
    @Test(
        "takes every JSON value for one",
        arguments: [
            "null", "true", "false", "0", "-0", "-1.5e+10", "1E3", "\"\"", "\"a\\u00e4\\n\"", "[]", "[ ]", "{}", "{ }",
            "[1, \"a\" ,null]", "{\"a\":{\"b\":[1]},\"a\":2}", " [1]\n", "\"ä\"", "123456789012345678901234567890",
        ]
    )
    func valid(text: String) {
        #expect(JSONValue.isValid(text))
    }

    @Test(
        "takes nothing else for JSON",
        arguments: [
            "", " ", "nul", "nulll", "01", "1.", ".5", "+1", "1e", "-", "\"", "\"\\x\"", "\"\\u12g4\"", "\"\u{9}\"",
            "[1,]",
            "[1 2]", "{a:1}", "{\"a\"}", "{\"a\":}", "{,}", "[", "{", "}", "1 2", "'a'", "NaN",
        ]
    )
    func invalid(text: String) {
        #expect(!JSONValue.isValid(text))
    }

    @Test("refuses depths that would exhaust the stack")
    func depth() {
        #expect(JSONValue.isValid(String(repeating: "[", count: 500) + String(repeating: "]", count: 500)))
        #expect(!JSONValue.isValid(String(repeating: "[", count: 100_000)))
    }

    @Test(
        "writes strings",
        arguments: [
            ("", "\"\""), ("a\"\\\n\r\t", #""a\"\\\n\r\t""#), ("\u{1}\u{7F}", #""\u0001\u007F""#),
            ("\u{80}\u{9B}\u{9F}\u{A0}", "\"\\u0080\\u009B\\u009F\u{A0}\""), ("ä/😀", "\"ä/😀\""),
        ]
    )
    func strings(text: String, written: String) {
        #expect(JSONQuoting.string(text) == written)
        #expect(JSONValue.isValid(written))
    }

    @Test("writes members in the order given")
    func objects() {
        #expect(JSONQuoting.object([("b", "1.10"), ("a", "[]")]) == #"{"b":1.10,"a":[]}"#)
        #expect(JSONQuoting.escaped("😀") == "\\uD83D\\uDE00")
    }
}
