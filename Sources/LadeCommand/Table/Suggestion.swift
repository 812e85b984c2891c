/// Finds the likely intended word for a misspelt one.
enum Suggestion {
    /// The candidate with the fewest differences from `text`; nil when all differ too much.
    static func nearest(to text: String, among candidates: [String]) -> String? {
        let ranked = candidates.map { (distance: distance(text, $0), name: $0) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        // At most a third of the letters may differ.
        return best.distance <= max(1, max(text.count, best.name.count) / 3) ? best.name : nil
    }

    /// Up to three candidates, the most similar first: those that contain `text`, then those with few differences.
    static func several(for text: String, among candidates: [String]) -> [String] {
        let text = text.lowercased()
        guard !text.isEmpty else { return [] }
        let ranked = candidates.compactMap { name -> (rank: Int, name: String)? in
            let candidate = name.lowercased()
            let distance = distance(text, candidate)
            if text.count > 2, candidate.contains(text) { return (distance - candidate.count, name) }
            return distance <= max(1, max(text.count, candidate.count) / 3) ? (distance, name) : nil
        }
        // The position keeps the order of equally similar names, because the sort is not guaranteed to be stable.
        return ranked.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
            .prefix(3).map(\.element.name)
    }

    /// The number of letters to add, remove, replace, or swap with a neighbour to turn one text into the other.
    static func distance(_ lhs: String, _ rhs: String) -> Int {
        let lhs = Array(lhs)
        let rhs = Array(rhs)
        var beforeLast: [Int] = []
        var last = Array(0...rhs.count)
        for i in lhs.indices {
            var current = [i + 1]
            for j in rhs.indices {
                var best = min(last[j] + (lhs[i] == rhs[j] ? 0 : 1), last[j + 1] + 1, current[j] + 1)
                if i > 0, j > 0, lhs[i] == rhs[j - 1], lhs[i - 1] == rhs[j] { best = min(best, beforeLast[j - 1] + 1) }
                current.append(best)
            }
            beforeLast = last
            last = current
        }
        return last[rhs.count]
    }
}
