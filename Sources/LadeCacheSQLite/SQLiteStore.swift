#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCache
public import LadeCore

/// A store in a folder, which several processes may use at the same time.
///
/// Heads and small bodies lie in an SQLite database, larger bodies in files beside it. The next lookup of this process finds a
/// stored response immediately, other processes find it within moments. A process that is killed leaves every entry whole or
/// not at all. Files that are damaged are set aside as `*.broken`, and a new store begins.
///
/// Entries are read on the calling thread and written on a thread of the store, which does not keep calls waiting. Call
/// ``close()`` before the process ends, otherwise the responses that were stored last may be lost.
public final class SQLiteStore: Sendable, CacheStore {
    /// The limits of a store.
    public struct Settings: Sendable, Hashable {
        /// The bytes that all entries may take, at least 65,536; 256 MiB by default.
        ///
        /// The files take up to a tenth more, and at least 4 MiB more.
        public var limit: Int64 = 256 << 20
        /// The largest body in bytes; nil, the default, for a tenth of the limit.
        public var largestBody: Int64?
        /// The number of variants of a key, 16 by default.
        ///
        /// A further variant evicts the least recently used one.
        public var variantLimit = 16

        /// Makes the default limits.
        public init() {}

        var bodyLimit: Int64 { largestBody ?? limit / 10 }
    }

    /// The least limit; a store with less would keep almost nothing.
    public static let leastLimit = 64 << 10

    let core: StoreCore

    /// Opens the store of a folder; the folder is made if there is none, for this user only.
    ///
    /// A folder that cannot be written but has a store is read, and nothing is stored in it.
    ///
    /// - Parameters:
    ///   - directory: The folder, which belongs to the cache alone and is on a disk of this machine.
    ///   - settings: The limits.
    ///   - time: The clock; the system's by default.
    ///   - random: Where the names of files and the key of the digests come from; the system's generator by default.
    /// - Throws: `CacheError.Reason.file` for a folder or file that belongs to another user, that others can change, or that is a
    ///   symbolic link. `CacheError.Reason.file` also for a folder or file that is unusable for another reason.
    ///   `CacheError.Reason.limitTooSmall`.
    public convenience init(
        directory: String,
        settings: Settings = Settings(),
        time: some TimeSource = SystemTime(),
        random: some RandomSource = SystemRandom()
    ) throws(CacheError) {
        guard settings.limit >= Self.leastLimit else { throw CacheError(.limitTooSmall(least: Self.leastLimit)) }
        try self.init(StoreFolder(directory), settings, time, random)
    }

    /// Opens the store of a folder that a URL names, such as one below `URL.cachesDirectory`, as the initialiser with a path does.
    ///
    /// - Throws: `CacheError.Reason.file` also for a URL that is no file URL.
    public convenience init(
        directory: URL,
        settings: Settings = Settings(),
        time: some TimeSource = SystemTime(),
        random: some RandomSource = SystemRandom()
    ) throws(CacheError) {
        guard directory.isFileURL else {
            let cause = LoadingError.FileCause(
                path: directory.redacted(),
                operation: .write,
                reason: "it is not a file URL"
            )
            throw CacheError(.file(cause))
        }
        try self.init(directory: directory.path(percentEncoded: false), settings: settings, time: time, random: random)
    }

    init(
        _ folder: StoreFolder,
        _ settings: Settings = Settings(),
        _ time: some TimeSource = SystemTime(),
        _ random: some RandomSource = SystemRandom()
    ) throws(CacheError) {
        core = try StoreCore(folder, settings, time, random)
    }

    deinit { core.end() }

    /// The key of the digests that stand for credentials; it is kept in the store.
    package var digestKey: [UInt8] { core.digestKey }

    /// The largest body that is stored, in bytes.
    public var bodyLimit: Int64 { core.settings.bodyLimit }

    /// Whether the folder cannot be written, so that nothing is stored.
    public var isReadOnly: Bool { core.folder.isReadOnly }

    /// How many entries and bytes this process evicted so far.
    public var evictions: ResponseCache.Removal { core.evictions }

    /// Changes the limit; entries that have no room any more are evicted before this returns.
    ///
    /// - Throws: `CacheError.Reason.limitTooSmall`, and why the store cannot be written.
    public func setLimit(_ limit: Int64) async throws(CacheError) {
        guard limit >= Self.leastLimit else { throw CacheError(.limitTooSmall(least: Self.leastLimit)) }
        core.setSettings { $0.limit = limit }
        _ = try await core.changeAlone { (transact) throws(StoreFault) in
            // Short transactions, so that other processes can write between them.
            while try transact({ session throws(StoreFault) in try session.shrink(to: limit) }) {}
            return true
        }
        try await core.checkpoint()
    }

    /// Finds the heads of all variants of a key.
    package func lookUp(_ key: CacheKey) async throws(CacheError) -> CacheLookup { try await core.lookUp(key) }

    /// Opens the body of an entry.
    package func open(_ id: UInt64, span: Range<Int64>?) async throws(CacheError) -> (any CacheReader)? {
        try await core.open(id, span)
    }

    /// Keeps why the latest response for a key was not stored; explanations of other processes find it, too.
    package func note(_ refusal: Response.CacheRule, for key: CacheKey) { core.note(refusal, for: key) }

    /// Begins an entry; nil while nothing can be written.
    package func begin(_ write: CacheWrite) async throws(CacheError) -> (any CacheWriter)? { try core.begin(write) }

    /// Replaces the head of an entry that still has the version.
    package func update(_ head: StoredHead) async throws(CacheError) -> Bool {
        try await core.change { session throws(StoreFault) in try session.update(head) }
    }

    /// Adds a variant with the body of another entry.
    package func add(
        _ head: StoredHead,
        sharingBodyOf id: UInt64,
        version: UInt64
    ) async throws(CacheError) -> Bool {
        try await core.change { session throws(StoreFault) in try session.add(head, sharingBodyOf: id, version: version)
        }
    }

    /// Marks entries, so that they are validated before the next use.
    public func invalidate(_ selection: ResponseCache.Selection) async throws(CacheError) -> Int {
        core.noteRemoval()
        defer { core.noteRemoval() }
        return try await core.change(patience: .seconds(5)) { session throws(StoreFault) in
            try session.invalidate(StoredSelection(selection, session.database.digests))
        }
    }

    /// Removes entries.
    ///
    /// After the entries of an account are removed, no file has their bytes. While another process is reading, the bytes remain
    /// until the next checkpoint.
    public func remove(_ selection: ResponseCache.Selection) async throws(CacheError) -> ResponseCache.Removal {
        core.forgetNotes()
        core.noteRemoval()
        defer { core.noteRemoval() }
        if case .account(let account) = selection.kind { core.signOut(account) }
        let removal = try await core.changeAlone { (transact) throws(StoreFault) in
            var all = ResponseCache.Removal()
            var isFirst = true
            while true {
                // Short transactions, so that the log stays small and other processes can write between them.
                let removal = try transact { session throws(StoreFault) in
                    let stored = StoredSelection(selection, session.database.digests)
                    if isFirst { try session.note(stored, isInvalidation: false) }
                    return try session.remove(stored, atMost: 200)
                }
                isFirst = false
                all.entries += removal.entries
                all.bytes += removal.bytes
                if removal.entries < 200 { return all }
            }
        }
        // The bytes that the log still has are overwritten by the next checkpoint in any case.
        if selection.endsReaders { try? await core.checkpoint() }
        return removal
    }

    /// The entries of a selection at one moment; addresses are shown without secrets, and keys as digests.
    public func entries(_ selection: ResponseCache.Selection) async throws(CacheError) -> [ResponseCache.Entry] {
        try await core.flush()
        return try core.read { (connection, database) throws(StoreFault) in
            var entries: [ResponseCache.Entry] = []
            let condition = StoredSelection(selection, database.digests).condition
            try Reading.rows(connection, condition.sql, condition.values) { row in
                guard let key = row.facts.listedKey else { return }
                entries.append(ResponseCache.Entry(key: key, head: row.head, bytes: row.cost))
            }
            return entries
        }
    }

    /// The bytes that all entries take.
    public func size() async throws(CacheError) -> Int64 {
        try await core.flush()
        return try core.read { (connection, _) throws(StoreFault) in
            var cost: Int64 = 0
            try connection.run("SELECT cost FROM total") { cost = $0.number(0) }
            return cost
        }
    }

    /// Reserves the exchange for a key in all processes that use the folder.
    package func reserveExchange(for key: CacheKey) -> Bool { core.reserveExchange(for: key) }

    /// Ends a reservation, once the committed entry of the key is in the files of the store.
    package func endExchange(for key: CacheKey) { core.endExchange(for: key) }

    /// Waits until everything that was committed is in the files of the store.
    public func flush() async throws(CacheError) { try await core.flush() }

    /// Why a committed entry is not in the files of the store; nil without a fault, and after the fault was read.
    package func takeFault() -> CacheError? { core.takeFault() }

    /// Waits for the writes that are queued, and closes the files; bodies that are being read stay readable.
    public func close() async { await core.close() }
}

extension ResponseCache.Settings {
    /// Makes the default settings for a store in a folder.
    public init(store: SQLiteStore) {
        self.init(store: store as any CacheStore)
    }
}
