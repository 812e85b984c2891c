#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCache
import LadeCore

extension SQLiteStore {
    /// The findings of a check of all checksums.
    public struct Check: Sendable, Hashable {
        /// Something that is not as it was stored.
        public enum Damage: Sendable, Hashable {
            /// The tables, with the words of SQLite.
            case database(String)
            /// The head of an entry, by the number of the entry.
            case head(UInt64)
            /// The body of an entry, by its address without secrets.
            case body(String)
        }

        /// How many entries were checked.
        public var entries = 0
        /// The bytes of their bodies.
        public var bytes: Int64 = 0
        /// The damages; empty for a sound store.
        public var damages: [Damage] = []
    }

    /// Compares the tables, heads and bodies with their checksums.
    ///
    /// Nothing is changed: damaged entries are misses, and are removed when they are requested.
    ///
    /// - Returns: The findings.
    /// - Throws: Why the store cannot be read; `CacheError.Reason.damaged` where it cannot be read any further.
    public func check() async throws(CacheError) -> Check {
        try await core.flush()
        var check = Check()
        try core.read { (connection, _) throws(StoreFault) in
            try connection.runOnce("PRAGMA quick_check(16)") { row in
                let text = row.text(0)
                if !text.isSpelled(like: "ok") { check.damages.append(.database(text)) }
            }
        }
        var last: UInt64 = 0
        while let slice = try core.check(after: last, into: &check) {
            last = slice
            // Other tasks run between two slices.
            await Task.yield()
        }
        return check
    }
}

extension StoreCore {
    /// Checks some entries; returns the number of the last one, nil when there was none.
    func check(after last: UInt64, into check: inout SQLiteStore.Check) throws(CacheError) -> UInt64? {
        var ids: [UInt64] = []
        try read { (connection, _) throws(StoreFault) in
            try connection.run("SELECT id FROM entry WHERE id > ? ORDER BY id LIMIT 64", [.id(last)]) {
                ids.append($0.id(0))
            }
        }
        for id in ids {
            var row: Reading.Entry?
            var body: Reading.Body?
            var exists = false
            try read { (connection, _) throws(StoreFault) in
                try connection.run("SELECT 1 FROM entry WHERE id = ?", [.id(id)]) { _ in exists = true }
                try Reading.rows(connection, "id = ?", [.id(id)]) { row = $0 }
                body = try Reading.body(connection, id)
            }
            // It may have been removed since the first query.
            guard exists else { continue }
            check.entries += 1
            guard let row, let body else {
                check.damages.append(.head(id))
                continue
            }
            let length = row.segments.reduce(0) { $0 + $1.length }
            check.bytes += length
            let isSound = BodyReader.isSound(id, body, row.segments, folder)
            if !isSound, try isStored(id) { check.damages.append(.body(row.facts.text)) }
        }
        return ids.last
    }

    private func isStored(_ id: UInt64) throws(CacheError) -> Bool {
        var isStored = false
        try read { (connection, _) throws(StoreFault) in
            try connection.run("SELECT 1 FROM entry WHERE id = ?", [.id(id)]) { _ in isStored = true }
        }
        return isStored
    }
}
