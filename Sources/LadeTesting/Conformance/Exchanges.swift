#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

// Section 2 of the spec, first half: what goes out and comes in with a well-behaved server.
extension TransportConformance {
    static var exchanges: [ConformanceCase] {
        [
            methods, echoText, codings, identityCoding, customHeader, refusals, manyAtOnce, cancelBeforeHead,
            cancelInBody, echoMegabyte, droppedBody, drips, emptyHeader, headWithLength, repeatedHeaders, duplex,
            duplexLedByServer, emptyBody, query, responseTrailers, requestTrailers,
        ]
    }

    /// Both ways to hand a body over.
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
                let request = try server.request(try Method(token), "/\(token)?x=1")
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
        context.expectEqual(exchange.headers.all("X-R"), ["1", "2, 3"], "values in the answer")
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
        for (index, method) in [Method.post, .put, .patch].enumerated() {
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

    // MARK: - Answers

    private static let refusals = ConformanceCase("TR-35", "delivers 404 and 500 with their bodies") { context in
        let server = try LoopbackServer { .text("sorry", status: Int($0.path.dropFirst()) ?? 0) }
        let transport = try context.transport()
        for status in [404, 500] {
            for (name, delivery) in deliveries {
                await context.part("\(status), \(name)") { context in
                    let request = try server.request(.get, "/\(status)", delivery: delivery)
                    context.expect(try await context.exchange(transport, request), gives: Status(status), "sorry")
                }
            }
        }
    }

    private static let headWithLength = ConformanceCase("TR-43", "ends the answer to HEAD at its head") { context in
        let server = try LoopbackServer { request in
            ServerResponse(fields: [ServerField("Content-Length", request.method == "HEAD" ? "1000" : "0")])
        }
        let transport = try context.transport()
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let exchange = try await context.exchange(transport, try server.request(.head, "/", delivery: delivery))
                context.expect(exchange, gives: 200, "")
                context.expectEqual(exchange.headers["Content-Length"], "1000", "Content-Length")
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "")
            }
        }
        context.expectEqual(server.acceptedCount, 1, "connections")
    }

    private static let drips = ConformanceCase("TR-41", "reads a body that drips in small pieces") { context in
        let whole = pattern(1_000_000)
        await context.part("known length") { context in
            let head = Data("HTTP/1.1 200 OK\r\nContent-Length: \(whole.count)\r\n\r\n".utf8)
            await context.eachDelivery {
                try LoopbackServer(script: [.readRequest, .send(head + whole, inPiecesOf: 997), .stall])
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 200)
                context.expect(exchange.body == whole, "the body is not the one that was sent: \(exchange.ending)")
            }
        }
        await context.part("chunked") { context in
            let framed = chunked(whole, of: 1021)
            let head = Data("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".utf8)
            // Pieces end within sizes, line ends and chunks alike.
            await context.eachDelivery {
                try LoopbackServer(script: [.readRequest, .send(head + framed, inPiecesOf: 509), .stall])
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 200)
                context.expect(exchange.body == whole, "the body is not the one that was sent: \(exchange.ending)")
            }
        }
        await context.part("byte by byte") { context in
            let answer =
                "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1;x\r\nc\r\n0\r\nX-T: 1\r\n\r\n"
            await context.eachDelivery {
                try LoopbackServer(script: [.readRequest, .send(Data(answer.utf8), inPiecesOf: 1), .stall])
            } check: { context, exchange, _ in
                context.expect(exchange, gives: 200, "abc")
                context.expectEqual(exchange.trailers["X-T"], "1", "trailer")
            }
        }
    }

    private static let echoMegabyte = ConformanceCase("TR-39", "echoes 1,000,000 bytes of known length") { context in
        let server = try LoopbackServer { .bytes($0.body) }
        let transport = try context.transport()
        let whole = pattern(1_000_000)
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let request = try server.request(.post, "/", body: .bytes(whole), delivery: delivery)
                let exchange = try await context.exchange(transport, request)
                context.expect(exchange, gives: 200)
                context.expect(exchange.body == whole, "the body is not the one that was sent: \(exchange.ending)")
            }
        }
        context.expectEqual(server.requests.first?["Content-Length"], "1000000", "Content-Length at the server")
    }

    private static let responseTrailers = ConformanceCase("TR-49", "delivers three trailers after a chunked body") {
        context in
        let fields = [ServerField("X-First", "one"), ServerField("X-Second", "two"), ServerField("X-Third", "three")]
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let server = try LoopbackServer { _ in .chunks(["bo", "dy"], trailers: fields) }
                let request = try server.request(.get, "/", delivery: delivery)
                expectTrailers(context, try await context.exchange(try context.transport(), request))
            }
        }
        await context.part("before the end") { context in
            let signal = Signal()
            let server = try LoopbackServer { _ in
                var response = ServerResponse.stream { connection in
                    try connection.sendChunk(Data("bo".utf8))
                    try connection.wait(for: signal)
                    try connection.sendChunk(Data("dy".utf8))
                }
                response.trailers = fields
                return response
            }
            let transport = try context.transport()
            let request = try server.request(.get, "/", delivery: .streamed)
            try await context.within("the exchange") {
                let response = try await transport.send(request, call: Call())
                context.expect(response.trailers.isEmpty, "there are trailers before the end")
                signal.raise()
                for try await _ in response.body {}
                context.expectEqual(response.trailers.count, 3, "trailers at the end")
            }
        }
        for (name, delivery) in deliveries {
            await context.part("HTTP/2, \(name)") { context in
                let port = try context.peers.port("h2")
                let transport = try context.transport { $0.tls = try context.trustingPeers() }
                let address = "https://localhost:\(port)/trailers?token=\(context.token())"
                let request = try Request(.get, address, delivery: delivery)
                let exchange = try await context.exchange(transport, request)
                expectTrailers(context, exchange)
                context.expectEqual(exchange.version, .http2, "version")
            }
        }
    }

    private static func expectTrailers(_ context: ConformanceContext, _ exchange: Exchange) {
        context.expect(exchange, gives: 200, "body")
        let got = exchange.trailers.map { "\($0.name.lowercased()): \($0.value)" }
        context.expectEqual(got, ["x-first: one", "x-second: two", "x-third: three"], "trailers")
        context.expect(!exchange.headers.contains("X-First"), "trailers were put among the headers")
    }

    private static let requestTrailers = ConformanceCase("TR-50", "sends two trailers after the body") { context in
        let server = try LoopbackServer { .text($0.text) }
        let transport = try context.transport()
        let stream = RequestBody.writer { write in
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

    // MARK: - Codings

    private static let codings = ConformanceCase("TR-32", "decodes the codings it asked for and tells the coded length")
    {
        context in
        let server = try LoopbackServer { request in
            let coding = request.queryItem("coding") ?? ""
            return .bytes(CodedSample.all[coding] ?? Data(), [ServerField("Content-Encoding", coding)])
        }
        let transport = try context.transport()
        _ = try await context.exchange(transport, try server.request(.get, "/?coding=none"))
        let accepted = server.requests.first?["Accept-Encoding"] ?? ""
        let advertised = accepted.split(separator: ",").map { $0.prefix { $0 != ";" }.filter { $0 != " " } }
        context.expect(advertised.contains("gzip"), "gzip is not asked for: “\(accepted)”")
        for (coding, bytes) in CodedSample.all where advertised.contains(coding) {
            for (name, delivery) in deliveries {
                await context.part("\(coding), \(name)") { context in
                    let request = try server.request(.get, "/?coding=\(coding)", delivery: delivery)
                    let exchange = try await context.exchange(transport, request)
                    context.expect(exchange, gives: 200, CodedSample.text)
                    context.expectEqual(exchange.metrics.contentEncoding, coding, "coding in the metrics")
                    context.expectEqual(exchange.metrics.responseBodyBytes, Int64(bytes.count), "coded bytes")
                    let decoded = Int64(CodedSample.text.utf8.count)
                    context.expectEqual(exchange.metrics.decodedBodyBytes, decoded, "decoded bytes")
                }
            }
        }
        await context.part("damaged") { context in
            await context.eachDelivery {
                try LoopbackServer { _ in
                    .bytes(Data("not gzip at all".utf8), [ServerField("Content-Encoding", "gzip")])
                }
            } check: { context, exchange, _ in
                context.expect(exchange, failsWith: "a malformed response") {
                    if case .malformedResponse = $0 { true } else { false }
                }
            }
        }
        await context.part("switched off") { context in
            let plain = try context.transport { $0.decodesContent = false }
            let exchange = try await context.exchange(plain, try server.request(.get, "/?coding=gzip"))
            context.expect(exchange.body == CodedSample.all["gzip"], "it was decoded: \(exchange.ending)")
            context.expectEqual(server.requests.last?["Accept-Encoding"], nil, "Accept-Encoding")
        }
    }

    private static let identityCoding = ConformanceCase("TR-33", "leaves codings alone when the caller asks for none") {
        context in
        let gzip = CodedSample.all["gzip"] ?? Data()
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let server = try LoopbackServer { _ in .bytes(gzip, [ServerField("Content-Encoding", "gzip")]) }
                let headers: Headers = ["accept-encoding": "identity"]
                let request = try server.request(.get, "/", headers: headers, delivery: delivery)
                let exchange = try await context.exchange(try context.transport(), request)
                context.expect(exchange.error == nil && exchange.body == gzip, "it was changed: \(exchange.ending)")
                context.expectEqual(exchange.headers["Content-Encoding"], "gzip", "Content-Encoding")
                context.expectEqual(exchange.headers["Content-Length"], String(gzip.count), "Content-Length")
                context.expectEqual(server.requests.first?.all("Accept-Encoding"), ["identity"], "Accept-Encoding sent")
            }
        }
    }

    // MARK: - Many, cancelled, dropped

    private static let manyAtOnce = ConformanceCase("TR-36", "makes 100 and 1,000 calls at once within the limits") {
        context in
        for (count, perHost) in [(100, 6), (context.scaled(1000), 6), (context.scaled(1000), 32)] {
            await context.part("\(count) calls, \(perHost) connections") { context in
                let server = try LoopbackServer { .text("answer to \($0.target)") }
                let transport = try context.transport { $0.connections.perHost = perHost }
                try await context.within("\(count) calls") {
                    try await inParallel(count) { number in
                        let exchange = await Exchange.perform(transport, try server.request(.get, "/\(number)"))
                        context.expect(exchange, gives: 200, "answer to /\(number)")
                    }
                }
                context.expectEqual(server.requestCount, count, "requests at the server")
                let most = server.maximumOpenCount
                context.expect(most <= perHost, "\(most) connections were open at once, \(perHost) are allowed")
            }
        }
    }

    private static let cancelBeforeHead = ConformanceCase("TR-37", "ends a call that is cancelled before its head") {
        context in
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let server = try LoopbackServer(script: [.readRequest, .stall])
                let transport = try context.transport()
                let request = try server.request(.get, "/", delivery: delivery)
                let task = Task { await Exchange.perform(transport, request) }
                _ = try await context.within("the request") { try await server.request(at: 0) }
                task.cancel()
                context.expectCancelled(try await context.within("the cancelled call") { await task.value })
                try await context.within("closing the connection") { try await server.open(atMost: 0) }
            }
        }
        await context.part("before it began") { context in
            let server = try LoopbackServer { _ in .status(204) }
            let transport = try context.transport()
            let request = try server.request()
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await Exchange.perform(transport, request)
            }
            context.expectCancelled(try await context.within("the cancelled call") { await task.value })
        }
        await context.part("while it waits for a connection") { context in
            let server = try LoopbackServer(script: [.readRequest, .stall])
            let transport = try context.transport { $0.connections.perHost = 1 }
            let request = try server.request()
            let first = Task { await Exchange.perform(transport, request) }
            _ = try await context.within("the request") { try await server.request(at: 0) }
            let second = Task { await Exchange.perform(transport, request) }
            second.cancel()
            context.expectCancelled(try await context.within("the waiting call") { await second.value })
            first.cancel()
            context.expectCancelled(try await context.within("the running call") { await first.value })
            context.expectEqual(server.requestCount, 1, "requests at the server")
        }
    }

    private static let cancelInBody = ConformanceCase("TR-38", "hands over what arrived, then ends as cancelled") {
        context in
        let answer = ServerStep.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234")
        await context.part("the task") { context in
            let server = try LoopbackServer(script: [.readRequest, answer, .stall])
            let transport = try context.transport()
            let request = try server.request(.get, "/", delivery: .streamed)
            let hasRead = Signal()
            let task = Task {
                var exchange = Exchange()
                do throws(LoadingError) {
                    let response = try await transport.send(request, call: Call())
                    var chunks = response.body.makeAsyncIterator()
                    while let chunk = try await chunks.next() {
                        exchange.body.append(chunk)
                        if exchange.body.count == 4 { hasRead.raise() }
                    }
                } catch {
                    exchange.error = error
                }
                return exchange
            }
            try await context.within("reading what arrived") { try await hasRead.wait() }
            task.cancel()
            let exchange = try await context.within("the cancelled reader") { await task.value }
            context.expectEqual(exchange.text, "1234", "what had arrived")
            context.expectCancelled(exchange)
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
        await context.part("the body") { context in
            let server = try LoopbackServer(script: [.readRequest, answer, .stall])
            let transport = try context.transport()
            let request = try server.request(.get, "/", delivery: .streamed)
            try await context.within("the exchange") {
                let response = try await transport.send(request, call: Call())
                var chunks = response.body.makeAsyncIterator()
                var body = Data()
                while body.count < 4, let chunk = try await chunks.next() { body.append(chunk) }
                response.body.cancel()
                do throws(LoadingError) {
                    let more = try await chunks.next()
                    context.fail("reading went on: \(more?.count ?? 0) bytes")
                } catch {
                    context.expect(error.isCancellation, "expected a cancellation, got \(error)")
                }
            }
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
        await context.part("buffered") { context in
            let server = try LoopbackServer(script: [.readRequest, answer, .stall])
            let transport = try context.transport()
            let request = try server.request()
            let task = Task { await Exchange.perform(transport, request) }
            try await context.within("the answer") { try await server.sent(atLeast: 42) }
            task.cancel()
            context.expectCancelled(try await context.within("the cancelled call") { await task.value })
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
    }

    private static let droppedBody = ConformanceCase("TR-40", "ends the transfer when a body is dropped") { context in
        for reads in [1, 0] {
            await context.part(reads == 1 ? "after its first chunk" : "unread") { context in
                var options = LoopbackServer.Options()
                options.sendBuffer = 16 << 10
                let whole = pattern(64 << 20)
                let server = try LoopbackServer(options) { $0.path == "/large" ? .bytes(whole) : .text("ok") }
                let transport = try context.transport { $0.connections.perHost = 1 }
                let request = try server.request(.get, "/large", delivery: .streamed)
                try await context.within("the first chunk") {
                    let response = try await transport.send(request, call: Call())
                    guard reads == 1 else { return }
                    var chunks = response.body.makeAsyncIterator()
                    let first = try await chunks.next()
                    context.expect(first?.first == whole.first, "the first chunk is wrong")
                }
                // The only connection is free again, and it is not the one that is in the middle of a body.
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                _ = try await context.within("closing the connection") { try await server.connectionClosed(at: 0) }
            }
        }
    }

    // MARK: - Duplex

    private static let duplex = ConformanceCase("TR-45", "echoes 1,000 bytes, each sent when the last came back") {
        context in
        let server = try LoopbackServer(
            onHead: { _ in
                .stream { connection in
                    while let piece = try connection.readBodyPiece() { try connection.sendChunk(piece) }
                }
            },
            handler: { _ in .status(500) }
        )
        let transport = try context.transport()
        let mayWrite = Signal()
        let body = RequestBody.writer { write in
            for number in 0..<1000 {
                try await mayWrite.wait()
                try await write(Data([UInt8(truncatingIfNeeded: number)]))
            }
        }
        let request = try server.request(.post, "/", body: body, delivery: .streamed)
        try await context.within("1,000 echoes") {
            let response = try await transport.send(request, call: Call())
            var chunks = response.body.makeAsyncIterator()
            for number in 0..<1000 {
                mayWrite.step()
                let echo = try await chunks.next()
                guard echo == Data([UInt8(truncatingIfNeeded: number)]) else {
                    return context.fail("echo \(number) is \(echo.map { Array($0) } ?? [])")
                }
            }
            let end = try await chunks.next()
            context.expect(end == nil, "there is more after the last echo")
        }
    }

    private static let duplexLedByServer = ConformanceCase(
        "TR-46",
        "answers 1,000 bytes that the server sends one by one"
    ) {
        context in
        let server = try LoopbackServer(
            onHead: { _ in
                .stream { connection in
                    for number in 0..<1000 {
                        let byte = Data([UInt8(truncatingIfNeeded: number)])
                        try connection.sendChunk(byte)
                        guard try connection.readBodyPiece() == byte else { try connection.reset() }
                    }
                }
            },
            handler: { _ in .status(500) }
        )
        let transport = try context.transport()
        let mayWrite = Signal()
        let received = Locked(Data())
        let body = RequestBody.writer { write in
            for number in 0..<1000 {
                try await mayWrite.wait()
                try await write(received.withLock { Data([$0[number]]) })
            }
        }
        let request = try server.request(.post, "/", body: body, delivery: .streamed)
        try await context.within("1,000 answers") {
            let response = try await transport.send(request, call: Call())
            for try await chunk in response.body {
                received.withLock { $0.append(chunk) }
                mayWrite.step(chunk.count)
            }
            context.expectEqual(received.withLock { $0.count }, 1000, "bytes received")
        }
    }

    // MARK: - Material

    /// Runs something so many times at once.
    static func inParallel(_ count: Int, _ body: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count { group.addTask { try await body(number) } }
            try await group.waitForAll()
        }
    }

    /// Bytes that repeat with a period that is no power of two, so that a lost or doubled block shows.
    static func pattern(_ count: Int) -> Data {
        let period = Data((0..<251).map { UInt8($0) })
        var block = Data()
        while block.count < 251 << 10 { block.append(period) }
        var whole = Data(capacity: count)
        while whole.count < count { whole.append(block.prefix(min(block.count, count - whole.count))) }
        return whole
    }

    /// The chunked form of some bytes.
    static func chunked(_ bytes: Data, of size: Int) -> Data {
        var framed = Data()
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(size)
            framed.append(Data("\(String(piece.count, radix: 16))\r\n".utf8))
            framed.append(piece)
            framed.append(Data("\r\n".utf8))
            rest = rest.dropFirst(size)
        }
        framed.append(Data("0\r\n\r\n".utf8))
        return framed
    }
}

extension ConformanceContext {
    /// The settings that trust the peers' authority and nobody else.
    func trustingPeers() throws(ConformanceSkip) -> TLSSettings {
        var tls = TLSSettings()
        tls.trustsSystemAuthorities = false
        tls.authorities = [.file(try peers.text("ca"))]
        return tls
    }

    /// A text nobody else uses, for peers that count by token.
    func token() -> String {
        "t" + String(UInt64.random(in: 0...UInt64.max), radix: 36)
    }
}
