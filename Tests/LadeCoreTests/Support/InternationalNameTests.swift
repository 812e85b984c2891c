#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Testing

@testable import LadeCore

/// Names of hosts in other scripts.
@Suite("International names", .timeLimit(.minutes(5)))
struct InternationalNameTests {
    // The first rows are those of UTS 46 and RFC 5891; the results are those of `idn2` and of browsers.
    static let names: [(String, String?)] = [
        ("bücher.example", "xn--bcher-kva.example"), ("BÜCHER.Example", "xn--bcher-kva.example"),
        ("bu\u{308}cher.example", "xn--bcher-kva.example"), ("b%C3%BCcher.example", "xn--bcher-kva.example"),
        ("bücher.example.", "xn--bcher-kva.example"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("faß.de", "xn--fa-hia.de"), ("βόλος.com", "xn--nxasmm1c.com"), ("日本語。jp", "xn--wgv71a119e.jp"),
        ("日本語.ｊｐ", "xn--wgv71a119e.jp"), ("１２７.０.０.１", "127.0.0.1"), ("ⓔxample.com", "example.com"),
        ("☕.example", nil), ("a\u{200D}b.example", nil), ("\u{300}abc.example", nil), ("אa.example", nil),
        ("bücher..example", nil), ("bü cher.example", nil), ("bü/cher.example", nil), ("b\u{FC}\u{0}.example", nil),
        ("\u{202E}abc.example", nil), ("b%FC.example", nil),
    ]

    @Test(
        "a name in another script has the A-labels of UTS 46, or is none: finding CF-20 finding LF-15",
        arguments: names
    )
    func normalises(written: String, name: String?) {
        #expect(NormalHost(written)?.text == name)
    }

    @Test(
        "finding LF-15 a request to such a name has its A-labels, whatever follows",
        arguments: [
            ("https://bücher.example/", "https://xn--bcher-kva.example/"),
            ("https://bücher.example:8443/a?b#c", "https://xn--bcher-kva.example:8443/a?b#c"),
            ("http://b%C3%BCcher.localhost/x", "http://xn--bcher-kva.localhost/x"),
        ]
    )
    func requests(address: String, url: String) throws {
        #expect(try Request(address).url.absoluteString == url)
    }

    @Test("finding LF-15 a name that mixes what no name may mix is refused, and the error says that it is the host")
    func refuses() throws {
        let error = #expect(throws: LoadingError.self) { try Request("https://a\u{200D}b.example/") }
        #expect(try #require(error).description.contains("host"))
    }

    @Test(
        "finding CF-20 an address that a server sends is resolved to such a name",
        arguments: [
            ("https://bücher.example/a", "https://xn--bcher-kva.example/a"),
            ("//bücher.example/a", "https://xn--bcher-kva.example/a"),
            ("https://b%c3%bccher.example", "https://xn--bcher-kva.example"),
        ]
    )
    func references(reference: String, url: String) throws {
        let base = try Request("https://a.example/").url
        let resolved = try #require(URL(reference: reference, against: base))
        #expect(Request(resolved).url.absoluteString == url)
    }

    @Test("finding CF-20 messages show both forms, and a host in plain ASCII as it is")
    func bothForms() {
        let context = LoadingError.Context()
        #expect(
            LoadingError(.nameNotResolved(host: "xn--bcher-kva.example"), context).description
                == "The name bücher.example (xn--bcher-kva.example) could not be resolved."
        )
        #expect("api.example".hostInBothForms == "api.example")
        // Labels that mean nothing, and those that would hide something.
        #expect("xn--a.example".hostInBothForms == "xn--a.example")
        #expect("xn--".hostInBothForms == "xn--")
    }
}
