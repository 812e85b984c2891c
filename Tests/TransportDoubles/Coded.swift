import CZlib
package import Foundation

/// Bytes coded by zlib, for tests.
package enum Coded {
    /// Text that shrinks to about a third and repeats itself nowhere, so that a byte out of place is noticed.
    package static func text(_ count: Int) -> Data {
        var bytes: [UInt8] = []
        var number: UInt64 = 1
        while bytes.count < count {
            number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            bytes += Array("\(number >> 40) and ".utf8)
        }
        return Data(bytes.prefix(count))
    }

    /// The bytes as gzip (31), with the wrapper of zlib (15) or without one (-15).
    package static func deflated(_ bytes: Data, windowBits: Int32 = 31) -> Data {
        var stream = z_stream()
        let size = Int32(MemoryLayout<z_stream>.size)
        deflateInit2_(&stream, 6, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION, size)
        defer { deflateEnd(&stream) }
        var input = [UInt8](bytes)
        var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(input.count))) + 32)
        return input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { target in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                deflate(&stream, Z_FINISH)
                return Data(target.prefix(target.count - Int(stream.avail_out)))
            }
        }
    }
}
