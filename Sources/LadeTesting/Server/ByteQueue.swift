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

/// Bytes that are appended at the end and taken from the front.
///
/// Not a slice of `Data`: that would keep all it was ever cut from.
struct ByteQueue {
    private var storage = Data()
    private var start = 0

    var count: Int { storage.count - start }
    var isEmpty: Bool { count == 0 }

    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress else { return }
        storage.append(base.assumingMemoryBound(to: UInt8.self), count: bytes.count)
    }

    /// The first bytes, which are no longer in the queue.
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

    /// How many bytes there are up to and with the first line feed at or after `offset`.
    func endOfLine(from offset: Int = 0) -> Int? {
        storage.withUnsafeBytes { bytes in
            let from = start + offset
            guard from < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + from, 10, bytes.count - from)
            else { return nil }
            return base.distance(to: UnsafeRawPointer(found)) - start + 1
        }
    }

    /// How many bytes there are up to and with the first empty line, looked for at or after `offset`.
    func endOfHead(from offset: Int) -> Int? {
        var position = offset
        while let end = endOfLine(from: position) {
            if end >= 4, storage[(start + end - 4)..<(start + end)].elementsEqual([13, 10, 13, 10]) { return end }
            position = end
        }
        return nil
    }
}
