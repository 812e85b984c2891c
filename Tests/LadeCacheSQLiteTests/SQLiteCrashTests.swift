import CacheStoreConformance
import Foundation
import LadeCache
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@testable import LadeCacheSQLite

/// Stores that several processes use, which are killed, or have no space on their disk.
@Suite("Cache stores that are killed", .timeLimit(.minutes(30)))
struct SQLiteCrashTests {
    /// The program that was built with the tests.
    static let probe: String = {
        #if os(Linux)
            let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        #else
            let bundle = Bundle.allBundles.map(\.bundlePath).first { $0.hasSuffix(".xctest") } ?? ""
        #endif
        return URL(filePath: bundle).deletingLastPathComponent().path() + "CacheProbe"
    }()

    private static let isSanitized = ProcessInfo.processInfo.environment["LADE_SANITIZER"] != nil

    /// Runs the probe; what it prints goes to a file.
    private static func run(
        _ mode: String,
        _ testFolder: TestStoreFolder,
        limit: Int64,
        seed: UInt64,
        count: Int,
        log: String,
        fileBlocks: Int? = nil
    ) async throws -> Int32 {
        let descriptor = open(testFolder.folder.file(log), O_WRONLY | O_CREAT | O_APPEND, 0o600)
        defer { close(descriptor) }
        var line = [probe, mode, testFolder.path, String(limit), String(seed), String(count)]
        if let fileBlocks { line = ["/bin/sh", "-c", "ulimit -f \(fileBlocks); exec \"$0\" \"$@\""] + line }
        return try await ChildProcess(line[0], Array(line.dropFirst()), output: descriptor).ended()
    }

    /// Compares everything in a store with what the probe stores.
    private static func verify(_ store: SQLiteStore, _ note: String) async throws {
        for entry in try await store.entries(.all) {
            guard let seed = entry.head.headers["X-Seed"].flatMap({ UInt64($0) }),
                let reader = try await store.open(entry.head.id, span: nil)
            else { continue }
            var body = Data()
            do throws(CacheError) {
                while let chunk = try await reader.next() { body.append(chunk) }
            } catch {
                #expect(error == CacheError(.damaged), "\(note)")
                continue
            }
            #expect(Int64(body.count) == entry.head.length, "\(note)")
            #expect(body == Self.body(seed, body.count), "\(note)")
            let path = entry.head.headers["X-Path"] ?? ""
            #expect(entry.key.place.address.text == "https://example.org/\(path)", "\(note)")
        }
    }

    /// The body that the probe stores for a number.
    private static func body(_ seed: UInt64, _ length: Int) -> Data {
        var state = seed
        var bytes = [UInt8]()
        bytes.reserveCapacity(length + 8)
        while bytes.count < length {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            withUnsafeBytes(of: word ^ word >> 31) { bytes += $0 }
        }
        return Data(bytes.prefix(length))
    }

    /// There are 1,000 kills in `make soak`, and 30 in `make test`.
    ///
    /// In every third round nothing is evicted, and what was certainly stored must be there; in another third the log is
    /// damaged, too.
    @Test("cache CA-205 CA-267 two processes are killed at random moments, and every response is whole")
    func killed() async throws {
        let seed = Soak.current.seed(for: "killed stores")
        let random = SeededRandom(seed: seed)
        let shelves = try (0..<3).map { _ in try TestStoreFolder() }
        let limits: [Int64] = [4 << 20, 1 << 30, 4 << 20]
        var kept: Set<String> = []
        let rounds = Soak.current.rounds(of: 500, few: 15)
        for round in 0..<rounds {
            let kind = round % 3
            let (testFolder, limit) = (shelves[kind], limits[kind])
            let note = "seed \(seed), round \(round)"
            let numbers = (random.next(), random.next())
            let moments = (1 + random.below(300_000), 1 + random.below(300_000))
            let log = "log\(round)"
            async let first = Self.run("kill", testFolder, limit: limit, seed: numbers.0, count: moments.0, log: log)
            async let second = Self.run("kill", testFolder, limit: limit, seed: numbers.1, count: moments.1, log: log)
            let statuses = try await [first, second]
            #expect(statuses == [-SIGKILL, -SIGKILL], "\(note): \(testFolder.folder.text(log) ?? "")")
            if kind == 1 {
                kept.formUnion(
                    (testFolder.folder.text(log) ?? "").split(separator: "\n").map(String.init).filter {
                        $0.hasPrefix("keep")
                    }
                )
            }
            if kind == 2 { try tear(testFolder, random) }

            var settings = SQLiteStore.Settings()
            settings.limit = limit
            let store = try SQLiteStore(directory: testFolder.path, settings: settings)
            if kind == 2 {
                // Damage that is noticed only now sets the files aside.
                do { try await Self.verify(store, note) } catch let fault as CacheError {
                    #expect([.damaged, .busy].contains(fault.reason), "\(note): \(fault)")
                }
            } else {
                #expect(!testFolder.names().contains { $0.contains("broken") }, "\(note)")
                try await Self.verify(store, note)
                #expect(try await store.check().damages.isEmpty, "\(note)")
                try await store.flush()
                #expect(testFolder.size <= limit + max(limit / 10, 4 << 20), "\(note)")
            }
            if kind == 1 {
                let addresses = Set(
                    try await store.entries(.prefix("https://example.org/keep")).map(\.key.place.address.text)
                )
                let missing = kept.filter { !addresses.contains("https://example.org/" + $0) }
                #expect(missing.isEmpty, "\(note)")
            }
            await store.close()
        }
        #expect(!kept.isEmpty)
    }

    /// Truncates the log, or overwrites a part of its end.
    private func tear(_ testFolder: TestStoreFolder, _ random: SeededRandom) throws {
        guard FileManager.default.fileExists(atPath: testFolder.database + "-wal") else { return }
        try testFolder.change("cache-2.sqlite-wal") { bytes in
            guard !bytes.isEmpty else { return }
            let cut = random.below(min(bytes.count, 20_000))
            if random.chance(50) {
                bytes = bytes.prefix(bytes.count - cut)
            } else {
                for index in (bytes.count - cut)..<bytes.count {
                    bytes[index] = UInt8(truncatingIfNeeded: random.next())
                }
            }
        }
        unlink(testFolder.database + "-shm")
    }

    @Test("cache CA-203 several processes use one store, every body is right, and hardly any call finds it busy")
    func shared() async throws {
        let seed = Soak.current.seed(for: "shared stores")
        let testFolder = try TestStoreFolder()
        let count = Soak.current.rounds(of: 10_000, few: 400)
        let processes = Soak.current.share == nil ? 3 : 8
        let statuses = try await withThrowingTaskGroup(of: Int32.self) { group in
            for number in 0..<processes {
                group.addTask {
                    let own = seed &+ UInt64(number)
                    return try await Self.run("mix", testFolder, limit: 4 << 20, seed: own, count: count, log: "log")
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }

        #expect(statuses.allSatisfy { $0 == 0 }, "seed \(seed): \(statuses) \(testFolder.folder.text("log") ?? "")")
        let store = try testFolder.store(limit: 4 << 20)
        try await Self.verify(store, "seed \(seed)")
        #expect(try await store.check().damages.isEmpty)
    }

    @Test(
        "cache CA-208 where files cannot grow, storing fails, and everything that is stored is read",
        .disabled(if: isSanitized, "a sanitizer writes larger files than the limit allows")
    )
    func fullDisk() async throws {
        let testFolder = try TestStoreFolder()
        // A few megabytes, by the unit of any shell.
        let status = try await Self.run(
            "fill",
            testFolder,
            limit: 1 << 30,
            seed: 1,
            count: 1_000,
            log: "log",
            fileBlocks: 4_000
        )

        #expect(status == 0, "\(testFolder.folder.text("log") ?? "")")
        let store = try testFolder.store()
        #expect(try await store.check().damages.isEmpty)
        #expect(try await testFolder.fixture.put(store, "later", testFolder.pattern(100)) != nil)
    }
}
