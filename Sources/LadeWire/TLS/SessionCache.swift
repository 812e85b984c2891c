/// The sessions of TLS that the next connection to the same peer may resume (RFC 8446 §2.2).
///
/// Exchanges that may share a connection may share a session, so the keys are those of the connection pool.
struct SessionCache<Session> {
    private struct Entry {
        var sessions: [(session: Session, isSingleUse: Bool)]
        /// When a session was stored last, as a count of stores.
        var age: Int
    }

    private var entries: [String: Entry] = [:]
    private var stores = 0
    private let perKey: Int
    private let total: Int
    /// The number of sessions.
    private(set) var count = 0

    init(perKey: Int = 4, total: Int = 512) {
        self.perKey = perKey
        self.total = total
    }

    /// Stores a session; the oldest of its key, or those of the key that was used longest ago, make room.
    mutating func store(_ session: Session, for key: String, isSingleUse: Bool) {
        stores += 1
        var entry = entries[key] ?? Entry(sessions: [], age: 0)
        // A session that is offered again and again replaces its predecessor.
        if !isSingleUse {
            let others = entry.sessions.count
            entry.sessions.removeAll { !$0.isSingleUse }
            count -= others - entry.sessions.count
        }
        if entry.sessions.count >= perKey {
            entry.sessions.removeFirst()
            count -= 1
        }
        entry.sessions.append((session, isSingleUse))
        entry.age = stores
        entries[key] = entry
        count += 1
        guard count > total, let oldest = entries.min(by: { $0.value.age < $1.value.age }) else { return }
        removeAll(for: oldest.key)
    }

    /// The session to offer: the newest one of the key, which is removed when it must be offered once only.
    mutating func take(for key: String) -> Session? {
        guard let last = entries[key]?.sessions.last else { return nil }
        guard last.isSingleUse else { return last.session }
        entries[key]?.sessions.removeLast()
        count -= 1
        if entries[key]?.sessions.isEmpty == true { entries[key] = nil }
        return last.session
    }

    /// Removes the sessions of a key, because the peer has refused one.
    mutating func removeAll(for key: String) {
        count -= entries.removeValue(forKey: key)?.sessions.count ?? 0
    }
}
