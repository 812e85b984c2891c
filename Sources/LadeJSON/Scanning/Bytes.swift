/// Operations on several bytes at a time.
enum Bytes {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// Loads eight bytes, the first as the lowest.
    @inline(__always)
    static func word(_ position: UnsafePointer<UInt8>) -> UInt64 {
        UInt64(littleEndian: UnsafeRawPointer(position).loadUnaligned(as: UInt64.self))
    }

    @inline(__always)
    static func half(_ position: UnsafePointer<UInt8>) -> UInt32 {
        UInt32(littleEndian: UnsafeRawPointer(position).loadUnaligned(as: UInt32.self))
    }

    @inline(__always)
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    @inline(__always)
    static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 <= 9 }

    /// The highest bit of the first byte that is a quotation mark, a backslash or a control character.
    ///
    /// Bits above the lowest set bit may be wrong, because a subtraction borrows; use only the lowest.
    @inline(__always)
    static func endOfPlainText(_ word: UInt64) -> UInt64 {
        let quote = word ^ (ones &* 0x22)
        let backslash = word ^ (ones &* 0x5C)
        let control = (word &- (ones &* 0x20)) & ~word
        return (((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | control) & highBits
    }

    /// The first quotation mark, backslash, control character or non-ASCII byte; one of the last seven bytes when there is
    /// none before them.
    @inline(__always)
    static func endOfASCIIText(_ from: UnsafePointer<UInt8>, _ end: UnsafePointer<UInt8>) -> UnsafePointer<UInt8> {
        var position = from
        let space = SIMD16<Int8>(repeating: 0x20)
        let quote = SIMD16<Int8>(repeating: 0x22)
        let backslash = SIMD16<Int8>(repeating: 0x5C)
        while end - position >= 16 {
            let bytes = UnsafeRawPointer(position).loadUnaligned(as: SIMD16<Int8>.self)
            // Non-ASCII bytes are negative, so they are less than a space, like control characters.
            let isSpecial = (bytes .< space) .| (bytes .== quote) .| (bytes .== backslash)
            let words = unsafeBitCast(isSpecial, to: SIMD2<UInt64>.self)
            if words[0] != 0 { return position + (UInt64(littleEndian: words[0]).trailingZeroBitCount >> 3) }
            if words[1] != 0 { return position + 8 + (UInt64(littleEndian: words[1]).trailingZeroBitCount >> 3) }
            position += 16
        }
        while end - position >= 8 {
            let word = word(position)
            // The lowest bit of a mask is always correct.
            let mask = endOfPlainText(word) | (word & highBits)
            guard mask == 0 else { return position + (mask.trailingZeroBitCount >> 3) }
            position += 8
        }
        return position
    }

    /// Whether all bytes are ASCII.
    @inline(__always)
    static func areASCII(_ start: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        if count >= 8 {
            var all = word(start + (count &- 8))
            var position = 0
            while position &+ 8 <= count {
                all |= word(start + position)
                position &+= 8
            }
            return all & highBits == 0
        }
        var all: UInt8 = 0
        var position = 0
        while position < count {
            all |= start[position]
            position &+= 1
        }
        return all < 0x80
    }

    /// The highest bit of the first byte that is zero; bits above the lowest one set may be wrong.
    @inline(__always)
    static func zeros(_ word: UInt64) -> UInt64 { ((word &- ones) & ~word) & highBits }

    /// The position of the first backslash among eight bytes; 8 when there is none.
    @inline(__always)
    static func firstBackslash(_ word: UInt64) -> Int {
        let backslash = word ^ (ones &* 0x5C)
        return (((backslash &- ones) & ~backslash) & highBits).trailingZeroBitCount >> 3
    }

    /// Whether all eight bytes are decimal digits.
    @inline(__always)
    static func areDigits(_ word: UInt64) -> Bool {
        let zeros: UInt64 = 0x3030_3030_3030_3030
        return (word & 0xF0F0_F0F0_F0F0_F0F0) | (((word &+ 0x0606_0606_0606_0606) & 0xF0F0_F0F0_F0F0_F0F0) >> 4)
            == zeros | (zeros >> 4)
    }

    /// The value of eight decimal digits.
    @inline(__always)
    static func number(digits word: UInt64) -> UInt64 {
        // Pairs are combined first, then fours, then all eight; each step needs one multiplication for all lanes.
        var value = word &- 0x3030_3030_3030_3030
        value = (value &* 10) &+ (value >> 8)
        let mask: UInt64 = 0x0000_00FF_0000_00FF
        let low = (value & mask) &* 0x000F_4240_0000_0064
        let high = ((value >> 16) & mask) &* 0x0000_2710_0000_0001
        return (low &+ high) >> 32
    }

    /// Whether two ranges of bytes are equal.
    @inline(__always)
    static func areEqual(_ left: UnsafePointer<UInt8>, _ right: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        if count >= 8 {
            var position = 0
            while position &+ 8 <= count {
                guard word(left + position) == word(right + position) else { return false }
                position &+= 8
            }
            return word(left + (count &- 8)) == word(right + (count &- 8))
        }
        if count >= 4 {
            return half(left) == half(right) && half(left + (count &- 4)) == half(right + (count &- 4))
        }
        var position = 0
        while position < count {
            guard left[position] == right[position] else { return false }
            position &+= 1
        }
        return true
    }

    /// The number of occurrences of a byte.
    static func count(of byte: UInt8, _ start: UnsafePointer<UInt8>, _ count: Int) -> Int {
        let pattern = ones &* UInt64(byte)
        var found = 0
        var position = 0
        let wanted = SIMD16<UInt8>(repeating: byte)
        while position &+ 16 <= count {
            // A lane counts to 255 at most.
            let end = min(count &- 15, position &+ 255 &* 16)
            var lanes = SIMD16<UInt8>()
            while position < end {
                let bytes = UnsafeRawPointer(start + position).loadUnaligned(as: SIMD16<UInt8>.self)
                lanes.replace(with: lanes &+ 1, where: bytes .== wanted)
                position &+= 16
            }
            found &+= Int(SIMD16<UInt16>(truncatingIfNeeded: lanes).wrappedSum())
        }
        while position &+ 8 <= count {
            let difference = word(start + position) ^ pattern
            // Sets the highest bit of each byte that is zero, without a borrow between bytes.
            let equal = ~(((difference & ~highBits) &+ ~highBits) | difference | ~highBits)
            found &+= Int(truncatingIfNeeded: ((equal >> 7) &* ones) >> 56)
            position &+= 8
        }
        while position < count {
            if start[position] == byte { found &+= 1 }
            position &+= 1
        }
        return found
    }
}
