#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeTesting

/// One text in every content coding.
enum CodedSample {
    static let text = String(repeating: "Evening news, culture, sport: ", count: 8)

    /// Made with zlib, Brotli and Zstandard at their highest common levels; `deflate` is the zlib format (RFC 9110
    /// §8.4.1.2).
    static let all: [String: Data] = [
        "gzip": "H4sIAAAAAAACA3MtS83LzEtXyEstL9ZRSC7NKSktStVRKC7ILyqxUnAddrIAM+E/d/AAAAA=",
        "deflate": "eNpzLUvNy8xLV8hLLS/WUUguzSkpLUrVUSguyC8qsVJwHXayAPZYVrk=",
        "br": "G+8AUBSh0hOERQcmcsBeC09OD5UOmQnDU9aAtYbQPGME",
        "zstd": "KLUv/SDwLQEA8EV2ZW5pbmcgbmV3cywgY3VsdHVyZSwgc3BvcnQ6IAEAPgOlnA==",
    ].compactMapValues { Data(base64Encoded: $0) }

    /// The text coded with `br` and then with `gzip`.
    static let gzipOfBrotli =
        Data(base64Encoded: "H4sIAAAAAAACA5N+zxAgsvCScIsru1rRgThufz/+qXwzOQ8HX2vY2nbBJpkFAJ15AR4hAAAA") ?? Data()
}

/// Zeros in gzip format (RFC 1951, RFC 1952), about 158 of them per byte.
enum GzipZeros {
    /// Makes the gzip form of a number of zeros, a multiple of 258 plus one.
    ///
    /// One block of fixed codes: the literal 0, then copies of 258 bytes from a distance of 1, thirteen bits each.
    static func make(copies: Int) -> Data {
        var writer = BitWriter()
        writer.append(0b1, count: 1)  // the last block …
        writer.append(0b01, count: 2)  // … with fixed codes
        writer.appendCode(0b0011_0000, count: 8)  // literal 0
        for _ in 0..<copies {
            writer.appendCode(0b1100_0101, count: 8)  // length 258
            writer.appendCode(0b00000, count: 5)  // distance 1
        }
        writer.appendCode(0b0000000, count: 7)  // the end
        let count = 1 + copies * 258
        var bytes: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 3]
        bytes += writer.finish()
        for value in [checksum(ofZeros: count), UInt32(truncatingIfNeeded: count)] {
            for shift in stride(from: 0, to: 32, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: value >> UInt32(shift)))
            }
        }
        return Data(bytes)
    }

    /// The CRC-32 of a number of zeros: each is eight steps of the shift register.
    private static func checksum(ofZeros count: Int) -> UInt32 {
        var table: [UInt32] = []
        for index: UInt32 in 0..<256 {
            var value = index
            for _ in 0..<8 {
                let isOdd = value & 1 == 1
                value >>= 1
                if isOdd { value ^= 0xEDB8_8320 }
            }
            table.append(value)
        }
        var register: UInt32 = .max
        for _ in 0..<count { register = table[Int(register & 0xFF)] ^ (register >> 8) }
        return ~register
    }

    private struct BitWriter {
        private var bytes: [UInt8] = []
        private var current: UInt8 = 0
        private var used = 0

        /// The least significant bit first, as numbers are written.
        mutating func append(_ value: Int, count: Int) {
            for bit in 0..<count { push(value >> bit & 1) }
        }

        /// The most significant bit first, as codes are written.
        mutating func appendCode(_ value: Int, count: Int) {
            for bit in stride(from: count - 1, through: 0, by: -1) { push(value >> bit & 1) }
        }

        mutating func finish() -> [UInt8] {
            if used > 0 { bytes.append(current) }
            return bytes
        }

        private mutating func push(_ bit: Int) {
            current |= UInt8(bit) << UInt8(used)
            used += 1
            if used == 8 {
                bytes.append(current)
                current = 0
                used = 0
            }
        }
    }
}
