#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Servers that are broken or hostile in other ways than the raw responses.
extension TransportConformance {
    static var hostile: [ConformanceCase] {
        [
            unaskedBytes, surplusCloses, unfinishedStreams, unannouncedEnd, malformedStreams, strictChunks,
            strictTrailers,
            earlyEndings, headWithBody, framingFields, floods,
        ]
    }

    static let evil = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    /// Every way in which a response can end, with the method that requests it and its text.
    static let forms: [(name: String, method: Request.Method, response: String, text: String)] = [
        ("head", .head, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", ""),
        ("204", .get, "HTTP/1.1 204 No Content\r\n\r\n", ""),
        ("304", .get, "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n", ""),
        ("empty", .get, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""),
        ("length", .get, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", "ok"),
        ("chunked", .get, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", "ok"),
    ]

    // MARK: - FH-1

    /// When unsolicited bytes arrive on a connection that stays open.
    private enum Moment: String, CaseIterable {
        /// With the end of the response.
        case together
        /// After the response, in a separate segment.
        case next
        /// After the caller has received the response.
        case later
    }

    static let unaskedBytes = ConformanceCase(
        "FH-1",
        "treats no byte that arrived before a request as a part of its response"
    ) { context in
        for form in forms {
            for moment in Moment.allCases {
                for method in [Request.Method.get, .post] {
                    await context.part("\(form.name), \(moment.rawValue), then \(method)") { context in
                        try await unaskedInTheClear(context, form.method, form.response, form.text, moment, method)
                    }
                }
            }
        }
        await context.part("TLS") { context in
            for need in ["hostileTLS", "ca"] { try context.require(.peer(need)) }
            for form in forms {
                for place in ["record", "flight", "later"] {
                    for method in [Request.Method.get, .post] {
                        await context.part("\(form.name), \(place), then \(method)") { context in
                            try await unaskedOverTLS(context, form.name, form.method, form.text, place, method)
                        }
                    }
                }
            }
        }
    }

    private static func unaskedInTheClear(
        _ context: ConformanceContext,
        _ first: Request.Method,
        _ response: String,
        _ text: String,
        _ moment: Moment,
        _ second: Request.Method
    ) async throws {
        let (hasResponded, isSent) = (Signal(), Signal())
        let sent = ServerStep.run { _ in isSent.raise() }
        let surplus: [ServerStep] =
            switch moment {
            case .together: [.send(response + evil), sent]
            case .next: [.send(response), .send(evil), sent]
            case .later: [.send(response), .wait(for: hasResponded), .send(evil), sent]
            }
        let server = try LoopbackServer { index in
            index == 0 ? [.readRequest] + surplus + [.stall] : [.readRequest, .respond(.text("mine")), .stall]
        }
        let transport = try context.transport()
        let exchange = try await context.exchange(transport, try server.request(first))
        context.expect(exchange.error == nil && exchange.text == text, "the first response: \(exchange.ending)")
        hasResponded.raise()
        try await context.within("the surplus") { try await isSent.wait() }
        if moment == .later {
            // Immediately, and not when the next request would use it.
            _ = try await context.within("closing the connection") { try await server.connectionClosed(at: 0) }
        }
        let body = second == .post ? Request.Body.text("secret") : nil
        let next = try await context.exchange(transport, try server.request(second, "/next", body: body))
        context.expect(next, gives: 200, "mine")
        context.expectEqual(server.requests.filter { $0.path == "/next" }.count, 1, "times the next request arrived")
        context.expectEqual(server.acceptedCount, 2, "connections")
    }

    private static func unaskedOverTLS(
        _ context: ConformanceContext,
        _ form: String,
        _ first: Request.Method,
        _ text: String,
        _ place: String,
        _ second: Request.Method
    ) async throws {
        let base = "https://localhost:\(try context.peers.port("hostileTLS"))"
        let token = context.token()
        let transport = try context.transport { $0.tls = try context.trustingPeers() }
        let other = try context.transport { $0.tls = try context.trustingPeers() }
        let address = "\(base)/surplus?form=\(form)&place=\(place)&token=\(token)"
        let exchange = try await context.exchange(transport, try Request(first, address))
        context.expect(exchange.error == nil && exchange.text == text, "the first response: \(exchange.ending)")
        if place == "later" {
            let pushed = try await context.exchange(other, try Request(.get, "\(base)/push?token=\(token)"))
            // The number of connections that were closed because of it.
            context.expect(pushed, gives: 200, "1")
        }
        let body = second == .post ? Request.Body.text("secret") : nil
        let next = try await context.exchange(transport, try Request(second, "\(base)/ok?token=\(token)", body: body))
        context.expect(next, gives: 200, "ok")
        let count = place == "later" ? 3 : 2
        try await expectRequests(context, other, base, token, count)
    }

    /// Records a deviation unless a hostile peer received this many requests with a token.
    static func expectRequests(
        _ context: ConformanceContext,
        _ transport: any Transport,
        _ base: String,
        _ token: String,
        _ count: Int
    ) async throws {
        let stats = try await context.exchange(transport, try Request(.get, "\(base)/stats?token=\(token)"))
        context.expect(
            stats.text.contains("\"requests\": \(count),"),
            "expected \(count) requests at the server, got \(stats.text)"
        )
    }

    // MARK: - FT-9

    static let surplusCloses = ConformanceCase(
        "FT-9",
        "closes a connection on which bytes follow a response, and does not fail the complete response"
    ) { context in
        // Shorter and longer than the bytes that one call reads.
        for surplus in ["more", evil, String(repeating: "x", count: 300_000)] {
            for form in forms {
                await context.part("\(form.name), \(surplus.utf8.count) bytes") { context in
                    let isSent = Signal()
                    let server = try LoopbackServer { index in
                        index == 0
                            ? [.readRequest, .send(form.response + surplus), .run { _ in isSent.raise() }, .stall]
                            : [.readRequest, .respond(.text("ok")), .stall]
                    }
                    let transport = try context.transport()
                    let first = try await context.exchange(transport, try server.request(form.method))
                    context.expect(first.error == nil && first.text == form.text, "the response: \(first.ending)")
                    let next = try await context.exchange(transport, try server.request())
                    context.expect(next, gives: 200, "ok")
                    context.expectEqual(server.acceptedCount, 2, "connections")
                    _ = try await context.within("closing the connection") {
                        try await server.connectionClosed(at: 0)
                    }
                }
            }
        }
    }

    // MARK: - FH-5

    static let unannouncedEnd = ConformanceCase(
        "FH-5",
        "treats a body of HTTPS without a length as incomplete when TLS did not end",
        needs: [.peer("hostileTLS"), .peer("ca")]
    ) { context in
        let base = "https://localhost:\(try context.peers.port("hostileTLS"))/unfinished?form=close&end="
        for (name, delivery) in [("buffered", Request.Delivery.buffered(limit: 100)), ("streamed", .streamed)] {
            await context.part(name) { context in
                let transport = try context.transport { $0.tls = try context.trustingPeers() }
                let cut = try await context.exchange(transport, try Request(.get, base + "fin", delivery: delivery))
                context.expectIncomplete(cut, received: 4, expected: nil)
                let whole = try await context.exchange(
                    transport,
                    try Request(.get, base + "notify", delivery: delivery)
                )
                context.expect(whole, gives: 200, "1234")
                let tolerant = try context.transport {
                    $0.tls = try context.trustingPeers()
                    $0.tolerances = .missingCloseNotify
                }
                let tolerated = try await context.exchange(
                    tolerant,
                    try Request(.get, base + "fin", delivery: delivery)
                )
                context.expect(tolerated, gives: 200, "1234")
                context.expect(
                    tolerated.events.contains { if case .malformationTolerated = $0 { true } else { false } },
                    "the tolerance was not reported as an event"
                )
            }
        }
        await context.part("with a length") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            for end in ["fin", "notify"] {
                for (form, expected) in [("length", Int64(10)), ("chunked", nil)] {
                    let address = base.replacing("form=close", with: "form=\(form)") + end
                    let exchange = try await context.exchange(transport, try Request(.get, address))
                    context.expectIncomplete(exchange, received: 4, expected: expected)
                }
            }
        }
    }

    // MARK: - FT-13 and FT-14

    static let headWithBody = ConformanceCase("FT-13", "does not wait for a body after HEAD") { context in
        let bodies = [("no body", nil), ("a body", Request.Body.text("asked")), ("an empty body", .bytes(Data()))]
        for (name, body) in bodies {
            for response in ["Content-Length: 1000\r\n", "Transfer-Encoding: chunked\r\n", ""] {
                await context.part("\(name), \(response.dropLast(2))") { context in
                    // The connection stays open: an exchange that waited for a body would hang.
                    let server = try LoopbackServer(
                        script: [.readRequest, .send("HTTP/1.1 200 OK\r\nX-A: 1\r\n\(response)\r\n"), .stall]
                    )
                    for delivery in [Request.Delivery.buffered(limit: 100), .streamed] {
                        var request = try server.request(.head, "/", body: body, delivery: delivery)
                        request.timeouts.idle = .seconds(10)
                        let exchange = try await context.exchange(try context.transport(), request)
                        context.expect(exchange, gives: 200, "")
                        context.expectEqual(exchange.headers["X-A"], "1", "X-A")
                    }
                }
            }
        }
    }

    static let framingFields = ConformanceCase(
        "FT-14",
        "refuses fields of the caller that contradict the framing of the body"
    ) { context in
        let text = Request.Body.text("12")
        let rows: [(String, Request.Method, Request.Body?, Headers)] = [
            ("coding without a body", .get, nil, ["Transfer-Encoding": "chunked"]),
            ("coding with a body", .post, text, ["transfer-encoding": "chunked"]),
            ("coding with a length", .post, text, ["Content-Length": "2", "Transfer-Encoding": "chunked"]),
            ("identity", .post, text, ["Transfer-Encoding": "identity"]),
            ("another length", .post, text, ["Content-Length": "3"]),
            ("two lengths", .post, text, ["Content-Length": "2", "content-length": "3"]),
            ("no number", .post, text, ["Content-Length": "2, 2"]),
            ("a length without a body", .get, nil, ["Content-Length": "5"]),
            ("an upgrade", .get, nil, ["Connection": "Upgrade", "Upgrade": "h2c"]),
            ("upgrade alone", .get, nil, ["Upgrade": "websocket"]),
            ("a named framing field", .post, text, ["Connection": "close, content-length"]),
        ]
        let server = try LoopbackServer { _ in .text("ok") }
        let transport = try context.transport()
        for (name, method, body, headers) in rows {
            await context.part(name) { context in
                var request = try server.request(method, "/", body: body)
                for field in headers { request.headers.add(field.name, field.value) }
                let exchange = try await context.exchange(transport, request)
                context.expect(exchange, failsWith: "an invalid request") {
                    if case .invalidRequest(let fault) = $0.kind {
                        switch fault {
                        case .framingField, .contentLength: true
                        default: false
                        }
                    } else {
                        false
                    }
                }
            }
        }
        context.expectEqual(server.acceptedCount, 0, "connections")
        await context.part("what agrees with the body") { context in
            let rows: [(Request.Method, Request.Body?, Headers)] = [
                (.post, text, ["Content-Length": "2"]), (.get, nil, ["Connection": "close"]),
                (.post, nil, ["Content-Length": "0"]),
            ]
            for (method, body, headers) in rows {
                let request = try server.request(method, "/", headers: headers, body: body)
                context.expect(try await context.exchange(transport, request), gives: 200, "ok")
            }
        }
    }
}
