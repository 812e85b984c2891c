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

@Suite(.timeLimit(.minutes(5)))
struct DeadlineInterceptorTests {
    let transport = ScriptedTransport()
    let time = VirtualTime()
    let request: Request

    init() throws { request = try Request("https://svc.example.com/thing") }

    private func chain(_ settings: DeadlineSettings = DeadlineSettings(), policy: RetryPolicy = RetryPolicy()) -> Chain
    {
        Chain(
            [
                HopInterceptor(deadlines: settings), AttemptInterceptor(retries: policy, budget: RetryBudget()),
                ExchangeInterceptor(deadlines: settings),
            ],
            transport: transport
        )
    }

    private func failure(_ request: Request, _ chain: Chain) async -> LoadingError? {
        let call = Call(id: .init(1), time: time, random: SeededRandom(seed: 1))
        do throws(LoadingError) {
            let body = try await time.runAutomatically { () async throws(LoadingError) in
                let response = try await chain.send(request, call: call)
                return try await response.body.collect()
            }
            Issue.record("It succeeded with \(body)")
            return nil
        } catch {
            return error
        }
    }

    private func seconds(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

    @Test(
        "finding DC-5 the default limit of a whole call is for small calls: an upload has its own, or none",
        arguments: [
            (64 << 10, nil, 60), ((64 << 10) + 1, nil, nil), (nil, nil, nil), (20 << 20, 300, 300), (0, 300, 60),
        ] as [(Int?, Int?, Int?)]
    )
    func uploads(length: Int?, limit: Int?, expected: Int?) async throws {
        transport.onAnyRequest().respond(.text("done").after(.seconds(400)))
        var settings = DeadlineSettings()
        settings.uploading = limit.map { .seconds($0) }
        var upload = try Request(.put, "https://svc.example.com/thing")
        if let length {
            upload.body = .bytes(Data(count: length))
        } else {
            upload.body = .stream { AsyncStream<Data> { $0.finish() } }
        }
        let call = Call(id: .init(1), time: time, random: SeededRandom(seed: 1))
        let chain = chain(settings)

        let result: Result<Response, LoadingError>
        do throws(LoadingError) {
            result = .success(
                try await time.runAutomatically { [upload] () async throws(LoadingError) in
                    try await chain.send(upload, call: call)
                }
            )
        } catch {
            result = .failure(error)
        }

        switch result {
        case .success: #expect(expected == nil && time.now == seconds(400))
        case .failure(let error):
            #expect(expected.map { time.now == seconds(Double($0)) } == true)
            #expect(error.description.contains(limit == expected ? "deadlines.uploading" : "deadlines.buffered"))
        }
    }

    @Test("finding DC-5 a deadline of the request limits an upload")
    func uploadWithDeadline() async throws {
        transport.onAnyRequest().respond(.stalls)
        var upload = try Request(.put, "https://svc.example.com/thing")
        upload.body = .bytes(Data(count: 1 << 20))
        upload.deadline = .seconds(5)

        let error = await failure(upload, chain())

        #expect(time.now == seconds(5) && error?.description.contains("request.deadline") == true)
    }

    @Test("policies PL-01 has one limit of 60 s for the call, none for an attempt, and names it")
    func boundsCallsAndAttempts() async throws {
        transport.onAnyRequest().respond(.stalls)
        let error = await failure(request, chain())
        guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(time.now == seconds(60))
        #expect(transport.requests.map(\.timeouts.whole) == [.seconds(60)])
        #expect(report.limit == .seconds(60))
        #expect(report.elapsed == .seconds(60))
        #expect(error?.context.url == "https://svc.example.com/thing")
        #expect(
            error?.description
                == """
                GET https://svc.example.com/thing: No complete response within 60 s (deadlines.buffered), 1 attempt, \
                60 s: 60 s went into talking to the server.
                """
        )
    }

    /// A transport that observes the deadline of the call itself, as the real ones do.
    private struct ObservingTransport: Transport {
        let endsExchange: Bool

        func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
            try? await call.time.sleep(for: .seconds(60))
            var report = call.deadlineReport(at: call.time.now)
            report.endedExchange = endsExchange
            throw LoadingError(.deadlineExceeded(report), LoadingError.Context(request))
        }
    }

    @Test(
        "finding LX-6 a deadline that the transport observes has the stage, and the evidence, of the limit made of it",
        arguments: [
            (true, Call.StageTimes.Stage.exchange), (false, .wait(.connection(host: "svc.example.com"))),
        ]
    )
    func observedDeadline(endsExchange: Bool, stage: Call.StageTimes.Stage) async throws {
        let transport = ObservingTransport(endsExchange: endsExchange)
        let chain = Chain(
            [HopInterceptor(deadlines: DeadlineSettings()), ExchangeInterceptor(deadlines: DeadlineSettings())],
            transport: transport
        )
        let failed = await failure(request, chain)
        let error = try #require(failed)
        guard case .deadlineExceeded(let report) = error.kind else { throw error }

        #expect(report.stages.entries == [.init(stage: stage, duration: .seconds(60))])
        #expect(report.endedExchange == endsExchange)
        #expect(report.setting == "deadlines.buffered")
        let evidence: HostEvidence = endsExchange ? .suspicious(reason: "no response before the deadline") : .none
        #expect(HostEvidence(error) == evidence)
    }

    @Test("policies PL-01 lets an answer that is slow and healthy take 45 s")
    func waitsForSlowAnswers() async throws {
        transport.onAnyRequest().respond(.text("slow").after(.seconds(45)))
        let (chain, request, call) = (chain(), request, Call(time: time))
        let response = try await time.runAutomatically { () async throws(LoadingError) in
            try await chain.send(request, call: call)
        }
        #expect(response.status == 200)
        #expect(transport.requests.count == 1)
    }

    @Test(
        "policies PL-01 the error of a time-out names limit, setting, attempts and time",
        arguments: [
            ("whole", "No complete response within 15 s (timeouts.whole), 3 attempts, 45 s."),
            ("attempt", "No complete response within 20 s (deadlines.attempt), 3 attempts, 60 s."),
            ("idle", "Nothing was sent or received within 30 s (timeouts.idle), 3 attempts, 90 s."),
            ("connect", "No connection was opened within 10 s (timeouts.connect), 3 attempts, 30 s."),
            ("name", "The name was not resolved within 10 s (timeouts.connect), 3 attempts, 30 s."),
        ]
    )
    func namesTheLimit(kind: String, sentence: String) async throws {
        var (settings, policy, request) = (DeadlineSettings(), RetryPolicy(), request)
        policy.backoff = .none
        settings.buffered = nil
        switch kind {
        case "whole":
            transport.onAnyRequest().respond(.stalls)
            request.timeouts.whole = .seconds(15)
        case "attempt":
            transport.onAnyRequest().respond(.stalls)
            settings.attempt = .seconds(20)
        default:
            let phase: LoadingError.TimeoutPhase = kind == "idle" ? .idle : kind == "connect" ? .connect : .nameLookup
            let answer = ScriptedResponse.fails(LoadingError(.timedOut(phase), LoadingError.Context(request)))
            transport.onAnyRequest().respond(answer.after(.seconds(phase == .idle ? 30 : 10)))
        }
        let error = await failure(request, chain(settings, policy: policy))
        #expect(error?.description == "GET https://svc.example.com/thing: " + sentence)
    }

    @Test("policies PL-02 fails immediately when the delay before the next attempt would end after the deadline")
    func failsAtOnce() async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "50"]).after(.seconds(12)))
        let error = await failure(request, chain())
        guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        let wait = try #require(report.impossibleWait)
        #expect(wait.stage == .wait(.backoff(attempt: 2)))
        #expect(wait.duration >= .seconds(50) && wait.duration < .seconds(51))
        #expect(time.now == seconds(12))
        #expect(error?.context.status == 503)
        #expect(error?.context.attempts == 1)
        #expect((error?.underlyingError as? LoadingError)?.kind == .unacceptableStatus(503))
        #expect(error?.description.contains("; the last attempt failed: The server responded with 503") == true)
    }

    @Test("policies PL-02 the error of a retry that has no time keeps the failure of the attempt before it")
    func keepsFailure() async throws {
        let refused = LoadingError(.cannotConnect(host: "svc.example.com", reason: .refused))
        transport.onAnyRequest().respond(.fails(refused))
        var policy = RetryPolicy()
        policy.backoff = .exponentialTimer(initial: .seconds(90), maximum: .seconds(90), growth: 1, jitter: 0)
        let error = await failure(request, chain(policy: policy))
        guard case .deadlineExceeded? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect((error?.underlyingError as? LoadingError)?.kind == refused.kind)
        #expect(error?.description.contains("; the last attempt failed: No connection to svc.example.com") == true)
    }

    @Test("policies PL-03 names the stages that used the time, and their sum is the time that passed")
    func namesStages() async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "20"]).after(.seconds(10))).then(.stalls)
        let error = await failure(request, chain())
        guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(report.stages.total == report.elapsed)
        #expect(report.elapsed == .seconds(60))
        #expect(report.stages.entries.map(\.stage) == [.exchange, .wait(.backoff(attempt: 2))])
        #expect(report.stages.longest?.stage == .exchange)
        let pause = try #require(report.stages.entries.last?.duration)
        #expect(pause >= .seconds(20) && pause < .seconds(21))
    }

    @Test("policies PL-04 sends the remaining time to the server only when the settings say so")
    func tellsTheServer() async throws {
        transport.onAnyRequest().respond(.status(503, headers: ["Retry-After": "2"]).after(.milliseconds(1500))).then(
            .text("ok")
        )
        var settings = DeadlineSettings()
        settings.remainingField = "X-Time-Left"
        var policy = RetryPolicy()
        policy.backoff = .none
        let (chain, silent, request, call) = (
            chain(settings, policy: policy), chain(), request, Call(time: time, random: SeededRandom(seed: 1))
        )
        try await time.runAutomatically { () async throws(LoadingError) in
            _ = try await chain.send(request, call: call)
            _ = try await silent.send(request, call: call)
        }
        #expect(transport.requests.map { $0.headers["X-Time-Left"] } == ["60.000", "56.500", nil])
    }

    @Test("policies PL-01 respects a time-out of the request's own and gives it back unchanged")
    func respectsExplicitTimeouts() async throws {
        transport.onAnyRequest().respond(.text("large").after(.seconds(90)))
        var request = request
        request.timeouts.whole = .seconds(100)
        let (chain, call, sent) = (chain(), Call(time: time), request)
        let response = try await time.runAutomatically { () async throws(LoadingError) in
            try await chain.send(sent, call: call)
        }
        #expect(response.status == 200)
        #expect(response.request.timeouts.whole == .seconds(100))

        transport.onAnyRequest()
        let plain = try await time.runAutomatically { [self] () async throws(LoadingError) in
            try await Chain(
                [ExchangeInterceptor(deadlines: DeadlineSettings())],
                transport: ScriptedTransport(answering: .text("x"))
            )
            .send(self.request, call: call)
        }
        #expect(plain.request.timeouts.whole == nil)
    }

    @Test("policies PL-01 gives a streamed call no deadline, and no limit to its attempts")
    func leavesStreamsAlone() async throws {
        transport.onAnyRequest().respond(.chunks(["a", "b"], every: .seconds(3_600)))
        var request = request
        request.delivery = .streamed
        let (chain, call, sent) = (chain(), Call(time: time), request)
        let body = try await time.runAutomatically { () async throws(LoadingError) in
            try await chain.send(sent, call: call).body.collect()
        }
        #expect(body == Data("ab".utf8))
    }

    @Test("policies PL-01 service D-30 ends a streamed body at a deadline of the request's own")
    func boundsStreamedBodies() async throws {
        transport.onAnyRequest().respond(.chunks(["a", "b", "c"], every: .seconds(4)))
        var request = request
        request.delivery = .streamed
        request.deadline = .seconds(6)
        let error = await failure(request, chain())
        guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(time.now == seconds(6))
        #expect(report.stages.entries == [.init(stage: .exchange, duration: .seconds(6))])
        #expect(time.sleepers.isEmpty)
    }

    @Test(
        "finding WF-12 a reader that is behind fails at the limit, although the bytes arrived before it",
        arguments: [true, false]
    )
    func boundsSlowReaders(isDeadline: Bool) async throws {
        transport.onAnyRequest().respond(.chunks(["a", "b", "c"], every: .zero))
        var request = request
        request.delivery = .streamed
        if isDeadline { request.deadline = .seconds(6) } else { request.timeouts.whole = .seconds(6) }
        let (chain, call, sent, time) = (chain(), Call(time: time, random: SeededRandom(seed: 1)), request, time)
        let (read, error) = try await time.runAutomatically { () async throws(LoadingError) in
            var iterator = try await chain.send(sent, call: call).body.makeAsyncIterator()
            var read: [Data] = []
            do throws(LoadingError) {
                while let chunk = try await iterator.next(isolation: nil) {
                    read.append(chunk)
                    try await time.sleep(for: .seconds(4))
                }
            } catch {
                return (read, LoadingError?.some(error))
            }
            return (read, nil)
        }
        #expect(read == [Data("a".utf8), Data("b".utf8)])
        switch error?.kind {
        case .deadlineExceeded?: #expect(isDeadline)
        case .timedOut(.whole)?: #expect(!isDeadline)
        default: Issue.record("The body ended with \(String(describing: error))")
        }
    }

    @Test("policies PL-02 sends nothing when no time is left")
    func sendsNothingLate() async throws {
        transport.onAnyRequest().respond(.text("late"))
        var call = Call(time: time)
        call.deadline = time.now
        do throws(LoadingError) {
            _ = try await chain().send(request, call: call)
            Issue.record("It was sent")
        } catch {
            guard case .deadlineExceeded = error.kind else { throw error }
        }
        #expect(transport.requests.isEmpty)
    }

    // MARK: - The app's own waits

    /// A chain with an interceptor of the app below the deadline, which sleeps for a time before each exchange.
    private func chain(sleeping duration: Duration, ignoresCancellation: Bool = false) -> Chain {
        let (settings, time) = (DeadlineSettings(), time)
        let sleeper = Chain.interceptor { request, next in
            let end = time.now.advanced(by: duration)
            if ignoresCancellation {
                await Task { try? await time.sleep(until: end) }.value
            } else {
                try await time.sleep(until: end)
            }
            return try await next(request)
        }
        return Chain(
            [HopInterceptor(deadlines: settings), ExchangeInterceptor(deadlines: settings), sleeper],
            transport: transport
        )
    }

    @Test("policies PL-01 ends a call in which an interceptor of the app waits without observing the deadline")
    func endsWaitsOfTheApp() async throws {
        let error = await failure(request, chain(sleeping: .seconds(3_600)))

        guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(time.now == seconds(60.1) && time.sleepers.isEmpty && transport.requests.isEmpty)
        #expect(report.limit == .seconds(60) && report.setting == "deadlines.buffered")
        #expect(error?.context.url == "https://svc.example.com/thing")
    }

    @Test("policies PL-01 the time of the app's interceptor does not prolong the exchange after it")
    func endsExchangesAfterWaits() async throws {
        transport.onAnyRequest().respond(.stalls)
        let error = await failure(request, chain(sleeping: .seconds(30)))

        guard case .deadlineExceeded = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(time.now == seconds(60.1) && transport.requests.count == 1)
    }

    @Test("policies PL-01 an exchange that ends at the deadline says so, also below an interceptor of the app")
    func prefersTheExchange() async throws {
        transport.onAnyRequest().respond(.stalls)
        let error = await failure(request, chain(sleeping: .zero))

        guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(time.now == seconds(60) && report.endedExchange && report.stages.longest?.stage == .exchange)
    }

    @Test("policies PL-01 an answer before the deadline leaves nothing that waits")
    func leavesNothing() async throws {
        transport.onAnyRequest().respond(.text("ok"))
        let (chain, request, call) = (chain(sleeping: .seconds(59)), request, Call(time: time))
        let response = try await time.runAutomatically { () async throws(LoadingError) in
            try await chain.send(request, call: call)
        }
        #expect(response.status == 200 && time.now == seconds(59) && time.sleepers.isEmpty)
    }

    @Test("policies PL-01 an interceptor that ignores its cancellation delays the end of the call")
    func ignoredCancellation() async throws {
        transport.onAnyRequest().respond(.text("late"))
        let error = await failure(request, chain(sleeping: .seconds(300), ignoresCancellation: true))

        guard case .deadlineExceeded = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(time.now == seconds(300))
    }

    @Test("policies PL-01 a result that comes in spite of the cancellation counts")
    func resultAfterDeadline() async throws {
        var call = Call(time: time)
        call.deadline = seconds(1)
        let (ready, time, end) = (call, time, seconds(5))
        let value = try await time.runAutomatically { () async throws(LoadingError) in
            try await ready.untilDeadline { (_) async throws(LoadingError) in
                await Task { try? await time.sleep(until: end) }.value
                return 7
            }
        }
        #expect(value == 7 && time.now == seconds(5))
    }

    @Test("policies PL-01 cancelling the call before the deadline is a cancellation", arguments: [true, false])
    func cancelled(byScope: Bool) async throws {
        let (chain, request, scope) = (chain(sleeping: .seconds(3_600)), request, Call.Scope())
        var call = Call(time: time)
        if byScope { call.scope = scope }
        let loading = Task { [call] in try await chain.send(request, call: call) }
        _ = try await time.sleepers(atLeast: 2)
        if byScope { scope.cancel() } else { loading.cancel() }

        let error = await #expect(throws: LoadingError.self) { try await loading.value }
        guard case .cancelled? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(time.now == seconds(0) && time.sleepers.isEmpty)
    }

    @Test("policies PL-01 an interceptor that ends its call as cancelled before the deadline has cancelled it")
    func ownCancellation() async throws {
        let (settings, time) = (DeadlineSettings(), time)
        let canceller = Chain.interceptor { request, _ in
            try await time.sleep(until: time.now.advanced(by: .seconds(59)))
            throw LoadingError(.cancelled, LoadingError.Context(request))
        }
        let error = await failure(
            request,
            Chain([HopInterceptor(deadlines: settings), canceller], transport: transport)
        )

        guard case .cancelled? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(time.now == seconds(59) && time.sleepers.isEmpty)
    }

    @Test("policies PL-01 ends an authoriser of the app that waits without observing the deadline")
    func endsAuthorisers() async throws {
        let chain = Chain(
            [
                HopInterceptor(deadlines: DeadlineSettings()),
                AttemptInterceptor(authorisers: [SlowAuthoriser(time: time)]),
            ],
            transport: transport
        )
        let error = await failure(request, chain)

        guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(time.now == seconds(60.1) && report.limit == .seconds(60) && transport.requests.isEmpty)
    }
}

/// Sleeps for an hour, and observes nothing but its task.
private struct SlowAuthoriser: Authoriser {
    let identifier = "slow"
    let time: VirtualTime

    func claims(_ request: Request) -> Bool { true }

    func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request {
        try await time.sleep(until: time.now.advanced(by: .seconds(3_600)))
        return request
    }
}
