import Foundation
import LadeConformance
import LadeCore
import LadeExchange
import LadeTesting
import Testing

@testable import LadeCurl

@Suite("Waiting for a connection", .timeLimit(.minutes(5)))
struct QueueingTests {
    private let peers = ConformancePeers.fromEnvironment()

    private func isWaiting(_ event: Call.Event) -> Bool {
        if case .waitStarted(.connection) = event { true } else { false }
    }

    private func isStart(_ event: Call.Event) -> Bool {
        if case .exchangeStarted = event { true } else { false }
    }

    /// A transport that trusts the peers, and the address of one; nil without peers.
    private func rig(
        _ peer: String,
        perHost: Int,
        clock: LoopClock = LoopClock()
    ) throws -> (CurlTransport, base: String)? {
        guard let port = try? peers.port(peer), let ca = try? peers.text("ca") else { return nil }
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = [.file(ca)]
        settings.connections.perHost = perHost
        settings.limits.streamHighWater = 64 << 10
        return (try CurlTransport(settings: settings, clock: clock), "https://localhost:\(port)")
    }

    @Test(
        "finding FH-1 a streamed answer keeps its socket when it is paused in the call that sends its request",
        arguments: [false, true]
    )
    func pausedWhileSending(isUnix: Bool) async throws {
        let body = Data(repeating: 0x61, count: 2 << 20)
        var options = LoopbackServer.Options()
        let path = FileManager.default.temporaryDirectory.appending(path: "lade-\(UInt32.random(in: 0...(.max)))").path
        if isUnix { options.address = .unixSocket(path: path) }
        let server = try LoopbackServer(options) { _ in .bytes(body) }
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.perHost = 1
        settings.limits.streamHighWater = 64 << 10
        let transport = try CurlTransport(settings: settings)
        var request = try server.request()
        request.delivery = .streamed

        // Whether the response begins within that call depends on the server's thread.
        for _ in 0..<200 {
            let response = try await transport.send(request, call: Call())
            var count = 0
            for try await chunk in response.body { count += chunk.count }
            #expect(count == body.count)
            #expect(response.metrics.decodedBodyBytes == Int64(body.count))
        }

        await transport.shutDown()
    }

    private static let hasPeers = ConformancePeers.fromEnvironment().contains("h2")

    @Test(
        "finding FT-5 HTTP/2 streams whose readers are slow leave room for the request of a reader",
        .enabled(if: hasPeers)
    )
    func readersOfStreams() async throws {
        guard let (transport, base) = try rig("h2", perHost: 3) else { return }
        let streaming = try Request(.get, "\(base)/slow?bytes=4194304", delivery: .streamed)
        var responses: [Response] = []
        for _ in 0..<2 { responses.append(try await transport.send(streaming, call: Call())) }
        let events = EventRecorder()
        var call = Call(events: [events])
        call.deadline = call.time.now.advanced(by: .seconds(5))
        let bounded = call

        // The third stream waits, with an event and a deadline; the details that readers ask for do not.
        let third = Task { try await transport.send(streaming, call: bounded) }
        _ = try await events.event(where: isWaiting)
        let detail = try await transport.send(Request(.get, "\(base)/ok"), call: Call())

        #expect(detail.status == 200)
        let error = await #expect(throws: LoadingError.self) { try await third.value }
        guard case .deadlineExceeded = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(!events.events.contains(where: isStart))
        for response in responses { #expect(try await response.body.collect(limit: 5 << 20).count == 4 << 20) }
        await transport.shutDown()
    }

    @Test("finding FT-5 what libcurl would queue waits with an event and a deadline", .enabled(if: hasPeers))
    func fewStreams() async throws {
        // Its server lets four streams in over a connection.
        guard let (transport, base) = try rig("h2Few", perHost: 1) else { return }
        _ = try await transport.send(Request(.get, "\(base)/ok"), call: Call())
        let stalling = try Request(.get, "\(base)/stall?token=few")
        var stalled: [Task<Response, any Error>] = []
        for _ in 0..<4 {
            let events = EventRecorder()
            stalled.append(Task { try await transport.send(stalling, call: Call(events: [events])) })
            _ = try await events.event(where: isStart)
        }
        let events = EventRecorder()
        var call = Call(events: [events])
        call.deadline = call.time.now.advanced(by: .seconds(5))
        let bounded = call

        let fifth = Task { try await transport.send(Request(.get, "\(base)/ok"), call: bounded) }
        _ = try await events.event(where: isWaiting)
        let error = await #expect(throws: LoadingError.self) { try await fifth.value }
        guard case .deadlineExceeded = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }

        for call in stalled { call.cancel() }
        #expect(try await transport.send(Request(.get, "\(base)/ok"), call: Call()).status == 200)
        await transport.shutDown()
    }

    @Test(
        "finding FT-1 a connection is not idle while a stream that joined others is in flight",
        .enabled(if: hasPeers)
    )
    func joinedStream() async throws {
        let ahead = AheadClock()
        guard let (transport, base) = try rig("h2", perHost: 1, clock: ahead.clock) else { return }
        let other = try LoopbackServer { _ in .text("ok") }
        // From now on the transport shares the connection.
        let connection = try await transport.send(Request(.get, "\(base)/ok"), call: Call()).headers["x-connection"]
        let mark = "\(transport.loop.clock.now())"
        func begin(_ name: String) async throws -> Task<Response, any Error> {
            var request = try Request(.get, "\(base)/gather?count=2&token=\(name)\(mark)")
            request.timeouts.idle = nil
            let (ready, events) = (request, EventRecorder())
            let task = Task { try await transport.send(ready, call: Call(events: [events])) }
            _ = try await events.event(where: isStart)
            return task
        }
        // The first stream, for which libcurl requests the events of the socket, ends before the second.
        let short = try await begin("short")
        let long = try await begin("long")
        _ = try await begin("short").value
        #expect(try await short.value.headers["x-connection"] == connection)

        ahead.advance(by: .seconds(61))
        _ = try await transport.send(other.request(), call: Call())
        let partner = try await begin("long")

        #expect(try await long.value.headers["x-connection"] == connection)
        #expect(try await partner.value.headers["x-connection"] == connection)
        await transport.shutDown()
    }

    @Test("a call whose deadline has passed sends nothing")
    func pastDeadline() async throws {
        var settings = TransportSettings()
        settings.proxy = .direct
        let transport = try CurlTransport(settings: settings)
        let server = try LoopbackServer { _ in .text("ok") }
        for late in [Duration.zero, .seconds(-1)] {
            let events = EventRecorder()
            let time = VirtualTime()
            var call = Call(time: time, events: [events])
            call.deadline = time.now.advanced(by: late)
            let bounded = call
            let error = await #expect(throws: LoadingError.self) {
                try await transport.send(server.request(), call: bounded)
            }
            guard case .deadlineExceeded = error?.kind else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(!events.events.contains(where: isStart))
        }
        #expect(try await transport.send(server.request(), call: Call()).status == 200)
        #expect(server.connections.count == 1)
        await transport.shutDown()
    }

    @Test("finding FT-4 a call leaves the queue at its deadline, and what waits behind it moves up")
    func deadline() async throws {
        let ahead = AheadClock()
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.perHost = 1
        let transport = try CurlTransport(settings: settings, clock: ahead.clock)
        let signal = Signal()
        let server = try LoopbackServer { connection in
            while true {
                if try connection.readRequest().path == "/first" { try connection.wait(for: signal) }
                try connection.respond(.text("ok"))
            }
        }
        let other = try LoopbackServer { _ in .text("ok") }
        let first = Task { try await transport.send(server.request(.get, "/first"), call: Call()) }
        try await server.requests(atLeast: 1)
        let events = EventRecorder()
        let time = VirtualTime()
        var call = Call(time: time, events: [events])
        // By the call's own time, which stands still.
        call.deadline = time.now.advanced(by: .seconds(20))
        let bounded = call
        let second = Task { try await transport.send(server.request(.get, "/second"), call: bounded) }
        _ = try await events.event(where: isWaiting)
        let third = Task { try await transport.send(server.request(.get, "/third"), call: Call()) }

        ahead.advance(by: .seconds(21))
        _ = try await transport.send(other.request(), call: Call())
        let error = await #expect(throws: LoadingError.self) { try await second.value }
        guard case .deadlineExceeded = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        signal.raise()

        #expect(try await first.value.status == 200)
        #expect(try await third.value.status == 200)
        #expect(server.requests.map(\.target) == ["/first", "/third"])
        #expect(!events.events.contains(where: isStart))
        await transport.shutDown()
    }

    @Test("finding FT-4 the loop wakes by itself at the deadline of a call that waits for a connection")
    func wakesAtDeadline() async throws {
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.perHost = 1
        let transport = try CurlTransport(settings: settings)
        let server = try LoopbackServer(script: [.readRequest, .stall])
        // Without time-outs, so that the loop has no other reason to wake.
        var request = try server.request()
        request.timeouts.connect = nil
        request.timeouts.idle = nil
        request.timeouts.whole = nil
        let ready = request
        let first = Task { try await transport.send(ready, call: Call()) }
        try await server.requests(atLeast: 1)
        let (events, time) = (EventRecorder(), VirtualTime())
        var call = Call(time: time, events: [events])
        call.deadline = time.now.advanced(by: .seconds(3600))
        let bounded = call
        let second = Task { try await transport.send(ready, call: bounded) }
        _ = try await events.event(where: isWaiting)

        // Also after a check that finds no expired time-out.
        for isChecked in [false, true] {
            let loop = transport.loop
            let wait = await Task(executorPreference: transport.executor) {
                if isChecked { loop.expire() }
                return loop.nextExpiry.subtractingReportingOverflow(loop.now)
            }.value
            #expect(!wait.overflow)
            #expect(wait.partialValue <= 3_600_000_000_000)
        }
        await transport.shutDown()
        for call in [first, second] { await #expect(throws: LoadingError.self) { try await call.value } }
    }

    @Test("finding FT-4 the time in the queue counts against the deadline of a call that has its connection")
    func deadlineAfterQueue() async throws {
        let ahead = AheadClock()
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.perHost = 1
        let transport = try CurlTransport(settings: settings, clock: ahead.clock)
        let signal = Signal()
        let server = try LoopbackServer { connection in
            while true {
                if try connection.readRequest().path == "/second" { try connection.stall() }
                try connection.wait(for: signal)
                try connection.respond(.text("ok"))
            }
        }
        let other = try LoopbackServer { _ in .text("ok") }
        let first = Task { try await transport.send(server.request(.get, "/first"), call: Call()) }
        try await server.requests(atLeast: 1)
        let (events, time) = (EventRecorder(), VirtualTime())
        var call = Call(time: time, events: [events])
        call.deadline = time.now.advanced(by: .seconds(20))
        var request = try server.request(.get, "/second")
        request.timeouts.idle = nil
        let (bounded, waiting) = (call, request)
        let second = Task { try await transport.send(waiting, call: bounded) }
        _ = try await events.event(where: isWaiting)

        ahead.advance(by: .seconds(15))
        signal.raise()
        #expect(try await first.value.status == 200)
        try await server.requests(atLeast: 2)
        ahead.advance(by: .seconds(6))
        _ = try await transport.send(other.request(), call: Call())
        // The call would be cancelled now if it had not ended.
        await transport.shutDown()

        let error = await #expect(throws: LoadingError.self) { try await second.value }
        guard case .deadlineExceeded = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(
        "finding FT-5 streams over TLS at the same time have connections of their own, and later ones use them again",
        .enabled(if: hasPeers)
    )
    func connectionsOfStreams() async throws {
        guard let (transport, base) = try rig("h2", perHost: 4) else { return }
        let streaming = try Request(.get, "\(base)/slow?bytes=1048576", delivery: .streamed)
        func read(_ response: Response) async throws -> String? {
            #expect(try await response.body.collect(limit: 2 << 20).count == 1 << 20)
            return response.headers["x-connection"]
        }

        let (one, two) = (
            try await transport.send(streaming, call: Call()), try await transport.send(streaming, call: Call())
        )
        let used = [try await read(one), try await read(two)]
        #expect(used[0] != nil && used[0] != used[1])
        for _ in 0..<2 { #expect(used.contains(try await read(transport.send(streaming, call: Call())))) }
        await transport.shutDown()
    }

    @Test("finding FT-5 calls to a host to which connecting has failed do not wait for the connections of each other")
    func doubtfulHost() async throws {
        let ahead = AheadClock()
        var settings = TransportSettings()
        settings.proxy = .direct
        let transport = try CurlTransport(settings: settings, clock: ahead.clock)
        // Accepts connections, and never answers a handshake.
        let server = try LoopbackServer(script: [.stall])
        let other = try LoopbackServer { _ in .text("ok") }
        var request = try Request(.get, "https://127.0.0.1:\(server.port)/")
        request.timeouts.connect = .seconds(20)
        let ready = request
        func begin() async throws -> (Task<Response, any Error>, isStarted: Bool) {
            let events = EventRecorder()
            let task = Task { try await transport.send(ready, call: Call(events: [events])) }
            let first = try await events.event { isStart($0) || isWaiting($0) }
            return (task, isStart(first))
        }
        let first = try await begin()
        // Connecting has not failed yet, so this call waits for the connection, which may turn out to be shareable.
        let second = try await begin()
        #expect(first.isStarted)
        #expect(!second.isStarted)
        second.0.cancel()

        ahead.advance(by: .seconds(21))
        _ = try await transport.send(other.request(), call: Call())
        let error = await #expect(throws: LoadingError.self) { try await first.0.value }
        #expect(error.map { if case .timedOut(.connect) = $0.kind { true } else { false } } == true)
        let third = try await begin()
        let fourth = try await begin()

        #expect(third.isStarted)
        #expect(fourth.isStarted)
        await transport.shutDown()
        for call in [second, third, fourth] { await #expect(throws: LoadingError.self) { try await call.0.value } }
    }

    /// Starts calls in one turn of the loop, in order.
    private func begin(
        _ requests: [(request: Request, call: Call)],
        on transport: CurlTransport
    ) async -> [Task<Response, any Error>] {
        await Task(executorPreference: transport.executor) {
            requests.map { next in
                Task(executorPreference: transport.executor) {
                    try await transport.send(next.request, call: next.call)
                }
            }
        }.value
    }

    @Test("finding FT-5 a call to another host starts when libcurl has queued one that started before it")
    func placeOfQueuedCall() async throws {
        var settings = TransportSettings()
        settings.proxy = .direct
        settings.connections.total = 2
        let transport = try CurlTransport(settings: settings)
        // Accepts connections, and never answers a handshake.
        let stalling = try LoopbackServer(script: [.stall])
        let other = try LoopbackServer { _ in .text("ok") }
        var secure = try Request(.get, "https://127.0.0.1:\(stalling.port)/")
        secure.timeouts.connect = nil
        var call = Call()
        call.deadline = call.time.now.advanced(by: .seconds(60))

        // The second call waits for the connection of the first, which may turn out to be shareable.
        let calls = await begin(
            [(secure, Call()), (secure, Call()), (try other.request(), call)],
            on: transport
        )

        #expect(try await calls[2].value.status == 200)
        await transport.shutDown()
        for call in calls[..<2] { await #expect(throws: LoadingError.self) { try await call.value } }
    }

    @Test("finding FT-5 calls that libcurl has queued start in the order of their arrival", .enabled(if: hasPeers))
    func orderOfQueuedCalls() async throws {
        guard let (transport, base) = try rig("h2", perHost: 6) else { return }
        let (log, request) = (WaitLog(), try Request(.get, "\(base)/ok"))

        let calls = await begin((0..<6).map { (request, Call(id: Call.ID($0), events: [log])) }, on: transport)
        for call in calls { #expect(try await call.value.status == 200) }

        #expect(log.ended.withLock { $0 } == (1..<6).map { Call.ID($0) })
        await transport.shutDown()
    }
}

/// The calls whose waits for a connection have ended, in order.
private final class WaitLog: Call.Observer {
    let ended = Locked<[Call.ID]>([])

    func record(_ event: Call.Event, of call: Call) {
        if case .waitEnded(.connection, after: _) = event { ended.withLock { $0.append(call.id) } }
    }
}
