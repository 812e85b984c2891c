#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore

/// One transaction of the writing thread: changes of entries, and the eviction of entries that have no room.
///
/// Eviction is S3-FIFO as in ``EvictionQueue``, with the lines in the table of entries. Uses are recorded by other processes with
/// a delay, which costs nothing but the order of eviction.
final class WriteSession {
    private enum Line: Int64 { case first, short, main }

    /// The sums that are kept in one row.
    private struct Totals: Equatable {
        var nextID: UInt64
        var clock: Int64
        var count: Int64
        var cost: Int64
        var files: Int64
        var shortCost: Int64
        var mainCount: Int64
        var ghosts: Int64
    }

    let database: Database
    private var connection: Connection { database.writer }
    private var totals: Totals
    private let before: Totals
    private let settings: SQLiteStore.Settings
    /// Takes the uses that are not recorded yet; nil once they are.
    private var takeUses: (() -> [(id: UInt64, count: Int64)])?
    private(set) var evictions = ResponseCache.Removal()
    /// The blob that was inserted for the next entry, whose use is counted already.
    private var counted: UInt64?
    /// The bodies whose files are removed once the transaction is committed.
    private(set) var garbage: [UInt64] = []

    /// The bytes that the tables and indices need for an entry, beyond head, body and address.
    static let overhead: Int64 = 512
    private static let removalLimit: Int64 = 64
    private static let refusalLimit: Int64 = 1_000
    /// The part of the limit that the short line may take.
    private static let shortShare: Int64 = 10

    /// Begins a transaction.
    ///
    /// - Parameters:
    ///   - database: The database.
    ///   - settings: The limits.
    ///   - takeUses: Takes the uses that are not recorded yet, where they matter for the eviction.
    /// - Throws: Why the database cannot be written.
    init(
        _ database: Database,
        _ settings: SQLiteStore.Settings,
        takeUses: @escaping () -> [(id: UInt64, count: Int64)]
    ) throws(StoreFault) {
        self.database = database
        self.takeUses = takeUses
        self.settings = settings
        let connection = database.writer
        if connection.isInTransaction { try connection.run("ROLLBACK") }
        try connection.run("BEGIN IMMEDIATE")
        var totals: Totals?
        do throws(StoreFault) {
            try connection.run(
                "SELECT next_id, clock, count, cost, files, short_cost, main_count, ghosts FROM total"
            ) { row in
                totals = Totals(
                    nextID: row.id(0),
                    clock: row.number(1),
                    count: row.number(2),
                    cost: row.number(3),
                    files: row.number(4),
                    shortCost: row.number(5),
                    mainCount: row.number(6),
                    ghosts: row.number(7)
                )
            }
            guard let totals else { throw StoreFault(.damaged, "The database has no sums") }
            (self.totals, before) = (totals, totals)
        } catch {
            // The error above is the cause; a second error here changes nothing.
            try? connection.run("ROLLBACK")
            throw error
        }
    }

    /// Ends the transaction and removes files that nothing refers to any more.
    func commit() throws(StoreFault) {
        if totals != before { try boundPages() }
        if totals != before {
            try connection.run(
                """
                UPDATE total SET next_id = ?, clock = ?, count = ?, cost = ?, files = ?, short_cost = ?, main_count = ?,
                    ghosts = ?
                """,
                [
                    .id(totals.nextID), .number(totals.clock), .number(totals.count), .number(totals.cost),
                    .number(totals.files), .number(totals.shortCost), .number(totals.mainCount), .number(totals.ghosts),
                ]
            )
        }
        try connection.run("COMMIT")
        for seed in garbage { database.folder.removeBody(seed) }
    }

    /// Undoes everything.
    func rollBack() {
        // After an error SQLite may have undone it already; a transaction that stays open is noticed by the next one.
        if connection.isInTransaction { try? connection.run("ROLLBACK") }
    }

    private func tick() -> Int64 {
        totals.clock += 1
        return totals.clock
    }

    /// Takes numbers for entries, which no other process uses.
    func reserveIDs(_ count: UInt64) -> Range<UInt64> {
        defer { totals.nextID += count }
        return totals.nextID..<totals.nextID + count
    }

    // MARK: - Storing

    /// The data that is stored at the commit of an entry.
    struct Entry: Sendable {
        let write: CacheWrite
        let head: StoredHead
        let facts: EntryFacts
        let blob: Blob?
        /// The number that was promised; nil for the next one.
        let id: UInt64?
    }

    /// Bytes of a body with their checksums, in memory or in a file.
    struct Blob: Sendable {
        let seed: UInt64
        let length: Int64
        let sums: ChunkSums
        /// The bytes; nil for a body in a file.
        let bytes: Data?

        init(seed: UInt64, length: Int64, sums: ChunkSums, bytes: Data?) {
            (self.seed, self.length, self.sums, self.bytes) = (seed, length, sums, bytes)
        }

        /// Makes the blob of a body in memory.
        init(of bytes: Data, seed: UInt64) {
            self.init(seed: seed, length: Int64(bytes.count), sums: ChunkSums(of: bytes, seed: seed), bytes: bytes)
        }
    }

    /// Stores an entry; nil when it is dropped.
    func store(_ entry: Entry) throws(StoreFault) -> UInt64? {
        let lookup = try Reading.lookUp(connection, entry.facts.key)
        let stored = lookup.heads
        let removal =
            lookup.ticket == entry.write.ticket
            ? .none : try Reading.removal(connection, of: entry.facts, since: entry.write.ticket)
        guard case .store(let head, let rivals) = CommitDecision(entry.write, entry.head, stored: stored, removal)
        else {
            return nil
        }
        var segments =
            try entry.write.joined.map { (joined) throws(StoreFault) in try self.segments(of: joined.id) } ?? []
        if let blob = entry.blob {
            let id = totals.nextID
            totals.nextID += 1
            let new = Segment(start: entry.write.offset, length: blob.length, blob: id, offset: 0)
            let all = Segment.joined(segments, new)
            if all.contains(where: { $0.blob == id }) {
                try insert(blob, id)
            } else if blob.bytes == nil {
                garbage.append(blob.seed)
            }
            segments = all
        }
        let (id, cost) = try insert(head, entry.facts, segments, id: entry.id)
        if lookup.refusal != nil {
            try connection.run("DELETE FROM refusal WHERE key = ?", [.bytes(entry.facts.key)])
        }
        for rival in rivals { try drop(rival) }
        let variants = stored.count + lookup.damaged.count + 1 - rivals.count
        return try makeRoom(for: id, cost, entry.facts.key, variants: variants) ? id : nil
    }

    /// Adds a variant with the body of another one.
    func add(_ head: StoredHead, sharingBodyOf id: UInt64, version: UInt64) throws(StoreFault) -> Bool {
        var facts: EntryFacts?
        var segments: [Segment]?
        try Reading.rows(connection, "id = \(id)", []) { row throws(StoreFault) in
            guard row.head.version == version else { return }
            (facts, segments) = (row.facts, row.segments)
        }
        guard let facts = facts?.with(head), let segments else { return false }
        let (new, cost) = try insert(head, facts, segments, id: nil)
        let lookup = try Reading.lookUp(connection, facts.key)
        var variants = lookup.heads.count + lookup.damaged.count
        for other in lookup.heads where other.id != id && other.id != new && other.isSameVariant(as: head) {
            try drop(other.id)
            variants -= 1
        }
        return try makeRoom(for: new, cost, facts.key, variants: variants)
    }

    /// Replaces a head, if the stored version is still the one that the new head is based on.
    func update(_ head: StoredHead) throws(StoreFault) -> Bool {
        var row: Reading.Entry?
        try Reading.rows(connection, "id = ?", [.id(head.id)]) { row = $0 }
        guard let row, row.head.version == head.version else { return false }
        try replaceHead(row, head)
        try evict(limit: settings.limit)
        return true
    }

    private func replaceHead(_ row: Reading.Entry, _ head: StoredHead) throws(StoreFault) {
        var head = head
        head.version = row.head.version + 1
        let octets = head.encoded
        let cost = row.cost + Int64(octets.count - row.headSize)
        let facts = row.facts.with(head)
        try connection.run(
            "UPDATE entry SET version = ?, head = ?, sum = ?, tags = ?, received = ?, cost = ? WHERE id = ?",
            [
                .id(head.version), .bytes(octets),
                .id(Reading.sum(id: head.id, version: head.version, facts.key, octets, Segment.encode(row.segments))),
                .bytes(EntryFacts.tagOctets(facts.tags)), .real(facts.received.timeIntervalSinceReferenceDate),
                .number(cost), .id(head.id),
            ]
        )
        totals.cost += cost - row.cost
        if row.line == Line.short.rawValue { totals.shortCost += cost - row.cost }
    }

    private func insert(_ blob: Blob, _ id: UInt64) throws(StoreFault) {
        try connection.run(
            "INSERT INTO blob VALUES (?, 1, ?, ?, ?, ?)",
            [
                .id(id), .number(blob.length), .id(blob.seed), .bytes(blob.sums.octets),
                blob.bytes.map { .bytes(Array($0)) } ?? .null,
            ]
        )
        if blob.bytes == nil { totals.files += blob.length }
        counted = id
    }

    private func insert(
        _ head: StoredHead,
        _ facts: EntryFacts,
        _ segments: [Segment],
        id: UInt64?
    ) throws(StoreFault) -> (id: UInt64, cost: Int64) {
        let id = id ?? totals.nextID
        if id == totals.nextID { totals.nextID += 1 }
        let octets = head.encoded
        let runs = Segment.encode(segments)
        let rest = Int64(octets.count + facts.text.utf8.count + facts.key.count) + Self.overhead
        let cost = segments.reduce(rest) { $0 + $1.length }
        var fingerprint = Checksum.hash(facts.key, seed: 0)
        if !head.reading.vary.names.isEmpty {
            for value in head.selecting {
                guard case .value(let bytes) = value.form else { continue }
                fingerprint = Checksum.hash(bytes, seed: fingerprint)
            }
        }
        var isKnown = false
        if totals.ghosts > 0 {
            try connection.run("DELETE FROM ghost WHERE fingerprint = ?", [.id(fingerprint)])
            isKnown = connection.changes > 0
            if isKnown { totals.ghosts -= 1 }
        }
        let line: Line = head.isExpendable ? .first : isKnown ? .main : .short
        let position = tick()
        try connection.run(
            "INSERT INTO entry VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)",
            [
                .id(id), .bytes(facts.key), .bytes(octets),
                .id(Reading.sum(id: id, version: 1, facts.key, octets, runs)), .number(head.length), .bytes(runs),
                segments.first.map { .id($0.blob) } ?? .null, .bytes(facts.place), .bytes(facts.address),
                .text(facts.text), .text(facts.partition), .optional(facts.account), .text(facts.host),
                .bytes(EntryFacts.tagOctets(facts.tags)), .real(facts.received.timeIntervalSinceReferenceDate),
                .number(cost), .number(line.rawValue), .number(position), .number(position), .id(fingerprint),
            ]
        )
        for blob in Set(segments.map(\.blob)) where blob != counted {
            try connection.run("UPDATE blob SET uses = uses + 1 WHERE id = ?", [.id(blob)])
        }
        counted = nil
        totals.count += 1
        totals.cost += cost
        join(line, cost)
        return (id, cost)
    }

    private func segments(of id: UInt64) throws(StoreFault) -> [Segment] {
        var segments: [Segment]?
        try connection.run("SELECT segments FROM entry WHERE id = ?", [.id(id)]) {
            segments = Segment.decode($0.bytes(0))
        }
        guard let segments else { throw StoreFault(.damaged, "The body of an entry is lost") }
        return segments
    }

    /// Evicts until everything is within the limits; false when the new entry itself has no room.
    private func makeRoom(
        for id: UInt64,
        _ cost: Int64,
        _ key: [UInt8],
        variants: Int
    ) throws(StoreFault) -> Bool {
        guard cost <= settings.limit else {
            try drop(id)
            return false
        }
        var count = Int64(variants)
        if count > Int64(max(settings.variantLimit, 1)) { try recordUses() }
        while count > Int64(max(settings.variantLimit, 1)) {
            var oldest: UInt64?
            try connection.run(
                "SELECT id FROM entry WHERE key = ? AND id <> ? ORDER BY used LIMIT 1",
                [.bytes(key), .id(id)]
            ) { oldest = $0.id(0) }
            guard let oldest else { break }
            try evicted(oldest)
            count -= 1
        }
        try evict(limit: settings.limit)
        return true
    }

    /// Keeps why the latest response for a key was not stored.
    func note(_ refusal: Response.CacheRule, for key: [UInt8]) throws(StoreFault) {
        try connection.run(
            "INSERT OR REPLACE INTO refusal VALUES ((SELECT ifnull(max(number), 0) + 1 FROM refusal), ?, ?)",
            [.bytes(key), .text(refusal.rawValue)]
        )
        try connection.run(
            "DELETE FROM refusal WHERE number <= (SELECT max(number) FROM refusal) - ?",
            [.number(Self.refusalLimit)]
        )
    }

    // MARK: - Removing

    /// Numbers a removal, which exchanges that began before it must not undo.
    func note(_ selection: StoredSelection, isInvalidation: Bool) throws(StoreFault) {
        guard selection.concernsWrites else { return }
        try connection.run(
            "INSERT INTO removal VALUES ((SELECT ifnull(max(number), 0) + 1 FROM removal), ?, ?)",
            [.bytes(selection.encoded), .number(isInvalidation ? 1 : 0)]
        )
        try connection.run(
            "DELETE FROM removal WHERE number <= (SELECT max(number) FROM removal) - ?",
            [.number(Self.removalLimit)]
        )
    }

    /// Marks the entries of a selection; returns their number.
    func invalidate(_ selection: StoredSelection) throws(StoreFault) -> Int {
        try note(selection, isInvalidation: true)
        var rows: [Reading.Entry] = []
        let condition = selection.condition
        try Reading.rows(connection, condition.sql, condition.values) { rows.append($0) }
        for row in rows {
            var head = row.head
            head.mustValidate = true
            try replaceHead(row, head)
        }
        return rows.count
    }

    /// Removes up to some entries of a selection; the second call continues, and the last removes none.
    func remove(_ selection: StoredSelection, atMost limit: Int) throws(StoreFault) -> ResponseCache.Removal {
        var removal = ResponseCache.Removal()
        var ids: [UInt64] = []
        let condition = selection.condition
        try connection.runOnce("SELECT id, cost FROM entry WHERE \(condition.sql) LIMIT \(limit)", condition.values) {
            row in
            ids.append(row.id(0))
            removal.bytes += row.number(1)
        }
        removal.entries = ids.count
        for id in ids { try drop(id) }
        if selection.isEverything { try connection.run("DELETE FROM refusal") }
        return removal
    }

    /// Records the uses that are not recorded yet, in their order.
    func recordUses() throws(StoreFault) {
        guard let uses = takeUses?() else { return }
        takeUses = nil
        for use in uses {
            try connection.run(
                "UPDATE entry SET hits = min(hits + ?, 3), used = ? WHERE id = ?",
                [.number(use.count), .number(tick()), .id(use.id)]
            )
        }
    }

    private func drop(_ id: UInt64) throws(StoreFault) {
        var row: (segments: [Segment], cost: Int64, line: Int64)?
        try connection.run("SELECT segments, cost, line FROM entry WHERE id = ?", [.id(id)]) {
            row = (Segment.decode($0.bytes(0)) ?? [], $0.number(1), $0.number(2))
        }
        guard let row else { return }
        try connection.run("DELETE FROM entry WHERE id = ?", [.id(id)])
        totals.count -= 1
        totals.cost -= row.cost
        leave(Line(rawValue: row.line), row.cost)
        for blob in Set(row.segments.map(\.blob)) {
            try connection.run("UPDATE blob SET uses = uses - 1 WHERE id = ?", [.id(blob)])
            try connection.run("SELECT uses, length, seed, bytes IS NULL FROM blob WHERE id = ?", [.id(blob)]) { row in
                guard row.number(0) <= 0, row.number(3) == 1 else { return }
                totals.files -= row.number(1)
                garbage.append(row.id(2))
            }
            try connection.run("DELETE FROM blob WHERE id = ? AND uses <= 0", [.id(blob)])
        }
    }

    // MARK: - Evicting

    private func join(_ line: Line, _ cost: Int64) {
        switch line {
        case .first: break
        case .short: totals.shortCost += cost
        case .main: totals.mainCount += 1
        }
    }

    private func leave(_ line: Line?, _ cost: Int64) {
        switch line {
        case .first, nil: break
        case .short: totals.shortCost -= cost
        case .main: totals.mainCount -= 1
        }
    }

    /// Evicts until the entries take no more than a limit.
    func evict(limit: Int64) throws(StoreFault) {
        while totals.cost > limit, try evictOne(limit) {}
    }

    /// Evicts a tenth of the entries, for a disk that is full.
    func evictPart() throws(StoreFault) { try evict(limit: max(totals.cost - max(totals.cost / 10, 1 << 20), 0)) }

    /// Gives free pages back, and evicts entries, until the files are within the limit.
    ///
    /// Pages that are partly empty are not in the sum of the entries.
    private func boundPages() throws(StoreFault) {
        let room = settings.limit + settings.limit / 20 + (512 << 10) - totals.files
        while true {
            var (pages, free): (Int64, Int64) = (0, 0)
            try connection.run("SELECT page_count, freelist_count FROM pragma_page_count, pragma_freelist_count") {
                (pages, free) = ($0.number(0), $0.number(1))
            }
            let excess = pages - max(room, 0) / 4_096
            guard excess > 0 else { return }
            if free > 0 {
                try connection.runOnce("PRAGMA incremental_vacuum(\(min(free, excess)))")
            } else {
                guard try evictOne(settings.limit) else { return }
            }
        }
    }

    /// Evicts some entries, or gives some pages back to the file system; false when there is nothing more to do.
    func shrink(to limit: Int64) throws(StoreFault) -> Bool {
        var count = 0
        while count < 200, totals.cost > limit, try evictOne(limit) { count += 1 }
        guard count == 0 else { return true }
        var free: Int64 = 0
        try connection.run("PRAGMA freelist_count") { free = $0.number(0) }
        guard free > 0 else { return false }
        try connection.run("PRAGMA incremental_vacuum(1024)")
        return true
    }

    private func evictOne(_ limit: Int64) throws(StoreFault) -> Bool {
        try recordUses()
        while true {
            if let item = try next(.first) {
                try forget(item, .first)
                return true
            }
            if totals.shortCost > limit / Self.shortShare || totals.mainCount == 0, let item = try next(.short) {
                guard item.hits > 0 else {
                    try forget(item, .short)
                    return true
                }
                try move(item, from: .short, hits: 0)
                continue
            }
            guard let item = try next(.main) else {
                guard let item = try next(.short) else { return false }
                try forget(item, .short)
                return true
            }
            guard item.hits > 0 else {
                try forget(item, .main)
                return true
            }
            try move(item, from: .main, hits: item.hits - 1)
        }
    }

    private struct Item {
        let id: UInt64
        let hits: Int64
        let cost: Int64
        let fingerprint: Int64
    }

    private func next(_ line: Line) throws(StoreFault) -> Item? {
        var item: Item?
        try connection.run(
            "SELECT id, hits, cost, fingerprint FROM entry WHERE line = ? ORDER BY position LIMIT 1",
            [.number(line.rawValue)]
        ) { item = Item(id: $0.id(0), hits: $0.number(1), cost: $0.number(2), fingerprint: $0.number(3)) }
        return item
    }

    private func move(_ item: Item, from line: Line, hits: Int64) throws(StoreFault) {
        try connection.run(
            "UPDATE entry SET line = ?, position = ?, hits = ? WHERE id = ?",
            [.number(Line.main.rawValue), .number(tick()), .number(hits), .id(item.id)]
        )
        leave(line, item.cost)
        join(.main, item.cost)
    }

    /// Evicts an entry, and remembers it if it was in the short line.
    private func forget(_ item: Item, _ line: Line) throws(StoreFault) {
        try evicted(item.id)
        guard line == .short else { return }
        try connection.run("INSERT OR IGNORE INTO ghost VALUES (?, ?)", [.number(item.fingerprint), .number(tick())])
        totals.ghosts += Int64(connection.changes)
        while totals.ghosts > max(totals.count, 16) {
            try connection.run(
                "DELETE FROM ghost WHERE fingerprint = (SELECT fingerprint FROM ghost ORDER BY position LIMIT 1)"
            )
            guard connection.changes > 0 else { break }
            totals.ghosts -= 1
        }
    }

    private func evicted(_ id: UInt64) throws(StoreFault) {
        let cost = totals.cost
        try drop(id)
        evictions.entries += 1
        evictions.bytes += cost - totals.cost
    }
}
