public import LadeCore

/// What an exchange says about the address it went to (policies PL-31).
public enum HostEvidence: Sendable, Hashable {
    /// The address works.
    case works
    /// It does not, for the reason given: it is marked at once.
    case down(reason: String)
    /// It failed in a way that says little by itself; a row of them marks it.
    case suspicious(reason: String)
    /// Nothing: the call was given up, or the fault lies elsewhere.
    case none

    /// What an answer says.
    public init(_ response: Response) {
        switch response.status.code {
        case 502, 503, 504:
            // A server that says when to come back is up, and busy: that is for the gate of the rate limit.
            self = response.headers.contains("Retry-After") ? .none : .down(reason: "status \(response.status)")
        case 500, 505...599: self = .suspicious(reason: "status \(response.status)")
        default: self = .works
        }
    }

    /// What an error says.
    public init(_ error: LoadingError) {
        switch error {
        case .nameNotResolved: self = .down(reason: "its name could not be resolved")
        case .cannotConnect: self = .down(reason: "no connection")
        case .timedOut(.connect, _), .timedOut(.nameLookup, _): self = .down(reason: "no connection in time")
        case .untrustedServer, .pinMismatch: self = .down(reason: "its certificate was refused")
        case .connectionLost(.nothing, _, _): self = .down(reason: "the connection was lost")
        case .connectionLost, .timedOut, .malformedResponse, .incompleteBody, .headTooLarge:
            self = .suspicious(reason: "broken answers")
        // The address had what was left of the call's time. A call that passed its deadline elsewhere never asked it.
        case .deadlineExceeded(let report, _) where report.endedExchange:
            self = .suspicious(reason: "no answer before the deadline")
        default: self = .none
        }
    }

    /// Whether it speaks against the address.
    var isFailure: Bool {
        switch self {
        case .down, .suspicious: true
        case .works, .none: false
        }
    }
}
