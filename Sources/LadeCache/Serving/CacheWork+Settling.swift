#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

extension CacheWork {
    /// The result of a request's outcome.
    enum Settlement {
        case done(CacheDelivery)
        /// Another request.
        indirect case again(Inquiry)
    }

    /// Settles the question, and hands over to the calls that wait for it.
    func settle(
        _ outcome: Result<Response, LoadingError>,
        _ inquiry: Inquiry,
        since began: Moment
    ) async throws(LoadingError) -> CacheStep {
        do throws(LoadingError) {
            switch try await settlement(outcome, inquiry, since: began) {
            case .done(let outcome):
                inquiry.lead?.share(self, outcome)
                return finished(outcome)
            case .again(var more):
                more.lead = inquiry.lead
                return send(more)
            }
        } catch {
            inquiry.lead?.end(self, with: error)
            throw error
        }
    }

    private func settlement(
        _ outcome: Result<Response, LoadingError>,
        _ inquiry: Inquiry,
        since began: Moment
    ) async throws(LoadingError) -> Settlement {
        switch (outcome, inquiry.form) {
        case (.success(let response), .condition): try await settle(response, inquiry, since: began)
        case (.success(let response), .rest(let id, let start, _)):
            try await complete(id, from: start, response, inquiry, since: began)
        case (.failure(let error), .condition): .done(try await failed(error, inquiry))
        case (.failure(let error), .rest): throw error
        }
    }

    /// Serves a stored response in place of a failure, where that is allowed (RFC 5861 §4).
    private func failed(_ error: LoadingError, _ inquiry: Inquiry) async throws(LoadingError) -> CacheDelivery {
        let outcome = rules.validation(
            currentQuery,
            inquiry.condition,
            inquiry.lookup.heads,
            failure: ExchangeFailure(error)
        )
        guard case .serveStale(let id) = outcome.decision,
            let served = try await serveStale(id, inquiry.lookup, outcome.rule, outcome.freshness)
        else { throw error }
        return served
    }

    private func settle(
        _ response: Response,
        _ inquiry: Inquiry,
        since began: Moment
    ) async throws(LoadingError) -> Settlement {
        let received = received(response, since: began)
        if received.reading.names.contains(.clearSiteData) { await clear(response.headers) }
        let heads = inquiry.lookup.heads
        let query = currentQuery
        if query.method == .head { await compare(received, with: heads, query) }
        let outcome = rules.validation(query, inquiry.condition, heads, received)
        var status = CacheStatus(inquiry.rule, isHit: false, inquiry.freshness)
        switch outcome.decision {
        case .update(let heads, let id, let added):
            return try await confirmed(id, heads, added, response, inquiry, outcome)
        case .serveAndRemove(let head): return try await confirmedOnce(head, response, inquiry, outcome)
        case .fetchAnew: return await anew(response, inquiry)
        case .serveStale(let id):
            guard let served = try await serveStale(id, inquiry.lookup, outcome.rule, outcome.freshness) else { break }
            response.body.cancel()
            return .done(served)
        case .replace(let storage, let removed):
            if !removed.isEmpty { await remove(.ids(Set(removed))) }
            let stored = await storing(response, Explained(storage, outcome.rule), inquiry.lookup, isMiss: true)
            status.isStored = stored.head != nil
            status.refusal = stored.refusal
            return .done(CacheDelivery(response: stored.response, status: status, shared: stored.head))
        case .removeAndDeliver(let ids):
            if !ids.isEmpty { await remove(.ids(Set(ids))) }
            if query.method != .head {
                refused(outcome.rule)
                status.refusal = outcome.rule
            }
        case .deliver:
            if outcome.rule == .otherHost {
                refused(.otherHost)
                status.refusal = .otherHost
            }
        }
        cache.count { $0.missed += 1 }
        if !inquiry.condition.isEmpty { status.forwardStatus = response.status }
        return .done(CacheDelivery(response: response, status: status))
    }

    /// Asks once more without a condition; that response is final.
    private func anew(_ response: Response, _ inquiry: Inquiry) async -> Settlement {
        await drain(response)
        discardHead()
        return .again(inquiry.anew())
    }

    /// Reads the empty body of a 304, so that its connection can be used again.
    private func drain(_ response: Response) async {
        // A 304 has no body; if reading fails all the same, its connection is lost, and nothing else.
        _ = try? await response.body.collect(limit: 0)
    }

    /// Compares a response to HEAD with the stored responses (RFC 9111 §4.3.5).
    private func compare(_ received: ReceivedHead, with heads: [StoredHead], _ query: CacheQuery) async {
        for head in rules.variants(of: query, in: heads) {
            switch rules.headUpdate(query, head, received) {
            case .update(let merged): await update(merged)
            case .mustValidate: await invalidate(.ids([head.id]))
            case .none: break
            }
        }
    }

    // MARK: - 304

    private func confirmed(
        _ id: UInt64,
        _ heads: [StoredHead],
        _ added: StoredHead?,
        _ response: Response,
        _ inquiry: Inquiry,
        _ outcome: Explained<ValidationDecision>
    ) async throws(LoadingError) -> Settlement {
        guard let stored = inquiry.lookup.heads.first(where: { $0.id == id }) else {
            return await anew(response, inquiry)
        }
        // A 304 with another tag confirms the stored response, and changes nothing of it.
        let merged = added ?? heads.first { $0.id == id } ?? stored
        let span = rules.span(of: stored, for: query)
        let reader = await open(stored, span)
        if let added {
            do throws(CacheError) {
                _ = try await usingStore { store throws(CacheError) in
                    try await store.add(added, sharingBodyOf: id, version: stored.version)
                }
            } catch {
                cache.note(error, call)
            }
        }
        for head in heads { await update(head) }
        return try await serve(merged, reader, span, response, inquiry, outcome.rule, isShared: true)
    }

    private func confirmedOnce(
        _ head: StoredHead,
        _ response: Response,
        _ inquiry: Inquiry,
        _ outcome: Explained<ValidationDecision>
    ) async throws(LoadingError) -> Settlement {
        let span = rules.span(of: head, for: query)
        let reader = await open(head, span)
        await remove(.ids([head.id]))
        return try await serve(head, reader, span, response, inquiry, outcome.rule, isShared: false)
    }

    private func serve(
        _ head: StoredHead,
        _ reader: (any CacheReader)?,
        _ span: Range<Int64>?,
        _ response: Response,
        _ inquiry: Inquiry,
        _ rule: Response.CacheRule,
        isShared: Bool
    ) async throws(LoadingError) -> Settlement {
        guard let reader,
            let served = try await served(head, reader, nil, inquiry.rule, span: span, confirmation: response)
        else { return await anew(response, inquiry) }
        await drain(response)
        call.record(.cacheValidated)
        cache.count { $0.validated += 1 }
        var status = CacheStatus(inquiry.rule, isHit: false, inquiry.freshness)
        status.forwardStatus = response.status
        status.isStored = isShared
        return .done(CacheDelivery(response: served, status: status, shared: isShared ? head : nil))
    }

    // MARK: - The rest of a body

    /// Joins the rest of a body with its beginning, which is stored.
    private func complete(
        _ id: UInt64,
        from start: Int64,
        _ response: Response,
        _ inquiry: Inquiry,
        since began: Moment
    ) async throws(LoadingError) -> Settlement {
        let lookup = inquiry.lookup
        let received = received(response, since: began)
        guard let head = lookup.heads.first(where: { $0.id == id }) else { return .again(inquiry.anew(.incomplete)) }
        switch rules.completion(of: head, from: start, received) {
        // This request asked for no coding, so that none was removed.
        case .replace where query.isRaw || !received.reading.names.contains(.contentEncoding):
            let whole = Inquiry(work: self, form: .condition(CacheCondition()), lookup: lookup, rule: .incomplete)
            return try await settle(response, whole, since: began)
        case .join(let whole, let isStored):
            guard let reader = await open(head, 0..<start) else { break }
            if let joined = try await join(whole, reader, response, lookup, isStored: isStored) { return .done(joined) }
        case .replace, .fetchAnew: break
        }
        response.body.cancel()
        discardHead()
        return .again(inquiry.anew(.incomplete))
    }

    private func join(
        _ whole: StoredHead,
        _ reader: any CacheReader,
        _ response: Response,
        _ lookup: CacheLookup,
        isStored: Bool
    ) async throws(LoadingError) -> CacheDelivery? {
        if case .buffered(let limit) = request.delivery, whole.length > Int64(limit) {
            response.body.cancel()
            throw LoadingError(.bodyTooLarge(limit: limit, announced: whole.length), LoadingError.Context(request))
        }
        var response = response
        response.status = whole.status
        response.headers = whole.headers
        response.source = .revalidated
        // All bytes pass by here, so they are stored anew as a whole, and a digest is checked.
        let storage: Explained<StorageDecision> =
            isStored ? Explained(.store(whole, replacing: [whole.id]), .storable) : Explained(.refuse, .noStore)
        var status = CacheStatus(.incomplete, isHit: false)
        status.forwardStatus = 206
        if let rest = response.body.bytes {
            guard let beginning = try await collect(whole, reader) else { return nil }
            let body = response.body
            response.body = Response.Body(beginning + rest, trailers: body.trailers, metrics: body.metrics)
        } else {
            let (cache, call, metrics) = (cache, call, response.metrics)
            response.body = response.body.wrapped {
                StoredBody(reader, then: $0, metrics: metrics) { cache.note($0, call) }
            }
        }
        let stored = await storing(response, storage, lookup, isMiss: true)
        status.isStored = stored.head != nil
        status.refusal = stored.refusal
        return CacheDelivery(response: stored.response, status: status)
    }

    // MARK: - What passed by

    /// Carries out the consequence of a response to a method that is no question.
    func left(_ response: Response, since began: Moment) async -> CacheStep {
        await passed(response, .method, .none, since: began)
    }

    /// Carries out the consequence of a response that passes by the cache.
    func passed(
        _ response: Response,
        _ rule: Response.CacheRule,
        _ lookup: CacheLookup,
        since began: Moment
    ) async -> CacheStep {
        let status = CacheStatus(rule, isHit: false)
        guard query.key != nil else { return finished(CacheDelivery(response: response, status: status)) }
        let passed = await changing(response, rule, lookup, since: began)
        return finished(CacheDelivery(response: passed, status: status))
    }

    private func changing(
        _ response: Response,
        _ rule: Response.CacheRule,
        _ lookup: CacheLookup,
        since began: Moment
    ) async -> Response {
        await clear(response.headers)
        if rule == .method { return await changed(response, since: began) }
        guard rule == .bypass || rule == .ownCondition else { return response }
        let received = received(response, since: began)
        let query = currentQuery
        if rule == .bypass {
            let outdated = rules.variants(of: query, in: lookup.heads).filter { rules.outdates($0, by: received) }
            if !outdated.isEmpty { await invalidate(.ids(Set(outdated.map(\.id)))) }
        }
        guard rule == .ownCondition else { return response }
        if let head = rules.updated(byOwnCondition: query, lookup.heads, received) { await update(head) }
        let storage = rules.storage(query, received, stored: lookup.heads)
        return storage.decision == .refuse ? response : await storing(response, storage, lookup).response
    }

    /// Carries out the consequence of a response to a method that changes something (RFC 9111 §4.4).
    private func changed(_ response: Response, since began: Moment) async -> Response {
        guard case .mustValidate(let addresses) = rules.invalidation(query, response.status, response.headers).decision,
            let key = query.key
        else { return response }
        let places = addresses.flatMap { [key.place.with(address: $0), key.place.with(scope: .shared, address: $0)] }
        await invalidate(.places(Set(places)))
        guard query.method == .post else { return response }
        let storage = rules.storage(query, received(response, since: began))
        // It is newer than the responses that have just been made invalid.
        return storage.decision == .refuse ? response : await storing(response, storage, await lookUp()).response
    }
}

extension ExchangeFailure {
    /// Makes the cache's failure of an error of the chain.
    init(_ error: LoadingError) {
        self =
            switch error.kind {
            case .cancelled: .cancelled
            case .deadlineExceeded: .deadline
            case .timedOut: .timedOut
            case .nameNotResolved: .name
            case .cannotConnect, .connectionLost, .incompleteBody: .connection
            case .malformedResponse, .headTooLarge: .malformedResponse
            case .rateLimited: .rateLimited
            case .untrustedServer, .pinMismatch: .trust
            default: .other
            }
    }
}
