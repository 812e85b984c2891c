#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes images with stripes in two colours, as uncompressed PNG (ISO/IEC 15948, RFC 1950, RFC 1951 §3.2.4).
enum CataloguePicture {
    static func png(width: Int, height: Int) -> Data {
        var rows: [UInt8] = []
        let rowBytes = (width + 7) / 8
        rows.reserveCapacity((rowBytes + 1) * height)
        for row in 0..<height {
            // Each line has no filter and one bit per pixel.
            rows.append(0)
            rows.append(contentsOf: repeatElement(row / 16 % 2 == 0 ? 0xF0 : 0x0F, count: rowBytes))
        }
        var data: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        data += chunk("IHDR", bytes(width) + bytes(height) + [1, 3, 0, 0, 0])
        data += chunk("PLTE", [0x20, 0x40, 0x80, 0xE0, 0xE8, 0xF0])
        data += chunk("IDAT", stored(rows))
        data += chunk("IEND", [])
        return Data(data)
    }

    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x78, 0x01]
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(65_535)
            rest = rest.dropFirst(block.count)
            let (low, high) = (UInt8(block.count & 0xFF), UInt8(block.count >> 8))
            result += [rest.isEmpty ? 1 : 0, low, high, ~low, ~high]
            result += block
        } while !rest.isEmpty
        var (first, second) = (1, 0)
        for byte in bytes {
            first = (first + Int(byte)) % 65_521
            second = (second + first) % 65_521
        }
        return result + self.bytes(second << 16 | first)
    }

    private static func chunk(_ name: String, _ content: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + content
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in body {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return bytes(content.count) + body + bytes(Int(~crc))
    }

    private static func bytes(_ number: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: number >> $0) }
    }
}
