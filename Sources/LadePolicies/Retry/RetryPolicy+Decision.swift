package import LadeCore

extension RetryPolicy {
    /// The decision at the end of an attempt.
    package struct Decision: Sendable, Hashable {
        /// The action to take.
        package enum Action: Sendable, Hashable {
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

        /// The action to take.
        package var action: Action
        /// The rule that decided.
        package var rule: Call.RetryRule
    }
}
