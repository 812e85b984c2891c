public import LadeCore

/// The link that gives a call its deadline and opens its account book.
///
/// It stands near the top of the chain and runs once per call. Every link below that waits does it by `Call.wait`, which
/// observes the deadline and fails at once when a wait could not end before it; ``ExchangeDeadlineInterceptor``, near the
/// bottom, bounds the exchanges. Source: policies PL-01 to PL-03.
public struct DeadlineInterceptor: Interceptor {
    /// How long calls may take.
    public let settings: DeadlineSettings

    /// Makes the link.
    public init(_ settings: DeadlineSettings = DeadlineSettings()) {
        self.settings = settings
    }

    /// True: a call that is given up ends here as a cancelled task does.
    public var observesScope: Bool { true }

    /// Sets the deadline, unless the call has an earlier one, and passes the request on.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        var next = next
        let now = next.call.time.now
        if let limit = settings.limit(for: request) {
            let deadline = now.advanced(by: limit)
            next.call.deadline = next.call.deadline.map { min($0, deadline) } ?? deadline
        }
        if next.call.deadline != nil, next.call.ledger == nil { next.call.ledger = StageLedger(start: now) }
        do {
            return try await next(request)
        } catch {
            // Waits know nothing of the request.
            throw error.filled(with: request)
        }
    }
}
