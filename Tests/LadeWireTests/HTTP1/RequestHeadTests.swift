#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeExchange
import Testing

@testable import LadeWire

@Suite("The head of a request", .timeLimit(.minutes(5)))
struct RequestHeadTests {
    private func lines(_ request: Request) throws -> [String] {
        let exchange = try Exchange(
            request,
            call: Call(),
            rules: Exchange.Rules(TransportSettings()),
            lane: .direct
        )
        var head: [UInt8] = []
        RequestHead.append(of: exchange, framing: RequestFraming(request), to: &head)
        let text = String(decoding: head, as: UTF8.self)
        #expect(text.hasSuffix("\r\n\r\n"))
        return text.split(separator: "\r\n").map(String.init)
    }

    @Test(
        "writes path and query as they are given, and Host without what is no part of it",
        arguments: [
            ("http://example.test", "GET / HTTP/1.1", "Host: example.test"),
            ("http://example.test/a%20b?x=1&x=", "GET /a%20b?x=1&x= HTTP/1.1", "Host: example.test"),
            ("http://example.test?q", "GET /?q HTTP/1.1", "Host: example.test"),
            ("http://example.test/a#fragment", "GET /a HTTP/1.1", "Host: example.test"),
            ("http://example.test:80/", "GET / HTTP/1.1", "Host: example.test"),
            ("http://example.test:8080/", "GET / HTTP/1.1", "Host: example.test:8080"),
            ("http://[::1]:8080/", "GET / HTTP/1.1", "Host: [::1]:8080"),
        ]
    )
    func target(address: String, line: String, host: String) throws {
        let lines = try lines(try Request(address))
        #expect(lines[0] == line)
        #expect(lines[1] == host)
    }

    @Test("keeps the order and the spelling of the caller's fields, empty and repeated ones too")
    func fields() throws {
        var request = try Request("http://example.test/")
        request.headers = ["X-Second": "2", "x-first": "", "X-second": "3", "Accept": "a/b"]
        let lines = try lines(request)
        #expect(Array(lines[2...5]) == ["X-Second: 2", "x-first: ", "X-second: 3", "Accept: a/b"])
        #expect(!lines.contains("Accept: */*"))
    }

    @Test("frames the body by its length, or by chunks where there is none")
    func framing() throws {
        func framing(_ method: Request.Method, _ body: Request.Body?) throws -> RequestFraming {
            RequestFraming(try Request(method, "http://example.test/", body: body))
        }
        #expect(try framing(.get, nil) == .none)
        #expect(try framing(.post, nil) == .length(0))
        #expect(try framing(.delete, nil) == .none)
        #expect(try framing(.post, .text("four")) == .length(4))
        #expect(try framing(.post, .bytes(Data())) == .length(0))
        #expect(try framing(.post, .writer { _ in }) == .chunked)
    }
}
