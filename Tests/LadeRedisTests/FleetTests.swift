import Foundation
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting
import SharedDoubles
import Testing

/// Members on a real store: several `Fleet` objects in one process.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct FleetTests {
    private let clock = SystemTime()

    /// Members with callers that start calls until there are enough.
    private final class Members: Sendable {
        let fleets: [Fleet]
        let limiters: [RateLimiter]
        let judge = Judge()
        let events = Locked<[String]>([])

        init(
            _ count: Int,
            _ url: String,
            rate: Double,
            secret: Secret? = nil,
            settings: Fleet.Settings = Fleet.Settings()
        ) throws {
            var settings = settings
            let events = events
            settings.onEvent = { event in events.withLock { $0.append(EventFacts(event).name) } }
            fleets = try (0..<count).map { _ in try Fleet(url, secret: secret, settings: settings) }
            limiters = try fleets.map { try RateLimiter(RateLimits(default: .perSecond(rate)), fleet: $0) }
        }

        /// Runs until there are this many starts in all; a script runs beside the callers.
        func run(_ count: Int, _ script: @escaping @Sendable (Judge) async -> Void = { _ in }) async throws {
            let time = SystemTime()
            let request = try Request("https://api.example.com/v1/x")
            await withTaskGroup(of: Void.self) { group in
                for (index, limiter) in limiters.enumerated() {
                    for _ in 0..<4 {
                        group.addTask { [judge] in
                            while judge.count < count, !Task.isCancelled {
                                guard let slot = try? await limiter.start(request, call: Call(time: time)) else {
                                    return
                                }
                                judge.note(index, time.now)
                                slot.finish()
                            }
                        }
                    }
                }
                group.addTask { [judge] in await script(judge) }
                await group.waitForAll()
            }
            for fleet in fleets { await fleet.leave() }
        }
    }

    /// Waits until there are this many starts.
    private static func reach(_ count: Int, _ judge: Judge) async {
        while judge.count < count, (try? await SystemTime().sleep(for: .milliseconds(5))) != nil {}
    }

    @Test("fleet RD-03 RD-15 RD-122 members on a real store keep one limit", arguments: StoreServer.Kind.allCases)
    func steady(kind: StoreServer.Kind) async throws {
        let server = try StoreServer.start(kind)
        let members = try Members(4, server.url, rate: 100)
        for fleet in members.fleets { try await fleet.join() }
        try await members.run(200)
        #expect(members.judge.excess(rate: 100) <= 4)
        #expect((0..<4).allSatisfy { !members.judge.times(of: $0).isEmpty })
        #expect(members.fleets.allSatisfy { $0.status.roundTrips > 3 })
    }

    @Test(
        "fleet RD-120 RD-43 a store that is emptied, and keys of a wrong type, cost no call above the limit",
        arguments: StoreServer.Kind.allCases
    )
    func emptied(kind: StoreServer.Kind) async throws {
        let server = try StoreServer.start(kind)
        let members = try Members(4, server.url, rate: 100)
        try await members.run(150) { judge in
            let client = StoreClient(server.path)
            await Self.reach(40, judge)
            _ = client.command(["FLUSHALL"])
            await Self.reach(80, judge)
            for key in ["m", "k", "g"] { _ = client.command(["DEL", "lade:1:{test}:" + key]) }
            for key in ["m", "k", "g"] { _ = client.command(["SET", "lade:1:{test}:" + key, "x"]) }
        }
        #expect(members.judge.excess(rate: 100) <= 4)
    }

    @Test(
        "fleet RD-120 RD-42 a store that is stopped for two seconds costs at most N calls",
        arguments: StoreServer.Kind.allCases
    )
    func stopped(kind: StoreServer.Kind) async throws {
        let server = try StoreServer.start(kind)
        let members = try Members(4, server.url, rate: 100)
        try await members.run(300) { judge in
            await Self.reach(60, judge)
            server.signal(SIGSTOP)
            try? await SystemTime().sleep(for: .seconds(2))
            server.signal(SIGCONT)
        }
        #expect(members.judge.excess(rate: 100) <= 5)
        let names = members.events.withLock { $0 }
        #expect(names.contains("fleetAlone"), "\(names)")
    }

    @Test("fleet RD-120 RD-39 a store that is killed leaves each member its share")
    func killed() async throws {
        let server = try StoreServer.start()
        let members = try Members(4, server.url, rate: 100)
        try await members.run(200) { judge in
            await Self.reach(60, judge)
            server.signal(SIGKILL)
        }
        #expect(members.judge.excess(rate: 100) <= 5)
        #expect(members.fleets[0].status.isAlone && members.fleets[0].status.members == 4)
    }

    @Test(
        "fleet RD-120 a store without memory, and one whose clients are held, count as unreachable",
        arguments: StoreServer.Kind.allCases
    )
    func refusing(kind: StoreServer.Kind) async throws {
        let server = try StoreServer.start(kind)
        let members = try Members(3, server.url, rate: 100)
        try await members.run(200) { judge in
            let client = StoreClient(server.path)
            await Self.reach(50, judge)
            _ = client.command(["CONFIG", "SET", "maxmemory", "1"])
            await Self.reach(100, judge)
            _ = client.command(["CONFIG", "SET", "maxmemory", "0"])
            await Self.reach(140, judge)
            _ = client.command(["CLIENT", "PAUSE", "400", "ALL"])
        }
        #expect(members.judge.excess(rate: 100) <= 4)
    }

    @Test("fleet RD-120 RD-43 a store that is killed and starts again empty costs at most N calls")
    func restarted() async throws {
        let server = try StoreServer.start()
        let members = try Members(4, server.url, rate: 100)
        try await members.run(300) { judge in
            await Self.reach(60, judge)
            server.signal(SIGKILL)
            try? await server.restart()
        }
        #expect(members.judge.excess(rate: 100) <= 5)
        #expect(members.fleets.allSatisfy { !$0.status.isAlone })
    }

    @Test("fleet RD-120 RD-46 a store whose clock is set costs at most N calls")
    func clockJumps() async throws {
        let clock = try await MovedClock()
        let server = try StoreServer.start(StoreServer.Settings(environment: clock.environment))
        let members = try Members(4, server.url, rate: 100)
        try await members.run(300) { judge in
            await Self.reach(60, judge)
            try? clock.move(by: 30)
            await Self.reach(150, judge)
            try? clock.move(by: -30)
        }
        #expect(members.judge.excess(rate: 100) <= 5)
        let names = members.events.withLock { $0 }
        #expect(names.contains("fleetClockJumped"), "\(names)")
    }

    @Test("fleet RD-04 RD-120 a store with TLS is checked, and checks the member's certificate")
    func secure() async throws {
        let server = try StoreServer.start(StoreServer.Settings(isSecure: true))
        var settings = Fleet.Settings()
        settings.tls.clientIdentity = .init(certificateFile: server.certificate, keyFile: server.key)
        let untrusting = try Fleet(server.portURL, settings: settings)
        await #expect(throws: LoadingError.self) { try await untrusting.join() }
        settings.tls.authorities = [.file(server.certificate)]
        var stranger = settings
        stranger.tls.clientIdentity = nil
        let refused = try Fleet(server.portURL, settings: stranger)
        await #expect(throws: LoadingError.self) { try await refused.join() }
        let members = try Members(2, server.portURL, rate: 200, settings: settings)
        for fleet in members.fleets { try await fleet.join() }
        try await members.run(100)
        #expect(members.judge.excess(rate: 200) <= 4)
        #expect(members.fleets.allSatisfy { $0.status.roundTrips > 3 })
    }

    /// Starts a node of a cluster, with the slots given.
    private func node(_ slots: [String]) throws -> StoreServer {
        let bus = try StoreServer.freePort()
        let options = ["--cluster-enabled", "yes", "--cluster-port", "\(bus)", "--cluster-require-full-coverage", "no"]
        let server = try StoreServer.start(StoreServer.Settings(options: options, hasPort: true))
        if !slots.isEmpty {
            #expect(StoreClient(server.path).command(["CLUSTER", "ADDSLOTSRANGE"] + slots) == .status("OK"))
        }
        return server
    }

    /// Waits until a server says something; the test has a time limit.
    private func wait(_ server: StoreServer, _ words: [String], contain text: String) async throws {
        while true {
            if case .text(let bytes)? = StoreClient(server.path).command(words),
                String(decoding: bytes, as: UTF8.self).contains(text)
            {
                return
            }
            try await clock.sleep(for: .milliseconds(10))
        }
    }

    @Test("fleet RD-09 RD-120 a node of a cluster carries out every script")
    func cluster() async throws {
        let server = try node(["0", "16383"])
        try await wait(server, ["CLUSTER", "INFO"], contain: "cluster_state:ok")
        let members = try Members(2, server.portURL, rate: 200)
        for fleet in members.fleets { try await fleet.join() }
        try await members.run(100)
        #expect(members.judge.excess(rate: 200) <= 4)
        let names = members.events.withLock { $0 }
        #expect(!names.contains("fleetFault"), "\(names)")
    }

    @Test("fleet RD-09 a node that names another is left for it when the address has it, and only then")
    func moved() async throws {
        let (first, second) = (try node([]), try node(["0", "16383"]))
        guard case .text(let bytes)? = StoreClient(second.path).command(["CLUSTER", "NODES"]),
            let bus = String(decoding: bytes, as: UTF8.self).split(separator: "@").last?.prefix(while: \.isNumber)
        else {
            Issue.record("no nodes")
            return
        }
        try first.command("CLUSTER", "MEET", "127.0.0.1", "\(second.port)", String(bus))
        try await wait(first, ["CLUSTER", "INFO"], contain: "cluster_slots_ok:16384")
        for server in [first, second] { try await wait(server, ["CLUSTER", "INFO"], contain: "cluster_state:ok") }
        let both = try Fleet("redis://127.0.0.1:\(first.port),127.0.0.1:\(second.port)/test")
        try await both.join()
        await both.leave()
        let one = try Fleet("redis://127.0.0.1:\(first.port)/test")
        let error = await #expect(throws: LoadingError.self) { try await one.join() }
        #expect(error?.context.detail?.contains("does not name") == true, "\(String(describing: error))")
    }

    @Test("fleet RD-07 RD-44 RD-120 a replica is left for the next address, and used when it is promoted")
    func replica() async throws {
        let first = try StoreServer.start(
            StoreServer.Settings(options: ["--repl-diskless-sync-delay", "0"], hasPort: true)
        )
        let options = ["--replicaof", "127.0.0.1 \(first.port)"]
        let second = try StoreServer.start(StoreServer.Settings(options: options, hasPort: true))
        try await wait(second, ["INFO", "replication"], contain: "master_link_status:up")
        let members = try Members(4, "redis://127.0.0.1:\(second.port),127.0.0.1:\(first.port)/test", rate: 100)
        for fleet in members.fleets { try await fleet.join() }
        try await members.run(300) { judge in
            await Self.reach(80, judge)
            first.signal(SIGKILL)
            try? second.command("REPLICAOF", "NO", "ONE")
        }
        #expect(members.judge.excess(rate: 100) <= 5)
        #expect(members.fleets.allSatisfy { !$0.status.isAlone })
    }

    @Test(
        "fleet RD-113 RD-120 a user with the least rights is enough for a member",
        arguments: StoreServer.Kind.allCases
    )
    func rights(kind: StoreServer.Kind) async throws {
        let server = try StoreServer.start(StoreServer.Settings(kind: kind, hasPort: true))
        let user = ["ACL", "SETUSER", "lade", "on", ">secret", "~lade:1:{test}:*"] + ScriptTests.rights
        #expect(StoreClient(server.path).command(user) == .status("OK"))
        let members = try Members(2, "redis://lade@127.0.0.1:\(server.port)/test", rate: 200, secret: "secret")
        for fleet in members.fleets { try await fleet.join() }
        try await members.run(60)
        let names = members.events.withLock { $0 }
        #expect(!names.contains("fleetFault"), "\(names)")
    }

    @Test("fleet RD-104 a store that does not respond, or refuses the password, is an error at the start")
    func refused() async throws {
        let none = try Fleet("redis+unix:///nonexistent/store?name=x")
        let error = await #expect(throws: LoadingError.self) { try await none.join() }
        #expect(error.map { if case .cannotConnect = $0.kind { true } else { false } } == true)
        let server = try StoreServer.start(.redis, ["--requirepass", "right"])
        for secret in [nil, Secret("wrong")] {
            let fleet = try Fleet(server.url, secret: secret)
            let error = await #expect(throws: LoadingError.self) { try await fleet.join() }
            #expect(
                error.map { if case .authorisationFailed = $0.kind { true } else { false } } == true,
                "\(String(describing: error))"
            )
        }
        let fleet = try Fleet(server.url, secret: "right")
        try await fleet.join()
        await fleet.leave()
    }

    @Test("fleet RD-02 RD-128 the password, the query and the account are in no key, value or event")
    func canaries() async throws {
        let server = try StoreServer.start(.redis, ["--requirepass", "canary"])
        let events = Locked<[String]>([])
        var settings = Fleet.Settings()
        settings.onEvent = { event in events.withLock { $0.append(EventFacts(event).words) } }
        let fleet = try Fleet(server.url, secret: "canary", settings: settings)
        try await fleet.join()
        let limiter = try RateLimiter(RateLimits(default: .perSecond(50)), fleet: fleet)
        let request = try Request("https://api.example.com/v1/x?q=canary")
        try await limiter.start(request, call: Call())?.finish()
        let client = StoreClient(server.path)
        _ = client.command(["AUTH", "canary"])
        guard case .list(let keys) = client.command(["KEYS", "*"]) else {
            Issue.record("no keys")
            return
        }
        #expect(keys.count >= 3)
        for key in keys.compactMap(\.string) {
            let value = client.command(["DUMP", key])
            #expect(!key.contains("canary") && !"\(String(describing: value.map { Self.text($0) }))".contains("canary"))
        }
        #expect(events.withLock { $0.allSatisfy { !$0.contains("canary") } })
        #expect(!"\(fleet.status)".contains("canary"))
        await fleet.leave()
    }

    private static func text(_ reply: StoreReply) -> String {
        if case .text(let bytes) = reply { String(decoding: bytes, as: UTF8.self) } else { "" }
    }

    @Test("fleet RD-13 leaving removes the member, and the release of the fleet does so as well")
    func leaving() async throws {
        let server = try StoreServer.start()
        let client = StoreClient(server.path)
        let fleet = try Fleet(server.url)
        try await fleet.join()
        #expect(client.command(["ZCARD", "lade:1:{test}:m"]) == .integer(1))
        await fleet.leave()
        #expect(client.command(["ZCARD", "lade:1:{test}:m"]) == .integer(0))
    }

    @Test("fleet RD-34 a delay that one member is asked for reaches the others on a real store")
    func gate() async throws {
        let server = try StoreServer.start()
        let fleets = try (0..<2).map { _ in try Fleet(server.url) }
        for fleet in fleets { try await fleet.join() }
        let limiters = try fleets.map { try RateLimiter(RateLimits(), fleet: $0) }
        let request = try Request("https://api.example.com/v1/x")
        limiters[0].observe(503, ["Retry-After": "30"], of: request, call: Call())
        let key = limiters[1].key(of: request.url)
        // Beats carry it; the test ends as soon as it has arrived, or with its time limit.
        while limiters[1].estimatedWait(for: key) ?? .zero < .seconds(20) {
            try await SystemTime().sleep(for: .milliseconds(10))
        }
        for fleet in fleets { await fleet.leave() }
    }
}
