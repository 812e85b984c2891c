import Foundation
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting
import Testing

/// A server that counts the calls of all members in windows, and announces what is left.
private final class QuotaServer: Sendable {
    private struct State {
        var counts: [Int: Int] = [:]
        var refused: [Instant] = []
        var starts: [Instant] = []
    }

    let limit: Int
    let window: Int64
    private let state = Locked(State())

    init(limit: Int, window: Duration) { (self.limit, self.window) = (limit, window.wholeNanoseconds) }

    /// The status and the announcement for a call at an instant.
    func respond(at now: Instant) -> (status: Response.Status, headers: Headers) {
        let number = Int(now.nanoseconds / window)
        let count = state.withLock { state in
            state.starts.append(now)
            state.counts[number, default: 0] += 1
            if state.counts[number, default: 0] > limit { state.refused.append(now) }
            return state.counts[number, default: 0]
        }
        // Whole seconds, rounded up.
        let reset = ((Int64(number) + 1) * window - now.nanoseconds + 999_999_999) / 1_000_000_000
        let headers: Headers = [
            "X-RateLimit-Limit": "\(limit)", "X-RateLimit-Remaining": "\(max(0, limit - count))",
            "X-RateLimit-Reset": "\(reset)",
        ]
        return (count > limit ? 429 : 200, headers)
    }

    /// Calls of another program, which keeps the quota.
    func use(_ count: Int, at now: Instant) {
        let number = Int(now.nanoseconds / window)
        state.withLock { $0.counts[number] = max($0.counts[number] ?? 0, min(limit, ($0.counts[number] ?? 0) + count)) }
    }

    /// The calls in a window, from 0.
    func count(_ number: Int) -> Int { state.withLock { $0.counts[number] ?? 0 } }
    var refused: [Instant] { state.withLock(\.refused) }
    var starts: [Instant] { state.withLock(\.starts) }
}

/// Quotas of a server that several members keep together, in virtual time.
@Suite(.timeLimit(.minutes(30)))
struct QuotaTests {
    /// Runs callers without a pause at all members until the given second, and a script beside them.
    private func run(
        _ server: QuotaServer,
        members count: Int,
        callers: Int,
        until end: Double,
        rate: RateLimits.Rate? = nil,
        accounts: Int = 1,
        sharing: RateLimits.Sharing = .account,
        _ script: @escaping @Sendable (VirtualTime, SimulatedStore, [SimulatedMember]) async -> Void = { _, _, _ in }
    ) async throws -> SimulatedStore {
        let simulation = Simulation()
        let (time, store) = (simulation.time, simulation.store)
        let members = simulation.makeMembers(count)
        var limits = RateLimits(default: rate)
        limits.quotaSharing = sharing
        let limiters = try members.map {
            try RateLimiter(limits, time: $0.clock, random: SeededRandom(seed: 7), supply: $0)
        }
        let request = try Request("https://api.example.com/v1/x")
        try await time.runAutomatically {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for member in members { group.addTask { await member.run() } }
                for limiter in limiters {
                    for number in 0..<callers {
                        group.addTask {
                            await time.reach(1)
                            let call = Call(account: "account\(number % accounts)", time: time)
                            while !Task.isCancelled {
                                guard let slot = try? await limiter.start(request, call: call) else {
                                    // Nothing limits the first calls.
                                    await Self.exchange(request, call, server, limiter, time)
                                    continue
                                }
                                await Self.exchange(request, call, server, limiter, time, slot)
                            }
                        }
                    }
                }
                group.addTask { await script(time, store, members) }
                try await time.sleep(until: Instant(nanoseconds: Int64(end * 1e9)))
                group.cancelAll()
            }
        }
        return store
    }

    private static func exchange(
        _ request: Request,
        _ call: Call,
        _ server: QuotaServer,
        _ limiter: RateLimiter,
        _ time: VirtualTime,
        _ slot: RateLimiter.Slot? = nil
    ) async {
        try? await time.sleep(for: .milliseconds(15))
        let (status, headers) = server.respond(at: time.now)
        try? await time.sleep(for: .milliseconds(15))
        slot?.finish()
        limiter.observe(status, headers, of: request, call: call)
    }

    @Test("fleet RD-36 RD-37 eight members use 95 % of 600 calls a minute, and meet no 429")
    func steady() async throws {
        let server = QuotaServer(limit: 600, window: .seconds(60))
        let store = try await run(server, members: 8, callers: 24, until: 121)
        #expect(server.refused.isEmpty, "\(server.refused)")
        #expect(server.count(1) >= 570, "\(server.count(1))")
        #expect(Double(store.quotaAsks) / Double(server.starts.count) <= 1)
    }

    @Test("fleet RD-37 short windows are used to 80 %, without a 429")
    func short() async throws {
        let server = QuotaServer(limit: 100, window: .seconds(3))
        _ = try await run(server, members: 8, callers: 3, until: 22)
        #expect(server.refused.isEmpty, "\(server.refused)")
        for window in 2...6 { #expect(server.count(window) >= 80, "window \(window): \(server.count(window))") }
    }

    @Test("fleet RD-37 a quota that another program uses too shrinks by its use")
    func other() async throws {
        let server = QuotaServer(limit: 600, window: .seconds(60))
        _ = try await run(server, members: 8, callers: 8, until: 122) { time, _, _ in
            for second in 60..<120 {
                await time.reach(Double(second) + 0.5)
                server.use(3, at: time.now)
            }
        }
        #expect(server.refused.count <= 8, "\(server.refused)")
        #expect(server.count(1) >= 570, "\(server.count(1))")
    }

    @Test("fleet RD-37 when nothing remains, no member starts before the reset and a second")
    func usedUp() async throws {
        let server = QuotaServer(limit: 600, window: .seconds(60))
        _ = try await run(server, members: 8, callers: 8, until: 64) { time, _, _ in
            // The last calls are spread when another program uses them up.
            await time.reach(30)
            server.use(600, at: time.now)
        }
        let late = server.starts.filter { (30_800_000_000..<60_990_000_000).contains($0.nanoseconds) }
        #expect(late.isEmpty, "\(late.count)")
        #expect(server.starts.contains { $0.nanoseconds >= 61_000_000_000 })
    }

    @Test("fleet RD-36 a rate and the quotas of two accounts are kept together")
    func accounts() async throws {
        let server = QuotaServer(limit: 600, window: .seconds(60))
        _ = try await run(server, members: 4, callers: 6, until: 20, rate: .perSecond(20), accounts: 2)
        let seconds = server.starts.map { Double($0.nanoseconds) / 1e9 }.filter { $0 >= 3 && $0 < 19 }
        #expect(Double(seconds.count) <= 20 * 16 + 1, "\(seconds.count)")
        #expect(Double(seconds.count) >= 20 * 16 * 0.9, "\(seconds.count)")
    }

    @Test("fleet RD-36 a quota of all accounts is one, and members without the store divide it")
    func alone() async throws {
        let server = QuotaServer(limit: 600, window: .seconds(60))
        _ = try await run(server, members: 8, callers: 6, until: 182, accounts: 2, sharing: .service) {
            time,
            store,
            _ in
            await time.reach(63)
            store.isReachable = false
            await time.reach(126)
            store.isReachable = true
        }
        #expect(server.refused.isEmpty, "\(server.refused)")
        for window in 1...2 { #expect(server.count(window) >= 500, "window \(window): \(server.count(window))") }
    }

    @Test("fleet RD-43 RD-36 a store that is emptied gets the quota back from the next reading")
    func emptied() async throws {
        let server = QuotaServer(limit: 600, window: .seconds(60))
        _ = try await run(server, members: 8, callers: 8, until: 122) { time, store, _ in
            for second in [1.5, 20, 61.05, 62, 90] {
                await time.reach(second)
                store.flush()
            }
        }
        #expect(server.refused.count <= 8, "\(server.refused)")
        #expect(server.count(1) >= 540, "\(server.count(1))")
    }
}
