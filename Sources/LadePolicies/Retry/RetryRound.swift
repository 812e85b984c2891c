#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The attempts of one request: their number, the tokens that they withdrew from the budget, and the step after the end of each
/// attempt.
struct RetryRound {
    /// The step that follows the end of an attempt.
    enum Step {
        case deliver(Response)
        case fail(LoadingError)
        case again(after: Duration)
    }

    /// The request of every attempt, with its idempotency key.
    let request: Request
    private let policy: RetryPolicy
    private let budget: RetryBudget?
    private let keyRule: ServiceKey.Rule
    private let gateLimit: Duration
    private let hasKey: Bool
    private let spent: TouchMark?
    private var delays: RetryPolicy.Backoff.Delays?
    private var withdrawn = 0
    private var lastCost = 0

    /// Begins the attempts.
    init(
        _ policy: RetryPolicy,
        _ budget: RetryBudget?,
        _ keyRule: @escaping ServiceKey.Rule,
        _ gateLimit: Duration,
        _ keys: IdempotencyKeys,
        _ request: Request,
        _ call: Call
    ) {
        self.policy = policy
        self.budget = budget
        self.keyRule = keyRule
        self.gateLimit = gateLimit
        var prepared = request
        var hasKey = request.headers.contains(policy.idempotencyField)
        if !hasKey, request.hasTags, let key = request.idempotencyKey {
            switch key {
            case .generated: prepared.headers[policy.idempotencyField] = keys.key(for: call)
            case .value(let value): prepared.headers[policy.idempotencyField] = value
            }
            hasKey = true
        }
        spent = prepared.watchBody()
        self.request = prepared
        self.hasKey = hasKey
    }

    /// The response that ends the attempts whatever the policy says; nil where the policy decides.
    func settled(_ response: Response, _ call: Call) -> Response? {
        guard RetryPolicy.settles(response.status, nil) else { return nil }
        budget?.refund(for: keyRule(request), withdrawn)
        return Self.counted(response, call.attempt)
    }

    /// Decides about the step after an attempt, and withdraws the cost of a further attempt from the budget.
    mutating func step(after outcome: Result<Response, LoadingError>, _ call: Call) -> Step {
        // An attempt that never left this machine has cost the service nothing.
        if lastCost > 0, case .failure(let error) = outcome, FailureKind.isFree(error) {
            budget?.refund(for: keyRule(request), lastCost)
            withdrawn -= lastCost
        }
        if case .success(let response) = outcome, let settled = settled(response, call) { return .deliver(settled) }
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
        if case .failure(let error) = outcome, error.isCancellation { return .fail(error.counted(call.attempt)) }
        lastCost = 0
        if case .retry = decision.action, let budget {
            let cost = RetryPolicy.isTimeout(attempt.ending) ? budget.settings.timeoutCost : budget.settings.retryCost
            if budget.withdraw(for: keyRule(request), cost: cost) {
                lastCost = cost
                withdrawn += cost
            } else {
                decision = RetryPolicy.Decision(action: .giveUp, rule: .budgetEmpty)
            }
        }
        record(decision, attempt, call)
        if case .retry(let delay) = decision.action { return .again(after: delay) }
        if Self.hasResponse(decision.rule) { budget?.refund(for: keyRule(request), withdrawn) }
        return finish(decision, outcome, attempt, call)
    }

    /// The error of a wait for an attempt that is not made: the attempt has cost the service nothing.
    func withdrawn(_ error: LoadingError, _ outcome: Result<Response, LoadingError>, _ call: Call) -> LoadingError {
        if lastCost > 0 { budget?.refund(for: keyRule(request), lastCost) }
        return Self.described(error, outcome, call.attempt)
    }

    private static func ending(_ outcome: Result<Response, LoadingError>, _ call: Call) -> RetryPolicy.Attempt.Ending {
        switch outcome {
        case .success(let response):
            return .response(response.status, delay: response.reply(call)?.delay)
        case .failure(let error): return .failure(error)
        }
    }

    /// Whether the service responded, even if with an error: then it works.
    private static func hasResponse(_ rule: Call.RetryRule) -> Bool {
        switch rule {
        case .acceptedStatus, .finalStatus: true
        default: false
        }
    }

    private func record(_ decision: RetryPolicy.Decision, _ attempt: RetryPolicy.Attempt, _ call: Call) {
        guard decision.action != .accept, call.isObserved else { return }
        var record = Call.Event.Retry(attempt: attempt.number, rule: decision.rule)
        if case .response(let status, _) = attempt.ending { record.status = status }
        if case .failure(let error) = attempt.ending { record.status = error.context.status }
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
    ) -> Step {
        switch decision.action {
        case .accept, .giveUp, .retry:
            switch outcome {
            case .success(let response):
                var response = Self.counted(response, attempt.number)
                if let refusal = refusal(decision, attempt) { response.retryRefusal = refusal }
                return .deliver(response)
            case .failure(var error):
                error.context.retryRefusal = refusal(decision, attempt)
                return .fail(Self.described(error, outcome, attempt.number))
            }
        case .refuseDelay(let pause):
            let key = keyRule(attempt.request).description
            var error = LoadingError(.rateLimited(key: key, wait: pause))
            if pause > gateLimit { error.context.detail = "calls to it are held for \(gateLimit.shortText)" }
            return .fail(Self.described(error, outcome, attempt.number))
        case .exceedDeadline(let wait):
            let stage = Call.StageTimes.Stage.wait(.backoff(attempt: attempt.number + 1))
            let report = call.deadlineReport(at: call.time.now, impossible: .init(stage: stage, duration: wait))
            let error = LoadingError(.deadlineExceeded(report), underlyingError: Self.last(outcome))
            return .fail(Self.described(error, outcome, attempt.number))
        }
    }

    /// The failure of the last attempt, for the error of a retry that has no time.
    private static func last(_ outcome: Result<Response, LoadingError>) -> LoadingError {
        switch outcome {
        case .success(let response): LoadingError(.unacceptableStatus(response.status))
        case .failure(let error): error
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

    static func counted(_ response: Response, _ attempts: Int) -> Response {
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

    /// The most bytes of a refused response's body that an error of the retries keeps: 64 KiB.
    private static let errorBodyLimit = 64 << 10
}

/// A random source of unknown type as one of a known type.
struct AnyRandom: RandomSource {
    private let base: any RandomSource
    init(_ base: any RandomSource) { self.base = base }
    func next() -> UInt64 { base.next() }
}
