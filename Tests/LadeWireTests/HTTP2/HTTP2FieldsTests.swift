#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeExchange
import Testing

@testable import LadeWire

@Suite("Fields of HTTP/2", .timeLimit(.minutes(5)))
struct HTTP2FieldsTests {
    /// What a server receives for a request.
    private static func sent(_ exchange: Exchange) throws -> HTTP2Server.Received {
        let (client, server) = (HTTP2Client(), HTTP2Server())
        let stream = try #require(client.open(exchange))
        client.talk(to: server)
        return try #require(server.streams[stream])
    }

    @Test("wire WR-62 sends the request line as fields, then the fields of the caller in lower case and in order")
    func writesHeads() throws {
        let headers: Headers = ["X-Second": "2", "x-first": "1", "X-Second": "3", "Host": "b.test"]
        let received = try Self.sent(HTTP2Client.exchange("http://a.test:8080/p?q=1#f", headers: headers))

        #expect(
            received.fields == [
                ":method: GET", ":scheme: http", ":authority: b.test", ":path: /p?q=1", "x-second: 2", "x-first: 1",
                "x-second: 3", "accept: */*", "accept-encoding: gzip, deflate, br, zstd",
            ]
        )
        #expect(received.isComplete)
    }

    @Test(
        "wire WR-62 names the authority without the port of the scheme and without a zone",
        arguments: [
            ("http://A.test:80/", "A.test", "http"), ("https://a.test:443", "a.test", "https"),
            ("https://a.test:80/", "a.test:80", "https"), ("http://[fe80::1%25eth0]:81/", "[fe80::1]:81", "http"),
        ]
    )
    func namesTheAuthority(address: String, authority: String, scheme: String) throws {
        let received = try Self.sent(HTTP2Client.exchange(address))

        let expected: [String] = [
            ":method: GET", ":scheme: \(scheme)", ":authority: \(authority)", ":path: /",
        ]
        #expect(Array(received.fields.prefix(4)) == expected)
    }

    @Test("wire WR-62 sends no field of the connection, and of TE only trailers")
    func dropsConnectionFields() throws {
        let headers: Headers = [
            "Connection": "close, TE", "Keep-Alive": "timeout=5", "Proxy-Connection": "close",
            "TE": "gzip, Trailers;q=1", "X-End": "1", "Accept": "a/b",
        ]
        let received = try Self.sent(HTTP2Client.exchange(headers: headers))
        let other = try Self.sent(HTTP2Client.exchange(headers: ["TE": "gzip", "Accept": "a/b"]))

        let expected: [String] = [
            "te: trailers", "x-end: 1", "accept: a/b", "accept-encoding: gzip, deflate, br, zstd",
        ]
        #expect(Array(received.fields.dropFirst(4)) == expected)
        #expect(other.fields.count == 6, "no te: \(other.fields)")
    }

    @Test("wire WR-62 credentials are never indexed, by name or by mark")
    func neverIndexesCredentials() throws {
        var headers: Headers = ["Authorization": "Bearer x", "Cookie": "a=1; b=2", "X-Api-Key": "k", "X-Plain": "p"]
        headers.set("X-Mine", secret: Secret("s"))
        let received = try Self.sent(HTTP2Client.exchange(headers: headers))

        #expect(received.neverIndexed == ["authorization", "cookie", "x-api-key", "x-mine"])
    }

    @Test("wire WR-62 trailers go both ways")
    func sendsTrailers() throws {
        let (client, server) = (HTTP2Client(), HTTP2Server())
        var body = Request.Body.bytes(Data("up".utf8))
        body.trailers = { ["X-Sum": "2", "Content-Length": "9", "Authorization": "t"] }
        let stream = try #require(client.open(HTTP2Client.exchange("http://a.test/", .post, body: body)))
        client.talk(to: server)
        server.respond(stream, body: Array("down".utf8), trailers: [("x-end", "4"), ("x-more", "")])
        client.talk(to: server)

        let received = try #require(server.streams[stream])
        #expect(String(decoding: received.body, as: UTF8.self) == "up")
        #expect(received.trailers == ["x-sum: 2", "authorization: t"])
        #expect(received.isComplete)
        #expect(!received.fields.contains { $0.hasPrefix("content-length") })
        #expect(client.story.last == "\(stream) ended complete down | x-end: 4 | x-more: ")
    }

    @Test("announces the length of a body that is known, and sends no DATA for an empty one")
    func announcesLengths() throws {
        let whole = try Self.sent(HTTP2Client.exchange("http://a.test/", .post, body: .bytes(Data("four".utf8))))
        let empty = try Self.sent(HTTP2Client.exchange("http://a.test/", .post))

        #expect(whole.fields.last == "content-length: 4")
        #expect(String(decoding: whole.body, as: UTF8.self) == "four")
        #expect(empty.fields.last == "content-length: 0")
        #expect(empty.isComplete)
    }

    @Test("wire WR-62 joins the pieces of a split cookie for the reader, at the place of the first")
    func joinsCookies() {
        let client = HTTP2Client()
        client.open()
        _ = client.send()
        client.receive(
            RawFrame.settings()
                + RawFrame.head(
                    [(":status", "200"), ("a", "1"), ("cookie", "x=1"), ("b", "2"), ("cookie", "y=2"), ("c", "3")],
                    ends: true
                )
        )

        #expect(client.story[1] == "1 200 a: 1 cookie: <redacted> b: 2 c: 3")
        #expect(client.heads[1]?["Cookie"] == "x=1; y=2")
    }
}
