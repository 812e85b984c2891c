import Testing

@testable import LadeCore
@testable import LadeFields

@Suite("Media types", .timeLimit(.minutes(5)))
struct MediaTypeTests {
    @Test(
        "Type, subtype and parameters are read",
        arguments: [
            ("§8.3.1", "text/html;charset=utf-8", "text/html", [("charset", "utf-8")]),
            ("§8.3.1 any case", "Text/HTML;Charset=\"utf-8\"", "text/html", [("charset", "utf-8")]),
            ("§8.3.1 quoted, blanks", "text/html; charset=\"utf-8\"", "text/html", [("charset", "utf-8")]),
            ("§8.3.1 case of values kept", "text/html;charset=UTF-8", "text/html", [("charset", "UTF-8")]),
            ("no parameters", "application/json", "application/json", []),
            ("blanks around", " \tapplication/json ", "application/json", []),
            ("§5.6.6 empty parameters", "a/b;; ; x=1;", "a/b", [("x", "1")]),
            ("§5.6.6 delimiters in a string", #"a/b; x="1;y=2"; z=3"#, "a/b", [("x", "1;y=2"), ("z", "3")]),
            ("§5.6.4 escapes", #"a/b; x="a\"b\\c""#, "a/b", [("x", #"a"b\c"#)]),
            ("empty string", #"a/b; x="""#, "a/b", [("x", "")]),
            ("order and repetition", "a/b; b=1; a=2; B=3", "a/b", [("b", "1"), ("a", "2"), ("b", "3")]),
            ("parameter without value", "a/b; charset; x=1", "a/b", [("x", "1")]),
            ("parameter with no value", "a/b; charset=; x=1", "a/b", [("x", "1")]),
            ("blank around =", "a/b; charset = utf-8", "a/b", [("charset", "utf-8")]),
            (
                "unquoted boundary", "multipart/mixed; boundary=a/b:c=d?e ", "multipart/mixed",
                [("boundary", "a/b:c=d?e")]
            ),
            ("string without an end", "a/b; x=\"1; y=2", "a/b", [("x", "1; y=2")]),
            ("text after a string", "a/b; x=\"1\"2; y=3", "a/b", [("x", "1"), ("y", "3")]),
            ("no name", "a/b; =1; y=3", "a/b", [("y", "3")]),
            ("control in a value", "a/b; x=\"\u{1}\"; y=3", "a/b", [("y", "3")]),
            ("text beyond ASCII", "a/b; x=ü", "a/b", [("x", "ü")]),
        ] as [(String, String, String, [(String, String)])]
    )
    func reads(rule: String, text: String, essence: String, parameters: [(String, String)]) throws {
        let media = try MediaType(text)

        #expect(media.essence == essence, "\(rule)")
        #expect(media.parameters.map(\.name) == parameters.map(\.0), "\(rule)")
        #expect(media.parameters.map(\.value) == parameters.map(\.1), "\(rule)")
    }

    @Test(
        "A media type needs a type and a subtype",
        arguments: [
            ("", 0), ("text", 4), ("text/", 5), ("/html", 0), ("; charset=utf-8", 0), ("text /html", 4),
            ("text/ html", 5), ("text/html charset=utf-8", 10), ("text/html, text/html", 9), ("te\u{0}xt/html", 2),
            ("ü/a", 0), ("text/html/x", 9),
        ]
    )
    func rejects(text: String, offset: Int) throws {
        let error = try #require(throws: Headers.FieldError.self) { try MediaType(text) }
        #expect(error.offset == offset)
    }

    @Test("The first of repeated parameters counts")
    func repeated() throws {
        let media = try MediaType("multipart/mixed; Boundary=One; boundary=Two; charset=UTF-8; charset=x")

        #expect(media.boundary == "One")
        #expect(media.charset == "utf-8")
        #expect(media.parameter("BOUNDARY") == "One")
        #expect(media.parameter("other") == nil)
    }

    @Test(
        "JSON, XML and text are recognised (RFC 6838 §4.2.8)",
        arguments: [
            ("application/json", true, false, true), ("APPLICATION/JSON; charset=utf-8", true, false, true),
            ("text/json", true, false, true), ("application/problem+json", true, false, true),
            ("application/vnd.api+JSON", true, false, true), ("application/a+b+json", true, false, true),
            ("application/xml", false, true, true), ("text/xml", false, true, true),
            ("image/svg+xml", false, true, true),
            ("text/html", false, false, true), ("application/jsonp", false, false, false),
            ("application/json+zip", false, false, false), ("image/png", false, false, false),
            ("application/x+", false, false, false),
        ]
    )
    func kinds(text: String, isJSON: Bool, isXML: Bool, isText: Bool) throws {
        let media = try MediaType(text)
        #expect((media.isJSON, media.isXML, media.isText) == (isJSON, isXML, isText))
    }

    @Test("A media type is written with tokens where possible and strings elsewhere")
    func writes() throws {
        let media = try MediaType(
            type: "Multipart",
            subtype: "Mixed",
            parameters: [FieldParameter(name: "a", value: "b"), FieldParameter(name: "boundary", value: #"x y"z"#)]
        )

        #expect(media.description == #"multipart/mixed; a=b; boundary="x y\"z""#)
        #expect(MediaType.plainText.description == "text/plain; charset=utf-8")
        #expect(
            [MediaType.json, .form, .octets].map(\.description) == [
                "application/json", "application/x-www-form-urlencoded", "application/octet-stream",
            ]
        )
        #expect(throws: Headers.FieldError.self) { try MediaType(type: "a b", subtype: "c") }
        #expect(throws: Headers.FieldError.self) { try MediaType(type: "a", subtype: "") }
    }

    @Test("Media types survive writing and reading")
    func roundTrip() throws {
        var samples = FieldSamples()
        for _ in 0..<2_000 {
            let media = try MediaType(
                type: samples.token(),
                subtype: samples.token(),
                parameters: (0..<samples.int(0...4)).map { _ in
                    try FieldParameter(name: samples.token(), value: samples.value())
                }
            )
            #expect(try MediaType(media.description) == media, samples.note)
        }
    }

    @Test("Long hostile values end", arguments: hostileFields.indices)
    func hostile(index: Int) {
        let value = hostileFields[index].value
        for text in [value, "a/\(value)", "a/b\(value)", "a/b; c=\(value)", "a/b; c=\"\(value)"] {
            guard let media = try? MediaType(text) else { continue }
            _ = (media.isJSON, media.charset, media.boundary, media.description)
        }
    }
}
