package import LadeCore

extension ResponseCache.Rules {
    /// Decides what to store of a response once its head has arrived (RFC 9111 §3).
    ///
    /// - Parameters:
    ///   - query: The request at the cache.
    ///   - received: The head.
    ///   - stored: Everything stored under the key, to find the responses that are replaced.
    /// - Returns: The decision, which holds if the body arrives.
    package func storage(
        _ query: CacheQuery,
        _ received: ReceivedHead,
        stored: [StoredHead] = []
    ) -> Explained<StorageDecision> {
        guard let key = query.key else { return Explained(.refuse, .scheme) }
        if let rule = refusal(query, received, key) { return Explained(.refuse, rule) }
        if received.status == 206 { return partStorage(query, received, key) }
        let head = makeHead(query, received)
        let (lifetime, source) = lifetime(of: head, key.place.address)
        let freshness = freshness(of: head, at: received.times.received, key.place.address)
        let isUsable = lifetime > .zero && !head.reading.requiresValidation
        guard isUsable || isUseful(head, query) else { return Explained(.refuse, .useless, freshness) }
        if let rule = sizeRefusal(head) { return Explained(.refuse, rule, freshness) }
        let replaced = replaced(by: head, query, stored)
        guard isUsable, source != .none else {
            return Explained(.storeForValidation(head, replacing: replaced), .storable, freshness)
        }
        return Explained(.store(head, replacing: replaced), .storable, freshness)
    }

    /// Whether a response that is not fresh for a moment is of use: validators, or permissions to use it stale.
    private func isUseful(_ head: StoredHead, _ query: CacheQuery) -> Bool {
        let directives = head.reading.directives
        let mayBeStale = !head.reading.requiresValidation && !directives.mustRevalidate
        let window = max(directives.staleWhileRevalidate ?? .zero, directives.staleIfError ?? .zero)
        return head.reading.hasValidator || mayBeStale && window > .zero
            || keepsForOfflineUse || query.mode == .preferStored
    }

    // MARK: - Refusals

    private func refusal(_ query: CacheQuery, _ received: ReceivedHead, _ key: CacheKey) -> Response.CacheRule? {
        if query.directives.noStore { return .requestNoStore }
        if query.mode == .bypass { return .bypass }
        if received.isFromOtherHost { return .otherHost }
        if received.hasOtherCredentials { return .otherCredentials }
        if !query.storesResponse || received.isRefusedByHook { return .hook }
        if !query.isReplayable { return .oneShotBody }
        if query.hasOwnCondition, received.status != 200 || query.range != .none { return .ownCondition }
        let reading = received.reading
        let directives = reading.directives
        guard storesMethod(query, received, key) else { return .method }
        if Self.isNeverStored(received.status) { return .status }
        // It says that the range is outside, and nothing about the whole (RFC 9110 §15.5.17).
        if received.status == 416, query.range != .none { return .status }
        if let rule = directiveRefusal(received.status, directives) { return rule }
        if !Self.isHeuristicallyCacheable(received.status), received.status != 206, directives.maxAge == nil,
            reading.expires == nil, !Self.allowsStoring(directives)
        {
            return .status
        }
        if reading.vary.isUnmatchable { return .varyStar }
        if key.place.scope == .shared, Self.isPersonal(received) { return .sharedScope }
        return nil
    }

    /// GET, methods that ask as GET does, and a POST whose response says that it is also the response to GET (RFC 9110 §9.3.3).
    private func storesMethod(
        _ query: CacheQuery,
        _ received: ReceivedHead,
        _ key: CacheKey
    ) -> Bool {
        if query.method == .head { return false }
        if query.isLookedUp { return true }
        guard query.method == .post, received.reading.hasExplicitLifetime else {
            return false
        }
        return Self.address(.contentLocation, in: received.headers, from: key.place.address) == key.place.address
    }

    /// `no-store`, and `must-understand`, which overrides it where the status is understood (RFC 9111 §5.2.2.3).
    private func directiveRefusal(_ status: Response.Status, _ directives: CacheControl) -> Response.CacheRule? {
        let isUnderstood = Self.isUnderstood(status)
        if directives.mustUnderstand { return isUnderstood ? nil : .notUnderstood }
        return directives.noStore ? .noStore : nil
    }

    private func sizeRefusal(_ head: StoredHead) -> Response.CacheRule? {
        if head.cost > headLimit { return .headTooLarge }
        return Self.announcedLength(of: head) ?? 0 > bodyLimit ? .tooLarge : nil
    }

    /// Interim responses, responses to conditions, and statuses about this one request (RFC 9110 §15, RFC 6585).
    package static func isNeverStored(_ status: Response.Status) -> Bool {
        switch status.code {
        case ..<200, 304, 401, 407, 421, 425, 428, 429, 431, 511: true
        default: false
        }
    }

    /// The statuses with a meaning that is known here: those of RFC 9110 §15.
    package static func isUnderstood(_ status: Response.Status) -> Bool {
        switch status.code {
        case 200...206, 300...305, 307, 308, 400...417, 421, 422, 426, 500...505: true
        default: false
        }
    }

    /// Whether an exchange belongs to one account.
    private static func isPersonal(_ received: ReceivedHead) -> Bool {
        received.isPersonal || received.sent.contains(where: \.carriesCredentials)
            || received.reading.names.contains(.setCookie)
    }

    // MARK: - Making heads

    /// The head as it is stored.
    func makeHead(_ query: CacheQuery, _ received: ReceivedHead, extent: StoredHead.Extent = .whole(0)) -> StoredHead {
        let (fields, isRead) = StoredFields.make(received.headers, received.reading, isDecoded: received.isDecoded)
        var head = StoredHead(
            status: received.status,
            headers: fields,
            times: received.times,
            extent: extent,
            reading: isRead ? received.reading : nil
        )
        head.isDecoded = received.isDecoded
        head.isRaw = query.isRaw
        head.tags = query.tags
        (head.selecting, head.unseen) = selecting(
            head.reading.vary,
            query,
            sent: received.sent,
            authorised: received.authorised
        )
        return head
    }

    /// The responses that a new response replaces: every response that this request matches, and that is not newer.
    private func replaced(by head: StoredHead, _ query: CacheQuery, _ stored: [StoredHead]) -> [UInt64] {
        guard query.isLookedUp, !stored.isEmpty else { return [] }
        return variants(of: query, in: stored)
            .filter { !head.times.requested.isBefore($0.times.requested) }
            .map(\.id).sorted()
    }
}
