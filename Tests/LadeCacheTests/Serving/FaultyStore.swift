import Lade
import LadeCache
import LadeCore

/// A memory store that fails on demand.
final class FaultyStore: CacheStore {
    enum Fault: Sendable { case none, open, everything }

    let fault = Locked(Fault.none)
    /// Called before each use.
    let onUse = Locked<(@Sendable () -> Void)?>(nil)
    private let store: ResponseCache.MemoryStore

    init() {
        do throws(CacheError) { store = try ResponseCache.MemoryStore() } catch { preconditionFailure("\(error)") }
    }

    private func check(_ isOpening: Bool = false) throws(CacheError) {
        onUse.withLock { $0 }?()
        switch fault.withLock({ $0 }) {
        case .none: break
        case .open: if isOpening { throw CacheError(.damaged) }
        case .everything: throw CacheError(.system("no space is left"))
        }
    }

    var digestKey: [UInt8] { store.digestKey }
    var bodyLimit: Int64 { store.bodyLimit }

    func lookUp(_ key: CacheKey) async throws(CacheError) -> CacheLookup {
        try check()
        return try await store.lookUp(key)
    }

    func open(_ id: UInt64, span: Range<Int64>?) async throws(CacheError) -> (any CacheReader)? {
        try check(true)
        return try await store.open(id, span: span)
    }

    func begin(_ write: CacheWrite) async throws(CacheError) -> (any CacheWriter)? {
        try check()
        return try await store.begin(write)
    }

    func update(_ head: StoredHead) async throws(CacheError) -> Bool {
        try check()
        return try await store.update(head)
    }

    func add(_ head: StoredHead, sharingBodyOf id: UInt64, version: UInt64) async throws(CacheError) -> Bool {
        try check()
        return try await store.add(head, sharingBodyOf: id, version: version)
    }

    func invalidate(_ selection: ResponseCache.Selection) async throws(CacheError) -> Int {
        try check()
        return try await store.invalidate(selection)
    }

    func remove(_ selection: ResponseCache.Selection) async throws(CacheError) -> ResponseCache.Removal {
        try check()
        return try await store.remove(selection)
    }

    func entries(_ selection: ResponseCache.Selection) async throws(CacheError) -> [ResponseCache.Entry] {
        try check()
        return try await store.entries(selection)
    }

    func size() async throws(CacheError) -> Int64 {
        try check()
        return try await store.size()
    }

    func flush() async throws(CacheError) { try check() }

    func close() async { await store.close() }
}
