#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

extension ResponseCache {
    /// A store in the memory of this process: one lock around a state, bounded by bytes.
    ///
    /// Bodies are shared with their readers, not copied. When there is no room, entries that were not used since they were stored
    /// go first.
    public final class MemoryStore: Sendable, CacheStore {
        /// The limit that stores have by default: 32 MiB.
        public static let defaultLimit = 32 << 20
        /// The least limit; a store with less would keep almost nothing.
        public static let leastLimit = 64 << 10

        // Guarded by its lock.
        private let state: Locked<MemoryStoreState>
        /// The key of the digests; it lives as long as the entries.
        package let digestKey: [UInt8]
        private let entryLimit: Int64?

        /// Makes an empty store.
        ///
        /// - Parameters:
        ///   - limit: The bytes that all entries may take, with their heads, keys and the space for keeping them.
        ///   - largestBody: The largest body; nil for a tenth of the limit.
        ///   - variantLimit: The number of variants of a key; another one evicts the variant that was not used for longest.
        ///   - random: Where the key of the digests comes from.
        /// - Throws: ``CacheError/Reason/limitTooSmall(least:)``.
        public init(
            limit: Int = ResponseCache.MemoryStore.defaultLimit,
            largestBody: Int? = nil,
            variantLimit: Int = 16,
            random: some RandomSource = SystemRandom()
        ) throws(CacheError) {
            guard limit >= Self.leastLimit else { throw CacheError(.limitTooSmall(least: Self.leastLimit)) }
            state = Locked(MemoryStoreState(limit: Int64(limit), variantLimit: max(variantLimit, 1)))
            entryLimit = largestBody.map(Int64.init)
            digestKey = (0..<4).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
        }

        /// The largest body: as it was set, or a tenth of the limit.
        public var bodyLimit: Int64 { entryLimit ?? state.withLock { $0.limit } / 10 }

        /// How many entries and bytes were evicted so far.
        public var evictions: ResponseCache.Removal { state.withLock { $0.evictions } }

        /// Changes the limit; entries that have no room any more are evicted immediately.
        ///
        /// - Throws: ``CacheError/Reason/limitTooSmall(least:)``.
        public func setLimit(_ limit: Int) throws(CacheError) {
            guard limit >= Self.leastLimit else { throw CacheError(.limitTooSmall(least: Self.leastLimit)) }
            release { $0.setLimit(Int64(limit)) }
        }

        /// Evicts everything, for a system that is short of memory.
        public func evictAll() {
            release { $0.evictAll() }
        }

        /// Changes the state, and releases objects that it no longer refers to outside of the lock.
        private func release(_ change: (inout MemoryStoreState) -> Void) {
            let garbage = state.withLock { state in
                change(&state)
                return state.takeGarbage()
            }
            withExtendedLifetime(garbage) {}
        }

        /// Changes the state of a store that is open.
        fileprivate func changeOpen<Result>(
            _ change: (inout MemoryStoreState) -> Result
        ) throws(CacheError) -> Result {
            let result = state.withLock { state -> (Result, [MemoryStoreState.Entry])? in
                guard !state.isClosed else { return nil }
                return (change(&state), state.takeGarbage())
            }
            guard let result else { throw CacheError(.closed) }
            return result.0
        }

        /// Finds the heads of all variants of a key.
        package func lookUp(_ key: CacheKey) async throws(CacheError) -> CacheLookup { try found(key) }

        /// The same, immediately.
        func found(_ key: CacheKey) throws(CacheError) -> CacheLookup {
            let lookup = state.withLock { state in state.isClosed ? nil : state.lookUp(key) }
            guard let lookup else { throw CacheError(.closed) }
            return lookup
        }

        /// The whole body of an entry, or a part, immediately; nil where the store has lost it.
        func bytes(of id: UInt64, span: Range<Int64>?) throws(CacheError) -> Data? {
            let (bytes, isClosed) = state.withLock { state -> (Data?, Bool) in
                state.isClosed ? (nil, true) : (state.open(id, span)?.0, false)
            }
            guard !isClosed else { throw CacheError(.closed) }
            return bytes
        }

        /// Stores a response whose body is complete, immediately.
        ///
        /// - Returns: The number of the entry; nil when it was dropped.
        /// - Throws: `CacheError.Reason.tooLarge` above the store's limit.
        func put(_ write: CacheWrite, _ head: StoredHead, _ bytes: Data) throws(CacheError) -> UInt64? {
            guard Int64(bytes.count) <= bodyLimit else { throw CacheError(.tooLarge) }
            return try changeOpen { $0.commit(write, head, bytes) }
        }

        /// Opens the body of an entry.
        package func open(_ id: UInt64, span: Range<Int64>?) async throws(CacheError) -> (any CacheReader)? {
            guard let (bytes, lease) = try changeOpen({ $0.open(id, span) }) else { return nil }
            return MemoryReader(bytes, lease)
        }

        /// Keeps why the latest response for a key was not stored.
        package func note(_ refusal: Response.CacheRule, for key: CacheKey) {
            state.withLock { $0.note(refusal, for: key) }
        }

        /// Begins an entry.
        package func begin(_ write: CacheWrite) async throws(CacheError) -> (any CacheWriter)? {
            guard try changeOpen({ $0.mayBegin(write) }) else { return nil }
            return MemoryWriter(self, write, limit: bodyLimit)
        }

        /// Replaces the head of an entry that still has the version.
        package func update(_ head: StoredHead) async throws(CacheError) -> Bool {
            try changeOpen { $0.update(head) }
        }

        /// Adds a variant with the body of another entry.
        package func add(
            _ head: StoredHead,
            sharingBodyOf id: UInt64,
            version: UInt64
        ) async throws(CacheError) -> Bool {
            try changeOpen { $0.add(head, sharingBodyOf: id, version: version) }
        }

        /// Marks entries, so that they are validated before the next use.
        public func invalidate(_ selection: ResponseCache.Selection) async throws(CacheError) -> Int {
            try changeOpen { $0.invalidate(selection) }
        }

        /// Removes entries.
        public func remove(_ selection: ResponseCache.Selection) async throws(CacheError) -> ResponseCache.Removal {
            try changeOpen { $0.remove(selection) }
        }

        /// The entries of a selection at one moment.
        public func entries(_ selection: ResponseCache.Selection) async throws(CacheError) -> [ResponseCache.Entry] {
            try changeOpen { $0.list(selection) }
        }

        /// The bytes that all entries take.
        public func size() async throws(CacheError) -> Int64 {
            try changeOpen { $0.size }
        }

        /// Does nothing: entries are as durable as the process.
        public func flush() async throws(CacheError) {
            try changeOpen { _ in }
        }

        /// Ends the store; bodies that are being read stay readable.
        public func close() async {
            release { $0.close() }
        }
    }
}

/// Collects the bytes of one entry; the store sees them when they are committed.
private final class MemoryWriter: CacheWriter {
    private struct State {
        var body = CollectedBody()
        var isOver = false

        /// Ends the entry.
        ///
        /// - Returns: The collected bytes; they are released outside of the lock.
        mutating func end() -> CollectedBody? {
            guard !isOver else { return nil }
            isOver = true
            return body.take()
        }
    }

    private let store: ResponseCache.MemoryStore
    private let write: CacheWrite
    private let limit: Int64
    // Guarded by its lock.
    private let state = Locked(State())

    init(_ store: ResponseCache.MemoryStore, _ write: CacheWrite, limit: Int64) {
        self.store = store
        self.write = write
        self.limit = limit
    }

    func append(_ bytes: Data) async throws(CacheError) {
        let refused = state.withLock { state -> CollectedBody? in
            guard !state.isOver else { return nil }
            guard Int64(state.body.count + bytes.count) <= limit else { return state.end() }
            state.body.append(bytes)
            return nil
        }
        if refused != nil { throw CacheError(.tooLarge) }
    }

    func commit(_ head: StoredHead) async throws(CacheError) -> UInt64? {
        guard let bytes = state.withLock({ $0.end() })?.bytes else { return nil }
        return try store.changeOpen { $0.commit(write, head, bytes) }
    }

    func abort() async {
        _ = state.withLock { $0.end() }
    }
}

/// Reads a body that stays in memory as long as this.
private final class MemoryReader: CacheReader {
    private let lease: MemoryStoreState.Lease
    private let content: Data
    // Guarded by its lock.
    private let isRead = Locked(false)

    init(_ content: Data, _ lease: MemoryStoreState.Lease) {
        self.content = content
        self.lease = lease
    }

    var bytes: Data? { lease.isEnded ? nil : content }

    func next() async throws(CacheError) -> Data? {
        guard !lease.isEnded else { throw CacheError(.signedOut) }
        let wasRead = isRead.withLock { isRead in
            defer { isRead = true }
            return isRead
        }
        return wasRead || content.isEmpty ? nil : content
    }
}
