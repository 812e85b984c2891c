/// The entry that a store evicts next: S3-FIFO (Yang et al., *FIFO queues are all you need for cache eviction*, SOSP 2023).
///
/// New entries wait in a short line. Entries that are used there move to the main line; the others are evicted. So entries that
/// are requested once push no useful ones out. Evicted entries are remembered for a while: an entry that comes back goes to the
/// main line immediately. Entries that are of little use are evicted before all others.
struct EvictionQueue {
    private enum Place { case first, short, main }

    private struct Item {
        var cost: Int64
        var hits: UInt8 = 0
        var place: Place
        let fingerprint: Int
        /// Tells this entry's position in a line from an outdated one.
        var ticket: UInt64
    }

    /// A queue whose members may leave it unnoticed.
    private struct Line {
        private var members: [(id: UInt64, ticket: UInt64)] = []
        private var start = 0

        mutating func append(_ id: UInt64, _ ticket: UInt64) { members.append((id, ticket)) }

        /// Removes and returns the first member, which may have left.
        mutating func pop() -> (id: UInt64, ticket: UInt64)? {
            guard start < members.count else { return nil }
            defer { start += 1 }
            if start > 64, start > members.count / 2 {
                members.removeFirst(start)
                start = 0
            }
            return members[start]
        }

        /// Forgets members that have left once they outnumber the others.
        mutating func compact(_ items: [UInt64: Item]) {
            guard members.count - start > 2 * items.count + 64 else { return }
            members = members[start...].filter { items[$0.id]?.ticket == $0.ticket }
            start = 0
        }
    }

    private var items: [UInt64: Item] = [:]
    private var first = Line()
    private var short = Line()
    private var main = Line()
    private var shortCost: Int64 = 0
    private var mainCount = 0
    private var lastTicket: UInt64 = 0
    /// When each remembered fingerprint was evicted.
    private var ghosts: [Int: UInt64] = [:]
    private var ghostLine = Line()

    /// The part of the limit that the short line may take.
    private static let shortShare: Int64 = 10

    /// Adds an entry.
    ///
    /// - Parameters:
    ///   - id: The entry.
    ///   - cost: The bytes it takes.
    ///   - fingerprint: A number that a later entry for the same request has, too.
    ///   - isExpendable: Whether it is evicted before all others.
    mutating func insert(_ id: UInt64, cost: Int64, fingerprint: Int, isExpendable: Bool) {
        let isKnown = ghosts.removeValue(forKey: fingerprint) != nil
        let place: Place = isExpendable ? .first : isKnown ? .main : .short
        items[id] = Item(cost: cost, place: place, fingerprint: fingerprint, ticket: 0)
        line(id, place)
    }

    /// Notes a use.
    mutating func touch(_ id: UInt64) {
        guard let index = items.index(forKey: id), items.values[index].hits < 3 else { return }
        items.values[index].hits += 1
    }

    /// Notes that the cost of an entry has changed.
    mutating func resize(_ id: UInt64, cost: Int64) {
        guard let item = items[id] else { return }
        if item.place == .short { shortCost += cost - item.cost }
        items[id]?.cost = cost
    }

    /// Removes an entry that was replaced or removed.
    mutating func remove(_ id: UInt64) {
        guard let item = items.removeValue(forKey: id) else { return }
        leave(item)
        first.compact(items)
        short.compact(items)
        main.compact(items)
    }

    /// Removes and returns the entry to evict; nil when there is none.
    mutating func evict(limit: Int64) -> UInt64? {
        while true {
            if let id = next(in: .first) { return forget(id) }
            if shortCost > limit / Self.shortShare || mainCount == 0, let id = next(in: .short) {
                guard let item = items[id] else { continue }
                guard item.hits > 0 else { return forget(id) }
                leave(item)
                items[id]?.hits = 0
                line(id, .main)
                continue
            }
            guard let id = next(in: .main) else {
                guard let id = next(in: .short) else { return nil }
                return forget(id)
            }
            guard let item = items[id], item.hits > 0 else { return forget(id) }
            leave(item)
            items[id]?.hits = item.hits - 1
            line(id, .main)
        }
    }

    /// Removes and returns the first member of a line that is still in it.
    private mutating func next(in place: Place) -> UInt64? {
        while true {
            let member =
                switch place {
                case .first: first.pop()
                case .short: short.pop()
                case .main: main.pop()
                }
            guard let member else { return nil }
            if items[member.id]?.ticket == member.ticket { return member.id }
        }
    }

    /// Puts an entry at the end of a line.
    private mutating func line(_ id: UInt64, _ place: Place) {
        lastTicket += 1
        items[id]?.ticket = lastTicket
        items[id]?.place = place
        switch place {
        case .first: first.append(id, lastTicket)
        case .short:
            short.append(id, lastTicket)
            shortCost += items[id]?.cost ?? 0
        case .main:
            main.append(id, lastTicket)
            mainCount += 1
        }
    }

    private mutating func leave(_ item: Item) {
        switch item.place {
        case .first: break
        case .short: shortCost -= item.cost
        case .main: mainCount -= 1
        }
    }

    /// Removes an entry, and remembers it if it was in the short line.
    private mutating func forget(_ id: UInt64) -> UInt64 {
        guard let item = items.removeValue(forKey: id) else { return id }
        leave(item)
        guard item.place == .short else { return id }
        lastTicket += 1
        ghosts[item.fingerprint] = lastTicket
        ghostLine.append(UInt64(bitPattern: Int64(item.fingerprint)), lastTicket)
        while ghosts.count > max(items.count, 16), let oldest = ghostLine.pop() {
            let fingerprint = Int(Int64(bitPattern: oldest.id))
            if ghosts[fingerprint] == oldest.ticket { ghosts[fingerprint] = nil }
        }
        return id
    }
}
