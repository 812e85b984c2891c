import Foundation
import Testing

@testable import LadeCore

@Suite(.timeLimit(.minutes(5)))
struct RedactionTests {
    @Test("of a secret that begins with another one, no part is shown")
    func nestedSecrets() {
        let rule = Redaction(names: [], values: ["canary", "canary-and-its-rest"])

        #expect(rule.text("x canary-and-its-rest, canary") == "x <redacted>, <redacted>")
    }

    @Test("the user information of an address ends at the last at-sign of the authority (RFC 3986 §3.2)")
    func atSigns() {
        #expect(Redaction.standard.address("https://u:p@cAnArY@a.test/x@y") == "https://a.test/x@y")
    }

    @Test(
        "secrets of the address of a request are redacted wherever else they are shown",
        arguments: [
            ("https://user-name:pass-word@a.test/", "user-name pass-word", "<redacted> <redacted>"),
            ("https://a.test/?token=canary-1#top", "canary-1", "<redacted>"),
            ("https://a.test/?a=1&token=canary-1&b=2", "canary-1 b=2", "<redacted> b=2"),
        ]
    )
    func secretsOfAddresses(address: String, text: String, shown: String) throws {
        let request = Request(try #require(URL(string: address)))

        #expect(Redaction(request).text(text) == shown)
    }

    @Test("a request that keeps the secrets of another one redacts them, and stores each once")
    func keptSecrets() throws {
        let earlier = try Request("https://a.test/?token=canary-1")
        var next = try Request("https://b.test/")

        next.keepSecrets(of: earlier)
        next.keepSecrets(of: earlier)

        #expect(next.secretValues == ["canary-1"])
        #expect(Redaction(next).text("x canary-1") == "x <redacted>")
    }
}
