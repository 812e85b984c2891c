#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import Synchronization

/// The entries of a memory store; the store's lock guards them.
struct MemoryStoreState: Sendable {
    /// Whether the bodies that readers hold may still be read.
    final class Lease: Sendable {
        private let ended = Atomic(false)

        var isEnded: Bool { ended.load(ordering: .acquiring) }

        func end() { ended.store(true, ordering: .releasing) }
    }

    /// One stored response.
    struct Entry: Sendable {
        let key: CacheKey
        /// The stored runs of bytes, sorted, without overlaps.
        var body: [Run]
        /// Whether all of the body is stored.
        var isWhole: Bool
        var cost: Int64 = 0
        var lastUse: UInt64 = 0
        let lease: Lease
    }

    /// Bytes at an offset of the body.
    struct Run: Sendable {
        let start: Int64
        let bytes: Data

        var end: Int64 { start + Int64(bytes.count) }
    }

    /// A removal or invalidation, which exchanges that began before it must not undo.
    private struct Removal: Sendable {
        let number: UInt64
        let selection: ResponseCache.Selection
        let isInvalidation: Bool
    }

    private(set) var limit: Int64
    private let variantLimit: Int
    private(set) var isClosed = false
    private(set) var size: Int64 = 0
    private(set) var evictions = ResponseCache.Removal()
    private var entries: [UInt64: Entry] = [:]
    /// The heads of each key in the order of storing; a look-up finds them without a copy.
    private var keys: [CacheKey: [StoredHead]] = [:]
    private var places: [CachePlace: Set<CacheKey>] = [:]
    private var queue = EvictionQueue()
    private var lastID: UInt64 = 0
    private var uses: UInt64 = 0
    /// The latest removals, oldest first; everything that began before `forgotten` counts as removed.
    private var removals: [Removal] = []
    private var forgotten: UInt64 = 0
    private var lastRemoval: UInt64 = 0
    /// Why the latest response for a key was not stored; the oldest go first.
    private var refusals: [CacheKey: Response.CacheRule] = [:]
    private var refusalOrder: [CacheKey] = []
    /// The entries that the state no longer refers to, to be released outside of the lock.
    private var garbage: [Entry] = []

    /// The bytes that the tables need for an entry, beyond key, head and body.
    static let overhead: Int64 = 512
    private static let removalLimit = 64
    private static let refusalLimit = 256
    /// Longer keys are not worth their memory.
    private static let refusedKeyLimit = 4 << 10

    init(limit: Int64, variantLimit: Int) {
        self.limit = limit
        self.variantLimit = variantLimit
    }

    mutating func takeGarbage() -> [Entry] {
        guard !garbage.isEmpty else { return [] }
        defer { garbage = [] }
        return garbage
    }

    // MARK: - Reading

    func lookUp(_ key: CacheKey) -> CacheLookup {
        CacheLookup(
            heads: keys[key] ?? [],
            ticket: lastRemoval,
            refusal: refusals.isEmpty ? nil : refusals[key]
        )
    }

    /// Keeps why a response was not stored.
    mutating func note(_ refusal: Response.CacheRule, for key: CacheKey) {
        guard !isClosed, key.octets.count <= Self.refusedKeyLimit else { return }
        if refusals.updateValue(refusal, forKey: key) == nil { refusalOrder.append(key) }
        while refusalOrder.count > Self.refusalLimit { refusals[refusalOrder.removeFirst()] = nil }
    }

    private mutating func forgetRefusal(for key: CacheKey) {
        guard !refusals.isEmpty, refusals.removeValue(forKey: key) != nil else { return }
        refusalOrder.removeAll { $0 == key }
    }

    mutating func open(_ id: UInt64, _ span: Range<Int64>?) -> (Data, Lease)? {
        guard let index = entries.index(forKey: id) else { return nil }
        uses += 1
        entries.values[index].lastUse = uses
        queue.touch(id)
        let entry = entries.values[index]
        // A body that is stored whole is one run from its beginning.
        if span == nil, entry.body.count == 1, entry.body[0].start == 0, entry.isWhole {
            return (entry.body[0].bytes, entry.lease)
        }
        guard let wanted = span ?? head(of: id).map({ 0..<$0.length }) else { return nil }
        guard !wanted.isEmpty else { return (Data(), entry.lease) }
        guard let run = entry.body.first(where: { $0.start <= wanted.lowerBound && wanted.upperBound <= $0.end }) else {
            return nil
        }
        guard wanted != run.start..<run.end else { return (run.bytes, entry.lease) }
        let lower = run.bytes.startIndex + Int(wanted.lowerBound - run.start)
        return (run.bytes[lower..<(lower + wanted.count)], entry.lease)
    }

    /// The head of an entry.
    private func head(of id: UInt64) -> StoredHead? {
        entries[id].flatMap { entry in keys[entry.key]?.first { $0.id == id } }
    }

    func list(_ selection: ResponseCache.Selection) -> [ResponseCache.Entry] {
        selected(selection).sorted().compactMap { id in
            guard let entry = entries[id], let head = head(of: id) else { return nil }
            return ResponseCache.Entry(key: entry.key, head: head, bytes: entry.cost)
        }
    }

    // MARK: - Writing

    func mayBegin(_ write: CacheWrite) -> Bool { removal(of: write.key, write.head, since: write.ticket) != .removed }

    mutating func commit(_ write: CacheWrite, _ head: StoredHead, _ bytes: Data) -> UInt64? {
        let removal = removal(of: write.key, head, since: write.ticket)
        let stored = keys[write.key] ?? []
        guard case .store(let head, let rivals) = CommitDecision(write, head, stored: stored, removal) else {
            return nil
        }
        var body = [Run(start: write.offset, bytes: bytes)]
        if let joined = write.joined {
            guard let older = entries[joined.id] else { return nil }
            body = Self.joined(older.body, body[0])
        }
        for id in rivals { drop(id) }
        forgetRefusal(for: write.key)
        return insert(write.key, head, body)
    }

    mutating func update(_ head: StoredHead) -> Bool {
        guard let stored = self.head(of: head.id), stored.version == head.version else { return false }
        replaceHead(of: head.id, head)
        evict()
        return true
    }

    mutating func add(_ head: StoredHead, sharingBodyOf id: UInt64, version: UInt64) -> Bool {
        guard let entry = entries[id], self.head(of: id)?.version == version else { return false }
        for other in keys[entry.key] ?? [] where other.id != id && other.isSameVariant(as: head) { drop(other.id) }
        return insert(entry.key, head, entry.body) != nil
    }

    private mutating func insert(_ key: CacheKey, _ head: StoredHead, _ body: [Run]) -> UInt64? {
        lastID += 1
        uses += 1
        var head = head
        (head.id, head.version) = (lastID, 1)
        var entry = Entry(key: key, body: body, isWhole: head.isWhole, lastUse: uses, lease: Lease())
        entry.cost = Self.cost(of: entry, head)
        guard entry.cost <= limit else { return nil }
        entries[lastID] = entry
        if keys[key, default: []].isEmpty { places[key.place, default: []].insert(key) }
        keys[key, default: []].append(head)
        size += entry.cost
        queue.insert(
            lastID,
            cost: entry.cost,
            fingerprint: head.fingerprint(key),
            isExpendable: head.isExpendable
        )
        while let heads = keys[key], heads.count > variantLimit,
            let oldest = heads.min(by: { (entries[$0.id]?.lastUse ?? 0) < (entries[$1.id]?.lastUse ?? 0) })
        {
            evicted(oldest.id)
        }
        evict()
        return lastID
    }

    private mutating func replaceHead(of id: UInt64, _ head: StoredHead) {
        guard var entry = entries[id], let index = keys[entry.key]?.firstIndex(where: { $0.id == id }) else { return }
        var head = head
        head.id = id
        head.version += 1
        keys[entry.key]?[index] = head
        let cost = Self.cost(of: entry, head)
        size += cost - entry.cost
        (entry.cost, entry.isWhole) = (cost, head.isWhole)
        queue.resize(id, cost: cost)
        entries[id] = entry
    }

    /// The runs of both without overlaps; where both have bytes, the older ones stay.
    private static func joined(_ older: [Run], _ newer: Run) -> [Run] {
        var runs: [Run] = []
        for run in (older + [newer]).sorted(by: { $0.start < $1.start }) {
            guard let last = runs.last, run.start <= last.end else {
                runs.append(run)
                continue
            }
            guard run.end > last.end else { continue }
            runs[runs.count - 1] = Run(
                start: last.start,
                bytes: last.bytes + run.bytes.dropFirst(Int(last.end - run.start))
            )
        }
        return runs
    }

    private static func cost(of entry: Entry, _ head: StoredHead) -> Int64 {
        entry.body.reduce(Int64(head.cost + entry.key.octets.count) + overhead) { $0 + Int64($1.bytes.count) }
    }

    // MARK: - Removing

    mutating func setLimit(_ limit: Int64) {
        self.limit = limit
        evict()
    }

    mutating func evictAll() {
        for id in entries.keys.sorted() { evicted(id) }
    }

    mutating func close() {
        isClosed = true
        for id in entries.keys.sorted() { drop(id) }
        (refusals, refusalOrder) = ([:], [])
    }

    mutating func invalidate(_ selection: ResponseCache.Selection) -> Int {
        note(selection, isInvalidation: true)
        let ids = selected(selection)
        for id in ids {
            guard var head = head(of: id) else { continue }
            head.mustValidate = true
            replaceHead(of: id, head)
        }
        return ids.count
    }

    mutating func remove(_ selection: ResponseCache.Selection) -> ResponseCache.Removal {
        note(selection, isInvalidation: false)
        if case .all = selection.kind { (refusals, refusalOrder) = ([:], []) }
        var removal = ResponseCache.Removal()
        for id in selected(selection) {
            removal.entries += 1
            removal.bytes += entries[id]?.cost ?? 0
            if selection.endsReaders { entries[id]?.lease.end() }
            drop(id)
        }
        return removal
    }

    private func selected(_ selection: ResponseCache.Selection) -> [UInt64] {
        switch selection.kind {
        case .ids(let ids): ids.filter { entries[$0] != nil }
        case .places(let wanted): wanted.flatMap { places[$0] ?? [] }.flatMap { keys[$0] ?? [] }.map(\.id)
        default:
            keys.flatMap { key, heads in heads.filter { selection.contains(key, $0, id: $0.id) } }.map(\.id)
        }
    }

    private mutating func note(_ selection: ResponseCache.Selection, isInvalidation: Bool) {
        lastRemoval += 1
        // A removal by number does not concern entries that are being written.
        if case .ids = selection.kind { return }
        removals.append(Removal(number: lastRemoval, selection: selection, isInvalidation: isInvalidation))
        if removals.count > Self.removalLimit { forgotten = removals.removeFirst().number }
    }

    /// Whether an exchange that began at a ticket is older than a removal that concerns it.
    private func removal(of key: CacheKey, _ head: StoredHead, since ticket: UInt64) -> CommitDecision.Removal {
        if ticket < forgotten { return .removed }
        var result = CommitDecision.Removal.none
        for removal in removals.reversed() {
            guard removal.number > ticket else { break }
            guard removal.selection.contains(key, head, id: nil) else { continue }
            guard removal.isInvalidation else { return .removed }
            result = .invalidated
        }
        return result
    }

    private mutating func evict() {
        while size > limit, let id = queue.evict(limit: limit) { evicted(id) }
    }

    private mutating func evicted(_ id: UInt64) {
        evictions.entries += 1
        evictions.bytes += entries[id]?.cost ?? 0
        drop(id)
    }

    private mutating func drop(_ id: UInt64) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        size -= entry.cost
        queue.remove(id)
        keys[entry.key]?.removeAll { $0.id == id }
        if keys[entry.key]?.isEmpty == true {
            keys[entry.key] = nil
            places[entry.key.place]?.remove(entry.key)
            if places[entry.key.place]?.isEmpty == true { places[entry.key.place] = nil }
        }
        garbage.append(entry)
    }
}
