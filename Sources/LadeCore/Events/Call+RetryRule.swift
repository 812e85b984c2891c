extension Call {
    /// The rule that decides whether an attempt is retried, for decisions and events.
    @nonexhaustive
    public enum RetryRule: Sendable, Hashable {
        /// The status says that a later attempt may succeed.
        case status(Response.Status)
        /// The connection failed, not the request.
        case transportFailure
        /// The request was never sent, so sending it is not a repetition.
        case neverSent
        /// The server certainly did not process the request, so sending it again is not a repetition.
        case neverProcessed
        /// The status will be the same next time.
        case finalStatus(Response.Status)
        /// The failure will be the same next time.
        case finalFailure
        /// The caller accepts this status as a response.
        case acceptedStatus(Response.Status)
        /// The program's hook requests another attempt that the policy would not make.
        case hookWantsIt
        /// The program's hook refuses the attempt that the policy would make.
        case hookRefuses
        /// There were as many attempts as allowed.
        case limitReached(Int)
        /// The method is not idempotent, and there is no idempotency key.
        case notIdempotent(Request.Method)
        /// The body was read and cannot be sent again.
        case bodyNotReplayable
        /// The retry budget of the service is empty.
        case budgetEmpty
        /// The server requests a longer delay than is allowed.
        case delayTooLong(Duration)
        /// The delay would end after the deadline of the call.
        case deadline
        /// The received part of a body was malformed, so no request continues it.
        case malformedBody
        /// The server named no version by which the rest of a body could be requested.
        case noVersion
        /// The server sent something that does not continue the received part of a body; the text says what.
        case otherBody(String)

        /// The name of the rule, which is the same for all values that it decided about.
        public var name: String { row.name }

        // A flat table, one row for each rule.
        private var row: (name: String, words: String) {
            switch self {
            case .status(let status): ("status", "status \(status) may pass")
            case .transportFailure: ("transport-failure", "the transfer failed")
            case .neverSent: ("never-sent", "the request never left")
            case .neverProcessed: ("never-processed", "the request was not processed")
            case .finalStatus(let status): ("final-status", "status \(status) is final")
            case .finalFailure: ("final-failure", "the failure is final")
            case .acceptedStatus(let status): ("accepted-status", "status \(status) is accepted")
            case .hookWantsIt: ("hook-wants-it", "the program's hook requests it")
            case .hookRefuses: ("hook-refuses", "the program's hook refuses it")
            case .limitReached(let limit): ("limit-reached", "the limit of \(limit) is reached")
            case .notIdempotent(let method): ("not-idempotent", "\(method) is not idempotent")
            case .bodyNotReplayable: ("body-not-replayable", "the body cannot be sent again")
            case .budgetEmpty: ("budget-empty", "the retry budget is empty")
            case .delayTooLong(let delay): ("delay-too-long", "the server requests a delay of \(delay.shortText)")
            case .deadline: ("deadline", "the deadline comes first")
            case .malformedBody: ("malformed-body", "the body was malformed")
            case .noVersion: ("no-version", "the server named no version to resume")
            case .otherBody(let reason): ("other-body", reason)
            }
        }
    }
}

extension Call.RetryRule: CustomStringConvertible {
    /// A few words, as logs show them.
    public var description: String { row.words }
}
