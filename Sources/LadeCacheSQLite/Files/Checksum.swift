#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The hash function XXH64 (Collet, *xxHash*), which finds damage and not intent.
enum Checksum {
    /// The bytes that have one checksum in a body.
    static let chunk = 64 << 10

    private static let first: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let second: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let third: UInt64 = 0x1656_67B1_9E37_79F9
    private static let fourth: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let fifth: UInt64 = 0x27D4_EB2F_1656_67C5

    /// The hash of some bytes.
    static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        func word(_ offset: Int) -> UInt64 {
            UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        let count = bytes.count
        var offset = 0
        var hash: UInt64
        if count >= 32 {
            var (a, b, c, d) = (seed &+ first &+ second, seed &+ second, seed, seed &- first)
            while offset &+ 32 <= count {
                a = round(a, word(offset))
                b = round(b, word(offset &+ 8))
                c = round(c, word(offset &+ 16))
                d = round(d, word(offset &+ 24))
                offset &+= 32
            }
            hash = rotated(a, 1) &+ rotated(b, 7) &+ rotated(c, 12) &+ rotated(d, 18)
            hash = (hash ^ round(0, a)) &* first &+ fourth
            hash = (hash ^ round(0, b)) &* first &+ fourth
            hash = (hash ^ round(0, c)) &* first &+ fourth
            hash = (hash ^ round(0, d)) &* first &+ fourth
        } else {
            hash = seed &+ fifth
        }
        hash &+= UInt64(count)
        while offset &+ 8 <= count {
            hash = rotated(hash ^ round(0, word(offset)), 27) &* first &+ fourth
            offset &+= 8
        }
        if offset &+ 4 <= count {
            let half = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
            hash = rotated(hash ^ UInt64(half) &* first, 23) &* second &+ third
            offset &+= 4
        }
        while offset < count {
            hash = rotated(hash ^ UInt64(bytes[offset]) &* fifth, 11) &* first
            offset &+= 1
        }
        hash = (hash ^ hash &>> 33) &* second
        hash = (hash ^ hash &>> 29) &* third
        return hash ^ hash &>> 32
    }

    /// The hash of some bytes.
    static func hash(_ bytes: [UInt8], seed: UInt64) -> UInt64 { bytes.withUnsafeBytes { hash($0, seed: seed) } }

    /// The checksum of a chunk, which no other chunk and no other body has.
    static func chunk(_ number: Int, _ bytes: UnsafeRawBufferPointer, seed: UInt64) -> UInt64 {
        hash(bytes, seed: seed &+ UInt64(number))
    }

    private static func round(_ lane: UInt64, _ input: UInt64) -> UInt64 {
        rotated(lane &+ input &* second, 31) &* first
    }

    private static func rotated(_ value: UInt64, _ count: UInt64) -> UInt64 {
        value &<< count | value &>> (64 &- count)
    }
}

/// The checksums of the chunks of one body.
struct ChunkSums: Sendable, Hashable {
    private(set) var octets: [UInt8] = []

    init(_ octets: [UInt8] = []) { self.octets = octets }

    mutating func append(_ sum: UInt64) { withUnsafeBytes(of: sum.littleEndian) { octets += $0 } }

    /// Whether the bytes are the bytes of a chunk, by its checksum.
    func match(_ number: Int, _ bytes: UnsafeRawBufferPointer, seed: UInt64) -> Bool {
        guard octets.count >= 8 * (number + 1) else { return false }
        let sum = octets.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: 8 * number, as: UInt64.self) }
        return UInt64(littleEndian: sum) == Checksum.chunk(number, bytes, seed: seed)
    }

    /// Whether these are as many as a body of that length has.
    func suffice(_ length: Int64) -> Bool {
        Int64(octets.count / 8) == (length + Int64(Checksum.chunk) - 1) / Int64(Checksum.chunk)
    }

    /// The checksums of a body in memory.
    init(of body: Data, seed: UInt64) {
        var number = 0
        body.withUnsafeBytes { bytes in
            while number * Checksum.chunk < bytes.count {
                let start = number * Checksum.chunk
                let end = min(start + Checksum.chunk, bytes.count)
                append(Checksum.chunk(number, UnsafeRawBufferPointer(rebasing: bytes[start..<end]), seed: seed))
                number += 1
            }
        }
    }
}
