#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Broken HTTP/2, and malformed chunks.
extension TransportConformance {
    // MARK: - FH-4

    static let unfinishedStreams = ConformanceCase(
        "FH-4",
        "treats a body of HTTP/2 as complete only after END_STREAM",
        needs: [.peer("hostileH2"), .peer("ca")]
    ) { context in
        for count in [1, 20] {
            await context.part("\(count) on a connection that breaks") { context in
                let endings = try await gathered(context, "/break", count)
                for ending in endings {
                    // Each stream ends when its connection does, not by a time-out.
                    let isTimeout = if case .timedOut = ending.error?.kind { true } else { false }
                    context.expect(ending.error != nil && !isTimeout, "ended as \(ending.ending)")
                }
            }
            await context.part("\(count) that end after GOAWAY") { context in
                for ending in try await gathered(context, "/goaway-then-end", count) {
                    context.expect(ending, gives: 200, "12345678")
                }
            }
        }
        await context.part("a connection that ends") { context in
            let ending = try await gathered(context, "/cut", 1)[0]
            context.expect(ending.error != nil, "complete: \(ending.ending)")
        }
    }

    private static func gathered(
        _ context: ConformanceContext,
        _ path: String,
        _ count: Int
    ) async throws -> [Exchange] {
        let base = "https://localhost:\(try context.peers.port("hostileH2"))"
        let transport = try context.transport {
            $0.tls = try context.trustingPeers()
            $0.connections.perHost = max($0.connections.perHost, count)
        }
        let request = try Request(.get, "\(base)\(path)?count=\(count)&token=\(context.token())")
        let endings = Locked<[Exchange]>([])
        try await inParallel(count) { _ in
            let exchange = try await context.exchange(transport, request)
            endings.withLock { $0.append(exchange) }
        }
        return endings.withLock { $0 }
    }

    // MARK: - FH-11

    static let malformedStreams = ConformanceCase(
        "FH-11",
        "names a malformed response of HTTP/2 and does not send again",
        needs: [.peer("hostileH2"), .peer("ca")]
    ) { context in
        let base = "https://localhost:\(try context.peers.port("hostileH2"))"
        for path in ["/uppercase", "/bad-status", "/no-status", "/connection-field", "/too-long", "/break-head"] {
            await context.part(path) { context in
                for isReused in [false, true] {
                    let token = context.token()
                    let transport = try context.transport { $0.tls = try context.trustingPeers() }
                    if isReused {
                        let first = try await context.exchange(transport, try Request(.get, base + "/ok"))
                        context.expect(first, gives: 200, "ok")
                    }
                    let request = try Request(.get, "\(base)\(path)?token=\(token)")
                    let exchange = try await context.exchange(transport, request)
                    context.expect(exchange, failsWith: "a malformed response") {
                        if case .malformedResponse = $0.kind { true } else { false }
                    }
                    let seen = try await statistics(
                        context,
                        try context.transport { $0.tls = try context.trustingPeers() },
                        base,
                        token
                    )
                    // Without a byte of a response, a reused connection may have been lost before the request arrived.
                    let most = isReused && path == "/break-head" ? 2 : 1
                    context.expect((1...most).contains(seen.requests), "\(seen.requests) requests")
                }
            }
        }
        await context.part("a body that is too short") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            let exchange = try await context.exchange(transport, try Request(.get, base + "/too-short"))
            context.expect(exchange, failsWith: "a malformed or incomplete response") {
                switch $0.kind {
                case .malformedResponse, .incompleteBody: true
                default: false
                }
            }
        }
        for isReused in [false, true] {
            await context.part("a large head, reused: \(isReused)") { context in
                let token = context.token()
                let transport = try context.transport { $0.tls = try context.trustingPeers() }
                if isReused {
                    let first = try await context.exchange(transport, try Request(.get, base + "/ok"))
                    context.expect(first, gives: 200, "ok")
                }
                let exchange = try await context.exchange(
                    transport,
                    try Request(.get, "\(base)/large-head?token=\(token)")
                )
                context.expect(exchange, failsWith: "a head too large") {
                    if case .headTooLarge = $0.kind { true } else { false }
                }
                let other = try context.transport { $0.tls = try context.trustingPeers() }
                try await expectRequests(context, other, base, token, 1)
            }
        }
    }

    // MARK: - FH-14

    static let earlyEndings = ConformanceCase(
        "FH-14",
        "reports why the server ended an exchange early, and keeps within its connection limit",
        needs: [.peer("hostileH2"), .peer("ca")]
    ) { context in
        for (name, body) in [
            ("bytes", Request.Body.bytes(Data(count: 32 << 20))),
            ("a stream", .writer { write in for _ in 0..<256 { try await write(Data(count: 1 << 20)) } }),
        ] {
            for (form, response) in [
                ("length", "Content-Length: 2\r\n\r\nok"),
                ("chunked", "Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
            ] {
                await context.part("a response (\(form)) to \(name) that it does not read") { context in
                    // The reset comes after the response was read: a system may drop unread bytes.
                    let isRead = Signal()
                    let server = try LoopbackServer(
                        script: [.readHead, .send("HTTP/1.1 200 OK\r\n" + response), .wait(for: isRead), .reset]
                    )
                    let request = try server.request(.post, "/", body: body, delivery: .streamed)
                    let transport = try context.transport()
                    let text = try await context.within("POST") {
                        let call = Exchange.makeCall(EventRecorder())
                        let response = try await Chain(transport: transport).send(request, call: call)
                        isRead.raise()
                        return String(decoding: try await response.body.collect(limit: 100), as: UTF8.self)
                    }
                    context.expectEqual(text, "ok", "the response")
                }
            }
        }
        await context.part("a head above every limit") { context in
            let fields = (0..<100).map { "X-\($0): \(String(repeating: "x", count: 4000))\r\n" }.joined()
            let server = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\n" + fields + okRest)
            let transport = try context.transport { $0.limits.headBytes = 1 << 20 }
            let exchange = try await context.exchange(transport, try server.request())
            context.expect(exchange.error == nil || exchange.isHeadTooLarge, "got \(exchange.ending)")
        }
        let base = "https://localhost:\(try context.peers.port("hostileH2"))"
        await context.part("refused streams") { context in
            let token = context.token()
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            context.expect(try await context.exchange(transport, try Request(.get, base + "/ok")), gives: 200, "ok")
            let request = try Request(.get, "\(base)/refuse?token=\(token)")
            try await inParallel(100) { _ in
                context.expectLost(try await context.exchange(transport, request), .nothing)
            }
            let seen = try await statistics(context, transport, base, token)
            // Each refusal may end its connection, so the total says nothing. The server notices the end slightly later
            // than the transport. The transport may have opened another connection by then: twice the limit of 6 allows
            // for that.
            context.expect(seen.peak <= 12, "\(seen.peak) connections at a time")
        }
        for isReused in [false, true] {
            for (method, body) in [(Request.Method.get, nil), (.post, Request.Body.text("asked"))] {
                await context.part("HTTP/1.1 required, \(method), reused: \(isReused)") { context in
                    try await requiresHTTP1(context, base, method, body, isReused: isReused)
                }
            }
        }
        await context.part("HTTP/1.1 required, a body that cannot be sent again") { context in
            let token = context.token()
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            let body = Request.Body.writer { write in try await write(Data("asked".utf8)) }
            let request = try Request(.post, "\(base)/http-1-1-required?token=\(token)", body: body)
            context.expectLost(try await context.exchange(transport, request), .nothing, isSafeToRepeat: false)
            let seen = try await statistics(context, transport, base, token)
            context.expectEqual([seen.requests, seen.http1], [1, 0], "requests over HTTP/2 and over HTTP/1.1")
        }
        await context.part("a server that allows no stream") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            var request = try Request(.get, "https://no-streams.lade.test/")
            request.destination = .host("127.0.0.1", port: try context.peers.port("hostileH2"))
            request.timeouts.connect = .milliseconds(500)
            request.timeouts.idle = .milliseconds(1500)
            context.expectTimeout(try await context.exchange(transport, request), .connect)
        }
    }

    /// A request whose stream the server resets, because it requires HTTP/1.1.
    private static func requiresHTTP1(
        _ context: ConformanceContext,
        _ base: String,
        _ method: Request.Method,
        _ body: Request.Body?,
        isReused: Bool
    ) async throws {
        let token = context.token()
        let transport = try context.transport { $0.tls = try context.trustingPeers() }
        if isReused {
            context.expect(try await context.exchange(transport, try Request(.get, base + "/ok")), gives: 200, "ok")
        }
        let request = try Request(method, "\(base)/http-1-1-required?token=\(token)", body: body)
        let exchange = try await context.exchange(transport, request)
        context.expect(exchange, gives: 200, "\(method) \(body == nil ? "" : "asked")")
        context.expectEqual(exchange.version, .http1_1, "version")
        let repeats = exchange.events.count { if case .exchangeRepeated = $0 { true } else { false } }
        context.expectEqual(repeats, 1, "events of a repetition")
        let seen = try await statistics(context, transport, base, token)
        context.expectEqual([seen.requests, seen.http1], [1, 1], "requests over HTTP/2 and over HTTP/1.1")
        // Other requests to the host use HTTP/2 as before.
        let next = try await context.exchange(transport, try Request(.get, base + "/ok"))
        context.expect(next, gives: 200, "ok")
        context.expectEqual(next.version, .http2, "version of the next response")
    }

    private struct Statistics: Decodable {
        /// The requests over HTTP/2.
        var requests: Int
        /// The requests over HTTP/1.1.
        var http1: Int
        /// The most connections that were open at the same time.
        var peak: Int
        /// The mebibytes of a flood that were sent.
        var flood: Int
    }

    /// The counts of the hostile HTTP/2 peer for a token.
    private static func statistics(
        _ context: ConformanceContext,
        _ transport: any Transport,
        _ base: String,
        _ token: String
    ) async throws -> Statistics {
        let stats = try await context.exchange(transport, try Request(.get, "\(base)/stats?token=\(token)"))
        return try JSONDecoder().decode(Statistics.self, from: stats.body)
    }

    // MARK: - FH-2

    static let floods = ConformanceCase(
        "FH-2",
        "serves other hosts and keeps deadlines while a server floods it with control frames",
        needs: [.peer("hostileH2"), .peer("ca")]
    ) { context in
        let base = "https://localhost:\(try context.peers.port("hostileH2"))"
        for kind in ["window", "ping", "data"] {
            await context.part(kind) { context in
                let token = context.token()
                let transport = try context.transport { $0.tls = try context.trustingPeers() }
                let other = try LoopbackServer { _ in .status(204) }
                var request = try Request(.get, "\(base)/flood?kind=\(kind)&token=\(token)", delivery: .streamed)
                // Longer than the server may be held up itself, shorter than the flood.
                request.timeouts.idle = .milliseconds(500)
                let flooded = request
                try await context.within("the flood") {
                    let call = Exchange.makeCall(EventRecorder())
                    let response = try await Chain(transport: transport).send(flooded, call: call)
                    // The flood has begun with the head.
                    context.expect(await Exchange.perform(transport, try other.request()), gives: 204)
                    do throws(LoadingError) {
                        _ = try await response.body.collect(limit: 100)
                        context.fail("the flood ended before the time-out")
                    } catch {
                        // A transport may refuse frames that bring nothing, and need not wait.
                        switch error.kind {
                        case .timedOut(.idle), .malformedResponse: break
                        default: return context.fail("got \(error)")
                        }
                    }
                }
                // A transport that reads on would have read all of it before it noticed the time-out.
                let observer = try context.transport { $0.tls = try context.trustingPeers() }
                let seen = try await statistics(context, observer, base, token)
                context.expect(seen.flood < 1024, "the whole flood was read")
            }
        }
    }

    // MARK: - FH-13

    static let strictChunks = ConformanceCase(
        "FH-13",
        "accepts only chunks that conform to RFC 9112 §7.1"
    ) { context in
        let broken: KeyValuePairs<String, String> = [
            "bare LF after a size": "2\nok\r\n0\r\n\r\n",
            "bare LF after data": "2\r\nok\n0\r\n\r\n",
            "bare LF at the end": "2\r\nok\r\n0\r\n\n",
            "text after a size": "2garbage\r\nok\r\n0\r\n\r\n",
            "a comma": "2,3\r\nok\r\n0\r\n\r\n",
            "0x": "0x2\r\nok\r\n0\r\n\r\n",
            "a sign": "+2\r\nok\r\n0\r\n\r\n",
            "a space first": " 2\r\nok\r\n0\r\n\r\n",
            "data that is too long": "2\r\nokok\r\n0\r\n\r\n",
            "data that is too short": "3\r\nok\r\n0\r\n\r\n",
        ]
        await expectChunks(context, broken: broken)
        await context.part("a folded line after the status line, again and again") { context in
            let folded = "HTTP/1.1 200 OK\r\n folded: x\r\n" + okRest
            let server = try LoopbackServer(scripts: { index in
                index % 2 == 0
                    ? [.readRequest, .send("HTTP/1.1 200 OK\r\nX-A: 1\r\nConnection: close\r\n" + okRest), .close]
                    : [.readRequest, .send(folded), .close]
            })
            let transport = try context.transport()
            for _ in 0..<20 {
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                context.expectMalformed(try await context.exchange(transport, try server.request()))
            }
        }
        let sound: KeyValuePairs<String, String> = [
            "plain": "2\r\nok\r\n0\r\n\r\n",
            "zeros before a size": "0002\r\nok\r\n000\r\n\r\n",
            "an extension": "2;name=value\r\nok\r\n0;last\r\n\r\n",
            "an extension with a quoted string": "2;name=\"a;b\"\r\nok\r\n0\r\n\r\n",
        ]
        await expectChunks(context, sound: sound)
    }

    // A case of its own: there are platforms whose process does not survive trailers.
    static let strictTrailers = ConformanceCase(
        "FH-13T",
        "accepts only trailers that conform to RFC 9112 §7.1.2"
    ) { context in
        await expectChunks(
            context,
            broken: [
                "a bare LF in the trailers": "2\r\nok\r\n0\r\nX-A: 1\n\r\n",
                "a trailer without a colon": "2\r\nok\r\n0\r\nnonsense\r\n\r\n",
                "a trailer with a space before its colon": "2\r\nok\r\n0\r\nX-A : 1\r\n\r\n",
                "a folded first trailer": "2\r\nok\r\n0\r\n X-A: 1\r\n\r\n",
                "NUL in a trailer": "2\r\nok\r\n0\r\nX-A: \0\r\n\r\n",
            ],
            sound: ["a trailer": "2\r\nok\r\n0\r\nX-A: 1\r\n\r\n"]
        )
    }

    /// Makes one exchange for each chunked body: broken ones are malformed, sound ones are `ok`.
    private static func expectChunks(
        _ context: ConformanceContext,
        broken: KeyValuePairs<String, String> = [:],
        sound: KeyValuePairs<String, String> = [:]
    ) async {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
        for (name, body) in broken {
            await context.part(name) { context in
                await context.eachDelivery {
                    try LoopbackServer(answering: head + body)
                } check: { context, exchange, _ in
                    context.expect(exchange, failsWith: "a malformed response") {
                        if case .malformedResponse(let fault) = $0.kind { fault.rule != .unspecified } else { false }
                    }
                }
            }
        }
        for (name, body) in sound {
            await context.part(name) { context in
                await context.eachDelivery {
                    try LoopbackServer(answering: head + body)
                } check: { context, exchange, _ in
                    context.expect(exchange, gives: 200, "ok")
                }
            }
        }
    }
}
