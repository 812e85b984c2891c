#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// A stored response in the form in which it is served, except for its body.
struct ServedForm {
    let status: Response.Status
    let headers: Headers
    let source: Response.Source
    let version: Response.Version?
    let length: Int64
    let metrics: Response.Metrics

    /// The response with its body.
    func response(_ body: Response.Body, to request: Request) -> Response {
        Response(status: status, headers: headers, body: body, source: source, request: request, version: version)
    }
}

extension CacheWork {
    /// Serves the response that a decision names; nil where the store has lost it.
    func serve(
        _ serving: Serving,
        _ lookup: CacheLookup,
        _ decided: Explained<CacheDecision>
    ) async throws(LoadingError) -> CacheDelivery? {
        guard let head = lookup.heads.first(where: { $0.id == serving.id }), let freshness = decided.freshness,
            let reader = await open(head, serving.span, lookup)
        else { return nil }
        guard let response = try await served(head, reader, freshness, decided.rule, span: serving.span) else {
            return nil
        }
        noteServed(freshness, decided.rule, response.metrics.decodedBodyBytes)
        return CacheDelivery(response: response, status: CacheStatus(decided.rule, isHit: true, freshness))
    }

    /// Serves a stored response although it is stale, because the server failed; nil where the store has lost it.
    func serveStale(
        _ id: UInt64,
        _ lookup: CacheLookup,
        _ rule: Response.CacheRule,
        _ freshness: ResponseCache.Freshness?
    ) async throws(LoadingError) -> CacheDelivery? {
        guard let head = lookup.heads.first(where: { $0.id == id }), let freshness else { return nil }
        let span = rules.span(of: head, for: query)
        guard let reader = await open(head, span),
            let response = try await served(head, reader, freshness, rule, span: span)
        else { return nil }
        call.record(.cacheServed(rule, age: freshness.age, lifetime: freshness.lifetime))
        cache.count { counters in
            counters.servedStale += 1
            counters.bytesServed += response.metrics.decodedBodyBytes
        }
        return CacheDelivery(response: response, status: CacheStatus(rule, isHit: true, freshness), shared: head)
    }

    /// Reports a served response, and counts it.
    func noteServed(_ freshness: ResponseCache.Freshness, _ rule: Response.CacheRule, _ length: Int64) {
        call.record(.cacheServed(rule, age: freshness.age, lifetime: freshness.lifetime))
        cache.count { counters in
            if freshness.isFresh { counters.servedFresh += 1 } else { counters.servedStale += 1 }
            counters.bytesServed += length
        }
    }

    /// Opens a body; a body that cannot be opened is removed, and counts as none.
    func open(_ head: StoredHead, _ span: Range<Int64>?, _ lookup: CacheLookup? = nil) async -> (any CacheReader)? {
        if span == nil, let opened = lookup?.opened, opened.id == head.id, let reader = opened.use() { return reader }
        do throws(CacheError) {
            return try await usingStore { store throws(CacheError) in try await store.open(head.id, span: span) }
        } catch {
            await lose(head, error)
            return nil
        }
    }

    private func lose(_ head: StoredHead, _ fault: CacheError) async {
        cache.note(fault, call)
        await remove(.ids([head.id]))
    }

    /// The form of a stored response.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - freshness: The age to state; nil for a response that the server has just confirmed.
    ///   - rule: The rule that decided.
    ///   - span: The bytes of the body.
    ///   - confirmation: The 304 that confirmed the head.
    /// - Returns: The form.
    /// - Throws: `LoadingError.Kind.bodyTooLarge` for a body that is longer than the caller accepts.
    func form(
        of head: StoredHead,
        _ freshness: ResponseCache.Freshness?,
        _ rule: Response.CacheRule,
        span: Range<Int64>?,
        confirmation: Response? = nil
    ) throws(LoadingError) -> ServedForm {
        let length = query.method == .head ? 0 : span.map { Int64($0.count) } ?? head.length
        let (status, headers) = ResponseCache.Rules.served(head, freshness, span: span)
        if case .buffered(let limit) = request.delivery, length > Int64(limit) {
            var context = LoadingError.Context(request)
            context.status = status
            throw LoadingError(.bodyTooLarge(limit: limit, announced: length), context)
        }
        var metrics = confirmation?.metrics ?? Response.Metrics()
        if let place = query.key?.place {
            let freshness = freshness ?? rules.freshness(of: head, at: Moment(now: call.time), place.address)
            metrics.cacheUse = Response.CacheUse(rule, age: freshness.age, lifetime: freshness.lifetime)
        }
        metrics.decodedBodyBytes = length
        return ServedForm(
            status: status,
            headers: headers,
            source: confirmation == nil ? .cache : .revalidated,
            version: confirmation?.version,
            length: length,
            metrics: metrics
        )
    }

    /// Makes the response of a stored head; see ``form(of:_:_:span:confirmation:)``.
    ///
    /// - Returns: The response; nil where the body cannot be read.
    /// - Throws: Beside the errors of the form, `cancelled`.
    func served(
        _ head: StoredHead,
        _ reader: any CacheReader,
        _ freshness: ResponseCache.Freshness?,
        _ rule: Response.CacheRule,
        span: Range<Int64>?,
        confirmation: Response? = nil
    ) async throws(LoadingError) -> Response? {
        let form = try form(of: head, freshness, rule, span: span, confirmation: confirmation)
        guard let body = try await body(head, reader, form.metrics) else { return nil }
        return form.response(body, to: request)
    }

    private func body(
        _ head: StoredHead,
        _ reader: any CacheReader,
        _ metrics: Response.Metrics
    ) async throws(LoadingError) -> Response.Body? {
        guard query.method != .head else { return Response.Body(metrics: metrics) }
        if case .streamed = request.delivery {
            let (cache, call, id) = (cache, call, head.id)
            return Response.Body(
                streaming: StoredBody(reader, trailers: head.trailers, metrics: metrics) { fault in
                    cache.note(fault, call)
                    // Owned by no one: it ends by itself, as soon as the store has removed the entry.
                    // An error leaves the entry where it is, and the next reader finds the damage again.
                    Task { _ = try? await cache.remove(ResponseCache.Selection(.ids([id]))) }
                }
            )
        }
        if let bytes = reader.bytes { return Response.Body(bytes, trailers: head.trailers, metrics: metrics) }
        guard let bytes = try await collect(head, reader) else { return nil }
        return Response.Body(bytes, trailers: head.trailers, metrics: metrics)
    }

    /// All bytes of a body; nil where they are damaged.
    func collect(_ head: StoredHead, _ reader: any CacheReader) async throws(LoadingError) -> Data? {
        var all = Data()
        do throws(CacheError) {
            while let chunk = try await reader.next() { all.append(chunk) }
            return all
        } catch {
            if case .signedOut = error.reason { throw LoadingError(.cancelled, LoadingError.Context(request)) }
            await lose(head, error)
            return nil
        }
    }
}
