import LadeCore

/// The fate of a request by its error: the one place that decides whether a server may have processed the request.
///
/// A request that was never sent says nothing about the service, which may work as soon as the network is back. So no memory of
/// failures keeps its error: refreshes, retry budgets, marks of addresses, slots of the rate limit.
///
/// | error | kind | next address of a list | another attempt |
/// | --- | --- | --- | --- |
/// | name not resolved, no connection, time-out of either | unsent | yes | any method |
/// | proxy not found or not reached | unsent | no: the proxy is the same | any method |
/// | certificate refused, wrong key | untrusted | yes | no |
/// | connection lost, certainly not processed | unprocessed | yes | any method |
/// | other time-outs and losses, body cut short | passing | no | idempotent methods |
/// | anything else | final | no | no |
enum FailureKind: Sendable, Hashable {
    /// The next attempt would end the same way, or must not be made.
    case final
    /// Nothing of the request left this machine.
    case unsent
    /// The server was refused before anything of the request was sent to it.
    case untrusted
    /// The server certainly did not process the request.
    case unprocessed
    /// The next attempt may succeed.
    case passing

    init(_ error: LoadingError) {
        switch error.kind {
        case .nameNotResolved, .cannotConnect, .timedOut(.nameLookup), .timedOut(.connect),
            .proxy(.nameNotResolved), .proxy(.cannotConnect):
            self = .unsent
        case .untrustedServer, .pinMismatch: self = .untrusted
        case .connectionLost(_, isSafeToRepeat: true): self = .unprocessed
        case .timedOut, .connectionLost, .incompleteBody: self = .passing
        default: self = .final
        }
    }

    /// Whether nothing of the request was sent.
    var isUnsent: Bool { self == .unsent || self == .untrusted }

    /// Whether a failed attempt has cost the service nothing, so that a budget need not pay for it.
    ///
    /// Nothing of the request was sent, or the attempt ended while it waited for a slot or for credentials.
    static func isFree(_ error: LoadingError) -> Bool {
        switch error.kind {
        case .rateLimited, .authorisationFailed: true
        case .deadlineExceeded(let report): !report.endedExchange
        default: FailureKind(error).isUnsent
        }
    }

    /// Whether an error of any type says that nothing was sent; an error of the authorisation counts as its cause does.
    static func isUnsent(_ error: any Error) -> Bool {
        guard let error = error as? LoadingError else { return false }
        if case .authorisationFailed(let fault) = error.kind, case .refreshFailed(let cause) = fault.cause {
            return isUnsent(cause)
        }
        return FailureKind(error).isUnsent
    }

    /// Whether the request of an error may go to the next address of its host's list.
    ///
    /// It may if it certainly was not processed, and another address may help.
    static func movesOn(_ error: LoadingError) -> Bool {
        if case .proxy = error.kind { return false }
        let kind = FailureKind(error)
        return kind.isUnsent || kind == .unprocessed
    }
}

extension LoadingError {
    /// Whether the attempt that failed has cost the service nothing, so that no retry budget pays for it.
    package var isFree: Bool { FailureKind.isFree(self) }
}
