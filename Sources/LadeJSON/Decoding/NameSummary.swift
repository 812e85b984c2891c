/// A set of names that may also contain names that were not inserted, for quickly rejecting most absent names.
///
/// It has 256 places. With 20 names, one absent name in 13 seems to be contained; with 64 places it would be one in 4.
/// Each costs a search through the whole object.
struct NameSummary {
    private var bits: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)

    /// Inserts a place, and returns whether it was free.
    @inline(__always)
    mutating func insert(_ place: UInt64) -> Bool {
        withUnsafeMutableBytes(of: &bits) { words in
            let offset = Int(truncatingIfNeeded: place >> 6) &* 8
            let bit: UInt64 = 1 &<< place
            guard let base = words.baseAddress else { return true }
            let word = base.load(fromByteOffset: offset, as: UInt64.self)
            base.storeBytes(of: word | bit, toByteOffset: offset, as: UInt64.self)
            return word & bit == 0
        }
    }

    @inline(__always)
    func contains(_ place: UInt64) -> Bool {
        withUnsafeBytes(of: bits) { words in
            guard let base = words.baseAddress else { return false }
            return base.load(fromByteOffset: Int(truncatingIfNeeded: place >> 6) &* 8, as: UInt64.self) & 1 &<< place
                != 0
        }
    }

    /// The place of a name from 0 to 255, from its length and its first and last eight bytes.
    @inline(__always)
    static func place(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
        guard let bytes = name.baseAddress else { return 0 }
        let count = name.count
        let (head, tail): (UInt64, UInt64)
        if count >= 8 {
            (head, tail) = (Bytes.word(bytes), Bytes.word(bytes + (count &- 8)))
        } else if count >= 4 {
            (head, tail) = (UInt64(Bytes.half(bytes)), UInt64(Bytes.half(bytes + (count &- 4))))
        } else if count > 0 {
            (head, tail) = (UInt64(bytes[0]), UInt64(bytes[count &- 1]) << 8 | UInt64(bytes[count >> 1]))
        } else {
            return 0
        }
        // The highest bits of a product depend on all bits of its factors; the constant is 2⁶⁴ divided by the golden
        // ratio.
        let mixed = head ^ (tail << 40 | tail >> 24) &+ UInt64(truncatingIfNeeded: count)
        return (mixed &* 0x9E37_79B9_7F4A_7C15) >> 56
    }

    /// The place of a name and of its forms in snake case, from its first and last letter in lower case.
    @inline(__always)
    static func snakePlace(_ name: UnsafeBufferPointer<UInt8>) -> UInt64 {
        guard name.count > 0 else { return 0 }
        return (UInt64(name[0] | 0x20) &* 29 &+ UInt64(name[name.count &- 1] | 0x20) &* 7) & 0xFF
    }
}
