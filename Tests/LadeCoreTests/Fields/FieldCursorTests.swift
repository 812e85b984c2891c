import Testing

@testable import LadeCore
@testable import LadeFields

@Suite("Field cursor", .timeLimit(.minutes(5)))
struct FieldCursorTests {
    @Test("The byte classes are those of RFC 9110 §5.6.2 and §5.5")
    func byteClasses() {
        let tokenBytes = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
        let controls = (0...0x1F).filter { $0 != 9 } + [0x7F]

        #expect((UInt8.min ... .max).filter(\.isTokenCharacter) == tokenBytes.utf8.sorted())
        #expect((UInt8.min ... .max).filter { !$0.isFieldContent }.map(Int.init) == controls)
        #expect((UInt8.min ... .max).filter(\.isFieldWhitespace) == [0x09, 0x20])
    }

    @Test(
        "A quoted string is unescaped and ends at its quote, or with the value (RFC 9110 §5.6.4)",
        arguments: [
            (#""""#, "", true, ""),
            (#""a b" c"#, "a b", true, " c"),
            (#""a\"b\\c""#, #"a"b\c"#, true, ""),
            (#""a\b""#, "ab", true, ""),
            (#""a,;=b","#, "a,;=b", true, ","),
            (#""open"#, "open", false, ""),
            (#""open\"#, "open", false, ""),
        ]
    )
    func quotedString(input: String, text: String, isClosed: Bool, rest: String) {
        var cursor = FieldCursor(input, field: "test")

        let (content, closed) = cursor.quotedString()

        #expect(content == text)
        #expect(closed == isClosed)
        #expect(cursor.text(cursor.take { _ in true }) == rest)
    }

    @Test(
        "Seconds saturate at 2^31 however many digits there are (RFC 9111 §1.2.2)",
        arguments: [
            ("0", 0), ("00012", 12), ("2147483647", 2_147_483_647), ("2147483648", 2_147_483_648),
            ("2147483649", 2_147_483_648), (String(repeating: "9", count: 5_000), 2_147_483_648),
        ] as [(String, Int64)]
    )
    func deltaSeconds(input: String, seconds: Int64) {
        var cursor = FieldCursor(input, field: "test")
        #expect(cursor.deltaSeconds() == seconds)
        #expect(cursor.isAtEnd)
    }

    @Test(
        "A name with its value is understood as far as possible, up to the delimiter",
        arguments: [
            ("a,b", "a", nil, true), ("A=B,b", "a", "B", true), ("a = b ,b", "a", "b", true),
            (#"a="x,y" ,b"#, "a", "x,y", true), ("a=,b", "a", "", false), (#"a="",b"#, "a", "", true),
            ("a b,b", "a", nil, false), ("a=b c ,b", "a", "b c", false), (#"a="x"y,b"#, "a", "x", false),
            (#"a="x,b"#, "a", "x,b", false),
        ] as [(String, String, String?, Bool)]
    )
    func pair(input: String, name: String, value: String?, isWellFormed: Bool) throws {
        var cursor = FieldCursor(input, field: "test")

        let reading = cursor.pair(before: .comma)
        let pair = try #require(reading)

        #expect(pair.name == name)
        #expect(pair.value == value)
        #expect(pair.isWellFormed == isWellFormed)
        #expect(cursor.isAt(.comma))
    }

    @Test("Bytes that are not UTF-8 are read as ISO-8859-1 (RFC 9110 §5.5)")
    func text() {
        #expect(FieldCursor.text([0xC3, 0xBC]) == "ü")
        #expect(FieldCursor.text([0x41, 0xFC]) == "Aü")
    }

    @Test("A parameter is written as a token where it is one, and quoted elsewhere (RFC 9110 §5.6.6)")
    func parameter() throws {
        #expect(try FieldParameter(name: "Charset", value: "utf-8").description == "charset=utf-8")
        #expect(try FieldParameter(name: "a", value: #"x "y" \z"#).description == #"a="x \"y\" \\z""#)
        #expect(try FieldParameter(name: "a", value: "").description == #"a="""#)
    }

    @Test(
        "A parameter that cannot be written cannot be made",
        arguments: [("", "a"), ("a b", "a"), ("a", "x\r\ny"), ("a", "\0")]
    )
    func unwritableParameter(name: String, value: String) {
        #expect(throws: Headers.FieldError.self) { try FieldParameter(name: name, value: value) }
    }
}
