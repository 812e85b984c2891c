#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeExchange
import LadeTesting
import Testing

@testable import LadeCurl

@Suite("The time of the loop", .timeLimit(.minutes(5)))
struct LoopTimeTests {
    private let ahead = AheadClock()
    private let transport: CurlTransport
    /// Answers every request; a call to it makes the loop read its clock.
    private let other: LoopbackServer

    init() throws {
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.limits.streamHighWater = 64 << 10
        transport = try CurlTransport(settings: settings, clock: ahead.clock)
        other = try LoopbackServer { _ in .text("ok") }
    }

    /// Sends a request for a streamed body with an idle time-out, and returns its body.
    private func streamed(_ server: LoopbackServer, _ path: String, idle: Duration) async throws -> Response.Body {
        var request = try server.request(.get, path, delivery: .streamed)
        request.timeouts.idle = idle
        return try await transport.send(request, call: Call()).body
    }

    /// Puts the clock ahead and makes the loop read it, by a call without time-outs.
    private func advance(by duration: Duration) async throws {
        var request = try other.request()
        request.timeouts.connect = nil
        request.timeouts.idle = nil
        ahead.advance(by: duration)
        #expect(try await transport.send(request, call: Call()).status == 200)
    }

    /// Waits until the loop has paused the transfer of a streamed body, which continues when its reader does.
    private func paused() async {
        let loop = transport.loop
        func isPaused() async -> Bool {
            await Task(executorPreference: transport.executor) {
                loop.running.contains { $0.stream?.isPaused == true }
            }.value
        }
        while await !isPaused() {}
    }

    /// On the thread of the loop: reads a paused body until the loop is asked to continue it, and checks the time-outs
    /// before the loop does.
    ///
    /// Returns the number of bytes read.
    private func readUntilContinued() async throws -> Int {
        let loop = transport.loop
        let transfer = try #require(loop.running.first { $0.stream?.isPaused == true })
        var count = 0
        while let stream = transfer.stream, stream.isPaused { count += try await stream.next()?.count ?? 0 }
        loop.expire()
        #expect(loop.running.contains { $0 === transfer })
        return count
    }

    private static let size = 4 << 20

    /// Sends a body of 4 MiB that is framed as the path says, then closes.
    private func largeBodies() throws -> LoopbackServer {
        var options = LoopbackServer.Options()
        options.sendBuffer = 64 << 10
        return try LoopbackServer(options) { connection in
            let request = try connection.readRequest()
            let framing = request.path == "/length" ? "Content-Length: \(Self.size)" : "Connection: close"
            try connection.send("HTTP/1.1 200 OK\r\n\(framing)\r\n\r\n")
            // In pieces: what is sent is counted piece by piece.
            for _ in 0..<(Self.size >> 14) { try connection.send(Data(repeating: 0x61, count: 1 << 14)) }
            try connection.close()
        }
    }

    @Test(
        "finding FT-1 the socket of a slow reader is not shut when idle connections are",
        arguments: ["/length", "/close"]
    )
    func slowReader(path: String) async throws {
        let (server, idle) = (try largeBodies(), try LoopbackServer { _ in .text("ok") })
        let response = try await transport.send(server.request(.get, path, delivery: .streamed), call: Call())
        var chunks = response.body.makeAsyncIterator()
        var received = try await chunks.next()?.count ?? 0
        // More than the high-water mark has left the server's send buffer. These calls take turns of the loop: the transfer
        // is paused when they end.
        try await server.sent(atLeast: 200_000)
        _ = try await transport.send(idle.request(), call: Call())
        _ = try await transport.send(other.request(), call: Call())

        try await advance(by: .seconds(61))
        try await idle.open(atMost: 0)
        while let chunk = try await chunks.next() { received += chunk.count }

        #expect(received == Self.size)
        await transport.shutDown()
    }

    @Test("finding FQ-14 the idle time-out does not run while the reader is slow")
    func slowerThanIdle() async throws {
        let server = try largeBodies()
        let body = try await streamed(server, "/length", idle: .seconds(60))
        var chunks = body.makeAsyncIterator()
        var received = try await chunks.next()?.count ?? 0
        await paused()

        for _ in 0..<3 { try await advance(by: .seconds(61)) }
        while let chunk = try await chunks.next() { received += chunk.count }

        #expect(received == Self.size)
        await transport.shutDown()
    }

    @Test("finding FQ-14 a transfer is still paused after the read that continues it, until the loop continues it")
    func readAfterPause() async throws {
        let server = try largeBodies()
        let body = try await streamed(server, "/length", idle: .seconds(60))
        await paused()
        try await advance(by: .seconds(61))

        let read = try await Task(executorPreference: transport.executor) { try await readUntilContinued() }.value
        let rest = try await body.collect()

        #expect(read + rest.count == Self.size)
        await transport.shutDown()
    }

    @Test("finding FQ-14 the idle time-out runs again when the reader has caught up")
    func idleAfterPause() async throws {
        var options = LoopbackServer.Options()
        options.sendBuffer = 64 << 10
        let server = try LoopbackServer(options) { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(Self.size + 1)\r\n\r\n")
            for _ in 0..<(Self.size >> 14) { try connection.send(Data(repeating: 0x61, count: 1 << 14)) }
            try connection.stall()
        }
        let body = try await streamed(server, "/", idle: .seconds(20))
        var chunks = body.makeAsyncIterator()
        var received = try await chunks.next()?.count ?? 0
        await paused()
        for _ in 0..<2 { try await advance(by: .seconds(21)) }
        while received < Self.size, let chunk = try await chunks.next() { received += chunk.count }

        // The loop wakes by then itself. When it closes idle connections, which is later, it checks all time-outs.
        let loop = transport.loop
        let wait = await Task(executorPreference: transport.executor) { loop.nextExpiry - loop.now }.value
        #expect(wait <= 20_000_000_000)
        try await advance(by: .seconds(21))

        let error = await #expect(throws: LoadingError.self) { try await chunks.next() }
        #expect(error.map { if case .timedOut(.idle) = $0.kind { true } else { false } } == true)
        #expect(received == Self.size)
        await transport.shutDown()
    }

    @Test("finding FT-3 the idle time-out counts from the latest byte, though the loop has slept since before it")
    func heartbeat() async throws {
        let signal = Signal()
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\na")
            for byte in ["b", "c"] {
                try connection.wait(for: signal)
                try connection.send(byte)
            }
            try connection.stall()
        }
        let body = try await streamed(server, "/", idle: .seconds(300))
        var chunks = body.makeAsyncIterator()
        #expect(try await chunks.next() == Data("a".utf8))

        // The loop sleeps; what wakes it is the heartbeat.
        ahead.advance(by: .seconds(240))
        signal.step()
        #expect(try await chunks.next() == Data("b".utf8))
        try await advance(by: .seconds(240))
        signal.step()

        #expect(try await chunks.next() == Data("c".utf8))
        #expect(try await chunks.next() == nil)
        await transport.shutDown()
    }

    @Test("finding FT-3 the idle time-out counts from the latest interim response")
    func interimAnswers() async throws {
        let signal = Signal()
        let server = try LoopbackServer { connection in
            try connection.readRequest()
            for number in 1...3 {
                try connection.send("HTTP/1.1 103 Early Hints\r\nX-Number: \(number)\r\n\r\n")
                try connection.wait(for: signal)
            }
            try connection.respond(.text("ok"))
        }
        var request = try server.request()
        request.timeouts.idle = .seconds(60)
        let (ready, events) = (request, EventRecorder())
        let call = Task { try await transport.send(ready, call: Call(events: [events])) }

        for number in 1...3 {
            try await events.event {
                if case .interimResponse(_, let headers) = $0 { headers["X-Number"] == "\(number)" } else { false }
            }
            try await advance(by: .seconds(40))
            signal.step()
        }

        #expect(try await call.value.status == 200)
        await transport.shutDown()
    }

    @Test("finding FT-3 the idle time-out does not run while the server reads the request")
    func slowUpload() async throws {
        let signal = Signal()
        let server = try LoopbackServer { connection in
            try connection.readHead()
            // The second part is larger than what the sockets hold.
            for size in [8 << 20, 56 << 20] {
                var count = 0
                while count < size, let piece = try connection.readBodyPiece() { count += piece.count }
                try connection.wait(for: signal)
            }
            while try connection.readBodyPiece() != nil {}
            try connection.respond(.text("ok"))
        }
        var request = try server.request(.post, body: .bytes(Data(count: 128 << 20)))
        request.timeouts.idle = .seconds(60)
        let ready = request
        let call = Task { try await transport.send(ready, call: Call()) }

        for count in 1...2 {
            try await signal.arrivals(atLeast: count)
            try await advance(by: .seconds(40))
            signal.step()
        }

        #expect(try await call.value.status == 200)
        await transport.shutDown()
    }

    @Test("finding FT-3 the idle time-out does not include the time that connecting took")
    func slowConnect() async throws {
        let signal = Signal()
        let proxy = try LoopbackServer { connection in
            // SOCKS 5: methods, then the address.
            _ = try connection.receive()
            try connection.send(Data([5, 0]))
            _ = try connection.receive()
            try connection.wait(for: signal)
            try connection.send(Data([5, 0, 0, 1, 127, 0, 0, 1, 0, 80]))
            try connection.readRequest()
            try connection.respond(.text("ok"))
        }
        var settings = TransportSettings()
        settings.proxy = .proxy(.init(.socks5, host: "127.0.0.1", port: Int(proxy.port)))
        let transport = try CurlTransport(settings: settings, clock: ahead.clock)
        var request = try Request(.get, "http://192.0.2.1/")
        request.timeouts.connect = .seconds(300)
        request.timeouts.idle = .seconds(60)
        let ready = request
        let call = Task { try await transport.send(ready, call: Call()) }
        try await signal.arrivals(atLeast: 1)

        ahead.advance(by: .seconds(100))
        signal.raise()

        #expect(try await call.value.status == 200)
        await transport.shutDown()
    }

    /// Whether this machine has an IPv6 loopback address.
    static var hasIPv6: Bool {
        var options = LoopbackServer.Options()
        options.address = .ipv6()
        return (try? LoopbackServer(options) { _ in .text("") }) != nil
    }

    @Test(
        "finding FQ-13 a call connects to the address family that answers, within its limit for connecting",
        .enabled("needs ::1") { hasIPv6 },
        arguments: [true, false]
    )
    func addressFamilies(isSixDead: Bool) async throws {
        let (living, dead) = try Blackhole.beside(isSixDead: isSixDead) { .text($0["Host"] ?? "") }
        var request = try Request(.get, "http://localhost:\(living.port)/")
        // RFC 8305 §8: the delay before the other family is at most 2 s.
        request.timeouts.connect = .seconds(2)
        let response = try await transport.send(request, call: Call())

        #expect(response.status == 200)
        #expect(response.metrics.remoteAddress == (isSixDead ? "127.0.0.1" : "::1"))
        withExtendedLifetime(dead) {}
    }
}
