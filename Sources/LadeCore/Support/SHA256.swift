#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The hash function SHA-256 (FIPS 180-4 §6.2), over bytes that arrive in pieces of any size.
///
/// Written with pointers and wrapping operators, which cost little in debug builds too: there, arrays and checked operators
/// take ten times as long.
package struct SHA256: Sendable, Hashable {
    private var state: [UInt32] = [
        0x6A09_E667, 0xBB67_AE85, 0x3C6E_F372, 0xA54F_F53A, 0x510E_527F, 0x9B05_688C, 0x1F83_D9AB, 0x5BE0_CD19,
    ]
    /// The bytes of a block that is not full yet.
    private var pending: [UInt8] = []
    private var count: UInt64 = 0

    /// Makes the hash of no bytes.
    package init() {}

    /// The hash of some bytes.
    package static func hash(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }

    /// Adds bytes.
    package mutating func update(_ bytes: some Sequence<UInt8>) {
        let isAdded: Void? = bytes.withContiguousStorageIfAvailable { add(UnsafeRawBufferPointer($0)) }
        if isAdded == nil { Array(bytes).withUnsafeBytes { add($0) } }
    }

    /// The hash of all bytes so far: 32 bytes.
    package func finish() -> [UInt8] {
        var state = state
        let length = count &* 8
        // The rest, a one bit, zeros, and the length in bits: one block or two.
        let size = pending.count < Self.block - 8 ? Self.block : 2 * Self.block
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { rest in
            rest.initializeMemory(as: UInt8.self, repeating: 0)
            rest.copyBytes(from: pending)
            rest[pending.count] = 0x80
            rest.storeBytes(of: length.bigEndian, toByteOffset: size - 8, as: UInt64.self)
            Self.mix(UnsafeRawBufferPointer(rest), into: &state)
        }
        return [UInt8](unsafeUninitializedCapacity: 32) { hash, count in
            for (index, word) in state.enumerated() {
                UnsafeMutableRawBufferPointer(hash).storeBytes(
                    of: word.bigEndian,
                    toByteOffset: 4 * index,
                    as: UInt32.self
                )
            }
            count = 32
        }
    }

    private mutating func add(_ bytes: UnsafeRawBufferPointer) {
        count &+= UInt64(bytes.count)
        var rest = bytes[...]
        if !pending.isEmpty {
            let missing = rest.prefix(Self.block - pending.count)
            pending.append(contentsOf: missing)
            rest = rest.dropFirst(missing.count)
            guard pending.count == Self.block else { return }
            pending.withUnsafeBytes { Self.mix($0, into: &state) }
            pending.removeAll(keepingCapacity: true)
        }
        let whole = rest.prefix(rest.count / Self.block * Self.block)
        if !whole.isEmpty { Self.mix(UnsafeRawBufferPointer(rebasing: whole), into: &state) }
        pending.append(contentsOf: rest.dropFirst(whole.count))
    }

    private static let block = 64

    /// Mixes whole blocks into the state.
    private static func mix(_ blocks: UnsafeRawBufferPointer, into state: inout [UInt32]) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: block) { words in
            state.withUnsafeMutableBufferPointer { state in
                constants.withUnsafeBufferPointer { constants in
                    guard let words = words.baseAddress, let state = state.baseAddress, let base = blocks.baseAddress,
                        let constants = constants.baseAddress
                    else { return }
                    var offset = 0
                    while offset < blocks.count {
                        // The words of a block are aligned in the copy.
                        memcpy(words, base + offset, block)
                        mix(words, constants, state)
                        offset &+= block
                    }
                }
            }
        }
    }

    private static func mix(
        _ words: UnsafeMutablePointer<UInt32>,
        _ constants: UnsafePointer<UInt32>,
        _ state: UnsafeMutablePointer<UInt32>
    ) {
        var index = 0
        while index < 16 {
            words[index] = words[index].bigEndian
            index &+= 1
        }
        while index < 64 {
            let (early, late) = (words[index &- 15], words[index &- 2])
            let first = (early &>> 7 | early &<< 25) ^ (early &>> 18 | early &<< 14) ^ early &>> 3
            let second = (late &>> 17 | late &<< 15) ^ (late &>> 19 | late &<< 13) ^ late &>> 10
            words[index] = words[index &- 16] &+ first &+ words[index &- 7] &+ second
            index &+= 1
        }
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        var (e, f, g, h) = (state[4], state[5], state[6], state[7])
        index = 0
        while index < 64 {
            let sum = (e &>> 6 | e &<< 26) ^ (e &>> 11 | e &<< 21) ^ (e &>> 25 | e &<< 7)
            let choice = (e & f) ^ (~e & g)
            let first = h &+ sum &+ choice &+ constants[index] &+ words[index]
            let other = (a &>> 2 | a &<< 30) ^ (a &>> 13 | a &<< 19) ^ (a &>> 22 | a &<< 10)
            let second = other &+ ((a & b) ^ (a & c) ^ (b & c))
            h = g
            g = f
            f = e
            e = d &+ first
            d = c
            c = b
            b = a
            a = first &+ second
            index &+= 1
        }
        state[0] &+= a
        state[1] &+= b
        state[2] &+= c
        state[3] &+= d
        state[4] &+= e
        state[5] &+= f
        state[6] &+= g
        state[7] &+= h
    }

    /// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428A_2F98, 0x7137_4491, 0xB5C0_FBCF, 0xE9B5_DBA5, 0x3956_C25B, 0x59F1_11F1, 0x923F_82A4, 0xAB1C_5ED5,
        0xD807_AA98, 0x1283_5B01, 0x2431_85BE, 0x550C_7DC3, 0x72BE_5D74, 0x80DE_B1FE, 0x9BDC_06A7, 0xC19B_F174,
        0xE49B_69C1, 0xEFBE_4786, 0x0FC1_9DC6, 0x240C_A1CC, 0x2DE9_2C6F, 0x4A74_84AA, 0x5CB0_A9DC, 0x76F9_88DA,
        0x983E_5152, 0xA831_C66D, 0xB003_27C8, 0xBF59_7FC7, 0xC6E0_0BF3, 0xD5A7_9147, 0x06CA_6351, 0x1429_2967,
        0x27B7_0A85, 0x2E1B_2138, 0x4D2C_6DFC, 0x5338_0D13, 0x650A_7354, 0x766A_0ABB, 0x81C2_C92E, 0x9272_2C85,
        0xA2BF_E8A1, 0xA81A_664B, 0xC24B_8B70, 0xC76C_51A3, 0xD192_E819, 0xD699_0624, 0xF40E_3585, 0x106A_A070,
        0x19A4_C116, 0x1E37_6C08, 0x2748_774C, 0x34B0_BCB5, 0x391C_0CB3, 0x4ED8_AA4A, 0x5B9C_CA4F, 0x682E_6FF3,
        0x748F_82EE, 0x78A5_636F, 0x84C8_7814, 0x8CC7_0208, 0x90BE_FFFA, 0xA450_6CEB, 0xBEF9_A3F7, 0xC671_78F2,
    ]
}

/// Splits bytes into blocks of 64 and pads the last, as MD5 and SHA-256 require.
struct BlockBuffer: Sendable {
    private var pending: [UInt8] = []
    private var count: UInt64 = 0

    /// Adds bytes.
    ///
    /// `mix` receives each whole block, as bytes and the offset of the block in them.
    mutating func add(_ bytes: some Sequence<UInt8>, _ mix: (_ bytes: [UInt8], _ start: Int) -> Void) {
        let before = pending.count
        pending.append(contentsOf: bytes)
        count += UInt64(pending.count - before)
        var start = 0
        while pending.count - start >= 64 {
            mix(pending, start)
            start += 64
        }
        pending.removeFirst(start)
    }

    mutating func finish(bigEndianLength: Bool, _ mix: (_ bytes: [UInt8], _ start: Int) -> Void) {
        let bits = count &* 8
        let zeros = (119 - pending.count) % 64
        let length = (0..<8).map { UInt8(truncatingIfNeeded: bits >> (8 * UInt64($0))) }
        add([0x80] + Array(repeating: 0, count: zeros) + (bigEndianLength ? length.reversed() : length), mix)
    }
}

extension UInt32 {
    func rotated(right count: UInt32) -> UInt32 { self >> count | self << (32 - count) }
}

extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits.
    package var hexadecimalText: String {
        String(decoding: flatMap { [Self.digits[Int($0 >> 4)], Self.digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static var digits: [UInt8] { Array("0123456789abcdef".utf8) }
}
