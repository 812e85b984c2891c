import Testing

@testable import LadeCore

@Suite("Reading text by scalars", .timeLimit(.minutes(5)))
struct ScalarTextTests {
    /// What may follow a delimiter; as a `Character` it would be a part of it.
    static let followers = ["", "x", "\u{301}", "\u{301}\u{302}", "\u{200D}", "\u{FE0F}", "\n", "\r\n", "\u{20E3}"]

    @Test("finding CF-6 finds a delimiter, whatever follows it", arguments: followers)
    func delimiters(follower: String) throws {
        let text = "a=" + follower + "b=" + follower

        #expect(text.parts(at: "=").map(String.init) == ["a", follower + "b", follower])
        #expect(text.parts(at: "=", most: 2).map(String.init) == ["a", follower + "b=" + follower])
        #expect(try #require(text.cut(at: "=")).after == follower + "b=" + follower)
        #expect(try #require(text.cut(atLast: "=")).before == "a=" + follower + "b")
        #expect(try #require(text.cut(at: "a=")).after == follower + "b=" + follower)
        #expect(text.halves { $0 == "=" }.text == "a")
        #expect(text.has("="))
        #expect(text.begins(with: "a="))
        #expect(text.ends(with: "=" + follower))
        #expect(text.behind("a=").map(String.init)?.isSpelled(like: follower + "b=" + follower) == true)
        #expect(text.replacingEach("=", with: "::").isSpelled(like: "a::\(follower)b::\(follower)"))
    }

    @Test("finding CF-6 finds a delimiter between CR and LF, and none that is not there")
    func lineEnds() {
        #expect("a\r\nb".parts(at: "\n").map(String.init) == ["a\r", "b"])
        #expect("a\r\nb".parts(at: "\r").map(String.init) == ["a", "\nb"])
        #expect("a".cut(at: ":") == nil)
        #expect("a".cut(at: "://") == nil)
        #expect("a".behind("b") == nil)
        #expect(" \t\r\na \u{301}b\r\n".trimmedOfSpace.unicodeScalars.elementsEqual("a \u{301}b".unicodeScalars))
        #expect("a,,b".parts(at: ",", omitsEmpty: true) == ["a", "b"])
    }

    @Test(
        "finding CF-6 lines end with LF or CR LF, and a byte order mark is no part of the first",
        arguments: [
            ("", []), ("a", ["a"]), ("a\n", ["a"]), ("a\r\nb\r\n", ["a", "b"]), ("a\n\nb", ["a", "", "b"]),
            ("a\rb\n", ["a\rb"]), ("\u{FEFF}a\n\u{FEFF}b", ["a", "\u{FEFF}b"]), ("\n\u{301}a", ["", "\u{301}a"]),
            ("a\0b\n", ["a\0b"]), ("a\r\r\n", ["a\r"]),
        ] as [(String, [String])]
    )
    func lines(text: String, lines: [String]) {
        let read = TextLines(text.utf8).map { String(decoding: $0, as: UTF8.self) }
        #expect(read.map { Array($0.utf8) } == lines.map { Array($0.utf8) })
    }

    @Test(
        "finding CF-31 a duration of any length is in units that leave few digits",
        arguments: [
            (.milliseconds(350), "350 ms"), (.milliseconds(1_500), "1.5 s"), (.seconds(90), "90 s"),
            (.seconds(125), "2 min 5 s"), (.seconds(7_199), "119 min 59 s"), (.seconds(12_000), "3 h 20 min"),
            (.seconds(187_200), "2 days 4 h"), (.seconds(2_147_483_648), "68 years 35 days"),
            (.seconds(63_072_000), "2 years"), (.seconds(Int64.max), "31709791 years 359 days"),
        ] as [(Duration, String)]
    )
    func durations(duration: Duration, text: String) {
        #expect(duration.shortText == text)
    }

    @Test("finding CF-6 the data of a server-sent event begins after one space", arguments: followers)
    func events(follower: String) throws {
        guard !follower.hasSuffix("\n") else { return }
        var parser = ServerSentEventParser(limit: 1_000)
        #expect(try parser.take("\u{FEFF}data: \(follower)x") == nil)
        #expect(try parser.take("data:\(follower)y") == nil)

        let event = try #require(try parser.take(""))

        #expect(event.data.utf8.elementsEqual("\(follower)x\n\(follower)y".utf8))
    }
}
