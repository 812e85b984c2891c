public import LadeCore

/// What the cache would do with a request now, and why.
public struct CacheExplanation: Sendable {
    /// What the cache would do.
    @nonexhaustive
    public enum Action: Sendable, Hashable {
        /// Respond from the store.
        case serve
        /// Respond from the store, and ask the server in the background.
        case serveAndValidate
        /// Ask the server whether what is stored is current.
        case validate
        /// Ask the server for the rest of a body.
        case complete
        /// Ask the server.
        case fetch
        /// Leave the request to the server.
        case passBy
        /// Fail, because the request must not reach the server.
        case fail(NotStoredReason)
    }

    /// What the cache would do.
    public let action: Action
    /// The rule that decides.
    public let rule: CacheRule
    /// The lifetime and age that are compared; nil where none are.
    public let freshness: Freshness?
    /// Everything that is stored for the address and the account, the latest last.
    public let stored: [StoredHead]
    /// The fields by which a stored response differs from the request, for each of ``stored``; empty for one that matches.
    public let differences: [[String]]
}

extension ResponseCache {
    /// Says what a request would get now, and changes nothing.
    ///
    /// - Parameters:
    ///   - request: The request, with the fields that the service adds to it.
    ///   - account: The identifier of the account; empty for the signed-out account.
    ///   - time: The source of the present.
    /// - Returns: The decision.
    /// - Throws: Why the store cannot be read.
    public func explain(
        _ request: Request,
        account: String = "",
        time: some TimeSource = SystemTime()
    ) async throws(CacheError) -> CacheExplanation {
        let call = Call(account: account, time: time)
        let query = CacheWork.query(request, call, self)
        var heads: [StoredHead] = []
        if let key = query.key { heads = try await settings.store.lookUp(key).heads.sorted { $0.id < $1.id } }
        let decided = rules.decide(query, heads)
        let action: CacheExplanation.Action =
            switch decided.decision {
            case .serve: .serve
            case .serveAndRevalidate: .serveAndValidate
            case .validate: .validate
            case .complete: .complete
            case .fetch: .fetch
            case .passBy: .passBy
            case .unsatisfiable(let reason): .fail(reason)
            }
        let differences = heads.map { head in
            rules.differences(of: query, from: head)
        }
        return CacheExplanation(
            action: action,
            rule: decided.rule,
            freshness: decided.freshness,
            stored: heads,
            differences: differences
        )
    }
}
