import Foundation
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
        let contents = CookieText.contents(text.utf8)
        let cookies = contents.cookies
        #expect(contents.oddLines.isEmpty)
        #expect(!contents.isForeign)
        #expect(cookies.map(\.name) == ["n", "m"])
        #expect(cookies.map(\.isHostOnly) == [true, false])
        #expect(cookies.map(\.isHTTPOnly) == [false, true])
        #expect(cookies.map { $0.expires == nil } == [false, true])
        #expect(CookieText.text(cookies) == Data(text.utf8))
    }

    @Test("leaves out a cookie that would change the lines of the file")
    func separators() {
        let values = ["plain", "a\tb", "a\nb", "a\rb", "a\0b"]
        let cookies = values.map { Cookie(name: "n", value: Secret($0), domain: "a.example") }
        let text = String(decoding: CookieText.text(cookies), as: UTF8.self)
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("# ") }
        #expect(lines == ["#HttpOnly_a.example\tFALSE\t/\tTRUE\t0\tn\tplain"])
    }

    @Test(
        "finding CF-27 skips a line that is no cookie, and names it",
        arguments: [
            "a=b", "a\tb", "h\tFALSE\t/\tFALSE\tx\tn\tv", "\t\t\t\t0\t\t", "Set-Cookie: a=b",
            "h\tFALSE\t/\tFALSE\t0\tn\tv\tw",
            "h\tFALSE\t/\tFALSE\t0\tn\tv\rw", "h\tFALSE\t/\tFALSE\t0\tn\tv\0",
            "h\tFALSE\t/\tFALSE\t99999999999999999999\tn\tv", "h\t\u{301}FALSE",
        ]
    )
    func oddLines(line: String) {
        let good = "a.example\tFALSE\t/\tTRUE\t0\tn\tv\n"
        let contents = CookieText.contents((good + line + "\n" + good).utf8)
        #expect(contents.cookies.count == 2 && contents.oddLines == [2] && !contents.isForeign)
        #expect(CookieText.contents("\(line)\n".utf8).isForeign)
    }

    @Test(
        "finding CF-27 a warning has the numbers of the first lines",
        arguments: [
            ([3], "has no cookie in line 3; it is skipped."),
            ([1, 2], "has no cookie in lines 1, 2; they are skipped."),
            (Array(1...12), "has no cookie in lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more; they are skipped."),
        ] as [([Int], String)]
    )
    func warning(lines: [Int], text: String) {
        #expect(SessionSettings.warning("jar", lines) == "lade: The cookie file jar \(text)")
    }

    @Test(
        "finding CL-10 a cookie of an address is for that host alone",
        arguments: [("127.0.0.1", true), ("a.test", false)]
    )
    func addresses(domain: String, isHostOnly: Bool) {
        let cookie = Cookie(name: "n", value: "v", domain: domain, isHostOnly: false)
        let line = isHostOnly ? "_\(domain)\tFALSE\t/\t" : "_.\(domain)\tTRUE\t/\t"
        #expect(String(decoding: CookieText.text([cookie]), as: UTF8.self).contains(line))
    }

    @Test("finding CF-17 keeps the octets of names and values, whatever they are")
    func octets() throws {
        var cookie = Cookie(name: "", value: "", domain: "a.example")
        let all = (0x21...0xFF).filter { $0 != 0x7F }.map { UInt8($0) }
        cookie.octets = ([0x6E, 0xFF], all)

        let read = CookieText.contents(CookieText.text([cookie]))

        #expect(read.oddLines.isEmpty)
        #expect(read.cookies.count == 1)
        let octets = try #require(read.cookies.first?.octets)
        #expect(octets.name == [0x6E, 0xFF])
        #expect(octets.value == all)
    }
}
