/// The names of a type's coding keys, in a form in which a name in a document is compared by a few words.
///
/// The owner calls ``deallocate()`` exactly once. The memory is written only by the initialiser.
@usableFromInline
struct KeyNames: @unchecked Sendable {
    @usableFromInline
    struct Entry {
        /// The kind, flags and length of the word that an equal name has in an index.
        ///
        /// No word has them for a name that can only be compared byte by byte.
        @usableFromInline var pattern: UInt64
        /// The first eight bytes, or fewer, the first as the lowest.
        @usableFromInline var head: UInt64
        @usableFromInline var mask: UInt64
        /// The last eight bytes of a longer name.
        @usableFromInline var tail: UInt64
        var bytes: UnsafeMutableBufferPointer<UInt8>
    }

    @usableFromInline let entries: UnsafeMutablePointer<Entry>
    @usableFromInline let count: Int

    init(_ names: [[UInt8]]) {
        count = names.count
        entries = .allocate(capacity: names.count)
        for (position, name) in names.enumerated() {
            let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: name.count)
            _ = bytes.initialize(from: name)
            let head = name.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            let tail = name.suffix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            let isPlain = name.count < IndexWord.longLength && name.allSatisfy { $0 < 0x80 }
            let entry = Entry(
                pattern: isPlain ? IndexWord(.string, offset: 0, length: name.count, flags: 0).bits : .max,
                head: head,
                mask: name.count >= 8 ? .max : (1 << UInt64(name.count * 8)) - 1,
                tail: name.count >= 8 ? tail : 0,
                bytes: bytes
            )
            (entries + position).initialize(to: entry)
        }
    }

    func deallocate() {
        for position in 0..<count { entries[position].bytes.deallocate() }
        entries.deallocate()
    }

    /// Whether a name in a document is the name of a key.
    ///
    /// It is false for names that are not plain, even if they are equal.
    @inlinable @inline(__always)
    func matches(_ position: Int, _ word: IndexWord, _ text: UnsafePointer<UInt8>) -> Bool {
        let entry = entries + position
        guard word.bits & 0xFF_FFFF == entry.pointee.pattern else { return false }
        let bytes = UnsafeRawPointer(text)
        let length = word.shortLength
        // In a document at least four bytes follow a name: a quotation mark, a colon, a value and a brace.
        if length >= 4 {
            let head = UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
            guard head & entry.pointee.mask == entry.pointee.head else { return false }
            guard length > 8 else { return true }
            let tail = UInt64(littleEndian: (bytes + (length &- 8)).loadUnaligned(as: UInt64.self))
            guard tail == entry.pointee.tail else { return false }
            return length <= 16 || isEqual(position, text)
        }
        let head = UInt64(UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self)))
        return head & entry.pointee.mask == entry.pointee.head
    }

    /// Whether the name of a key and a text of the same length are equal.
    @usableFromInline
    func isEqual(_ position: Int, _ text: UnsafePointer<UInt8>) -> Bool {
        let wanted = entries[position].bytes
        guard let bytes = wanted.baseAddress else { return true }
        return Bytes.areEqual(bytes, text, wanted.count)
    }

    /// The position of the key that a plain name in a document has, searched after an expected key first; −1 when there
    /// is none.
    func find(_ word: IndexWord, _ text: UnsafePointer<UInt8>, after expected: Int) -> Int {
        var position = expected &+ 1
        while position < count {
            if matches(position, word, text) { return position }
            position &+= 1
        }
        position = 0
        while position < min(expected, count) {
            if matches(position, word, text) { return position }
            position &+= 1
        }
        return -1
    }

    /// The position of the key with a name; −1 when there is none.
    func find(_ name: UnsafeBufferPointer<UInt8>) -> Int {
        for position in 0..<count where entries[position].bytes.count == name.count {
            guard let text = name.baseAddress, name.count > 0 else { return position }
            if isEqual(position, text) { return position }
        }
        return -1
    }
}

/// The keys that occurred in an object.
@usableFromInline
struct SeenKeys {
    @usableFromInline var first: UInt64 = 0
    private var others: Set<Int>?

    @usableFromInline
    init() {}

    /// Whether a key did not occur before.
    @inlinable @inline(__always)
    mutating func insert(_ position: Int) -> Bool {
        guard position < 64 else { return insertOther(position) }
        let bit: UInt64 = 1 &<< UInt64(truncatingIfNeeded: position)
        guard first & bit == 0 else { return false }
        first |= bit
        return true
    }

    @usableFromInline @inline(never)
    mutating func insertOther(_ position: Int) -> Bool {
        var known = others ?? []
        others = nil
        defer { others = known }
        return known.insert(position).inserted
    }
}
