/// Which connection carries an exchange.
///
/// ``Admission`` decides which exchange is next; this value decides on which connection of its key. It counts every
/// connection from its opening to its close.
struct ConnectionPool<Connection: AnyObject> {
    /// The connection for an exchange.
    enum Placement {
        /// An idle connection, which must be checked before its use.
        case reuse(Connection)
        /// A connection that is being opened and whose exchange has left.
        case join(Connection)
        /// A new connection; the idle one, if any, is closed first so that the limits hold.
        case open(closing: Connection?)
    }

    private struct Key {
        /// The idle connections, the last used at the end, with the times at which they became idle.
        var idle: [(connection: Connection, since: Int64)] = []
        /// Connections that are being opened for no exchange.
        var orphans: [Connection] = []
        /// Connections that multiplex and take new streams, the oldest first, with the times since which they carry none.
        var streaming: [(connection: Connection, since: Int64?)] = []
        var open = 0

        /// Since when the connection is idle that has been longest; nil without an idle one.
        var idleSince: Int64? { ([idle.first?.since] + streaming.map(\.since)).compactMap(\.self).min() }

        var isUnused: Bool { open == 0 && idle.isEmpty && orphans.isEmpty && streaming.isEmpty }
    }

    private var keys: [Int: Key] = [:]
    private let perKey: Int
    private let total: Int
    /// The number of connections.
    private(set) var open = 0

    init(perKey: Int, total: Int) {
        self.perKey = perKey
        self.total = total
    }

    /// Chooses the connection for an exchange of a key.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - needsFresh: Whether the exchange must not use a connection that carried another one.
    /// - Returns: The connection, or that one is opened.
    mutating func place(_ key: Int, needsFresh: Bool) -> Placement {
        if !needsFresh, let (connection, _) = keys[key]?.idle.popLast() { return .reuse(connection) }
        if let orphan = keys[key]?.orphans.popLast() { return .join(orphan) }
        let isFull = (keys[key]?.open ?? 0) >= perKey
        let closing = isFull ? takeLongestIdle(of: key) : open >= total ? takeLongestIdle() : nil
        return .open(closing: closing)
    }

    /// Counts a connection that is being opened.
    mutating func opened(_ key: Int) {
        keys[key, default: Key()].open += 1
        open += 1
    }

    /// Keeps a connection for the next exchange of its key.
    ///
    /// A connection that was opened for no exchange is not an orphan any more.
    mutating func idled(_ connection: Connection, key: Int, at now: Int64) {
        keys[key, default: Key()].orphans.removeAll { $0 === connection }
        keys[key, default: Key()].idle.append((connection, now))
    }

    /// The connections of a key that multiplex and take new streams, the oldest first.
    func streaming(_ key: Int) -> [Connection] { keys[key]?.streaming.map(\.connection) ?? [] }

    /// Records that a connection multiplexes, and carries no stream yet.
    mutating func multiplexes(_ connection: Connection, key: Int, at now: Int64) {
        keys[key, default: Key()].orphans.removeAll { $0 === connection }
        keys[key, default: Key()].streaming.append((connection, now))
    }

    /// Records since when a connection that multiplexes carries no stream; nil when it carries one.
    mutating func setIdle(_ connection: Connection, key: Int, since: Int64?) {
        guard let index = keys[key]?.streaming.firstIndex(where: { $0.connection === connection }) else { return }
        keys[key]?.streaming[index].since = since
    }

    /// Records that a connection takes no new stream.
    mutating func drains(_ connection: Connection, key: Int) {
        keys[key]?.streaming.removeAll { $0.connection === connection }
    }

    /// Keeps a connection that is being opened and whose exchange has left.
    mutating func orphaned(_ connection: Connection, key: Int) {
        keys[key, default: Key()].orphans.append(connection)
    }

    /// Removes and returns the connections that are being opened for no exchange.
    mutating func takeOrphans(of key: Int) -> [Connection] {
        let orphans = keys[key]?.orphans ?? []
        keys[key]?.orphans = []
        return orphans
    }

    /// Removes a closed connection, wherever it was.
    mutating func closed(_ connection: Connection, key: Int) {
        guard var entry = keys[key] else { return }
        entry.idle.removeAll { $0.connection === connection }
        entry.orphans.removeAll { $0 === connection }
        entry.streaming.removeAll { $0.connection === connection }
        entry.open -= 1
        open -= 1
        keys[key] = entry.isUnused ? nil : entry
    }

    /// Removes and returns the connection that has been idle longest, whatever its protocol; nil without any.
    mutating func takeLongestIdle() -> Connection? {
        let oldest = keys.compactMap { key, entry in entry.idleSince.map { (key, $0) } }.min { $0.1 < $1.1 }
        return oldest.flatMap { takeLongestIdle(of: $0.0) }
    }

    private mutating func takeLongestIdle(of key: Int) -> Connection? {
        guard let entry = keys[key], let since = entry.idleSince else { return nil }
        if entry.idle.first?.since == since { return keys[key]?.idle.removeFirst().connection }
        return entry.streaming.firstIndex { $0.since == since }.flatMap {
            keys[key]?.streaming.remove(at: $0).connection
        }
    }
}
