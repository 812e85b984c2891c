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

    // Inlinable so that it is specialised for the caller's types; otherwise each comparison is an indirect call.
    /// Compares two lists.
    ///
    /// - Parameters:
    ///   - old: The list before.
    ///   - new: The list after.
    ///   - identity: The identity by which items are matched.
    ///   - hasSameContent: Whether two versions of one item look the same.
    @inlinable
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

        let oldMiddle = start..<(old.count - end)
        // The first old item of each identity that has no match yet, and after each old item the next of its identity;
        // -1 for none. One array per identity would take most of the time.
        var firsts: [ID: Int] = Dictionary(minimumCapacity: oldMiddle.count)
        var following = [Int](repeating: -1, count: oldMiddle.count)
        for index in oldMiddle.reversed() {
            following[index - start] = firsts.updateValue(index, forKey: identity(old[index])) ?? -1
        }
        var origins: [(from: Int, to: Int)] = []
        var insertions: [Int] = []
        var isMatched = [Bool](repeating: false, count: oldMiddle.count)
        var isModified = isMatched
        for index in start..<(new.count - end) {
            guard let place = firsts.index(forKey: identity(new[index])), firsts.values[place] >= 0 else {
                insertions.append(index)
                continue
            }
            let origin = firsts.values[place]
            firsts.values[place] = following[origin - start]
            origins.append((origin, index))
            isMatched[origin - start] = true
            isModified[origin - start] = !hasSameContent(old[origin], new[index])
        }
        self.insertions = insertions
        deletions = oldMiddle.filter { !isMatched[$0 - start] }
        let staying = IncreasingSubsequence.longest(in: origins.map(\.from))
        moves = origins.indices.filter { !staying[$0] }.map { Move(from: origins[$0].from, to: origins[$0].to) }

        var modifications = (0..<start).filter { !hasSameContent(old[$0], new[$0]) }
        modifications += oldMiddle.filter { isModified[$0 - start] }
        let shift = new.count - old.count
        modifications += (oldMiddle.upperBound..<old.count).filter { !hasSameContent(old[$0], new[$0 + shift]) }
        self.modifications = modifications
    }

    /// How many items at the beginning are the same.
    @inlinable
    static func commonPrefix<ID: Hashable>(_ old: [Item], _ new: [Item], _ identity: (Item) -> ID) -> Int {
        var count = 0
        while count < min(old.count, new.count), identity(old[count]) == identity(new[count]) { count += 1 }
        return count
    }

    /// How many items at the end are the same, not counting those at the beginning.
    @inlinable
    static func commonSuffix<ID: Hashable>(
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
}

extension ChangeSet where Item: Identifiable & Equatable {
    /// Compares two lists of items that have an identity; equal items have the same content.
    @inlinable
    public init(from old: [Item], to new: [Item]) {
        self.init(from: old, to: new, identity: { $0.id }, hasSameContent: ==)
    }
}

@usableFromInline
enum IncreasingSubsequence {
    /// Whether each position belongs to a longest increasing subsequence, the items of which need not move.
    @usableFromInline
    static func longest(in values: [Int]) -> [Bool] {
        // One of the increasing subsequences of length n + 1 has the least last value; tails[n] is the position of that
        // value.
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
        var result = [Bool](repeating: false, count: values.count)
        var position = tails.last ?? -1
        while position >= 0 {
            result[position] = true
            position = previous[position]
        }
        return result
    }
}
