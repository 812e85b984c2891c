/// Exchanges by their expiry time, earliest first: a binary heap.
package struct ExpiryQueue: Sendable {
    private var heap: [(moment: Int64, exchange: Exchange)] = []
    private var departed = 0

    package init() {}

    /// The earliest expiry time.
    package var first: Int64? { heap.first?.moment }

    /// The number of exchanges, including those that have departed.
    package var count: Int { heap.count }

    package mutating func insert(_ exchange: Exchange, at moment: Int64) {
        heap.append((moment, exchange))
        var child = heap.count - 1
        while child > 0, heap[child].moment < heap[(child - 1) / 2].moment {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the earliest exchange, if its time is not after `now`.
    package mutating func popFirst(until now: Int64) -> Exchange? {
        guard let first = heap.first, first.moment <= now else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        sink()
        return first.exchange
    }

    /// Records that an exchange is no longer of interest; from time to time, exchanges for which `isOfInterest` is false
    /// are removed.
    package mutating func noteDeparture(_ isOfInterest: (Exchange) -> Bool) {
        departed += 1
        guard departed > 64, departed > heap.count / 2 else { return }
        departed = 0
        // A sorted array is a valid heap.
        heap = heap.filter { isOfInterest($0.exchange) }.sorted { $0.moment < $1.moment }
    }

    private mutating func sink() {
        var parent = 0
        while case let left = 2 * parent + 1, left < heap.count {
            let right = left + 1
            let least = right < heap.count && heap[right].moment < heap[left].moment ? right : left
            guard heap[least].moment < heap[parent].moment else { return }
            heap.swapAt(least, parent)
            parent = least
        }
    }
}
