package import LadeCore

/// Sets the deadline of a call and starts recording its time.
///
/// It stands near the top of the chain and runs once per call. Every interceptor below waits with `Call.wait`, which
/// observes the deadline and fails immediately when a wait would end after it. `ExchangeDeadlineInterceptor`, near
/// the bottom, bounds the exchanges. If an interceptor of the app or the transport may wait otherwise
/// (`Interceptor.observesScope`), the call is cancelled 100 ms after the deadline.
package struct DeadlineInterceptor: Interceptor {
    /// How long calls may take.
    package let settings: DeadlineSettings

    /// Makes the interceptor.
    package init(_ settings: DeadlineSettings = DeadlineSettings()) {
        self.settings = settings
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Sets the deadline, unless the call has an earlier one, and passes the request on.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        var next = next
        let now = next.call.time.now
        let given = next.call.deadline
        let limit = settings.limit(for: request)
        let own = limit.map { now.advanced(by: $0.duration) }
        if let deadline = own.map({ own in given.map { min($0, own) } ?? own }) ?? given {
            let setting = deadline == own ? limit?.setting : nil
            next.call.set(deadline: deadline, ledger: next.call.ledger ?? Call.Ledger(start: now, setting: setting))
        }
        do {
            guard next.call.deadline == nil || next.observesScope else {
                return try await Self.sendUntilDeadline(request, next)
            }
            return try await next(request)
        } catch {
            var error = error
            if case .timedOut = error.kind { error.context.elapsed = now.duration(to: next.call.time.now) }
            throw error
        }
    }

    // A separate function: a waiting call keeps the frames of its callers.
    @inline(never)
    private static func sendUntilDeadline(_ request: Request, _ next: Next) async throws(LoadingError) -> Response {
        try await next.call.untilDeadline { (call) async throws(LoadingError) in
            var next = next
            next.call = call
            return try await next(request)
        }
    }
}
