/// Elements in the order of their ranks, found by identity: a binary heap together with the position of each element.
///
/// Adding, removing and changing a rank take logarithmic time; reading the first takes constant time. Equal ranks have
/// no order.
struct PriorityIndex<Element: Hashable & Sendable, Rank: Comparable & Sendable>: Sendable {
    private var heap: [(element: Element, rank: Rank)] = []
    private var places: [Element: Int] = [:]
    /// How many comparisons of ranks were made so far; tests limit it.
    private(set) var comparisons = 0

    var count: Int { heap.count }
    var isEmpty: Bool { heap.isEmpty }
    /// The element with the least rank.
    var first: (element: Element, rank: Rank)? { heap.first }
    /// All elements, in no particular order.
    var elements: some Sequence<Element> { heap.lazy.map(\.element) }

    /// The rank of an element; nil when it is not there.
    subscript(element: Element) -> Rank? { places[element].map { heap[$0].rank } }

    /// Adds an element, or changes its rank.
    mutating func set(_ element: Element, _ rank: Rank) {
        if let place = places[element] {
            heap[place].rank = rank
            settle(place)
        } else {
            heap.append((element, rank))
            places[element] = heap.count - 1
            rise(heap.count - 1)
        }
    }

    /// Removes an element; does nothing when it is not there.
    mutating func remove(_ element: Element) {
        guard let place = places.removeValue(forKey: element) else { return }
        let last = heap.removeLast()
        if place < heap.count {
            heap[place] = last
            places[last.element] = place
            settle(place)
        }
        if heap.isEmpty { (heap, places) = ([], [:]) }
    }

    private mutating func settle(_ place: Int) {
        if !rise(place) { sink(place) }
    }

    /// Moves an element towards the root; returns whether it moved.
    @discardableResult
    private mutating func rise(_ place: Int) -> Bool {
        var place = place
        var hasMoved = false
        while place > 0, isLess(place, (place - 1) / 2) {
            swap(place, (place - 1) / 2)
            place = (place - 1) / 2
            hasMoved = true
        }
        return hasMoved
    }

    private mutating func sink(_ place: Int) {
        var place = place
        while 2 * place + 1 < heap.count {
            var child = 2 * place + 1
            if child + 1 < heap.count, isLess(child + 1, child) { child += 1 }
            guard isLess(child, place) else { return }
            swap(place, child)
            place = child
        }
    }

    private mutating func isLess(_ left: Int, _ right: Int) -> Bool {
        comparisons += 1
        return heap[left].rank < heap[right].rank
    }

    private mutating func swap(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        places[heap[left].element] = left
        places[heap[right].element] = right
    }
}
