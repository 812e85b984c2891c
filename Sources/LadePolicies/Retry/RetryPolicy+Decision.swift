public import LadeCore

extension RetryPolicy {
    /// The rule that decides whether an attempt is retried.
    @nonexhaustive
    public enum Rule: Sendable, Hashable {
        /// The status says that a later attempt may succeed.
        case status(HTTPStatus)
        /// The connection failed, not the request.
        case transportFailure
        /// The request was never sent, so sending it is not a repetition.
        case neverSent
        /// The server certainly did not process the request, so sending it again is not a repetition.
        case neverProcessed
        /// The status will be the same next time.
        case finalStatus(HTTPStatus)
        /// The failure will be the same next time.
        case finalFailure
        /// The caller accepts this status as a response.
        case acceptedStatus(HTTPStatus)
        /// The program's ``RetryPolicy/Hook`` requests another attempt that the policy would not make.
        case hookWantsIt
        /// The program's ``RetryPolicy/Hook`` refuses the attempt that the policy would make.
        case hookRefuses
        /// There were as many attempts as allowed.
        case limitReached(Int)
        /// The method is not idempotent, and there is no idempotency key.
        case notIdempotent(HTTPMethod)
        /// The body was read and cannot be sent again.
        case bodyNotReplayable
        /// The retry budget of the service is empty.
        case budgetEmpty
        /// The server requests a longer delay than is allowed.
        case delayTooLong(Duration)
        /// The delay would end after the deadline of the call.
        case deadline
    }
}

extension RetryPolicy.Rule: CustomStringConvertible {
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
        case .hookWantsIt: "the program's hook requests it"
        case .hookRefuses: "the program's hook refuses it"
        case .limitReached(let limit): "the limit of \(limit) is reached"
        case .notIdempotent(let method): "\(method) is not idempotent"
        case .bodyNotReplayable: "the body cannot be sent again"
        case .budgetEmpty: "the retry budget is empty"
        case .delayTooLong(let pause): "the server requests a delay of \(pause.shortText)"
        case .deadline: "the deadline comes first"
        }
    }
}

extension RetryPolicy {
    /// What to do at the end of an attempt.
    public struct Decision: Sendable, Hashable {
        /// What to do.
        public enum Action: Sendable, Hashable {
            /// Return the response: there is nothing to retry.
            case accept
            /// Make another attempt after the delay.
            case retry(after: Duration)
            /// Return the response or error: it will not be retried.
            case giveUp
            /// Fail the call, because the server requests a longer delay than is allowed.
            case refuseDelay(Duration)
            /// Fail the call, because this delay would end after its deadline.
            case exceedDeadline(Duration)
        }

        /// What to do.
        public var action: Action
        /// The rule that decided.
        public var rule: RetryPolicy.Rule
    }
}
