import CNghttp2
import LadeCore
import Testing

@testable import LadeExchange
@testable import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// From an admitted exchange to an open connection, over simulated sockets.
@Suite("Opening connections", .timeLimit(.minutes(5)))
struct OpeningTests {
    private static let answer = SimulatedServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    private func call(_ host: String = "10.0.0.1", _ target: String = "/") -> Simulation.Call {
        Simulation.Call(target: target, host: host, content: "ok")
    }

    private func simulation(
        _ lanes: [[Simulation.Call]],
        _ settings: TransportSettings = Simulation.settings,
        welcome: @escaping (Endpoint) -> SimulatedSystem.Welcome
    ) -> Simulation {
        Simulation(lanes, settings, on: SimulatedSystem(welcome: welcome))
    }

    private static func isV6(_ endpoint: Endpoint) -> Bool {
        if case .address(let address, _) = endpoint { address.isV6 } else { false }
    }

    @Test("wire WR-15 the second address is tried after 250 ms, wins, and the first is closed in the same turn")
    func race() {
        let answers = ["/": Self.answer]
        let simulation = simulation([[call("localhost")]]) { Self.isV6($0) ? .silence : .server(answers) }
        var attempts: [(at: Int64, open: Int)] = []
        simulation.beforeWait = { [unowned simulation] in
            attempts.append((simulation.system.now(), simulation.system.openSockets))
        }
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess)
        let second = attempts.first { $0.open == 2 }
        #expect(second.map { $0.at >= 250_000_000 && $0.at < 251_000_000 } == true)
        // The silent attempt is gone in the turn in which the other has connected.
        #expect(simulation.system.mostOpen == 2)
        let after = attempts.drop { $0.open != 2 }.first { $0.open != 2 }
        #expect(after?.open == 1)
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-15 the next address is tried immediately when one fails, and WR-14 comes last the next time")
    func refusal() {
        let answers = [
            "/": Self.answer, "/2": SimulatedServer.Answer("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"),
        ]
        var settings = Simulation.settings
        settings.connections.idleLife = .zero
        let simulation = simulation([[call("localhost"), call("localhost", "/2")]], settings) {
            Self.isV6($0) ? .refusal(ECONNREFUSED) : .server(answers)
        }
        simulation.run()
        #expect(simulation.haveAllSucceeded)
        #expect(simulation.system.now() < 250_000_000)
        #expect(simulation.system.endpoints.map(Self.isV6) == [true, false, false])
        #expect(simulation.findings.isEmpty)
    }

    @Test(
        "wire WR-16 the error is that of the most telling cause, and the limits have their own",
        arguments: [
            (SimulatedSystem.Welcome.refusal(ENETUNREACH), .refusal(ECONNREFUSED), .refused),
            (.refusal(ETIMEDOUT), .refusal(EHOSTUNREACH), .unreachable),
            (.refusal(EACCES), .refusal(ETIMEDOUT), .other(errno: EACCES)),
        ] as [(SimulatedSystem.Welcome, SimulatedSystem.Welcome, LoadingError.ConnectCause)]
    )
    func causes(
        first: SimulatedSystem.Welcome,
        second: SimulatedSystem.Welcome,
        cause: LoadingError.ConnectCause
    ) {
        let simulation = simulation([[call("localhost")]]) { Self.isV6($0) ? first : second }
        simulation.run()
        #expect(simulation.outcomes[0].error == .cannotConnect(host: "localhost", reason: cause))
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-16 the connect limit ends a race as timed out while connecting")
    func silence() {
        let simulation = simulation([[call("localhost")]]) { _ in .silence }
        simulation.run()
        #expect(simulation.outcomes[0].error == .timedOut(.connect))
        #expect(simulation.findings.isEmpty)
    }

    @Test(
        "wire WR-16 the connect limit ends a look-up as timed out in it, and what follows it as timed out while connecting"
    )
    func lookUps() {
        for (delay, phase) in [(nil, .nameLookup), (9_000_000_000, .connect)] as [(Int64?, LoadingError.TimeoutPhase)] {
            let simulation = simulation([[call("a.test")]]) { _ in .silence }
            simulation.system.names = ["a.test": SimulatedSystem.Name(addresses: ["10.0.0.1"], delay: delay)]
            simulation.run()
            #expect(simulation.outcomes[0].error == .timedOut(phase))
            #expect(simulation.outcomes[0].endedAt / 1_000_000_000 == 10)
            #expect(simulation.findings.isEmpty)
        }
    }

    @Test(
        "finding WF-1 behind eight look-ups that hang a ninth name is answered after a second, and the loop sleeps meanwhile"
    )
    func hangingLookUps() {
        var settings = Simulation.settings
        settings.connections.total = 9
        let lanes = (0..<8).map { [call("h\($0).test")] } + [[call("quiet.test")]]
        let system = SimulatedSystem { _ in .server(["/": Self.answer]) }
        for number in 0..<8 { system.names["h\(number).test"] = SimulatedSystem.Name(addresses: [], delay: nil) }
        system.names["quiet.test"] = SimulatedSystem.Name(addresses: ["10.0.0.1"], delay: 0)
        let simulation = Simulation(lanes, settings, on: system)
        simulation.start()
        simulation.turn { simulation.outcomes[8].isOver }
        #expect(simulation.outcomes[8].isSuccess)
        #expect((1_000_000_000..<1_100_000_000).contains(simulation.outcomes[8].endedAt))
        #expect(simulation.turns < 40)
        simulation.run()
        #expect(simulation.outcomes[..<8].allSatisfy { $0.error == .timedOut(.nameLookup) })
        #expect(simulation.turns < 80)
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-17 the zone of an address is its scope, part of the pool's key, and in no Host field")
    func zone() throws {
        let simulation = simulation([[call("[fe80::1%25lo]"), call("[fe80::1]")]]) { _ in .server(["/": Self.answer]) }
        simulation.run()
        #expect(simulation.haveAllSucceeded)
        // One connection for each: the zone is a part of the key.
        #expect(simulation.system.servers.count == 2)
        guard case .address(let scoped, _) = simulation.system.endpoints[0] else { throw CancellationError() }
        #expect(scoped.scope == if_nametoindex("lo"))
        #expect(simulation.system.requests.allSatisfy { $0.head.contains("Host: [fe80::1]\r\n") })
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-17 an unknown zone is unreachable")
    func unknownZone() {
        let simulation = simulation([[call("[fe80::1%25nowhere]")]]) { _ in .server(["/": Self.answer]) }
        simulation.run()
        guard case .cannotConnect(_, .unreachable)? = simulation.outcomes[0].error else {
            Issue.record("\(String(describing: simulation.outcomes[0].error))")
            return
        }
        #expect(simulation.system.endpoints.isEmpty)
    }

    @Test("wire WR-18 a full backlog is tried again after 10, 20 and 40 ms")
    func backlog() {
        var attempts: [Int64] = []
        var time: () -> Int64 = { 0 }
        var unix = call()
        unix.destination = .unixSocket(path: "/tmp/s")
        let simulation = simulation([[unix]]) { _ in
            attempts.append(time() / 1_000_000)
            return attempts.count < 4 ? .refusal(EAGAIN) : .server(["/": Self.answer])
        }
        time = { [unowned simulation] in simulation.system.now() }
        simulation.run()
        #expect(simulation.outcomes[0].isSuccess)
        #expect(attempts == [0, 10, 30, 70])
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-18 the connect limit ends the attempts")
    func backlogLimit() {
        var unix = call()
        unix.destination = .unixSocket(path: "/tmp/s")
        let simulation = simulation([[unix]]) { _ in .refusal(EAGAIN) }
        simulation.run()
        #expect(simulation.outcomes[0].error == .timedOut(.connect))
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-18 a path of 108 bytes is an invalid request, and one of 107 is dialled", arguments: [107, 108])
    func path(length: Int) {
        var unix = call()
        unix.destination = .unixSocket(path: "/" + String(repeating: "x", count: length - 1))
        let simulation = simulation([[unix]]) { _ in .server(["/": Self.answer]) }
        simulation.run()
        #expect(simulation.system.endpoints.isEmpty == (length == 108))
        if case .invalidRequest? = simulation.outcomes[0].error {
            #expect(length == 108)
        } else {
            #expect(length == 107)
        }
    }

    @Test("wire WR-19 without a descriptor the longest idle connection is closed, and the call succeeds")
    func room() {
        var opened = 0
        let simulation = simulation([[call("10.0.0.1"), call("10.0.0.2"), call("10.0.0.3")]]) { _ in
            opened += 1
            return .server(["/": Self.answer])
        }
        simulation.system.descriptors = 2
        simulation.run()
        #expect(simulation.haveAllSucceeded)
        #expect(simulation.system.mostOpen == 2)
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-19 without a descriptor and an idle connection a call waits for another's end")
    func queue() {
        let lanes = (1...4).map { [call("10.0.0.\($0)")] }
        let simulation = simulation(lanes) { _ in .server(["/": Self.answer]) }
        simulation.system.descriptors = 1
        simulation.run()
        #expect(simulation.haveAllSucceeded)
        #expect(simulation.system.mostOpen == 1)
        #expect(simulation.findings.isEmpty)
    }

    @Test(
        "finding WF-13 the end of any call, and any connection that becomes idle, wakes what waits for a descriptor",
        arguments: [false, true]
    )
    func anyEnd(isKept: Bool) {
        let text = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\(isKept ? "" : "Connection: close\r\n")\r\nok"
        let answers = ["/": SimulatedServer.Answer(text), "/slow": SimulatedServer.Answer("")]
        // The second host is busy for 5 s, and its other calls wait for a descriptor of the first one.
        let lanes = [[call("10.0.0.1")], [call("10.0.0.2", "/slow")], [call("10.0.0.2")], [call("10.0.0.3")]]
        let simulation = simulation(lanes) { _ in .server(answers) }
        simulation.system.descriptors = 2
        simulation.run()
        #expect(simulation.outcomes.map(\.isSuccess) == [true, false, true, true])
        #expect(simulation.outcomes[2...].allSatisfy { $0.endedAt < 1_000_000_000 })
        #expect(simulation.system.mostOpen == 2)
        #expect(simulation.findings.isEmpty)
    }

    @Test("finding WF-13 calls that wait for a descriptor keep their order, and a cancelled one lets the next start")
    func orderWithoutDescriptors() {
        var settings = Simulation.settings
        settings.connections.perHost = 4
        settings.connections.total = 8
        let answers = (0..<6).reduce(into: [String: SimulatedServer.Answer]()) { answers, number in
            answers["/\(number)"] = SimulatedServer.Answer(
                "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"
            )
        }
        let lanes = (0..<6).map { [call("10.0.0.1", "/\($0)")] }
        let simulation = simulation(lanes, settings) { _ in .server(answers) }
        simulation.system.descriptors = 1
        simulation.start()
        simulation.turn { simulation.system.openSockets == 1 }
        simulation.cancel(lane: 2)
        simulation.run()
        #expect(simulation.outcomes.map(\.isSuccess) == [true, true, false, true, true, true])
        #expect(simulation.system.requests.map(\.target) == ["/0", "/1", "/3", "/4", "/5"])
        #expect(simulation.findings.isEmpty)
    }

    @Test("finding WF-8 without a descriptor a call waits for a stream of the host's connection over HTTP/2")
    func waitsForAStream() {
        var settings = Simulation.settings
        settings.connections.perHost = 2
        let peer: @Sendable () -> any SimulatedPeer = {
            HTTP2Peer(
                ["/": HTTP2Peer.Answer(body: Array("ok".utf8))],
                settings: [(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1)]
            )
        }
        var shared = call()
        shared.knowsHTTP2 = true
        let simulation = simulation([[shared]], settings) { _ in .peer(peer()) }
        simulation.system.descriptors = 1
        simulation.system.leaps = false
        simulation.start()
        simulation.turn { simulation.outcomes[0].isOver }
        for _ in 0..<3 { simulation.again(shared) }
        simulation.turn { simulation.outcomes.allSatisfy(\.isOver) }
        #expect(simulation.haveAllSucceeded)
        #expect(simulation.system.servers.count == 1)
        simulation.stop()
        #expect(simulation.findings.isEmpty)
    }

    @Test("finding PT-2 an address that worked and then failed is tried last, though no other has worked since")
    func workedAndFailed() {
        var settings = Simulation.settings
        settings.connections.idleLife = .zero
        var welcomed = 0
        let answers = ["/": Self.answer]
        let simulation = simulation([[call("localhost"), call("localhost"), call("localhost")]], settings) { endpoint in
            welcomed += 1
            guard Self.isV6(endpoint) else { return welcomed < 4 ? .silence : .server(answers) }
            return welcomed == 1 ? .server(answers) : .refusal(ECONNREFUSED)
        }
        simulation.run()
        #expect(simulation.outcomes.map(\.error) == [nil, .timedOut(.connect), nil])
        #expect(simulation.system.endpoints.map(Self.isV6) == [true, true, false, false])
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-19 without a descriptor and any connection a call fails with EMFILE")
    func exhausted() {
        let simulation = simulation([[call()]]) { _ in .server(["/": Self.answer]) }
        simulation.system.descriptors = 0
        simulation.run()
        #expect(simulation.outcomes[0].error == .cannotConnect(host: "10.0.0.1", reason: .other(errno: EMFILE)))
        #expect(simulation.findings.isEmpty)
    }

    @Test("wire WR-20 a connection that is being opened is closed with its call, or carries the next of its key")
    func orphan() {
        var settings = Simulation.settings
        settings.connections.perHost = 1
        for waits in [false, true] {
            let lanes = waits ? [[call()], [call()]] : [[call()]]
            let simulation = simulation(lanes, settings) { _ in .silence }
            simulation.system.leaps = false
            simulation.start()
            for _ in 0..<5 { simulation.turn() }
            #expect(simulation.system.openSockets == 1)
            simulation.cancel(lane: 0)
            // The cancellation arrives in the inbox in this turn.
            simulation.turn()
            simulation.turn()
            #expect(simulation.system.openSockets == (waits ? 1 : 0))
            #expect(simulation.system.calls[.connect] == 1)
            #expect(simulation.outcomes[0].error == .cancelled)
            simulation.stop()
            #expect(simulation.findings.isEmpty)
        }
    }

    @Test("idle connections are closed after a sleep of the system of more than 5 s, and not after a shorter one")
    func sleep() {
        for (nanoseconds, connections) in [(5_000_000_000, 1), (5_000_000_001, 2)] as [(Int64, Int)] {
            let simulation = simulation([[call()]]) { _ in .server(["/": Self.answer]) }
            simulation.system.leaps = false
            simulation.start()
            simulation.turn { simulation.outcomes[0].isOver }
            simulation.turn()
            simulation.system.asleep = nanoseconds
            simulation.turn()
            #expect(simulation.system.openSockets == 2 - connections)
            simulation.system.leaps = true
            simulation.again(call())
            simulation.run()
            #expect(simulation.haveAllSucceeded)
            #expect(simulation.system.servers.count == connections)
            #expect(simulation.findings.isEmpty)
        }
    }
}
