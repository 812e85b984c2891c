#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCore
import LadeTesting
import Testing

@testable import LadePolicies

/// How announced quotas are read and spent.
@Suite("Quotas", .timeLimit(.minutes(5)))
struct QuotaUseTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let events = EventRecorder()
    private let request: Request

    init() throws { request = try Request("https://svc.example.com/thing") }

    private func call(_ account: String = "") -> Call {
        Call(account: account, time: time, random: SeededRandom(seed: 1), events: [events])
    }

    private func limiter(_ limits: RateLimits = RateLimits()) throws -> RateLimiter {
        try RateLimiter(limits, time: time, random: SeededRandom(seed: 5))
    }

    private func headers(_ limit: Int?, _ remaining: Int, _ reset: Int) -> Headers {
        var headers: Headers = ["X-RateLimit-Remaining": String(remaining), "X-RateLimit-Reset": String(reset)]
        if let limit { headers["X-RateLimit-Limit"] = String(limit) }
        return headers
    }

    // MARK: - LF-4

    private var ignored: [String] {
        events.events.compactMap { if case .valueIgnored(let name, let value) = $0 { "\(name)=\(value)" } else { nil } }
    }

    @Test(
        "finding LF-4 the reset of an exhausted quota is read whole, as a date or a duration",
        arguments: [
            ("5", 5), ("2.5", 2.5), ("5m0s", 300), ("1h30m", 5_400), ("2026-01-01T00:00:05Z", 5),
            ("2026-01-01T01:00:05+01:00", 5), ("Thu, 01 Jan 2026 00:00:05 GMT", 5), ("1767225605", 5),
            ("1767225605000", 5),
        ] as [(String, Double)]
    )
    func resets(text: String, seconds: Double) throws {
        let limiter = try limiter()

        limiter.observe(200, ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": text], of: request, call: call())

        // Servers round, so calls wait for one second more; and no longer than FP-4 allows.
        let wait = try #require(limiter.estimatedWait(for: ServiceKey(request)))
        #expect(wait == min(.seconds(seconds), .seconds(3_600)) + .seconds(1))
        #expect(ignored.isEmpty)
    }

    @Test(
        "finding LF-4 what is not understood whole gives no reading, and an event that shows it",
        arguments: [
            ("X-RateLimit-Reset", "5x"), ("X-RateLimit-Reset", "5m0"), ("X-RateLimit-Reset", "2026-01-01T00:00:05"),
            ("X-RateLimit-Reset", "-5"), ("X-RateLimit-Reset", "soon"), ("X-RateLimit-Reset", "5, 6"),
            ("X-RateLimit-Remaining", "1,000"), ("X-RateLimit-Remaining", "0 calls"), ("X-RateLimit-Remaining", "+0"),
            ("X-RateLimit-Remaining", "0x0"), ("RateLimit", "remaining 0"),
        ]
    )
    func notUnderstood(name: String, value: String) throws {
        let limiter = try limiter()
        var headers: Headers = ["X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "30"]
        if name == "RateLimit" { headers = Headers() }
        headers[name] = value

        limiter.observe(200, headers, of: request, call: call())

        #expect(limiter.estimatedWait(for: ServiceKey(request)) == .zero)
        #expect(ignored == ["\(name)=\(value)"])
    }

    @Test(
        "finding LF-4 a Retry-After that is not understood is an event, and no delay",
        arguments: ["5x", "1,000", "2026-01-01T00:00:05Z", "1.5", "-1", "soon"]
    )
    func retryAfter(text: String) async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": text])).then(.status(200))
        var policy = RetryPolicy()
        policy.backoff = .none
        let chain = Chain([AttemptInterceptor(retries: policy, budget: RetryBudget())], transport: transport)
        let (request, call, time) = (request, call(), time)

        let response = try await time.runAutomatically { try await chain.send(request, call: call) }

        #expect(response.status == 200)
        #expect(time.now == Instant(nanoseconds: 0))
        #expect(ignored == ["Retry-After=\(text)"])
    }

    // MARK: - LF-7

    @Test(
        "finding LF-7 policies PL-23 calls go at once while much of a quota is left",
        arguments: [(5_000, true), (5_000, false), (60, true), (60, false)]
    )
    func atOnce(limit: Int, isAnnounced: Bool) async throws {
        let used = Locked(0)
        transport.onAnyRequest().respond(
            .computed { _, _ in
                let count = used.withLock { used in
                    used += 1
                    return used
                }
                return .status(200, headers: headers(isAnnounced ? limit : nil, limit - count, 3_600))
            }
        )
        let chain = Chain(
            [HopInterceptor(deadlines: DeadlineSettings()), ExchangeInterceptor(limiter: try limiter())],
            transport: transport
        )
        let (request, time, call) = (request, time, call())

        try await time.runAutomatically {
            for _ in 0..<30 { _ = try await chain.send(request, call: call) }
        }

        #expect(time.now == Instant(nanoseconds: 0))
        #expect(!events.story.contains { $0.contains("rateAdjusted") })
    }

    @Test("finding LF-7 at once also for thirty calls together")
    func together() async throws {
        transport.onAnyRequest().respond(.status(200, headers: headers(5_000, 4_900, 3_600)))
        let chain = Chain([ExchangeInterceptor(limiter: try limiter())], transport: transport)
        let (request, time, call) = (request, time, call())

        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<30 { group.addTask { _ = try? await chain.send(request, call: call) } }
            }
        }

        #expect(time.now == Instant(nanoseconds: 0))
        #expect(transport.requests.count == 30)
    }

    @Test(
        "finding LF-7 the last tenth, and at least five calls, are spread over the rest of the window",
        arguments: [(100, 10, 11), (100, 11, 0), (60, 6, 7), (60, 7, 0), (20, 5, 6), (20, 6, 0), (1, 1, 2)]
    )
    func spreads(limit: Int, remaining: Int, parts: Int) throws {
        let limiter = try limiter()
        limiter.observe(200, headers(limit, remaining, 660), of: request, call: call())

        let wait = try #require(limiter.estimatedWait(for: ServiceKey(request)))

        let share = parts == 0 ? Duration.zero : .seconds(660) / parts
        #expect(wait <= share && share - wait < .microseconds(1))
    }

    @Test("finding LF-7 how much is spread is a setting")
    func settings() throws {
        var limits = RateLimits()
        (limits.quotaReserve, limits.quotaReserveCalls) = (0.5, 0)
        let half = try limiter(limits)
        half.observe(200, headers(100, 50, 51), of: request, call: call())
        (limits.quotaReserve, limits.quotaReserveCalls) = (0, 0)
        let none = try limiter(limits)
        none.observe(200, headers(100, 1, 51), of: request, call: call())

        #expect(half.estimatedWait(for: ServiceKey(request)) == .seconds(1))
        #expect(none.estimatedWait(for: ServiceKey(request)) == .zero)
    }

    @Test(
        "finding LF-7 a pace delays a call by half of the time that it has at most, and never fails it",
        arguments: [1, 3, 5]
    )
    func patience(remaining: Int) async throws {
        let limiter = try limiter()
        limiter.observe(200, headers(60, remaining, 3_600), of: request, call: call())
        transport.onAnyRequest().respond(.status(200))
        let chain = Chain(
            [HopInterceptor(deadlines: DeadlineSettings()), ExchangeInterceptor(limiter: limiter)],
            transport: transport
        )
        let (request, time, call) = (request, time, call())

        let response = try await time.runAutomatically { try await chain.send(request, call: call) }

        #expect(response.status == 200)
        #expect(time.now == Instant(nanoseconds: 30_000_000_000))
    }

    @Test("finding LF-7 several calls that a pace delays are all sent")
    func patienceOfMany() async throws {
        let limiter = try limiter()
        limiter.observe(200, headers(60, 5, 3_600), of: request, call: call())
        transport.onAnyRequest().respond(.status(200))
        let chain = Chain(
            [HopInterceptor(deadlines: DeadlineSettings()), ExchangeInterceptor(limiter: limiter)],
            transport: transport
        )
        let (request, time, call) = (request, time, call())

        let sent = await time.runAutomatically {
            await withTaskGroup(of: Bool.self) { group in
                for _ in 0..<5 { group.addTask { (try? await chain.send(request, call: call)) != nil } }
                return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
        }

        #expect(sent == 5)
        #expect(time.now == Instant(nanoseconds: 30_000_000_000))
    }

    @Test("finding LF-7 an exhausted quota holds until its reset, and fails a call at once that cannot wait so long")
    func exhausted() async throws {
        let limiter = try limiter()
        limiter.observe(200, headers(60, 0, 20), of: request, call: call())
        let other = try Request("https://svc.example.com/other/thing")
        limiter.observe(200, headers(60, 0, 600), of: other, call: call())
        transport.onAnyRequest().respond(.status(200))
        let chain = Chain(
            [HopInterceptor(deadlines: DeadlineSettings()), ExchangeInterceptor(limiter: limiter)],
            transport: transport
        )
        let (request, time, call) = (request, time, call())

        await #expect(throws: LoadingError.self) { try await chain.send(other, call: call) }
        #expect(time.now == Instant(nanoseconds: 0))
        _ = try await time.runAutomatically { try await chain.send(request, call: call) }
        #expect(time.now == Instant(nanoseconds: 21_000_000_000))
    }

    @Test("finding LF-7 after its reset a known quota is used at once again")
    func renewed() async throws {
        let server = QuotaServer(quota: 100, window: 60, .up)
        transport.onAnyRequest().respond(.computed { _, call in server.answer(at: call.time.now) })
        let chain = Chain([ExchangeInterceptor(limiter: try limiter())], transport: transport)
        let (request, time, call) = (request, time, call())

        try await time.runAutomatically {
            while server.windows.count < 3 { _ = try await chain.send(request, call: call) }
            for _ in 0..<80 { _ = try await chain.send(request, call: call) }
        }

        #expect(server.windows.allSatisfy { $0.refused == 0 })
        #expect(time.now < Instant(nanoseconds: 122_000_000_000))
    }

    // MARK: - QF-2

    @Test(
        "finding QF-2 a quota that is used up is not forgotten when idle services are swept",
        arguments: [RateLimits.Sharing.account, .service]
    )
    func sweeping(sharing: RateLimits.Sharing) throws {
        var limits = RateLimits()
        limits.idleKeyLimit = 16
        limits.quotaSharing = sharing
        let limiter = try limiter(limits)
        limiter.observe(200, headers(60, 0, 600), of: request, call: call("alice"))

        for number in 0..<40 {
            let other = try Request("https://svc\(number).example.com/thing")
            limiter.observe(200, headers(60, 50, 1), of: other, call: call("alice"))
            time.advance(by: .seconds(3))
        }

        let wait = try #require(limiter.estimatedWait(for: ServiceKey(request), account: "alice"))
        #expect(wait > .seconds(400))
        #expect(limiter.keyCount < 40)
    }
}
