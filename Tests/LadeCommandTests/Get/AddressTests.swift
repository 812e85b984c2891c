import Testing

@testable import LadeCommand

@Suite(.timeLimit(.minutes(5)))
struct AddressTests {
    @Test(
        "makes whole what people type",
        arguments: [
            ("https://a.example/b?c#d", "https://a.example/b?c#d"),
            ("a.example", "https://a.example"),
            ("a.example/b", "https://a.example/b"),
            ("a.example:8443/b", "https://a.example:8443/b"),
            ("localhost", "http://localhost"),
            ("localhost:8080/x", "http://localhost:8080/x"),
            ("api.localhost/x", "http://api.localhost/x"),
            ("127.0.0.1:1/x", "http://127.0.0.1:1/x"),
            ("127.evil.example.com/x", "https://127.evil.example.com/x"), ("127.0.0.evil", "https://127.0.0.evil"),
            ("[::1]:8080/x", "http://[::1]:8080/x"),
            (":8080/x", "http://localhost:8080/x"),
            (":/x", "http://localhost/x"),
            (":8080", "http://localhost:8080"),
            ("a.example/?u=http://b", "https://a.example/?u=http://b"),
            ("data:,hi", "data:,hi"),
            ("DATA:,hi", "DATA:,hi"),
            ("a b/x", "https://a b/x"),
            ("file:///a", "file:///a"),
        ]
    )
    func whole(typed: String, whole: String) {
        // An address inside a query has a scheme, the one around it may have none.
        #expect(Address(typed).text == whole)
    }

    @Test(
        "takes user and password out",
        arguments: [
            ("http://me:pw@h/x", "http://h/x", "me:pw"), ("http://me@h", "http://h", "me"),
            ("http://me%40x:p%3Aw@h/x@y", "http://h/x@y", "me@x:p:w"),
            ("me:pw@localhost:1/x", "http://localhost:1/x", "me:pw"), ("http://me:p@w@h/x", "http://h/x", "me:p@w"),
        ]
    )
    func users(typed: String, text: String, user: String) {
        let address = Address(typed)
        #expect(address.text == text)
        #expect(address.user == user)
    }

    @Test(
        "shows an address without what may be secret",
        arguments: [
            ("http://me:pw@h/x?token=t#f", "http://h/x"), ("h/x", "h/x"), ("me:pw@h", "…@h"),
            // The slash of a password that is not encoded ends the authority.
            ("http://me:p/w@1@h/x", "http://h/x"),
        ]
    )
    func shown(typed: String, shown: String) {
        #expect(typed.asArgument == shown)
    }

    @Test("adds query items before the fragment, percent-encoded, and keeps what is there")
    func query() {
        var address = Address("http://h/x?a=%20b&c#f")
        address.addQueryItem("q", "a b&c=d/ä~")
        address.addQueryItem("", "")
        #expect(address.text == "http://h/x?a=%20b&c&q=a%20b%26c%3Dd%2F%C3%A4~&=#f")
        var bare = Address("http://h/x?")
        bare.addQueryItem("a", "1")
        #expect(bare.text == "http://h/x?a=1")
        var open = Address("http://h/x?a=1&")
        open.addQueryItem("b", "2")
        #expect(open.text == "http://h/x?a=1&b=2")
        var raw = Address("http://h/x")
        raw.addQuery("a=%20~\u{7F}\u{20}|ä".utf8)
        #expect(raw.text == "http://h/x?a=%20~%7F%20%7C%C3%A4")
    }

    @Test(
        "adds a file's name to a folder",
        arguments: [
            ("http://h/x/", "http://h/x/a%20b"), ("http://h", "http://h/a%20b"), ("http://h/x", "http://h/x"),
            ("http://h/x/?q", "http://h/x/a%20b?q"),
        ]
    )
    func upload(typed: String, text: String) {
        var address = Address(typed)
        address.completePath(with: "a b")
        #expect(address.text == text)
    }

    // As curl 7.88 sends them.
    static let dots: [(String, String)] = [
        ("http://h/a/./b", "http://h/a/b"), ("http://h/a/../b", "http://h/b"), ("http://h/a/b/..", "http://h/a/"),
        ("http://h/a/b/.", "http://h/a/b/"), ("http://h/../../x", "http://h/x"), ("http://h/a//../b", "http://h/a/b"),
        ("http://h/..?x=/../y", "http://h/?x=/../y"), ("http://h/a/...", "http://h/a/..."),
        ("http://h/a/%2e%2e/b", "http://h/a/%2e%2e/b"),
        ("http://h", "http://h"), ("http://h/", "http://h/"), ("http://h/a/.b/..c", "http://h/a/.b/..c"),
    ]

    @Test("finding CF-23 dot segments of the path are removed as curl removes them", arguments: dots)
    func dotSegments(typed: String, sent: String) {
        var address = Address(typed)
        address.removeDotSegments()
        #expect(address.text == sent)
    }

    @Test(
        "finding CF-23 a printed line has --path-as-is where curl might change the address",
        arguments: [
            ("http://h/a/../b", true), ("http://h/a/%2E/b", true), ("http://h/a/b", false),
            ("http://h/a?b=/../c", false),
        ]
    )
    func printed(text: String, isNeeded: Bool) {
        #expect(Address(text).hasDotSegments == isNeeded)
    }
}
