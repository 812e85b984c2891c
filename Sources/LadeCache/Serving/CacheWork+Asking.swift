#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// What the server is asked, and what was stored when the question was made.
///
/// A reference, so that the frames of waiting calls stay small.
final class Question: Sendable {
    let condition: CacheCondition
    let lookup: CacheLookup
    /// Why the server is asked.
    let rule: CacheRule
    let freshness: Freshness?

    init(_ condition: CacheCondition, _ lookup: CacheLookup, _ rule: CacheRule, _ freshness: Freshness? = nil) {
        self.condition = condition
        self.lookup = lookup
        self.rule = rule
        self.freshness = freshness
    }
}

extension CacheWork {
    /// Sends the request of this call, and carries out what the response means.
    ///
    /// - Parameters:
    ///   - question: What is asked.
    ///   - exchange: The exchange that other calls wait for, too.
    /// - Returns: The response, and what calls that wait for the same get.
    /// - Throws: The errors of the rest of the chain, where nothing stored stands in for the response.
    func ask(_ question: Question, for exchange: UInt64? = nil) async throws(LoadingError) -> CacheOutcome {
        let began = Moment(now: call.time)
        let response: Response
        do throws(LoadingError) {
            var sent = asked(question.condition, hasStored: !question.lookup.heads.isEmpty)
            if let exchange { sent.priority = cache.priority(of: exchange) ?? sent.priority }
            response = try await next(sent)
        } catch {
            return try await failed(error, question)
        }
        return try await settle(response, question, since: began)
    }

    /// Serves what is stored in place of a failure, where that is allowed (RFC 5861 §4).
    @inline(never)
    private func failed(_ error: LoadingError, _ question: Question) async throws(LoadingError) -> CacheOutcome {
        let outcome = rules.validation(
            currentQuery,
            question.condition,
            question.lookup.heads,
            failure: ExchangeFailure(error)
        )
        guard case .serveStale(let id) = outcome.decision,
            let served = try await serveStale(id, question.lookup, outcome.rule, outcome.freshness)
        else { throw error }
        return served
    }

    @inline(never)
    private func settle(
        _ response: Response,
        _ question: Question,
        since began: Moment
    ) async throws(LoadingError) -> CacheOutcome {
        await clear(response.headers)
        let received = received(response, since: began)
        let heads = question.lookup.heads
        let query = currentQuery
        if query.method == .head { await compare(received, with: heads, query) }
        let outcome = rules.validation(query, question.condition, heads, received)
        var status = CacheStatus(question.rule, isHit: false, question.freshness)
        switch outcome.decision {
        case .update(let heads, let id, let added):
            return try await confirmed(id, heads, added, response, question, outcome)
        case .serveAndRemove(let head):
            return try await confirmedOnce(head, response, question, outcome)
        case .fetchAnew: return try await askAnew(response, question)
        case .serveStale(let id):
            guard let served = try await serveStale(id, question.lookup, outcome.rule, outcome.freshness) else { break }
            response.body.cancel()
            return served
        case .replace(let storage, let removed):
            if !removed.isEmpty { await remove(.ids(Set(removed))) }
            cache.count { $0.missed += 1 }
            let stored = await storing(response, Explained(storage, outcome.rule), question.lookup)
            status.isStored = stored.head != nil
            status.refusal = stored.refusal
            return CacheOutcome(response: stored.response, status: status, shared: stored.head)
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
        if !question.condition.isEmpty { status.forwardStatus = response.status }
        return CacheOutcome(response: response, status: status)
    }

    /// Asks once more without a condition; that response is final.
    private func askAnew(_ response: Response, _ question: Question) async throws(LoadingError) -> CacheOutcome {
        await drain(response)
        discardHead()
        return try await ask(
            Question(CacheCondition(), CacheLookup(heads: [], ticket: question.lookup.ticket), question.rule)
        )
    }

    /// Reads the empty body of a 304, so that its connection can be used again.
    private func drain(_ response: Response) async {
        // A 304 has no body; if reading fails all the same, its connection is lost, and nothing else.
        _ = try? await response.body.collect(limit: 0)
    }

    /// Compares a response to HEAD with what is stored (RFC 9111 §4.3.5).
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
        _ question: Question,
        _ outcome: Explained<ValidationDecision>
    ) async throws(LoadingError) -> CacheOutcome {
        guard let stored = question.lookup.heads.first(where: { $0.id == id }) else {
            return try await askAnew(response, question)
        }
        // A 304 with another tag confirms what is stored, and changes nothing of it.
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
        return try await serve(merged, reader, span, response, question, outcome.rule, isShared: true)
    }

    private func confirmedOnce(
        _ head: StoredHead,
        _ response: Response,
        _ question: Question,
        _ outcome: Explained<ValidationDecision>
    ) async throws(LoadingError) -> CacheOutcome {
        let span = rules.span(of: head, for: query)
        let reader = await open(head, span)
        await remove(.ids([head.id]))
        return try await serve(head, reader, span, response, question, outcome.rule, isShared: false)
    }

    private func serve(
        _ head: StoredHead,
        _ reader: (any CacheReader)?,
        _ span: Range<Int64>?,
        _ response: Response,
        _ question: Question,
        _ rule: CacheRule,
        isShared: Bool
    ) async throws(LoadingError) -> CacheOutcome {
        guard let reader,
            let served = try await served(head, reader, nil, question.rule, span: span, confirmation: response)
        else { return try await askAnew(response, question) }
        await drain(response)
        call.record(.cacheValidated)
        cache.count { $0.validated += 1 }
        var status = CacheStatus(question.rule, isHit: false, question.freshness)
        status.forwardStatus = response.status
        status.isStored = isShared
        return CacheOutcome(response: served, status: status, shared: isShared ? head : nil)
    }

    // MARK: - The rest of a body

    /// Asks for the rest of a body whose beginning is stored.
    func complete(
        _ id: UInt64,
        from start: Int64,
        _ tag: EntityTag,
        _ lookup: CacheLookup
    ) async throws(LoadingError) -> CacheOutcome {
        call.record(.cacheValidating(.incomplete))
        var sent = asked(CacheCondition(), hasStored: true)
        sent.headers["Range"] = "bytes=\(start)-"
        // The bytes of a body that the transport decodes continue none that was not decoded.
        if !sent.headers.contains("Accept-Encoding") { sent.headers["Accept-Encoding"] = "identity" }
        sent.headers.add(contentsOf: Headers(checked: [tag.condition]))
        let began = Moment(now: call.time)
        let response = try await next(sent)
        let received = received(response, since: began)
        let anew = Question(CacheCondition(), CacheLookup(heads: [], ticket: lookup.ticket), .incomplete)
        guard let head = lookup.heads.first(where: { $0.id == id }) else { return try await ask(anew) }
        switch rules.completion(of: head, from: start, received) {
        // This request asked for no coding, so that none was removed.
        case .replace where query.isRaw || !received.headers.contains("Content-Encoding"):
            return try await settle(response, Question(CacheCondition(), lookup, .incomplete), since: began)
        case .join(let whole, let isStored):
            guard let reader = await open(head, 0..<start) else { break }
            if let joined = try await join(whole, reader, response, lookup, isStored: isStored) { return joined }
        case .replace, .fetchAnew: break
        }
        response.body.cancel()
        discardHead()
        return try await ask(anew)
    }

    private func join(
        _ whole: StoredHead,
        _ reader: any CacheReader,
        _ response: Response,
        _ lookup: CacheLookup,
        isStored: Bool
    ) async throws(LoadingError) -> CacheOutcome? {
        if case .buffered(let limit) = request.delivery, whole.length > Int64(limit) {
            response.body.cancel()
            throw LoadingError(.bodyTooLarge(limit: limit, announced: whole.length), ErrorContext(request))
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
            response.body = ResponseBody(beginning + rest, trailers: body.trailers, metrics: body.metrics)
        } else {
            let (cache, call, metrics) = (cache, call, response.metrics)
            response.body = response.body.wrapped {
                StoredBody(reader, then: $0, metrics: metrics) { cache.note($0, call) }
            }
        }
        cache.count { $0.missed += 1 }
        let stored = await storing(response, storage, lookup)
        status.isStored = stored.head != nil
        status.refusal = stored.refusal
        return CacheOutcome(response: stored.response, status: status)
    }
}

extension EntityTag {
    /// The field that asks for a range of the same body.
    fileprivate var condition: Headers.Field {
        Headers.Field(uncheckedName: "If-Range", value: field.value, octets: field.unusualOctets)
    }
}

extension ExchangeFailure {
    /// What an error of the chain is for the cache.
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
