#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Concurrent exchanges, cancelled exchanges, and both directions at the same time.
extension TransportConformance {
    // MARK: - Concurrent, cancelled, released

    static let manyAtOnce = ConformanceCase("TR-36", "makes 100 and 1,000 concurrent calls within the limits") {
        context in
        for (count, perHost) in [(100, 6), (context.scaled(1000), 6), (context.scaled(1000), 32)] {
            await context.part("\(count) calls, \(perHost) connections") { context in
                let server = try LoopbackServer { .text("response to \($0.target)") }
                let transport = try context.transport { $0.connections.perHost = perHost }
                try await context.within("\(count) calls") {
                    try await inParallel(count) { number in
                        let exchange = await Exchange.perform(transport, try server.request(.get, "/\(number)"))
                        context.expect(exchange, gives: 200, "response to /\(number)")
                    }
                }
                context.expectEqual(server.requestCount, count, "requests at the server")
                let most = server.maximumOpenCount
                context.expect(
                    most <= perHost,
                    "\(most) connections were open at the same time, \(perHost) are allowed"
                )
            }
        }
    }

    static let cancelBeforeHead = ConformanceCase("TR-37", "ends a call that is cancelled before its head") {
        context in
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let server = try LoopbackServer(script: [.readRequest, .stall])
                let transport = try context.transport()
                var request = try server.request(.get, "/", delivery: delivery)
                // Nothing but the cancellation ends the call.
                request.timeouts.connect = nil
                request.timeouts.idle = nil
                let endless = request
                let task = Task { await Exchange.perform(transport, endless) }
                _ = try await context.within("the request") { try await server.request(at: 0) }
                task.cancel()
                let exchange = try await context.within("the cancelled call") { await task.value }
                context.expectCancelled(exchange)
                context.expect(exchange.status == nil, "a head was delivered: \(exchange.ending)")
                try await context.within("closing the connection") { try await server.open(atMost: 0) }
            }
        }
        await context.part("before it began") { context in
            let server = try LoopbackServer { _ in .status(204) }
            let transport = try context.transport { $0.connections.perHost = 1 }
            let request = try server.request(.get, "/late")
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await Exchange.perform(transport, request)
            }
            context.expectCancelled(try await context.within("the cancelled call") { await task.value })
            context.expectEqual(server.acceptedCount, 0, "connections")
            // By the time of this response the other request would have arrived too.
            context.expect(try await context.exchange(transport, try server.request()), gives: 204)
            context.expectEqual(server.requests.map(\.path), ["/"], "paths at the server")
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

    static let cancelInBody = ConformanceCase("TR-38", "delivers what arrived, then ends as cancelled") {
        context in
        let response = ServerStep.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234")
        await context.part("the task") { context in
            let server = try LoopbackServer(script: [.readRequest, response, .stall])
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
            let server = try LoopbackServer(script: [.readRequest, response, .stall])
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
                    context.fail("reading continued: \(more?.count ?? 0) bytes")
                } catch {
                    context.expect(error.isCancellation, "expected a cancellation, got \(error)")
                }
            }
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
        await context.part("buffered") { context in
            let server = try LoopbackServer(script: [.readRequest, response, .stall])
            let transport = try context.transport()
            let request = try server.request()
            let task = Task { await Exchange.perform(transport, request) }
            try await context.within("the response") { try await server.sent(atLeast: 42) }
            task.cancel()
            context.expectCancelled(try await context.within("the cancelled call") { await task.value })
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
    }

    static let cancelWhileReady = ConformanceCase("UF-1", "ends a body with its task while bytes are ready") {
        context in
        // In pieces, because the server counts what each call of the system has taken.
        let endless = ServerResponse.stream { connection in
            let piece = Data(String(repeating: "a line of text\n", count: 4 << 10).utf8)
            for _ in 0..<1024 { try connection.sendChunk(piece) }
        }
        for (reads, asksForLines) in [(0, false), (1, false), (0, true), (1, true)] {
            let unit = asksForLines ? "lines" : "chunks"
            await context.part("after \(reads) \(unit)") { context in
                var options = LoopbackServer.Options()
                options.sendBuffer = 16 << 10
                let server = try LoopbackServer(options) { _ in endless }
                let transport = try context.transport()
                let request = try server.request(.get, "/", delivery: .streamed)
                let task = Task { () async throws -> (Exchange, Response.Body) in
                    var exchange = Exchange()
                    let response = try await transport.send(request, call: Call())
                    var (chunks, lines) = (
                        Response.Body().makeAsyncIterator(), Response.Body().lines.makeAsyncIterator()
                    )
                    if asksForLines {
                        lines = response.body.lines.makeAsyncIterator()
                    } else {
                        chunks = response.body.makeAsyncIterator()
                    }
                    let next = { () async throws(LoadingError) -> Bool in
                        asksForLines ? try await lines.next() != nil : try await chunks.next() != nil
                    }
                    for _ in 0..<reads { _ = try await next() }
                    // The reader is slow: bytes are ready when it asks again.
                    try await server.sent(atLeast: 1 << 20)
                    withUnsafeCurrentTask { $0?.cancel() }
                    do throws(LoadingError) {
                        _ = try await next()
                    } catch {
                        exchange.error = error
                    }
                    return (exchange, response.body)
                }
                let (exchange, body) = try await context.within("the cancelled reader") { try await task.value }
                context.expectCancelled(exchange)
                // The body is kept until the connection is closed.
                try await context.within("closing the connection") { try await server.open(atMost: 0) }
                withExtendedLifetime(body) {}
            }
        }
        await context.part("a small body that has arrived") { context in
            let server = try LoopbackServer { _ in .text(String(repeating: "x", count: 100)) }
            let transport = try context.transport()
            let request = try server.request(.get, "/", delivery: .streamed)
            let task = Task {
                var exchange = Exchange()
                do throws(LoadingError) {
                    let response = try await transport.send(request, call: Call())
                    withUnsafeCurrentTask { $0?.cancel() }
                    _ = try await response.body.collect()
                } catch {
                    exchange.error = error
                }
                return exchange
            }
            context.expectCancelled(try await context.within("the cancelled reader") { await task.value })
        }
        await context.part("cancel() of the body") { context in
            let server = try LoopbackServer { _ in endless }
            let transport = try context.transport()
            let request = try server.request(.get, "/", delivery: .streamed)
            try await context.within("the exchange") {
                let response = try await transport.send(request, call: Call())
                try await server.sent(atLeast: 1 << 20)
                var chunks = response.body.makeAsyncIterator()
                _ = try await chunks.next()
                response.body.cancel()
                do throws(LoadingError) {
                    let more = try await chunks.next()
                    context.fail("reading continued: \(more?.count ?? 0) bytes")
                } catch {
                    context.expect(error.isCancellation, "expected a cancellation, got \(error)")
                }
            }
        }
        await context.part("an upload") { context in
            let server = try LoopbackServer(
                onHead: { _ in .stream { connection in while try connection.readBodyPiece() != nil {} } },
                handler: { _ in .status(500) }
            )
            let transport = try context.transport()
            let (hasWritten, hasEnded) = (Signal(), Signal())
            let body = Request.Body.writer { write in
                defer { hasEnded.raise() }
                while true {
                    try await write(Data(count: 1 << 10))
                    hasWritten.raise()
                }
            }
            let request = try server.request(.post, "/", body: body)
            let task = Task { await Exchange.perform(transport, request) }
            try await context.within("the first bytes") { try await hasWritten.wait() }
            task.cancel()
            context.expectCancelled(try await context.within("the cancelled call") { await task.value })
            try await context.within("the end of the writer") { try await hasEnded.wait() }
        }
    }

    static let droppedBody = ConformanceCase("TR-40", "ends the transfer when a body is released") { context in
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
                // The only connection is free again, and it is not in the middle of a body.
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                _ = try await context.within("closing the connection") { try await server.connectionClosed(at: 0) }
            }
            await context.part(
                reads == 1 ? "after its first chunk, from a silent server" : "unread, from a silent server"
            ) {
                context in
                let response = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234"
                let server = try LoopbackServer { index in
                    [.readRequest, index == 0 ? .send(response) : .respond(.text("ok")), .stall]
                }
                let transport = try context.transport { $0.connections.perHost = 1 }
                let request = try server.request(.get, "/", delivery: .streamed)
                try await context.within("the first chunk") {
                    let response = try await transport.send(request, call: Call())
                    guard reads == 1 else { return }
                    var chunks = response.body.makeAsyncIterator()
                    _ = try await chunks.next()
                }
                // No byte arrives on the connection that would notify the transport.
                _ = try await context.within("closing the connection") { try await server.connectionClosed(at: 0) }
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
            }
        }
    }

    // MARK: - Duplex

    static let duplex = ConformanceCase("TR-45", "echoes 1,000 bytes, each sent when the last came back") {
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
        let body = Request.Body.writer { write in
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

    static let duplexLedByServer = ConformanceCase(
        "TR-46",
        "delivers 1,000 bytes that the server sends one by one"
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
        let body = Request.Body.writer { write in
            for number in 0..<1000 {
                try await mayWrite.wait()
                try await write(received.withLock { Data([$0[number]]) })
            }
        }
        let request = try server.request(.post, "/", body: body, delivery: .streamed)
        try await context.within("1,000 responses") {
            let response = try await transport.send(request, call: Call())
            for try await chunk in response.body {
                received.withLock { $0.append(chunk) }
                mayWrite.step(chunk.count)
            }
            context.expectEqual(received.withLock { $0.count }, 1000, "bytes received")
        }
    }
}
