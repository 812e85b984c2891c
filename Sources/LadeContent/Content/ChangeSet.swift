/// The changes between two versions of a list, as a table needs them to animate from one to the other.
///
/// Items are matched by identity; several items of the same identity are matched in order. Deletions, modifications and
/// the origins of moves are indexes of the old list; insertions and the destinations of moves are indexes of the new
/// one. The comparison takes linear time, except for moves, which take n log n.
public struct ChangeSet<Item: Sendable>: Sendable {
    /// An item whose position has changed relative to those that stay.
    public struct Move: Sendable, Hashable {
        /// Its index in the old list.
        public let from: Int
        /// Its index in the new list.
        public let to: Int

        /// Makes a move.
        public init(from: Int, to: Int) {
            self.from = from
            self.to = to
        }
    }

    /// The list before.
    public let old: [Item]
    /// The list after.
    public let new: [Item]
    /// Indexes of old items that are not in the new list, ascending.
    public let deletions: [Int]
    /// Indexes of new items that are not in the old list, ascending.
    public let insertions: [Int]
    /// Indexes of old items that are in both lists with different content, ascending.
    public let modifications: [Int]
    /// The fewest moves that put the items of both lists into their new order, by destination.
    public let moves: [Move]

    /// Whether nothing changed.
    public var isEmpty: Bool {
        deletions.isEmpty && insertions.isEmpty && modifications.isEmpty && moves.isEmpty
    }

    /// Compares two lists.
    ///
    /// - Parameters:
    ///   - old: The list before.
    ///   - new: The list after.
    ///   - identity: The identity by which items are matched.
    ///   - hasSameContent: Whether two versions of one item look the same.
    public init<ID: Hashable>(
        from old: [Item],
        to new: [Item],
        identity: (Item) -> ID,
        hasSameContent: (Item, Item) -> Bool
    ) {
        self.old = old
        self.new = new
        let start = Self.commonPrefix(old, new, identity)
        let end = Self.commonSuffix(old, new, identity, after: start)

        // Indexes of the old items of each identity, in reverse order, so that `popLast` takes the first.
        var places: [ID: [Int]] = [:]
        for index in (start..<(old.count - end)).reversed() { places[identity(old[index]), default: []].append(index) }
        var origins: [(from: Int, to: Int)] = []
        var insertions: [Int] = []
        for index in start..<(new.count - end) {
            if let origin = places[identity(new[index])]?.popLast() {
                origins.append((origin, index))
            } else {
                insertions.append(index)
            }
        }
        self.insertions = insertions
        deletions = places.values.joined().sorted()
        let staying = Self.longestIncreasing(origins.map(\.from))
        moves = origins.indices.filter { !staying.contains($0) }.map {
            Move(from: origins[$0].from, to: origins[$0].to)
        }

        var modifications: [Int] = []
        for index in 0..<start where !hasSameContent(old[index], new[index]) { modifications.append(index) }
        for (from, to) in origins where !hasSameContent(old[from], new[to]) { modifications.append(from) }
        for offset in 0..<end {
            let index = old.count - end + offset
            if !hasSameContent(old[index], new[new.count - end + offset]) { modifications.append(index) }
        }
        self.modifications = modifications.sorted()
    }

    /// How many items at the beginning are the same.
    private static func commonPrefix<ID: Hashable>(_ old: [Item], _ new: [Item], _ identity: (Item) -> ID) -> Int {
        var count = 0
        while count < min(old.count, new.count), identity(old[count]) == identity(new[count]) { count += 1 }
        return count
    }

    /// How many items at the end are the same, not counting those at the beginning.
    private static func commonSuffix<ID: Hashable>(
        _ old: [Item],
        _ new: [Item],
        _ identity: (Item) -> ID,
        after start: Int
    ) -> Int {
        var count = 0
        while count < min(old.count, new.count) - start,
            identity(old[old.count - 1 - count]) == identity(new[new.count - 1 - count])
        { count += 1 }
        return count
    }

    /// The positions of a longest increasing subsequence: the items that need not move.
    private static func longestIncreasing(_ values: [Int]) -> Set<Int> {
        // tails[n] is the position at which the increasing subsequence of length n + 1 with the least end has its end.
        var tails: [Int] = []
        var previous = [Int](repeating: -1, count: values.count)
        for position in values.indices {
            var low = 0
            var high = tails.count
            while low < high {
                let middle = (low + high) / 2
                if values[tails[middle]] < values[position] { low = middle + 1 } else { high = middle }
            }
            previous[position] = low > 0 ? tails[low - 1] : -1
            if low == tails.count { tails.append(position) } else { tails[low] = position }
        }
        var result: Set<Int> = []
        var position = tails.last ?? -1
        while position >= 0 {
            result.insert(position)
            position = previous[position]
        }
        return result
    }
}

extension ChangeSet where Item: Identifiable & Equatable {
    /// Compares two lists of items that have an identity; equal items have the same content.
    public init(from old: [Item], to new: [Item]) {
        self.init(from: old, to: new, identity: \.id, hasSameContent: ==)
    }
}
