public import LadeCore

/// Decides whether an attempt is retried, and when.
///
/// A pure value: everything it needs is in an ``Attempt``.
///
/// | result | retried |
/// | --- | --- |
/// | status 408 425 429 500 502 503 504 | yes |
/// | status 413 | with `Retry-After` |
/// | other statuses | no |
/// | time-out, no connection, name not resolved, connection lost, body cut short | yes |
/// | certificate or pin, malformed response, too large, cancelled, anything else | no |
///
/// This applies to idempotent methods (RFC 9110 §9.2.2), to requests with an idempotency key, and to all methods if
/// ``methods`` says so. A request that certainly was not sent, or that the server certainly did not process, is sent
/// again with any method.
public struct RetryPolicy: Sendable, Hashable {
    /// Which methods are retried.
    public enum Methods: Sendable, Hashable {
        /// The idempotent methods, and any method with an idempotency key.
        case idempotent
        /// All of them: the service processes every request twice without harm.
        case all
    }

    /// How many attempts may follow the first, unless the request says otherwise; 2 by default.
    public var limit = 2
    /// The delays between attempts; full jitter by default.
    public var backoff = RetryPolicy.Backoff.fullJitter()
    /// How many of the first further attempts follow without a delay; none by default.
    public var immediateTries = 0
    /// The statuses after which a later attempt may succeed.
    public var statuses: Response.StatusSet = [408, 425, 429, 500, 502, 503, 504]
    /// The statuses that are retried only when the response says when.
    public var statusesWithDelay: Response.StatusSet = [413]
    /// The methods that are retried; the idempotent ones by default.
    public var methods = Methods.idempotent
    /// The longest delay that a server may request.
    ///
    /// 60 s by default. A call fails immediately when the server requests more.
    public var delayLimit = Duration.seconds(60)
    /// The program's own word on single attempts; nil, the default, leaves all of them to the policy.
    public var hook: RetryPolicy.Hook?
    /// The field that carries idempotency keys; `Idempotency-Key` by default.
    public var idempotencyField = "Idempotency-Key"

    /// Makes the default policy.
    public init() {}

    /// The facts at the end of an attempt.
    public struct Attempt: Sendable {
        /// How it ended.
        public enum Ending: Sendable {
            /// With a response, and the delay that its `Retry-After` requests.
            case response(Response.Status, delay: Duration?)
            /// With an error.
            case failure(LoadingError)
        }

        /// The request that was sent.
        public var request: Request
        /// How it ended.
        public var ending: Ending
        /// The statuses that count as the success of the call; nil, the default, uses the statuses of the request.
        public var acceptableStatuses: Response.StatusSet?
        /// Its number, from 1.
        public var number = 1
        /// Whether the request carries an idempotency key.
        public var hasIdempotencyKey = false
        /// Whether a body that cannot be sent again was read.
        public var isBodySpent = false
        /// The delay of the back-off.
        public var delay = Duration.zero
        /// How long the call may still take; nil for no limit.
        public var remaining: Duration?

        /// Describes the end of an attempt.
        public init(_ request: Request, _ ending: Ending) {
            self.request = request
            self.ending = ending
        }
    }

    /// Whether a response with this status ends the call: it is no error, or the call accepts it.
    static func settles(_ status: Response.Status, _ acceptable: Response.StatusSet?) -> Bool {
        status.code < 400 || acceptable?.contains(status.code) ?? false
    }

    /// Whether a response with this status may be another one later.
    func mayPass(_ status: Response.Status, _ acceptable: Response.StatusSet?) -> Bool {
        !Self.settles(status, acceptable) && (statuses.contains(status) || statusesWithDelay.contains(status))
    }

    /// Decides about one attempt.
    ///
    /// The retry budget is checked afterwards.
    package func decision(_ attempt: Attempt) -> RetryPolicy.Decision {
        var rule: Call.RetryRule
        var delay: Duration?
        var isFinal = false
        switch attempt.ending {
        case .response(let status, let asked):
            delay = asked
            guard !Self.settles(status, attempt.acceptableStatuses ?? attempt.request.acceptableStatuses) else {
                return RetryPolicy.Decision(action: .accept, rule: .acceptedStatus(status))
            }
            isFinal = !(statuses.contains(status) || (statusesWithDelay.contains(status) && asked != nil))
            rule = isFinal ? .finalStatus(status) : .status(status)
        case .failure(let error):
            switch FailureKind(error) {
            case .final, .untrusted: (rule, isFinal) = (.finalFailure, true)
            case .unsent: rule = .neverSent
            case .unprocessed: rule = .neverProcessed
            case .passing: rule = .transportFailure
            }
        }
        let isUnprocessed = rule == .neverSent || rule == .neverProcessed
        // Whether the body is spent comes after the limit, and a hook may not change it.
        let obstacle = obstacle(
            toRepeating: attempt.request,
            isUnprocessed: isUnprocessed,
            hasKey: attempt.hasIdempotencyKey,
            isBodySpent: false
        )
        var isRepeatable = obstacle == nil
        if let hook, Self.isHookAsked(attempt.ending) {
            let suggestion = !isFinal && isRepeatable
            let isWanted = hook.shouldRetry(attempt, suggestion)
            if isWanted, !suggestion { (rule, isFinal, isRepeatable) = (.hookWantsIt, false, true) }
            if !isWanted, suggestion { return giveUp(.hookRefuses) }
        }
        guard !isFinal else { return giveUp(rule) }
        let limit = max(0, attempt.request.retryLimit ?? limit)
        guard attempt.number <= limit else { return giveUp(.limitReached(limit)) }
        guard isRepeatable else { return giveUp(.notIdempotent(attempt.request.method)) }
        guard !attempt.isBodySpent else { return giveUp(.bodyNotReplayable) }
        if let delay, delay > delayLimit {
            return RetryPolicy.Decision(action: .refuseDelay(delay), rule: .delayTooLong(delay))
        }
        // The delay that the server requests is a floor; jitter is only added, so that no call comes early.
        let suggestion = attempt.delay + (delay ?? .zero)
        let wait = hook.map { max($0.delay(attempt, suggestion), delay ?? .zero) } ?? suggestion
        if let remaining = attempt.remaining, wait > remaining {
            return RetryPolicy.Decision(action: .exceedDeadline(wait), rule: .deadline)
        }
        return RetryPolicy.Decision(action: .retry(after: wait), rule: rule)
    }

    private func giveUp(_ rule: Call.RetryRule) -> RetryPolicy.Decision {
        RetryPolicy.Decision(action: .giveUp, rule: rule)
    }

    /// Whether a hook decides: a cancelled call ends, and a server that cannot be trusted is not called again.
    private static func isHookAsked(_ ending: Attempt.Ending) -> Bool {
        switch ending {
        case .response: true
        case .failure(let error): !error.isCancellation && FailureKind(error) != .untrusted
        }
    }

    /// Whether an attempt that ended like this cost its server or its caller a whole time-out.
    static func isTimeout(_ ending: Attempt.Ending) -> Bool {
        switch ending {
        case .response(let status, _): status == 408 || status == 504
        case .failure(let error): if case .timedOut = error.kind { true } else { false }
        }
    }
}
