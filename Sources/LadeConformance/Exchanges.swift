#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Exchanges with a well-behaved server; this file has what is sent.
extension TransportConformance {
    static var exchanges: [ConformanceCase] {
        [
            methods, echoText, codings, identityCoding, customHeader, refusals, manyAtOnce, cancelBeforeHead,
            cancelInBody, cancelWhileReady, echoMegabyte, droppedBody, drips, emptyHeader, headWithLength,
            repeatedHeaders, duplex,
            duplexLedByServer, emptyBody, query, responseTrailers, requestTrailers,
        ]
    }

    /// Both ways to deliver a body.
    static let deliveries: KeyValuePairs<String, Request.Delivery> = [
        "buffered": .buffered(limit: Request.defaultBufferLimit), "streamed": .streamed,
    ]

    // MARK: - Requests as sent

    private static let methods = ConformanceCase("TR-30", "sends any method as it is written") { context in
        let server = try LoopbackServer { _ in .status(200) }
        let transport = try context.transport()
        let tokens = ["HEAD", "GET", "PUT", "POST", "PATCH", "DELETE", "OPTIONS", "M-SEARCH", "purge"]
        for (index, token) in tokens.enumerated() {
            await context.part(token) { context in
                let request = try server.request(try Request.Method(token), "/\(token)?x=1")
                let exchange = try await context.exchange(transport, request)
                context.expect(exchange, gives: 200, "")
                context.expect(exchange.trailers.isEmpty, "there are trailers: \(exchange.trailers)")
                let received = try await context.within("the request") { try await server.request(at: index) }
                context.expectEqual(received.method, token, "method at the server")
                context.expectEqual(received.target, "/\(token)?x=1", "target at the server")
                context.expect(received.body.isEmpty, "a body was sent: “\(received.text)”")
                context.expectEqual(received["Host"], server.authority, "Host")
            }
        }
    }

    private static let echoText = ConformanceCase("TR-31", "echoes a posted text") { context in
        let server = try LoopbackServer { .bytes($0.body) }
        let transport = try context.transport()
        let text = "Grüße, 世界 ✓\r\n\0 and more"
        for (index, delivery) in deliveries.enumerated() {
            await context.part(delivery.key) { context in
                let request = try server.request(.post, "/echo", body: .text(text), delivery: delivery.value)
                context.expect(try await context.exchange(transport, request), gives: 200, text)
                let received = try await context.within("the request") { try await server.request(at: index) }
                context.expectEqual(received["Content-Type"], "text/plain; charset=utf-8", "Content-Type")
                context.expectEqual(received["Content-Length"], String(text.utf8.count), "Content-Length")
            }
        }
    }

    private static let customHeader = ConformanceCase("TR-34", "sends a header byte for byte") { context in
        let server = try LoopbackServer { _ in .status(204) }
        let line = "x-CuStOm_1~: a;  b=\"ä✓, \\\" c\",\td"
        let parts = line.split(separator: ":", maxSplits: 1)
        let headers: Headers = [String(parts[0]): String(parts[1])]
        let request = try server.request(.get, "/", headers: headers)
        context.expect(try await context.exchange(try context.transport(), request), gives: 204)
        let head = server.requests.first.map { String(decoding: $0.head, as: UTF8.self) } ?? ""
        context.expect(head.contains("\r\n\(line)\r\n"), "the line did not arrive as it was given: \(head)")
    }

    private static let emptyHeader = ConformanceCase("TR-42", "sends a header with an empty value") { context in
        let server = try LoopbackServer { _ in .status(204) }
        let request = try server.request(.get, "/", headers: ["X-Empty": "", "X-After": "1"])
        context.expect(try await context.exchange(try context.transport(), request), gives: 204)
        context.expectEqual(server.requests.first?.all("X-Empty"), [""], "values of X-Empty")
        context.expectEqual(server.requests.first?.all("X-After"), ["1"], "values of X-After")
    }

    private static let repeatedHeaders = ConformanceCase("TR-44", "keeps repeated headers in order, both ways") {
        context in
        let server = try LoopbackServer { _ in
            .status(200, [ServerField("X-R", "1"), ServerField("X-Other", "-"), ServerField("x-r", "2, 3")])
        }
        let request = try server.request(.get, "/", headers: ["X-Q": "b", "X-Other": "-", "x-q": "a", "X-Q": "b"])
        let exchange = try await context.exchange(try context.transport(), request)
        context.expect(exchange, gives: 200)
        context.expectEqual(exchange.headers.all("X-R"), ["1", "2, 3"], "values in the response")
        context.expectEqual(server.requests.first?.all("X-Q"), ["b", "a", "b"], "values in the request")
        let names = server.requests.first?.fields.map(\.name).filter { $0.lowercased() == "x-q" }
        context.expectEqual(names, ["X-Q", "x-q", "X-Q"], "names in the request")
    }

    private static let query = ConformanceCase("TR-48", "sends path and query as they are given") { context in
        let server = try LoopbackServer { _ in .status(204) }
        let transport = try context.transport()
        let targets = [
            "/q?a=1&a=2&a=&a&b=%2f%2F&c=%E2%9C%93&d=x+y&&e=%25", "/a%2Fb/%7Euser/c%20d?", "/?=&=", "/a//b/./c/../d",
        ]
        for (index, target) in targets.enumerated() {
            await context.part(target) { context in
                context.expect(try await context.exchange(transport, try server.request(.get, target)), gives: 204)
                let received = try await context.within("the request") { try await server.request(at: index) }
                context.expectEqual(received.target, target, "target at the server")
            }
        }
    }

    private static let emptyBody = ConformanceCase("TR-47", "sends an empty body with its length of 0") { context in
        let server = try LoopbackServer { _ in .status(204) }
        let transport = try context.transport()
        for (index, method) in [Request.Method.post, .put, .patch].enumerated() {
            await context.part(method.rawValue) { context in
                let request = try server.request(method, "/", body: .bytes(Data()))
                context.expect(try await context.exchange(transport, request), gives: 204)
                let received = try await context.within("the request") { try await server.request(at: index) }
                context.expectEqual(received.all("Content-Length"), ["0"], "Content-Length")
                context.expectEqual(received["Transfer-Encoding"], nil, "Transfer-Encoding")
                context.expectEqual(received.bodyLength, 0, "bytes of the body")
            }
        }
    }

    private static let requestTrailers = ConformanceCase("TR-50", "sends two trailers after the body") { context in
        let server = try LoopbackServer { .text($0.text) }
        let transport = try context.transport()
        let stream = Request.Body.writer { write in
            try await write(Data("bo".utf8))
            try await write(Data("dy".utf8))
        }
        for (index, (name, plain)) in [("unknown length", stream), ("known length", .text("body"))].enumerated() {
            await context.part(name) { context in
                var body = plain
                body.trailers = { ["X-Sum": "4", "X-Sign": "abc"] }
                context.expect(
                    try await context.exchange(transport, try server.request(.post, "/", body: body)),
                    gives: 200,
                    "body"
                )
                let received = try await context.within("the request") { try await server.request(at: index) }
                let expected = [ServerField("X-Sum", "4"), ServerField("X-Sign", "abc")]
                context.expectEqual(received.trailers, expected, "trailers at the server")
                context.expectEqual(received["Content-Length"], nil, "Content-Length beside trailers")
            }
        }
    }
}
