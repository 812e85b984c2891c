#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeJSON
import Testing

/// Texts by what RFC 8259 says of them: must be accepted, must be refused, may be either.
@Suite(.timeLimit(.minutes(5))) struct GrammarTests {
    private struct Anything: Decodable {}

    private static let values = [
        "0", "-0", "-1", "1.5", "1e5", "1E+5", "1e-5", "0e0", "true", "false", "null", "\"\"", "\"\\u0000\"", "\"é\"",
        "\"\u{7F}\"", "\"\u{2028}\"", "[]", "{}",
    ]
    private static let notValues = [
        "", "01", "-01", "1.", ".1", "+1", "-", "1e", "1e+", "0x1", "1_0", "Inf", "NaN", "True", "nul", "'a'", "\"",
        "\"\\", "\"\\x\"", "\"\\u00g0\"", "\"\n\"", "\"\t\"", "[", "]",
        "{", "}", "[1", "{\"a\"", "{\"a\":", "{\"a\":1", "{a:1}", "{1:1}", "{\"a\":1,,}", "[,]", "[1,,2]", "[1 2]",
        "[1;2]", "{\"a\";1}", "#", "/**/1", "\u{A0}1", "1\u{C}", "[1]]", "{}}", "1 1",
    ]
    // Each way of putting a value into a document.
    private static let frames = [
        "%", " % ", "[%]", "[ % ]", "[0,%]", "[%,0]", "{\"a\":%}", "{\"a\":0,\"b\":%}", "[[[%]]]",
        "{\"a\":[{\"b\":%}]}", "\n\t\r %\n",
    ]

    static let accepted = values.flatMap { value in frames.map { $0.replacing("%", with: value) } }
    static let refused = notValues.flatMap { value in frames.map { $0.replacing("%", with: value) } }
        .filter { !Grammar.accepts(Data($0.utf8)) }

    private func isAccepted(_ data: Data) -> Bool { (try? FastJSONDecoder().decode(Anything.self, from: data)) != nil }

    @Test func acceptsWhatTheGrammarHas() {
        #expect(Self.accepted.filter { !isAccepted(Data($0.utf8)) } == [])
    }

    @Test func refusesWhatTheGrammarDoesNotHave() {
        #expect(Self.refused.count > 400)
        #expect(Self.refused.filter { isAccepted(Data($0.utf8)) } == [])
    }

    @Test(arguments: [
        ("a byte order mark", "\u{FEFF}[]", true), ("a comma at the end of an array", "[1,]", true),
        ("a comma at the end of an object", "{\"a\":1,}", true), ("equal names", "{\"a\":1,\"a\":2}", true),
        ("a number that is too large for a Double", "[1e9999]", true),
        ("half of a surrogate pair that is not read", "[\"\\ud800\"]", true),
        ("nesting at the limit", String(repeating: "[", count: 512) + String(repeating: "]", count: 512), true),
        ("nesting beyond the limit", String(repeating: "[", count: 513) + String(repeating: "]", count: 513), false),
    ])
    func decidesWhatTheGrammarLeavesOpen(_ name: String, _ text: String, _ accepts: Bool) {
        #expect(isAccepted(Data(text.utf8)) == accepts)
    }
}
