#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore

/// Responds from the cache, validates what is stored, and stores what may be stored; stands between redirects and retries.
///
/// `CacheRules` decides, and this carries the decisions out. A served call passes no interceptor below. Retries happen
/// below, so that only the final response or error of a request is seen here.
package struct CacheInterceptor: Interceptor {
    private let cache: ResponseCache
    /// What the layers below add to the requests of the account.
    package var identity: CallIdentity

    /// Makes the interceptor for the cache of a service and an account.
    package init(_ cache: ResponseCache, _ identity: CallIdentity = CallIdentity()) {
        (self.cache, self.identity) = (cache, identity)
    }

    /// True: every wait here ends with the call's scope.
    package var observesScope: Bool { true }

    /// Responds from the cache or passes the request on.
    ///
    /// - Throws: `LoadingError.Kind.notStored` for a request that must not reach the server and has no response here;
    ///   otherwise the errors of the rest of the chain.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard !next.call.isCancelled else { throw LoadingError(.cancelled, ErrorContext(request)) }
        let start = request.headRecord?.position ?? 0
        let outcome =
            cache.leaves(request)
            ? try await leave(request, next) : try await CacheWork(cache, request, identity, next).outcome()
        let response = cache.settings.addsStatusField ? outcome.withStatusField : outcome.response
        if let record = request.headRecord { note(response, outcome.status, in: record, since: start) }
        return response
    }

    /// Lets the heads of the call end with that of the response: a stored one stands for the 304 or the failure before it.
    private func note(_ response: Response, _ status: CacheStatus, in record: HeadRecord, since start: Int) {
        guard response.source == .network, !status.isCollapsed else {
            record.discard(after: start)
            return record.append(
                response.status,
                response.headers,
                response.version ?? .http1_1,
                reason: response.status.reasonPhrase ?? ""
            )
        }
        guard cache.settings.addsStatusField, record.position > start else { return }
        record.amendLast("Cache-Status", status.text)
    }

    /// Passes on a request that is no question, and makes its key only if the response changes what is stored.
    private func leave(_ request: Request, _ next: Next) async throws(LoadingError) -> CacheOutcome {
        let began = Moment(now: next.call.time)
        let response = try await next(request)
        let status = CacheStatus(.method, isHit: false)
        let isChange = !request.method.isSafe && (200..<400).contains(response.status.code)
        guard isChange || response.headers.contains("Clear-Site-Data") else {
            return CacheOutcome(response: response, status: status)
        }
        let passed = await CacheWork(cache, request, identity, next).passed(response, since: began)
        return CacheOutcome(response: passed, status: status)
    }
}

extension ResponseCache {
    /// Whether a request is the server's alone, and is sent as it is: its method is no question, and no mode asks more.
    fileprivate func leaves(_ request: Request) -> Bool {
        switch request.method {
        case .get, .head: return false
        default: break
        }
        let mode = request.cacheMode == .standard ? settings.defaultMode : request.cacheMode
        return mode == .standard && request.isHTTP && request.method.rawValue != "QUERY"
            && (request.method != .post || request.cacheOptions.key == nil)
            && !request.headers.contains("Cache-Control") && !request.headers.contains("Pragma")
    }
}

extension CacheOutcome {
    /// The response with the member of `Cache-Status`.
    fileprivate var withStatusField: Response {
        var response = response
        response.headers = status.adding(to: response.headers)
        return response
    }
}

// MARK: - Deciding

extension CacheWork {
    /// What is left to do for a call after the look-up.
    ///
    /// Small, so that the frame of a call that then waits for the server is small, too.
    private indirect enum Rest: Sendable {
        case done(CacheOutcome)
        case pass(CacheRule)
        case ask(Question)
        case askTogether(Question)
        case complete(UInt64, from: Int64, EntityTag, CacheLookup)
    }

    /// The response to the request.
    func outcome() async throws(LoadingError) -> CacheOutcome {
        switch try await begun() {
        case .done(let outcome): outcome
        case .pass(let rule): try await pass(rule)
        case .ask(let question): try await ask(question)
        case .askTogether(let question): try await askTogether(question)
        case .complete(let id, let start, let tag, let lookup): try await complete(id, from: start, tag, lookup)
        }
    }

    /// Looks up what is stored, decides, and serves it where that is the decision.
    @inline(never)
    private func begun() async throws(LoadingError) -> Rest {
        if let rule = rules.passes(query) {
            if case .unsatisfiable(let reason) = rules.decide(query, []).decision { throw notStored(reason) }
            return .pass(rule)
        }
        let lookup = await lookUp()
        let decided = rules.decide(query, lookup.heads)
        switch decided.decision {
        case .serve(let serving):
            if let served = try await serve(serving, lookup, decided) { return .done(served) }
        case .serveAndRevalidate(let serving, let condition):
            if let served = try await serve(serving, lookup, decided) {
                revalidate(condition, lookup)
                return .done(served)
            }
        case .unsatisfiable(let reason): throw notStored(reason)
        case .passBy: return .pass(decided.rule)
        case .validate(let condition):
            call.record(.cacheValidating(decided.rule))
            return .askTogether(Question(condition, lookup, decided.rule, decided.freshness))
        case .complete(let id, let start, let tag): return .complete(id, from: start, tag, lookup)
        case .fetch:
            call.record(.cacheMissed(decided.rule))
            return .askTogether(Question(CacheCondition(), lookup, decided.rule, decided.freshness))
        }
        // The store could not read the body.
        guard !query.isStoredOnly else { throw notStored(.nothing) }
        return .ask(Question(CacheCondition(), CacheLookup(heads: [], ticket: lookup.ticket), .uriMiss))
    }

    /// Carries out what the response to a method that is no question means.
    fileprivate func passed(_ response: Response, since began: Moment) async -> Response {
        await passed(response, .method, CacheLookup(heads: [], ticket: 0), since: began)
    }

    /// Leaves the request to the server, and looks only at what its response says about stored ones.
    private func pass(_ rule: CacheRule) async throws(LoadingError) -> CacheOutcome {
        let began = Moment(now: call.time)
        let isWatched = rule == .ownCondition || rule == .bypass
        // What may be stored or changed afterwards depends on what was removed since now.
        let lookup = isWatched ? await lookUp() : CacheLookup(heads: [], ticket: 0)
        if rule != .scheme, rule != .method { call.record(.cacheMissed(rule)) }
        var response = try await next(asked(CacheCondition(), hasStored: false))
        let status = CacheStatus(rule, isHit: false)
        guard query.key != nil else { return CacheOutcome(response: response, status: status) }
        response = await passed(response, rule, lookup, since: began)
        return CacheOutcome(response: response, status: status)
    }

    @inline(never)
    private func passed(
        _ response: Response,
        _ rule: CacheRule,
        _ lookup: CacheLookup,
        since began: Moment
    ) async -> Response {
        await clear(response.headers)
        if rule == .method { return await changed(response, since: began) }
        guard rule == .bypass || rule == .ownCondition else { return response }
        let received = received(response, since: began)
        let query = currentQuery
        if rule == .bypass {
            let outdated = rules.variants(of: query, in: lookup.heads).filter {
                rules.outdates($0, response.status, response.headers, received: received.times.received)
            }
            if !outdated.isEmpty { await invalidate(.ids(Set(outdated.map(\.id)))) }
        }
        guard rule == .ownCondition else { return response }
        if let head = rules.updated(byOwnCondition: query, lookup.heads, received) { await update(head) }
        let storage = rules.storage(query, received, stored: lookup.heads)
        return storage.decision == .refuse ? response : await storing(response, storage, lookup).response
    }

    /// Carries out what a response to a method that changes something means (RFC 9111 §4.4).
    private func changed(_ response: Response, since began: Moment) async -> Response {
        guard case .mustValidate(let addresses) = rules.invalidation(query, response.status, response.headers).decision,
            let key = query.key
        else { return response }
        let places = addresses.flatMap { [key.place.with(address: $0), key.place.with(scope: .shared, address: $0)] }
        await invalidate(.places(Set(places)))
        guard query.method == .post else { return response }
        let storage = rules.storage(query, received(response, since: began))
        // It is newer than what has just been made invalid.
        return storage.decision == .refuse ? response : await storing(response, storage, await lookUp()).response
    }
}

// MARK: - Changing the store

extension CacheWork {
    /// Removes what the server asks to forget.
    func clear(_ headers: Headers) async {
        guard headers.contains("Clear-Site-Data"), let place = query.key?.place,
            CacheRules.clearsCache(headers, from: place.address)
        else { return }
        await remove(.origin(place.address.origin, scopes: [place.scope, .shared]))
    }

    func invalidate(_ kind: CacheSelection.Kind) async {
        do throws(CacheError) {
            let count = try await usingStore { store throws(CacheError) in
                try await store.invalidate(CacheSelection(kind))
            }
            if count > 0 { call.record(.cacheInvalidated(count: count)) }
        } catch {
            cache.note(error, call)
        }
    }

    func remove(_ kind: CacheSelection.Kind) async {
        do throws(CacheError) {
            _ = try await usingStore { store throws(CacheError) in try await store.remove(CacheSelection(kind)) }
        } catch {
            cache.note(error, call)
        }
    }

    func update(_ head: StoredHead) async {
        do throws(CacheError) {
            _ = try await usingStore { store throws(CacheError) in try await store.update(head) }
        } catch {
            cache.note(error, call)
        }
    }

    /// Stores a response while it is delivered.
    ///
    /// - Returns: The response to deliver; where the body is complete already, the stored head, or why nothing is stored.
    @inline(never)
    func storing(
        _ response: Response,
        _ storage: Explained<StorageDecision>,
        _ lookup: CacheLookup
    ) async -> (response: Response, head: StoredHead?, refusal: CacheRule?) {
        guard let writing = await CacheEntryWriting.begin(self, storage, lookup) else {
            return (response, nil, storage.decision == .refuse ? storage.rule : nil)
        }
        let isDecoded = response.metrics.contentEncoding != nil
        if let bytes = response.body.bytes {
            await writing.append(bytes)
            let head = await writing.finish(.complete, trailers: response.trailers, isDecoded: isDecoded)
            return (response, head, writing.refusal)
        }
        var response = response
        response.body = response.body.wrapped { StoringBody($0, writing) }
        return (response, nil, nil)
    }
}

// MARK: - Serving

extension CacheWork {
    /// Serves what a decision names; nil where the store has lost it.
    func serve(
        _ serving: Serving,
        _ lookup: CacheLookup,
        _ decided: Explained<CacheDecision>
    ) async throws(LoadingError) -> CacheOutcome? {
        guard let head = lookup.heads.first(where: { $0.id == serving.id }), let freshness = decided.freshness,
            let reader = await open(head, serving.span)
        else { return nil }
        guard let response = try await served(head, reader, freshness, decided.rule, span: serving.span) else {
            return nil
        }
        call.record(.cacheServed(decided.rule, age: freshness.age, lifetime: freshness.lifetime))
        cache.count { counters in
            if freshness.isFresh { counters.servedFresh += 1 } else { counters.servedStale += 1 }
        }
        return CacheOutcome(response: response, status: CacheStatus(decided.rule, isHit: true, freshness))
    }

    /// Serves a stored response although it is stale, because the server failed; nil where the store has lost it.
    func serveStale(
        _ id: UInt64,
        _ lookup: CacheLookup,
        _ rule: CacheRule,
        _ freshness: Freshness?
    ) async throws(LoadingError) -> CacheOutcome? {
        guard let head = lookup.heads.first(where: { $0.id == id }), let freshness else { return nil }
        let span = rules.span(of: head, for: query)
        guard let reader = await open(head, span),
            let response = try await served(head, reader, freshness, rule, span: span)
        else { return nil }
        call.record(.cacheServed(rule, age: freshness.age, lifetime: freshness.lifetime))
        cache.count { $0.servedStale += 1 }
        return CacheOutcome(response: response, status: CacheStatus(rule, isHit: true, freshness), shared: head)
    }

    /// Opens a body; a body that cannot be opened is removed, and counts as none.
    func open(_ head: StoredHead, _ span: Range<Int64>?) async -> (any CacheReader)? {
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

    /// Makes the response of a stored head.
    ///
    /// - Parameters:
    ///   - head: The head.
    ///   - reader: Its body.
    ///   - freshness: The age to state; nil for a response that the server has just confirmed.
    ///   - rule: What decided.
    ///   - span: The bytes of the body.
    ///   - confirmation: The 304 that confirmed the head.
    /// - Returns: The response; nil where the body cannot be read.
    /// - Throws: `LoadingError.Kind.bodyTooLarge` for a body that is longer than the caller accepts, and `cancelled`.
    @inline(never)
    func served(
        _ head: StoredHead,
        _ reader: any CacheReader,
        _ freshness: Freshness?,
        _ rule: CacheRule,
        span: Range<Int64>?,
        confirmation: Response? = nil
    ) async throws(LoadingError) -> Response? {
        let (status, headers) = CacheRules.served(head, freshness, span: span)
        let length = query.method == .head ? 0 : span.map { Int64($0.count) } ?? head.length
        if case .buffered(let limit) = request.delivery, length > Int64(limit) {
            var context = ErrorContext(request)
            context.status = status
            throw LoadingError(.bodyTooLarge(limit: limit, announced: length), context)
        }
        var metrics = confirmation?.metrics ?? Response.Metrics()
        if let place = query.key?.place {
            let freshness = freshness ?? rules.freshness(of: head, at: Moment(now: call.time), place.address)
            metrics.cacheUse = Response.CacheUse(rule, age: freshness.age, lifetime: freshness.lifetime)
        }
        metrics.decodedBodyBytes = length
        guard let body = try await body(head, reader, metrics) else { return nil }
        if confirmation == nil { cache.count { $0.bytesServed += length } }
        return Response(
            status: status,
            headers: headers,
            body: body,
            source: confirmation == nil ? .cache : .revalidated,
            request: request,
            version: confirmation?.version
        )
    }

    private func body(
        _ head: StoredHead,
        _ reader: any CacheReader,
        _ metrics: Response.Metrics
    ) async throws(LoadingError) -> ResponseBody? {
        guard query.method != .head else { return ResponseBody(metrics: metrics) }
        if case .streamed = request.delivery {
            let (cache, call, id) = (cache, call, head.id)
            return ResponseBody(
                streaming: StoredBody(reader, trailers: head.trailers, metrics: metrics) { fault in
                    cache.note(fault, call)
                    // Owned by no one: it ends by itself, as soon as the store has removed the entry.
                    // An error leaves the entry where it is, and the next reader finds the damage again.
                    Task { _ = try? await cache.remove(CacheSelection(.ids([id]))) }
                }
            )
        }
        if let bytes = reader.bytes { return ResponseBody(bytes, trailers: head.trailers, metrics: metrics) }
        guard let bytes = try await collect(head, reader) else { return nil }
        return ResponseBody(bytes, trailers: head.trailers, metrics: metrics)
    }

    /// All bytes of a body; nil where they are damaged.
    func collect(_ head: StoredHead, _ reader: any CacheReader) async throws(LoadingError) -> Data? {
        var all = Data()
        do throws(CacheError) {
            while let chunk = try await reader.next() { all.append(chunk) }
            return all
        } catch {
            if case .signedOut = error.reason { throw LoadingError(.cancelled, ErrorContext(request)) }
            await lose(head, error)
            return nil
        }
    }
}
