#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CacheStoreConformance
import LadeCache
import LadeCore
import SharedDoubles
import Testing

@Suite(.timeLimit(.minutes(5)))
struct MemoryStoreTests {
    @Test(
        "cache CA-35 CA-50 CA-57 CA-58 CA-174 CA-190 CA-193 in memory: entries appear whole, and variants apart",
        arguments: StoreConformance.visibility
    )
    func storesWhole(entry: StoreCase) async throws { try await run(entry) }

    @Test(
        "cache CA-27 CA-150 CA-156 CA-191 in memory: bodies are read whole, in ranges and joined",
        arguments: StoreConformance.bodies
    )
    func keepsBodies(entry: StoreCase) async throws { try await run(entry) }

    @Test("cache CA-28 CA-194 in memory: entries stay within the limit", arguments: StoreConformance.limits)
    func staysWithinLimits(entry: StoreCase) async throws { try await run(entry) }

    @Test(
        "cache CA-140 CA-143 CA-144 CA-146 CA-197 CA-234 in memory: selections are removed and listed",
        arguments: StoreConformance.removals
    )
    func removes(entry: StoreCase) async throws { try await run(entry) }

    @Test(
        "cache CA-31 CA-119 CA-135 CA-190 CA-193 CA-196 CA-198 in memory: heads are whole, and updated by version",
        arguments: StoreConformance.heads
    )
    func updatesHeads(entry: StoreCase) async throws { try await run(entry) }

    private func run(_ entry: StoreCase) async throws {
        try await entry.run(StoreFixture { limit in try ResponseCache.MemoryStore(limit: limit) })
    }

    private let fixture = StoreFixture { limit in try ResponseCache.MemoryStore(limit: limit) }

    @Test("cache CA-194 shrinking the limit evicts immediately")
    func shrinks() async throws {
        let store = try ResponseCache.MemoryStore(limit: 1 << 20)
        for number in 0..<50 { try await fixture.put(store, "\(number)", fixture.bytes(10_000)) }

        try store.setLimit(100_000)

        #expect(try await store.size() <= 100_000)
        #expect(store.evictions.entries == 50 - (try await store.entries(.all).count))
        #expect(throws: CacheError(.limitTooSmall(least: 65_536))) { try store.setLimit(1) }
    }

    @Test("cache CA-200 a body is shared with its readers, and everything can be evicted")
    func sharesBodies() async throws {
        let store = try ResponseCache.MemoryStore()
        let body = fixture.bytes(100_000)
        let id = try #require(try await fixture.put(store, body))
        let reader = try #require(try await store.open(id, span: nil))
        let bytes = try #require(reader.bytes)

        let isShared = body.withUnsafeBytes { first in bytes.withUnsafeBytes { $0.baseAddress == first.baseAddress } }
        #expect(isShared)
        store.evictAll()
        #expect(try await store.size() == 0)
        #expect(try await fixture.drain(reader) == body)
    }

    @Test("cache CA-247 an entry costs at most 512 bytes beyond key, head and body")
    func countsOverhead() async throws {
        let store = try ResponseCache.MemoryStore()
        try await fixture.put(store, fixture.bytes(1_000))
        let entry = try #require(try await store.entries(.all).first)

        #expect(entry.bytes - 1_000 - Int64(entry.head.cost) - Int64(entry.key.octets.count) <= 512)
    }

    @Test("cache CA-195 parts are evicted before all others")
    func evictsPartsFirst() async throws {
        let store = try ResponseCache.MemoryStore(limit: 100_000)
        for number in 0..<5 { try await fixture.put(store, "\(number)", fixture.bytes(9_000)) }
        var head = try RuleSamples().keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])
        head.extent = .parts([0..<9_000], total: 20_000)
        let writer = try #require(
            try await store.begin(CacheWrite(RuleSamples.key("https://example.org/part"), head, ticket: 0))
        )
        try await writer.append(fixture.bytes(9_000))
        _ = try await writer.commit(head)
        for number in 5..<10 { try await fixture.put(store, "\(number)", fixture.bytes(9_000)) }

        #expect(try await fixture.heads(store, "part").isEmpty)
        #expect(try await store.entries(.all).count == 10)
    }
}

/// A store that is used for a long time.
///
/// There are 10,000,000 calls in `make soak`, a day of 115 each second, and 20,000 in `make test`.
@Suite("Memory of a day", .timeLimit(.minutes(30)))
struct LastingMemoryStoreTests {
    @Test(
        "cache CA-247 the memory of the process stays flat in a day of random calls",
        .disabled(
            if: ProcessInfo.processInfo.environment["LADE_SANITIZER"] != nil,
            "a sanitizer keeps what was freed"
        )
    )
    func staysFlat() async {
        // In a process of its own, whose memory no other test uses.
        await #expect(processExitsWith: .success) {
            let fixture = StoreFixture { limit in try ResponseCache.MemoryStore(limit: limit) }
            let seed = Soak.current.seed(for: "memory of a day")
            let random = SeededRandom(seed: seed)
            let limit = 4 << 20
            let store = try ResponseCache.MemoryStore(limit: limit)
            let rounds = Soak.current.rounds(of: 10_000_000, few: 20_000)
            var used: [Int] = []
            for round in 0..<rounds {
                let path = "\(random.below(20_000))"
                switch random.below(100) {
                case 0..<30: try await fixture.put(store, path, fixture.bytes(random.below(4_000)), at: Double(round))
                case 30: _ = try await store.remove(.prefix("https://example.org/\(random.below(100))"))
                case 31: _ = try await store.invalidate(.host("other.example"))
                default: _ = try await fixture.body(store, path)
                }
                // The first tenth fills the store and the tables.
                if round % (rounds / 10) == rounds / 10 - 1 { used.append(Self.residentBytes()) }
            }

            #expect(try await store.size() <= Int64(limit), "seed \(seed)")
            let growth = (used.last ?? 0) - (used.first ?? 0)
            #expect(used.first ?? 0 > 0)
            #expect(growth <= (Soak.current.share == nil ? 8 : 16) << 20, "seed \(seed): \(used)")
        }
    }

    /// The memory that the process uses; zero where that is not known.
    private static func residentBytes() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        return text.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 4_096 } ?? 0
    }
}
