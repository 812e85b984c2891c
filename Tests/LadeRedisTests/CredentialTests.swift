import Foundation
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting
import SharedDoubles
import Testing

/// Shared tokens on a real store.
@Suite(.timeLimit(.minutes(5)), .serialized)
struct CredentialTests {
    private func makeMembers(
        _ count: Int,
        _ url: String,
        _ tokens: RotatingTokens,
        events: [any Call.Observer] = [],
        before: @escaping @Sendable () async throws(LoadingError) -> Void = {}
    ) throws -> (fleets: [Fleet], members: [TokenMember]) {
        let fleets = try (0..<count).map { _ in try Fleet(url) }
        let members = try fleets.map {
            try TokenMember(try $0.credentials("tokens"), tokens.transport(before: before), events: events)
        }
        return (fleets, members)
    }

    private static func callAll(_ members: [TokenMember], _ count: Int) async -> [Int] {
        await withTaskGroup(of: [Int].self) { group in
            for member in members { group.addTask { await member.calls(count) } }
            return await group.reduce(into: []) { $0 += $1 }
        }
    }

    @Test(
        "fleet RD-51 RD-50 members whose calls meet a 401 together make one refresh, and all calls succeed",
        arguments: StoreServer.Kind.allCases
    )
    func oneRefresh(kind: StoreServer.Kind) async throws {
        let server = try StoreServer.start(kind)
        let (tokens, events) = (RotatingTokens(), EventRecorder())
        let (fleets, members) = try makeMembers(8, server.url, tokens, events: [events])
        let first = await Self.callAll(members, 100)
        #expect(first.count == 800)
        #expect(first.allSatisfy { $0 == 200 }, "\(Set(first))")
        #expect(tokens.refreshes == 1)
        for round in 2...4 {
            tokens.expire()
            let all = await Self.callAll(members, 100)
            #expect(all.allSatisfy { $0 == 200 }, "\(Set(all))")
            #expect(tokens.refreshes == round)
        }
        #expect(tokens.mostUses == 1)
        #expect(events.events.contains { if case .refreshTaken = $0 { true } else { false } })
        for fleet in fleets { await fleet.leave() }
    }

    @Test("fleet RD-50 a usable token costs no order")
    func usable() async throws {
        let server = try StoreServer.start()
        let tokens = RotatingTokens()
        let (fleets, members) = try makeMembers(1, server.url, tokens)
        #expect(try await members[0].call() == 200)
        let client = StoreClient(server.path)
        let record = try #require(Self.record(client))
        let before = client.command(["HGETALL", record])
        for _ in 0..<50 { #expect(try await members[0].call() == 200) }
        #expect(client.command(["HGETALL", record]) == before)
        await fleets[0].leave()
    }

    @Test(
        "fleet RD-58 RD-120 a store that is emptied gets the tokens back from its members, and no token is used twice"
    )
    func emptied() async throws {
        let server = try StoreServer.start()
        let tokens = RotatingTokens()
        let (fleets, members) = try makeMembers(4, server.url, tokens)
        let client = StoreClient(server.path)
        for round in 1...5 {
            tokens.expire()
            let all = await Self.callAll(members.shuffled(), 5)
            #expect(all.allSatisfy { $0 == 200 }, "\(all)")
            #expect(tokens.refreshes == round)
            _ = client.command(["FLUSHALL"])
        }
        #expect(tokens.mostUses == 1)
        for fleet in fleets { await fleet.leave() }
    }

    @Test("fleet RD-59 RD-57 a result that the store does not take is used, and published when it responds again")
    func unpublished() async throws {
        let server = try StoreServer.start()
        let tokens = RotatingTokens()
        let (fleets, members) = try makeMembers(2, server.url, tokens) { server.signal(SIGSTOP) }
        #expect(try await members[0].call() == 200)
        server.signal(SIGCONT)
        #expect(try await members[1].call() == 200)
        #expect(tokens.refreshes == 1 && tokens.mostUses == 1)
        for fleet in fleets { await fleet.leave() }
    }

    @Test("fleet RD-59 without a store a token that may be used once is not refreshed, and others are refreshed alone")
    func withoutStore() async throws {
        let tokens = RotatingTokens()
        let fleet = try Fleet("redis+unix:///nonexistent/store?name=x")
        let once = try TokenMember(try fleet.credentials("a"), tokens.transport()) { $0.refresh.deadline = .seconds(1) }
        let error = await #expect(throws: LoadingError.self) { try await once.call() }
        #expect("\(String(describing: error))".contains("store"))
        #expect(tokens.refreshes == 0)
        let often = try TokenMember(try fleet.credentials("b", isReusable: true), tokens.transport())
        #expect(try await often.call() == 200)
        #expect(tokens.refreshes == 1)
        await fleet.leave()
    }

    /// A holder of the lease that is gone.
    struct Holder: Sendable, CustomTestStringConvertible {
        var hasSent: Bool
        var hasStartedAgain = false
        /// How far the store's clock has to move until the lease is free.
        var seconds: Int64
        var testDescription: String {
            hasStartedAgain ? "sent, and started again" : hasSent ? "sent" : "unsent"
        }
    }

    @Test(
        "fleet RD-54 RD-14 RD-127 a lease is free at its end, after a mark with its doubt, unless its holder started again",
        arguments: [
            Holder(hasSent: false, seconds: 41), Holder(hasSent: true, seconds: 101),
            Holder(hasSent: true, hasStartedAgain: true, seconds: 41),
        ]
    )
    func lostHolder(holder: Holder) async throws {
        let clock = try await MovedClock()
        let server = try StoreServer.start(StoreServer.Settings(environment: clock.environment))
        let (tokens, events) = (RotatingTokens(), EventRecorder())
        var settings = Fleet.Settings()
        settings.name = "first"
        let first = try Fleet(server.url, settings: settings)
        let store = try first.credentials("tokens").store
        let rules = CredentialRules(Authorisation.RefreshSettings(), isReusable: false, hasUser: true)
        let sharer = store.attach(rules) { _ in
            nil
        } receive: { _ in
        }
        @Sendable func carryOut(_ order: CredentialOrder) async -> CredentialReply? {
            await withCheckedContinuation { continuation in
                store.carryOut(order, for: sharer) { reply, _, _ in continuation.resume(returning: reply) }
            }
        }
        var reply = await carryOut(.take(CredentialOrder.Held()))
        // A new store grants no lease in its first second.
        while case .wait? = reply {
            try await SystemTime().sleep(for: .milliseconds(20))
            reply = await carryOut(.take(CredentialOrder.Held()))
        }
        guard case .lease(let fence, _, _)? = reply else {
            Issue.record("\(String(describing: reply))")
            return
        }
        if holder.hasSent { #expect(await carryOut(.sending(fence: fence)) == .done) }
        await first.leave()

        settings.name = holder.hasStartedAgain ? "first" : "second"
        let fleet = try Fleet(server.url, settings: settings)
        let sharing = try fleet.credentials("tokens")
        let member = try TokenMember(sharing, tokens.transport(), events: [events])
        try clock.move(by: holder.seconds - 10)
        // The lease, or its doubt, lasts for ten seconds more.
        await #expect(throws: LoadingError.self) { try await member.call(deadline: .seconds(1)) }
        #expect(tokens.refreshes == 0)
        try clock.move(by: holder.seconds)
        #expect(try await member.call() == 200)
        #expect(tokens.refreshes == 1)
        let hasDoubt = events.events.contains { if case .refreshInDoubt = $0 { true } else { false } }
        #expect(hasDoubt == (holder.hasSent && !holder.hasStartedAgain))
        await fleet.leave()
    }

    @Test("fleet RD-60 a failure is shared, and so is the need for a sign-in until there are new tokens")
    func failures() async throws {
        let server = try StoreServer.start()
        let tokens = RotatingTokens()
        let (fleets, members) = try makeMembers(3, server.url, tokens)
        #expect(try await members[0].call() == 200)
        _ = tokens.respond(to: "grant_type=refresh_token&refresh_token=refresh-0")
        #expect(tokens.isRevoked)
        for member in members.reversed() {
            let error = await #expect(throws: LoadingError.self) { try await member.call() }
            #expect("\(String(describing: error))".contains("invalid_grant"), "\(String(describing: error))")
        }
        // The stolen use, and that of one member.
        #expect(tokens.mostUses == 2)
        for fleet in fleets { await fleet.leave() }
    }

    @Test("fleet RD-61 signing out everywhere reaches all members, and a new sign-in too")
    func signOut() async throws {
        let server = try StoreServer.start()
        let tokens = RotatingTokens()
        let (fleets, members) = try makeMembers(2, server.url, tokens)
        #expect(await Self.callAll(members, 1) == [200, 200])
        members[0].authoriser.forget(everywhere: true)
        tokens.expire()
        for member in members { await #expect(throws: LoadingError.self) { try await member.call() } }
        #expect(tokens.refreshes == 1)
        members[0].authoriser.credentials.replace(
            with: .init(Authorisation.OAuth2.Tokens(accessToken: "old", refreshToken: "refresh-1"))
        )
        #expect(try await members[0].call() == 200)
        #expect(tokens.refreshes == 2)
        for fleet in fleets { await fleet.leave() }
    }

    @Test("fleet RD-61 signing out of one process leaves the others signed in")
    func localSignOut() async throws {
        let server = try StoreServer.start()
        let tokens = RotatingTokens()
        let (fleets, members) = try makeMembers(2, server.url, tokens)
        #expect(await Self.callAll(members, 1) == [200, 200])
        members[0].authoriser.forget()
        await #expect(throws: LoadingError.self) { try await members[0].call() }
        tokens.expire()
        #expect(try await members[1].call() == 200)
        for fleet in fleets { await fleet.leave() }
    }

    @Test("fleet RD-62 RD-128 values are as the app seals them, and one that does not open is sent nowhere")
    func sealed() async throws {
        let server = try StoreServer.start()
        let tokens = RotatingTokens()
        let reports = Locked<[String]>([])
        var settings = Fleet.Settings()
        settings.onEvent = { event in reports.withLock { $0.append(EventFacts(event).name) } }
        let seal: @Sendable (Secret) -> Secret = { Secret("sealed:" + String($0.reveal().reversed())) }
        let open: @Sendable (Secret) throws -> Secret = { text in
            guard text.reveal().hasPrefix("sealed:") else { throw LoadingError(.decoding) }
            return Secret(String(text.reveal().dropFirst(7).reversed()))
        }
        let fleets = try (0..<2).map { _ in try Fleet(server.url, settings: settings) }
        let members = try fleets.map {
            try TokenMember(try $0.credentials("tokens", seal: seal, open: open), tokens.transport()) {
                $0.refresh.deadline = .seconds(1)
            }
        }
        #expect(try await members[0].call() == 200)
        #expect(try await members[1].call() == 200)
        #expect(tokens.refreshes == 1)
        let client = StoreClient(server.path)
        let record = try #require(Self.record(client))
        let text = "\(String(describing: client.command(["HGETALL", record])))"
        #expect(!text.contains("access-1"))
        #expect(client.command(["HGET", record, "val"])?.string?.hasPrefix("sealed:") == true)

        // Another program has written into the record.
        _ = client.command(["HSET", record, "val", "plain", "v", "9000000000000000"])
        tokens.expire()
        await #expect(throws: LoadingError.self) { try await members[0].call() }
        #expect(tokens.refreshes == 1)
        #expect(reports.withLock { $0 }.contains("fleetFault"))
        for fleet in fleets { await fleet.leave() }
    }

    @Test("fleet RD-114 tokens go to a store on another machine with TLS, encryption or permission alone")
    func plain() async throws {
        var settings = Fleet.Settings()
        let fleet = try Fleet("redis://203.0.113.1/x", settings: settings)
        #expect(throws: LoadingError.self) { try fleet.credentials("tokens") }
        #expect(throws: LoadingError.self) { try fleet.credentials("a\nb") }
        _ = try fleet.credentials("tokens", seal: { $0 }, open: { $0 })
        settings.sharesTokensInPlain = true
        _ = try Fleet("redis://203.0.113.1/x", settings: settings).credentials("tokens")
        _ = try Fleet("rediss://203.0.113.1/x").credentials("tokens")
    }

    /// The key of the only record of credentials.
    private static func record(_ client: StoreClient) -> String? {
        guard case .list(let keys)? = client.command(["KEYS", "*:t:*"]), keys.count == 1 else { return nil }
        return keys[0].string
    }
}
