/// The words of a document in memory that can be used for the next document again.
///
/// It owns its memory alone: ``deallocate()`` is called once, by the owner.
struct JSONIndex {
    /// The words in the order of the document.
    private(set) var words: UnsafeMutablePointer<UInt64>
    private(set) var capacity: Int
    /// How many words there are.
    var count = 0

    init(capacity: Int = 128) {
        self.capacity = capacity
        words = .allocate(capacity: capacity)
    }

    func deallocate() { words.deallocate() }

    /// Makes room for as many words again by half.
    ///
    /// Large blocks grow by a half instead of twice, for the peak of the memory is the sum of the old and the new.
    @inline(never)
    mutating func grow() {
        let larger = capacity + max(capacity / 2, 256)
        let moved = UnsafeMutablePointer<UInt64>.allocate(capacity: larger)
        moved.update(from: words, count: count)
        words.deallocate()
        words = moved
        capacity = larger
    }

    /// Makes room for at least so many words when it is empty.
    mutating func reserve(_ wanted: Int) {
        guard wanted > capacity else { return }
        words.deallocate()
        words = .allocate(capacity: wanted)
        capacity = wanted
    }
}
