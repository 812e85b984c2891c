#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCallbacks
import LadeCore
import LadePolicies
import LadeTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RateLimitInterceptorTests {
    let transport = ScriptedTransport()
    let time = VirtualTime()
    let events = EventRecorder()
    let request: Request
    let key: ServiceKey

    init() throws {
        request = try Request("https://svc.example.com/thing")
        key = ServiceKey(request)
    }

    private func call(_ number: UInt64 = 1) -> Call {
        Call(id: .init(number), time: time, random: SeededRandom(seed: number), events: [events])
    }

    private func limiter(_ limits: RateLimits = RateLimits()) throws -> RateLimiter {
        try RateLimiter(limits, time: time, random: SeededRandom(seed: 5))
    }

    @Test(
        "service AT-05 hears Retry-After with any status when set up as SPTDataLoader is, and with 429 and 503 only otherwise"
    )
    func hearsRetryAfter() async throws {
        transport.onAnyRequest().respond(.status(200, headers: ["Retry-After": "60"]))
        let reference = try limiter(.dataLoader)
        #expect(!RateLimits.dataLoader.respectsQuotas && RateLimits().respectsQuotas)
        let own = try limiter()
        _ = try await Chain([ExchangeInterceptor(limiter: reference)], transport: transport).send(request, call: call())
        _ = try await Chain([ExchangeInterceptor(limiter: own)], transport: transport).send(request, call: call())
        #expect(try #require(reference.estimatedWait(for: key)) >= .seconds(60))
        #expect(try #require(reference.estimatedWait(for: key)) < .seconds(61))
        #expect(own.estimatedWait(for: key) == .zero)
    }

    @Test(
        "policies PL-22 closes the gate for a refusal, even when its body fails, and reports it",
        arguments: [429, 503]
    )
    func closesTheGate(code: Int) async throws {
        transport.onAnyRequest()
            .respond(.status(Response.Status(code), headers: ["Retry-After": "30"], "busy").breaking(after: 2))
        let limiter = try limiter()
        let chain = Chain([ExchangeInterceptor(limiter: limiter)], transport: transport)
        _ = try? await chain.send(request, call: call())
        #expect(limiter.estimatedWait(for: key) == .seconds(30))
        #expect(
            events.story.contains {
                $0.hasPrefix("gateClosed(key: \"svc.example.com:443/thing\", for: 30.0 seconds, status: \(code))")
            }
        )
    }

    @Test(
        "policies PL-22 sends nothing for 30 s after one 503, to 1,000 callers, and then at the rate or spread out",
        arguments: [nil, RateLimits.Rate.perSecond(50, burst: 10)]
    )
    func holdsEverybody(rate: RateLimits.Rate?) async throws {
        let (time, request) = (time, request)
        let transport = transport
        transport.onAnyRequest()
            .respond(
                .computed { _, call in
                    call.id.number == 7 ? .status(503, headers: ["Retry-After": "30"]) : .text("late")
                }
            )
        let limiter = try limiter(RateLimits(default: rate))
        let chain = Chain([ExchangeInterceptor(limiter: limiter)], transport: transport)
        let sent = Locked<[Instant]>([])
        let counting = Chain([ExchangeInterceptor(limiter: limiter), Stamp(sent)], transport: transport)
        _ = try await chain.send(request, call: call(7))
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for number in UInt64(1_000)..<2_000 {
                    group.addTask {
                        // They arrive during the delay, and a late success of an earlier call does not end it.
                        try? await time.sleep(for: .milliseconds(Int64(number % 100) * 300))
                        limiter.observe(200, [:], of: request, call: Call(time: time))
                        _ = try? await counting.send(request, call: Call(id: .init(number), time: time))
                    }
                }
            }
        }
        let times = sent.withLock { $0 }.sorted()
        #expect(times.count == 1_000)
        let first = try #require(times.first)
        let last = try #require(times.last)
        #expect(first >= Instant(nanoseconds: 30_000_000_000))
        let span = first.duration(to: last) / .seconds(1)
        if rate == nil {
            #expect(span > 1 && span < 4)
            #expect(Set(times).count > 900)
        } else {
            #expect(abs(span - 999.0 / 50) < 0.2)
        }
    }

    @Test("policies PL-25 returns the slot of a streamed answer when its body ends, fails or is released")
    func holdsSlotsOfStreams() async throws {
        transport.onAnyRequest().respond(.text("one")).then(.text("two").breaking(after: 1)).then(.text("three"))
            .then(.text("four"))
        var limits = RateLimits()
        limits.concurrency = 1
        let limiter = try limiter(limits)
        let chain = Chain([ExchangeInterceptor(limiter: limiter)], transport: transport)
        var request = request
        request.delivery = .streamed
        let ends: [@Sendable (Response) async -> Void] = [
            { _ = try? await $0.body.collect() }, { _ = try? await $0.body.collect() }, { _ in },
        ]
        for end in ends {
            var response: Response? = try await chain.send(request, call: call())
            let next = Task { [request] () async throws in
                try await limiter.start(request, call: Call())?.finish()
            }
            while limiter.waitingCount == 0 { await Task.yield() }
            if let response { await end(response) }
            response = nil
            try await next.value
        }
    }

    @Test(
        "policies PL-23 reads every form in which quotas are announced",
        arguments: [
            (["RateLimit": #""default";r=9;t=30"#, "RateLimit-Policy": #""default";q=100;w=60"#], 3),
            (["RateLimit": #""a";r=49;t=30, "b";r=4;t=30"#], 6),
            (["RateLimit": "limit=100, remaining=9, reset=25"], 2.5),
            (["RateLimit-Limit": "100, 100;w=60", "RateLimit-Remaining": "9", "RateLimit-Reset": "20"], 2),
            (["X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "40"], 8),
            (["X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "1767225640"], 8),
            (["X-RateLimit-Remaining": "4", "X-RateLimit-Reset": "1767225640000"], 8),
            (["X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "19", "X-RateLimit-Reset": "40"], 0),
            (["X-RateLimit-Remaining": "many", "X-RateLimit-Reset": "40"], 0), (["RateLimit": "???"], 0),
            (["RateLimit": #""default";r=0;t=30"#], 31),
        ] as [([String: String], Double)]
    )
    func readsQuotas(fields: [String: String], seconds: Double) async throws {
        transport.onAnyRequest().respond(.status(200, headers: Headers(fields.map { ($0.key, $0.value) })))
        let limiter = try limiter()
        let chain = Chain([ExchangeInterceptor(limiter: limiter)], transport: transport)
        _ = try await chain.send(request, call: call())
        #expect(limiter.estimatedWait(for: key) == .milliseconds(Int64(seconds * 1000)))
    }

    @Test(
        "policies PL-23 uses at least 95 % of a quota in steady state and meets no 429",
        arguments: [QuotaServer.Rounding.down, .up, .exact],
        [100, 600]
    )
    func spendsQuotas(rounding: QuotaServer.Rounding, quota: Int) async throws {
        let server = QuotaServer(quota: quota, window: 60, rounding)
        transport.onAnyRequest().respond(
            .computed { _, call in server.answer(at: call.time.now).after(.milliseconds(30)) }
        )
        let limiter = try limiter()
        let chain = Chain([ExchangeInterceptor(limiter: limiter)], transport: transport)
        let (time, request) = (time, request)
        let end = Instant(nanoseconds: 11 * 60 * 1_000_000_000)
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for number in UInt64(1)...10 {
                    group.addTask {
                        while time.now < end {
                            _ = try? await chain.send(request, call: Call(id: .init(number), time: time))
                        }
                    }
                }
            }
        }
        // The first window is not steady, because the quota was not known at its beginning.
        let windows = server.windows[1...10]
        #expect(windows.allSatisfy { $0.refused == 0 }, "\(windows)")
        #expect(windows.allSatisfy { Double($0.served) >= 0.95 * Double(quota) }, "\(windows)")
    }
}

/// Remembers when requests passed.
private struct Stamp: Interceptor {
    let times: Locked<[Instant]>
    init(_ times: Locked<[Instant]>) { self.times = times }
    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        times.withLock { $0.append(next.call.time.now) }
        return try await next(request)
    }
}

/// A server that allows a number of calls in each window and reports what is left.
final class QuotaServer: Sendable {
    enum Rounding: Sendable { case down, up, exact }
    struct Window: Sendable { var served = 0, refused = 0 }
    private let quota: Int
    private let window: Int
    private let rounding: Rounding
    private let state = Locked<[Window]>([])

    init(quota: Int, window: Int, _ rounding: Rounding) {
        (self.quota, self.window, self.rounding) = (quota, window, rounding)
    }

    var windows: [Window] { state.withLock { $0 } }

    func answer(at now: Instant) -> ScriptedResponse {
        let length = Int64(window) * 1_000_000_000
        let index = Int(now.nanoseconds / length)
        let left = Double(length - now.nanoseconds % length) / 1e9
        let reset =
            switch rounding {
            case .down: String(Int(left))
            case .up: String(Int(left.rounded(.up)))
            case .exact: String(left)
            }
        let (isServed, remaining) = state.withLock { windows in
            while windows.count <= index { windows.append(Window()) }
            guard windows[index].served < quota else {
                windows[index].refused += 1
                return (false, 0)
            }
            windows[index].served += 1
            return (true, quota - windows[index].served)
        }
        let headers: Headers = ["X-RateLimit-Remaining": String(remaining), "X-RateLimit-Reset": reset]
        return .status(isServed ? 200 : 429, headers: headers)
    }
}
