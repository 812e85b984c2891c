import Lade
import Testing

@testable import LadeCommand

@Suite("Charsets on a terminal", .timeLimit(.minutes(5)))
struct CharsetShownTests {
    @Test(
        "finding LF-14 finds the charset in the content type; UTF-8 where it names none that is known",
        arguments: [
            ("text/plain; charset=ISO-8859-1", "windows-1252"), ("text/plain;charset=\"utf-16BE\"", "utf-16be"),
            ("text/plain", "utf-8"), (nil, "utf-8"), ("nonsense", "utf-8"), ("text/plain; charset=../../x", "utf-8"),
            ("text/plain; charset=Shift_JIS", "shift_jis"),
        ] as [(String?, String)]
    )
    func names(type: String?, name: String) {
        #expect(Charset(shown: type).name == name)
    }
}
