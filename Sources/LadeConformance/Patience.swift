#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting

// Slow readers, slow servers and calls that wait for a connection: which time-out applies.
extension TransportConformance {
    static var patience: [ConformanceCase] { [slowReader, heartbeat, queueing, deadline] }

    // MARK: - Slow readers

    private static let slowReader = ConformanceCase(
        "FT-1",
        "keeps the connection of a slow reader until it has read the body"
    ) { context in
        let size = 4 << 20
        for framing in ["Content-Length: \(size)", "Connection: close", "Transfer-Encoding: chunked"] {
            await context.part(framing) { context in
                var options = LoopbackServer.Options()
                options.sendBuffer = 64 << 10
                let server = try LoopbackServer(options) { connection in
                    try connection.readRequest()
                    try connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
                    if framing.hasSuffix("chunked") {
                        try connection.send(chunked(pattern(size), of: 64 << 10))
                    } else {
                        try connection.send(pattern(size))
                    }
                    try connection.close()
                }
                try await readSlowly(try server.request(.get, "/", delivery: .streamed), size, context)
            }
        }
        await context.part("HTTP/2") { context in
            let base = "https://localhost:\(try context.peers.port("h2"))"
            let address = "\(base)/slow?bytes=\(size)&token=\(context.token())"
            try await readSlowly(try Request(.get, address, delivery: .streamed), size, context)
        }
    }

    /// Reads a body slowly, while idle connections of the same transport expire.
    private static func readSlowly(_ request: Request, _ size: Int, _ context: ConformanceContext) async throws {
        let isSecure = request.url.scheme == "https"
        func settings(_ settings: inout TransportSettings, idleLife: Duration?) throws {
            if isSecure { settings.tls = try context.trustingPeers() }
            settings.limits.streamHighWater = 64 << 10
            if let idleLife { settings.connections.idleLife = idleLife }
        }
        // A transport without a setting for idle connections must still deliver the whole body.
        let brief = try? context.transport { try settings(&$0, idleLife: .milliseconds(50)) }
        let transport = try brief ?? context.transport { try settings(&$0, idleLife: nil) }
        let other = try LoopbackServer { _ in .text("ok") }
        try await context.within("the body") {
            let response = try await transport.send(request, call: Call())
            var chunks = response.body.makeAsyncIterator()
            var received = Data()
            received.append(try await chunks.next() ?? Data())
            for _ in 0..<3 {
                context.expect(await Exchange.perform(transport, try other.request()), gives: 200, "ok")
                if brief != nil { try await other.open(atMost: 0) }
            }
            while let chunk = try await chunks.next() { received.append(chunk) }
            context.expect(received == pattern(size), "\(received.count) bytes of \(size) arrived, or wrong ones")
        }
    }

    // MARK: - Slow servers

    private static let heartbeat = ConformanceCase("FT-3", "counts idleness from the latest byte that arrived") {
        context in
        let signal = Signal()
        let time = context.time
        // When each began to be sent, and when it certainly was.
        let sent = Locked([(began: time.now, ended: time.now)])
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while true {
                let began = time.now
                try connection.sendChunk(Data("x".utf8))
                sent.withLock { $0.append((began, time.now)) }
                try connection.wait(for: signal)
            }
        }
        let silent = try LoopbackServer(script: [.readRequest, .stall])
        let transport = try context.transport()
        let idle = Duration.seconds(2)
        var streaming = try server.request(.get, "/", delivery: .streamed)
        streaming.timeouts.idle = idle
        var pausing = try silent.request()
        pausing.timeouts.idle = .milliseconds(1500)
        let (request, pause) = (streaming, pausing)
        let failure = Failure(context.time)
        try await context.within("five heartbeats") {
            do throws(LoadingError) {
                let response = try await transport.send(request, call: Call(events: [failure]))
                var chunks = response.body.makeAsyncIterator()
                _ = try await chunks.next()
                for _ in 0..<5 {
                    // The first exchange receives no byte until this one times out, for three quarters of its own
                    // time-out.
                    context.expectTimeout(await Exchange.perform(transport, pause), .idle)
                    signal.step()
                    _ = try await chunks.next()
                }
            } catch {
                // On a very busy machine the time-out may be correct.
                let end = failure.instant ?? context.time.now
                let heartbeat = sent.withLock { $0 }.last { $0.ended <= end }
                let silence = heartbeat.map { $0.began.duration(to: end) } ?? .zero
                context.expect(silence >= idle, "\(error) came \(silence) after a heartbeat")
            }
        }
    }

    /// Records when an exchange failed.
    private final class Failure: Call.Observer {
        private let time: any TimeSource
        private let noted = Locked<Instant?>(nil)

        init(_ time: any TimeSource) {
            self.time = time
        }

        var instant: Instant? { noted.withLock { $0 } }

        func record(_ event: Call.Event, of call: Call) {
            guard case .exchangeFailed = event else { return }
            let now = time.now
            noted.withLock { $0 = now }
        }
    }

    // MARK: - Waiting for a connection

    private static let queueing = ConformanceCase(
        "FT-4",
        "counts the wait for a connection against the call's deadline, and not against the exchange's limit"
    ) { context in
        let signal = Signal()
        let server = try LoopbackServer { connection in
            while true {
                let request = try connection.readRequest()
                if request.path == "/first" { try connection.wait(for: signal) }
                try connection.respond(.text("ok"))
            }
        }
        let transport = try context.transport { $0.connections.perHost = 1 }
        let first = Task { await Exchange.perform(transport, try server.request(.get, "/first")) }
        try await context.within("the first request") { try await server.requests(atLeast: 1) }
        var limited = try server.request(.get, "/limited")
        limited.timeouts.whole = .milliseconds(200)
        let ready = limited
        let second = Task { await Exchange.perform(transport, ready) }
        // Longer than the limit of the other.
        let bounded = try server.request(.get, "/bounded")
        let error = try await context.within("a call with a deadline") { () -> LoadingError? in
            var call = Call()
            call.deadline = call.time.now.advanced(by: .milliseconds(400))
            do throws(LoadingError) {
                _ = try await transport.send(bounded, call: call)
                return nil
            } catch {
                return error
            }
        }
        expectDeadline(error, endedExchange: false, context)
        signal.raise()

        context.expect(try await context.within("the first call") { try await first.value }, gives: 200, "ok")
        context.expect(await second.value, gives: 200, "ok")
        context.expect(try await context.exchange(transport, try server.request(.get, "/next")), gives: 200, "ok")
        context.expectEqual(server.requests.map(\.target), ["/first", "/limited", "/next"], "requests")
    }

    /// Expects the deadline, and whether an exchange was in progress, which is evidence against its address.
    private static func expectDeadline(_ error: LoadingError?, endedExchange: Bool, _ context: ConformanceContext) {
        guard case .deadlineExceeded(let report)? = error?.kind else {
            return context.fail("expected the deadline, got \(String(describing: error))")
        }
        context.expectEqual(report.endedExchange, endedExchange, "whether an exchange was in progress")
    }

    private static let deadline = ConformanceCase(
        "LX-6",
        "ends an exchange at the call's deadline, and says that it was in progress"
    ) { context in
        let server = try LoopbackServer(script: [.readRequest, .stall])
        let transport = try context.transport()
        let request = try server.request()
        let error = try await context.within("a call with a deadline") { () -> LoadingError? in
            var call = Call()
            call.deadline = call.time.now.advanced(by: .milliseconds(200))
            do throws(LoadingError) {
                _ = try await transport.send(request, call: call)
                return nil
            } catch {
                return error
            }
        }
        expectDeadline(error, endedExchange: true, context)
    }
}
