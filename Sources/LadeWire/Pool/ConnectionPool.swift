/// The facts of a connection that the pool reads.
protocol Pooled: AnyObject {
    /// Whether an exchange waits for it while it is being opened.
    var isAwaited: Bool { get }
    /// Whether other exchanges may wait to share it while it is being opened.
    var isShareable: Bool { get }
    /// Whether it takes another stream.
    var room: StreamRoom { get }
    /// Since when it is open and carries nothing; nil otherwise.
    var idleSince: Int64? { get }
    /// How long it may, in nanoseconds.
    var idleLife: Int64 { get }
}

extension Pooled {
    /// When it is evicted; the greatest value while it carries something.
    var evictionDue: Int64 { idleSince.map { $0 + idleLife } ?? .max }
}

/// Whether a connection takes another stream.
enum StreamRoom {
    case none
    /// It may be lost: others are preferred.
    case doubtful
    case free
}

/// Which connection carries an exchange, and which ones are closed for it: a value without sockets and without a clock.
///
/// ``Admission`` decides which exchange is next; this value decides on which connection of its key. It has every connection
/// from its opening to its close: those that are being opened, those that are idle, those that multiplex and take streams.
/// The others of ``open`` are in use.
struct ConnectionPool<Connection: Pooled> {
    /// The demands of an exchange on its connection.
    struct Demand {
        /// Whether it may share a connection with others.
        var mayShare = false
        /// Whether it must not use a connection that carried another one.
        var needsFresh = false
        /// Whether it waits for a connection that is being opened, although its protocol is not known.
        var awaitsSharing = true
    }

    /// The choice for an exchange.
    enum Placement {
        /// It has a stream on a connection; one that is idle must be checked before.
        case stream(Connection)
        /// It waits until a connection is open that others wait for too.
        case wait(Connection)
        /// An idle connection carries it, after a check that the connection is still usable.
        case reuse(Connection)
        /// A connection is opened for it whose exchange has left.
        case join(Connection)
        /// A new connection is opened; one that carries nothing, if any, is closed first so that the limits hold.
        case open(closing: Connection?)
    }

    struct Key {
        /// The connections that are being opened, the oldest first.
        var opening: [Connection] = []
        /// The idle connections, the last used at the end.
        var idle: [Connection] = []
        /// Connections that multiplex and take new streams, the oldest first.
        var streaming: [Connection] = []
        /// The number of connections, with those in use.
        var open = 0

        /// The connection that has been idle longest, whatever its protocol.
        var longestIdle: Connection? {
            var longest = idle.first
            for connection in streaming {
                guard let since = connection.idleSince, since < longest?.idleSince ?? .max else { continue }
                longest = connection
            }
            return longest
        }

        fileprivate mutating func remove(_ connection: Connection) {
            opening.removeAll { $0 === connection }
            idle.removeAll { $0 === connection }
            streaming.removeAll { $0 === connection }
        }
    }

    /// The protocols that hosts have negotiated.
    var negotiated = ProtocolMemory()
    private(set) var keys: [Int: Key] = [:]
    /// The keys of which a connection is being opened for no exchange.
    private var orphaned: [Int] = []
    private let perKey: Int
    private let total: Int
    /// The number of connections.
    private(set) var open = 0

    init(perKey: Int, total: Int) {
        self.perKey = perKey
        self.total = total
    }

    /// Chooses the connection for an exchange of a key.
    mutating func place(_ key: Int, _ demand: Demand, at now: Int64) -> Placement {
        guard let slot = keys.index(forKey: key) else { return .open(closing: takeSuperfluous()) }
        if !demand.needsFresh {
            if demand.mayShare, let placement = share(slot, key, demand, at: now) { return placement }
            if let connection = keys.values[slot].idle.popLast() { return .reuse(connection) }
        }
        if let orphan = keys.values[slot].opening.last(where: { !$0.isAwaited }) { return .join(orphan) }
        let isFull = keys.values[slot].open >= perKey
        return .open(closing: isFull ? takeLongestIdle(at: slot) : takeSuperfluous())
    }

    /// Removes and returns what is closed at the total limit before a connection is opened.
    private mutating func takeSuperfluous() -> Connection? {
        guard open >= total else { return nil }
        if let connection = takeLongestIdle() { return connection }
        for key in orphaned {
            if let orphan = keys[key]?.opening.first(where: { !$0.isAwaited }) { return orphan }
        }
        return nil
    }

    private func share(_ slot: Dictionary<Int, Key>.Index, _ key: Int, _ demand: Demand, at now: Int64) -> Placement? {
        var doubtful: Connection?
        for connection in keys.values[slot].streaming {
            switch connection.room {
            case .free: return .stream(connection)
            case .doubtful: doubtful = doubtful ?? connection
            case .none: break
            }
        }
        if let doubtful { return .stream(doubtful) }
        let known = negotiated.choice(key, at: now)
        guard known != .http1_1, known != nil || demand.awaitsSharing else { return nil }
        return keys.values[slot].opening.first { $0.isAwaited && $0.isShareable }.map(Placement.wait)
    }

    /// Adds a connection that is being opened.
    mutating func opens(_ connection: Connection, key: Int) {
        keys[key, default: Key()].opening.append(connection)
        keys[key]?.open += 1
        open += 1
    }

    /// Records that a connection of a key is being opened for no exchange.
    mutating func orphans(key: Int) { orphaned.append(key) }

    /// Keeps a connection for the next exchange of its key.
    mutating func rests(_ connection: Connection, key: Int) {
        guard let slot = keys.index(forKey: key) else { return }
        if !keys.values[slot].opening.isEmpty { keys.values[slot].opening.removeAll { $0 === connection } }
        keys.values[slot].idle.append(connection)
    }

    /// Records that a connection that was opened is in use.
    mutating func carries(_ connection: Connection, key: Int) { keys[key]?.opening.removeAll { $0 === connection } }

    /// Records that a connection that was opened multiplexes.
    mutating func multiplexes(_ connection: Connection, key: Int) {
        carries(connection, key: key)
        keys[key]?.streaming.append(connection)
    }

    /// Records that a connection takes no new stream.
    mutating func drains(_ connection: Connection, key: Int) {
        keys[key]?.streaming.removeAll { $0 === connection }
    }

    /// Removes a closed connection, wherever it was.
    mutating func closes(_ connection: Connection, key: Int) {
        guard let slot = keys.index(forKey: key) else { return }
        open -= 1
        keys.values[slot].open -= 1
        keys.values[slot].remove(connection)
        if keys.values[slot].open == 0 { keys.remove(at: slot) }
    }

    // MARK: - Eviction

    /// Whether a connection has been idle for its life.
    func evicts(_ connection: Connection, at now: Int64) -> Bool { connection.evictionDue <= now }

    /// Whether a connection may be being opened for no exchange.
    var hasOrphans: Bool { !orphaned.isEmpty }

    /// Returns the connections that no exchange has joined since theirs left, and that are closed now.
    mutating func takeOrphans() -> [Connection] {
        guard hasOrphans else { return [] }
        defer { orphaned = [] }
        return Set(orphaned).sorted().flatMap { key in keys[key]?.opening.filter { !$0.isAwaited } ?? [] }
    }

    /// Returns what is closed to free a descriptor: the connection that has been idle longest, or those for no exchange.
    mutating func makeRoom() -> [Connection] { takeLongestIdle().map { [$0] } ?? takeOrphans() }

    /// Removes and returns the connection that has been idle longest, whatever its protocol; nil without any.
    mutating func takeLongestIdle() -> Connection? {
        var longest: (slot: Dictionary<Int, Key>.Index, since: Int64)?
        for slot in keys.indices {
            guard let since = keys.values[slot].longestIdle?.idleSince, since < longest?.since ?? .max else { continue }
            longest = (slot, since)
        }
        return longest.flatMap { takeLongestIdle(at: $0.slot) }
    }

    private mutating func takeLongestIdle(at slot: Dictionary<Int, Key>.Index) -> Connection? {
        guard let connection = keys.values[slot].longestIdle else { return nil }
        keys.values[slot].remove(connection)
        return connection
    }
}
