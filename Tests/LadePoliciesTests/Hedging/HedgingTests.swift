#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import Testing

@testable import LadeCore
@testable import LadePolicies

/// Requests that are sent a second time while the first is in progress, in virtual time.
@Suite("Hedging", .timeLimit(.minutes(5)))
struct HedgingTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let events = EventRecorder()
    private let budget = RetryBudget()
    private let scope = Call.Scope()

    private func at(_ milliseconds: Int) -> Instant { Instant(nanoseconds: Int64(milliseconds) * 1_000_000) }

    private func chain(
        _ policy: HedgingPolicy = .delay(.milliseconds(200)),
        retries: Int = 0,
        hosts: HostDirectory? = nil,
        authorisers: [any Authoriser] = [],
        jar: CookieJar? = nil,
        limits: RateLimits = RateLimits(),
        below: [any Interceptor] = []
    ) throws -> Chain {
        var policyOfRetries = RetryPolicy()
        policyOfRetries.limit = retries
        policyOfRetries.backoff = .none
        return Chain(
            [
                HopInterceptor(deadlines: DeadlineSettings()),
                AttemptInterceptor(
                    retries: policyOfRetries,
                    budget: budget,
                    hedging: Hedging(policy),
                    hosts: hosts,
                    authorisers: authorisers
                ),
                ExchangeInterceptor(
                    limiter: try RateLimiter(limits, time: time, random: SeededRandom(seed: 2)),
                    jar: jar,
                    deadlines: DeadlineSettings()
                ),
            ] + below,
            transport: transport
        )
    }

    private func makeCall(_ number: UInt64 = 1) -> Call {
        var call = Call(id: .init(number), time: time, random: SeededRandom(seed: 1), events: [events])
        call.scope = scope
        return call
    }

    private func outcome(_ request: Request, _ chain: Chain, _ call: Call) async -> Result<Response, LoadingError> {
        do throws(LoadingError) { return .success(try await chain.send(request, call: call)) } catch {
            return .failure(error)
        }
    }

    /// Sends a GET and returns its result.
    private func send(
        _ chain: Chain,
        _ change: (inout Request) -> Void = { _ in }
    ) async throws -> Result<Response, LoadingError> {
        var request = try Request("https://svc.test/a")
        change(&request)
        let (sent, call) = (request, makeCall())
        return await time.runAutomatically { await outcome(sent, chain, call) }
    }

    /// Sends a GET and returns the body of its response.
    private func text(_ chain: Chain) async throws -> String { try await send(chain).get().text }

    private var hedgeEvents: [String] {
        events.events.compactMap {
            switch $0 {
            case .hedgeStarted, .hedgeRefused, .hedgeFinished: "\($0)"
            default: nil
            }
        }
    }

    private var slow: ScriptedResponse { .text("slow").after(.seconds(5)) }

    // MARK: - When

    @Test("policies PL-70 a request whose head comes within the delay is sent once", arguments: [0, 199])
    func inTime(milliseconds: Int) async throws {
        transport.onAnyRequest().respond(.text("ok").after(.milliseconds(milliseconds)))

        let response = try await send(try chain()).get()

        #expect(try response.text == "ok")
        #expect(transport.requests.count == 1)
        #expect(hedgeEvents.isEmpty)
        #expect(budget.keyCount == 0)
    }

    @Test("policies PL-70 without a head after the delay it is sent once more, and the first response counts")
    func late() async throws {
        transport.onAnyRequest().respond(slow).then(.text("fast").after(.milliseconds(10)))

        let response = try await send(try chain()).get()

        #expect(try response.text == "fast")
        #expect(response.attempts == 1)
        #expect(time.now == at(210))
        #expect(transport.requests.count == 2)
        #expect(transport.cancellations == 1)
        #expect(transport.inFlight == 0)
    }

    @Test("policies PL-70 a head stops the delay, however long its body takes")
    func longBody() async throws {
        transport.onAnyRequest().respond(.chunks(["a", "b", "c"], every: .seconds(1)))

        let response = try await send(try chain()).get()

        #expect(try response.text == "abc")
        #expect(transport.requests.count == 1)
    }

    @Test("policies PL-70 the limit of hedges is a setting", arguments: 0...3)
    func limit(limit: Int) async throws {
        transport.onAnyRequest().respond(slow)
        var policy = HedgingPolicy.delay(.milliseconds(200))
        policy.limit = limit

        _ = try await send(try chain(policy)).get()

        #expect(time.now == at(5_000))
        #expect(transport.requests.count == 1 + limit)
        #expect(transport.cancellations == limit)
    }

    @Test("policies PL-70 waits for a slot do not count as a wait for the head")
    func waitsDoNotCount() async throws {
        transport.onAnyRequest().respond(.text("ok").after(.milliseconds(100)))
        let chain = try chain(limits: RateLimits(default: .perSecond(1)))
        let request = try Request("https://svc.test/a")
        let (first, second) = (makeCall(1), makeCall(2))

        let statuses = await time.runAutomatically {
            async let one = outcome(request, chain, first)
            async let two = outcome(request, chain, second)
            return await [try? one.get().status, try? two.get().status]
        }

        #expect(statuses == [200, 200])
        #expect(time.now == at(1_100))
        #expect(transport.requests.count == 2)
        #expect(hedgeEvents.isEmpty)
    }

    @Test(
        "policies PL-70 a transport that reports no events is hedged after the delay from the beginning of the attempt"
    )
    func silentTransport() async throws {
        transport.onAnyRequest().respond(slow).then(.text("fast"))
        let silent = Silent(transport: transport)
        let chain = Chain(try chain().interceptors, transport: silent)

        let response = try await send(chain).get()

        #expect(try response.text == "fast")
        #expect(time.now == at(200))
    }

    private struct Silent: Transport {
        let transport: ScriptedTransport
        var observesScope: Bool { true }
        var collectsBodies: Bool { true }

        func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
            var silent = Call(time: call.time)
            silent.scope = call.scope
            return try await transport.send(request, call: silent)
        }
    }

    // MARK: - Which ending counts

    enum Kind: CaseIterable, Sendable {
        case good, missing, unavailable, lost

        var answer: ScriptedResponse {
            switch self {
            case .good: .status(200)
            case .missing: .status(404)
            case .unavailable: .status(503)
            case .lost: .connectionLost()
            }
        }

        var isFinal: Bool { self == .good || self == .missing }
    }

    private struct Script: CustomStringConvertible {
        var first: Kind
        var firstEnd: Int?
        var hedge: Kind
        var hedgeEnd: Int?
        var cancelled: Int?
        var isStreamed: Bool

        var description: String {
            "\(first) at \(firstEnd ?? -1), \(hedge) at \(hedgeEnd ?? -1), cancelled \(cancelled ?? -1), \(isStreamed)"
        }

        /// What must happen: the ending, nil for a cancellation, its time, and the number of exchanges; nil for no ending.
        var expected: (Kind?, at: Int, exchanges: Int)? {
            let never = Int.max
            let (one, two, end) = (firstEnd ?? never, hedgeEnd ?? never, cancelled ?? never)
            let ending: (Kind?, Int, Int)
            if one < 200 {
                ending = (first, one, 1)
            } else {
                let exchanges = end < 200 ? 1 : 2
                let final = [(one, first), (two, hedge)].filter { $0.1.isFinal }.min { $0.0 < $1.0 }
                if let final {
                    ending = (final.1, final.0, exchanges)
                } else {
                    ending = (hedge == .unavailable && first == .lost ? hedge : first, max(one, two), exchanges)
                }
            }
            if end < ending.1 { return (nil, end, end < 200 ? 1 : 2) }
            return ending.1 == never ? nil : ending
        }

        static let all: [Script] = {
            var all: [Script] = []
            for (first, hedge) in Kind.allCases.flatMap({ kind in Kind.allCases.map { (kind, $0) } }) {
                for firstEnd in [100, 250, 600, nil] {
                    for hedgeEnd in [220, 350, 700, nil] {
                        for cancelled in [50, 230, 400, nil] {
                            for isStreamed in [false, true] {
                                let script = Script(
                                    first: first,
                                    firstEnd: firstEnd,
                                    hedge: hedge,
                                    hedgeEnd: hedgeEnd,
                                    cancelled: cancelled,
                                    isStreamed: isStreamed
                                )
                                if script.expected != nil { all.append(script) }
                            }
                        }
                    }
                }
            }
            return all
        }()
    }

    @Test(
        "policies PL-71 policies PL-75 every order of two endings and a cancellation has one result, and its time adds up"
    )
    func everyInterleaving() async throws {
        #expect(Script.all.count > 1_500)
        for script in Script.all {
            guard let expected = script.expected else { continue }
            let (time, transport, scope) = (VirtualTime(), ScriptedTransport(), Call.Scope())
            let events = EventRecorder()
            let first = script.firstEnd.map { script.first.answer.after(.milliseconds($0)) } ?? .stalls
            let second = script.hedgeEnd.map { script.hedge.answer.after(.milliseconds($0 - 200)) } ?? .stalls
            transport.onAnyRequest().respond(first).then(second)
            var policy = RetryPolicy()
            policy.limit = 0
            var limits = RateLimits()
            limits.totalConcurrency = 2
            let limiter = try RateLimiter(limits, time: time, random: SeededRandom(seed: 2))
            let chain = Chain(
                [
                    HopInterceptor(deadlines: DeadlineSettings()),
                    AttemptInterceptor(retries: policy, hedging: Hedging(.delay(.milliseconds(200)))),
                    ExchangeInterceptor(limiter: limiter, deadlines: DeadlineSettings()),
                ],
                transport: transport
            )
            var call = Call(id: .init(1), time: time, random: SeededRandom(seed: 1), events: [events])
            call.scope = scope
            call.deadline = Instant(nanoseconds: 3_600_000_000_000)
            var request = try Request("https://svc.test/a")
            if script.isStreamed { request.delivery = .streamed }
            let (sent, made) = (request, call)

            let (result, end) = await time.runAutomatically {
                await withTaskGroup(of: Void.self) { group in
                    if let cancelled = script.cancelled {
                        group.addTask {
                            try? await time.sleep(for: .milliseconds(cancelled))
                            scope.cancel()
                        }
                    }
                    let result = await outcome(sent, chain, made)
                    group.cancelAll()
                    return (result, time.now)
                }
            }

            switch (result, expected.0) {
            case (.success(let response), .good?): #expect(response.status == 200, "\(script)")
            case (.success(let response), .missing?): #expect(response.status == 404, "\(script)")
            case (.success(let response), .unavailable?): #expect(response.status == 503, "\(script)")
            case (.failure(let error), .lost?):
                guard case .connectionLost = error.kind else { throw error }
            case (.failure(let error), nil): #expect(error.isCancellation, "\(script)")
            default: Issue.record("\(script): \(result)")
            }
            try #require(end == at(expected.at), "\(script)")
            try #require(transport.requests.count == expected.exchanges, "\(script)")
            #expect(transport.inFlight == 0, "\(script)")
            if case .success(let response) = result { _ = try await response.body.collect(limit: 10) }
            // Both slots are free again.
            for _ in 0..<2 {
                guard case .slot? = try? limiter.startNow(sent, call: Call(time: time)) else {
                    Issue.record("\(script): a slot is missing")
                    return
                }
            }
            let ended = events.events.count { if case .hedgeFinished = $0 { true } else { false } }
            #expect(ended == expected.exchanges - 1, "\(script)")
            try #require(
                made.times?.stages.total == .milliseconds(expected.at),
                "\(script): \(String(describing: made.times))"
            )
        }
    }

    @Test("policies PL-71 the retry policy sees one outcome, and the next attempt may be hedged again")
    func retried() async throws {
        transport.onAnyRequest().respond(.status(503).after(.milliseconds(300))).then(.connectionLost()).then(slow)
            .then(.text("fast"))

        let response = try await send(try chain(retries: 1)).get()

        #expect(try response.text == "fast")
        #expect(response.attempts == 2)
        #expect(time.now == at(500))
        #expect(transport.requests.count == 4)
        let retries = events.events.compactMap {
            if case .retryScheduled(let record) = $0 { record.status } else { nil }
        }
        #expect(retries == [503])
    }

    // MARK: - Which requests

    @Test(
        "policies PL-72 only what may be sent twice is hedged",
        arguments: [
            (Request.Method.get, false, true, 2), (.put, false, true, 2), (.delete, false, true, 2),
            (.post, false, true, 1),
            (.post, true, true, 2), (.patch, true, true, 2), (.put, false, false, 1), (.post, true, false, 1),
        ]
    )
    func methods(method: Request.Method, hasKey: Bool, isReplayable: Bool, count: Int) async throws {
        transport.onAnyRequest().respond(slow)

        _ = try await send(try chain()) { request in
            request.method = method
            if hasKey { request.idempotencyKey = .generated }
            if method != .get, method != .delete {
                request.body = isReplayable ? .text("x") : .writer(length: 1) { try await $0(Data("x".utf8)) }
            }
        }.get()

        #expect(transport.requests.count == count)
        #expect(Set(transport.requests.map { $0.headers["Idempotency-Key"] }).count == 1)
    }

    @Test("policies PL-72 a request may refuse to be hedged")
    func switchedOff() async throws {
        transport.onAnyRequest().respond(slow)

        _ = try await send(try chain()) { $0.allowsHedging = false }.get()

        #expect(transport.requests.count == 1)
        #expect(hedgeEvents.isEmpty)
    }

    // MARK: - Budget and limit

    private var key: ServiceKey { ServiceKey("svc.test:443/a") }

    @Test("policies PL-73 a hedge costs as much as a retry, and its success refunds no more than that of any call")
    func cost() async throws {
        transport.onAnyRequest().respond(slow).then(.text("fast"))

        _ = try await send(try chain()).get()

        #expect(budget.left(for: key) == 496)
    }

    @Test("policies PL-73 no hedge is sent from an empty budget")
    func emptyBudget() async throws {
        transport.onAnyRequest().respond(slow)
        _ = budget.withdraw(for: key, cost: 498)

        _ = try await send(try chain()).get()

        #expect(transport.requests.count == 1)
        #expect(hedgeEvents == ["hedgeRefused(1, reason: \"the retry budget is empty\")"])
        #expect(budget.left(for: key) == 3)
    }

    @Test(
        "policies PL-73 a hedge never waits for a slot: without a free one it is not sent, and costs nothing",
        arguments: 0..<4
    )
    func noSlot(kind: Int) async throws {
        transport.onAnyRequest().respond(slow)
        var limits = RateLimits()
        switch kind {
        case 0: limits.totalConcurrency = 1
        case 1: limits.concurrency = 1
        case 2: limits.default = .perSecond(0.1)
        default: limits.furtherKeys = { _ in [ServiceKey("host")] }
        }
        if kind == 3 { limits.rates = [ServiceKey("host"): .perSecond(0.1)] }

        let response = try await send(try chain(limits: limits)).get()

        #expect(try response.text == "slow")
        #expect(time.now == at(5_000))
        #expect(transport.requests.count == 1)
        #expect(budget.keyCount == 0)
        #expect(hedgeEvents.count == 2)
        #expect(hedgeEvents.last?.hasPrefix("hedgeRefused(1, reason: \"no slot of ") == true)
        #expect(events.events.allSatisfy { if case .waitStarted = $0 { false } else { true } })
    }

    @Test("policies PL-73 the loser's slot is free afterwards, call after call")
    func slotsAreFreed() async throws {
        transport.onAnyRequest().respond(
            .computed { _, call in call.hedge == 0 ? slow : .text("fast") }
        )
        var limits = RateLimits()
        limits.concurrency = 2
        let chain = try chain(limits: limits)

        for _ in 0..<20 { #expect(try await text(chain) == "fast") }

        #expect(transport.requests.count == 40)
    }

    @Test("policies PL-73 a hedge that never left this machine is paid back")
    func unsentHedge() async throws {
        transport.onAnyRequest().respond(slow).then(.fails(LoadingError(.cannotConnect(host: "", reason: .refused))))

        #expect(try await text(try chain()) == "slow")
        #expect(budget.keyCount == 0)
    }

    // MARK: - Addresses

    private func addresses() -> [String] {
        transport.requests.map {
            if case .host(let host, _)? = $0.destination { host } else { $0.url.host() ?? "" }
        }
    }

    @Test("policies PL-74 a hedge goes to another address of the host, where the list has one that is not marked")
    func otherAddress() async throws {
        transport.onAnyRequest().respond(slow).then(.text("fast"))
        let hosts = HostDirectory(["svc.test": ["svc.test", "10.0.0.1", "10.0.0.2"]])
        hosts.mark("10.0.0.1", at: time.now)

        _ = try await send(try chain(hosts: hosts)).get()

        #expect(addresses() == ["svc.test", "10.0.0.2"])
    }

    @Test("policies PL-74 a hedge goes to the same address, where every other one is marked")
    func sameAddress() async throws {
        transport.onAnyRequest().respond(slow).then(.text("fast"))
        let hosts = HostDirectory(["svc.test": ["svc.test", "10.0.0.1"]])
        hosts.mark("10.0.0.1", at: time.now)

        _ = try await send(try chain(hosts: hosts)).get()

        #expect(addresses() == ["svc.test", "svc.test"])
    }

    @Test("policies PL-74 a hedge that was not processed moves on, but not to the address of the first exchange")
    func moves() async throws {
        transport.onAnyRequest().respond(slow).then(.fails(LoadingError(.cannotConnect(host: "", reason: .refused))))
            .then(.text("fast"))
        let hosts = HostDirectory(["svc.test": ["svc.test", "10.0.0.1", "10.0.0.2"]])

        #expect(try await text(try chain(hosts: hosts)) == "fast")

        #expect(addresses() == ["svc.test", "10.0.0.1", "10.0.0.2"])
        #expect(hosts.isMarked("10.0.0.1", at: time.now))
        #expect(!hosts.isMarked("svc.test", at: time.now))
    }

    // MARK: - Both exchanges

    @Test(
        "policies PL-75 the deadline of the call ends both exchanges, and its report adds up",
        arguments: [false, true]
    )
    func deadline(isStreamed: Bool) async throws {
        transport.onAnyRequest().respond(.stalls)

        let result = try await send(try chain()) { request in
            request.deadline = .seconds(1)
            if isStreamed { request.delivery = .streamed }
        }

        guard case .failure(let error) = result, case .deadlineExceeded(let report) = error.kind else {
            Issue.record("\(result)")
            return
        }
        #expect(time.now == at(1_000))
        #expect(report.elapsed == .seconds(1))
        #expect(report.stages.entries == [.init(stage: .exchange, duration: .seconds(1))])
        #expect(report.endedExchange)
        #expect(transport.inFlight == 0)
    }

    @Test("policies PL-75 credentials and cookies are those of the moment in which each exchange is sent")
    func credentialsAndCookies() async throws {
        let jar = CookieJar()
        let other = try Request("https://svc.test/a")
        let (time, count) = (time, Locked(0))
        transport.onAnyRequest().respond(
            .computed { _, call in
                guard call.hedge == 0 else { return .status(200, headers: ["Set-Cookie": "b=2"]) }
                _ = jar.take(["Set-Cookie": "a=1"], of: other, at: time.date)
                return .text("slow").after(.seconds(5))
            }
        )
        var settings = Authorisation.RefreshSettings()
        settings.ahead = .zero
        let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://svc.test"), settings: settings) {
            _,
            _ in
            count.withLock { count in
                count += 1
                return .init(Secret("t\(count)"), end: .after(.milliseconds(100)))
            }
        }

        let response = try await send(try chain(authorisers: [authoriser], jar: jar)).get()

        #expect(response.status == 200)
        #expect(transport.requests.map { $0.headers["Authorization"] } == ["Bearer t1", "Bearer t2"])
        #expect(transport.requests.map { $0.headers["Cookie"] } == [nil, "a=1"])
        var next = other
        jar.add(to: &next, at: time.date)
        #expect(next.headers["Cookie"] == "a=1; b=2")
    }

    @Test("policies PL-75 a slow token is no reason for a hedge")
    func slowToken() async throws {
        transport.onAnyRequest().respond(.text("ok").after(.milliseconds(100)))
        let time = time
        let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://svc.test")) { _, _ in
            try? await time.sleep(for: .seconds(2))
            return .init("token")
        }

        _ = try await send(try chain(authorisers: [authoriser])).get()

        #expect(time.now == at(2_100))
        #expect(transport.requests.count == 1)
        #expect(hedgeEvents.isEmpty)
    }

    @Test("policies PL-78 the streamed body of the hedge is read after the first exchange was cancelled")
    func streamedWinner() async throws {
        transport.onAnyRequest().respond(slow).then(.chunks(["a", "b", "c"], every: .seconds(2)))
        var request = try Request("https://svc.test/a")
        request.delivery = .streamed
        let (sent, chain, call) = (request, try chain(), makeCall())

        let text = try await time.runAutomatically { () async throws(LoadingError) in
            let response = try await chain.send(sent, call: call)
            return String(decoding: try await response.body.collect(limit: 10), as: UTF8.self)
        }

        #expect(text == "abc")
        #expect(transport.requests.count == 2)
        #expect(transport.cancellations == 1)
    }

    @Test("policies PL-78 the streamed body of a refused response ends, when the other exchange is the result")
    func streamedLoser() async throws {
        transport.onAnyRequest().respond(
            .computed { _, call in
                call.hedge == 0
                    ? .chunks(["a", "b"], every: .seconds(60)).after(.milliseconds(300))
                    : .text("ok").after(.milliseconds(400))
            }
        )
        let unavailable = Chain.interceptor(observesScope: true) { request, next in
            var response = try await next(request)
            if next.call.hedge == 0 { response.status = 503 }
            return response
        }

        let response = try await send(try chain(below: [unavailable])) { $0.delivery = .streamed }.get()

        #expect(response.status == 200)
        #expect(time.now == at(600))
        #expect(transport.cancellations == 1)
    }

    // MARK: - Percentiles

    @Test("policies PL-76 a percentile hedges the slowest, once enough is known, and hedges do not lower it")
    func percentile() async throws {
        let number = Locked(0)
        transport.onAnyRequest().respond(
            .computed { _, call in
                guard call.hedge == 0 else { return .text("hedge").after(.microseconds(1_500)) }
                let count = number.withLock { number in
                    number += 1
                    return number
                }
                // Spread evenly over 100 ms, and never twice the same.
                return .text("ok").after(.microseconds(10_000 + count * 61_803 % 100_000))
            }
        )
        let chain = try chain(.percentile(50, minimumSamples: 20))

        for call in 1...300 {
            _ = try await send(chain).get()
            if call == 20 { #expect(transport.requests.count == 20) }
        }

        // Half of the 280 behind the first 20; without the times of the cancelled ones, nearly all.
        #expect((430...450).contains(transport.requests.count), "\(transport.requests.count)")
    }

    // MARK: - Events

    @Test("policies PL-77 the events and the timeline show both exchanges, and every millisecond once")
    func story() async throws {
        transport.onAnyRequest().respond(slow).then(.text("fast").after(.milliseconds(10)))
        let story = Service.CallStory()
        var call = Call(id: .init(1), time: time, random: SeededRandom(seed: 1), events: [story, events])
        call.scope = scope
        let (chain, made) = (try chain(), call)
        let request = try Request("https://svc.test/a")

        _ = await time.runAutomatically { await outcome(request, chain, made) }

        #expect(
            events.story == [
                "attemptStarted(1)", "exchange started GET https://svc.test/a", "hedgeStarted(1, after: 0.2 seconds)",
                "exchange started GET https://svc.test/a", "head 200 HTTP/1.1", "exchange finished",
                "exchange failed: cancelled", "hedgeFinished(used: 1)",
            ]
        )
        let rows = story.timeline.rows
        #expect(rows.map(\.duration).reduce(.zero, +) == .milliseconds(210))
        #expect(
            rows.filter { $0.stage == nil }.map(\.text) == [
                "attempt 1", "GET https://svc.test/a", "no head within 200 ms; sent once more, as hedge 1",
                "hedge 1: GET https://svc.test/a", "hedge 1: response 200, HTTP/1.1",
                "hedge 1: complete: 19 bytes up, 80 down",
                "cancelled", "the result is that of hedge 1",
            ]
        )
    }
}
