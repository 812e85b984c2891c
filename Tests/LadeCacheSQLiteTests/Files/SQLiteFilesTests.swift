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

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite(.timeLimit(.minutes(5)))
struct SQLiteFilesTests {
    /// The reason why a store is refused.
    private func refusal(_ testFolder: TestStoreFolder) -> String? {
        do throws(CacheError) {
            _ = try SQLiteStore(directory: testFolder.path)
            return nil
        } catch {
            guard case .file(let cause) = error.reason else { return "\(error)" }
            #expect(cause.path.hasPrefix(testFolder.path))
            #expect("\(error)".contains(cause.path))
            return cause.reason
        }
    }

    @Test("cache CA-206 what is no database of the cache is set aside, and a new store begins", arguments: 0..<6)
    func damaged(kind: Int) async throws {
        let testFolder = try TestStoreFolder()
        let random = SeededRandom(seed: Soak.current.seed)
        do {
            let store = try testFolder.store()
            for number in 0..<20 { try await testFolder.fixture.put(store, "\(number)", testFolder.pattern(90_000)) }
            await store.close()
        }
        switch kind {
        case 0:
            try testFolder.change("cache-2.sqlite") {
                $0 = Data(String(repeating: "This is a letter and no database. ", count: 50).utf8)
            }
        case 1:
            try testFolder.change("cache-2.sqlite") { bytes in
                bytes = Data((0..<100_000).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            }
        case 2: try testFolder.change("cache-2.sqlite") { $0 = $0.prefix(4_096) }
        case 3: try testFolder.run("PRAGMA application_id = 1")
        case 4: try testFolder.run("DROP TABLE total")
        default: try testFolder.run("PRAGMA user_version = 7")
        }
        let store = try testFolder.store()

        // The first use may be the one that notices.
        _ = try? await testFolder.fixture.put(store, Data([1]))
        _ = try? await store.flush()
        #expect(try await testFolder.fixture.put(store, "new", testFolder.pattern(100)) != nil, "seed \(random.seed)")
        #expect(try await testFolder.fixture.body(store, "new") == testFolder.pattern(100))
        #expect(testFolder.names().contains("cache-2.sqlite.broken"))
        #expect(testFolder.names().filter { $0.contains("broken") }.count <= 2)
        try await store.flush()
        #expect(testFolder.bodies.isEmpty)
    }

    @Test("cache CA-206 CA-253 random bytes anywhere in the files end no call, and no wrong body is given")
    func randomBytes() async throws {
        let random = SeededRandom(seed: Soak.current.seed(for: "damaged stores"))
        for round in 0..<Soak.current.rounds(of: 400, few: 12) {
            let testFolder = try TestStoreFolder()
            do {
                let store = try testFolder.store()
                for number in 0..<30 {
                    try await testFolder.fixture.put(
                        store,
                        "\(number)",
                        testFolder.pattern(1 + random.below(100_000), UInt8(number))
                    )
                }
                await store.close()
            }
            for _ in 0..<(1 + random.below(20)) {
                let name = random.pick(testFolder.contents().keys.sorted().filter { $0 != "lock" })
                try testFolder.change(name) { bytes in
                    guard !bytes.isEmpty else { return }
                    switch random.below(4) {
                    case 0: bytes = bytes.prefix(random.below(bytes.count))
                    case 1:
                        let start = random.below(bytes.count)
                        for index in start..<min(start + 512, bytes.count) {
                            bytes[index] = UInt8(truncatingIfNeeded: random.next())
                        }
                    default: bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
                    }
                }
            }
            let store = try testFolder.store()
            for number in 0..<30 {
                guard let head = try? await testFolder.fixture.heads(store, "\(number)").first,
                    let reader = try? await store.open(head.id, span: nil)
                else { continue }
                var body = Data()
                do throws(CacheError) {
                    while let chunk = try await reader.next() { body.append(chunk) }
                } catch {
                    #expect(error == CacheError(.damaged))
                    continue
                }
                #expect(body == testFolder.pattern(Int(head.length), UInt8(number)), "round \(round)")
            }
            _ = try? await store.check()
            var isStored = false
            for _ in 0..<3 where !isStored {
                isStored =
                    (try? await testFolder.fixture.put(store, "new", testFolder.pattern(10), at: 9)) ?? nil != nil
                if isStored { isStored = (try? await testFolder.fixture.body(store, "new")) == testFolder.pattern(10) }
            }
            #expect(isStored, "round \(round), seed \(random.seed)")
            await store.close()
        }
    }

    @Test("cache CA-206 a process that holds the old files moves to the new ones")
    func movesOver() async throws {
        let testFolder = try TestStoreFolder()
        let first = try testFolder.store()
        try await testFolder.fixture.put(first, testFolder.pattern(100))
        try await first.flush()
        StoreFolder.setAside(try StoreFolder(testFolder.path))()
        let second = try testFolder.store()
        try await testFolder.fixture.put(second, "new", testFolder.pattern(10))
        try await second.flush()

        try await testFolder.fixture.put(first, "b", testFolder.pattern(20))
        try await first.flush()

        #expect(try await testFolder.fixture.body(first, "new") == testFolder.pattern(10))
        #expect(try await testFolder.fixture.body(second, "b") == testFolder.pattern(20))
        #expect(try await testFolder.fixture.heads(first).isEmpty)
    }

    @Test("cache CA-207 the version is in names and in the database, and the previous version goes after 30 days")
    func versions() async throws {
        let testFolder = try TestStoreFolder()
        let folder = try StoreFolder(testFolder.path)
        let old = ["cache-0.sqlite", "cache-0.sqlite-wal", "bodies-0/00000000000000aa"]
        try FileManager.default.createDirectory(
            atPath: testFolder.path + "/bodies-0",
            withIntermediateDirectories: true
        )
        for name in old + ["cache-2.sqlite"] { try Data([1]).write(to: URL(filePath: testFolder.path + "/" + name)) }
        let used = Date()

        folder.removeOutdated(now: used.addingTimeInterval(29 * 86_400))
        #expect(old.allSatisfy { FileManager.default.fileExists(atPath: testFolder.path + "/" + $0) })
        folder.removeOutdated(now: used.addingTimeInterval(31 * 86_400))
        #expect(testFolder.names() == ["cache-2.sqlite"])

        let store = try testFolder.store()
        try await store.flush()
        var version: Int64 = 0
        try store.core.read { (connection, _) throws(StoreFault) in
            try connection.runOnce("PRAGMA user_version") { version = $0.number(0) }
        }
        #expect(version == 2)
        #expect(testFolder.names().contains("cache-2.sqlite"))
    }

    @Test("cache CA-208 a folder that is removed while the store is open is made anew")
    func folderGone() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        try await testFolder.fixture.put(store, testFolder.pattern(100_000))
        try await store.flush()
        try FileManager.default.removeItem(atPath: testFolder.path)

        try await testFolder.fixture.put(store, "b", testFolder.pattern(100_000))
        try await store.flush()

        #expect(try await testFolder.fixture.body(store, "b") == testFolder.pattern(100_000))
        #expect(try await testFolder.fixture.heads(store).isEmpty)
        #expect(testFolder.names().contains("cache-2.sqlite"))
    }

    @Test("cache CA-208 a folder that cannot be written is read, and refused where there is no store")
    func readOnly() async throws {
        let testFolder = try TestStoreFolder()
        #expect(throws: CacheError.self) { try StoreFolder(testFolder.path, canWrite: { _ in false }) }
        do {
            let store = try testFolder.store()
            try await testFolder.fixture.put(store, testFolder.pattern(100_000))
            await store.close()
        }
        let before = testFolder.contents()
        let store = try SQLiteStore(StoreFolder(testFolder.path, canWrite: { _ in false }))

        #expect(store.isReadOnly)
        #expect(try await testFolder.fixture.body(store) == testFolder.pattern(100_000))
        #expect(try await testFolder.fixture.put(store, "b", Data([1])) == nil)
        await #expect(throws: CacheError.self) { try await store.remove(.all) }
        await store.close()
        func lasting(_ contents: [String: Data]) -> [String: Data] { contents.filter { !$0.key.contains("sqlite-") } }
        #expect(lasting(testFolder.contents()) == lasting(before))
    }

    /// Limits the pages of the database, as a disk does that is full.
    private func limitPages(_ store: SQLiteStore, _ count: Int) async throws {
        _ = try await store.core.change { session throws(StoreFault) in
            try session.database.writer.runOnce("PRAGMA max_page_count = \(count)")
            return true
        }
    }

    @Test("cache CA-208 on a full disk entries are evicted for new ones")
    func evictsOnAFullDisk() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store(limit: 1 << 30)
        try await limitPages(store, 60)
        for number in 0..<8 {
            try await testFolder.fixture.put(store, "\(number)", testFolder.pattern(50_000), at: Double(number))
            try await store.flush()
        }

        #expect(try await testFolder.fixture.body(store, "7") == testFolder.pattern(50_000))
        #expect(store.evictions.entries > 0)
    }

    @Test("cache CA-196 CA-208 where eviction does not help, nothing is written for a minute, and reading goes on")
    func pausesOnAFullDisk() async throws {
        let testFolder = try TestStoreFolder()
        let time = VirtualTime()
        let store = try testFolder.store(limit: 1 << 30, time: time)
        try await limitPages(store, 1)
        _ = try await testFolder.fixture.put(store, testFolder.pattern(60_000))
        try await store.flush()

        // No call waited for the write that failed; the next one reports it.
        await #expect(throws: CacheError(.full)) { try await testFolder.fixture.put(store, testFolder.pattern(10)) }
        #expect(try await testFolder.fixture.put(store, testFolder.pattern(10)) == nil)
        #expect(try await testFolder.fixture.heads(store).isEmpty)
        await #expect(throws: CacheError(.full)) { try await limitPages(store, 1_000_000) }
        time.advance(by: .seconds(60))
        try await limitPages(store, 1_000_000)
        #expect(try await testFolder.fixture.put(store, testFolder.pattern(60_000)) != nil)
        #expect(try await testFolder.fixture.body(store) == testFolder.pattern(60_000))
    }

    @Test("cache CA-198 a closed store leaves nothing open: its log is part of the database")
    func closes() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        try await testFolder.fixture.put(store, testFolder.pattern(100_000))
        _ = try await testFolder.fixture.body(store)
        await store.close()

        #expect(testFolder.names() == ["bodies-2", "cache-2.sqlite", "lock"])
    }

    @Test("opens the folder that a file URL names, and refuses another URL")
    func folderByURL() async throws {
        let testFolder = try TestStoreFolder()
        let folder = URL(filePath: testFolder.path + "/a b")
        let store = try SQLiteStore(directory: folder)
        await store.close()
        #expect(FileManager.default.fileExists(atPath: testFolder.path + "/a b/cache-2.sqlite"))

        let other = try #require(URL(string: "https://example.com/a"))
        let error = #expect(throws: CacheError.self) { try SQLiteStore(directory: other) }
        #expect(error?.description.hasSuffix("https://example.com/a: it is not a file URL") == true)
    }

    @Test("cache CA-208 CA-209 all files are for the user alone, whatever the mask, and missing folders are made")
    func permissions() async throws {
        let testFolder = try TestStoreFolder()
        let store = try SQLiteStore(directory: testFolder.path + "/a/b")
        let nested = testFolder.path + "/a/b/"
        try await testFolder.fixture.put(store, testFolder.pattern(200_000))
        try await store.flush()

        for name in ["", "cache-2.sqlite", "cache-2.sqlite-wal", "cache-2.sqlite-shm", "bodies-2", "lock"] {
            var status = stat()
            #expect(stat(nested + name, &status) == 0, "\(name)")
            let isFolder = status.st_mode & S_IFMT == S_IFDIR
            #expect(status.st_mode & 0o777 == (isFolder ? 0o700 : 0o600), "\(name)")
        }
        let body = try #require(try FileManager.default.contentsOfDirectory(atPath: nested + "bodies-2").first)
        var status = stat()
        #expect(stat(nested + "bodies-2/" + body, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test("cache CA-209 a folder or file that is a link, shared, or no folder is refused by its name")
    func refuses() throws {
        let linked = try TestStoreFolder()
        try FileManager.default.createDirectory(atPath: linked.path + "-real", withIntermediateDirectories: true)
        symlink(linked.path + "-real", linked.path)
        #expect(refusal(linked) == "it is a symbolic link")

        let shared = try TestStoreFolder()
        mkdir(shared.path, 0o700)
        for mode in [0o720, 0o702, 0o777] as [mode_t] {
            chmod(shared.path, mode)
            #expect(refusal(shared) == "other users can change it", "\(mode)")
        }
        chmod(shared.path, 0o755)
        #expect(refusal(shared) == nil)
        for name in ["cache-2.sqlite", "bodies-2"] {
            let file = try TestStoreFolder()
            mkdir(file.path, 0o700)
            symlink("/tmp/elsewhere", file.path + "/" + name)
            #expect(refusal(file) == "it is a symbolic link", "\(name)")
            unlink(file.path + "/" + name)
            #expect(refusal(file) == nil)
            mkdir(file.path + "/" + name, 0o700)
            chmod(file.path + "/" + name, 0o666)
            #expect(refusal(file) == "other users can change it", "\(name)")
        }
        let plain = try TestStoreFolder()
        try Data([1]).write(to: URL(filePath: plain.path))
        #expect(refusal(plain) == "it is no folder" || refusal(plain) == String(cString: strerror(ENOTDIR)))
    }

    @Test("cache CA-209 a folder of another user is refused", .enabled(if: geteuid() == 0, "needs to change an owner"))
    func refusesForeign() throws {
        let testFolder = try TestStoreFolder()
        mkdir(testFolder.path, 0o700)
        chown(testFolder.path, 12_345, 12_345)
        #expect(refusal(testFolder) == "it belongs to another user")
        chown(testFolder.path, 0, 0)
        #expect(refusal(testFolder) == nil)
        chown(testFolder.database, 12_345, 12_345)
        #expect(refusal(testFolder) == "it belongs to another user")
    }

    @Test("cache CA-210 no secret of a request is in any file")
    func canaries() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        let digester = CacheDigester(key: store.digestKey)
        let bodyCanary = "canary-in-the-body"
        var secret = CacheKey.Parts()
        secret.method = try Request.Method("QUERY")
        secret.identity = Array("Bearer canary-in-authorization".utf8)
        secret.body = (Array(bodyCanary.utf8), "text/plain", nil)
        secret.custom = "canary-in-the-key"
        let address = try #require(
            URL(string: "https://canary-user:canary-word@example.org/a?access_token=canary-in-query&q=open")
                .flatMap(CacheAddress.init)
        )
        let place = CachePlace(partition: "service", scope: .account("me"), address: address)
        let key = CacheKey(place, secret, digester: digester)
        var rules = ResponseCache.Rules()
        rules.digester = digester
        var query = try testFolder.fixture.samples.query(
            .get,
            address.text,
            ["Cookie": "sid=canary-in-cookie", "Authorization": "Bearer canary-in-authorization", "X-A": "plain-value"]
        )
        query.tags = ["testFolder"]
        let sent = query.headers
        let received = testFolder.fixture.samples.received(
            200,
            ["Cache-Control": "max-age=60", "Vary": "Cookie, Authorization, X-A"],
            sent: sent
        )
        var head = try #require(rules.storage(query, received).decision.head)
        head.extent = .whole(100_000)
        let ticket = try await store.lookUp(key).ticket
        let writer = try #require(try await store.begin(CacheWrite(key, head, ticket: ticket)))
        try await writer.append(testFolder.pattern(100_000))
        #expect(try await writer.commit(head) != nil)
        _ = try await store.invalidate(.prefix("https://example.org/a?access_token=canary-in-query"))
        _ = try await store.invalidate(.address(#require(URL(string: address.text))))
        try await store.flush()

        #expect(try await store.lookUp(key).heads.map(\.mustValidate) == [true])
        for (name, bytes) in testFolder.contents() {
            #expect(bytes.firstRange(of: Data("canary".utf8)) == nil, "\(name)")
        }
        #expect(testFolder.contents().values.contains { $0.firstRange(of: Data("plain-value".utf8)) != nil })
        let listed = try #require(try await store.entries(.all).first)
        #expect(listed.key.place.address.text == "https://example.org/a?access_token=<redacted>&q=open")
    }
}

extension StoreFolder {
    /// What another process does that finds the database damaged.
    static func setAside(_ folder: StoreFolder) -> () -> Void { { folder.setAside() } }
}
