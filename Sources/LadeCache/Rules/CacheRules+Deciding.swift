package import LadeCore

extension ResponseCache.Rules {
    /// Decides what to do with a request, given everything stored under its key; the order of `stored` does not matter.
    package func decide(_ query: CacheQuery, _ stored: [StoredHead]) -> Explained<CacheDecision> {
        if let rule = passes(query) { return passing(query, rule) }
        return decideLookedUp(query, stored)
    }

    /// Decides about a request that does not pass by.
    func decideLookedUp(_ query: CacheQuery, _ stored: [StoredHead]) -> Explained<CacheDecision> {
        guard let key = query.key else { return passing(query, .scheme) }
        guard !stored.isEmpty else { return asking(query, .uriMiss, .nothing) }
        let matching = variants(of: query, in: stored)
        guard !matching.isEmpty else { return askingForVariant(query, stored) }

        if matching.count == 1, query.range == .none, matching[0].isWhole {
            let use = use(of: (matching[0], nil), query, key.place.address)
            return use.isServed ? serving(query, use) : validating(query, use)
        }
        let (suitable, misfit) = suitable(matching, for: query)
        guard !suitable.isEmpty else {
            if misfit == .range { return passing(query, .range) }
            return completing(query, matching)
        }
        var best = use(of: suitable[0], query, key.place.address)
        for candidate in suitable.dropFirst() {
            let use = use(of: candidate, query, key.place.address)
            // A response that can be served is better than one that must be validated.
            let isBetter = use.isServed == best.isServed ? Use.isWorse(best, use) : use.isServed
            if isBetter { best = use }
        }
        return best.isServed ? serving(query, best) : validating(query, best)
    }

    /// The rule by which a request passes by the cache.
    package func passes(_ query: CacheQuery) -> Response.CacheRule? {
        if query.key == nil { return .scheme }
        if !query.isLookedUp { return .method }
        if query.directives.noStore { return .requestNoStore }
        if query.mode == .bypass { return .bypass }
        if query.hasOwnCondition { return .ownCondition }
        if query.range == .unusable { return .range }
        return query.isReplayable ? nil : .oneShotBody
    }

    private func passing(_ query: CacheQuery, _ rule: Response.CacheRule) -> Explained<CacheDecision> {
        guard query.isStoredOnly, rule != .scheme else { return Explained(.passBy, rule) }
        return Explained(.unsatisfiable(.notServed(rule)), rule)
    }

    /// Asks without a condition, or fails where the server must not be asked.
    private func asking(
        _ query: CacheQuery,
        _ rule: Response.CacheRule,
        _ reason: ResponseCache.NotStoredReason,
        _ freshness: ResponseCache.Freshness? = nil
    ) -> Explained<CacheDecision> {
        guard query.isStoredOnly else { return Explained(.fetch, rule, freshness) }
        return Explained(.unsatisfiable(reason), rule, freshness)
    }

    /// Asks whether one of the other variants is the response for this request, too (RFC 9111 §4.1).
    private func askingForVariant(_ query: CacheQuery, _ stored: [StoredHead]) -> Explained<CacheDecision> {
        var condition = CacheCondition()
        let others = formed(stored, for: query).filter { $0.isWhole && $0.reading.entityTag != nil }.sorted {
            Self.isLater($0, $1)
        }
        for head in others where condition.ids.count < Self.tagLimit {
            guard let tag = head.reading.entityTag, !condition.entityTags.contains(tag) else { continue }
            condition.ids.append(head.id)
            condition.entityTags.append(tag)
        }
        guard !query.isStoredOnly, query.range == .none, !condition.isEmpty else {
            return asking(query, .variantMiss, .otherVariant)
        }
        return Explained(.validate(condition), .variantMiss)
    }

    /// How many tags one request names.
    private static let tagLimit = 8

    /// The heads whose body can be used for the request, and why the others cannot.
    private func suitable(
        _ heads: [StoredHead],
        for query: CacheQuery
    ) -> (heads: [(StoredHead, Range<Int64>?)], misfit: Response.CacheRule) {
        var misfit = Response.CacheRule.incomplete
        var suitable: [(StoredHead, Range<Int64>?)] = []
        for head in heads {
            guard case .single = query.range, head.status == 200 else {
                if head.isWhole { suitable.append((head, nil)) }
                continue
            }
            guard let span = span(of: head, for: query) else {
                misfit = .range
                continue
            }
            if head.contains(span) { suitable.append((head, span)) }
        }
        return (suitable, misfit)
    }

    /// The bytes of a response that a request asks for; nil for all, and where its range cannot be served.
    package func span(of head: StoredHead, for query: CacheQuery) -> Range<Int64>? {
        // A range of the decoded body is not the range of the body that the server has.
        guard case .single(let range) = query.range, head.status == 200, !head.isDecoded else { return nil }
        return range.resolved(in: head.length)
    }

    /// Asks for the rest of a body whose beginning is stored, or for all of it.
    private func completing(_ query: CacheQuery, _ heads: [StoredHead]) -> Explained<CacheDecision> {
        let prefixes = heads.filter { $0.prefixLength > 0 && !$0.isDecoded && $0.reading.entityTag?.isStrong == true }
        guard query.method == .get, query.range == .none, !query.isStoredOnly,
            let head = prefixes.max(by: { Self.isLater($1, $0) }), let tag = head.reading.entityTag
        else { return asking(query, .incomplete, .incomplete) }
        return Explained(.complete(id: head.id, from: head.prefixLength, ifRange: tag), .incomplete)
    }

    private func serving(_ query: CacheQuery, _ use: Use) -> Explained<CacheDecision> {
        let serving = Serving(id: use.head.id, version: use.head.version, span: use.span)
        guard use.rule == .whileRevalidate else { return Explained(.serve(serving), use.rule, use.freshness) }
        return Explained(.serveAndRevalidate(serving, condition(for: use.head)), use.rule, use.freshness)
    }

    private func validating(_ query: CacheQuery, _ use: Use) -> Explained<CacheDecision> {
        let reason: ResponseCache.NotStoredReason =
            use.rule == .stale || use.rule == .mustRevalidate
            ? .stale(by: use.freshness.staleness) : .mustBeValidated(use.rule)
        let condition = condition(for: use.head)
        guard !query.isStoredOnly, !condition.isEmpty else {
            return asking(query, use.rule, reason, use.freshness)
        }
        return Explained(.validate(condition), use.rule, use.freshness)
    }

    /// The condition with the validators of one response.
    package func condition(for head: StoredHead) -> CacheCondition {
        var condition = CacheCondition()
        condition.ids = [head.id]
        if let tag = head.reading.entityTag { condition.entityTags = [tag] }
        condition.modifiedSince = head.reading.lastModifiedField
        return condition
    }

    /// Whether the first head is used in preference to the second: the later `Date`, then the one stored later.
    static func isLater(_ first: StoredHead, _ second: StoredHead) -> Bool {
        let (one, other) = (first.dateOrReceived, second.dateOrReceived)
        return one == other ? first.id > second.id : one > other
    }
}
