/// Finds what somebody probably meant.
enum Suggestion {
    /// The candidate with the fewest slips from `text`, or nil when all of them are too far off to be meant.
    static func nearest(to text: String, among candidates: [String]) -> String? {
        let ranked = candidates.map { (distance: distance(text, $0), name: $0) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        // A third of the letters may be wrong; more than that is another word.
        return best.distance <= max(1, max(text.count, best.name.count) / 3) ? best.name : nil
    }

    /// How many letters must be added, removed, replaced, or swapped with their neighbour to make one text the other.
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
