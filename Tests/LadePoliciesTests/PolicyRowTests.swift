#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCore
import LadePolicies
import LadeTesting
import Testing

/// Rules that hold across interceptors, each asserted completely.
@Suite("Policies across interceptors", .timeLimit(.minutes(5)))
struct PolicyRowTests {
    private let transport = ScriptedTransport()
    private let time = VirtualTime()

    private func limiter(_ limits: RateLimits = RateLimits()) throws -> RateLimiter {
        try RateLimiter(limits, time: time, random: SeededRandom(seed: 5))
    }

    private func makeCall(_ number: UInt64 = 1, random: any RandomSource = SeededRandom(seed: 1)) -> Call {
        Call(id: .init(number), time: time, random: random)
    }

    private func at(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1e9).rounded())) }

    @Test("finding FQ-24 policies PL-01 one deadline covers refresh, limiter, redirect, every attempt, delay and body")
    func oneDeadlineCoversEverything() async throws {
        let limiter = try limiter()
        limiter.closeGate(of: ServiceKey("svc.test:443/a"), for: .seconds(20))
        transport.on(.get, "/a").respond(.status(302, headers: ["Location": "/b"]).after(.seconds(10)))
        transport.on(.get, "/b").respond(.status(503, headers: ["Retry-After": "10"]).after(.seconds(10)))
            .then(.text("0123456789").stalling(after: 5))
        let time = time
        let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://svc.test")) {
            (_, _) throws(LoadingError) in
            try await time.sleep(for: .seconds(10))
            return .init("token")
        }
        let chain = Chain(
            [
                HopInterceptor(deadlines: DeadlineSettings()), HopInterceptor(redirects: RedirectPolicy()),
                AttemptInterceptor(retries: RetryPolicy(), budget: RetryBudget()),
                AttemptInterceptor(authorisers: [authoriser]), ExchangeInterceptor(limiter: limiter),
                ExchangeInterceptor(deadlines: DeadlineSettings()),
            ],
            transport: transport
        )
        let request = try Request("https://svc.test/a")
        let call = makeCall()

        let result = await time.runAutomatically { () async -> Result<Response, LoadingError> in
            do throws(LoadingError) { return .success(try await chain.send(request, call: call)) } catch {
                return .failure(error)
            }
        }

        guard case .failure(let error) = result, case .deadlineExceeded(let report) = error.kind else {
            Issue.record("\(result)")
            return
        }
        #expect(time.now == at(60))
        #expect(report.limit == .seconds(60))
        #expect(report.elapsed == .seconds(60))
        #expect(report.stages.total == .seconds(60))
        #expect(
            report.stages.entries.map(\.stage) == [
                .wait(.authorisation(authoriser: "Bearer")), .wait(.gate(key: "svc.test:443/a")), .exchange,
                .wait(.backoff(attempt: 2)),
            ]
        )
        #expect(report.stages.entries.first?.duration == .seconds(10))
        #expect(error.context.attempts == 2)
        #expect(transport.lines == ["GET /a", "GET /b", "GET /b"])
    }

    @Test("finding FQ-24 policies PL-01 a streamed call has neither a deadline nor a limit of its exchange")
    func streamsHaveNoLimit() async throws {
        transport.onAnyRequest().respond(.chunks(["a", "b"], every: .seconds(3_600)))
        let chain = Chain(
            [
                HopInterceptor(deadlines: DeadlineSettings()),
                AttemptInterceptor(retries: RetryPolicy(), budget: RetryBudget()),
                ExchangeInterceptor(deadlines: DeadlineSettings()),
            ],
            transport: transport
        )
        var request = try Request("https://svc.test/a")
        request.delivery = .streamed
        let (call, sent) = (makeCall(), request)

        let body = try await time.runAutomatically { () async throws(LoadingError) in
            try await chain.send(sent, call: call).body.collect()
        }

        #expect(body == Data("ab".utf8))
        #expect(time.now == at(3_600))
        #expect(transport.requests.map(\.timeouts.whole) == [nil])
    }

    @Test("finding FQ-24 policies PL-14 the budget is what its rules make of every fault, call after call")
    func budgetFollowsItsRules() async throws {
        for seed in UInt64(1)...10 {
            let (faults, model) = (SeededRandom(seed: seed), SeededRandom(seed: seed))
            let script = Locked(0)
            let transport = ScriptedTransport()
            transport.onAnyRequest().respond(
                .computed { _, _ in
                    let number = script.withLock { number in
                        number += 1
                        return number
                    }
                    return Fault.next(faults, number).answer
                }
            )
            let budget = RetryBudget()
            var policy = RetryPolicy()
            policy.backoff = .none
            let chain = Chain([AttemptInterceptor(retries: policy, budget: budget)], transport: transport)
            let request = try Request("https://svc.test/a")
            var (tokens, exchanges, refused) = (500, 0, 0)
            for number in 1...600 {
                let expected = Fault.play(model, &exchanges, &tokens, &refused)

                // The model decides how the call ends; errors are part of the script.
                let response = try? await chain.send(request, call: makeCall(UInt64(number)))

                #expect((response?.status == 200) == expected, "seed \(seed), call \(number)")
                try #require(budget.left(for: ServiceKey(request)) == tokens, "seed \(seed), call \(number)")
                try #require(transport.requests.count == exchanges, "seed \(seed), call \(number)")
            }
            // The script must empty the budget, and then let it fill again.
            #expect(refused > 50, "seed \(seed)")
            #expect(tokens > 100, "seed \(seed)")
        }
    }

    /// What a server does to one exchange, and its cost.
    private enum Fault {
        case none, status, timeout, gateway, lost

        /// Failures up to exchange 500, successes after.
        static func next(_ random: SeededRandom, _ exchange: Int) -> Fault {
            let share = exchange <= 500 ? 0.9 : 0.1
            let draw = random.unit()
            guard draw < share else { return .none }
            switch draw / share {
            case ..<0.25: return .status
            case ..<0.5: return .timeout
            case ..<0.75: return .gateway
            default: return .lost
            }
        }

        /// Simulates one call by the rules of PL-10 and PL-14; returns whether it succeeds.
        static func play(
            _ random: SeededRandom,
            _ exchanges: inout Int,
            _ tokens: inout Int,
            _ refused: inout Int
        ) -> Bool {
            var taken = 0
            for attempt in 1...3 {
                exchanges += 1
                let fault = next(random, exchanges)
                if fault == .none {
                    tokens = min(500, tokens + (taken > 0 ? taken : 1))
                    return true
                }
                guard attempt < 3 else { break }
                let cost = fault == .timeout || fault == .gateway ? 10 : 5
                guard tokens >= cost else {
                    refused += 1
                    break
                }
                tokens -= cost
                taken += cost
            }
            return false
        }

        var answer: ScriptedResponse {
            switch self {
            case .none: .text("ok")
            case .status: .status(503)
            case .timeout: .timesOut()
            case .gateway: .status(504)
            case .lost: .connectionLost()
            }
        }
    }

    @Test("finding FQ-24 policies PL-20 each key of the caller's rule has its own rate, the rest the default's")
    func keysHaveTheirOwnRates() async throws {
        var limits = RateLimits(default: .perSecond(10))
        limits.rates = ["a": .perSecond(2, burst: 2)].reduce(into: [:]) { $0[ServiceKey($1.key)] = $1.value }
        limits.keyRule = { ServiceKey($0.url.lastPathComponent) }
        let limiter = try limiter(limits)
        let (time, starts) = (time, Locked<[String: [Instant]]>([:]))
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for path in ["x/a", "y/a", "x/b", "z/a", "y/b", "z/b", "x/c"] {
                    group.addTask {
                        guard let request = try? Request("https://svc.test/\(path)"),
                            let slot = try? await limiter.start(request, call: Call(time: time))
                        else { return }
                        starts.withLock { $0[String(path.suffix(1)), default: []].append(time.now) }
                        slot.finish()
                    }
                }
            }
        }
        #expect(
            starts.withLock { $0 } == [
                "a": [0, 0, 0.5].map(at), "b": [0, 0.1, 0.2].map(at), "c": [at(0)],
            ]
        )
        #expect(limiter.rate(for: ServiceKey("a")) == .perSecond(2, burst: 2))
        #expect(limiter.rate(for: ServiceKey("b")) == .perSecond(10))
        try limiter.setRate(1, for: ServiceKey("b"))
        #expect(limiter.rate(for: ServiceKey("b")) == .perSecond(1))
        #expect(limiter.rate(for: ServiceKey("c")) == .perSecond(10))
    }

    @Test("finding FQ-24 policies PL-21 cancelled waiters leave no gap, and those behind them keep their order")
    func cancelledWaitersLeaveNoGap() async throws {
        let limiter = try limiter(RateLimits(default: .perSecond(10)))
        let (time, starts) = (time, Locked<[Int: Instant]>([:]))
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<10 {
                    group.addTask {
                        await withTaskGroup(of: Void.self) { race in
                            race.addTask {
                                guard let request = try? Request("https://svc.test/a"),
                                    let slot = try? await limiter.start(
                                        request,
                                        call: Call(id: .init(UInt64(number + 1)), time: time)
                                    )
                                else { return }
                                starts.withLock { $0[number] = time.now }
                                slot.finish()
                            }
                            if [3, 4, 7].contains(number) {
                                race.addTask { try? await time.sleep(for: .milliseconds(150)) }
                            }
                            await race.next()
                            race.cancelAll()
                        }
                    }
                }
            }
        }
        #expect(
            starts.withLock { $0 }
                == [0: 0, 1: 0.1, 2: 0.2, 5: 0.3, 6: 0.4, 8: 0.5, 9: 0.6].mapValues(at)
        )
        #expect(limiter.waitingCount == 0)
        #expect(time.sleepers.isEmpty)
    }

    @Test("finding FQ-24 policies PL-22 queued, new and retried calls all wait, whatever succeeds meanwhile")
    func everyCallWaits() async throws {
        let sent = Locked<[Instant]>([])
        transport.onAnyRequest().respond(
            .computed { _, call in
                let number = sent.withLock { sent in
                    sent.append(call.time.now)
                    return sent.count
                }
                switch number {
                case 1: return .status(503, headers: ["Retry-After": "30"]).after(.milliseconds(1_500))
                // Sent before the refusal and answered well inside the delay.
                case 2: return .text("late").after(.seconds(4))
                default: return .text("ok")
                }
            }
        )
        let limiter = try limiter(RateLimits(default: .perSecond(1)))
        let chain = Chain(
            [AttemptInterceptor(retries: RetryPolicy(), budget: RetryBudget()), ExchangeInterceptor(limiter: limiter)],
            transport: transport
        )
        let (time, request) = (time, try Request("https://svc.test/a"))
        let statuses = await time.runAutomatically {
            await withTaskGroup(of: Int?.self) { group in
                for (number, arrival) in [0, 0, 0, 0, 0, 10, 20, 31].enumerated() {
                    group.addTask {
                        // A sleep that is not cancelled does not throw.
                        try? await time.sleep(for: .seconds(arrival))
                        let call = Call(
                            id: .init(UInt64(number + 1)),
                            time: time,
                            random: SeededRandom(seed: UInt64(number))
                        )
                        return (try? await chain.send(request, call: call))?.status.code
                    }
                }
                return await group.reduce(into: [Int?]()) { $0.append($1) }
            }
        }
        let times = sent.withLock { $0 }
        #expect(statuses == Array(repeating: 200, count: 8))
        try #require(times.count == 9)
        #expect(times[0] == at(0))
        #expect(times[1] == at(1))
        #expect(times[2] >= at(31.5))
        for (earlier, later) in zip(times.dropFirst(2), times.dropFirst(3)) {
            #expect(earlier.duration(to: later) >= .seconds(1) - .nanoseconds(1))
        }
        // Seven starts at one per second, and at most one interval of jitter.
        #expect(times[8] <= at(31.5 + 6 + 1))
    }

    @Test("finding FQ-24 policies PL-33 a backup address changes nothing that is kept or sent for the host")
    func backupKeepsTheHost() async throws {
        transport.onAnyRequest()
            .respond(.status(200, headers: ["Set-Cookie": "sid=2", "RateLimit": #""d";r=1;t=40"#]))
        let jar = CookieJar()
        jar.insert(Cookie(name: "sid", value: "1", domain: "svc.test"), at: time.date)
        jar.insert(Cookie(name: "other", value: "1", domain: "backup.test"), at: time.date)
        let limiter = try limiter()
        let authorisers = [
            Authorisation.Bearer(token: "svc", scope: try Authorisation.Scope("https://svc.test")),
            Authorisation.Bearer(
                token: "backup",
                scope: try Authorisation.Scope("https://backup.test:8443"),
                identifier: "b"
            ),
        ]
        let directory = HostDirectory(["svc.test": [HostDirectory.Address("backup.test", port: 8443)]])
        let chain = Chain(
            [
                ExchangeInterceptor(jar: jar), AttemptInterceptor(retries: RetryPolicy(), budget: RetryBudget()),
                AttemptInterceptor(hosts: directory),
                AttemptInterceptor(authorisers: authorisers), ExchangeInterceptor(limiter: limiter),
            ],
            transport: transport
        )
        let request = try Request("https://svc.test/a?b=c")
        let call = makeCall()

        let response = try await chain.send(request, call: call)
        let again = Request(try #require(URL(string: "https://svc.test/other/key")))
        _ = try await chain.send(again, call: call)

        #expect(response.request.url.absoluteString == "https://svc.test/a?b=c")
        #expect(
            transport.requests.map(\.url.absoluteString) == ["https://svc.test/a?b=c", "https://svc.test/other/key"]
        )
        #expect(
            transport.requests.map(\.destination) == Array(repeating: .host("backup.test", port: 8443), count: 2)
        )
        #expect(transport.requests.map { $0.headers["Host"] } == [nil, nil])
        #expect(transport.requests.map { $0.headers["Cookie"] } == ["sid=1", "sid=2"])
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer svc", "Bearer svc"])
        #expect(try #require(limiter.estimatedWait(for: ServiceKey("svc.test:443/a"))) > .zero)
        #expect(limiter.estimatedWait(for: ServiceKey("backup.test:8443/a")) == .zero)
    }

    @Test("finding FQ-24 policies PL-34 the same call uses the backup, within its remaining time")
    func backupServesTheSameCall() async throws {
        let toBackup: @Sendable (Request) -> Bool = { $0.destination == .host("backup.test", port: nil) }
        let refused = ScriptedResponse.fails(LoadingError(.cannotConnect(host: "svc.test", reason: .refused)))
        let primary = transport.on("primary", where: { !toBackup($0) }).respond(refused.after(.seconds(2)))
            .then(.text("primary"))
        let backup = transport.on("backup", where: toBackup).respond(.text("backup"))
        let directory = HostDirectory(["svc.test": ["svc.test", "backup.test"]])
        var policy = RetryPolicy()
        policy.backoff = .none
        let chain = Chain(
            [
                HopInterceptor(deadlines: DeadlineSettings()),
                AttemptInterceptor(retries: policy, budget: RetryBudget()), AttemptInterceptor(hosts: directory),
                ExchangeInterceptor(deadlines: DeadlineSettings()),
            ],
            transport: transport
        )
        var request = try Request("https://svc.test/a")
        request.deadline = .seconds(10)
        let (sent, call) = (request, makeCall())

        let response = try await time.runAutomatically { () async throws(LoadingError) in
            try await chain.send(sent, call: call)
        }

        #expect(response.body.bytes == Data("backup".utf8))
        #expect(response.attempts == 1)
        #expect(time.now == at(2))
        #expect(transport.requests.map(\.timeouts.whole) == [.seconds(10), .seconds(8)])

        // Until the mark ends, only the backup is used; one interval after the failure the primary is used again.
        for second in stride(from: 3.0, through: 20, by: 1) {
            time.advance(to: at(second))
            #expect(try await chain.send(sent, call: makeCall()).body.bytes == Data("backup".utf8))
        }
        #expect(primary.givenCount == 1)
        time.advance(to: at(32))
        for _ in 0..<3 {
            #expect(try await chain.send(sent, call: makeCall()).body.bytes == Data("primary".utf8))
        }
        #expect(backup.givenCount == 19)
        #expect(primary.givenCount == 4)
    }
}

/// Every status and every failure, with the policy's decision.
@Suite("Every row of the retry policy", .timeLimit(.minutes(5)))
struct RetryTableTests {
    private func decision(
        _ outcome: RetryPolicy.Attempt.Ending,
        _ change: (inout RetryPolicy, inout RetryPolicy.Attempt) -> Void = { _, _ in }
    ) throws -> RetryPolicy.Decision {
        var (policy, attempt) = (RetryPolicy(), RetryPolicy.Attempt(try Request("https://svc.test/"), outcome))
        change(&policy, &attempt)
        return policy.decision(attempt)
    }

    @Test("finding FQ-24 policies PL-12 of all statuses exactly 408 425 429 500 502 503 504 are sent again")
    func everyStatus() throws {
        let passing: Set<Int> = [408, 425, 429, 500, 502, 503, 504]
        for code in Array(0...599) + [999] {
            let status = Response.Status(code)
            for pause in [nil, Duration.seconds(2)] {
                let decision = try decision(.response(status, delay: pause))
                let again = RetryPolicy.Decision.Action.retry(after: pause ?? .zero)
                switch code {
                case ..<400: #expect(decision.action == .accept && decision.rule == .acceptedStatus(status))
                case 413 where pause != nil, _ where passing.contains(code):
                    #expect(decision.action == again && decision.rule == .status(status), "\(code)")
                default: #expect(decision.action == .giveUp && decision.rule == .finalStatus(status), "\(code)")
                }
            }
        }
    }

    private static let context = LoadingError.Context()

    @Test(
        "finding FQ-24 policies PL-12 failures that pass are sent again by their own rule",
        arguments: [
            (LoadingError(.nameNotResolved(host: "h"), context), .neverSent),
            (LoadingError(.cannotConnect(host: "h", reason: .refused), context), .neverSent),
            (LoadingError(.cannotConnect(host: "h", reason: .unreachable), context), .neverSent),
            (LoadingError(.timedOut(.nameLookup), context), .neverSent),
            (LoadingError(.timedOut(.connect), context), .neverSent),
            (LoadingError(.timedOut(.idle), context), .transportFailure),
            (LoadingError(.timedOut(.whole), context), .transportFailure),
            (LoadingError(.connectionLost(.nothing, isSafeToRepeat: false), context), .transportFailure),
            (LoadingError(.connectionLost(.head, isSafeToRepeat: false), context), .transportFailure),
            (LoadingError(.incompleteBody(received: 1, expected: 2), context), .transportFailure),
        ] as [(LoadingError, Call.RetryRule)]
    )
    func passingFailures(error: LoadingError, rule: Call.RetryRule) throws {
        let decision = try decision(.failure(error))
        #expect(decision.action == .retry(after: .zero))
        #expect(decision.rule == rule)
    }

    @Test(
        "finding FQ-24 policies PL-12 failures that last are final, however much repeating is allowed",
        arguments: [
            LoadingError(.cancelled, context),
            LoadingError(.untrustedServer(LoadingError.TrustCause(host: "h", cause: .expired)), context),
            LoadingError(.untrustedServer(LoadingError.TrustCause(host: "h", cause: .selfSigned)), context),
            LoadingError(.pinMismatch(host: "h"), context),
            LoadingError(.clientCertificateRequired, context),
            LoadingError(.malformedResponse(.init(.statusLine)), context),
            LoadingError(.malformedResponse(.init(.chunk)), context),
            LoadingError(.decoding, context, underlyingError: CancellationError()),
            LoadingError(.bodyTooLarge(limit: 1, announced: nil), context),
            LoadingError(.decompressionRatioExceeded(limit: 1), context),
            LoadingError(.redirectRefused(.tooMany(limit: 10)), context), LoadingError(.notStored, context),
            LoadingError(.unacceptableStatus(501), context), LoadingError(.transport(code: 1, message: ""), context),
        ] as [LoadingError]
    )
    func lastingFailures(error: LoadingError) throws {
        let decision = try decision(.failure(error)) { policy, attempt in
            policy.methods = .all
            policy.limit = 10
            attempt.hasIdempotencyKey = true
            attempt.request.retryLimit = 10
        }
        #expect(decision.action == .giveUp)
        #expect(decision.rule == .finalFailure)
    }
}
