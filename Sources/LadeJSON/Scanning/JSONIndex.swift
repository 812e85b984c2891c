/// The words of a document, in memory that can be reused for the next one.
///
/// The index owns its memory; the owner of the index calls ``deallocate()`` exactly once.
struct JSONIndex {
    /// The words in the order of the document.
    private(set) var words: UnsafeMutablePointer<UInt64>
    private(set) var capacity: Int
    /// The number of words.
    var count = 0
    /// Whether the document is nested more deeply than any thread has stack for.
    var isDeep = false

    init(capacity: Int = 128) {
        self.capacity = capacity
        words = .allocate(capacity: capacity)
    }

    func deallocate() { words.deallocate() }

    /// Grows the capacity by a half.
    ///
    /// Doubling would increase the peak memory use, because old and new blocks exist at the same time.
    @inline(never)
    mutating func grow() {
        let larger = capacity + max(capacity / 2, 256)
        let moved = UnsafeMutablePointer<UInt64>.allocate(capacity: larger)
        moved.update(from: words, count: count)
        words.deallocate()
        words = moved
        capacity = larger
    }

    /// Reserves a capacity while the index is empty.
    mutating func reserve(_ wanted: Int) {
        guard wanted > capacity else { return }
        words.deallocate()
        words = .allocate(capacity: wanted)
        capacity = wanted
    }
}
