import Lade
import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct CookieTextTests {
    @Test("reads and writes the lines that curl writes")
    func lines() throws {
        let text = """
            # Netscape HTTP Cookie File
            # Written by lade; it holds secrets.

            a.example\tFALSE\t/\tTRUE\t4102444800\tn\tv
            #HttpOnly_.b.example\tTRUE\t/p\tFALSE\t0\tm\t

            """
        let cookies = try #require(CookieText.cookies(text))
        #expect(cookies.map(\.name) == ["n", "m"])
        #expect(cookies.map(\.isHostOnly) == [true, false])
        #expect(cookies.map(\.isHTTPOnly) == [false, true])
        #expect(cookies.map { $0.expires == nil } == [false, true])
        #expect(CookieText.text(cookies) == text)
    }

    @Test("leaves out a cookie that would change the lines of the file")
    func separators() {
        let values = ["plain", "a\tb", "a\nb", "a\rb", "a\u{2028}b"]
        let cookies = values.map { Cookie(name: "n", value: Secret($0), domain: "a.example") }
        let lines = CookieText.text(cookies).split(separator: "\n").filter { !$0.hasPrefix("# ") }
        #expect(lines == ["#HttpOnly_a.example\tFALSE\t/\tTRUE\t0\tn\tplain"])
    }

    @Test("refuses what is no cookie", arguments: ["a=b", "a\tb", "h\tFALSE\t/\tFALSE\tx\tn\tv", "\t\t\t\t0\t\t"])
    func damage(text: String) {
        #expect(CookieText.cookies(text) == nil)
    }
}
