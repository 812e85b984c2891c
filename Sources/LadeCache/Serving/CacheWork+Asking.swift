#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

extension CacheWork {
    /// The work that is left before a call knows its next step.
    enum Rest {
        /// Nothing.
        case step(CacheStep)
        /// Look up the stored responses, in a store that has to be waited for.
        case lookUp
        /// Open a stored body in such a store, or for a reader.
        indirect case serve(Serving, CacheLookup, Explained<CacheDecision>)
        /// Wait for the exchange of another call.
        indirect case wait(for: Call.ID, number: UInt64, Inquiry)
        /// Wait until no other process sends an equal request.
        indirect case waitForOthers(Inquiry)
    }

    /// Does everything that needs no waiting; for most calls, that is all.
    @inline(never)
    func begin() throws(LoadingError) -> Rest {
        if let rule = rules.passes(query) {
            if case .unsatisfiable(let reason) = rules.decide(query, []).decision { throw notStored(reason) }
            // The lookup notes the present: later removals decide what may be stored or changed.
            guard rule == .ownCondition || rule == .bypass else { return .step(passing(rule, .none)) }
            guard let lookup = lookUpNow() else { return .lookUp }
            return .step(passing(rule, lookup))
        }
        guard let lookup = lookUpNow() else { return .lookUp }
        return try decided(lookup)
    }

    /// Does the part that waits.
    func step(after rest: Rest) async throws(LoadingError) -> CacheStep {
        switch rest {
        case .step(let step): return step
        case .lookUp:
            let lookup = await lookUp()
            if let rule = rules.passes(query) { return passing(rule, lookup) }
            // It does not look up again.
            return try await step(after: decided(lookup))
        case .serve(let serving, let lookup, let decided):
            guard let outcome = try await serve(serving, lookup, decided) else { return try lost(lookup) }
            if case .serveAndRevalidate(_, let condition) = decided.decision { revalidate(condition, lookup) }
            return finished(outcome)
        case .wait(let leader, let number, let inquiry): return try await wait(for: leader, number, inquiry)
        case .waitForOthers(let inquiry): return try await waitForOthers(inquiry)
        }
    }

    /// The stored responses, where they can be looked up without waiting; otherwise nil.
    private func lookUpNow() -> CacheLookup? {
        guard let memory = cache.memory, let key = query.key else { return nil }
        do throws(CacheError) {
            return try measured { () throws(CacheError) in try memory.found(key) }
        } catch {
            cache.note(error, call)
            return CacheLookup.none
        }
    }

    /// Decides about the stored responses.
    private func decided(_ lookup: CacheLookup) throws(LoadingError) -> Rest {
        let decided = rules.decideLookedUp(query, lookup.heads)
        func inquiry(_ form: Inquiry.Form, _ rule: Response.CacheRule) -> Inquiry {
            var known = lookup
            // Not held while the server is waited for.
            known.opened = nil
            return Inquiry(work: self, form: form, lookup: known, rule: rule, freshness: decided.freshness)
        }
        switch decided.decision {
        case .serve(let serving), .serveAndRevalidate(let serving, _):
            guard let memory = cache.memory, case .buffered = request.delivery,
                let head = lookup.heads.first(where: { $0.id == serving.id })
            else { return .serve(serving, lookup, decided) }
            return .step(try serveNow(head, serving, lookup, decided, from: memory))
        case .unsatisfiable(let reason): throw notStored(reason)
        case .passBy: return .step(passing(decided.rule, lookup))
        case .validate(let condition):
            call.record(.cacheValidating(decided.rule))
            return try together(inquiry(.condition(condition), decided.rule))
        case .complete(let id, let start, let tag):
            call.record(.cacheValidating(.incomplete))
            return .step(send(inquiry(.rest(of: id, from: start, tag), .incomplete)))
        case .fetch:
            call.record(.cacheMissed(decided.rule))
            return try together(inquiry(.condition(CacheCondition()), decided.rule))
        }
    }

    /// Serves a whole body from memory.
    private func serveNow(
        _ head: StoredHead,
        _ serving: Serving,
        _ lookup: CacheLookup,
        _ decided: Explained<CacheDecision>,
        from memory: ResponseCache.MemoryStore
    ) throws(LoadingError) -> CacheStep {
        guard let freshness = decided.freshness else { return try lost(lookup) }
        let bytes: Data?
        do throws(CacheError) {
            bytes = try measured { () throws(CacheError) in try memory.bytes(of: head.id, span: serving.span) }
        } catch {
            cache.note(error, call)
            bytes = nil
        }
        guard let bytes else { return try lost(lookup) }
        let form = try form(of: head, freshness, decided.rule, span: serving.span)
        let body = query.method == .head ? Data() : bytes
        let response = form.response(
            Response.Body(body, trailers: query.method == .head ? Headers() : head.trailers, metrics: form.metrics),
            to: request
        )
        noteServed(freshness, decided.rule, form.length)
        if case .serveAndRevalidate(_, let condition) = decided.decision { revalidate(condition, lookup) }
        return finished(CacheDelivery(response: response, status: CacheStatus(decided.rule, isHit: true, freshness)))
    }

    /// Asks the server, because the store could not read the body.
    private func lost(_ lookup: CacheLookup) throws(LoadingError) -> CacheStep {
        guard !query.isStoredOnly else { throw notStored(.nothing) }
        let nothing = CacheLookup(heads: [], ticket: lookup.ticket)
        return send(Inquiry(work: self, form: .condition(CacheCondition()), lookup: nothing, rule: .uriMiss))
    }

    /// Leaves the request to the server; `settle` only checks whether its response affects stored responses.
    private func passing(_ rule: Response.CacheRule, _ lookup: CacheLookup) -> CacheStep {
        if rule != .scheme, rule != .method { call.record(.cacheMissed(rule)) }
        let sent = asked(CacheCondition(), hasStored: false)
        return .send(sent, CacheQuestion(.passed(self, rule, lookup), at: Moment(now: call.time)))
    }

    /// Sends what is asked.
    func send(_ inquiry: Inquiry) -> CacheStep {
        var sent = asked(inquiry.condition, hasStored: !inquiry.lookup.heads.isEmpty)
        if case .rest(_, let start, let tag) = inquiry.form {
            sent = asked(CacheCondition(), hasStored: true)
            sent.headers["Range"] = "bytes=\(start)-"
            // Bytes that the transport decodes cannot continue a stored body that was not decoded.
            if !sent.headers.contains("Accept-Encoding") { sent.headers["Accept-Encoding"] = "identity" }
            sent.headers.add(contentsOf: Headers(checked: [tag.condition]))
        }
        if let lead = inquiry.lead, let priority = cache.priority(of: lead.exchange), priority != sent.priority {
            sent.priority = priority
        }
        return .send(sent, CacheQuestion(.asked(inquiry), at: Moment(now: call.time)))
    }
}

extension EntityTag {
    /// The field that asks for a range of the same body.
    fileprivate var condition: Headers.Field {
        Headers.Field(uncheckedName: "If-Range", value: field.value, octets: field.unusualOctets)
    }
}
