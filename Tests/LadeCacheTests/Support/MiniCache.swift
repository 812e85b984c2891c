#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore
import Testing

/// Carries decisions out in the simplest way: one call at a time, a server that is a function.
struct MiniCache {
    /// The server's response to a request; nil when it fails.
    typealias Origin = (_ query: CacheQuery, _ sent: Headers) -> (head: ReceivedHead, body: Data)?

    /// What a caller receives.
    struct Outcome {
        let status: Response.Status
        let headers: Headers
        let body: Data
        let rule: Response.CacheRule
    }

    let rules: ResponseCache.Rules
    let store: any CacheStore
    let origin: Origin

    /// The response to a request; nil when it fails.
    func load(_ query: CacheQuery) async throws -> Outcome? {
        guard let key = query.key else { return nil }
        let lookup = try await store.lookUp(key)
        let decided = rules.decide(query, lookup.heads)
        func served(_ serving: Serving) async throws -> Outcome? {
            let head = try #require(lookup.heads.first { $0.id == serving.id })
            let (status, headers) = ResponseCache.Rules.served(head, decided.freshness, span: serving.span)
            let body = try await read(head.id, serving.span)
            return Outcome(status: status, headers: headers, body: body, rule: decided.rule)
        }
        switch decided.decision {
        case .unsatisfiable: return nil
        case .serve(let serving): return try await served(serving)
        case .serveAndRevalidate(let serving, let condition):
            let outcome = try await served(serving)
            _ = try await ask(query, lookup, condition, decided.rule)
            return outcome
        case .validate(let condition): return try await ask(query, lookup, condition, decided.rule)
        case .fetch: return try await ask(query, lookup, CacheCondition(), decided.rule)
        case .complete(let id, let start, let tag): return try await complete(query, lookup, id, start, tag)
        case .passBy: return try await pass(query, lookup, decided.rule)
        }
    }

    private func read(_ id: UInt64, _ span: Range<Int64>? = nil) async throws -> Data {
        let reader = try #require(try await store.open(id, span: span))
        var all = Data()
        while let chunk = try await reader.next() { all.append(chunk) }
        return all
    }

    private func ask(
        _ query: CacheQuery,
        _ lookup: CacheLookup,
        _ condition: CacheCondition,
        _ rule: Response.CacheRule
    ) async throws -> Outcome? {
        guard let (received, body) = origin(query, condition.adding(to: query.headers)) else {
            let failed = rules.validation(query, condition, lookup.heads, failure: .connection)
            guard case .serveStale(let id) = failed.decision else { return nil }
            return try await stale(query, id, lookup, failed)
        }
        let delivered = Outcome(status: received.status, headers: received.headers, body: body, rule: rule)
        let outcome = rules.validation(query, condition, lookup.heads, received)
        switch outcome.decision {
        case .deliver: return delivered
        case .replace(let storage, let removed):
            if !removed.isEmpty { _ = try await store.remove(ResponseCache.Selection(.ids(Set(removed)))) }
            try await write(query, lookup, storage, body)
            return delivered
        case .removeAndDeliver(let ids):
            _ = try await store.remove(ResponseCache.Selection(.ids(Set(ids))))
            return delivered
        case .serveStale(let id): return try await stale(query, id, lookup, outcome)
        case .fetchAnew:
            return try await ask(query, CacheLookup(heads: [], ticket: lookup.ticket), CacheCondition(), rule)
        case .serveAndRemove(let head):
            let span = rules.span(of: head, for: query)
            let (status, headers) = ResponseCache.Rules.served(head, nil, span: span)
            let body = try await read(head.id, span)
            _ = try await store.remove(ResponseCache.Selection(.ids([head.id])))
            return Outcome(status: status, headers: headers, body: body, rule: outcome.rule)
        case .update(let heads, let id, let added):
            let stored = try #require(lookup.heads.first { $0.id == id })
            let body = try await read(id, rules.span(of: stored, for: query))
            let version = lookup.heads.first { $0.id == id }?.version ?? 0
            if let added { _ = try await store.add(added, sharingBodyOf: id, version: version) }
            for head in heads { _ = try await store.update(head) }
            let merged = added ?? heads.first { $0.id == id } ?? stored
            let (status, headers) = ResponseCache.Rules.served(merged, nil, span: rules.span(of: merged, for: query))
            return Outcome(status: status, headers: headers, body: body, rule: outcome.rule)
        }
    }

    private func stale(
        _ query: CacheQuery,
        _ id: UInt64,
        _ lookup: CacheLookup,
        _ outcome: Explained<ValidationDecision>
    ) async throws -> Outcome {
        let head = try #require(lookup.heads.first { $0.id == id })
        let span = rules.span(of: head, for: query)
        let (status, headers) = ResponseCache.Rules.served(head, outcome.freshness, span: span)
        return Outcome(status: status, headers: headers, body: try await read(id, span), rule: outcome.rule)
    }

    private func complete(
        _ query: CacheQuery,
        _ lookup: CacheLookup,
        _ id: UInt64,
        _ start: Int64,
        _ tag: EntityTag
    ) async throws -> Outcome? {
        let head = try #require(lookup.heads.first { $0.id == id })
        var sent = query.headers
        sent["Range"] = "bytes=\(start)-"
        sent["If-Range"] = tag.field.value
        guard let (received, body) = origin(query, sent) else { return nil }
        switch rules.completion(of: head, from: start, received) {
        case .fetchAnew:
            return try await ask(query, CacheLookup(heads: [], ticket: lookup.ticket), CacheCondition(), .incomplete)
        case .replace:
            try await write(query, lookup, rules.storage(query, received, stored: lookup.heads).decision, body)
            return Outcome(status: received.status, headers: received.headers, body: body, rule: .incomplete)
        case .join(let whole, let isStored):
            let all = try await read(id, 0..<start) + body
            var write = CacheWrite(try #require(query.key), whole, ticket: lookup.ticket)
            write.offset = start
            write.joined = (id, head.version)
            if isStored, let writer = try await store.begin(write) {
                try await writer.append(body)
                _ = try await writer.commit(whole)
            }
            return Outcome(status: whole.status, headers: whole.headers, body: all, rule: .incomplete)
        }
    }

    private func pass(_ query: CacheQuery, _ lookup: CacheLookup, _ rule: Response.CacheRule) async throws -> Outcome? {
        guard let (received, body) = origin(query, query.headers), let key = query.key else { return nil }
        if case .mustValidate(let addresses) = rules.invalidation(query, received.status, received.headers).decision {
            let places = addresses.flatMap {
                [key.place.with(address: $0), key.place.with(scope: .shared, address: $0)]
            }
            _ = try await store.invalidate(ResponseCache.Selection(.places(Set(places))))
        }
        return Outcome(status: received.status, headers: received.headers, body: body, rule: rule)
    }

    /// Stores a body, or what the server sent of it before it broke off.
    private func write(
        _ query: CacheQuery,
        _ lookup: CacheLookup,
        _ storage: StorageDecision,
        _ body: Data
    ) async throws {
        guard let head = storage.head, let key = query.key else { return }
        let finished = rules.finished(storage, received: Int64(body.count), .complete).decision
        guard var final = finished.head else { return }
        var write = CacheWrite(key, head, ticket: lookup.ticket)
        switch finished {
        case .store(_, let replaced), .storeForValidation(_, let replaced): write.replaced = replaced
        case .storePart:
            if case .parts(let spans, _) = final.extent { write.offset = spans.first?.lowerBound ?? 0 }
            if let older = lookup.heads.first(where: { rules.joined($0, final) != nil }),
                let joined = rules.joined(older, final)
            {
                final = joined
                write.joined = (older.id, older.version)
            }
        case .refuse: return
        }
        write.head = final
        guard let writer = try await store.begin(write) else { return }
        try await writer.append(body)
        _ = try await writer.commit(final)
    }
}
