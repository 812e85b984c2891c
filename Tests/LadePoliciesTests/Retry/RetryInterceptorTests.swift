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
struct RetryInterceptorTests {
    let transport = ScriptedTransport()
    let time = VirtualTime()
    let events = EventRecorder()
    let budget = RetryBudget()
    let request: Request

    init() throws { request = try Request("https://svc.example.com/thing") }

    private func call(_ number: UInt64 = 1, seed: UInt64 = 1) -> Call {
        Call(id: .init(number), time: time, random: SeededRandom(seed: seed), events: [events])
    }

    private func send(
        _ request: Request,
        policy: RetryPolicy = RetryPolicy(),
        _ links: [any Interceptor] = []
    ) async throws(LoadingError) -> Response {
        let chain = Chain([AttemptInterceptor(retries: policy, budget: budget)] + links, transport: transport)
        let call = call()
        return try await time.runAutomatically { () async throws(LoadingError) in
            try await chain.send(request, call: call)
        }
    }

    private func failure(_ request: Request, policy: RetryPolicy = RetryPolicy()) async -> LoadingError? {
        do throws(LoadingError) {
            _ = try await send(request, policy: policy)
            return nil
        } catch {
            return error
        }
    }

    private var retryRules: [String] {
        events.events.compactMap {
            switch $0 {
            case .retryScheduled(let record): "again: \(record.rule)"
            case .retryRefused(let record): "no: \(record.rule)"
            default: nil
            }
        }
    }

    @Test("policies PL-10 tries twice more")
    func triesTwiceMore() async throws {
        transport.onAnyRequest().respond(.status(503))
        let response = try await send(request)
        #expect(response.status == 503)
        #expect(response.attempts == 3)
        #expect(transport.requests.count == 3)
        #expect(transport.received.map(\.call.attempt) == [1, 2, 3])
        #expect(time.now < Instant(nanoseconds: 3_000_000_000))
    }

    @Test("policies PL-17 reports every decision with its facts and the rule that decided")
    func tellsDecisions() async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "3"])).then(.connectionLost()).then(
            .status(404)
        )
        var policy = RetryPolicy()
        policy.backoff = .none
        _ = try await send(request, policy: policy)
        #expect(
            events.events.compactMap { event in
                switch event {
                case .retryScheduled(let record), .retryRefused(let record): record
                default: nil
                }
            } == [
                Call.Event.Retry(attempt: 1, status: 503, rule: .status(503), delay: .seconds(3), budget: 495),
                Call.Event.Retry(attempt: 2, rule: .transportFailure, budget: 490),
                Call.Event.Retry(attempt: 3, status: 404, rule: .finalStatus(404), budget: 490),
            ]
        )
        #expect(
            retryRules == [
                "again: status 503 may pass", "again: the transfer failed", "no: status 404 is final",
            ]
        )
    }

    @Test("service AT-04 fails once after a time-out when no retries are allowed")
    func failsWithoutRetries() async throws {
        transport.onAnyRequest().respond(.timesOut())
        var request = request
        request.retryLimit = 0
        let error = await failure(request)
        guard case .timedOut(.idle)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(error?.context.attempts == 1)
        #expect(transport.requests.count == 1)
    }

    @Test("service AT-07 treats a 404 as final, for any number of retries left")
    func takes404ForFinal() async throws {
        transport.onAnyRequest().respond(.status(404, headers: ["Retry-After": "60"]))
        var request = request
        request.retryLimit = 10
        #expect(try await send(request).status == 404)
        #expect(transport.requests.count == 1)
        #expect(retryRules == ["no: status 404 is final"])
    }

    @Test("service AT-08 policies PL-15 service D-06 service D-46 retries a failed body and delivers exactly one")
    func repeatsBrokenBodies() async throws {
        transport.onAnyRequest()
            .respond(
                .text("error payload").adding("X-Attempt", "1").breaking(
                    after: 5,
                    with: LoadingError(.timedOut(.idle))
                )
            )
            .then(.text("success payload"))
        let response = try await send(request)
        #expect(response.body.bytes == Data("success payload".utf8))
        #expect(response.headers["X-Attempt"] == nil)
        #expect(response.attempts == 2)
    }

    @Test("service D-06 reports nothing of an earlier attempt's answer for an attempt without one")
    func keepsAttemptsApart() async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "2"])).then(.connectionLost())
        let error = try #require(await failure(request))
        #expect(error.context.status == nil)
        #expect(error.context.headers.isEmpty)
        #expect(error.context.attempts == 3)
    }

    @Test("policies PL-15 retries a streamed call only before its head was delivered")
    func handsStreamsOver() async throws {
        var request = request
        request.delivery = .streamed
        transport.onAnyRequest().respond(.status(503, "sorry")).then(.text("0123456789").breaking(after: 4))
        let response = try await send(request)
        let body = response.body
        #expect(response.status == 200)
        await #expect(throws: LoadingError.self) { _ = try await body.collect() }
        #expect(transport.requests.count == 2)
    }

    @Test("service AT-13 policies PL-12 retries no cancelled call and reports nothing of it")
    func leavesCancelledAlone() async throws {
        transport.onAnyRequest().respond(.fails(LoadingError(.cancelled)))
        #expect(try #require(await failure(request)).isCancellation)
        #expect(transport.requests.count == 1)
        #expect(retryRules.isEmpty)
    }

    @Test("service AT-14 starts three times within two seconds as SPTDataLoader does")
    func startsAsTheReference() async throws {
        transport.onAnyRequest().respond(.timesOut())
        var request = request
        request.retryLimit = 4
        _ = await failure(request, policy: .dataLoader)
        let starts = events.records.filter { if case .exchangeStarted = $0.event { true } else { false } }.map(
            \.instant
        )
        #expect(starts.count == 5)
        #expect(starts[1] == Instant(nanoseconds: 0))
        #expect(starts[2] < Instant(nanoseconds: 2_000_000_000))
        #expect(starts[3] > Instant(nanoseconds: 2_000_000_000))
    }

    @Test("service D-46 stops a service that always fails after the retries allowed")
    func ends() async throws {
        transport.onAnyRequest().respond(.connectionLost())
        var request = request
        request.retryLimit = 7
        #expect(try #require(await failure(request)).context.attempts == 8)
    }

    @Test("policies PL-13 waits at least as long as Retry-After says, measured against the answer's Date")
    func waitsForTheServer() async throws {
        transport.onAnyRequest()
            .respond(
                .status(
                    503,
                    // The server's clock is years behind the client's.
                    headers: ["Date": "Fri, 31 Dec 1999 23:59:29 GMT", "Retry-After": "Friday, 31-Dec-99 23:59:59 GMT"]
                )
            )
            .then(.text("back"))
        #expect(try await send(request).status == 200)
        #expect(time.now >= Instant(nanoseconds: 30_000_000_000))
        #expect(time.now < Instant(nanoseconds: 31_000_000_000))
    }

    @Test(
        "service RS-10 service RS-11 service D-08 service D-45 reads every form of Retry-After, whatever the locale",
        arguments: [
            ("60", 60), ("0", 0), ("Fri, 31 Dec 1999 23:59:59 GMT", 30), ("Friday, 31-Dec-99 23:59:59 GMT", 30),
            ("Fri Dec 31 23:59:59 1999", 30), ("-5", 0), ("120abc", 0), ("1e3", 0), ("soon", 0),
        ]
    )
    func readsRetryAfter(text: String, seconds: Int) async throws {
        transport.onAnyRequest()
            .respond(.status(503, headers: ["Date": "Fri, 31 Dec 1999 23:59:29 GMT", "Retry-After": text]))
            .then(.text("back"))
        var policy = RetryPolicy()
        policy.backoff = .none
        #expect(try await send(request, policy: policy).status == 200)
        #expect(time.now == Instant(nanoseconds: Int64(seconds) * 1_000_000_000))
    }

    @Test("policies PL-13 service D-09 fails with the requested delay when the server requests too much")
    func refusesLongPauses() async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "7200"], "closed for today"))
        let error = await failure(request)
        guard case .rateLimited(let key, let wait)? = error?.kind else {
            throw error ?? LoadingError(.cancelled)
        }
        #expect(key == "svc.example.com:443/thing")
        #expect(wait == .seconds(7200))
        #expect(error?.context.status == 503)
        #expect(error?.context.headers["Retry-After"] == "7200")
        #expect(error?.context.body == Data("closed for today".utf8))
        #expect(time.now == Instant(nanoseconds: 0))
    }

    @Test("policies PL-14 returns errors immediately when the budget is empty")
    func observesBudget() async throws {
        let key = ServiceKey(request)
        for _ in 0..<100 { _ = budget.withdraw(for: key) }
        transport.onAnyRequest().respond(.status(500))
        #expect(try await send(request).status == 500)
        #expect(transport.requests.count == 1)
        #expect(retryRules == ["no: the retry budget is empty"])
    }

    @Test("policies PL-14 charges 10 after a time-out and refunds what a success took")
    func keepsAccount() async throws {
        transport.onAnyRequest().respond(.timesOut()).then(.status(500)).then(.text("ok"))
        _ = try await send(request)
        #expect(budget.left(for: ServiceKey(request)) == 500)
        transport.onAnyRequest()
        let records = events.events.compactMap {
            if case .retryScheduled(let record) = $0 { record.budget } else { nil }
        }
        #expect(records == [490, 485])
    }

    @Test(
        "policies PL-14 refunds what retries took when the service answers in the end, whatever it answers",
        arguments: [
            ([503, 503, 404], 500), ([503, 404], 500), ([503, 200], 500), ([404], 500),
            // A service that never answers keeps what its retries took.
            ([503, 503, 503], 490),
        ]
    )
    func refundsFinalAnswers(statuses: [Int], left: Int) async throws {
        let rule = transport.onAnyRequest()
        for (number, status) in statuses.enumerated() {
            if number == 0 {
                rule.respond(.status(Response.Status(status)))
            } else {
                rule.then(.status(Response.Status(status)))
            }
        }

        let response = try await send(request)

        #expect(response.status.code == statuses.last)
        #expect(transport.requests.count == statuses.count)
        #expect(budget.left(for: ServiceKey(request)) == left)
    }

    @Test(
        "policies PL-14 charges 10 for an answer that says that a time-out passed, and 5 for others",
        arguments: [(408, 490), (504, 490), (500, 495), (503, 495)]
    )
    func chargesTimeouts(status: Int, left: Int) async throws {
        transport.onAnyRequest().respond(.status(Response.Status(status))).then(.text("ok"))

        _ = try await send(request)

        let records = events.events.compactMap {
            if case .retryScheduled(let record) = $0 { record.budget } else { nil }
        }
        #expect(records == [left])
    }

    @Test(
        "policies PL-14 gives one token for an answer at the first try, and none for a failure",
        arguments: [200, 500]
    )
    func creditsFirstTries(status: Int) async throws {
        #expect(budget.withdraw(for: ServiceKey(request)))
        transport.onAnyRequest().respond(.status(Response.Status(status)))
        var request = request
        request.retryLimit = 0

        _ = try await send(request)

        #expect(budget.left(for: ServiceKey(request)) == (status == 200 ? 496 : 495))
    }

    @Test("policies PL-11 service D-05 does not send a body again that was touched and cannot be")
    func leavesSpentBodiesAlone() async throws {
        transport.onAnyRequest().respond(.status(503)).then(.status(200))
        let body = Request.Body.stream {
            AsyncStream<Data> { continuation in
                continuation.yield(Data("x".utf8)); continuation.finish()
            }
        }
        let put = try Request(.put, "https://svc.example.com/thing", body: body)
        #expect(try await send(put).status == 503)
        #expect(transport.requests.count == 1)
        #expect(retryRules == ["no: the body cannot be sent again"])

        let replayable = try Request(.put, "https://svc.example.com/thing", body: .text("x"))
        transport.onAnyRequest()
        #expect(try await send(replayable).status == 200)
    }

    @Test("policies PL-16 keeps one generated key over all attempts of a call, and another for another call")
    func keepsIdempotencyKeys() async throws {
        transport.onAnyRequest().respond(.connectionLost()).then(.status(201))
        var post = try Request(.post, "https://svc.example.com/thing", body: .text("x"))
        post.idempotencyKey = .generated
        let link = AttemptInterceptor(retries: RetryPolicy(), budget: budget, random: SeededRandom(seed: 3))
        let chain = Chain([link], transport: transport)
        let (first, second) = (call(1), call(2))
        try await time.runAutomatically { [post] () async throws(LoadingError) in
            _ = try await chain.send(post, call: first)
            _ = try await chain.send(post, call: second)
        }
        let keys = transport.requests.map { $0.headers["Idempotency-Key"] }
        #expect(keys.count == 3)
        #expect(keys[0] == keys[1])
        #expect(keys[1] != keys[2])
        #expect(keys[0]?.count == 34)
    }

    @Test("policies PL-16 has exactly one effect in 1,000 runs of a server that drops answers after the commit")
    func hasOneEffect() async throws {
        for seed in UInt64(1)...1_000 {
            let faults = SeededRandom(seed: seed)
            let effects = Effects()
            let transport = ScriptedTransport()
            transport.onAnyRequest().respond(
                .computed { request, _ in
                    effects.commit(request.headers["Idempotency-Key"] ?? "none")
                    return faults.unit() < 0.5 ? .connectionLost() : .status(201)
                }
            )
            var post = try Request(.post, "https://svc.example.com/orders", body: .text("one"))
            post.idempotencyKey = .generated
            post.retryLimit = 20
            var policy = RetryPolicy()
            policy.backoff = .none
            let chain = Chain(
                [AttemptInterceptor(retries: policy, budget: RetryBudget(), random: faults)],
                transport: transport
            )
            let response = try await chain.send(post, call: Call(id: .init(seed), time: time, random: faults))
            #expect(response.status == 201, "seed \(seed)")
            #expect(effects.count == 1, "seed \(seed)")
        }
    }

    @Test("policies PL-14 service D-46 never makes more attempts than calls × (1 + bound), whatever fails")
    func boundsAttempts() async throws {
        for seed in UInt64(1)...20 {
            let faults = SeededRandom(seed: seed)
            let transport = ScriptedTransport()
            transport.onAnyRequest().respond(
                .computed { _, _ in
                    let draw = faults.unit()
                    if draw < 0.5 { return .status(503) }
                    if draw < 0.7 { return .timesOut() }
                    return draw < 0.9 ? .connectionLost() : .status(200)
                }
            )
            let budget = RetryBudget()
            let chain = Chain([AttemptInterceptor(retries: RetryPolicy(), budget: budget)], transport: transport)
            let (request, time) = (request, time)
            let successes = await time.runAutomatically {
                await withTaskGroup(of: Bool.self) { group in
                    for number in 1...500 {
                        group.addTask {
                            let call = Call(id: .init(UInt64(number)), time: time, random: faults)
                            return (try? await chain.send(request, call: call))?.status == 200
                        }
                    }
                    return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
                }
            }
            let attempts = transport.requests.count
            #expect(attempts <= 500 * 3, "seed \(seed)")
            // 100 retries empty a budget; what successes refund pays for their own retries and one more in five each.
            #expect(attempts <= 500 + 100 + 3 * successes, "seed \(seed): \(attempts) attempts, \(successes) successes")
        }
    }

    @Test("service D-36 waits on the call's own time and ends immediately when it is cancelled")
    func endsWhenCancelled() async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "30"]))
        let chain = Chain([AttemptInterceptor(retries: RetryPolicy(), budget: budget)], transport: transport)
        let (request, call) = (request, call())
        let task = Task { () async throws(LoadingError) in try await chain.send(request, call: call) }
        _ = try await time.nextSleeper()
        task.cancel()
        let result = await task.result
        guard case .failure(let error as LoadingError) = result, error.isCancellation else {
            Issue.record("\(result)")
            return
        }
        #expect(time.sleepers.isEmpty)
        #expect(transport.requests.count == 1)
    }

    @Test("finding FP-12 refunds what was withdrawn for attempts that were cancelled while they waited")
    func refundsCancelledWaits() async throws {
        transport.onAnyRequest().respond(.status(503))
        var policy = RetryPolicy()
        policy.backoff = .exponentialTimer(initial: .seconds(10), jitter: 0)
        let chain = Chain([AttemptInterceptor(retries: policy, budget: budget)], transport: transport)
        let tasks = (1...120).map { number in Task { try await chain.send(request, call: call(UInt64(number))) } }
        _ = try await time.sleepers(atLeast: 100)

        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.result }

        #expect(budget.left(for: ServiceKey(request)) == 500)
        #expect(budget.keyCount == 0)
    }
}

/// A server's record of the processed operations, by key.
private final class Effects: Sendable {
    private let keys = Locked<Set<String>>([])
    func commit(_ key: String) { keys.withLock { _ = $0.insert(key) } }
    var count: Int { keys.withLock(\.count) }
}
