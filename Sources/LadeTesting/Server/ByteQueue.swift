#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Bytes that are appended at the end and removed from the front.
///
/// A slice of `Data` would keep all bytes it was ever cut from.
struct ByteQueue {
    private var storage = Data()
    private var start = 0

    var count: Int { storage.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        storage.append(base.assumingMemoryBound(to: UInt8.self), count: bytes.count)
    }

    /// Removes and returns the first bytes.
    mutating func take(_ count: Int) -> Data {
        let piece = Data(storage[start..<(start + count)])
        start += count
        if start == storage.count {
            storage.removeAll(keepingCapacity: true)
            start = 0
        } else if start > 256 << 10 {
            storage.removeSubrange(..<start)
            start = 0
        }
        return piece
    }

    mutating func removeAll() {
        storage.removeAll(keepingCapacity: true)
        start = 0
    }

    /// The number of bytes up to and including the first line feed at or after `offset`.
    func endOfLine(from offset: Int = 0) -> Int? {
        storage.withUnsafeBytes { bytes in
            let from = start + offset
            guard from < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + from, 10, bytes.count - from)
            else { return nil }
            return base.distance(to: UnsafeRawPointer(found)) - start + 1
        }
    }

    /// The number of bytes up to and including the first empty line at or after `offset`.
    func endOfHead(from offset: Int) -> Int? {
        var position = offset
        while let end = endOfLine(from: position) {
            if end >= 4, storage[(start + end - 4)..<(start + end)].elementsEqual([13, 10, 13, 10]) { return end }
            position = end
        }
        return nil
    }
}
