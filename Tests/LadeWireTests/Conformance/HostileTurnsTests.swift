import Foundation
import LadeConformance
import LadeCore
import Testing

@testable import LadeExchange
@testable import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Servers that make work without content: what a turn of the loop costs, how the call ends, and what a quiet host notices.
@Suite("Hostile servers and the turns of the loop", .serialized, .timeLimit(.minutes(10)))
struct HostileTurnsTests {
    private typealias Call = Simulation.Call

    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    // MARK: - By units, over simulated sockets

    /// Runs a scenario beside calls to a quiet host.
    private func check(_ scenario: HostileScenario) {
        let system = SimulatedSystem { endpoint in
            guard case .address(let address, _) = endpoint, address.text == "10.0.0.1" else {
                return .server(["/": SimulatedServer.Answer(Self.ok)])
            }
            return .peer(scenario.makePeer())
        }
        var settings = Simulation.settings
        settings.limits.streamHighWater = 4 << 20
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = SimulatedRealm.authorities
        let hostile = Call(
            target: "/",
            scheme: scenario.isSecure ? "https" : "http",
            knowsHTTP2: scenario.isHTTP2 && !scenario.isSecure,
            host: "10.0.0.1",
            reader: .eager,
            content: ""
        )
        let quiet = Call(target: "/", host: "10.0.0.2", content: "ok")
        let simulation = Simulation([[hostile], Array(repeating: quiet, count: 20)], settings, on: system)
        // Enough to see that it ends.
        simulation.loop.overheadLimit = 512 << 10
        var (most, mostInDebt) = (0, 0)
        var quietTurns = 0
        simulation.start()
        while simulation.turns < 40_000 {
            let isInDebt = simulation.loop.watched.values.contains { $0.meter.isInDebt }
            simulation.turn()
            most = max(most, simulation.loop.work.spent)
            if isInDebt { mostInDebt = max(mostInDebt, simulation.loop.work.spent) }
            if simulation.outcomes.suffix(20).contains(where: { !$0.isOver }) { quietTurns = simulation.turns }
            // Until nothing of the hostile connection is left.
            if simulation.outcomes.allSatisfy({ $0.isOver }), system.openSockets <= 1 { break }
        }
        let outcome = simulation.outcomes[0]
        #expect(outcome.isOver, "the call has no end")
        #expect(scenario.ending.fits(outcome.error), "\(String(describing: outcome.error)), \(outcome.content.count)")
        #expect(system.openSockets <= 1, "the connection goes on")
        // A step may exceed the units by those of a message, or of the bytes that are in hand.
        #expect(most <= TurnWork.perTurn + TurnWork.perConnection + 100)
        // The share of the hostile connection, a step beyond it, and the call to the quiet host.
        #expect(mostInDebt <= TurnWork.perDebtor + 200)
        #expect(system.longestTurn < 300)
        #expect(simulation.outcomes.suffix(20).allSatisfy { $0.isSuccess })
        #expect(quietTurns <= 20 * 8)
        simulation.stop()
    }

    @Test(
        "finding WF-3 records and messages of TLS without content cost units, and end the call or the idle connection",
        arguments: HostileScenario.of("WF-3")
    )
    func records(scenario: HostileScenario) { check(scenario) }

    @Test(
        "finding WF-4 frames of streams that have ended are no progress, and a head without an end ends its connection",
        arguments: HostileScenario.of("WF-4")
    )
    func endedStreams(scenario: HostileScenario) { check(scenario) }

    @Test(
        "finding WF-5 frames and chunks of a byte cost units, and end the call when they are out of proportion",
        arguments: HostileScenario.of("WF-5")
    )
    func framing(scenario: HostileScenario) { check(scenario) }

    @Test(
        "finding WF-6 coded bodies are charged with what goes in, and 1 MiB without a byte out ends the call",
        arguments: HostileScenario.of("WF-6")
    )
    func codings(scenario: HostileScenario) { check(scenario) }

    @Test(
        "finding WF-9 more than 32 KiB of certificates are refused, and a step of a handshake is no step of the loop",
        arguments: HostileScenario.of("WF-9")
    )
    func certificates(scenario: HostileScenario) { check(scenario) }

    // MARK: - Handshakes

    private static func secure(hosts: ClosedRange<Int>) -> (SimulatedSystem, TransportSettings, [[Call]]) {
        let system = SimulatedSystem { endpoint in
            let server = SimulatedServer(["/": SimulatedServer.Answer(ok)])
            guard case .address(let address, _) = endpoint, address.text != "10.0.0.2" else {
                return .server(["/": SimulatedServer.Answer(ok)])
            }
            return .peer(SimulatedRealm.secure(server))
        }
        var settings = Simulation.settings
        settings.connections.total = 64
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = SimulatedRealm.authorities
        settings.tls.verification = .unsafelyAcceptEveryCertificate
        let lanes = hosts.map { [Call(target: "/", scheme: "https", host: "10.0.1.\($0)", content: "ok")] }
        return (system, settings, lanes)
    }

    @Test(
        "finding WF-10 handshakes that become ready together are computed beside the loop, which serves others meanwhile"
    )
    func handshakes() {
        let (system, settings, lanes) = Self.secure(hosts: 1...24)
        let quiet = Call(target: "/", host: "10.0.0.2", content: "ok")
        let simulation = Simulation(lanes + [Array(repeating: quiet, count: 5)], settings, on: system)
        system.keepsComputations = true
        system.leaps = false
        simulation.start()
        var most = 0
        for _ in 0..<100 {
            simulation.turn()
            most = max(most, simulation.loop.work.spent)
        }
        #expect(system.computations.count == 24, "no step of a peer's choice was computed by the loop")
        #expect(simulation.outcomes.suffix(5).allSatisfy { $0.isSuccess })
        #expect(simulation.outcomes.prefix(24).allSatisfy { !$0.isOver })
        #expect(most <= TurnWork.perTurn + TurnWork.perConnection)
        system.keepsComputations = false
        system.doComputations()
        simulation.run()
        #expect(simulation.haveAllSucceeded)
        expectNothing(simulation.findings)
    }

    @Test("finding WF-10 a connection can be closed while its handshake is computed", arguments: [false, true])
    func closedMeanwhile(isShutDown: Bool) {
        let (system, settings, lanes) = Self.secure(hosts: 1...3)
        let simulation = Simulation(lanes, settings, on: system)
        system.keepsComputations = true
        system.leaps = false
        simulation.start()
        simulation.turn { system.computations.count == 3 }
        if isShutDown {
            simulation.stop()
        } else {
            for lane in lanes.indices { simulation.cancel(lane: lane) }
            simulation.turn { simulation.outcomes.allSatisfy { $0.isOver } }
        }
        #expect(system.openSockets == 0)
        system.doComputations()
        if !isShutDown { simulation.run() }
        #expect(simulation.errors == [.cancelled, .cancelled, .cancelled])
        expectNothing(simulation.findings)
    }

    // MARK: - By time, over real sockets

    private static let isLong = ProcessInfo.processInfo.environment["LADE_HOSTILE_RUNS"] != nil

    @Test(
        "while a server makes work without content, a quiet host is served: times, for make hostile",
        .enabled(if: isLong),
        arguments: HostileScenario.all
    )
    func times(scenario: HostileScenario) async throws {
        let quiet = try HostileServer { SimulatedServer(["/": SimulatedServer.Answer(Self.ok)]) }
        let hostile = try HostileServer(scenario.makePeer)
        var settings = TransportSettings()
        settings.proxy = .direct
        // The servers respect no window, which would end them sooner.
        settings.limits.streamHighWater = 64 << 20
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = SimulatedRealm.authorities
        let clock = LoopClock()
        let system = TimedSystem(try LinuxSystem(clock: clock))
        let loop = try WireLoop(settings, system: system, now: { clock.now() })
        let transport = WireTransport(over: loop)
        try loop.start()

        var address = try Request("\(scenario.isSecure ? "https" : "http")://127.0.0.1:\(hostile.port)/")
        if scenario.isHTTP2, !scenario.isSecure { address.version = .http2PriorKnowledge }
        address.delivery = .streamed
        let request = address
        let before = try await Self.times(of: quiet.port, transport, for: .seconds(1))
        system.longest.withLock { $0 = 0 }
        let attack = Task { () -> LoadingError.Kind? in
            do throws(LoadingError) {
                let response = try await transport.send(request, call: LadeCore.Call(id: LadeCore.Call.ID(1)))
                for try await _ in response.body {}
                return nil
            } catch {
                return error.kind
            }
        }
        let during = try await Self.times(of: quiet.port, transport, for: .seconds(2))
        let longest = Double(system.longest.withLock { $0 }) / 1e6
        func text(_ times: [Double]) -> String {
            String(format: "p50 %.2f max %.2f ms", times[times.count / 2], times[times.count - 1])
        }
        print(
            "\(scenario): longest turn \(String(format: "%.2f", longest)) ms; quiet before \(text(before)), during \(text(during))"
        )
        let error = await attack.value
        #expect(scenario.ending.fits(error), "\(String(describing: error))")
        await transport.shutDown()
        quiet.stop()
        hostile.stop()
    }

    /// How long calls to the quiet host take, in milliseconds, in order.
    private static func times(
        of port: UInt16,
        _ transport: WireTransport,
        for duration: Duration
    ) async throws -> [Double] {
        let began = ContinuousClock.now
        var times: [Double] = []
        while ContinuousClock.now - began < duration {
            let start = ContinuousClock.now
            let call = LadeCore.Call(id: LadeCore.Call.ID(2))
            _ = try await transport.send(try Request("http://127.0.0.1:\(port)/"), call: call)
            times.append((ContinuousClock.now - start) / .milliseconds(1))
        }
        return times.sorted()
    }
}

/// The system itself, which measures the processor time between its waits.
private final class TimedSystem: WireSystem {
    private let inner: LinuxSystem
    /// The longest turn, in nanoseconds.
    let longest = Locked<Int64>(0)
    private var began: Int64 = 0

    init(_ inner: LinuxSystem) { self.inner = inner }

    private static func processorTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    func wait(until moment: Int64?, into ready: inout [ReadySocket]) {
        let took = Self.processorTime() - began
        if began > 0 { longest.withLock { $0 = max($0, took) } }
        inner.wait(until: moment, into: &ready)
        began = Self.processorTime()
    }

    func now() -> Int64 { inner.now() }
    func timeAsleep() -> Int64 { inner.timeAsleep() }
    func connect(to endpoint: Endpoint) -> Result<Int32, SystemError> { inner.connect(to: endpoint) }
    func connectError(_ socket: Int32) -> Int32 { inner.connectError(socket) }
    func receive(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        inner.receive(socket, into: buffer)
    }
    func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult { inner.send(socket, bytes) }
    func peek(_ socket: Int32) -> Arrivals { inner.peek(socket) }
    func close(_ socket: Int32) { inner.close(socket) }
    func watch(_ socket: Int32, number: Int, reads: Bool, writes: Bool, isNew: Bool) {
        inner.watch(socket, number: number, reads: reads, writes: writes, isNew: isNew)
    }
    func ignore(_ socket: Int32) { inner.ignore(socket) }
    func compute(_ key: Int, _ work: @escaping @Sendable () -> Void) { inner.compute(key, work) }
    var wakeUpDescriptor: Int32 { inner.wakeUpDescriptor }
    func shutDown() { inner.shutDown() }
}

/// A peer of the simulation behind a real socket, with a thread for each connection.
private final class HostileServer: Sendable {
    private let listener: Int32
    let port: UInt16
    private let isStopped = Locked(false)

    init(_ makePeer: @escaping @Sendable () -> any SimulatedPeer) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let listener = listener
        let result = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(listener, address, size) == 0 && listen(listener, 64) == 0
                    && getsockname(listener, address, &size) == 0
            }
        }
        try #require(result)
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [isStopped] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { return }
                Thread.detachNewThread { Self.serve(connection, makePeer(), isStopped) }
            }
        }
    }

    func stop() {
        isStopped.withLock { $0 = true }
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private static func serve(_ connection: Int32, _ peer: any SimulatedPeer, _ isStopped: Locked<Bool>) {
        var peer = peer
        var one: Int32 = 1
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
        var unsent = peer.receive([])[...]
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        while !isStopped.withLock({ $0 }) {
            if unsent.isEmpty { unsent = peer.more()[...] }
            let events = Int16(POLLIN) | (unsent.isEmpty ? 0 : Int16(POLLOUT))
            var descriptor = pollfd(fd: connection, events: events, revents: 0)
            guard poll(&descriptor, 1, 100) >= 0 else { break }
            if descriptor.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0 {
                let count = recv(connection, &buffer, buffer.count, Int32(MSG_DONTWAIT))
                guard count > 0 else { break }
                unsent += peer.receive(Array(buffer[..<count]))
            }
            if descriptor.revents & Int16(POLLOUT) != 0, !unsent.isEmpty {
                let flags = Int32(MSG_DONTWAIT | MSG_NOSIGNAL)
                let count = unsent.withUnsafeBytes { send(connection, $0.baseAddress, $0.count, flags) }
                guard count > 0 || errno == EAGAIN else { break }
                unsent = unsent.dropFirst(max(0, count))
            }
        }
        close(connection)
    }
}
