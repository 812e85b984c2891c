import Foundation
import LadeCore
import LadePolicies
import Testing

@Suite(.timeLimit(.minutes(5)))
struct OriginTests {
    @Test("an origin is scheme, host and port, whatever else and in whatever case it is written")
    func compares() throws {
        #expect(try Origin("https://API.example.com") == Origin("HTTPS://api.example.com:443/v1?x#y"))
        #expect(try Origin("https://api.example.com") != Origin("http://api.example.com"))
        #expect(try Origin("https://api.example.com") != Origin("https://api.example.com:8443"))
        #expect(try Origin("http://[::1]:8080/").description == "http://[::1]:8080")
        #expect(try Origin("WS://[2001:DB8::1]:8080/").description == "ws://[2001:db8::1]:8080")
    }

    @Test("policies PL-46 a request that moves to another origin leaves behind what was meant for the old one")
    func moves() throws {
        var request = try Request("https://a.test/1", headers: ["Authorization": "x", "Host": "h", "Accept": "y"])
        request.destination = .host("127.0.0.1", port: 1)

        let near = request.moved(to: try Request("https://A.test:443/2").url)
        let far = request.moved(to: try Request("https://b.test/2").url)
        let trusted = request.moved(to: far.url, trusting: [try Origin("https://b.test")])

        #expect(near.headers == request.headers && near.destination != nil)
        #expect(far.headers.map(\.name) == ["Accept"] && far.destination == nil)
        #expect(trusted.headers.map(\.name) == ["Authorization", "Accept"])
    }

    @Test(
        "policies PL-46 an address without an origin gets no credentials, whichever origins are trusted",
        arguments: ["mailto:a@b", "/2"]
    )
    func movesToNoOrigin(text: String) throws {
        let request = try Request("https://a.test/1", headers: ["Authorization": "x", "Accept": "y"])

        let moved = request.moved(to: try #require(URL(string: text)), trusting: [try Origin("https://a.test")])

        #expect(moved.headers.map(\.name) == ["Accept"])
    }

    @Test(
        "finding FP-28 one host is one origin in any spelling, and an invalid host is none",
        arguments: [
            ("https://ex%61mple.org", "https://example.org", true), ("http://0x7f.1", "http://127.0.0.1", true),
            ("http://2130706433", "http://127.1", true), ("http://[1:0::]", "http://[1::0:0]", true),
            ("https://example.org.", "https://example.org", true),
            ("https://[example.org]", "https://example.org", false),
            ("http://[]", "http://[]", false),
        ]
    )
    func comparesHosts(one: String, other: String, areSame: Bool) throws {
        let first = try Origin(#require(URL(string: one)))
        let second = try Origin(#require(URL(string: other)))
        #expect((first != nil && first == second) == areSame)
    }

    @Test("refuses what has no host", arguments: ["", "example.com", "/path", "https:///x", "mailto:a@b"])
    func refuses(text: String) {
        #expect(throws: LoadingError.self) { _ = try Origin(text) }
    }
}
