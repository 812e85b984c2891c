#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCache
import LadeCore

/// Queries of the tables, for the connections that read and the one that writes.
enum Reading {
    /// One row of the table of entries.
    struct Entry {
        let head: StoredHead
        let facts: EntryFacts
        let segments: [Segment]
        let cost: Int64
        let line: Int64
        let headSize: Int
    }

    /// The checksum of the parts of a row that decide what is served.
    static func sum(id: UInt64, version: UInt64, _ key: [UInt8], _ head: [UInt8], _ segments: [UInt8]) -> UInt64 {
        Checksum.hash(segments, seed: Checksum.hash(head, seed: Checksum.hash(key, seed: id &+ version &<< 48)))
    }

    /// The result of a lookup.
    struct Lookup {
        var heads: [StoredHead] = []
        var ticket: UInt64 = 0
        /// Why the latest response was not stored.
        var refusal: Response.CacheRule?
        /// The entries that cannot be read.
        var damaged: [UInt64] = []
        /// The body of the only entry, where it is short and lies in its row.
        var body: Body?
    }

    /// Finds the heads of a key.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - key: The digest of the key.
    ///   - withBody: Whether the body of an only entry is read, too, which most lookups are followed by.
    /// - Returns: The heads.
    /// - Throws: Why the database cannot be read.
    static func lookUp(
        _ connection: Connection,
        _ key: [UInt8],
        withBody: Bool = false
    ) throws(StoreFault) -> Lookup {
        var lookup = Lookup()
        var rows = 0
        // One statement, so that heads and ticket are of one moment.
        try connection.run(
            """
            SELECT (SELECT max(number) FROM removal), e.id, e.version, e.head, e.sum, e.segments,
                (SELECT rule FROM refusal WHERE refusal.key = ?1), e.length, e.account, b.id, b.seed, b.length, b.sums, b.bytes
            FROM (SELECT 1) LEFT JOIN entry e ON e.key = ?1 LEFT JOIN blob b ON b.id = e.blob ORDER BY e.id
            """,
            [.bytes(key)]
        ) { row in
            rows += 1
            lookup.ticket = row.id(0)
            lookup.refusal = row.optionalText(6).flatMap { Response.CacheRule(rawValue: $0) }
            guard !row.isNull(1) else { return }
            let (id, version, head) = (row.id(1), row.id(2), row.bytes(3))
            guard sum(id: id, version: version, key, head, row.bytes(5)) == row.id(4),
                var head = StoredHead(encoded: head)
            else { return lookup.damaged.append(id) }
            (head.id, head.version) = (id, version)
            lookup.heads.append(head)
            lookup.body = withBody && rows == 1 ? shortBody(row) : nil
        }
        return lookup
    }

    /// Longer bodies are read when they are opened.
    private static let shortLimit: Int64 = 16 << 10

    /// The body of a row of the look-up, if it is short and in one blob.
    private static func shortBody(_ row: Connection.Row) -> Body? {
        guard !row.isNull(9), row.number(11) <= shortLimit, !row.isNull(13),
            let segments = Segment.decode(row.bytes(5)),
            let covering = Segment.covering(0..<row.number(7), segments), covering.allSatisfy({ $0.blob == row.id(9) })
        else { return nil }
        var body = Body(
            length: row.number(7),
            segments: covering,
            account: row.optionalText(8),
            ticket: row.id(0)
        )
        body.blobs[row.id(9)] = blob(row, 10)
        return body
    }

    static func heads(_ connection: Connection, _ key: [UInt8]) throws(StoreFault) -> [StoredHead] {
        try lookUp(connection, key).heads
    }

    /// Calls a closure for the undamaged rows for which a condition holds, by number.
    static func rows(
        _ connection: Connection,
        _ condition: String,
        _ values: [Connection.Value],
        damaged: (UInt64) -> Void = { _ in },
        _ body: (Entry) throws(StoreFault) -> Void
    ) throws(StoreFault) {
        try connection.runOnce(
            """
            SELECT id, version, key, head, sum, segments, place, address, text, partition, account, cost, line
            FROM entry WHERE \(condition) ORDER BY id
            """,
            values
        ) { row throws(StoreFault) in
            let (id, version, key, octets, runs) = (row.id(0), row.id(1), row.bytes(2), row.bytes(3), row.bytes(5))
            guard sum(id: id, version: version, key, octets, runs) == row.id(4), let segments = Segment.decode(runs),
                var head = StoredHead(encoded: octets),
                let facts = EntryFacts(
                    key: key,
                    place: row.bytes(6),
                    address: row.bytes(7),
                    text: row.text(8),
                    partition: row.text(9),
                    account: row.optionalText(10),
                    head
                )
            else { return damaged(id) }
            (head.id, head.version) = (id, version)
            let entry = Entry(
                head: head,
                facts: facts,
                segments: segments,
                cost: row.number(11),
                line: row.number(12),
                headSize: octets.count
            )
            try body(entry)
        }
    }

    /// The removals that concern an entry since an exchange began.
    static func removal(
        _ connection: Connection,
        of entry: EntryFacts,
        since ticket: UInt64
    ) throws(StoreFault) -> CommitDecision.Removal {
        var result = CommitDecision.Removal.none
        var expected = ticket &+ 1
        try connection.run(
            "SELECT number, selection, invalidates FROM removal WHERE number > ? ORDER BY number",
            [.id(ticket)]
        ) { row in
            // Removals that are not remembered any more concern everything.
            guard row.id(0) == expected, let selection = StoredSelection(encoded: row.bytes(1)) else {
                return result = .removed
            }
            expected &+= 1
            guard result != .removed, selection.contains(entry) else { return }
            result = row.number(2) == 1 ? .invalidated : .removed
        }
        return result
    }

    /// Whether an account has signed out since a ticket.
    static func hasSignedOut(_ connection: Connection, _ account: String, since ticket: UInt64) throws(StoreFault)
        -> Bool
    {
        var hasSignedOut = false
        try connection.run("SELECT selection FROM removal WHERE number > ?", [.id(ticket)]) { row in
            guard StoredSelection(encoded: row.bytes(0))?.account?.isSpelled(like: account) ?? false else { return }
            hasSignedOut = true
        }
        return hasSignedOut
    }

    /// The body of an entry.
    struct Body {
        let length: Int64
        let segments: [Segment]
        let account: String?
        let ticket: UInt64
        var blobs: [UInt64: WriteSession.Blob] = [:]
    }

    /// The body of an entry; nil when there is none.
    static func body(_ connection: Connection, _ id: UInt64) throws(StoreFault) -> Body? {
        var body: Body?
        try connection.run(
            """
            SELECT e.length, e.segments, e.account, (SELECT max(number) FROM removal),
                b.id, b.seed, b.length, b.sums, b.bytes
            FROM entry e LEFT JOIN blob b ON b.id = e.blob WHERE e.id = ?
            """,
            [.id(id)]
        ) { row in
            guard let segments = Segment.decode(row.bytes(1)) else { return }
            var found = Body(
                length: row.number(0),
                segments: segments,
                account: row.optionalText(2),
                ticket: row.id(3)
            )
            if !row.isNull(4) { found.blobs[row.id(4)] = blob(row, 5) }
            body = found
        }
        guard var body else { return nil }
        for run in body.segments where body.blobs[run.blob] == nil {
            try connection.run("SELECT seed, length, sums, bytes FROM blob WHERE id = ?", [.id(run.blob)]) {
                body.blobs[run.blob] = blob($0, 0)
            }
        }
        return body
    }

    private static func blob(_ row: Connection.Row, _ column: Int32) -> WriteSession.Blob {
        WriteSession.Blob(
            seed: row.id(column),
            length: row.number(column + 1),
            sums: ChunkSums(row.bytes(column + 2)),
            bytes: row.isNull(column + 3) ? nil : row.withBytes(column + 3) { Data($0) }
        )
    }
}
