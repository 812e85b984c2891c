import CacheStoreConformance
import Dispatch
import LadeCache
import LadeCore
import LadeTesting
import Testing

@testable import LadeCacheSQLite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite(.timeLimit(.minutes(5)))
struct SQLiteBodyTests {
    @Test(
        "the checksum is XXH64",
        arguments: [
            ("", 0xEF46_DB37_51D8_E999), ("a", 0xD24E_C4F1_A98C_6E5B), ("abc", 0x44BC_2CF5_AD77_0999),
        ] as [(String, UInt64)]
    )
    func checksum(text: String, sum: UInt64) {
        #expect(Checksum.hash(Array(text.utf8), seed: 0) == sum)
    }

    @Test("the checksum of every flipped bit differs, at any length")
    func checksumFindsBits() {
        let bytes = [UInt8](0..<100)
        for length in 0...100 {
            let part = Array(bytes[..<length])
            let sum = Checksum.hash(part, seed: 7)
            #expect(sum != Checksum.hash(part, seed: 8))
            for bit in 0..<(8 * length) {
                var flipped = part
                flipped[bit / 8] ^= 1 << (bit % 8)
                #expect(Checksum.hash(flipped, seed: 7) != sum, "length \(length), bit \(bit)")
            }
        }
    }

    @Test(
        "cache CA-202 a body of up to 64 KiB lies in its row, a larger one in a file that goes with it",
        arguments: [(65_536, 0), (65_537, 1), (300_000, 1)]
    )
    func largeBodies(length: Int, files: Int) async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        let body = testFolder.pattern(length)
        let id = try #require(try await testFolder.fixture.put(store, body))
        try await store.flush()

        #expect(testFolder.bodies.count == files)
        #expect(try await testFolder.fixture.body(store) == body)
        for span in [0..<1, 65_530..<65_536, Int64(length - 1)..<Int64(length), 1..<Int64(length - 1)] {
            let part = try await testFolder.fixture.read(store, id, span)
            #expect(part == body[Int(span.lowerBound)..<Int(span.upperBound)], "\(span)")
        }
        _ = try await store.remove(.all)
        #expect(testFolder.bodies.isEmpty)
    }

    @Test("cache CA-202 what a killed process leaves is removed at start, and no file that is being written")
    func sweeps() async throws {
        let testFolder = try TestStoreFolder()
        let first = try testFolder.store()
        try await testFolder.fixture.put(first, "kept", testFolder.pattern(100_000))
        try await first.flush()
        let head = try testFolder.fixture.samples.keep(["Cache-Control": "max-age=60"], length: 200_000)
        let writer = try #require(try await first.begin(CacheWrite(RuleSamples.key(), head, ticket: 0)))
        try await writer.append(testFolder.pattern(200_000))
        try await first.flush()
        try Data([1]).write(to: URL(filePath: testFolder.path + "/bodies-2/00000000000000ff"))
        #expect(testFolder.bodies.count == 3)

        let second = try testFolder.store()
        try await second.flush()

        #expect(testFolder.bodies.count == 2)
        #expect(!testFolder.bodies.contains("00000000000000ff"))
        #expect(try await writer.commit(head) != nil)
        try await first.flush()
        #expect(try await testFolder.fixture.body(second) == testFolder.pattern(200_000))
        #expect(try await testFolder.fixture.body(second, "kept") == testFolder.pattern(100_000))
    }

    @Test("cache CA-190 CA-202 a writer that is aborted, dropped or refused leaves no file")
    func leavesNoFile() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        let head = try testFolder.fixture.samples.keep(["Cache-Control": "max-age=60"], length: 200_000)
        for ending in 0..<3 {
            var writer = try await store.begin(CacheWrite(RuleSamples.key(), head, ticket: 0))
            try await writer?.append(testFolder.pattern(200_000))
            switch ending {
            case 0: await writer?.abort()
            case 1: break
            default:
                _ = try await store.remove(.account("me"))
                #expect(try await writer?.commit(head) == nil)
            }
            writer = nil
            try await store.flush()
            #expect(testFolder.bodies.isEmpty, "ending \(ending)")
        }
    }

    @Test("cache CA-204 a flipped bit in a file is a miss in the first chunk, and ends the body in a later one")
    func flippedBitInAFile() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        for offset in [0, 65_535, 65_536, 199_999] {
            let body = testFolder.pattern(200_000)
            let id = try #require(try await testFolder.fixture.put(store, body))
            try await store.flush()
            let name = "bodies-2/" + (try #require(testFolder.bodies.first))
            try testFolder.change(name) { $0[offset] ^= 4 }

            if offset < 65_536 {
                #expect(try await store.open(id, span: nil) == nil, "\(offset)")
            } else {
                let reader = try #require(try await store.open(id, span: nil))
                var read = Data()
                await #expect(throws: CacheError(.damaged)) {
                    while let chunk = try await reader.next() { read.append(chunk) }
                }
                #expect(read == body.prefix(offset / 65_536 * 65_536), "\(offset)")
            }
            try await store.flush()
            #expect(try await testFolder.fixture.heads(store).isEmpty, "\(offset)")
            #expect(testFolder.bodies.isEmpty, "\(offset)")
        }
    }

    @Test(
        "cache CA-196 CA-204 CA-227 a row that is not as it was stored is found by a check, is a miss, and is removed",
        arguments: [
            "UPDATE blob SET bytes = CAST('x' || substr(bytes, 2) AS BLOB)", "UPDATE blob SET bytes = zeroblob(9)",
            "UPDATE blob SET seed = seed + 1", "UPDATE blob SET sums = x''", "DELETE FROM blob",
            "UPDATE entry SET head = x'01'", "UPDATE entry SET head = zeroblob(length(head))",
            "UPDATE entry SET segments = x''", "UPDATE entry SET version = 2", "UPDATE entry SET sum = 1",
        ]
    )
    func changedRow(sql: String) async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        let id = try #require(try await testFolder.fixture.put(store, testFolder.pattern(1_000)))
        #expect(try await store.check() == SQLiteStore.Check(entries: 1, bytes: 1_000))
        try testFolder.run(sql)

        #expect(try await store.check().damages.count == 1)
        let heads = try await testFolder.fixture.heads(store)
        if !heads.isEmpty { #expect(try await store.open(id, span: nil) == nil) }
        try await store.flush()
        #expect(try await testFolder.fixture.heads(store).isEmpty)
        #expect(try await store.check() == SQLiteStore.Check())
    }

    @Test("cache CA-227 a check names the bodies whose files are damaged or lost")
    func checksFiles() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        try await testFolder.fixture.put(store, "a?token=secret", testFolder.pattern(200_000))
        try await store.flush()
        let name = "bodies-2/" + (try #require(testFolder.bodies.first))
        try testFolder.change(name) { $0[150_000] ^= 1 }
        let shown = "https://example.org/a?token=<redacted>"

        #expect(try await store.check().damages == [.body(shown)])
        try FileManager.default.removeItem(atPath: testFolder.path + "/" + name)
        #expect(try await store.check() == SQLiteStore.Check(entries: 1, bytes: 200_000, damages: [.body(shown)]))
    }

    @Test("cache CA-192 a body that arrives faster than it is written waits a moment, and is then given up")
    func givesUpSlowWrites() async throws {
        let testFolder = try TestStoreFolder()
        let time = VirtualTime()
        let store = try testFolder.store(limit: 1 << 30, time: time)
        let head = try testFolder.fixture.samples.keep(["Cache-Control": "max-age=60"], length: 6 << 20)
        let writer = try #require(try await store.begin(CacheWrite(RuleSamples.key(), head, ticket: 0)))
        let gate = Gate()
        async let blocked: Bool = store.core.changeAlone { _ throws(StoreFault) in
            gate.wait()
            return true
        }
        await gate.isReached.value
        // 4 MiB wait without an effect on the caller.
        for _ in 0..<4 { try await writer.append(testFolder.fixture.bytes(1 << 20)) }
        let late = Task { try await writer.append(testFolder.fixture.bytes(1 << 20)) }
        _ = try await time.nextSleeper()
        time.advance(by: .milliseconds(100))

        await #expect(throws: CacheError(.tooSlow)) { try await late.value }
        gate.open()
        _ = try await blocked
        #expect(try await writer.commit(head) == nil)
        try await store.flush()
        #expect(testFolder.bodies.isEmpty)
    }

    @Test("cache CA-192 a large body goes in and out in chunks, with no more memory than the queue")
    func streams() async throws {
        let testFolder = try TestStoreFolder()
        // The patience of a write never ends, however slow the disk is.
        let store = try testFolder.store(limit: 1 << 30, time: VirtualTime())
        let length = 48 << 20
        let chunk = testFolder.pattern(1 << 20)
        let head = try testFolder.fixture.samples.keep(["Cache-Control": "max-age=60"], length: Int64(length))
        let writer = try #require(try await store.begin(CacheWrite(RuleSamples.key(), head, ticket: 0)))
        for _ in 0..<48 { try await writer.append(chunk) }
        let id = try #require(try await writer.commit(head))
        let reader = try #require(try await store.open(id, span: nil))

        #expect(reader.bytes == nil)
        var read = 0
        while let bytes = try await reader.next() {
            #expect(bytes.count <= 65_536)
            let start = read % chunk.count
            #expect(bytes == chunk[start..<(start + bytes.count)])
            read += bytes.count
        }
        #expect(read == length)
    }
}

/// Holds a thread until the test lets it go.
final class Gate: Sendable {
    private let state = Locked((waiting: CheckedContinuation<Void, Never>?.none, isHeld: false))
    /// Open once it was signalled; each thread that passes signals it again for the next.
    private let opening = DispatchSemaphore(value: 0)

    /// Holds the calling thread.
    func wait() {
        let waiting = state.withLock { state in
            state.isHeld = true
            defer { state.waiting = nil }
            return state.waiting
        }
        waiting?.resume()
        opening.wait()
        opening.signal()
    }

    func open() { opening.signal() }

    /// Returns once a thread is held.
    var isReached: Task<Void, Never> {
        Task {
            await withCheckedContinuation { continuation in
                let isHeld = state.withLock { state in
                    if !state.isHeld { state.waiting = continuation }
                    return state.isHeld
                }
                if isHeld { continuation.resume() }
            }
        }
    }
}
