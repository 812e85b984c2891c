import Testing

@testable import LadeCore
@testable import LadeFields

@Suite("Content-Disposition", .timeLimit(.minutes(5)))
struct ContentDispositionTests {
    @Test(
        "Type and file name are read",
        arguments: [
            ("RFC 6266 §5", #"Attachment; filename=example.html"#, "attachment", "example.html"),
            ("§5 blanks", #"INLINE; FILENAME= "an example.html""#, "inline", "an example.html"),
            ("§5 extended", "attachment; filename*= UTF-8''%e2%82%ac%20rates", "attachment", "€ rates"),
            (
                "§5 both", #"attachment; filename="EURO rates"; filename*=utf-8''%e2%82%ac%20rates"#, "attachment",
                "€ rates"
            ),
            ("§4.3 order is no matter", #"attachment; filename*=utf-8''%e2%82%ac; filename="E""#, "attachment", "€"),
            ("RFC 8187 §3.2.3", "attachment; filename*=iso-8859-1'en'%A3%20rates", "attachment", "£ rates"),
            (
                "RFC 8187 §3.2.3", "attachment; filename*=UTF-8''%c2%a3%20and%20%e2%82%ac%20rates", "attachment",
                "£ and € rates"
            ),
            ("§4.1 no parameters", "inline", "inline", nil),
            ("§4.2 unknown type", "foo; filename=a", "foo", "a"),
            ("§4.3 escapes", #"attachment; filename="a\"b\\c""#, "attachment", #"a"b\c"#),
            ("§4.3 delimiter in a string", #"attachment; filename="a;b.txt""#, "attachment", "a;b.txt"),
            ("broken extended value", "attachment; filename=a; filename*=UTF-8''%zz", "attachment", "a"),
            ("unknown charset", "attachment; filename=a; filename*=utf-16''%00a", "attachment", "a"),
            ("broken UTF-8", "attachment; filename=a; filename*=UTF-8''%e2%82", "attachment", "a"),
            ("no apostrophes", "attachment; filename*=UTF-8%41", "attachment", nil),
            ("raw UTF-8 in extended value", "attachment; filename*=UTF-8''naïve%21", "attachment", "naïve!"),
            ("raw beyond ASCII in ISO-8859-1", "attachment; filename=a; filename*=iso-8859-1''ï", "attachment", "a"),
            ("quoted extended value", #"attachment; filename*="UTF-8''%41""#, "attachment", "A"),
            ("raw UTF-8", #"attachment; filename="naïve.txt""#, "attachment", "naïve.txt"),
            (
                "unquoted with blanks", "attachment; filename=my report, final.pdf ; x=1", "attachment",
                "my report, final.pdf"
            ),
            ("first of two", "attachment; filename=a; filename=b", "attachment", "a"),
            ("no end quote", #"attachment; filename="a.txt"#, "attachment", "a.txt"),
            ("empty", #"attachment; filename="""#, "attachment", ""),
            ("percent is not decoded", "attachment; filename=a%20b", "attachment", "a%20b"),
            ("no blank", "attachment;filename=a", "attachment", "a"),
        ] as [(String, String, String, String?)]
    )
    func reads(rule: String, text: String, type: String, filename: String?) throws {
        let disposition = try ContentDisposition(text)

        #expect(disposition.type == type, "\(rule)")
        #expect(disposition.filename == filename, "\(rule)")
        #expect(!disposition.parameters.contains { $0.name.hasPrefix("filename") }, "\(rule)")
    }

    @Test(
        "finding CL-8 a field that begins with a parameter has its file name",
        arguments: [
            ("filename=n", "n"), ("filename=n; charset=x", "n"), (#"FileName = "a;b.txt""#, "a;b.txt"),
            ("; filename=n", "n"), (";filename=n", "n"), (" ; x=1; filename=n", "n"), ("x=1; filename=n", "n"),
            ("filename*=UTF-8''%41; filename=n", "A"), ("filename=a; filename=b", "a"), ("name=n", nil),
            (#"filename="../n""#, "../n"), ("filename=", ""), ("filename=a b", "a b"),
        ] as [(String, String?)]
    )
    func withoutType(text: String, filename: String?) throws {
        let disposition = try ContentDisposition(text)
        #expect(disposition.type == "attachment")
        #expect(disposition.filename == filename)
    }

    @Test(
        "finding CL-8 what is neither a type nor a parameter is no field",
        arguments: ["", "=n", "\"n\"", "a b; filename=n"]
    )
    func neither(text: String) {
        #expect(throws: Headers.FieldError.self) { try ContentDisposition(text) }
    }

    @Test("A file name in bytes that are not UTF-8 is read as ISO-8859-1")
    func latin1() throws {
        let bytes = Array(#"attachment; filename="na"#.utf8) + [0xEF] + Array(#"ve""#.utf8)
        #expect(try ContentDisposition(bytes: bytes).filename == "naïve")
    }

    @Test("Other parameters are kept in order")
    func parameters() throws {
        let disposition = try ContentDisposition(
            #"form-data; name="field 1"; filename=a; Size=5; broken; x*=UTF-8''%41"#
        )

        #expect(disposition.name == "field 1")
        #expect(disposition.parameters.map(\.description) == [#"name="field 1""#, "size=5", "x*=UTF-8''%41"])
    }

    @Test(
        "Without a disposition type it is an error",
        arguments: [
            ("", 0), ("attachment filename=a", 11), ("\"inline\"", 0),
            ("a, b", 1),
        ]
    )
    func rejects(text: String, offset: Int) throws {
        let error = try #require(throws: Headers.FieldError.self) { try ContentDisposition(text) }
        #expect(error.offset == offset)
    }

    @Test(
        "A file name is sent plainly where it is plain, and twice elsewhere (appendix D)",
        arguments: [
            ("report.pdf", #"attachment; filename="report.pdf""#),
            ("my report.pdf", #"attachment; filename="my report.pdf""#),
            ("naïve.txt", #"attachment; filename="na_ve.txt"; filename*=UTF-8''na%C3%AFve.txt"#),
            ("€ rates", #"attachment; filename="_ rates"; filename*=UTF-8''%E2%82%AC%20rates"#),
            ("50%.txt", #"attachment; filename="50_.txt"; filename*=UTF-8''50%25.txt"#),
            (#"a"b\c"#, #"attachment; filename="a_b_c"; filename*=UTF-8''a%22b%5Cc"#),
            (
                "a\r\nSet-Cookie: x",
                #"attachment; filename="a__Set-Cookie: x"; filename*=UTF-8''a%0D%0ASet-Cookie%3A%20x"#
            ),
            ("", #"attachment; filename="""#),
        ]
    )
    func writes(filename: String, expected: String) throws {
        #expect(try ContentDisposition(type: "Attachment", filename: filename).description == expected)
    }

    @Test("A disposition that cannot be written cannot be made")
    func unwritable() {
        #expect(throws: Headers.FieldError.self) { try ContentDisposition(type: "a b") }
        #expect(throws: Headers.FieldError.self) {
            try ContentDisposition(type: "inline", parameters: [FieldParameter(name: "Filename*", value: "x")])
        }
    }

    @Test("Dispositions survive writing and reading")
    func roundTrip() throws {
        var samples = FieldSamples()
        for _ in 0..<2_000 {
            let disposition = try ContentDisposition(
                type: samples.token(),
                filename: samples.optional { $0.value() + $0.text("\0\r\n\u{7F}\u{202E}é", 0...2) },
                parameters: (0..<samples.int(0...3)).map { _ in
                    try FieldParameter(name: samples.token(), value: samples.value())
                }
            )
            #expect(try ContentDisposition(disposition.description) == disposition, samples.note)
        }
    }

    @Test("Long hostile values end", arguments: hostileFields.indices)
    func hostile(index: Int) {
        let value = hostileFields[index].value
        for text in [
            value, "a\(value)", "a; filename=\(value)", "a; filename*=UTF-8''\(value)", "a; filename=\"\(value)",
        ] {
            guard let disposition = try? ContentDisposition(text) else { continue }
            _ = (disposition.safeFilename, disposition.description)
        }
    }
}
