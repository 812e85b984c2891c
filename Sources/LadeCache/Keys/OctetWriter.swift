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

    /// Writes a part that begins with a byte.
    mutating func write(_ first: UInt8, _ rest: some Collection<UInt8>) {
        writeNumber(UInt64(rest.count) + 2)
        octets.append(first)
        octets += rest
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
    private let octets: [UInt8]
    private var position = 0

    /// Reads from the beginning.
    package init(_ octets: [UInt8]) { self.octets = octets }

    /// Whether all parts were read.
    package var isAtEnd: Bool { position == octets.count }

    /// Reads a part: nil for malformed bytes, `.some(nil)` for an absent part.
    package mutating func read() -> [UInt8]?? {
        guard let count = readNumber() else { return nil }
        guard count > 0 else { return .some(nil) }
        guard let range = take(count - 1) else { return nil }
        return Array(octets[range])
    }

    /// Calls a closure with the bytes of a part; nil for malformed bytes, for an absent part, and where the closure says so.
    package mutating func withPart<Value>(_ body: (UnsafeBufferPointer<UInt8>) -> Value?) -> Value? {
        guard let count = readNumber(), count > 0, let range = take(count - 1) else { return nil }
        return octets.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    private mutating func take(_ count: UInt64) -> Range<Int>? {
        guard count <= UInt64(octets.count - position) else { return nil }
        defer { position += Int(count) }
        return position..<position + Int(count)
    }

    /// Reads a number.
    package mutating func readNumber() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 64 {
            guard position < octets.count else { return nil }
            let byte = octets[position]
            position += 1
            let bits = UInt64(byte & 0x7F)
            guard shift < 63 || bits <= 1 else { return nil }
            value |= bits &<< shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }
}
