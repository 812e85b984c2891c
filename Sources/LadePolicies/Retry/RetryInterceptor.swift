#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Retries failed attempts: back-off with jitter, `Retry-After` as the minimum, a budget per service.
///
/// A ``RetryPolicy`` decides what is retried. The interceptor stands below the cache and above hosts, authorisation and
/// rate limit, so that each attempt gets its own address, credentials and slot. Bodies of `buffered` requests are
/// collected below it, so a body that fails is retried like a head that failed. A `streamed` response belongs to the
/// caller once its head was delivered.
package struct RetryInterceptor: Interceptor {
    /// The policy that decides what is retried.
    package let policy: RetryPolicy
    /// The retry budget of each service; nil for no such limit.
    package let budget: RetryBudget?
    private let keyRule: ServiceKey.Rule
    private let gateLimit: Duration
    private let keys: IdempotencyKeys

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - policy: What decides.
    ///   - budget: The budget of each service, shared with other interceptors that send again; nil for none.
    ///   - keyRule: Which requests share a budget.
    ///   - gateLimit: The longest time for which a server's delay holds calls, which an error states of a longer one.
    ///   - random: The source of the first idempotency key.
    package init(
        _ policy: RetryPolicy = RetryPolicy(),
        budget: RetryBudget? = RetryBudget(),
        keyRule: @escaping ServiceKey.Rule = { ServiceKey($0) },
        gateLimit: Duration = RateLimits().gateLimit,
        random: any RandomSource = SystemRandom()
    ) {
        self.policy = policy
        self.budget = budget
        self.keyRule = keyRule
        self.gateLimit = gateLimit
        keys = IdempotencyKeys(random)
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Sends the request until it succeeds, fails for good, or may not be retried.
    ///
    /// - Throws: The last attempt's error, with the number of attempts; `LoadingError.Kind.rateLimited` when the server
    ///   requests a longer delay than allowed; `LoadingError.Kind.deadlineExceeded` when the delay would end after the
    ///   deadline; `LoadingError.Kind.cancelled` as soon as the task is cancelled.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        let (request, hasKey, spent) = prepared(request, next.call)
        next.call.noteAttempt()
        next.call.record(.attemptStarted(next.call.attempt))
        let first: Result<Response, LoadingError>
        do throws(LoadingError) {
            let response = try await next(request)
            if RetryPolicy.settles(response.status, nil) {
                budget?.refund(for: keyRule(request), 0)
                return next.call.attempt > 1 ? counted(response, next.call.attempt) : response
            }
            first = .success(response)
        } catch {
            first = .failure(error)
        }
        // A separate function, so that calls that succeed at the first attempt do not carry the state of retries.
        return try await repeated(request, after: first, hasKey, spent, next)
    }

    /// Decides about an attempt, and makes the others.
    private func repeated(
        _ request: Request,
        after first: Result<Response, LoadingError>,
        _ hasKey: Bool,
        _ spent: TouchMark?,
        _ next: Next
    ) async throws(LoadingError) -> Response {
        var next = next
        var outcome = first
        var delays: Backoff.Delays?
        var withdrawn = 0
        while true {
            let call = next.call
            if case .success(let response) = outcome, RetryPolicy.settles(response.status, nil) {
                budget?.refund(for: keyRule(request), withdrawn)
                return counted(response, call.attempt)
            }
            var attempt = RetryPolicy.Attempt(request, Self.ending(outcome, call))
            attempt.acceptableStatuses = call.acceptableStatuses
            attempt.number = call.attempt
            attempt.hasIdempotencyKey = hasKey
            attempt.isBodySpent = spent?.isTouched ?? false
            if attempt.number > policy.immediateTries {
                if delays == nil { delays = policy.backoff.makeDelays() }
                attempt.delay = delays?.next(AnyRandom(call.random)) ?? .zero
            }
            attempt.remaining = call.deadline.map { call.time.now.duration(to: $0) }
            var decision = policy.decision(attempt)
            if case .failure(let error) = outcome, error.isCancellation { throw error.counted(call.attempt) }
            var cost = 0
            if case .retry = decision.action, let budget {
                cost = RetryPolicy.isTimeout(attempt.outcome) ? budget.settings.timeoutCost : budget.settings.retryCost
                if budget.withdraw(for: keyRule(request), cost: cost) {
                    withdrawn += cost
                } else {
                    decision = RetryPolicy.Decision(action: .giveUp, rule: .budgetEmpty)
                }
            }
            record(decision, attempt, call)
            guard case .retry(let delay) = decision.action else {
                if Self.isAnswered(decision.rule) { budget?.refund(for: keyRule(request), withdrawn) }
                return try finish(decision, outcome, attempt, call)
            }
            if case .success(let response) = outcome { await response.discardBody(call) }
            next.call.attempt += 1
            do throws(LoadingError) {
                try await next.call.wait(
                    until: call.time.now.advanced(by: delay),
                    for: .backoff(attempt: attempt.number + 1)
                )
            } catch {
                // The attempt is not made: it has cost the service nothing.
                if cost > 0 { budget?.refund(for: keyRule(request), cost) }
                throw Self.described(error, outcome, attempt.number)
            }
            next.call.noteAttempt()
            next.call.record(.attemptStarted(next.call.attempt))
            outcome = await Self.outcome(of: request, next)
        }
    }

    // MARK: - The request

    private func prepared(_ request: Request, _ call: Call) -> (Request, hasKey: Bool, TouchMark?) {
        var prepared = request
        var hasKey = request.headers.contains(policy.idempotencyField)
        if !hasKey, request.hasTags, let key = request.idempotencyKey {
            switch key {
            case .generated: prepared.headers[policy.idempotencyField] = keys.key(for: call)
            case .value(let value): prepared.headers[policy.idempotencyField] = value
            }
            hasKey = true
        }
        let mark = prepared.watchBody()
        return (prepared, hasKey, mark)
    }

    // MARK: - The outcome

    private static func outcome(of request: Request, _ next: Next) async -> Result<Response, LoadingError> {
        do throws(LoadingError) {
            return .success(try await next(request))
        } catch {
            return .failure(error)
        }
    }

    private static func ending(_ outcome: Result<Response, LoadingError>, _ call: Call) -> RetryPolicy.Attempt.Outcome {
        switch outcome {
        case .success(let response):
            let pause = response.headers.pause(now: call.time.date)
            if pause == nil, let text = response.headers["Retry-After"] {
                call.record(.valueIgnored(name: "Retry-After", value: text))
            }
            return .answer(response.status, pause: pause)
        case .failure(let error): return .failure(error)
        }
    }

    /// Whether the service answered, even if with an error: then it works.
    private static func isAnswered(_ rule: RetryPolicy.Rule) -> Bool {
        switch rule {
        case .acceptedStatus, .finalStatus: true
        default: false
        }
    }

    private func record(_ decision: RetryPolicy.Decision, _ attempt: RetryPolicy.Attempt, _ call: Call) {
        guard decision.action != .accept, call.isObserved else { return }
        var record = CallEvent.Retry(attempt: attempt.number, rule: decision.rule.description)
        if case .answer(let status, _) = attempt.outcome { record.status = status }
        if case .failure(let error) = attempt.outcome { record.status = error.context.status }
        record.budget = budget?.left(for: keyRule(attempt.request))
        if case .retry(let delay) = decision.action {
            record.delay = delay
            call.record(.retryScheduled(record))
        } else {
            call.record(.retryRefused(record))
        }
    }

    private func finish(
        _ decision: RetryPolicy.Decision,
        _ outcome: Result<Response, LoadingError>,
        _ attempt: RetryPolicy.Attempt,
        _ call: Call
    ) throws(LoadingError) -> Response {
        switch decision.action {
        case .accept, .giveUp, .retry:
            switch outcome {
            case .success(let response):
                var response = counted(response, attempt.number)
                if let refusal = refusal(decision, attempt) { response.retryRefusal = refusal }
                return response
            case .failure(var error):
                error.context.retryRefusal = refusal(decision, attempt)
                throw Self.described(error, outcome, attempt.number)
            }
        case .refuseDelay(let pause):
            let key = keyRule(attempt.request).description
            var error = LoadingError(.rateLimited(key: key, wait: pause))
            if pause > gateLimit { error.context.detail = "calls to it are held for \(gateLimit.shortText)" }
            throw Self.described(error, outcome, attempt.number)
        case .exceedDeadline(let wait):
            let stage = Call.StageTimes.Stage.wait(.backoff(attempt: attempt.number + 1))
            let report = call.deadlineReport(at: call.time.now, impossible: .init(stage: stage, duration: wait))
            let error = LoadingError(.deadlineExceeded(report))
            throw Self.described(error, outcome, attempt.number)
        }
    }

    /// Why an attempt that the limit allows is not made, in words for an error; nil where the error itself says it.
    private func refusal(_ decision: RetryPolicy.Decision, _ attempt: RetryPolicy.Attempt) -> String? {
        guard decision.action == .giveUp, attempt.number <= max(0, attempt.request.retryLimit ?? policy.limit) else {
            return nil
        }
        switch decision.rule {
        case .notIdempotent, .bodyNotReplayable, .budgetEmpty, .hookRefuses: return decision.rule.description
        // That 404 stays 404 needs no words; of an error of the server it is not evident.
        case .finalStatus(let status) where status.code >= 500: return decision.rule.description
        default: return nil
        }
    }

    private func counted(_ response: Response, _ attempts: Int) -> Response {
        guard attempts > 1 else { return response }
        var response = response
        response.attempts = attempts
        return response
    }

    /// The error with the number of attempts, and the last response.
    private static func described(
        _ error: LoadingError,
        _ outcome: Result<Response, LoadingError>,
        _ attempts: Int
    ) -> LoadingError {
        var error = error
        error.context.attempts = attempts
        if error.context.status == nil {
            switch outcome {
            case .success(let response):
                error.context.status = response.status
                error.context.headers = response.headers
                error.context.body = response.body.bytes?.prefix(errorBodyLimit)
            case .failure(let last):
                error.context.status = last.context.status
                error.context.headers = last.context.headers
            }
        }
        return error
    }

    /// The most bytes of a refused response's body that an error of this interceptor keeps: 64 KiB.
    private static let errorBodyLimit = 64 << 10
}

/// A random source of unknown type as one of a known type.
struct AnyRandom: RandomSource {
    private let base: any RandomSource
    init(_ base: any RandomSource) { self.base = base }
    func next() -> UInt64 { base.next() }
}

extension Headers {
    /// The delay that `Retry-After` requests, measured against the response's own `Date`; nil without a valid field.
    func pause(now: Date) -> Duration? {
        guard let text = self["Retry-After"] else { return nil }
        // A malformed field requests nothing.
        guard let field = try? RetryAfter(text, now: now) else { return nil }
        let serverDate = self["Date"].flatMap { try? HTTPDate($0, now: now) }?.date
        return field.delay(serverDate: serverDate, now: now)
    }
}
