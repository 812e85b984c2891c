import LadeCore

extension ResponseCache.Rules {
    /// Whether and why one matching response is used.
    struct Use {
        let head: StoredHead
        let span: Range<Int64>?
        let freshness: ResponseCache.Freshness
        let rule: Response.CacheRule
        let isServed: Bool

        /// Orders uses: a response that needs no validation comes first, then the one that the server made later.
        static func isWorse(_ first: Use, _ second: Use) -> Bool {
            let (one, other) = (first.rule == .whileRevalidate, second.rule == .whileRevalidate)
            guard one == other else { return one }
            return ResponseCache.Rules.isLater(second.head, first.head)
        }
    }

    /// Assesses one response for a request (RFC 9111 §4).
    func use(of candidate: (head: StoredHead, span: Range<Int64>?), _ query: CacheQuery, _ address: CacheAddress) -> Use
    {
        let (head, span) = candidate
        let freshness = freshness(of: head, at: query.now, address)
        let (rule, isServed) = rule(for: head, freshness, query)
        return Use(head: head, span: span, freshness: freshness, rule: rule, isServed: isServed)
    }

    private func rule(for head: StoredHead, _ freshness: ResponseCache.Freshness, _ query: CacheQuery) -> (
        Response.CacheRule, Bool
    ) {
        if head.mustValidate { return (.invalidated, false) }
        if hasUnseenField(head, query) { return (.unseenField, false) }
        if query.isNoCache { return (.requestNoCache, false) }
        if let maxAge = query.directives.maxAge, maxAge == .zero || freshness.age > maxAge {
            return (.requestMaxAge, false)
        }
        switch query.mode {
        case .preferStored: return forcedRule(.preferStored, freshness, query)
        case .storedOnly: return forcedRule(.storedOnly, freshness, query)
        case .standard, .bypass, .revalidate: break
        }
        if head.reading.requiresValidation { return (.noCache, false) }
        if freshness.residence == nil { return (.clock, false) }
        if query.mode == .revalidate {
            let isSettled = freshness.isFresh && head.reading.directives.isImmutable
            guard isSettled else { return (freshness.isFresh ? .requestMaxAge : .stale, false) }
            return (.immutable, true)
        }
        return standardRule(for: head, freshness, query)
    }

    /// The app's own choice to use stale responses; the header of the request still limits it.
    private func forcedRule(_ rule: Response.CacheRule, _ freshness: ResponseCache.Freshness, _ query: CacheQuery) -> (
        Response.CacheRule, Bool
    ) {
        let directives = query.directives
        let isLimited = directives.minFresh != nil || directives.maxStale != nil
        if isLimited, !fits(freshness, directives, mayBeStale: true) {
            return (freshness.isFresh ? .minFresh : .stale, false)
        }
        return (freshness.isFresh ? .fresh : rule, true)
    }

    private func standardRule(for head: StoredHead, _ freshness: ResponseCache.Freshness, _ query: CacheQuery) -> (
        Response.CacheRule, Bool
    ) {
        let directives = head.reading.directives
        if fits(freshness, query.directives, mayBeStale: !directives.mustRevalidate) {
            return (freshness.isFresh ? .fresh : .maxStale, true)
        }
        if freshness.isFresh { return (.minFresh, false) }
        if directives.mustRevalidate { return (.mustRevalidate, false) }
        if usesStaleWhileRevalidate, query.directives.minFresh == nil, !query.isStoredOnly,
            let window = directives.staleWhileRevalidate, freshness.staleness < window
        {
            return (.whileRevalidate, true)
        }
        return (.stale, false)
    }

    /// Whether age + `min-fresh` < lifetime + `max-stale`.
    private func fits(_ freshness: ResponseCache.Freshness, _ directives: CacheControl, mayBeStale: Bool) -> Bool {
        var bound = freshness.lifetime
        if mayBeStale {
            switch directives.maxStale {
            case .any: return true
            case .upTo(let staleness): bound += staleness
            case nil: break
            }
        }
        return freshness.age + (directives.minFresh ?? .zero) < bound
    }

    /// Whether a response may be used if the server fails (RFC 5861 §4).
    package func mayStandIn(_ head: StoredHead, _ freshness: ResponseCache.Freshness, _ query: CacheQuery) -> Bool {
        let directives = head.reading.directives
        guard !head.mustValidate, !hasUnseenField(head, query), !head.reading.requiresValidation,
            !directives.mustRevalidate,
            !query.isNoCache, query.mode != .revalidate, freshness.residence != nil,
            let window = query.directives.staleIfError ?? directives.staleIfError
        else { return false }
        return freshness.staleness < window
    }
}
