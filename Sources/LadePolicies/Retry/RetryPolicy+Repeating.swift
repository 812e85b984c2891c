package import LadeCore

extension RetryPolicy {
    /// Why a request must not be sent again; nil when it may.
    ///
    /// The only place that decides it. Retries, replays, redirects, event streams, pages and resumed downloads ask here;
    /// then the retry budget is asked.
    ///
    /// | request | sent again |
    /// | --- | --- |
    /// | certainly not processed | yes, unless its body is spent |
    /// | GET, HEAD, OPTIONS, TRACE, PUT, DELETE | yes, unless its body is spent |
    /// | another method with an idempotency key, or with ``Methods/all`` | yes, unless its body is spent |
    /// | another method | no |
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - isUnprocessed: Whether the server certainly did not process it.
    ///   - hasKey: Whether it carries an idempotency key; nil to look.
    ///   - isBodySpent: Whether its body cannot be sent again; nil to look, for a request that was sent.
    /// - Returns: The rule that forbids it.
    package func obstacle(
        toRepeating request: Request,
        isUnprocessed: Bool = false,
        hasKey: Bool? = nil,
        isBodySpent: Bool? = nil
    ) -> Call.RetryRule? {
        let hasKey = hasKey ?? (request.idempotencyKey != nil || request.headers.contains(idempotencyField))
        guard isUnprocessed || methods == .all || request.method.isIdempotent || hasKey else {
            return .notIdempotent(request.method)
        }
        return isBodySpent ?? !request.canRepeatBody ? .bodyNotReplayable : nil
    }
}

extension Request {
    /// Whether the body, if there is one, can be sent again.
    package var canRepeatBody: Bool { !hasBody || body?.isReplayable ?? true }
}
