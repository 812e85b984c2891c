/// Joins parts with their lengths, so that no two lists of parts have the same bytes.
package struct OctetWriter {
    /// The parts so far.
    package private(set) var octets: [UInt8] = []

    /// Begins without parts, with room for some bytes.
    package init(capacity: Int = 0) { octets.reserveCapacity(capacity) }

    /// Writes a part; an absent one differs from an empty one.
    package mutating func write(_ part: (some Collection<UInt8>)?) {
        guard let part else { return writeNumber(0) }
        writeNumber(UInt64(part.count) + 1)
        octets += part
    }

    /// Writes a number of up to 64 bits, seven bits in each byte.
    package mutating func writeNumber(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            octets.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        octets.append(UInt8(rest))
    }
}

/// Reads what ``OctetWriter`` wrote; nil where the bytes do not say.
package struct OctetReader {
    private var rest: ArraySlice<UInt8>

    /// Reads from the beginning.
    package init(_ octets: [UInt8]) { rest = octets[...] }

    /// Whether all parts were read.
    package var isAtEnd: Bool { rest.isEmpty }

    /// Reads a part: nil for malformed bytes, `.some(nil)` for an absent part.
    package mutating func read() -> [UInt8]?? {
        guard let count = readNumber() else { return nil }
        guard count > 0 else { return .some(nil) }
        guard count - 1 <= UInt64(rest.count) else { return nil }
        defer { rest = rest.dropFirst(Int(count - 1)) }
        return Array(rest.prefix(Int(count - 1)))
    }

    /// Reads a number.
    package mutating func readNumber() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || bits <= 1 else { return nil }
            value |= bits << shift
            if byte < 0x80 { return value }
        }
        return nil
    }
}
