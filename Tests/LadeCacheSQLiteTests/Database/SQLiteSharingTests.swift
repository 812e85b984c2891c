import CacheStoreConformance
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

/// Two stores on one folder, as two processes have.
@Suite(.timeLimit(.minutes(5)))
struct SQLiteSharingTests {
    @Test("cache CA-193 CA-203 each store sees what the other one stores, updates, invalidates and removes")
    func sees() async throws {
        let testFolder = try TestStoreFolder()
        let (first, second) = (try testFolder.store(), try testFolder.store())
        #expect(first.digestKey == second.digestKey)
        try await testFolder.fixture.put(first, "a", testFolder.pattern(100), ["ETag": "\"a\""], tags: ["x"])
        try await testFolder.fixture.put(first, "large", testFolder.pattern(100_000))
        try await first.flush()

        #expect(try await testFolder.fixture.body(second, "a") == testFolder.pattern(100))
        #expect(try await testFolder.fixture.body(second, "large") == testFolder.pattern(100_000))
        var head = try #require(try await testFolder.fixture.heads(second, "a").first)
        head.renew(["ETag": "\"a\"", "X-New": "1"], head.times)
        #expect(try await second.update(head))
        #expect(try await testFolder.fixture.heads(first, "a").first?.headers["X-New"] == "1")
        #expect(try await !first.update(head))
        #expect(try await second.invalidate(.tag("x")) == 1)
        #expect(try await testFolder.fixture.heads(first, "a").map(\.mustValidate) == [true])
        #expect(try await second.remove(.all).entries == 2)
        #expect(try await testFolder.fixture.heads(first, "a").isEmpty)
        #expect(try await first.size() == 0)
    }

    @Test(
        "cache CA-144 CA-203 an exchange that began before a removal in another store is not stored",
        arguments: [
            .all, .prefix("https://example.org/a"), .host("example.org"), .account("me"), .tag("x"),
            .received(before: RuleSamples.start.addingTimeInterval(5)),
            ResponseCache.Selection(.origin("https://example.org", scopes: [.account("me")])),
        ] as [ResponseCache.Selection]
    )
    func removedElsewhere(selection: ResponseCache.Selection) async throws {
        let testFolder = try TestStoreFolder()
        let (first, second) = (try testFolder.store(), try testFolder.store())
        let ticket = try await first.lookUp(RuleSamples.key()).ticket
        _ = try await second.remove(selection)

        #expect(
            try await testFolder.fixture.put(first, "a", testFolder.pattern(10), tags: ["x"], ticket: ticket) == nil
        )
        #expect(try await testFolder.fixture.put(first, "a", testFolder.pattern(10), tags: ["x"]) != nil)
    }

    @Test("cache CA-144 a removal of something else does not matter, and one of 65 removals ago is not forgotten")
    func manyRemovals() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        let ticket = try await store.lookUp(RuleSamples.key()).ticket
        for number in 0..<63 { _ = try await store.remove(.host("other\(number).example")) }
        #expect(try await testFolder.fixture.put(store, "a", testFolder.pattern(10), ticket: ticket) != nil)
        for number in 0..<3 { _ = try await store.remove(.host("other\(number).example")) }
        #expect(try await testFolder.fixture.put(store, "b", testFolder.pattern(10), ticket: ticket) == nil)
    }

    @Test(
        "cache CA-191 CA-203 a reader reads on while another store replaces, evicts and removes",
        arguments: [100, 300_000]
    )
    func readsOn(length: Int) async throws {
        let testFolder = try TestStoreFolder()
        let (first, second) = (try testFolder.store(), try testFolder.store())
        let id = try #require(try await testFolder.fixture.put(first, testFolder.pattern(length)))
        let reader = try #require(try await first.open(id, span: nil))
        try await first.flush()
        _ = try await second.remove(.all)

        #expect(testFolder.bodies.isEmpty)
        #expect(try await testFolder.fixture.drain(reader) == testFolder.pattern(length))
    }

    @Test("cache CA-211 signing out in another store ends a reader within a second")
    func signsOutElsewhere() async throws {
        let testFolder = try TestStoreFolder()
        let time = VirtualTime()
        let (first, second) = (try testFolder.store(time: time), try testFolder.store())
        let id = try #require(try await testFolder.fixture.put(first, testFolder.pattern(300_000)))
        let other = try #require(try await testFolder.fixture.put(first, testFolder.pattern(300_000), account: "you"))
        let reader = try #require(try await first.open(id, span: nil))
        let kept = try #require(try await first.open(other, span: nil))
        _ = try await reader.next()
        _ = try await second.remove(.account("me"))
        time.advance(by: .milliseconds(999))

        await #expect(throws: CacheError(.signedOut)) { try await reader.next() }
        #expect(try await testFolder.fixture.heads(first).isEmpty)
        #expect(try await testFolder.fixture.drain(kept) == testFolder.pattern(300_000))
    }

    @Test("cache CA-211 after signing out no file has a byte of the account")
    func leavesNoBytes() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        func mark(_ name: String, _ length: Int) -> Data { Data(String(repeating: name, count: length).utf8) }
        for (path, length) in [("a", 10), ("b", 5_000), ("c", 20_000)] {
            try await testFolder.fixture.put(store, path, mark("marked-mine", length), ["X-Mark": "marked-mine"])
            try await testFolder.fixture.put(store, path, mark("marked-yours", length), account: "you")
        }
        // The entries that were replaced and evicted before are gone, too.
        try await testFolder.fixture.put(store, "a", mark("marked-mine", 3), at: 1)
        let head = try testFolder.fixture.samples.keep(["Cache-Control": "max-age=60"], length: 11)
        let late = try #require(
            try await store.begin(CacheWrite(RuleSamples.key("https://example.org/d"), head, ticket: 0))
        )
        try await late.append(mark("marked-mine", 1))
        #expect(testFolder.contents().values.contains { $0.firstRange(of: Data("marked-mine".utf8)) != nil })
        let removal = try await store.remove(.account("me"))

        #expect(removal.entries == 3)
        #expect(try await late.commit(head) == nil)
        try await store.flush()
        for (name, bytes) in testFolder.contents() {
            #expect(bytes.firstRange(of: Data("marked-mine".utf8)) == nil, "\(name)")
        }
        #expect(try await testFolder.fixture.body(store, "c", account: "you") == mark("marked-yours", 20_000))
    }

    @Test("cache CA-203 another program that writes for long is waited for, and does not stop reading")
    func busy() async throws {
        let testFolder = try TestStoreFolder()
        let (first, second) = (try testFolder.store(), try testFolder.store())
        try await testFolder.fixture.put(first, testFolder.pattern(10), ["ETag": "\"a\""])
        try await first.flush()
        let gate = Gate()
        async let holding = second.core.change { _ throws(StoreFault) in
            gate.wait()
            return true
        }
        await gate.isReached.value
        var head = try #require(try await testFolder.fixture.heads(first).first)
        head.renew(["ETag": "\"a\"", "X-New": "1"], head.times)

        await #expect(throws: CacheError(.busy)) { try await first.update(head) }
        #expect(try await testFolder.fixture.body(first) == testFolder.pattern(10))
        // No call waits for this one, so it may wait for longer.
        #expect(try await testFolder.fixture.put(first, "b", testFolder.pattern(10)) != nil)
        gate.open()
        _ = try await holding
        #expect(try await testFolder.fixture.body(first, "b") == testFolder.pattern(10))
    }

    @Test("cache CA-241 sixteen callers are served from disk at the same time, also while another program writes")
    func servesMany() async throws {
        let testFolder = try TestStoreFolder()
        let (first, second) = (try testFolder.store(), try testFolder.store())
        for number in 0..<20 {
            try await testFolder.fixture.put(first, "\(number)", testFolder.pattern(1_000, UInt8(number)))
        }
        try await first.flush()
        let gate = Gate()
        async let holding = second.core.change { _ throws(StoreFault) in
            gate.wait()
            return true
        }
        await gate.isReached.value

        let served = try await withThrowingTaskGroup(of: Int.self) { group in
            for caller in 0..<16 {
                group.addTask {
                    for step in 0..<20 {
                        let number = (caller + step) % 20
                        let body = try await testFolder.fixture.body(first, "\(number)")
                        #expect(body == testFolder.pattern(1_000, UInt8(number)))
                    }
                    return 20
                }
            }
            return try await group.reduce(0, +)
        }

        #expect(served == 320)
        gate.open()
        _ = try await holding
    }

    @Test("cache CA-201 no transaction is open while a reader or a writer waits, and the log stays small beside them")
    func holdsNoTransaction() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store(limit: 256 << 20)
        let (large, small) = (testFolder.pattern(300_000), testFolder.pattern(60_000))
        let id = try #require(try await testFolder.fixture.put(store, large))
        let head = try testFolder.fixture.samples.keep(["Cache-Control": "max-age=60"], length: 60_000)
        let writer = try #require(
            try await store.begin(CacheWrite(RuleSamples.key("https://example.org/late"), head, ticket: 0))
        )
        try await writer.append(small.prefix(10_000))
        let reader = try #require(try await store.open(id, span: nil))
        var read = try #require(try await reader.next())
        for number in 0..<300 { try await testFolder.fixture.put(store, "\(number)", small) }
        try await store.flush()
        func log() -> Int { testFolder.contents()["cache-2.sqlite-wal"]?.count ?? 0 }

        #expect(log() <= 8 << 20)
        // The log is truncated only where no transaction needs it.
        try testFolder.run("PRAGMA wal_checkpoint(TRUNCATE)")
        #expect(log() == 0)
        read.append(try await testFolder.fixture.drain(reader))
        #expect(read == large)
        try await writer.append(small.dropFirst(10_000))
        #expect(try await writer.commit(head) != nil)
        #expect(try await testFolder.fixture.body(store, "late") == small)
    }

    @Test("cache CA-213 purging many entries stops no reader, and leaves the log small")
    func purges() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store(limit: 256 << 20)
        for number in 0..<1_500 { try await testFolder.fixture.put(store, "\(number)", testFolder.pattern(2_000)) }
        try await testFolder.fixture.put(store, "kept", testFolder.pattern(10), account: "you")
        try await store.flush()
        async let removal = store.remove(.account("me"))
        var reads = 0
        while try await !testFolder.fixture.heads(store, "1499").isEmpty {
            #expect(try await testFolder.fixture.body(store, "kept", account: "you") == testFolder.pattern(10))
            reads += 1
        }

        #expect(try await removal.entries == 1_500)
        #expect(reads > 0)
        #expect(testFolder.contents()["cache-2.sqlite-wal"]?.count ?? 0 <= 8 << 20)
    }
}
