import Foundation
import LadeCore
import Testing

@Suite("Requests that are validated", .timeLimit(.minutes(5)))
struct RequestTests {
    @Test(
        "a request sets no field that determines the framing of its message (RFC 9112 §6)",
        arguments: [
            ("HTTP2-Settings", "AAA"), ("Transfer-Encoding", "chunked"), ("Upgrade", "h2c"),
            ("Connection", "close, X-Internal"), ("Content-Length", "3"),
        ]
    )
    func refusesFraming(name: String, value: String) {
        #expect(throws: LoadingError.self) { try Request("https://a.test/", headers: Headers([(name, value)])) }
    }

    @Test(
        "options of a connection that change no framing are accepted",
        arguments: ["close", "Keep-Alive, TE", ", close,"]
    )
    func acceptsOptions(value: String) throws {
        #expect(try Request("https://a.test/", headers: ["Connection": value]).headers["Connection"] == value)
    }

    @Test(
        "a form has each field in its order, with everything but letters, digits and -._~ percent-encoded",
        arguments: [
            (["user": "ann", "password": "p&ä ss+"], "user=ann&password=p%26%C3%A4%20ss%2B"),
            (["a": "1", "a": "", "b=c": "~.-_"], "a=1&a=&b%3Dc=~.-_"), ([:], ""),
        ] as [(KeyValuePairs<String, String>, String)]
    )
    func forms(fields: KeyValuePairs<String, String>, text: String) throws {
        let body = Request.Body.form(fields)
        #expect(body.contentType == "application/x-www-form-urlencoded" && body.isReplayable)
        guard case .bytes(let bytes) = body.content else { throw LoadingError(.cancelled) }
        #expect(String(decoding: bytes, as: UTF8.self) == text)
    }

    @Test("a length may be written only with a body whose length is known and the same")
    func lengths() throws {
        let (same, other): (Headers, Headers) = (["Content-Length": "5"], ["Content-Length": "4"])

        _ = try Request(.post, "https://a.test/", headers: same, body: .text("hello"))
        #expect(throws: LoadingError.self) {
            try Request(.post, "https://a.test/", headers: other, body: .text("hello"))
        }
        #expect(throws: LoadingError.self) {
            try Request(.post, "https://a.test/", headers: same, body: .writer { try await $0(Data("hello".utf8)) })
        }
    }

    @Test(
        "ports are from 1 to 65535, and an address has no user",
        arguments: [
            ("https://a.test:1/", true), ("https://[::1]:65535/", true), ("https://a.test:/", true),
            ("https://a.test:0/", false), ("https://a.test:65536/", false), ("https://user@a.test/", false),
        ]
    )
    func authorities(address: String, isValid: Bool) {
        #expect(((try? Request(address)) != nil) == isValid)
    }

    @Test("a changed copy of a request keeps the names of the secret items")
    func keepsSecretNames() throws {
        var request = try Request("https://a.test/?appid=canary")
        request.secretQueryNames = ["appid"]

        var copy = request
        copy.retryLimit = 0

        #expect(copy.description == "GET https://a.test/?appid=<redacted>")
        #expect(request.retryLimit == nil)
    }
}
