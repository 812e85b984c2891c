import Foundation
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting
import SharedDoubles
import Testing

/// The store of credentials in virtual time.
final class SimulatedRecord: CredentialStore {
    private struct State {
        var model = CredentialModel()
        var isReachable = true
        var offset = 1.7e15
        var born = 1.6e15
        var sharers: [Int: (rules: CredentialRules, offer: @Sendable (Instant) -> CredentialOrder?)] = [:]
        var receivers: [Int: @Sendable (CredentialReply) -> Void] = [:]
        var last = 0
        var orders: [CredentialOrder] = []
        var dead: Set<Int> = []
        var stopped: Set<Int> = []
    }

    private let state = Locked(State())
    private let time: VirtualTime
    private let tasks = Locked<[Task<Void, Never>]>([])
    private static let delay = Duration.milliseconds(1)

    init(_ time: VirtualTime) { self.time = time }

    var isReachable: Bool {
        get { state.withLock(\.isReachable) }
        set { state.withLock { $0.isReachable = newValue } }
    }

    var orders: [CredentialOrder] { state.withLock(\.orders) }
    var model: CredentialModel { state.withLock(\.model) }

    /// The orders of a sharer do not arrive any more: its process has ended.
    func kill(_ sharer: Int) { state.withLock { _ = $0.dead.insert(sharer) } }

    /// The orders of a sharer arrive when its process continues.
    func stop(_ sharer: Int) { state.withLock { _ = $0.stopped.insert(sharer) } }
    func resume(_ sharer: Int) { state.withLock { _ = $0.stopped.remove(sharer) } }

    func attach(
        _ rules: CredentialRules,
        offer: @escaping @Sendable (Instant) -> CredentialOrder?,
        receive: @escaping @Sendable (CredentialReply) -> Void
    ) -> Int {
        state.withLock { state in
            state.last += 1
            state.sharers[state.last] = (rules, offer)
            state.receivers[state.last] = receive
            return state.last
        }
    }

    func detach(_ sharer: Int) {}
    func touch() {}

    func carryOut(
        _ order: CredentialOrder,
        for sharer: Int,
        _ receive: @escaping @Sendable (CredentialReply?, Instant, Instant) -> Void
    ) {
        let sent = time.now
        let task = Task(executorPreference: TaskExecutors.current) { [self] in
            repeat {
                guard (try? await time.sleep(for: Self.delay)) != nil else { return }
            } while state.withLock { $0.stopped.contains(sharer) }
            let now = time.now
            let (reply, isDead) = state.withLock { state -> (CredentialReply?, Bool) in
                guard !state.dead.contains(sharer) else { return (nil, true) }
                guard state.isReachable, let rules = state.sharers[sharer]?.rules else { return (nil, false) }
                state.orders.append(order)
                let me = "m\(sharer) i\(sharer)"
                let arguments = SharedRecord(name: "t", sharer: 1, rules: rules).arguments(of: order, me: me)
                let micros = (state.offset + Double(now.nanoseconds) / 1_000).rounded()
                let reply = state.model.run(
                    arguments,
                    now: micros,
                    born: state.born,
                    members: state.sharers.keys.map { "m\($0) i\($0)" }
                )
                return (CredentialReply(reply), false)
            }
            if !isDead { receive(reply, sent, now) }
        }
        tasks.withLock { $0.append(task) }
    }

    func end() { for task in tasks.withLock(\.self) { task.cancel() } }
}

/// Shared tokens in virtual time.
@Suite(.timeLimit(.minutes(5)))
struct SharedRefreshTests {
    private let time = VirtualTime()

    private func makeMembers(
        _ count: Int,
        _ tokens: RotatingTokens,
        _ record: SimulatedRecord,
        isReusable: Bool? = nil,
        events: [any Call.Observer] = [],
        before: @escaping @Sendable (Int) async throws(LoadingError) -> Void = { _ in }
    ) throws -> [TokenMember] {
        try (1...count).map { number in
            let transport = tokens.transport { () async throws(LoadingError) in try await before(number) }
            let sharing = Authorisation.Sharing(store: record, isReusable: isReusable)
            return try TokenMember(sharing, transport, time: time, events: events)
        }
    }

    @Test("fleet RD-52 RD-53 members wait for the holder, and use its token; it is renewed 150 s before its end")
    func renewal() async throws {
        let (tokens, record) = (RotatingTokens(life: 600), SimulatedRecord(time))
        let members = try makeMembers(3, tokens, record) { [time] _ throws(LoadingError) in
            try await time.sleep(for: .seconds(2))
        }
        try await time.runAutomatically { () async throws -> Void in
            for member in members { #expect(try await member.call() == 200) }
            #expect(tokens.refreshes == 1)
            try await time.sleep(for: .seconds(452))
            // The token is in use still, and renewed beside the calls.
            let start = time.now
            for member in members { #expect(try await member.call() == 200) }
            #expect(start.duration(to: time.now) < .seconds(1))
            try await time.sleep(for: .seconds(4))
            for member in members { #expect(try await member.call() == 200) }
        }
        #expect(tokens.refreshes == 2)
        #expect(tokens.mostUses == 1)
    }

    @Test("fleet RD-53 a program that ends with its call renews no token beside it")
    func notAhead() async throws {
        let (tokens, record) = (RotatingTokens(life: 600), SimulatedRecord(time))
        let sharing = Authorisation.Sharing(store: record, isReusable: nil)
        let member = try TokenMember(sharing, tokens.transport(), time: time) { $0.refresh.ahead = .zero }
        try await time.runAutomatically { () async throws -> Void in
            #expect(try await member.call() == 200)
            try await time.sleep(for: .seconds(590))
            #expect(try await member.call() == 200)
            #expect(tokens.refreshes == 1)
            try await time.sleep(for: .seconds(20))
            #expect(try await member.call() == 200)
        }
        #expect(tokens.refreshes == 2)
    }

    @Test(
        "fleet RD-54 RD-127 a holder that dies before sending is replaced after its lease, and no token is used twice"
    )
    func killedBefore() async throws {
        let (tokens, record) = (RotatingTokens(), SimulatedRecord(time))
        let members = try makeMembers(2, tokens, record)
        try await time.runAutomatically { () async throws -> Void in
            // The first member gets the lease, and never marks it.
            let first = Task { try? await members[0].call(deadline: .seconds(1)) }
            while !record.orders.contains(where: { if case .take = $0 { true } else { false } }) {
                try await time.sleep(for: .milliseconds(1))
            }
            record.kill(1)
            _ = await first.value
            let start = time.now
            #expect(try await members[1].call() == 200)
            #expect((.seconds(38) ... .seconds(41)).contains(start.duration(to: time.now)))
        }
        #expect(tokens.mostUses == 1 && tokens.refreshes == 1)
    }

    @Test(
        "fleet RD-54 RD-127 a holder that dies after sending is replaced after its doubt, and the token is sent once more",
        arguments: [false, true]
    )
    func killedDuring(hasArrived: Bool) async throws {
        let (tokens, record) = (RotatingTokens(toleratesReuse: true), SimulatedRecord(time))
        let events = EventRecorder()
        let members = try makeMembers(2, tokens, record, events: [events]) { number throws(LoadingError) in
            guard number == 1 else { return }
            if hasArrived { _ = tokens.respond(to: "grant_type=refresh_token&refresh_token=refresh-0") }
            record.kill(1)
            throw LoadingError(.cancelled)
        }
        try await time.runAutomatically { () async throws -> Void in
            _ = try? await members[0].call(deadline: .seconds(1))
            let start = time.now
            #expect(try await members[1].call() == 200)
            // The lease of 40 s and the doubt of 60 s.
            #expect((.seconds(97) ... .seconds(101)).contains(start.duration(to: time.now)))
        }
        #expect(tokens.mostUses == (hasArrived ? 2 : 1))
        #expect(events.events.contains { if case .refreshInDoubt = $0 { true } else { false } })
    }

    @Test("fleet RD-55 credentials that may be used again are taken over after the lease")
    func reusable() async throws {
        let (tokens, record) = (RotatingTokens(toleratesReuse: true), SimulatedRecord(time))
        let members = try makeMembers(2, tokens, record, isReusable: true) { number throws(LoadingError) in
            guard number == 1 else { return }
            record.kill(1)
            throw LoadingError(.cancelled)
        }
        try await time.runAutomatically { () async throws -> Void in
            _ = try? await members[0].call(deadline: .seconds(1))
            let start = time.now
            #expect(try await members[1].call() == 200)
            #expect((.seconds(38) ... .seconds(41)).contains(start.duration(to: time.now)))
        }
    }

    @Test("fleet RD-56 a late result is used by all while no newer one is there")
    func late() async throws {
        let (tokens, record) = (RotatingTokens(), SimulatedRecord(time))
        let members = try makeMembers(2, tokens, record) { [time] number throws(LoadingError) in
            guard number == 1 else { return }
            // The process is stopped while its request is on the way: its own time-out does not run.
            record.stop(1)
            try await time.sleep(for: .seconds(25))
            Task(executorPreference: TaskExecutors.current) {
                try? await time.sleep(for: .seconds(4))
                record.resume(1)
            }
        }
        try await time.runAutomatically { () async throws -> Void in
            _ = try? await members[0].call(deadline: .seconds(1))
            let start = time.now
            #expect(try await members[1].call() == 200)
            #expect(start.duration(to: time.now) < .seconds(40))
        }
        #expect(tokens.mostUses == 1 && tokens.refreshes == 1)
    }

    @Test("fleet RD-56 a refusal after a take-over is final when no late result has come for 60 s")
    func refusedTakeOver() async throws {
        let (tokens, record) = (RotatingTokens(), SimulatedRecord(time))
        let members = try makeMembers(2, tokens, record) { number throws(LoadingError) in
            guard number == 1 else { return }
            _ = tokens.respond(to: "grant_type=refresh_token&refresh_token=refresh-0")
            record.kill(1)
            throw LoadingError(.cancelled)
        }
        try await time.runAutomatically { () async throws -> Void in
            _ = try? await members[0].call(deadline: .seconds(1))
            let start = time.now
            let error = await #expect(throws: LoadingError.self) { try await members[1].call() }
            #expect("\(String(describing: error))".contains("invalid_grant"), "\(String(describing: error))")
            #expect((.seconds(157) ... .seconds(162)).contains(start.duration(to: time.now)))
        }
    }

    @Test("fleet RD-64 the token of a source is shared, and the source is asked once")
    func bearer() async throws {
        let record = SimulatedRecord(time)
        let asked = Locked(0)
        let scope = try Authorisation.Scope("https://api.test/")
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.status(200))
        let chains = (0..<3).map { _ in
            let sharing = Authorisation.Sharing(store: record, isReusable: nil)
            let bearer = Authorisation.Bearer(scope: scope, sharing: sharing) { _, _ in
                let number = asked.withLock { count in
                    count += 1
                    return count
                }
                return .init(Secret("token-\(number)"), end: .after(.seconds(600)))
            }
            return Chain([AttemptInterceptor(authorisers: [bearer])], transport: transport)
        }
        try await time.runAutomatically { () async throws -> Void in
            for chain in chains { _ = try await chain.send(Request("https://api.test/x"), call: Call(time: time)) }
        }
        #expect(asked.withLock(\.self) == 1)
        #expect(transport.received.allSatisfy { $0.request.headers["Authorization"] == "Bearer token-1" })
    }

    @Test("fleet RD-59 RD-06 without the store a token that may be used once waits for it until the deadline")
    func unreachable() async throws {
        let (tokens, record) = (RotatingTokens(), SimulatedRecord(time))
        let members = try makeMembers(1, tokens, record)
        try await time.runAutomatically { () async throws -> Void in
            record.isReachable = false
            let start = time.now
            let error = await #expect(throws: LoadingError.self) { try await members[0].call() }
            #expect("\(String(describing: error))".contains("does not respond"))
            #expect((.seconds(30) ... .seconds(31)).contains(start.duration(to: time.now)))
            #expect(tokens.refreshes == 0)
            record.isReachable = true
            #expect(try await members[0].call() == 200)
        }
    }

    @Test("fleet RD-60 at most five refreshes in 30 s start in the fleet")
    func excess() async throws {
        let (tokens, record) = (RotatingTokens(), SimulatedRecord(time))
        let members = try makeMembers(3, tokens, record)
        try await time.runAutomatically { () async throws -> Void in
            for round in 0..<5 {
                // The first call may get a token of the store that the server refuses too.
                _ = try await members[round % 3].call()
                #expect(try await members[round % 3].call() == 200)
                tokens.expire()
            }
            _ = try? await members[2].call()
            let error = await #expect(throws: LoadingError.self) { try await members[2].call() }
            guard case .authorisationFailed(let fault)? = error?.kind, case .excessiveRefresh = fault.cause else {
                Issue.record("\(String(describing: error))")
                return
            }
            try await time.sleep(for: .seconds(31))
            #expect(try await members[1].call() == 200)
        }
        #expect(tokens.refreshes == 6)
    }

    @Test("fleet RD-63 the end of a token is an instant of the store, whatever the clocks of the members say")
    func ends() async throws {
        let rules = CredentialRules(Authorisation.RefreshSettings(), isReusable: false, hasUser: true)
        var refresh = SharedRefresh(rules, have: 0, value: nil, now: Instant(nanoseconds: 0))
        _ = refresh.begin()
        let record = CredentialRecord(version: 5, value: "t", life: .seconds(100))
        let sent = Instant(nanoseconds: 7)
        let action = refresh.reply(.use(record), sent: sent, now: Instant(nanoseconds: 3_000_000_000))
        // Not from the arrival of the reply, which may be late.
        #expect(action == .use("t", version: 5, end: sent.advanced(by: .seconds(100)), isOwn: false))
    }

    @Test("fleet RD-53 a member that was stopped between its mark and its request sends nothing")
    func stale() {
        let rules = CredentialRules(Authorisation.RefreshSettings(), isReusable: false, hasUser: true)
        let start = Instant(nanoseconds: 0)
        var refresh = SharedRefresh(rules, have: 0, value: "old", now: start)
        _ = refresh.begin()
        #expect(
            refresh.reply(.lease(fence: 9, version: 3, "base"), sent: start, now: start) == .send(.sending(fence: 9))
        )
        let action = refresh.reply(.done, sent: start, now: start.advanced(by: .seconds(30)))
        guard case .send(.take) = action else {
            Issue.record("\(action)")
            return
        }
    }

    @Test("fleet RD-111 replies at random end no process, and no text of the store becomes a field")
    func fuzzed() throws {
        let random = SeededRandom(seed: Soak.current.seed(for: "SharedRefreshTests.fuzzed"))
        let words = [
            "use", "wait", "lease", "failed", "out", "excess", "done", "refused", "", "x", "-1", "1e300", "nan", "12",
            "user \u{1B}[2J",
        ]
        let rules = CredentialRules(Authorisation.RefreshSettings(), isReusable: false, hasUser: true)
        for _ in 0..<Soak.current.rounds(of: 1_000_000, few: 20_000) {
            let items = (0..<Int(random.next() % 7)).map { _ in
                StoreReply.text(Array(words[Int(random.next() % UInt64(words.count))].utf8))
            }
            let reply = CredentialReply(.list(items))
            if case .failed(let failure, _) = reply { #expect(!failure.detail.contains("\u{1B}")) }
            var refresh = SharedRefresh(rules, have: 1, value: "t", now: time.now)
            _ = refresh.begin()
            _ = refresh.reply(reply, sent: time.now, now: time.now)
            _ = refresh.reply(reply, sent: time.now, now: time.now)
        }
    }
}
