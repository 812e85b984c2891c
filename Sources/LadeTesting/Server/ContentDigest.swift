#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A fast checksum over bytes in pieces of any size, to compare large bodies without storing them.
///
/// Sixty-four bits, four lanes of multiply and rotate over eight-byte words. It detects accidents, not attacks.
package struct ContentDigest: Sendable, Hashable {
    private var lanes: (UInt64, UInt64, UInt64, UInt64) = (1, 2, 3, 4)
    private var pending: [UInt8] = []
    /// The number of bytes.
    package private(set) var count: Int64 = 0

    /// Makes the checksum of no bytes.
    package init() {}

    /// Makes the checksum of some bytes.
    package init(_ bytes: Data) {
        update(bytes)
    }

    /// Adds bytes.
    package mutating func update(_ bytes: Data) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        count += Int64(bytes.count)
        var rest = bytes[...]
        if !pending.isEmpty {
            let missing = min(32 - pending.count, rest.count)
            pending.append(contentsOf: rest.prefix(missing))
            rest = rest.dropFirst(missing)
            guard pending.count == 32 else { return }
            pending.withUnsafeBytes { Self.mix($0, &lanes) }
            pending.removeAll(keepingCapacity: true)
        }
        let whole = rest.count & ~31
        if whole > 0 {
            Self.mix(UnsafeRawBufferPointer(rebasing: rest.prefix(whole)), &lanes)
            rest = rest.dropFirst(whole)
        }
        if !rest.isEmpty { pending.append(contentsOf: rest) }
    }

    /// The checksum so far.
    package var value: UInt64 {
        var result = UInt64(bitPattern: count)
        for lane in [lanes.0, lanes.1, lanes.2, lanes.3] { result = Self.step(result, lane) }
        for byte in pending { result = Self.step(result, UInt64(byte)) }
        return result ^ (result >> 29)
    }

    // Each word is read with one load: in debug builds this loop runs over hundreds of megabytes.
    private static func mix(_ bytes: UnsafeRawBufferPointer, _ lanes: inout (UInt64, UInt64, UInt64, UInt64)) {
        guard let base = bytes.baseAddress else { return }
        var (a, b, c, d) = lanes
        var offset = 0
        while offset < bytes.count {
            a = ((a ^ base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15)
            a = (a &<< 31) | (a &>> 33)
            b = ((b ^ base.loadUnaligned(fromByteOffset: offset &+ 8, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15)
            b = (b &<< 31) | (b &>> 33)
            c = ((c ^ base.loadUnaligned(fromByteOffset: offset &+ 16, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15)
            c = (c &<< 31) | (c &>> 33)
            d = ((d ^ base.loadUnaligned(fromByteOffset: offset &+ 24, as: UInt64.self)) &* 0x9E37_79B9_7F4A_7C15)
            d = (d &<< 31) | (d &>> 33)
            offset &+= 32
        }
        lanes = (a, b, c, d)
    }

    private static func step(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        let mixed = (lane ^ word) &* 0x9E37_79B9_7F4A_7C15
        return (mixed << 31) | (mixed >> 33)
    }

    /// Whether the same bytes were added, in any pieces.
    package static func == (lhs: ContentDigest, rhs: ContentDigest) -> Bool {
        lhs.count == rhs.count && lhs.value == rhs.value
    }

    /// Hashes the checksum.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(value)
    }
}

extension ContentDigest: CustomStringConvertible {
    /// The count and the checksum in hexadecimal.
    package var description: String { "\(count) bytes, \(String(value, radix: 16))" }
}
