import CSQLite
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

/// A folder of a test with a store, and shorthands for both.
struct TestStoreFolder: Sendable {
    let folder: TemporaryFolder
    /// Makes no stores; its shorthands take any.
    let fixture = StoreFixture { _ in throw CacheError(.closed) }

    init() throws { folder = try TemporaryFolder() }

    var path: String { folder.file("cache") }
    var database: String { path + "/cache-2.sqlite" }
    var bodies: [String] { names("bodies-2") }

    func names(_ name: String = "") -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: path + "/" + name)) ?? []).sorted()
    }

    func store(limit: Int64 = 64 << 20, time: some TimeSource = SystemTime()) throws -> SQLiteStore {
        var settings = SQLiteStore.Settings()
        settings.limit = limit
        return try SQLiteStore(directory: path, settings: settings, time: time)
    }

    /// All files with their contents.
    func contents() -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in names() + bodies.map({ "bodies-2/" + $0 }) {
            if let bytes = FileManager.default.contents(atPath: path + "/" + name) { contents[name] = bytes }
        }
        return contents
    }

    /// The bytes of all files.
    var size: Int64 { contents().values.reduce(0) { $0 + Int64($1.count) } }

    /// Changes a file in place, as damage does.
    func change(_ name: String, _ body: (inout Data) -> Void) throws {
        let url = URL(filePath: path + "/" + name)
        var bytes = try Data(contentsOf: url)
        body(&bytes)
        try bytes.write(to: url)
    }

    /// Runs statements on the database, as another program would.
    func run(_ sql: String) throws {
        var handle: OpaquePointer?
        #expect(sqlite3_open(database, &handle) == SQLITE_OK)
        defer { sqlite3_close(handle) }
        sqlite3_busy_timeout(handle, 5_000)
        #expect(sqlite3_exec(handle, sql, nil, nil, nil) == SQLITE_OK, "\(String(cString: sqlite3_errmsg(handle)))")
    }

    /// Bytes that differ from chunk to chunk.
    func pattern(_ length: Int, _ seed: UInt8 = 1) -> Data {
        // It repeats after 64 KiB.
        let block = Data((0..<min(length, 65_536)).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8 &+ Int(seed)) })
        var data = Data(capacity: length + block.count)
        while data.count < length { data += block }
        return data.prefix(length)
    }
}
