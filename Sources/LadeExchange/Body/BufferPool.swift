#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
import LadeCore

/// Reusable byte buffers in power-of-two classes.
///
/// With a new 100 KB buffer per response, the allocator trims and re-faults its pages, which costs more than the whole
/// exchange. The pool keeps buffers up to a limit. The thread that releases the last `Data` of a buffer returns it.
package final class BufferPool: Sendable {
    /// The size of the smallest class; smaller bodies are copied.
    package static let smallest = 4 << 10
    private static let largestKept = 4 << 20
    /// From this size on, buffers begin at a page, because the kernel copies faster to one.
    private static let smallestOfPages = 64 << 10
    private static let cap = 32 << 20

    // Sendable: the pool hands each pointer to one owner at a time.
    private struct State: @unchecked Sendable {
        var free: [[UnsafeMutableRawPointer]] = Array(repeating: [], count: 11)
        var freeBytes = 0
    }

    private let state = Locked(State())

    package init() {}

    deinit {
        state.withLock { state in
            for pointer in state.free.joined() { pointer.deallocate() }
            state.free = []
        }
    }

    /// The number of bytes in free buffers.
    package var keptBytes: Int { state.withLock { $0.freeBytes } }

    /// Returns an uninitialised buffer of at least `capacity` bytes.
    package func take(_ capacity: Int) -> UnsafeMutableRawBufferPointer {
        let size = Self.size(for: capacity)
        if size <= Self.largestKept {
            let kept = state.withLock { state -> UnsafeMutableRawPointer? in
                guard let pointer = state.free[Self.index(size)].popLast() else { return nil }
                state.freeBytes -= size
                return pointer
            }
            if let kept { return UnsafeMutableRawBufferPointer(start: kept, count: size) }
        }
        let alignment = size < Self.smallestOfPages ? 16 : 4096
        return UnsafeMutableRawBufferPointer(start: .allocate(byteCount: size, alignment: alignment), count: size)
    }

    /// Returns a buffer to the pool.
    package func give(_ buffer: UnsafeMutableRawBufferPointer) {
        guard let start = buffer.baseAddress else { return }
        let isKept = state.withLock { state -> Bool in
            guard buffer.count <= Self.largestKept, state.freeBytes + buffer.count <= Self.cap else { return false }
            state.free[Self.index(buffer.count)].append(start)
            state.freeBytes += buffer.count
            return true
        }
        if !isKept { start.deallocate() }
    }

    /// The first `count` bytes of a buffer as `Data` that returns the buffer to the pool when it is released.
    package func data(_ buffer: UnsafeMutableRawBufferPointer, count: Int) -> Data {
        guard let start = buffer.baseAddress, count > 0 else {
            give(buffer)
            return Data()
        }
        guard count > Self.smallest else {
            defer { give(buffer) }
            return Data(bytes: start, count: count)
        }
        guard Self.size(for: count) == buffer.count else {
            // A few bytes in a large buffer would hold uncounted memory, because a stream counts only its bytes.
            let smaller = take(count)
            smaller.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            give(buffer)
            return handOver(smaller, count: count)
        }
        return handOver(buffer, count: count)
    }

    private func handOver(_ buffer: UnsafeMutableRawBufferPointer, count: Int) -> Data {
        guard let start = buffer.baseAddress else { return Data() }
        let owned = Owned(buffer: buffer)
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { [self] _, _ in give(owned.buffer) })
    }

    // Sendable: it only carries the buffer to the one call that returns it.
    private struct Owned: @unchecked Sendable {
        let buffer: UnsafeMutableRawBufferPointer
    }

    private static func size(for capacity: Int) -> Int {
        guard capacity > smallest else { return smallest }
        return 1 << (Int.bitWidth - (capacity - 1).leadingZeroBitCount)
    }

    private static func index(_ size: Int) -> Int {
        size.trailingZeroBitCount - smallest.trailingZeroBitCount
    }
}

/// A growing sequence of bytes in a pooled buffer.
///
/// Owned by the loop until it is converted to `Data`.
package struct PooledBytes {
    private let pool: BufferPool
    private var buffer: UnsafeMutableRawBufferPointer
    package private(set) var count = 0

    package init(pool: BufferPool, capacity: Int) {
        self.pool = pool
        buffer = pool.take(capacity)
    }

    package var capacity: Int { buffer.count }

    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        let needed = count + bytes.count
        if needed > buffer.count { grow(to: needed) }
        UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: bytes)
        count = needed
    }

    /// Calls a closure that writes at most `most` bytes to the end of the buffer, which grows when it is full.
    ///
    /// - Returns: The number of bytes that `write` returned.
    package mutating func append<Failure>(
        atMost most: Int,
        _ write: (UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    ) throws(Failure) -> Int {
        if count == buffer.count { grow(to: count + 1) }
        let end = min(buffer.count, count + most)
        let written = try write(UnsafeMutableRawBufferPointer(rebasing: buffer[count..<end]))
        count += written
        return written
    }

    private mutating func grow(to needed: Int) {
        let larger = pool.take(max(needed, buffer.count * 2))
        larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        pool.give(buffer)
        buffer = larger
    }

    /// Returns the bytes; the value must not be used afterwards.
    package func finish() -> Data { pool.data(buffer, count: count) }

    /// Discards the bytes; the value must not be used afterwards.
    package func discard() { pool.give(buffer) }
}
