#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

// Section 1 of the spec: a server that writes exact bytes, one answer per connection.
extension TransportConformance {
    static var rawAnswers: [ConformanceCase] {
        [
            malformed("TR-01", "refuses an answer that is not HTTP", ["not HTTP": "FOOBAR"]),
            malformed(
                "TR-02",
                "refuses a protocol name in another case",
                ["Http": "Http/1.1 200 OK\r\n" + okRest, "http": "http/1.1 200 OK\r\n" + okRest],
                tolerance: .protocolNameCase
            ),
            delivers(
                "TR-03",
                "accepts a status line without a reason phrase",
                ["no space": "HTTP/1.1 200\r\n" + okRest, "a space": "HTTP/1.1 200 \r\n" + okRest]
            ),
            bodiless("TR-04", "ends a 204 at its head, whatever its Content-Length", 204),
            bodiless("TR-05", "ends a 304 at its head, whatever its Content-Length", 304),
            shortBody,
            delivers(
                "TR-07",
                "delivers a body ended by close",
                ["HTTP/1.1": "HTTP/1.1 200 OK\r\n\r\n1234", "HTTP/1.0": "HTTP/1.0 200 OK\r\n\r\n1234"],
                text: "1234"
            ),
            malformed(
                "TR-08",
                "refuses a Content-Length with a list of different numbers",
                ["10, 4": "HTTP/1.1 200 OK\r\nContent-Length: 10, 4\r\n\r\n1234567890"]
            ),
            malformed(
                "TR-09",
                "refuses two Content-Length fields that differ",
                ["5, 4": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\n1234"]
            ),
            lengthWithChunked,
            malformed(
                "TR-11",
                "refuses bare LF line ends in the head",
                [
                    "everywhere": "HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
                    "after the status line": "HTTP/1.1 200 OK\n" + okRest,
                    "after a field": "HTTP/1.1 200 OK\r\nX-A: 1\nContent-Length: 2\r\n\r\nok",
                    "at the end": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\nok",
                ],
                tolerance: .bareLineFeed
            ),
            malformed(
                "TR-12",
                "refuses a folded header line",
                [
                    "by a space": "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\n" + okRest,
                    "by a tab": "HTTP/1.1 200 OK\r\nX-A: 1\r\n\t2\r\n" + okRest,
                ],
                tolerance: .foldedFields
            ),
            malformed(
                "TR-13",
                "refuses a header name with a space before the colon",
                [
                    "length": "HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok",
                    "other": "HTTP/1.1 200 OK\r\nX-A : 1\r\n" + okRest,
                ],
                tolerance: .spaceBeforeColon
            ),
            cutChunks,
            badChunkSizes,
            largeHeads,
            interimHeads,
            unaskedUpgrade,
            surplusBytes,
            statusRange,
            malformed(
                "TR-21",
                "refuses NUL and a bare CR inside a header value",
                [
                    "NUL": "HTTP/1.1 200 OK\r\nX-A: a\0b\r\n" + okRest,
                    "CR": "HTTP/1.1 200 OK\r\nX-A: a\rb\r\n" + okRest,
                ]
            ),
            silence,
            resets,
        ]
    }

    private static let okRest = "Content-Length: 2\r\n\r\nok"

    // MARK: - Shapes of cases

    /// Each answer is refused; with the tolerance named for it, and with no other, it is accepted.
    private static func malformed(
        _ number: String,
        _ title: String,
        _ answers: KeyValuePairs<String, String>,
        tolerance: TransportSettings.Tolerances? = nil
    ) -> ConformanceCase {
        ConformanceCase(number, title) { context in
            for (name, answer) in answers {
                await context.part(name) { context in
                    let all: TransportSettings.Tolerances = [
                        .bareLineFeed, .foldedFields, .protocolNameCase, .spaceBeforeColon, .lengthWithChunked,
                    ]
                    let others = tolerance.map { all.subtracting($0) } ?? all
                    for tolerances in [[], others] {
                        await context.eachDelivery {
                            try LoopbackServer(answering: answer)
                        } _: {
                            $0.tolerances = tolerances
                        } check: { context, exchange, _ in
                            context.expectMalformed(exchange)
                        }
                    }
                    guard let tolerance else { return }
                    await context.part("tolerated") { context in
                        await expectTolerated(context, answer, tolerance)
                    }
                }
            }
        }
    }

    private static func expectTolerated(
        _ context: ConformanceContext,
        _ answer: String,
        _ tolerance: TransportSettings.Tolerances
    ) async {
        await context.eachDelivery {
            try LoopbackServer(answering: answer)
        } _: {
            $0.tolerances = tolerance
        } check: { context, exchange, _ in
            context.expect(exchange, gives: 200, "ok")
            context.expect(
                exchange.events.contains { if case .malformationTolerated = $0 { true } else { false } },
                "the tolerance was not told as an event"
            )
        }
    }

    private static func delivers(
        _ number: String,
        _ title: String,
        _ answers: KeyValuePairs<String, String>,
        text: String = "ok"
    ) -> ConformanceCase {
        ConformanceCase(number, title) { context in
            for (name, answer) in answers {
                await context.part(name) { context in
                    await context.eachDelivery {
                        try LoopbackServer(answering: answer)
                    } check: { context, exchange, _ in
                        context.expect(exchange, gives: 200, text)
                    }
                }
            }
        }
    }

    private static func bodiless(_ number: String, _ title: String, _ status: Int) -> ConformanceCase {
        ConformanceCase(number, title) { context in
            await context.eachDelivery {
                // The connection stays open: an answer that waited for the body would hang.
                let answer = ServerStep.send("HTTP/1.1 \(status) Status\r\nContent-Length: 1000\r\n\r\n")
                return try LoopbackServer(script: [.readRequest, answer, .readRequest, answer, .stall])
            } check: { context, exchange, _ in
                context.expect(exchange, gives: Status(status), "")
                context.expectEqual(exchange.headers["Content-Length"], "1000", "Content-Length")
            }
        }
    }

    // MARK: - Framing

    private static let shortBody = ConformanceCase("TR-06", "tells what is missing of a body cut short") { context in
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
            context.expect(exchange.failedInBody, "the head of a streamed answer did not arrive")
        }
    }

    private static let lengthWithChunked = ConformanceCase(
        "TR-10",
        "refuses Content-Length with chunked and drops the connection"
    ) { context in
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        for (name, delivery) in [("buffered", Request.Delivery.buffered(limit: 100)), ("streamed", .streamed)] {
            await context.part(name) { context in
                let server = try LoopbackServer { index in
                    [.readRequest, .send(index == 0 ? answer : "HTTP/1.1 200 OK\r\n" + okRest), .stall]
                }
                let transport = try context.transport()
                let request = try server.request(.get, "/", delivery: delivery)
                context.expectMalformed(try await context.exchange(transport, request))
                context.expect(try await context.exchange(transport, request), gives: 200, "ok")
                context.expectEqual(server.acceptedCount, 2, "connections")
                _ = try await context.within("closing the connection") { try await server.connectionClosed(at: 0) }
            }
        }
        await context.part("tolerated") { await expectTolerated($0, answer, .lengthWithChunked) }
    }

    private static let cutChunks = ConformanceCase("TR-14", "tells that a chunked body has no end") { context in
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        let answers = ["after a chunk": "5\r\nhello\r\n", "in a chunk": "a\r\nhello", "in a size": "5\r\nhello\r\n1"]
        for (name, body) in answers {
            await context.part(name) { context in
                await context.eachDelivery {
                    try LoopbackServer(answering: head + body)
                } check: { context, exchange, _ in
                    context.expectIncomplete(exchange, received: 5, expected: nil)
                }
            }
        }
    }

    private static let badChunkSizes = ConformanceCase(
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
                        if case .malformedResponse = $0 { true } else { false }
                    }
                    context.expect(exchange.body.isEmpty, "bytes were handed over: “\(exchange.text)”")
                }
            }
        }
    }

    // MARK: - Heads

    private static let largeHeads = ConformanceCase("TR-16", "refuses a head above its limits before it is in memory") {
        context in
        let fields = (0..<1000).map { "X-\($0): 1\r\n" }.joined()
        await context.part("1,000 fields") { context in
            await context.eachDelivery {
                try LoopbackServer(answering: "HTTP/1.1 200 OK\r\n" + fields + okRest)
            } check: { context, exchange, _ in
                context.expect(exchange, failsWith: "too many fields") {
                    if case .headTooLarge(.fields(500), _) = $0 { true } else { false }
                }
            }
        }
        await context.part("1,000 fields within a limit of 2,000") { context in
            await context.eachDelivery {
                try LoopbackServer(answering: "HTTP/1.1 200 OK\r\n" + fields + okRest)
            } _: {
                $0.limits.headFields = 2000
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 200, "ok")
                context.expectEqual(exchange.headers.count, 1001, "fields")
            }
        }
        let long = "X-Long: " + String(repeating: "x", count: 900) + "\r\n"
        await expectHeadTooLarge(context, "a head without end", limit: 256 << 10) { try $0.send(long) }
        await expectHeadTooLarge(context, "interim heads without end", limit: 256 << 10) {
            try $0.send("HTTP/1.1 103 Early Hints\r\n" + long + "\r\n")
        }
        await expectHeadTooLarge(context, "a smaller limit", limit: 4096) { try $0.send(long) }
        await context.part("a single line") { context in
            await context.eachDelivery {
                let line = "X-Long: " + String(repeating: "x", count: 300 << 10)
                return try LoopbackServer(answering: "HTTP/1.1 200 OK\r\n\(line)\r\n" + okRest)
            } check: { context, exchange, _ in
                context.expect(exchange, failsWith: "a head too large") {
                    if case .headTooLarge = $0 { true } else { false }
                }
            }
        }
    }

    private static func expectHeadTooLarge(
        _ context: ConformanceContext,
        _ name: String,
        limit: Int,
        _ send: @escaping @Sendable (ServerConnection) throws -> Void
    ) async {
        await context.part(name) { context in
            await context.eachDelivery {
                try LoopbackServer { connection in
                    try connection.readRequest()
                    if !name.contains("interim") { try connection.send("HTTP/1.1 200 OK\r\n") }
                    while true { try send(connection) }
                }
            } _: {
                $0.limits.headBytes = limit
                // Only the bytes are to be limited here.
                $0.limits.headFields = 1 << 20
            } check: { context, exchange, server in
                context.expect(exchange, failsWith: "a head of more than \(limit) bytes") {
                    if case .headTooLarge(.bytes(limit), _) = $0 { true } else { false }
                }
                // The server sends until it is cut off: what it got rid of is what anybody can have kept.
                try await context.within("cutting the server off") { try await server.open(atMost: 0) }
                let sent = server.connections.first?.bytesSent ?? 0
                context.expect(sent < Int64(limit) + 16 << 20, "the server could send \(sent) bytes")
            }
        }
    }

    private static let interimHeads = ConformanceCase(
        "TR-17",
        "tells interim responses as events and gives the final one"
    ) {
        context in
        await context.eachDelivery {
            let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
            return try LoopbackServer(answering: interim + "HTTP/1.1 200 OK\r\n" + okRest)
        } check: { context, exchange, _ in
            context.expect(exchange, gives: 200, "ok")
            context.expectEqual(exchange.interimStatuses, [100, 103], "interim responses told")
            let link = exchange.events.contains { event in
                guard case .interimResponse(103, let headers) = event else { return false }
                return headers["Link"] == "</a.css>"
            }
            context.expect(link, "the fields of the interim response were not told")
            context.expect(
                !exchange.headers.contains("Link"),
                "the fields of the interim response leaked into the final"
            )
        }
    }

    private static let unaskedUpgrade = ConformanceCase("TR-18", "fails on a switch of protocols nobody asked for") {
        context in
        await context.eachDelivery {
            try LoopbackServer(
                answering: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\nother",
                then: .stall
            )
        } check: { context, exchange, _ in
            context.expect(exchange, failsWith: "an error") { !$0.isCancellation }
            context.expect(exchange.status == nil, "the switch was handed over: \(exchange.ending)")
        }
    }

    private static let surplusBytes = ConformanceCase(
        "TR-19",
        "delivers an answer followed by more bytes, and drops the connection"
    ) { context in
        let answers = [
            "length": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
            "chunked": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\nmore",
        ]
        for (name, answer) in answers {
            await context.part(name) { context in
                let server = try LoopbackServer { index in
                    [.readRequest, .send(index == 0 ? answer : "HTTP/1.1 200 OK\r\n" + okRest), .readRequest, .stall]
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

    private static let statusRange = ConformanceCase("TR-20", "accepts status 999 and refuses 99 and 1000") { context in
        await context.part("999") { context in
            await context.eachDelivery {
                try LoopbackServer(answering: "HTTP/1.1 999 Odd\r\n" + okRest)
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 999, "ok")
            }
        }
        for status in ["99", "1000", "099", "2OO", "-200"] {
            await context.part(status) { context in
                await context.eachDelivery {
                    try LoopbackServer(answering: "HTTP/1.1 \(status) Odd\r\n" + okRest)
                } check: { context, exchange, _ in
                    context.expectMalformed(exchange)
                }
            }
        }
    }

    // MARK: - Silence and resets

    private static let silence = ConformanceCase("TR-22", "gives up on a server that never answers") { context in
        await context.part("time-out") { context in
            await context.eachDelivery {
                try LoopbackServer(script: [.readRequest, .stall])
            } request: {
                $0.timeouts.idle = .milliseconds(200)
            } check: { context, exchange, server in
                context.expectTimeout(exchange, .idle)
                try await context.within("closing the connection") { try await server.open(atMost: 0) }
            }
        }
        await context.part("cancelled") { context in
            let server = try LoopbackServer(script: [.readRequest, .stall])
            let transport = try context.transport()
            let request = try server.request()
            let task = Task { await Exchange.perform(transport, request) }
            _ = try await context.within("the request") { try await server.request(at: 0) }
            task.cancel()
            context.expectCancelled(try await context.within("the cancellation") { await task.value })
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
    }

    private static let resets = ConformanceCase("TR-23", "tells how much had arrived when the connection was reset") {
        context in
        for (name, bytes, progress) in [
            ("before the head", "", AnswerProgress.nothing), ("in the head", "HTTP/1.1 200 OK\r\nContent-Le", .head),
        ] {
            await context.part(name) { context in
                await context.eachDelivery {
                    try LoopbackServer(script: [.readRequest, .send(bytes), .reset])
                } check: { context, exchange, _ in
                    context.expectLost(exchange, progress)
                    context.expect(exchange.status == nil, "a head was handed over")
                }
            }
        }
        await context.part("in the body, buffered") { context in
            let server = try LoopbackServer(
                script: [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"), .reset]
            )
            let exchange = try await context.exchange(try context.transport(), try server.request())
            context.expectLost(exchange, .body(received: 4), isSafeToRepeat: false)
        }
        await context.part("in the body, streamed") { context in
            let signal = Signal()
            let server = try LoopbackServer(
                script: [
                    .readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"), .wait(for: signal),
                    .reset,
                ]
            )
            let transport = try context.transport()
            let request = try server.request(.get, "/", delivery: .streamed)
            let exchange = try await context.within("the exchange") {
                var exchange = Exchange()
                do throws(LoadingError) {
                    let response = try await transport.send(request, call: Call())
                    exchange.status = response.status
                    var chunks = response.body.makeAsyncIterator()
                    while let chunk = try await chunks.next() {
                        exchange.body.append(chunk)
                        if exchange.body.count == 4 { signal.raise() }
                    }
                } catch {
                    exchange.error = error
                }
                return exchange
            }
            context.expectEqual(exchange.text, "1234", "what had arrived")
            context.expectLost(exchange, .body(received: 4), isSafeToRepeat: false)
        }
    }
}
