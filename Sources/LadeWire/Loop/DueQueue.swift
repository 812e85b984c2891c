/// Something with a time at which the loop must look at it.
protocol Due: AnyObject {
    /// When the loop must look at it; the greatest value for never.
    var due: Int64 { get }
    /// The earliest time at which it stands in the queue; kept by ``DueQueue``.
    var queuedDue: Int64 { get set }
}

/// Elements by the time at which they are due, the earliest first: a binary heap with lazy moves.
///
/// An element that becomes due later stays where it is, and moves when it reaches the front. An element that becomes due
/// earlier is inserted again, and its old entry is dropped at the front.
struct DueQueue<Element: Due> {
    private var heap: [(moment: Int64, element: Element)] = []

    /// The number of entries, old ones included.
    var count: Int { heap.count }

    /// Records that the time of an element has changed; a later time costs nothing.
    mutating func moved(_ element: Element) {
        guard element.due < element.queuedDue else { return }
        insert(element, at: element.due)
    }

    /// The least of all due times; the greatest value without any.
    var next: Int64 {
        mutating get {
            while let first = heap.first {
                guard first.element.due > first.moment else { return first.moment }
                removeFirst()
            }
            return .max
        }
    }

    /// Removes and returns an element that is due; the caller moves its time afterwards.
    mutating func popFirst(until now: Int64) -> Element? {
        guard next <= now, let first = heap.first?.element else { return nil }
        first.queuedDue = .max
        removeRoot()
        return first
    }

    mutating func removeAll() { heap = [] }

    /// Removes the front entry, and inserts its element again at its later time.
    private mutating func removeFirst() {
        let (moment, element) = heap[0]
        removeRoot()
        // An entry that is not the element's earliest is an old one.
        guard moment == element.queuedDue else { return }
        element.queuedDue = .max
        if element.due < .max { insert(element, at: element.due) }
    }

    private mutating func insert(_ element: Element, at moment: Int64) {
        element.queuedDue = moment
        heap.append((moment, element))
        var child = heap.count - 1
        while child > 0, heap[child].moment < heap[(child - 1) / 2].moment {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func removeRoot() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
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
