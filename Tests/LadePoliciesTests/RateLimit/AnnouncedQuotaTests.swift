#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeTesting
import Testing

@testable import LadePolicies

/// The quotas that servers announce, and their effect.
@Suite(.timeLimit(.minutes(5)))
struct AnnouncedQuotaTests {
    private let time = VirtualTime()
    private let request: Request
    private let key: ServiceKey

    init() throws {
        request = try Request("https://svc.example.com/thing")
        key = ServiceKey(request)
    }

    private func limiter(_ limits: RateLimits = RateLimits()) throws -> RateLimiter {
        try RateLimiter(limits, time: time, random: SeededRandom(seed: 5))
    }

    private func call(_ account: String = "", _ number: UInt64 = 1) -> Call {
        Call(id: .init(number), account: account, time: time, random: SeededRandom(seed: number))
    }

    /// The time that a call of an account waits for its slot.
    private func wait(_ limiter: RateLimiter, _ account: String = "") async throws -> Duration {
        let (call, request, time) = (call(account), request, time)
        return try await time.runAutomatically {
            let start = time.now
            try await limiter.start(request, call: call)?.finish()
            return start.duration(to: time.now)
        }
    }

    // MARK: - Bounds

    @Test(
        "finding FP-4 an announced quota holds calls for an hour at most, or as long as the setting says",
        arguments: [
            ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "2678400"],
            ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "60000000"],
            ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1769904000"],
            ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1769904000000"],
            ["RateLimit": #""default";r=0;t=999999999999"#],
            ["RateLimit": #""default";r=0"#, "RateLimit-Policy": #""default";q=1;w=999999999"#],
            ["RateLimit": "limit=1, remaining=0, reset=999999999"],
        ],
        [nil, Duration.seconds(60)]
    )
    func boundsQuotas(fields: [String: String], limit: Duration?) throws {
        var limits = RateLimits()
        if let limit { limits.quotaLimit = limit }
        let limiter = try limiter(limits)

        limiter.observe(200, Headers(fields.map { ($0.key, $0.value) }), of: request, call: call())

        let wait = try #require(limiter.estimatedWait(for: key))
        #expect(wait > (limit ?? .seconds(3600)) - .seconds(1) && wait <= (limit ?? .seconds(3600)) + .seconds(1))
    }

    @Test("finding FP-4 the program can clear what a server announced, and waiting calls start")
    func clearsQuotas() async throws {
        let limiter = try limiter()
        let fields: Headers = ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1800"]
        let (request, time) = (request, time)
        limiter.observe(200, fields, of: request, call: call())
        let waiting = Task { [call = call()] in
            try await limiter.start(request, call: call)?.finish()
            return time.now
        }
        _ = try await time.nextSleeper()

        limiter.clearQuota(of: ServiceKey("another"))
        #expect(limiter.waitingCount == 1)
        limiter.clearQuota(of: key)

        #expect(try await waiting.value == Instant(nanoseconds: 0))
        #expect(limiter.estimatedWait(for: key) == .zero)
    }

    // MARK: - Use

    @Test(
        "finding FP-11 a serial caller uses at least 95 % of any quota and meets no 429",
        arguments: [1, 2, 3, 10, 100],
        [QuotaServer.Rounding.down, .up, .exact]
    )
    func usesQuotas(quota: Int, rounding: QuotaServer.Rounding) async throws {
        let server = QuotaServer(quota: quota, window: 10, rounding)
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(
            .computed { _, call in server.answer(at: call.time.now).after(.milliseconds(30)) }
        )
        let chain = Chain([ExchangeInterceptor(limiter: try limiter())], transport: transport)
        let (time, request) = (time, request)

        await time.runAutomatically {
            while time.now < Instant(nanoseconds: 21 * 10 * 1_000_000_000) {
                _ = try? await chain.send(request, call: Call(time: time))
            }
        }

        let windows = server.windows[1...20]
        #expect(windows.allSatisfy { $0.refused == 0 }, "\(windows)")
        #expect(Double(windows.reduce(0) { $0 + $1.served }) >= 0.95 * 20 * Double(quota), "\(windows)")
    }

    // MARK: - Accounts

    @Test("finding FP-13 an announced quota holds the account that it was announced to, and no other")
    func keepsAccountsApart() async throws {
        let limiter = try limiter()
        let fields: Headers = ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "20"]

        limiter.observe(200, fields, of: request, call: call("alice"))

        #expect(try await wait(limiter, "bob") == .zero)
        #expect(try await wait(limiter) == .zero)
        #expect(try await wait(limiter, "alice") >= .seconds(20))
    }

    @Test(
        "finding PT-6 a slot that is not used returns its part of an announced quota, the account's and the service's",
        arguments: [RateLimits.Sharing.account, .service]
    )
    func returnsQuota(sharing: RateLimits.Sharing) async throws {
        var limits = RateLimits()
        limits.quotaSharing = sharing
        // Calls are not spread over the window: the last one of the quota starts immediately.
        (limits.quotaReserve, limits.quotaReserveCalls) = (0, 0)
        let limiter = try limiter(limits)
        let fields: Headers = ["X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "1", "X-RateLimit-Reset": "20"]
        limiter.observe(200, fields, of: request, call: call("alice"))
        let (time, request, call) = (time, request, call("alice"))

        let starts = try await time.runAutomatically {
            var starts: [Instant] = []
            // The last call of the quota is cancelled before it is sent, then another one is sent, then a third waits.
            for isUnused in [true, false, false] {
                let slot = try await limiter.start(request, call: call)
                starts.append(time.now)
                slot?.finish(isUnused: isUnused)
            }
            return starts
        }

        #expect(starts[0] == Instant(nanoseconds: 0) && starts[1] == starts[0])
        #expect(starts[2] >= Instant(nanoseconds: 19_000_000_000))
    }

    @Test("finding FP-13 calls of other accounts overtake the one whose quota is used up, in their order")
    func passesHeldAccounts() async throws {
        let limiter = try limiter(RateLimits(default: .perSecond(1)))
        let (request, time) = (request, time)
        let fields: Headers = ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "20"]
        limiter.observe(200, fields, of: request, call: call("alice"))
        let order = Locked<[String]>([])

        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for (number, account) in ["alice", "bob", "alice", "carol", "bob"].enumerated() {
                    let call = Call(id: .init(UInt64(number + 1)), account: account, time: time)
                    group.addTask {
                        guard let slot = try? await limiter.start(request, call: call) else { return }
                        let second = time.now.nanoseconds / 1_000_000_000
                        order.withLock { $0.append("\(account) \(second)") }
                        slot.finish()
                    }
                }
            }
        }

        #expect(order.withLock { $0 } == ["bob 0", "carol 1", "bob 2", "alice 21", "alice 22"])
    }

    @Test("finding FP-13 Retry-After and the program's rates hold every account of a service")
    func sharesTheRest() async throws {
        let limiter = try limiter()
        limiter.observe(503, ["Retry-After": "7"], of: request, call: call("alice"))
        #expect(try await wait(limiter, "bob") >= .seconds(7))

        let rated = try self.limiter(RateLimits(default: .perSecond(1)))
        #expect(try await wait(rated, "alice") == .zero)
        #expect(try await wait(rated, "bob") == .seconds(1))
    }

    @Test("finding FP-13 a setting makes quotas count for the service, or Retry-After for the account")
    func changesSharing() async throws {
        var limits = RateLimits()
        limits.quotaSharing = .service
        limits.delaySharing = .account
        let limiter = try limiter(limits)

        limiter.observe(429, ["Retry-After": "7"], of: request, call: call("alice"))
        #expect(try await wait(limiter, "bob") == .zero)
        #expect(try await wait(limiter, "alice") >= .seconds(7))

        let fields: Headers = ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "20"]
        limiter.observe(200, fields, of: request, call: call("alice"))
        #expect(try await wait(limiter, "bob") >= .seconds(20))
    }

    // MARK: - Slots

    @Test("finding FQ-17 a slot whose call is cancelled when it gets it goes to the next call at the same instant")
    func passesUnusedSlots() async throws {
        let limiter = try limiter(RateLimits(default: .perSecond(1)))
        let (request, time) = (request, time)
        try await limiter.start(request, call: call())?.finish()
        // The event that ends its wait also cancels its task: after the grant and before it is used.
        let scope = Call.Scope()
        let cancelling = Cancelling(scope)
        var cancelled = Call(id: .init(2), time: time, events: [cancelling])
        cancelled.scope = scope
        let first = Task { [cancelled] in try await limiter.start(request, call: cancelled)?.finish() }
        _ = try await time.nextSleeper()
        let second = Task { [call = call("", 3)] in
            try await limiter.start(request, call: call)?.finish()
            return time.now
        }
        while limiter.waitingCount < 2 { await Task.yield() }

        try await time.advanceToNextSleeper()

        guard case .failure(let error as LoadingError) = await first.result, error.isCancellation else {
            Issue.record("It was not cancelled")
            return
        }
        #expect(try await second.value == Instant(nanoseconds: 1_000_000_000))
    }
}

/// Cancels its call when one of its waits has ended.
private struct Cancelling: Call.Observer {
    let scope: Call.Scope
    init(_ scope: Call.Scope) { self.scope = scope }

    func record(_ event: Call.Event, of call: Call) {
        if case .waitEnded = event { scope.cancel() }
    }
}
