import CacheStoreConformance
import LadeCache
import LadeCacheSQLite
import LadeCore
import SharedDoubles
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SQLiteConformanceTests {
    @Test(
        "cache CA-35 CA-50 CA-57 CA-58 CA-174 CA-190 CA-193 on disk: entries appear whole, and variants apart",
        arguments: StoreConformance.visibility
    )
    func storesWhole(entry: StoreCase) async throws { try await run(entry) }

    @Test(
        "cache CA-27 CA-150 CA-156 CA-191 on disk: bodies are read whole, in ranges and joined",
        arguments: StoreConformance.bodies
    )
    func keepsBodies(entry: StoreCase) async throws { try await run(entry) }

    @Test("cache CA-28 CA-194 on disk: entries stay within the limit", arguments: StoreConformance.limits)
    func staysWithinLimits(entry: StoreCase) async throws { try await run(entry) }

    @Test(
        "cache CA-140 CA-143 CA-144 CA-146 CA-197 CA-234 on disk: selections are removed and listed",
        arguments: StoreConformance.removals
    )
    func removes(entry: StoreCase) async throws { try await run(entry) }

    @Test(
        "cache CA-31 CA-119 CA-135 CA-190 CA-193 CA-196 CA-198 on disk: heads are whole, and updated by version",
        arguments: StoreConformance.heads
    )
    func updatesHeads(entry: StoreCase) async throws { try await run(entry) }

    private func run(_ entry: StoreCase) async throws {
        let folder = try TemporaryFolder()
        let fixture = StoreFixture { limit in
            var settings = SQLiteStore.Settings()
            settings.limit = Int64(limit)
            return try SQLiteStore(directory: folder.file("store\(SystemRandom().next())"), settings: settings)
        }
        try await entry.run(fixture)
        withExtendedLifetime(folder) {}
    }
}
