#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Limits; LongRuns.swift has the long runs.
extension TransportConformance {
    static var limits: [ConformanceCase] {
        [timeouts, largeBodies, bombs, connectionLimits, metrics, manyInARow, shutDown, randomFaults]
    }

    // MARK: - Time-outs

    private static let timeouts = ConformanceCase("TR-80", "times out each phase separately, and names it") { context in
        let endless = ServerStep.run { connection in
            while true {
                try connection.sendChunk(Data("x".utf8))
                // Bytes keep arriving, so the connection is never idle; their rate does not matter.
                Threads.yield()
            }
        }
        let head = ServerStep.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for (name, delivery) in deliveries {
            await context.part("idle in the body, \(name)") { context in
                try await expectTimeout(context, .idle, [.readRequest, head, .send("2\r\nok\r\n"), .stall], delivery)
            }
            await context.part("idle before the head, \(name)") { context in
                try await expectTimeout(context, .idle, [.readRequest, .stall], delivery)
            }
            await context.part("whole before the head, \(name)") { context in
                try await expectTimeout(context, .whole, [.readRequest, .stall], delivery)
            }
            await context.part("whole in a body that moves, \(name)") { context in
                try await expectTimeout(context, .whole, [.readRequest, head, endless], delivery)
            }
        }
        await context.part("connect") { context in
            let hole = try Blackhole()
            var request = try Request(.get, "http://127.0.0.1:\(hole.port)/")
            request.timeouts.idle = nil
            request.timeouts.connect = .milliseconds(200)
            let exchange = try await context.exchange(try context.transport(), request)
            context.expectTimeout(exchange, .connect)
            // The whole time-out applies while connecting, too.
            request.timeouts.connect = nil
            request.timeouts.whole = .milliseconds(200)
            context.expectTimeout(try await context.exchange(try context.transport(), request), .whole)
        }
        await context.part("TLS handshake") { context in
            var request = try Request(.get, "https://localhost:\(try context.peers.port("tlsStalled"))/")
            request.timeouts.idle = nil
            request.timeouts.connect = .milliseconds(200)
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            context.expectTimeout(try await context.exchange(transport, request), .connect)
        }
        await context.part("nothing later arrives") { context in
            let signal = Signal()
            let server = try LoopbackServer { index in
                index == 0
                    ? [.readRequest, .wait(for: signal), .respond(.text("late")), .stall]
                    : [.readRequest, .respond(.text("ok")), .stall]
            }
            let transport = try context.transport()
            var request = try server.request()
            request.timeouts.idle = .milliseconds(200)
            context.expectTimeout(try await context.exchange(transport, request), .idle)
            signal.raise()
            context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
            _ = try await context.within("closing the connection") { try await server.connectionClosed(at: 0) }
        }
        await context.part("no limit at all") { context in
            let server = try LoopbackServer { _ in .text("ok") }
            var request = try server.request()
            request.timeouts.connect = nil
            request.timeouts.idle = nil
            context.expect(try await context.exchange(try context.transport(), request), gives: 200, "ok")
        }
    }

    private static func expectTimeout(
        _ context: ConformanceContext,
        _ phase: LoadingError.TimeoutPhase,
        _ script: [ServerStep],
        _ delivery: Request.Delivery
    ) async throws {
        let server = try LoopbackServer(script: script)
        var request = try server.request(.get, "/", delivery: delivery)
        request.timeouts.connect = nil
        request.timeouts.idle = phase == .idle ? .milliseconds(200) : nil
        request.timeouts.whole = phase == .whole ? .milliseconds(300) : nil
        context.expectTimeout(try await context.exchange(try context.transport(), request), phase)
        try await context.within("closing the connection") { try await server.open(atMost: 0) }
    }

    // MARK: - Size

    private static let largeBodies = ConformanceCase("TR-81", "refuses a body above the limit as soon as it is known") {
        context in
        await context.part("announced") { context in
            let server = try LoopbackServer(
                script: [.readRequest, .send("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"), .stall]
            )
            let request = try server.request(.get, "/", delivery: .buffered(limit: 1000))
            let exchange = try await context.exchange(try context.transport(), request)
            expectTooLarge(context, exchange, limit: 1000, announced: 1001)
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
        await context.part("not announced") { context in
            let server = try LoopbackServer { connection in
                try connection.readRequest()
                try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                while true { try connection.sendChunk(Data(count: 100)) }
            }
            let request = try server.request(.get, "/", delivery: .buffered(limit: 1000))
            let exchange = try await context.exchange(try context.transport(), request)
            expectTooLarge(context, exchange, limit: 1000, announced: nil)
            try await context.within("closing the connection") { try await server.open(atMost: 0) }
        }
        await context.part("collected from a stream") { context in
            let server = try LoopbackServer { _ in .bytes(pattern(1 << 20)) }
            let transport = try context.transport()
            let request = try server.request(.get, "/", delivery: .streamed)
            try await context.within("the exchange") {
                let response = try await transport.send(request, call: Call())
                do throws(LoadingError) {
                    let bytes = try await response.body.collect(limit: 1000)
                    context.fail("\(bytes.count) bytes were collected")
                } catch {
                    guard case .bodyTooLarge(limit: 1000, _) = error.kind else { return context.fail("got \(error)") }
                }
            }
        }
        await context.part("at the limit") { context in
            let server = try LoopbackServer { $0.path == "/chunks" ? .chunks(["12", "345"]) : .text("12345") }
            let transport = try context.transport()
            for path in ["/", "/chunks"] {
                let request = try server.request(.get, path, delivery: .buffered(limit: 5))
                context.expect(try await context.exchange(transport, request), gives: 200, "12345")
            }
            // HEAD announces a length, but no body is sent.
            let head = try server.request(.head, "/", delivery: .buffered(limit: 4))
            context.expect(try await context.exchange(transport, head), gives: 200, "")
        }
        await context.part("decoded") { context in
            let server = try LoopbackServer { _ in
                .bytes(CodedSample.all["gzip"] ?? Data(), [ServerField("Content-Encoding", "gzip")])
            }
            let limit = CodedSample.text.utf8.count - 1
            let request = try server.request(.get, "/", delivery: .buffered(limit: limit))
            let exchange = try await context.exchange(try context.transport(), request)
            context.expect(exchange, failsWith: "a body too large") {
                if case .bodyTooLarge(limit, _) = $0.kind { true } else { false }
            }
        }
    }

    private static func expectTooLarge(
        _ context: ConformanceContext,
        _ exchange: Exchange,
        limit: Int,
        announced: Int64?
    ) {
        guard case .bodyTooLarge(let gotLimit, let gotAnnounced) = exchange.error?.kind else {
            return context.fail("expected a body too large, got \(exchange.ending)")
        }
        context.expectEqual(gotLimit, limit, "limit in the error")
        context.expectEqual(gotAnnounced, announced, "announced length in the error")
        context.expectEqual(exchange.error?.context.status, 200, "status in the error")
    }

    private static let bombs = ConformanceCase("TR-82", "refuses a body that grows too much when decoded") { context in
        let gzip = ServerField("Content-Encoding", "gzip")
        let bomb = GzipZeros.make(copies: 40_000)
        let small = GzipZeros.make(copies: 4_000)
        let server = try LoopbackServer { .bytes($0.path == "/small" ? small : bomb, [gzip]) }
        for (name, delivery) in deliveries {
            await context.part(name) { context in
                let transport = try context.transport()
                let exchange = try await context.exchange(transport, try server.request(.get, "/", delivery: delivery))
                expectBomb(context, exchange)
                context.expect(
                    exchange.body.count <= 100 * bomb.count + (1 << 20),
                    "\(exchange.body.count) bytes were handed over"
                )
                let below = try await context.exchange(
                    transport,
                    try server.request(.get, "/small", delivery: delivery)
                )
                context.expect(below, gives: 200)
                context.expectEqual(below.body.count, 1 + 4_000 * 258, "bytes of a body below 1 MiB")
            }
        }
        await context.part("a higher limit") { context in
            let transport = try context.transport { $0.limits.decompressionRatio = 1000 }
            let exchange = try await context.exchange(transport, try server.request())
            context.expect(exchange, gives: 200)
            context.expectEqual(exchange.body.count, 1 + 40_000 * 258, "bytes")
        }
        await context.part("10 MiB in 10 KiB") { context in
            let port = try context.peers.port("nginxHTTP")
            let request = try Request(.get, "http://127.0.0.1:\(port)/bomb.bin")
            expectBomb(context, try await context.exchange(try context.transport(), request))
        }
    }

    private static func expectBomb(_ context: ConformanceContext, _ exchange: Exchange) {
        context.expect(exchange, failsWith: "a decompression ratio exceeded") {
            if case .decompressionRatioExceeded(limit: 100) = $0.kind { true } else { false }
        }
    }

    // MARK: - Connections

    private static let connectionLimits = ConformanceCase("TR-83", "never has more connections than it may") {
        context in
        await context.part("total and per host") { context in
            // Requests in flight are counted, not open connections. On a busy machine, the end of a connection may
            // reach its server after the beginning of the next one. The parts below count connections.
            let all = Busy()
            let hosts = (0..<4).map { _ in Busy() }
            let servers = try hosts.map { host in
                try LoopbackServer { _ in
                    for busy in [all, host] { busy.begin() }
                    // Gives the other requests time to arrive.
                    for _ in 0..<50 { Threads.yield() }
                    for busy in [all, host] { busy.end() }
                    return .text("ok")
                }
            }
            let transport = try context.transport {
                $0.connections.total = 5
                $0.connections.perHost = 2
            }
            try await context.within("800 calls") {
                try await inParallel(800) { number in
                    let exchange = await Exchange.perform(transport, try servers[number % 4].request())
                    context.expect(exchange, gives: 200, "ok")
                }
            }
            for (busy, limit) in [(all, 5)] + hosts.map({ ($0, 2) }) {
                let most = busy.most
                context.expect(most <= limit, "\(most) requests were in flight at the same time, \(limit) may be")
            }
            try await context.settles("idle connections") {
                let open = servers.map(\.openCount).reduce(0, +)
                return open <= 5 ? nil : "\(open) are open, 5 are allowed"
            }
        }
        await context.part("total, counted by the servers") { context in
            try await exhaust(context, hosts: [0, 0, 1, 1, 2], then: [0, 1, 2, 3], open: [2, 2, 1, 0]) {
                $0.connections.total = 5
                $0.connections.perHost = 2
            }
        }
        await context.part("per host, counted by the servers") { context in
            try await exhaust(context, hosts: [0, 0, 1], then: [0], open: [2, 1, 0, 0]) { $0.connections.perHost = 2 }
        }
        await context.part("idle life") { context in
            let server = try LoopbackServer { _ in .text("ok") }
            let transport = try context.transport { $0.connections.idleLife = .seconds(1) }
            // A slow machine may need longer than that between two calls, but not twenty times in a row.
            var calls = 0
            repeat {
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                calls += 1
            } while server.acceptedCount == calls && calls < 20
            let used = server.acceptedCount
            context.expect(used < calls, "no connection was kept for another call")
            let last = used - 1
            _ = try await context.within("closing the idle connection") { try await server.connectionClosed(at: last) }
            context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
            context.expectEqual(server.acceptedCount, used + 1, "connections")
        }
        await context.part("kept and used again") { context in
            let server = try LoopbackServer { _ in .text("ok") }
            let transport = try context.transport()
            var ended = context.time.now
            for number in 1...50 {
                let pause = ended.duration(to: context.time.now)
                context.expect(try await context.exchange(transport, try server.request()), gives: 200, "ok")
                let count = server.acceptedCount
                context.expect(count == 1, "call \(number), \(pause) after the one before, made connection \(count)")
                guard count == 1 else { return }
                ended = context.time.now
            }
        }
    }

    /// Makes calls that use all the connections that they may, and then further calls that must not get any.
    private static func exhaust(
        _ context: ConformanceContext,
        hosts: [Int],
        then others: [Int],
        open: [Int],
        _ change: (inout TransportSettings) throws -> Void
    ) async throws {
        let signal = Signal()
        let servers = try (0..<4).map { _ in
            try LoopbackServer { connection in
                try connection.readRequest()
                try connection.wait(for: signal)
                try connection.respond(.text("ok"))
                try connection.stall()
            }
        }
        let transport = try context.transport(change)
        let first = Task {
            try await inParallel(hosts.count) { number in
                let exchange = await Exchange.perform(transport, try servers[hosts[number]].request())
                context.expect(exchange, gives: 200, "ok")
            }
        }
        try await context.within("the first requests") {
            for (server, count) in zip(servers, open) { try await server.requests(atLeast: count) }
        }
        try await context.within("calls without a connection") {
            try await inParallel(4 * others.count) { number in
                var call = Exchange.makeCall(EventRecorder())
                call.deadline = call.time.now.advanced(by: .milliseconds(300))
                do throws(LoadingError) {
                    let request = try servers[others[number % others.count]].request()
                    _ = try await transport.send(request, call: call)
                    context.fail("a call got a response")
                } catch {
                    guard case .deadlineExceeded = error.kind else { return context.fail("got \(error)") }
                }
            }
        }
        context.expectEqual(servers.map(\.acceptedCount), open, "connections to each host")
        signal.raise()
        try await context.within("the first calls") { try await first.value }
    }

    // MARK: - Metrics

    private static let metrics = ConformanceCase("TR-84", "reports what an exchange cost") { context in
        let response = "HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
        for (name, delivery) in deliveries {
            await context.part("plain, \(name)") { context in
                let round: [ServerStep] = [.readRequest, .send(response + "12345")]
                let server = try LoopbackServer(script: round + round + [.stall])
                let transport = try context.transport()
                let request = try server.request(.post, "/", body: .text("123"), delivery: delivery)
                for isReused in [false, true] {
                    let exchange = try await context.exchange(transport, request)
                    context.expect(exchange, gives: 200, "12345")
                    let metrics = exchange.metrics
                    expectStages(context, metrics, isReused: isReused, isSecure: false)
                    let head = server.requests.last?.head.count ?? 0
                    context.expectEqual(metrics.requestHeadBytes, Int64(head), "bytes of the request's head")
                    context.expectEqual(metrics.requestBodyBytes, 3, "bytes of the request's body")
                    context.expectEqual(
                        metrics.responseHeadBytes,
                        Int64(response.utf8.count),
                        "bytes of the response's heads"
                    )
                    context.expectEqual(metrics.responseBodyBytes, 5, "bytes of the response's body")
                    context.expectEqual(metrics.decodedBodyBytes, 5, "bytes delivered")
                    context.expectEqual(metrics.contentEncoding, nil, "coding")
                    context.expectEqual(metrics.version, .http1_1, "version")
                    context.expectEqual(metrics.remoteAddress, "127.0.0.1", "remote address")
                    context.expectEqual(metrics.remotePort, Int(server.port), "remote port")
                    let reported = exchange.events.compactMap { event -> Response.Metrics? in
                        if case .exchangeFinished(let metrics) = event { metrics } else { nil }
                    }
                    context.expectEqual(reported, [metrics], "metrics reported as events")
                }
            }
        }
        await context.part("the time of each stage") { context in
            try await expectTimes(context)
        }
        await context.part("decoded") { context in
            let coded = CodedSample.all["gzip"] ?? Data()
            let server = try LoopbackServer { _ in .bytes(coded, [ServerField("Content-Encoding", "gzip")]) }
            for delivery in [Request.Delivery.buffered(limit: 1 << 20), .streamed] {
                let request = try server.request(.get, "/", delivery: delivery)
                let exchange = try await context.exchange(try context.transport(), request)
                context.expect(exchange, gives: 200, CodedSample.text)
                let metrics = exchange.metrics
                context.expectEqual(metrics.responseBodyBytes, Int64(coded.count), "bytes on the wire")
                context.expectEqual(metrics.decodedBodyBytes, Int64(CodedSample.text.utf8.count), "decoded bytes")
                context.expectEqual(metrics.contentEncoding, "gzip", "coding")
            }
        }
        await context.part("failed") { context in
            let server = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1234")
            let exchange = try await context.exchange(try context.transport(), try server.request())
            context.expectIncomplete(exchange, received: 4, expected: 10)
            let reported = exchange.events.compactMap { event -> Response.Metrics? in
                if case .exchangeFailed(_, let metrics) = event { metrics } else { nil }
            }
            context.expectEqual(
                reported.map(\.responseBodyBytes),
                [4],
                "bytes of the response's body, reported as events"
            )
        }
        await context.part("TLS and HTTP/2") { context in
            let transport = try context.transport { $0.tls = try context.trustingPeers() }
            for isReused in [false, true] {
                let exchange = try await context.exchange(transport, try context.request("nginxTLS"))
                context.expect(exchange, gives: 200)
                expectStages(context, exchange.metrics, isReused: isReused, isSecure: true)
                context.expectEqual(exchange.metrics.version, .http2, "version")
                context.expectEqual(exchange.metrics.responseBodyBytes, Int64(exchange.body.count), "bytes of the body")
                context.expectEqual(exchange.metrics.decodedBodyBytes, Int64(exchange.body.count), "bytes delivered")
                let port = try context.peers.port("nginxTLS")
                context.expectEqual(exchange.metrics.remotePort, port, "remote port")
                context.expect(
                    ["127.0.0.1", "::1"].contains(exchange.metrics.remoteAddress),
                    "remote address \(exchange.metrics.remoteAddress ?? "nil")"
                )
                context.expect(exchange.metrics.responseHeadBytes > 0, "the response's head has no bytes")
                context.expect(exchange.metrics.requestHeadBytes > 0, "the request's head has no bytes")
            }
        }
        await context.part("queued") { context in
            let server = try LoopbackServer { _ in .text("ok") }
            let transport = try context.transport { $0.connections.perHost = 1 }
            let queued = Locked(0)
            try await context.within("20 calls") {
                try await inParallel(20) { _ in
                    let exchange = await Exchange.perform(transport, try server.request())
                    context.expect(exchange, gives: 200, "ok")
                    if let wait = exchange.metrics.queued, wait > .zero { queued.withLock { $0 += 1 } }
                }
            }
            context.expect(queued.withLock { $0 } >= 1, "no call reports that it waited for the only connection")
        }
    }

    /// Compares the stages of an exchange with the time for which its server holds each of them up.
    private static func expectTimes(_ context: ConformanceContext) async throws {
        let (head, body) = (Signal(), Signal())
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.wait(for: head)
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no")
            try connection.wait(for: body)
            try connection.send("k")
            try connection.stall()
        }
        // The name takes a look-up.
        let request = try Request(.get, "http://localhost:\(server.port)/", delivery: .streamed)
        let (transport, silent) = (try context.transport(), try LoopbackServer(script: [.readRequest, .stall]))
        // A call that ends with its time-out is the clock.
        var pause = try silent.request()
        let hold = Duration.milliseconds(100)
        pause.timeouts.idle = hold
        let holding = pause
        let metrics = try await context.within("the exchange") { () -> Response.Metrics in
            let sending = Task { try await transport.send(request, call: Call()) }
            try await server.requests(atLeast: 1)
            context.expectTimeout(await Exchange.perform(transport, holding), .idle)
            head.raise()
            let response = try await sending.value
            var chunks = response.body.makeAsyncIterator()
            var text = try await chunks.next() ?? Data()
            context.expectTimeout(await Exchange.perform(transport, holding), .idle)
            body.raise()
            while let chunk = try await chunks.next() { text.append(chunk) }
            context.expectEqual(text, Data("ok".utf8), "body")
            return response.metrics
        }
        expectStages(context, metrics, isReused: false, isSecure: false)
        context.expect(metrics.nameLookup.map { $0 > .zero } == true, "no time of the name look-up")
        guard let sent = metrics.requestStarted, let first = metrics.firstByte, let total = metrics.total else {
            return
        }
        context.expect(first - sent >= hold, "the first byte came \(first - sent) after the request, not \(hold)")
        context.expect(total - first >= hold, "the end came \(total - first) after the first byte, not \(hold)")
        context.expect(sent < first, "the request was sent at \(sent)")
    }

    private static func expectStages(
        _ context: ConformanceContext,
        _ metrics: Response.Metrics,
        isReused: Bool,
        isSecure: Bool
    ) {
        context.expectEqual(metrics.isReusedConnection, isReused, "whether the connection is reported as reused")
        if isReused {
            context.expectEqual(metrics.nameLookup, nil, "name look-up on a reused connection")
            context.expectEqual(metrics.connect, nil, "connect on a reused connection")
            context.expectEqual(metrics.secureConnect, nil, "TLS on a reused connection")
        } else {
            context.expect(metrics.connect != nil, "no time of connect")
            context.expect(
                (metrics.secureConnect != nil) == isSecure,
                "time of TLS: \(String(describing: metrics.secureConnect))"
            )
        }
        for (name, stage) in [
            ("request", metrics.requestStarted), ("first byte", metrics.firstByte), ("total", metrics.total),
        ] {
            context.expect(stage != nil, "no time of \(name)")
        }
        let stages = [
            metrics.nameLookup, metrics.connect, metrics.secureConnect, metrics.requestStarted, metrics.firstByte,
            metrics.total,
        ].compactMap(\.self)
        context.expect(stages == stages.sorted(), "the stages are out of order: \(stages)")
        context.expect(stages.allSatisfy { $0 >= .zero }, "a stage is before the start: \(stages)")
    }
}

/// Counts requests in flight.
private final class Busy: Sendable {
    private let state = Locked((now: 0, most: 0))

    var most: Int { state.withLock { $0.most } }

    func begin() { state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }

    func end() { state.withLock { $0.now -= 1 } }
}
