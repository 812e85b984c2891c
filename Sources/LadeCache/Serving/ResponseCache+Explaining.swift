public import LadeCore

extension ResponseCache {
    /// The decision that the cache would make about a request now, and the reason.
    public struct Explanation: Sendable {
        /// The action of the cache.
        @nonexhaustive
        public enum Action: Sendable, Hashable {
            /// Respond from the store.
            case serve
            /// Respond from the store, and ask the server in the background.
            case serveAndValidate
            /// Ask the server whether the stored response is current.
            case validate
            /// Ask the server for the rest of a body.
            case complete
            /// Ask the server.
            case fetch
            /// Leave the request to the server.
            case passBy
            /// Fail, because the request must not reach the server.
            case fail(ResponseCache.NotStoredReason)
        }

        /// A response that is stored for the address.
        package struct Stored: Sendable {
            package let head: StoredHead
            /// The names of the fields by which it differs from the request; empty for one that matches.
            package let differences: [String]

            /// Its status.
            package var status: Response.Status { head.status }

            /// Its fields, without those that belong to the connection.
            package var headers: Headers { head.headers }
        }

        /// The action of the cache.
        public let action: Action
        /// The rule that decides.
        public let rule: Response.CacheRule
        /// The lifetime and age that are compared; nil where none are.
        package let freshness: ResponseCache.Freshness?
        /// Everything that is stored for the address and the account, the latest last.
        package let stored: [Stored]
        /// Why the latest response for the request was not stored; nil where it was, or where the store does not know.
        public let lastRefusal: Response.CacheRule?
    }
}

extension ResponseCache {
    /// Says what a request would get now, and changes nothing.
    ///
    /// - Parameters:
    ///   - request: The request, with the fields that the service adds to it.
    ///   - call: A call of the account.
    ///   - identity: The fields that the layers below the cache add for the account.
    /// - Returns: The decision.
    /// - Throws: Why the store cannot be read.
    package func explain(
        _ request: Request,
        in call: Call,
        _ identity: CallIdentity
    ) async throws(CacheError) -> ResponseCache.Explanation {
        let query = CacheWork.query(request, call, identity, self)
        var heads: [StoredHead] = []
        var refusal: Response.CacheRule?
        if let key = query.key {
            try await settings.store.flush()
            let lookup = try await settings.store.lookUp(key)
            heads = lookup.heads.sorted { $0.id < $1.id }
            refusal = lookup.refusal
        }
        let decided = rules.decide(query, heads)
        let action: ResponseCache.Explanation.Action =
            switch decided.decision {
            case .serve: .serve
            case .serveAndRevalidate: .serveAndValidate
            case .validate: .validate
            case .complete: .complete
            case .fetch: .fetch
            case .passBy: .passBy
            case .unsatisfiable(let reason): .fail(reason)
            }
        let stored = heads.map { head in
            ResponseCache.Explanation.Stored(head: head, differences: rules.differences(of: query, from: head))
        }
        return ResponseCache.Explanation(
            action: action,
            rule: decided.rule,
            freshness: decided.freshness,
            stored: stored,
            lastRefusal: refusal
        )
    }
}
