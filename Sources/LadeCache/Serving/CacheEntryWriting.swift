#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// Writes one response into the store, beside its delivery.
///
/// Any error of the store ends the writing, and never the call.
final class CacheEntryWriting: Sendable {
    private struct State {
        var received: Int64 = 0
        var digest: SHA256?
        var isOver = false
        var refusal: Response.CacheRule?
    }

    private let work: CacheWork
    private let storage: Explained<StorageDecision>
    private let writer: any CacheWriter
    /// The head of an older stored part joined with this response; nil where no part is joined.
    private let joined: StoredHead?
    // Guarded by its lock; one task at a time writes.
    private let state: Locked<State>

    private init(
        _ work: CacheWork,
        _ storage: Explained<StorageDecision>,
        _ writer: any CacheWriter,
        _ joined: StoredHead?
    ) {
        self.work = work
        self.storage = storage
        self.writer = writer
        self.joined = joined
        state = Locked(State(digest: storage.decision.head?.hasDigest ?? false ? SHA256() : nil))
    }

    /// Begins to write; nil where nothing is stored.
    static func begin(
        _ work: CacheWork,
        _ storage: Explained<StorageDecision>,
        _ lookup: CacheLookup
    ) async -> CacheEntryWriting? {
        guard let head = storage.decision.head, let key = work.query.key else {
            work.refused(storage.rule)
            return nil
        }
        var write = CacheWrite(key, head, ticket: lookup.ticket)
        write.isFirst = lookup.heads.isEmpty
        var joined: StoredHead?
        switch storage.decision {
        case .store(_, let replaced), .storeForValidation(_, let replaced): write.replaced = replaced
        case .storePart:
            if case .parts(let spans, _) = head.extent { write.offset = spans.first?.lowerBound ?? 0 }
            for older in lookup.heads {
                guard let both = work.rules.joined(older, head) else { continue }
                write.joined = (older.id, older.version)
                write.head = both
                joined = both
                break
            }
        case .refuse: return nil
        }
        do throws(CacheError) {
            let begun = try await work.usingStore { store throws(CacheError) in try await store.begin(write) }
            guard let writer = begun else {
                work.refused(.raced)
                return nil
            }
            return CacheEntryWriting(work, storage, writer, joined)
        } catch {
            work.cache.note(error, work.call)
            return nil
        }
    }

    /// Why nothing is stored, once that is known.
    var refusal: Response.CacheRule? { state.withLock(\.refusal) }

    private func refuse(_ rule: Response.CacheRule, isReported: Bool = true) {
        state.withLock { $0.refusal = rule }
        work.refused(rule, isReported: isReported)
    }

    /// Whether the entry was committed or dropped.
    var isOver: Bool { state.withLock(\.isOver) }

    /// Adds bytes.
    func append(_ bytes: Data) async {
        let isOver = state.withLock { state in
            guard !state.isOver else { return true }
            state.received += Int64(bytes.count)
            state.digest?.update(bytes)
            return false
        }
        guard !isOver else { return }
        do throws(CacheError) {
            try await writer.append(bytes)
        } catch {
            guard end() != nil else { return }
            await writer.abort()
            if case .tooLarge = error.reason { refuse(.tooLarge) } else { work.cache.note(error, work.call) }
        }
    }

    /// Ends the entry.
    ///
    /// - Parameters:
    ///   - bodyEnd: How the body ended.
    ///   - trailers: Its trailer section.
    ///   - isDecoded: Whether the transport removed a content coding.
    ///   - isReported: Whether the call's observers are notified; false after the last event of the call.
    /// - Returns: The stored head; nil where nothing was stored.
    @discardableResult
    func finish(
        _ bodyEnd: BodyEnd,
        trailers: Headers,
        isDecoded: Bool,
        isReported: Bool = true
    ) async -> StoredHead? {
        guard let state = end() else { return nil }
        var decision = storage.decision
        if isDecoded { decision = decision.decoded }
        let finished = work.rules.finished(
            decision,
            received: state.received,
            bodyEnd,
            digest: state.digest?.finish()
        )
        guard var head = finished.decision.head else {
            await writer.abort()
            refuse(finished.rule, isReported: isReported)
            return nil
        }
        if let joined, bodyEnd == .complete { head = joined }
        head.trailers = trailers
        let digest = joined == nil ? nil : ResponseCache.Rules.needsDigest(head)
        // Until the digest of all parts is known to be right, they do not count as a whole.
        let written = digest == nil ? head : head.asParts
        do throws(CacheError) {
            guard let id = try await work.usingStore({ _ throws(CacheError) in try await writer.commit(written) })
            else {
                refuse(.raced, isReported: isReported)
                return nil
            }
            head.id = id
            if let digest, try await !isVerified(head, digest) {
                refuse(.digest, isReported: isReported)
                return nil
            }
            work.stored(head, state.received, isReported: isReported)
            return head
        } catch {
            if case .tooLarge = error.reason { refuse(.tooLarge) } else { work.cache.note(error, work.call) }
            return nil
        }
    }

    /// Reads the parts of a whole, and stores the whole in their place if they have the digest (RFC 9530).
    private func isVerified(_ whole: StoredHead, _ expected: [UInt8]) async throws(CacheError) -> Bool {
        let (store, id) = (work.store, whole.id)
        var digest = SHA256()
        var version: UInt64?
        if let key = work.query.key { version = try await store.lookUp(key).heads.first { $0.id == id }?.version }
        var isRight = false
        if let version, let reader = try await store.open(id, span: 0..<whole.length) {
            while let chunk = try await reader.next() { digest.update(chunk) }
            if digest.finish() == expected {
                isRight = try await store.add(whole, sharingBodyOf: id, version: version)
            }
        }
        _ = try await store.remove(ResponseCache.Selection(.ids([id])))
        return isRight
    }

    private func end() -> State? {
        state.withLock { state in
            guard !state.isOver else { return nil }
            state.isOver = true
            return state
        }
    }
}

extension CacheWork {
    /// Stores a response while it is delivered.
    ///
    /// - Parameters:
    ///   - response: The response.
    ///   - storage: The part of it that is stored.
    ///   - lookup: The responses that were stored before.
    ///   - isMiss: Whether it counts as a request for which the server sent the response.
    /// - Returns: The response to deliver; where the body is complete already, the stored head, or why nothing is stored.
    func storing(
        _ response: Response,
        _ storage: Explained<StorageDecision>,
        _ lookup: CacheLookup,
        isMiss: Bool = false
    ) async -> (response: Response, head: StoredHead?, refusal: Response.CacheRule?) {
        if isMiss { cache.count { $0.missed += 1 } }
        let isDecoded = response.metrics.contentEncoding != nil
        let bytes = response.body.bytes
        if let bytes, let memory = cache.memory,
            let stored = storeNow(bytes, response.trailers, isDecoded: isDecoded, storage, lookup, in: memory)
        {
            return (response, stored.head, stored.refusal)
        }
        guard let writing = await CacheEntryWriting.begin(self, storage, lookup) else {
            return (response, nil, storage.decision == .refuse ? storage.rule : nil)
        }
        if let bytes {
            await writing.append(bytes)
            let head = await writing.finish(.complete, trailers: response.trailers, isDecoded: isDecoded)
            return (response, head, writing.refusal)
        }
        var response = response
        response.body = response.body.wrapped { StoringBody($0, writing) }
        return (response, nil, nil)
    }
}

// MARK: - In memory

extension CacheWork {
    /// Stores a response whose body is whole; nil for anything else, where nothing was done.
    private func storeNow(
        _ bytes: Data,
        _ trailers: Headers,
        isDecoded: Bool,
        _ storage: Explained<StorageDecision>,
        _ lookup: CacheLookup,
        in memory: ResponseCache.MemoryStore
    ) -> (head: StoredHead?, refusal: Response.CacheRule?)? {
        let decision = isDecoded ? storage.decision.decoded : storage.decision
        guard let begun = decision.head, let key = query.key else { return nil }
        var write = CacheWrite(key, begun, ticket: lookup.ticket)
        switch decision {
        case .store(_, let replaced), .storeForValidation(_, let replaced): write.replaced = replaced
        case .storePart, .refuse: return nil
        }
        let digest: [UInt8]? = begun.hasDigest ? SHA256.hash(bytes) : nil
        let finished = rules.finished(decision, received: Int64(bytes.count), .complete, digest: digest)
        guard var head = finished.decision.head else {
            refused(finished.rule)
            return (nil, finished.rule)
        }
        head.trailers = trailers
        do throws(CacheError) {
            let id = try measured { () throws(CacheError) in try memory.put(write, head, bytes) }
            guard let id else {
                refused(.raced)
                return (nil, .raced)
            }
            head.id = id
        } catch {
            guard case .tooLarge = error.reason else {
                cache.note(error, call)
                return (nil, nil)
            }
            refused(.tooLarge)
            return (nil, .tooLarge)
        }
        stored(head, Int64(bytes.count))
        return (head, nil)
    }

    /// Counts a stored response, and reports it to observers of the call.
    func stored(_ head: StoredHead, _ bytes: Int64, isReported: Bool = true) {
        cache.count { $0.stored += 1 }
        guard isReported, call.isObserved, let address = query.key?.place.address else { return }
        call.record(.cacheStored(bytes: bytes, lifetime: rules.lifetime(of: head, address).0))
        cache.recordEvictions(call)
    }
}

extension StoredHead {
    /// Whether the server announces a digest of the body as it is stored (RFC 9530).
    var hasDigest: Bool {
        reading.names.contains(.digest) && ResponseCache.Rules.expectedDigest(headers, status) != nil
    }
}

extension StorageDecision {
    /// The same decision for a body whose coding the transport removed.
    var decoded: StorageDecision {
        guard var head else { return self }
        head.isDecoded = true
        return switch self {
        case .store(_, let replaced): .store(head, replacing: replaced)
        case .storeForValidation(_, let replaced): .storeForValidation(head, replacing: replaced)
        // A part of a decoded body is a part of nothing.
        case .storePart, .refuse: .refuse
        }
    }
}

extension ResponseCache {
    /// Reports the evictions since the last report.
    func recordEvictions(_ call: Call) {
        let all = settings.store.evictions
        let evicted = state.withLock { state -> ResponseCache.Removal in
            var new = all
            new.entries -= state.evictions.entries
            new.bytes -= state.evictions.bytes
            state.evictions = all
            return new
        }
        if evicted.entries > 0 { call.record(.cacheEvicted(count: evicted.entries, bytes: evicted.bytes)) }
    }
}

extension StoredHead {
    /// The same head with all bytes as one part, which is never served as a whole.
    fileprivate var asParts: StoredHead {
        var head = self
        head.extent = .parts([0..<length], total: length)
        return head
    }
}

/// A streamed body whose bytes are stored while they are read.
final class StoringBody: Response.Body.Source {
    private let source: any Response.Body.Source
    private let writing: CacheEntryWriting

    init(_ source: any Response.Body.Source, _ writing: CacheEntryWriting) {
        self.source = source
        self.writing = writing
    }

    deinit { breakOff() }

    func next() async throws(LoadingError) -> Data? {
        do throws(LoadingError) {
            let chunk = try await source.next()
            if let chunk {
                await writing.append(chunk)
            } else {
                let isDecoded = source.metrics.contentEncoding != nil
                await writing.finish(.complete, trailers: source.trailers, isDecoded: isDecoded)
            }
            return chunk
        } catch {
            let isDecoded = source.metrics.contentEncoding != nil
            await writing.finish(.brokenOff, trailers: Headers(), isDecoded: isDecoded)
            throw error
        }
    }

    func cancel() {
        source.cancel()
        breakOff()
    }

    func abandon() {
        source.abandon()
        breakOff()
    }

    var trailers: Headers { source.trailers }
    var metrics: Response.Metrics { source.metrics }

    /// Keeps the useful part of a body that its reader does not want any more.
    private func breakOff() {
        guard !writing.isOver else { return }
        let (writing, isDecoded) = (writing, source.metrics.contentEncoding != nil)
        // Owned by no one: it ends by itself, as soon as the store has committed or dropped the entry.
        Task { await writing.finish(.brokenOff, trailers: Headers(), isDecoded: isDecoded, isReported: false) }
    }
}
