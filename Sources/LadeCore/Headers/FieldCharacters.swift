#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension UInt8 {
    /// Whether the byte may occur in a token: a method, a field name, a parameter name (RFC 9110 §5.6.2).
    @inlinable package var isTokenCharacter: Bool {
        // One bit for each of the 128 characters, because this runs for each byte of each name.
        let high = self >= 0x40
        let bits: UInt64 = high ? 0x57FF_FFFF_C7FF_FFFE : 0x03FF_6CFA_0000_0000
        return self < 0x80 && bits >> UInt64(self & 0x3F) & 1 == 1
    }

    /// Whether the byte may occur in a field value: visible, space, tab or above ASCII (RFC 9110 §5.5).
    @inlinable package var isFieldContent: Bool {
        self >= 0x20 ? self != 0x7F : self == 0x09
    }

    /// The byte with A–Z folded to a–z.
    @inlinable package var lowercasedASCII: UInt8 {
        self &- 0x41 < 26 ? self | 0x20 : self
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Whether every byte may occur in a field value.
    ///
    /// Checks eight bytes at a time, because most values have nothing unusual.
    package var areFieldContent: Bool {
        guard let baseAddress else { return true }
        let start = UnsafeRawPointer(baseAddress)
        var offset = 0
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops = ones << 7
        while offset < count, count >= 8 {
            // The last word may overlap the one before.
            offset = Swift.min(offset, count - 8)
            let word = start.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let belowSpace = (word &- ones &* 0x20) & ~word & tops
            let mixed = word ^ ones &* 0x7F
            let delete = (mixed &- ones) & ~mixed & tops
            // The subtraction may borrow, which can flag a valid byte but never hides an invalid one. A tab is valid
            // too, so flagged words are checked byte by byte.
            if belowSpace | delete != 0 {
                for index in offset..<(offset + 8) where !self[index].isFieldContent { return false }
            }
            offset += 8
        }
        while offset < count {
            guard self[offset].isFieldContent else { return false }
            offset += 1
        }
        return true
    }

    /// How many bytes at the beginning may occur in a token.
    ///
    /// Checks eight at a time, because most are letters and hyphens.
    package var tokenPrefixLength: Int {
        guard let baseAddress else { return 0 }
        let start = UnsafeRawPointer(baseAddress)
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops = ones << 7
        var offset = 0
        while offset + 8 <= count {
            let word = start.loadUnaligned(fromByteOffset: offset, as: UInt64.self).littleEndian
            let lower = (word | ones &* 0x20) & ~tops
            // The top bit of each byte says whether it is from a to z, or a hyphen.
            let letters = (lower &+ ones &* (0x80 - 0x61)) & ~(lower &+ ones &* (0x80 - 0x7B))
            let hyphens = ~((((word ^ ones &* 0x2D) & ~tops) &+ ones &* 0x7F) | word ^ ones &* 0x2D)
            let others = ~((letters & ~word) | hyphens) & tops
            if others != 0 {
                offset += others.trailingZeroBitCount / 8
                break
            }
            offset += 8
        }
        while offset < count, self[offset].isTokenCharacter { offset += 1 }
        return offset
    }
}

extension String {
    /// Whether two texts are the same bytes.
    ///
    /// `==` also accepts texts that Unicode calls equivalent, and takes longer.
    package func isSpelled(like other: String) -> Bool {
        utf8.count == other.utf8.count && begins(with: other)
    }

    /// Whether a text begins with the bytes of another.
    package func begins(with prefix: String) -> Bool {
        guard utf8.count >= prefix.utf8.count else { return false }
        let isPrefix = utf8.withContiguousStorageIfAvailable { mine in
            prefix.utf8.withContiguousStorageIfAvailable { theirs in
                guard let first = mine.baseAddress, let second = theirs.baseAddress else { return true }
                return memcmp(first, second, theirs.count) == 0
            }
        }
        if let isPrefix, let isPrefix { return isPrefix }
        return utf8.starts(with: prefix.utf8)
    }

    /// Whether two texts are equal when the case of A–Z is ignored; other characters compare exactly.
    package func equalsIgnoringASCIICase(_ other: String) -> Bool {
        let count = utf8.count
        guard count == other.utf8.count else { return false }
        // Native Swift strings are contiguous; others (bridged ones on Apple platforms) take the slower path.
        let isEqual = utf8.withContiguousStorageIfAvailable { mine in
            other.utf8.withContiguousStorageIfAvailable { theirs in
                for index in 0..<count where mine[index] != theirs[index] {
                    guard mine[index].lowercasedASCII == theirs[index].lowercasedASCII else { return false }
                }
                return true
            }
        }
        if let isEqual, let isEqual { return isEqual }
        return zip(utf8, other.utf8).allSatisfy { $0.lowercasedASCII == $1.lowercasedASCII }
    }
}

extension String {
    /// The text with control characters written as `\xNN`, cut after `limit` characters.
    ///
    /// Every text of a server passes through this before it becomes part of a message that a terminal may show.
    package func escapedForDisplay(limit: Int = 200) -> String {
        var result = ""
        for (count, scalar) in unicodeScalars.enumerated() {
            guard count < limit else { return result + "…" }
            if scalar.rewritesDisplay {
                let value = scalar.value
                let digits = String(value, radix: 16, uppercase: true)
                result += value < 0x100 ? "\\x" + (digits.count < 2 ? "0" : "") + digits : "\\u{" + digits + "}"
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}

extension Unicode.Scalar {
    /// Whether the character can change how the text around it is displayed: C0, DEL, C1, the line and paragraph
    /// separators, and the bidirectional controls.
    package var rewritesDisplay: Bool {
        value < 0x20 || (0x7F...0x9F).contains(value)
            || (0x200E...0x200F).contains(value) || (0x2028...0x202E).contains(value)
            || (0x2066...0x2069).contains(value) || value == 0x061C
    }
}
