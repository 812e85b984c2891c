import LadeCore

/// The consequence of a response to a validation, or of its failure, for the stored responses.
package enum ValidationDecision: Sendable, Hashable {
    /// Store the heads, and serve one of them; `adding` is another variant with the same body.
    case update([StoredHead], serve: UInt64, adding: StoredHead?)
    /// Serve the merged head once, and remove the stored response.
    case serveAndRemove(StoredHead)
    /// Deliver the response, and store it in place of the stored one; remove others.
    case replace(StorageDecision, removing: [UInt64])
    /// Deliver the response, and remove the stored ones.
    case removeAndDeliver([UInt64])
    /// Deliver the response or the failure; the stored response stays.
    case deliver
    /// Serve a stored response although it is stale.
    case serveStale(UInt64)
    /// Ask once more, without a condition; that response is final.
    case fetchAnew
}

/// How an exchange failed, as far as the cache needs to know.
package enum ExchangeFailure: Sendable, Hashable, CaseIterable {
    /// The connection was refused or lost, or no network was there.
    case connection
    /// A stage of the exchange took too long.
    case timedOut
    /// The name of the host was not found.
    case name
    /// The service's limit or the server's delay refused the call.
    case rateLimited
    /// The response violated the protocol.
    case malformedResponse
    /// The caller cancelled.
    case cancelled
    /// The deadline of the call passed.
    case deadline
    /// The certificate or a pin was not accepted.
    case trust
    /// Anything else.
    case other

    /// Whether a stale response may be used in its place (RFC 5861 §4).
    package var permitsStale: Bool {
        switch self {
        case .connection, .timedOut, .name, .rateLimited, .malformedResponse: true
        case .cancelled, .deadline, .trust, .other: false
        }
    }
}

extension ResponseCache.Rules {
    /// Decides the consequence of a response to a request with a condition (RFC 9111 §4.3.3, §4.3.4).
    ///
    /// - Parameters:
    ///   - query: The request at the cache; its `now` is the present.
    ///   - condition: The condition that was sent, which may be empty.
    ///   - stored: Everything stored under the key.
    ///   - received: The final response, after all retries.
    /// - Returns: The heads to store, and the response to deliver.
    package func validation(
        _ query: CacheQuery,
        _ condition: CacheCondition,
        _ stored: [StoredHead],
        _ received: ReceivedHead
    ) -> Explained<ValidationDecision> {
        // Another host knows nothing about what this one sent.
        if received.isFromOtherHost {
            return received.status == 304 && !condition.isEmpty
                ? Explained(.fetchAnew, .unknownValidator) : Explained(.deliver, .otherHost)
        }
        // Failures of the server replace nothing, but can be stored where nothing is.
        let isAsked = !asked(query, condition, stored).isEmpty
        switch received.status.code {
        case 304: return confirmation(query, condition, stored, received)
        case 500 where isAsked, 502 where isAsked, 503 where isAsked, 504 where isAsked:
            return staleUse(query, condition, stored) ?? Explained(.deliver, .kept)
        case 401, 407, 408, 421, 425, 429: return Explained(.deliver, .kept)
        case 501 where isAsked, 505...599 where isAsked: return Explained(.deliver, .kept)
        case 206: return partial(query, condition, stored, received)
        // See `headUpdate`.
        case _ where query.method == .head: return Explained(.deliver, .kept)
        default:
            let storage = storage(query, received, stored: stored)
            guard storage.decision == .refuse else {
                return Explained(.replace(storage.decision, removing: []), .replaced)
            }
            let ids = asked(query, condition, stored).map(\.id)
            return Explained(.removeAndDeliver(ids), storage.rule)
        }
    }

    /// Decides the consequence of a failed request, after all retries.
    package func validation(
        _ query: CacheQuery,
        _ condition: CacheCondition,
        _ stored: [StoredHead],
        failure: ExchangeFailure
    ) -> Explained<ValidationDecision> {
        let deliver = Explained(ValidationDecision.deliver, .kept)
        return failure.permitsStale ? staleUse(query, condition, stored) ?? deliver : deliver
    }

    /// The stored responses that were asked about.
    private func asked(_ query: CacheQuery, _ condition: CacheCondition, _ stored: [StoredHead]) -> [StoredHead] {
        let matching = variants(of: query, in: stored)
        return condition.isEmpty ? matching : matching.filter { condition.ids.contains($0.id) }
    }

    private func staleUse(
        _ query: CacheQuery,
        _ condition: CacheCondition,
        _ stored: [StoredHead]
    ) -> Explained<ValidationDecision>? {
        guard let address = query.key?.place.address else { return nil }
        for head in asked(query, condition, stored).sorted(by: Self.isLater) where head.isWhole {
            let freshness = freshness(of: head, at: query.now, address)
            guard mayStandIn(head, freshness, query) else { continue }
            return Explained(.serveStale(head.id), .ifError, freshness)
        }
        return nil
    }

    /// A 206 to a range: a response that was asked about stays only if it is the same one.
    private func partial(
        _ query: CacheQuery,
        _ condition: CacheCondition,
        _ stored: [StoredHead],
        _ received: ReceivedHead
    ) -> Explained<ValidationDecision> {
        let tag = received.reading.entityTag
        let outdated = stored.filter { head in
            guard condition.ids.contains(head.id) else { return false }
            guard let tag, let own = head.reading.entityTag else { return true }
            return !own.isStronglyEqual(to: tag)
        }
        let ids = outdated.map(\.id).sorted()
        let storage = storage(query, received, stored: stored)
        if storage.decision != .refuse { return Explained(.replace(storage.decision, removing: ids), .part) }
        return ids.isEmpty ? Explained(.deliver, .kept) : Explained(.removeAndDeliver(ids), .replaced)
    }

    // MARK: - 304

    private func confirmation(
        _ query: CacheQuery,
        _ condition: CacheCondition,
        _ stored: [StoredHead],
        _ received: ReceivedHead
    ) -> Explained<ValidationDecision> {
        guard !condition.isEmpty else { return Explained(.deliver, .kept) }
        let candidates = stored.filter { condition.ids.contains($0.id) }
        guard let (confirmed, mayUpdate) = confirmed(candidates, received) else {
            return Explained(.fetchAnew, .unknownValidator)
        }
        guard mayUpdate else {
            let freshness = query.key.map { self.freshness(of: confirmed, at: query.now, $0.place.address) }
            return Explained(.update([], serve: confirmed.id, adding: nil), .notModified, freshness)
        }
        let merged = merged(confirmed, received, query)
        let freshness = query.key.map { self.freshness(of: merged, at: query.now, $0.place.address) }
        if merged.reading.vary.isUnmatchable || merged.reading.directives.noStore {
            return Explained(.serveAndRemove(merged), .notModified, freshness)
        }
        // A tag of another variant: its body is the one for this request's values, too.
        guard variants(of: query, in: stored).contains(where: { $0.id == confirmed.id }) else {
            // The values that the other variant had of newly named fields are unknown.
            guard merged.reading.vary == confirmed.reading.vary else {
                return Explained(.update([], serve: confirmed.id, adding: merged), .notModified, freshness)
            }
            var updated = merged
            updated.selecting = confirmed.selecting
            updated.unseen = confirmed.unseen
            return Explained(.update([updated], serve: confirmed.id, adding: merged), .notModified, freshness)
        }
        return Explained(.update([merged], serve: confirmed.id, adding: nil), .notModified, freshness)
    }

    /// The response that a 304 confirms, and whether the fields of the 304 may update it (RFC 9111 §4.3.4).
    ///
    /// A 304 to a request that named one response confirms this response (RFC 9110 §15.4.5): it can mean no other. With another
    /// tag it updates nothing. A server that names the tag without the suffix of a coding does so.
    private func confirmed(_ candidates: [StoredHead], _ received: ReceivedHead) -> (StoredHead, mayUpdate: Bool)? {
        let tag = received.reading.entityTag
        let named = tag.flatMap { tag in candidates.first { $0.reading.entityTag?.isWeaklyEqual(to: tag) == true } }
        if let named { return (named, true) }
        return candidates.count == 1 ? (candidates[0], tag == nil) : nil
    }

    /// The head of a stored response with the fields, times and, where `Vary` is stated, values of a 304.
    package func merged(_ head: StoredHead, _ received: ReceivedHead, _ query: CacheQuery) -> StoredHead {
        var merged = head
        merged.renew(StoredFields.renewed(head.headers, by: received.headers), received.times)
        merged.mustValidate = false
        let (values, unseen) = selecting(
            merged.reading.vary,
            query,
            sent: received.sent,
            authorised: received.authorised
        )
        merged.selecting = values
        merged.unseen = unseen
        return merged
    }

    /// The head that a 304 to the caller's own condition updates: a head with an equal strong tag.
    package func updated(
        byOwnCondition query: CacheQuery,
        _ stored: [StoredHead],
        _ received: ReceivedHead
    ) -> StoredHead? {
        let tag = received.reading.entityTag
        guard query.hasOwnCondition, received.status == 304, let tag,
            let head = variants(of: query, in: stored).first(where: {
                $0.reading.entityTag?.isStronglyEqual(to: tag) == true
            })
        else { return nil }
        let merged = merged(head, received, query)
        return merged.reading.directives.noStore || merged.reading.vary.isUnmatchable ? nil : merged
    }

    // MARK: - HEAD

    /// The consequence of a 200 to HEAD for a stored response to GET (RFC 9111 §4.3.5).
    package enum HeadUpdate: Sendable, Hashable {
        /// Store the head.
        case update(StoredHead)
        /// Validate the stored response before its next use.
        case mustValidate
        /// Nothing.
        case none
    }

    /// Compares a response to HEAD with a stored one.
    package func headUpdate(_ query: CacheQuery, _ head: StoredHead, _ received: ReceivedHead) -> HeadUpdate {
        guard query.method == .head, received.status == 200, head.status == 200 else { return .none }
        let reading = received.reading
        guard reading.hasValidator else { return .none }
        if let tag = reading.entityTag {
            guard let own = head.reading.entityTag, own.isWeaklyEqual(to: tag) else { return .mustValidate }
        }
        if let modified = reading.lastModifiedField {
            guard let own = head.reading.lastModifiedField, own.octets == modified.octets else { return .mustValidate }
        }
        let lengths = [received.headers, head.headers].filter { $0.contains("Content-Length") }.map(\.contentLength)
        guard lengths.count < 2 || lengths[0] == lengths[1] else { return .mustValidate }
        return .update(merged(head, received, query))
    }
}
