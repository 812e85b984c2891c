import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct RequestItemTests {
    @Test(
        "distinguishes the kinds of items by the earliest and longest separator",
        arguments: [
            ("a=b", .text(name: "a", value: "b")),
            ("a=", .text(name: "a", value: "")),
            ("a=b:c@d", .text(name: "a", value: "b:c@d")),
            ("a=b=c", .text(name: "a", value: "b=c")),
            ("a:=[1, 2.50]", .json(name: "a", value: "[1, 2.50]")),
            ("a==b", .query(name: "a", value: "b")),
            ("a==", .query(name: "a", value: "")),
            ("a==b=c", .query(name: "a", value: "b=c")),
            ("a===b", .query(name: "a", value: "=b")),
            ("X-A:b", .header(.set("X-A", "b"))),
            ("X-A:b=c", .header(.set("X-A", "b=c"))),
            ("Accept:", .header(.remove("Accept"))),
            ("X-A;", .header(.set("X-A", ""))),
            ("a@b.txt", .file(name: "a", path: "b.txt")),
            ("a@-", .file(name: "a", path: "-")),
            ("mail=me@x.org", .text(name: "mail", value: "me@x.org")),
            ("-", .standardInput),
            (#"a\=b=c"#, .text(name: "a=b", value: "c")),
            (#"a\:=c"#, .text(name: "a:", value: "c")),
            (#"a\=\=b==c"#, .query(name: "a==b", value: "c")),
            (#"a=b\=c"#, .text(name: "a", value: "b=c")),
            (#"a\b=c\d"#, .text(name: #"a\b"#, value: #"c\d"#)),
            (#"a\;=c"#, .text(name: "a;", value: "c")),
            ("http:1", .header(.set("http", "1"))),
            (#"me\@x=c"#, .text(name: "me@x", value: "c")),
            ("a;b=c", .text(name: "a;b", value: "c")),
            ("ä=ö", .text(name: "ä", value: "ö")),
            ("a=@b.txt", .textFile(name: "a", path: "b.txt")),
            ("a:=@-", .jsonFile(name: "a", path: "-")),
            ("X-A:@b", .headerFile(name: "X-A", path: "b")),
            (#"a=\@b"#, .text(name: "a", value: "@b")),
            ("a==@b", .query(name: "a", value: "@b")),
            ("a[b]=c", .text(name: "a[b]", value: "c")),
        ] as [(String, RequestItem)]
    )
    func kinds(text: String, item: RequestItem) throws {
        #expect(try RequestItem(text) == item)
    }

    @Test(
        "refuses what is no item",
        arguments: [
            "a", "", "=b", ":b", "==b", "@b", ";", "a:=", "a:=nope", "a:={1}", "a=@", "a:=@", "X-A:@", "http://x/",
            "HTTPS://x/",
        ]
    )
    func refuses(text: String) {
        let error = #expect(throws: CommandError.self) { try RequestItem(text) }
        #expect(error?.code == .usage)
    }

    @Test(
        "reads header lines as curl does",
        arguments: [
            ("A: b", .set("A", "b")), ("A:b", .set("A", "b")), ("A:\t b c ", .set("A", "b c ")),
            ("A: b:c", .set("A", "b:c")),
            ("A:", .remove("A")), ("A: ", .remove("A")), ("A;", .set("A", "")),
        ] as [(String, HeaderEdit)]
    )
    func headers(line: String, edit: HeaderEdit) throws {
        #expect(try HeaderEdit(line: line) == edit)
    }

    @Test("refuses a header without a colon, and does not show it")
    func secretHeader() {
        let error = #expect(throws: CommandError.self) { try HeaderEdit(line: "Bearer abc") }
        #expect(error?.lines.contains("abc") == false)
    }
}
