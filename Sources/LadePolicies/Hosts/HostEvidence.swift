package import LadeCore

/// The statement of an exchange's result about its address.
package enum HostEvidence: Sendable, Hashable {
    /// The address works.
    case works
    /// The address does not work, for the given reason: it is marked immediately.
    case down(reason: String)
    /// A failure that says little by itself; several in a row mark the address.
    case suspicious(reason: String)
    /// Nothing: the call was cancelled, or the cause lies elsewhere.
    case none

    /// The evidence of a response.
    package init(_ response: Response) {
        switch response.status.code {
        case 502, 503, 504:
            // A server that says when to come back works and is busy: the rate limiter handles that.
            self = response.requestsDelay ? .none : .down(reason: "status \(response.status)")
        case 500, 505...599: self = .suspicious(reason: "status \(response.status)")
        default: self = .works
        }
    }

    /// The evidence of an error.
    package init(_ error: LoadingError) {
        switch error.kind {
        case .nameNotResolved: self = .down(reason: "its name could not be resolved")
        case .cannotConnect: self = .down(reason: "no connection")
        case .timedOut(.connect), .timedOut(.nameLookup): self = .down(reason: "no connection in time")
        case .untrustedServer, .pinMismatch: self = .down(reason: "its certificate was refused")
        case .connectionLost(.nothing, _): self = .down(reason: "the connection was lost")
        case .connectionLost, .timedOut, .malformedResponse, .incompleteBody, .headTooLarge:
            self = .suspicious(reason: "broken responses")
        // The address had the remaining time of the call. If the call passed its deadline elsewhere, it never used the
        // address.
        case .deadlineExceeded(let report) where report.endedExchange:
            self = .suspicious(reason: "no response before the deadline")
        default: self = .none
        }
    }

    /// Whether it counts against the address.
    var isFailure: Bool {
        switch self {
        case .down, .suspicious: true
        case .works, .none: false
        }
    }
}
