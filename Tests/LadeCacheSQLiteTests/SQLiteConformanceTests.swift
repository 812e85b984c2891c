import CacheStoreConformance
import LadeCache
import LadeCacheSQLite
import LadeCore
import SharedDoubles
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SQLiteConformanceTests {
    @Test("the store on disk passes the suite for stores", arguments: StoreConformance.cases)
    func conforms(entry: StoreCase) async throws {
        let folder = try TemporaryFolder()
        let bench = StoreBench { limit in
            var settings = SQLiteStore.Settings()
            settings.limit = Int64(limit)
            return try SQLiteStore(directory: folder.file("store\(SystemRandom().next())"), settings: settings)
        }
        try await entry.run(bench)
        withExtendedLifetime(folder) {}
    }
}
