#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// The end of a body.
extension TransportConformance {
    static let shortBody = ConformanceCase("TR-06", "reports what is missing of a truncated body") { context in
        await context.eachDelivery {
            try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n1234")
        } check: { context, exchange, _ in
            context.expectIncomplete(exchange, received: 4, expected: 1000)
            if exchange.failedInBody {
                context.expect(exchange.status == 200 && exchange.text == "1234", "got \(exchange.ending)")
            } else {
                context.expectEqual(exchange.error?.context.status, 200, "status in the error")
            }
        }
        await context.part("head") { context in
            let server = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n1234")
            let request = try server.request(.get, "/", delivery: .streamed)
            let exchange = try await context.exchange(try context.transport(), request)
            context.expect(exchange.failedInBody, "the head of a streamed response did not arrive")
        }
    }

    static let lengthWithChunked = ConformanceCase(
        "TR-10",
        "refuses Content-Length with chunked and drops the connection"
    ) { context in
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        for (name, delivery) in [("buffered", Request.Delivery.buffered(limit: 100)), ("streamed", .streamed)] {
            await context.part(name) { context in
                let server = try LoopbackServer { index in
                    [.readRequest, .send(index == 0 ? response : "HTTP/1.1 200 OK\r\n" + okRest), .stall]
                }
                let transport = try context.transport()
                let request = try server.request(.get, "/", delivery: delivery)
                context.expectMalformed(try await context.exchange(transport, request))
                context.expect(try await context.exchange(transport, request), gives: 200, "ok")
                context.expectEqual(server.acceptedCount, 2, "connections")
                _ = try await context.within("closing the connection") { try await server.connectionClosed(at: 0) }
            }
        }
        await context.part("tolerated") { await expectTolerated($0, response, .lengthWithChunked) }
    }

    static let cutChunks = ConformanceCase("TR-14", "reports a chunked body without an end") { context in
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let responses = ["after a chunk": "5\r\nhello\r\n", "in a chunk": "a\r\nhello", "in a size": "5\r\nhello\r\n1"]
        for (name, body) in responses {
            await context.part(name) { context in
                await context.eachDelivery {
                    try LoopbackServer(answering: head + body)
                } check: { context, exchange, _ in
                    context.expectIncomplete(exchange, received: 5, expected: nil)
                }
            }
        }
    }

    static let badChunkSizes = ConformanceCase(
        "TR-15",
        "refuses a chunk size that is no hexadecimal number of 64 bits"
    ) { context in
        for size in ["xyz", "", "-5", "1FFFFFFFFFFFFFFFF0", "FFFFFFFFFFFFFFFFFFFFFFFF"] {
            await context.part("“\(size)”") { context in
                await context.eachDelivery {
                    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    return try LoopbackServer(answering: head + "\(size)\r\nhello\r\n0\r\n\r\n", then: .stall)
                } check: { context, exchange, _ in
                    context.expect(exchange, failsWith: "a malformed response") {
                        if case .malformedResponse = $0.kind { true } else { false }
                    }
                    context.expect(exchange.body.isEmpty, "bytes were delivered: “\(exchange.text)”")
                }
            }
        }
    }

    static let surplusBytes = ConformanceCase(
        "TR-19",
        "delivers a response followed by more bytes, and drops the connection"
    ) { context in
        let responses = [
            "length": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
            "chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nmore",
        ]
        for (name, response) in responses {
            await context.part(name) { context in
                let server = try LoopbackServer { index in
                    [.readRequest, .send(index == 0 ? response : "HTTP/1.1 200 OK\r\n" + okRest), .readRequest, .stall]
                }
                let transport = try context.transport()
                for _ in 0..<2 {
                    let exchange = try await context.exchange(transport, try server.request())
                    context.expect(exchange, gives: 200, "ok")
                }
                context.expectEqual(server.acceptedCount, 2, "connections")
            }
        }
    }
}
