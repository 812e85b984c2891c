import Foundation
import Testing

@testable import LadeCore
@testable import LadeFields

@Suite(.timeLimit(.minutes(5)))
struct NormalHostTests {
    @Test(
        "finding FP-28 a host has one normal form however it is written",
        arguments: [
            ("API.Example.COM", "api.example.com"), ("example.org.", "example.org"), ("ex%61mple.org", "example.org"),
            ("EX%41MPLE%2Eorg", "example.org"), ("127.0.0.1", "127.0.0.1"), ("127.1", "127.0.0.1"),
            ("0x7f.1", "127.0.0.1"), ("2130706433", "127.0.0.1"), ("0x7f.0.0x1", "127.0.0.1"),
            ("0177.0.0.01", "127.0.0.1"), ("127.0.0.1.", "127.0.0.1"), ("0x", "0.0.0.0"), ("%31%32%37.1", "127.0.0.1"),
            ("4294967295", "255.255.255.255"), ("1.65535", "1.0.255.255"), ("[::1]", "::1"), ("::1", "::1"),
            ("[1:0::]", "1::"), ("[0:0:0:0:0:0:0:0]", "::"), ("[2001:DB8::0:1]", "2001:db8::1"),
            ("[1:0:0:2:0:0:0:3]", "1:0:0:2::3"), ("[1:0:2:3:4:5:6:7]", "1:0:2:3:4:5:6:7"),
            ("[::FFFF:127.0.0.1]", "::ffff:127.0.0.1"), ("[::ffff:7f00:1]", "::ffff:127.0.0.1"),
            ("[::127.0.0.1]", "::7f00:1"), ("[fe80::1%25eth0]", "fe80::1%eth0"),
            ("[1:2:3:4:5:6:7::]", "1:2:3:4:5:6:7:0"),
            ("1.example.com", "1.example.com"), ("0x.example", "0x.example"), ("a_b-c.test", "a_b-c.test"),
            ("server1", "server1"), ("xn--bcher-kva.example", "xn--bcher-kva.example"), ("1.2.3.4x", "1.2.3.4x"),
        ]
    )
    func normalises(written: String, expected: String) {
        #expect(NormalHost(written)?.text == expected)
    }

    @Test(
        "finding FP-28 an invalid host has no normal form",
        arguments: [
            "", ".", "..", "a..b", ".a", "[]", "[example.org]", "[::1", "::1]", "[v1.fe80::a]", "[1::2::3]",
            "[:1:2:3:4:5:6:7]",
            "[1:2:3:4:5:6:7:8:9]", "[1:2:3:4:5:6:7]", "[12345::]", "[::1.2.3]", "[::1.2.3.256]", "[::01.2.3.4]",
            "[::1.2.3.4:5]",
            "[1:2:3:4:5:6:7:8::]", "[::1%25]", "[fe80::1%25a/b]", "256.0.0.1", "1.2.3.4.5", "1.256.1", "4294967296",
            "08.0.0.1",
            "a%", "a%2", "a%zz", "a%00b", "a%2fb", "a%40b", "a%5cb", "a b",
            "a%FC", "b\u{FC}c her.example", "\u{301}a.example", "a:80", String(repeating: "a", count: 64) + ".example",
        ]
    )
    func refuses(written: String) {
        #expect(NormalHost(written) == nil)
    }

    @Test(
        "finding CL-9 a host that ends in a number is a name where another label is none",
        arguments: [
            ("a.1", "a.1", .name), ("shop.83", "shop.83", .name), ("A.B.0x7F", "a.b.0x7f", .name),
            ("a.0177.", "a.0177", .name),
            ("0x1g.0x7f.0x100", "0x1g.0x7f.0x100", .name), ("127.0.0.a.1", "127.0.0.a.1", .name),
            ("a%2e1", "a.1", .name),
            ("127.1", "127.0.0.1", .ipv4), ("256.1", nil, nil), ("127.0.0.1.83", nil, nil), ("0x.256.0.0.1", nil, nil),
        ] as [(String, String?, NormalHost.Kind?)]
    )
    func numberAtTheEnd(written: String, expected: String?, kind: NormalHost.Kind?) throws {
        let host = NormalHost(written)
        #expect(host?.text == expected)
        #expect(host?.kind == kind)
    }

    @Test("finding FP-5 a name has at most 253 bytes, with a dot at its end 254")
    func bounds() {
        let label = String(repeating: "a", count: 61)
        let longest = [label, label, label, label, "bb.c"].joined(separator: ".")
        #expect(longest.utf8.count == 252)
        #expect(NormalHost("x" + longest)?.text == "x" + longest)
        #expect(NormalHost("x" + longest + ".")?.text == "x" + longest)
        #expect(NormalHost("xx" + longest) == nil)
        #expect(NormalHost(String(repeating: "a.", count: 50_000)) == nil)
    }

    @Test(
        "finding FH-10 only parsed addresses and localhost are on this machine",
        arguments: [
            ("localhost", true), ("LOCALHOST.", true), ("a.localhost", true), ("127.0.0.1", true), ("127.255.1", true),
            ("0x7f000001", true), ("[::1]", true), ("[0::0:1]", true), ("[::ffff:127.0.0.1]", true),
            ("128.0.0.1", false),
            ("127.evil.example.com", false), ("127.0.0.evil", false), ("notlocalhost", false),
            ("localhost.evil", false),
            ("[::2]", false), ("0.0.0.0", false),
        ]
    )
    func tellsLoopback(host: String, isLoopback: Bool) {
        #expect((NormalHost(host)?.isLoopback ?? false) == isLoopback)
    }

    @Test(
        "finding FP-28 a request dials the host that rules see, and keeps everything else as it is written",
        arguments: [
            ("https://ex%61mple.org/%61/../b?%61#c", "https://example.org/%61/../b?%61#c"),
            ("http://0x7f.1:8080/", "http://127.0.0.1:8080/"), ("http://2130706433", "http://127.0.0.1"),
            ("http://[1:0::]/", "http://[1::]/"), ("http://[fe80:0::1%25eth0]/", "http://[fe80::1%25eth0]/"),
            ("https://API.example.com./x", "https://API.example.com./x"), ("myapp://0x7f.1/x", "myapp://0x7f.1/x"),
        ]
    )
    func dials(written: String, expected: String) throws {
        var request = try Request(written)
        #expect(request.url.absoluteString == expected)
        request.url = try #require(URL(string: "https://other.test/"))
        request.url = try #require(URL(string: written))
        #expect(request.url.absoluteString == expected)
    }

    @Test(
        "an address whose host has no normal form, or with a user name, is refused: finding FP-28 and FP-30",
        arguments: [
            "http://[]/", "https://[example.org]/", "http://a..b/", "http://1.2.3.4.5/", "http://user:pw@host.test/",
            "https://user@host.test/", "https://@host.test/", "http://host.test%00.evil.test/",
        ]
    )
    func refusesAddress(address: String) throws {
        let error = #expect(throws: LoadingError.self) { try Request(address) }
        guard case .invalidRequest(.url) = error?.kind else {
            Issue.record("\(address) gives \(String(describing: error))")
            return
        }
        #expect(error?.description.contains("pw") == false)
    }

    // MARK: - References

    @Test(
        "finding FH-6 only octets that are not allowed are encoded; what is encoded stays",
        arguments: [
            ("/a%20b?q=[x]&r=%5B", "https://h.test/a%20b?q=%5Bx%5D&r=%5B"), ("/a%20b c", "https://h.test/a%20b%20c"),
            ("/%7Eu|\"<>^`{}\\", "https://h.test/%7Eu%7C%22%3C%3E%5E%60%7B%7D%5C"),
            ("/ü%C3%BC", "https://h.test/%C3%BC%C3%BC"),
            ("/100%?a=%zz", "https://h.test/100%25?a=%25zz"),
            ("?c=a%20b é", "https://h.test/dir/page?c=a%20b%20%C3%A9"),
            ("/x#a#b", "https://h.test/x#a%23b"), ("/e\u{301}:/x", "https://h.test/e%CC%81:/x"),
            ("https://[::1]:8/a[b", "https://[::1]:8/a%5Bb"), ("a;b=c@d:e", "https://h.test/dir/a;b=c@d:e"),
        ]
    )
    func keepsWhatIsEncoded(reference: String, expected: String) throws {
        let base = try #require(URL(string: "https://h.test/dir/page?x"))
        #expect(URL(reference: reference, against: base)?.absoluteString == expected)
    }

    @Test(
        "finding FP-27 dot segments are removed from every reference (RFC 3986 §5.2.2)",
        arguments: [
            ("https://h.test/private/../x", "https://h.test/x"), ("//h.test/a/./b/../../c", "https://h.test/c"),
            ("https://h.test/private/%2E%2e/x", "https://h.test/x"), ("/a/b/..", "https://h.test/a/"),
            ("/a/b/.", "https://h.test/a/b/"), ("/a/.%2e/x", "https://h.test/x"), ("/a/...", "https://h.test/a/..."),
            ("https://h.test/../../x?a/../b", "https://h.test/x?a/../b"), ("/a//../b", "https://h.test/a/b"),
            ("/..%2fx", "https://h.test/..%2fx"),
        ]
    )
    func removesDotSegments(reference: String, expected: String) throws {
        let base = try #require(URL(string: "https://h.test/dir/page"))
        #expect(URL(reference: reference, against: base)?.absoluteString == expected)
        let link = try WebLink(target: reference, relationTypes: ["next"])
        #expect(link.resolved(against: base)?.absoluteString == expected)
    }

    @Test("finding FH-6 octets that are not UTF-8 are encoded one by one, and control characters refused")
    func octets() throws {
        let base = try #require(URL(string: "https://h.test/"))
        #expect(URL(reference: [0x2F, 0xFF, 0xC3], against: base)?.absoluteString == "https://h.test/%FF%C3")
        for control in [0x00, 0x09, 0x0A, 0x0D, 0x1F, 0x7F] as [UInt8] {
            #expect(URL(reference: [0x2F, control], against: base) == nil)
        }
    }
}
