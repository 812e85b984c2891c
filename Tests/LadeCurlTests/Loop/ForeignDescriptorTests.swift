import LadeCore
import LadeTesting
import Testing

@testable import LadeCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

// In processes of their own: the numbers of closed sockets must go to the sockets of the test.
@Suite("Descriptors of others", .serialized, .timeLimit(.minutes(5)))
struct ForeignDescriptorTests {
    @Test("a socket that was closed while it connected is forgotten: its number belongs to others")
    func cancelledWhileConnecting() async {
        await #expect(processExitsWith: .success) {
            try await ForeignDescriptorTests.check { transport in
                let hole = try Blackhole()
                for _ in 0..<8 {
                    let started = Signal()
                    let request = try Request(.get, "http://127.0.0.1:\(hole.port)/")
                    let call = Task {
                        try await transport.send(request, call: Call(events: [Starts(signal: started)]))
                    }
                    try await started.wait()
                    call.cancel()
                    _ = await call.result
                }
            }
        }
    }

    @Test("a socket that was closed while it connected is forgotten, when its time-out expired")
    func timedOutWhileConnecting() async {
        await #expect(processExitsWith: .success) {
            try await ForeignDescriptorTests.check { transport in
                let hole = try Blackhole()
                var request = try Request(.get, "http://127.0.0.1:\(hole.port)/")
                request.timeouts.connect = .milliseconds(10)
                let ready = request
                for _ in 0..<8 {
                    await #expect(throws: LoadingError.self) { try await transport.send(ready, call: Call()) }
                }
            }
        }
    }

    @Test(
        "the socket of the address family that was slower is forgotten",
        .enabled("needs ::1") { LoopTimeTests.hasIPv6 },
        arguments: [true, false]
    )
    func slowerFamily(isSixDead: Bool) async {
        await #expect(processExitsWith: .success) { [isSixDead] in
            try await ForeignDescriptorTests.check { transport in
                let (living, dead) = try Blackhole.beside(isSixDead: isSixDead) { _ in .text("") }
                let request = try Request(.get, "http://localhost:\(living.port)/")
                _ = try await transport.send(request, call: Call())
                withExtendedLifetime(dead) {}
            }
        }
    }

    /// Lets the sockets of the test take the numbers of those that `use` has opened and closed; nothing may happen to
    /// them, neither now nor when idle connections end.
    private static func check(_ use: (CurlTransport) async throws -> Void) async throws {
        let ahead = AheadClock()
        var settings = TransportSettings()
        settings.proxy = .direct
        let transport = try CurlTransport(settings: settings, clock: ahead.clock)
        let other = try LoopbackServer { _ in .text("ok") }
        try await use(transport)
        let pairs = try (0..<64).map { _ in try SocketPair() }
        for _ in 0..<3 {
            _ = try await transport.send(other.request(), call: Call())
            ahead.advance(by: .seconds(61))
        }
        _ = try await transport.send(other.request(), call: Call())
        let before = pairs.count { !$0.isIntact }
        #expect(before == 0)
        await transport.shutDown()
        let after = pairs.count { !$0.isIntact }
        #expect(after == 0)
    }
}

/// Raises a signal when an exchange starts.
private struct Starts: Call.Observer {
    let signal: Signal

    func record(_ event: Call.Event, of call: Call) {
        if case .exchangeStarted = event { signal.raise() }
    }
}

/// Two connected sockets; a byte waits in each.
private struct SocketPair {
    private let ends: [Int32]

    init() throws {
        var ends: [Int32] = [-1, -1]
        let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
        try #require(result == 0)
        self.ends = ends
        for end in ends { try #require(send(end, "a", 1, 0) == 1) }
    }

    /// Whether no end was shut down.
    var isIntact: Bool {
        var states = ends.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        return poll(&states, nfds_t(states.count), 0) == 2 && states.allSatisfy { $0.revents == Int16(POLLIN) }
    }
}
