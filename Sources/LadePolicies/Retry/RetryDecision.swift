public import LadeCore

/// The rule by which an attempt is repeated or not.
@nonexhaustive
public enum RetryRule: Sendable, Hashable {
    /// The status says that a later attempt may succeed.
    case status(Status)
    /// The failure was one of the way, not of the request.
    case transportFailure
    /// The request never left, so sending it is no repetition.
    case neverSent
    /// The server certainly did not process the request, so sending it again is no repetition.
    case neverProcessed
    /// The status will be the same next time.
    case finalStatus(Status)
    /// The failure will be the same next time.
    case finalFailure
    /// The caller said that this status is an answer.
    case acceptedStatus(Status)
    /// The program's ``RetryHook`` wants another attempt that the policy would not make.
    case hookWantsIt
    /// The program's ``RetryHook`` refuses the attempt that the policy would make.
    case hookRefuses
    /// There were as many attempts as allowed.
    case limitReached(Int)
    /// The method is not idempotent, and there is no idempotency key.
    case notIdempotent(Method)
    /// The body was touched and cannot be sent again.
    case bodyNotReplayable
    /// The retry budget of the service is empty.
    case budgetEmpty
    /// The server asks for a longer pause than is allowed.
    case pauseTooLong(Duration)
    /// The pause could not end before the deadline of the call.
    case deadline
}

extension RetryRule: CustomStringConvertible {
    /// A few words, as events show them.
    public var description: String {
        switch self {
        case .status(let status): "status \(status) may pass"
        case .transportFailure: "the transfer failed"
        case .neverSent: "the request never left"
        case .neverProcessed: "the request was not processed"
        case .finalStatus(let status): "status \(status) is final"
        case .finalFailure: "the failure is final"
        case .acceptedStatus(let status): "status \(status) is accepted"
        case .hookWantsIt: "the program's hook wants it"
        case .hookRefuses: "the program's hook refuses it"
        case .limitReached(let limit): "the limit of \(limit) is reached"
        case .notIdempotent(let method): "\(method) is not idempotent"
        case .bodyNotReplayable: "the body cannot be sent again"
        case .budgetEmpty: "the retry budget is empty"
        case .pauseTooLong(let pause): "the server asks for a pause of \(pause.shortText)"
        case .deadline: "the deadline comes first"
        }
    }
}

/// What is done about the end of an attempt.
public struct RetryDecision: Sendable, Hashable {
    /// What is done.
    public enum Action: Sendable, Hashable {
        /// The answer goes up: there is nothing to repeat.
        case accept
        /// Another attempt follows after the pause.
        case retry(after: Duration)
        /// The answer or error goes up: it will not be repeated.
        case giveUp
        /// The call fails because the server wants it to wait longer than is allowed.
        case refusePause(Duration)
        /// The call fails because this pause could not end before its deadline.
        case exceedDeadline(Duration)
    }

    /// What is done.
    public var action: Action
    /// The rule that decided.
    public var rule: RetryRule
}
