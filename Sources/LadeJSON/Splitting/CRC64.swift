/// A running 64-bit checksum (CRC-64/XZ), whose state can be stored and resumed.
///
/// It detects accidental changes, not deliberate ones. `123456789` gives 995DC9BBDF1939FA.
package struct CRC64: Sendable, Hashable {
    /// The checksum of all bytes so far.
    package private(set) var value: UInt64

    /// Makes an empty checksum, or resumes a stored one.
    package init(resuming value: UInt64 = 0) {
        self.value = value
    }

    /// Adds bytes.
    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        value = Self.tables.withUnsafeBufferPointer { tables in
            var crc = ~value
            var offset = 0
            while bytes.count - offset >= 8 {
                let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) ^ crc
                // There is one table per byte of the word, so that the eight look-ups are independent.
                crc =
                    tables[0x700 | Int(word & 0xFF)] ^ tables[0x600 | Int((word >> 8) & 0xFF)]
                    ^ tables[0x500 | Int((word >> 16) & 0xFF)] ^ tables[0x400 | Int((word >> 24) & 0xFF)]
                    ^ tables[0x300 | Int((word >> 32) & 0xFF)] ^ tables[0x200 | Int((word >> 40) & 0xFF)]
                    ^ tables[0x100 | Int((word >> 48) & 0xFF)] ^ tables[Int(word >> 56)]
                offset += 8
            }
            while offset < bytes.count {
                let byte = base.load(fromByteOffset: offset, as: UInt8.self)
                crc = tables[Int((crc ^ UInt64(byte)) & 0xFF)] ^ (crc >> 8)
                offset += 1
            }
            return ~crc
        }
    }

    /// The checksum of some bytes.
    package static func checksum(_ bytes: [UInt8]) -> UInt64 {
        var crc = CRC64()
        bytes.withUnsafeBytes { crc.update($0) }
        return crc.value
    }

    private static let tables: [UInt64] = {
        let polynomial: UInt64 = 0xC96C_5795_D787_0F42
        var tables = (0..<256).map { index in
            (0..<8).reduce(UInt64(index)) { crc, _ in crc & 1 == 1 ? (crc >> 1) ^ polynomial : crc >> 1 }
        }
        for index in 256..<2048 {
            let before = tables[index - 256]
            tables.append(tables[Int(before & 0xFF)] ^ (before >> 8))
        }
        return tables
    }()
}
