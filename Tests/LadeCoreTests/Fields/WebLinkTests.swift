import Testing

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@testable import LadeCore
@testable import LadeFields

@Suite("Link", .timeLimit(.minutes(5)))
struct WebLinkTests {
    @Test(
        "Targets and relation types are read",
        arguments: [
            (
                "§3.5", #"<http://example.com/TheBook/chapter2>; rel="previous"; title="previous chapter""#,
                [("http://example.com/TheBook/chapter2", ["previous"])]
            ),
            ("§3.5 extension type", #"</>; rel="http://example.net/foo""#, [("/", ["http://example.net/foo"])]),
            (
                "§3.5 several types", #"<http://example.org/>; rel="start http://example.net/Relation/other""#,
                [("http://example.org/", ["start", "http://example.net/Relation/other"])]
            ),
            (
                "§3.5 several links", #"<https://example.org/>; rel="start", <https://example.org/index>; rel="index""#,
                [("https://example.org/", ["start"]), ("https://example.org/index", ["index"])]
            ),
            ("§3 unquoted", "<a>; rel=next", [("a", ["next"])]),
            ("§3.3 first rel counts", #"<a>; rel=next; rel="prev last""#, [("a", ["next"])]),
            ("§2.1.1 any case", "<a>; REL=Next", [("a", ["next"])]),
            ("§3 comma in a target", "<a,b;c>; rel=next, <d>", [("a,b;c", ["next"]), ("d", [])]),
            (
                "§3 delimiters in a string", #"<a>; title="x, <y>; rel=prev"; rel=next,<b>;rel=prev"#,
                [("a", ["next"]), ("b", ["prev"])]
            ),
            ("B.3 escaped quote", #"<a>; title="say \"hi\", ok"; rel=next"#, [("a", ["next"])]),
            (
                "B.3 white space everywhere", " <a>  ;  rel = \t \"next\" ,\t<b> ; rel = prev ",
                [("a", ["next"]), ("b", ["prev"])]
            ),
            ("B.3 no white space", "<a>;rel=next,<b>;rel=prev", [("a", ["next"]), ("b", ["prev"])]),
            ("RFC 9110 §5.6.1.2 empty members", ",, <a>; rel=next ,, ,", [("a", ["next"])]),
            ("RFC 9110 §5.6.6 empty parameters", "<a>;; ; rel=next;", [("a", ["next"])]),
            ("B.2 no relation", "<a>", [("a", [])]),
            ("empty target", "<>; rel=self", [("", ["self"])]),
            ("B.4 string without an end", #"<a>; rel="next"#, [("a", ["next"])]),
            ("rel without value", "<a>; rel", [("a", [])]),
            ("several blanks in rel", #"<a>; rel="  next   last ""#, [("a", ["next", "last"])]),
        ] as [(String, String, [(String, [String])])]
    )
    func reads(rule: String, line: String, expected: [(String, [String])]) throws {
        let links = try WebLink.parse([line])

        #expect(links.map(\.target) == expected.map(\.0), "\(rule)")
        #expect(links.map(\.relationTypes) == expected.map(\.1), "\(rule)")
    }

    @Test(
        "What cannot be read is skipped without its neighbours (appendix B)",
        arguments: [
            ("garbage, <a>; rel=next", ["a"]), (#"garbage "with, <commas>" in, <a>"#, ["a"]),
            ("<a>; rel=next, garbage", ["a"]), ("<a>; rel=next, <open", ["a"]), ("<a> garbage; rel=next", ["a"]),
            ("<a>; =x; rel=next", ["a"]), ("<a>; <b>; rel=next", ["a"]), ("<a\u{1}b>; rel=x, <c>; rel=next", ["c"]),
        ]
    )
    func skips(line: String, targets: [String]) throws {
        let links = try WebLink.parse([line])

        #expect(links.map(\.target) == targets)
        #expect(links.allSatisfy { $0.relationTypes.isEmpty || $0.hasRelation("next") })
    }

    @Test(
        "Content without any link is an error: an empty result would look like the last page",
        arguments: [
            ("garbage", 0), ("  https://example.org/; rel=next", 2), ("<open", 0), (", , x", 4), ("<\u{7F}>", 0),
        ]
    )
    func rejects(line: String, offset: Int) throws {
        let error = try #require(throws: Headers.FieldError.self) { try WebLink.parse([line]) }
        #expect(
            error == Headers.FieldError(field: "Link", reason: .expected("a target in angle brackets"), offset: offset)
        )
    }

    @Test("No lines and empty lines contain no links", arguments: [[], [""], [" ", ",\t,"]])
    func empty(lines: [String]) throws {
        #expect(try WebLink.parse(lines).isEmpty)
    }

    @Test("Several lines are read in order, and an open string does not run into the next line")
    func lines() throws {
        let links = try WebLink.parse([#"<a>; rel=next; title="open"#, "", "<b>; rel=prev"])
        #expect(links.map(\.target) == ["a", "b"])
    }

    @Test("Offsets of errors count in the joined lines")
    func joinedOffset() throws {
        let error = try #require(throws: Headers.FieldError.self) { try WebLink.parse(["", " x"]) }
        #expect(error.offset == 3)
    }

    @Test("Parameters keep their order and repetition; names are in lower case")
    func parameters() throws {
        let link = try #require(try WebLink.parse([#"<a>; B=1; a="2 3"; b=; c; hreflang=de; HrefLang=fr"#]).first)

        #expect(link.parameters.map(\.name) == ["b", "a", "b", "c", "hreflang", "hreflang"])
        #expect(link.parameters.map(\.value) == ["1", "2 3", "", "", "de", "fr"])
        #expect(link.hreflang == ["de", "fr"])
    }

    @Test("Target attributes are those of §3.4.1, each by its first occurrence")
    func attributes() throws {
        let line = ##"<a>; type="text/html"; media=print; anchor="#foo"; title=one; title=two; type=x"##
        let link = try #require(try WebLink.parse([line]).first)

        #expect(link.type == "text/html")
        #expect(link.media == "print")
        #expect(link.anchor == "#foo")
        #expect(link.title == "one")
    }

    @Test(
        "An extended title is preferred if it can be decoded (§3.4.1, RFC 8187)",
        arguments: [
            ("§3.5", "<a>; title*=UTF-8'de'letztes%20Kapitel", "letztes Kapitel"),
            ("§3.5 beyond ASCII", "<a>; title*=UTF-8'de'n%c3%a4chstes%20Kapitel", "nächstes Kapitel"),
            ("wins over title", "<a>; title=plain; title*=utf-8''%C3%BC", "ü"),
            ("ISO-8859-1", "<a>; title*=iso-8859-1'en'%A3%20rates", "£ rates"),
            ("unknown charset", "<a>; title=plain; title*=koi8-r''%C3", "plain"),
            ("broken escape", "<a>; title=plain; title*=UTF-8''%C", "plain"),
            ("broken UTF-8", "<a>; title=plain; title*=UTF-8''%C3", "plain"),
            ("no charset", "<a>; title=plain; title*=x", "plain"),
        ]
    )
    func extendedTitle(rule: String, line: String, title: String) throws {
        #expect(try WebLink.parse([line]).first?.title == title, "\(rule)")
    }

    @Test("Relations are compared without regard to case, URIs too (§2.1.1, §2.1.2)")
    func relations() throws {
        let link = try #require(try WebLink.parse([#"<a>; rel="Next https://Example.org/Rel""#]).first)

        #expect(link.hasRelation("next"))
        #expect(link.hasRelation("NEXT"))
        #expect(link.hasRelation("https://example.org/rel"))
        #expect(!link.hasRelation("prev"))
        #expect(!link.hasRelation(""))
    }

    @Test(
        "Targets are resolved against the URL they came from (RFC 3986 §5)",
        arguments: [
            ("?page=2", "https://example.org/a/b?page=2"), ("/c", "https://example.org/c"),
            ("c", "https://example.org/a/c"), ("../../../d", "https://example.org/d"), ("//h/x", "https://h/x"),
            ("https://other.example/y", "https://other.example/y"), ("", "https://example.org/a/b?x=1"),
            ("#g", "https://example.org/a/b?x=1#g"), ("/ü b", "https://example.org/%C3%BC%20b"),
            ("http://[::1", nil),
        ] as [(String, String?)]
    )
    func resolves(target: String, expected: String?) throws {
        let base = try #require(URL(string: "https://example.org/a/b?x=1#f"))
        let link = try WebLink(target: target, relationTypes: [])
        #expect(link.resolved(against: base)?.absoluteString == expected)
    }

    @Test("A link is written with its relation first")
    func writes() throws {
        let link = try WebLink(
            target: "/items?page=2",
            relationTypes: ["next", "last"],
            parameters: [
                FieldParameter(name: "title", value: #"the "2nd""#),
                FieldParameter(name: "title*", value: "UTF-8''%C3%BC"),
            ]
        )
        #expect(link.description == #"</items?page=2>; rel="next last"; title="the \"2nd\""; title*=UTF-8''%C3%BC"#)
    }

    @Test("A link that cannot be written cannot be made")
    func unwritable() {
        #expect(throws: Headers.FieldError.self) { try WebLink(target: "a>b", relationTypes: []) }
        #expect(throws: Headers.FieldError.self) { try WebLink(target: "a\r\nb", relationTypes: []) }
        #expect(throws: Headers.FieldError.self) { try WebLink(target: "a", relationTypes: ["next last"]) }
        #expect(throws: Headers.FieldError.self) { try WebLink(target: "a", relationTypes: [""]) }
        #expect(throws: Headers.FieldError.self) { try WebLink(target: "a", relationTypes: ["\n"]) }
    }

    @Test("Links survive writing and reading")
    func roundTrip() throws {
        var samples = FieldSamples()
        for _ in 0..<1_000 {
            let links = try (0..<samples.int(1...4)).map { _ in
                try WebLink(
                    target: samples.text("ab/?&=;,\"\\ü:# ", 0...20),
                    relationTypes: samples.array(0...3) { $0.text("abNX-.:/", 1...8) },
                    parameters: (0..<samples.int(0...4)).map { _ in
                        try FieldParameter(name: samples.token(), value: samples.value())
                    }
                )
            }
            let line = links.map(\.description).joined(separator: ", ")
            #expect(try WebLink.parse([line]) == links, samples.note)
        }
    }

    @Test("Long hostile values end", arguments: hostileFields.indices)
    func hostile(index: Int) throws {
        let value = hostileFields[index].value
        let base = try #require(URL(string: "https://example.org/a/b"))

        for line in [value, "<a>" + value, "<\(value)>; rel=next", "<a>; rel=\"\(value)"] {
            // Each accessor takes time proportional to its link; with many links the first ones are enough.
            for link in ((try? WebLink.parse([line])) ?? []).prefix(3) {
                _ = (
                    link.title, link.hreflang, link.hasRelation("next"), link.resolved(against: base), link.description
                )
            }
        }
    }
}
