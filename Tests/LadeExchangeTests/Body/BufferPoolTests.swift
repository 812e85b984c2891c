#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Testing

@testable import LadeExchange

@Suite("The pool of buffers", .timeLimit(.minutes(5)))
struct BufferPoolTests {
    private let pool = BufferPool()

    @Test(
        "gives buffers of the next power of two, 4 KiB at least",
        arguments: [(0, 4096), (1, 4096), (4096, 4096), (4097, 8192), (100_000, 131_072), (4 << 20, 4 << 20)]
    )
    func sizes(capacity: Int, size: Int) {
        let buffer = pool.take(capacity)
        #expect(buffer.count == size)
        pool.give(buffer)
        #expect(pool.keptBytes == size)
    }

    @Test("reuses a returned buffer for the next request of its size")
    func reuses() {
        let small = pool.take(5000)
        let large = pool.take(20_000)
        pool.give(small)
        pool.give(large)

        #expect(pool.take(8000).baseAddress == small.baseAddress)
        #expect(pool.keptBytes == large.count)
        #expect(pool.take(30_000).baseAddress == large.baseAddress)
        #expect(pool.keptBytes == 0)
        pool.give(small)
        pool.give(large)
    }

    @Test("keeps nothing above 4 MiB, and 32 MiB in all")
    func keepsOnlySoMuch() {
        pool.give(pool.take((4 << 20) + 1))
        #expect(pool.keptBytes == 0)

        for buffer in (0..<10).map({ _ in pool.take(4 << 20) }) { pool.give(buffer) }
        #expect(pool.keptBytes == 32 << 20)
        pool.give(pool.take(4096))
        #expect(pool.keptBytes == 32 << 20)
    }

    @Test("makes data of a buffer without copying, and has it back when the last slice is released")
    func handsOver() {
        let buffer = pool.take(10_000)
        buffer.initializeMemory(as: UInt8.self, repeating: 7)
        var data: Data? = pool.data(buffer, count: 10_000)
        var slice = data?[9000...]

        #expect(data?.withUnsafeBytes { $0.baseAddress } == UnsafeRawPointer(buffer.baseAddress))
        #expect(data == Data(repeating: 7, count: 10_000))
        data = nil
        #expect(pool.keptBytes == 0)
        #expect(slice?.count == 1000)
        slice = nil
        #expect(pool.keptBytes == buffer.count)
    }

    @Test("copies few bytes and has the buffer back immediately")
    func copiesFewBytes() {
        let buffer = pool.take(100_000)
        buffer.initializeMemory(as: UInt8.self, repeating: 7)

        let few = pool.data(buffer, count: BufferPool.smallest)
        #expect(pool.keptBytes == buffer.count)
        #expect(few == Data(repeating: 7, count: 4096))
        #expect(pool.data(pool.take(100_000), count: 0).isEmpty)
        #expect(pool.keptBytes == buffer.count)
    }

    @Test("finding FT-10 keeps what fills less than half of a buffer in a smaller one")
    func keepsLittleInLittle() {
        let buffer = pool.take(64 << 10)
        buffer.initializeMemory(as: UInt8.self, repeating: 7)

        var data: Data? = pool.data(buffer, count: 5000)
        #expect(pool.keptBytes == 64 << 10)
        #expect(data == Data(repeating: 7, count: 5000))
        data = nil
        #expect(pool.keptBytes == (64 << 10) + 8192)
    }

    @Test("lets a run of bytes grow without losing any, and keeps what it grew out of")
    func grows() {
        var bytes = PooledBytes(pool: pool, capacity: 10)
        var expected = Data()
        for number in 0..<1000 {
            let piece = Data(repeating: UInt8(truncatingIfNeeded: number), count: number % 37)
            piece.withUnsafeBytes { bytes.append($0) }
            expected += piece
        }
        #expect(bytes.count == expected.count)
        #expect(bytes.capacity == 32_768)
        // The three it grew out of.
        #expect(pool.keptBytes == 28_672)

        #expect(bytes.finish() == expected)
        #expect(pool.keptBytes == 61_440)
    }

    @Test("takes a piece that is larger than twice what there is")
    func growsByMuch() {
        var bytes = PooledBytes(pool: pool, capacity: 10)
        let piece = Data(repeating: 9, count: 50_000)
        Data([1, 2]).withUnsafeBytes { bytes.append($0) }
        piece.withUnsafeBytes { bytes.append($0) }

        #expect(bytes.finish() == Data([1, 2]) + piece)
    }

    @Test("has back what is thrown away")
    func discards() {
        let bytes = PooledBytes(pool: pool, capacity: 5000)
        #expect(pool.keptBytes == 0)
        bytes.discard()
        #expect(pool.keptBytes == 8192)
    }
}
