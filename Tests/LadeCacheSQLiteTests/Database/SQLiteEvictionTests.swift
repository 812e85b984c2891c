import CacheStoreConformance
import LadeCache
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCacheSQLite

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

@Suite(.timeLimit(.minutes(5)))
struct SQLiteEvictionTests {
    @Test("cache CA-194 CA-201 after any sequence of operations all files take at most a tenth more than the limit")
    func bounds() async throws {
        let random = SeededRandom(seed: Soak.current.seed(for: "sizes on disk"))
        let testFolder = try TestStoreFolder()
        let limit: Int64 = 12 << 20
        let store = try testFolder.store(limit: limit)
        for step in 0..<Soak.current.rounds(of: 20_000, few: 700) {
            let path = "\(random.below(400))"
            switch random.below(12) {
            case 0: _ = try await store.remove(.address(#require(URL(string: "https://example.org/\(path)"))))
            case 1, 2: _ = try await testFolder.fixture.body(store, path)
            case 3: _ = try await store.invalidate(.tag("x"))
            default:
                let length = random.chance(20) ? random.below(400_000) : random.below(60_000)
                try await testFolder.fixture.put(
                    store,
                    path,
                    testFolder.fixture.bytes(length),
                    tags: random.chance(3) ? ["x"] : [],
                    at: Double(step)
                )
            }
            guard step % 50 == 49 else { continue }
            try await store.flush()
            #expect(try await store.size() <= limit, "step \(step), seed \(random.seed)")
            #expect(testFolder.size <= limit + 4 << 20, "step \(step), seed \(random.seed)")
        }
        #expect(store.evictions.entries > 0)
        try await store.setLimit(1 << 20)
        #expect(try await store.size() <= 1 << 20)
        #expect(testFolder.size <= 2 << 20)
        await #expect(throws: CacheError(.limitTooSmall(least: 65_536))) { try await store.setLimit(1) }
    }

    @Test("finding PT-9 a use is recorded when the store closes at once: the entry stays when others fill the store")
    func recordsUsesAtTheEnd() async throws {
        let testFolder = try TestStoreFolder()
        let time = VirtualTime()
        func fill(_ names: Range<Int>) async throws {
            let store = try testFolder.store(limit: 400_000, time: time)
            for name in names {
                try await testFolder.fixture.put(store, "\(name)", testFolder.fixture.bytes(20_000), at: Double(name))
            }
            await store.close()
        }
        try await fill(0..<4)
        let store = try testFolder.store(limit: 400_000, time: time)
        _ = try await testFolder.fixture.body(store, "1")
        await store.close()
        try await fill(4..<30)

        let last = try testFolder.store(limit: 400_000, time: time)
        #expect(try await testFolder.fixture.body(last, "1") != nil)
        #expect(try await testFolder.fixture.body(last, "2") == nil)
        await last.close()
    }

    @Test("cache CA-195 eviction on disk keeps as much of what is used often as the queue in memory")
    func evictsWell() async throws {
        let random = SeededRandom(seed: 1)
        let testFolder = try TestStoreFolder()
        let count = Soak.current.rounds(of: 40_000, few: 2_500)
        let capacity: Int64 = 150
        let overhead = try await cost(testFolder)
        let store = try testFolder.store(limit: capacity * overhead)
        var recent: [Int] = []
        var (hits, recentHits) = (0, 0)
        for request in 0..<count {
            // Half of all requests are for a few keys, the others are for each key once.
            let key = random.chance(50) ? Int(Double(capacity) * random.unit() * random.unit()) : 1_000 + request
            if let index = recent.firstIndex(of: key) {
                recentHits += 1
                recent.remove(at: index)
            }
            recent.append(key)
            if recent.count > Int(capacity) { recent.removeFirst() }
            if let head = try await testFolder.fixture.heads(store, path(key)).first {
                hits += 1
                _ = try await store.open(head.id, span: nil)
            } else {
                try await testFolder.fixture.put(store, path(key), testFolder.fixture.bytes(1_000))
            }
        }

        #expect(Double(hits - recentHits) >= 0.05 * Double(count), "\(hits) of \(count), \(recentHits) by last use")
    }

    private func path(_ key: Int) -> String { String(1_000_000 + key) }

    private func cost(_ testFolder: TestStoreFolder) async throws -> Int64 {
        let store = try SQLiteStore(directory: testFolder.path + "-one")
        try await testFolder.fixture.put(store, path(0), testFolder.fixture.bytes(1_000))
        return try await store.size()
    }

    @Test("cache CA-195 parts are evicted before all others")
    func evictsPartsFirst() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store(limit: 100_000)
        for number in 0..<5 { try await testFolder.fixture.put(store, "\(number)", testFolder.fixture.bytes(9_000)) }
        var head = try testFolder.fixture.samples.keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])
        head.extent = .parts([0..<9_000], total: 20_000)
        let writer = try #require(
            try await store.begin(CacheWrite(RuleSamples.key("https://example.org/part"), head, ticket: 0))
        )
        try await writer.append(testFolder.fixture.bytes(9_000))
        _ = try await writer.commit(head)
        for number in 5..<10 { try await testFolder.fixture.put(store, "\(number)", testFolder.fixture.bytes(9_000)) }
        // No call waits for an eviction.
        try await store.flush()

        #expect(try await testFolder.fixture.heads(store, "part").isEmpty)
        #expect(try await store.entries(.all).count == 10)
    }

    @Test("cache CA-212 uses are recorded together, at most every five seconds")
    func recordsUses() async throws {
        let testFolder = try TestStoreFolder()
        let time = VirtualTime()
        let store = try testFolder.store(time: time)
        let id = try #require(try await testFolder.fixture.put(store, testFolder.pattern(10)))
        func hits() async throws -> Int64 {
            try await store.flush()
            var hits: Int64 = -1
            try store.core.read { (connection, _) throws(StoreFault) in
                try connection.run("SELECT hits FROM entry") { hits = $0.number(0) }
            }
            return hits
        }
        for _ in 0..<3 { _ = try await store.open(id, span: nil) }
        #expect(try await hits() == 0)
        time.advance(by: .seconds(4))
        _ = try await store.open(id, span: nil)
        #expect(try await hits() == 0)
        time.advance(by: .seconds(1))
        _ = try await store.open(id, span: nil)
        #expect(try await hits() == 3)
    }
}
