import CacheStoreConformance
import Lade
import LadeCache
import LadeCacheSQLite
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

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

/// Services on two stores of one folder, as two processes have.
@Suite("Cache stores that share exchanges", .timeLimit(.minutes(5)))
struct SQLiteExchangeTests {
    private func rig(_ store: SQLiteStore) -> Rig { Rig { $0.cache = ResponseCache.Settings(store: store) } }

    private func load(_ rig: Rig) async throws -> String {
        String(decoding: try await rig.loader.load(rig.request()).body.collect(), as: UTF8.self)
    }

    @Test("cache CA-186 two processes with 100 misses each send one request together")
    func sharesMisses() async throws {
        let testFolder = try TestStoreFolder()
        let (one, two) = (rig(try testFolder.store()), rig(try testFolder.store()))
        let signal = Signal()
        one.transport.onAnyRequest().respond(.text("one", headers: ["Cache-Control": "max-age=60"]).after(signal))
        two.transport.onAnyRequest().respond(.text("two"))
        let first = (0..<100).map { _ in Task { try await load(one) } }
        _ = try await one.transport.request(at: 0)
        let second = (0..<100).map { _ in Task { try await load(two) } }
        // One call of the second process looks again from time to time, and the others wait for it.
        let waiting = Locked(0)
        try await two.events.event { event in
            guard case .waitStarted(.coalescing) = event else { return false }
            return waiting.withLock {
                $0 += 1
                return $0
            } == 99
        }
        // That call sleeps, and the timer of the others.
        _ = try await two.time.sleepers(atLeast: 2)
        signal.raise()
        for task in first { #expect(try await task.value == "one") }
        try await one.service.cache?.flush()
        two.time.advance(by: .milliseconds(2))
        for task in second { #expect(try await task.value == "one") }

        #expect(one.transport.received.count == 1)
        #expect(two.transport.received.isEmpty)
        #expect(two.events.story.contains("wait started: the response to the equal call of another process"))
    }

    @Test("cache CA-186 a process that waits for another one loses patience, and keeps to its deadline")
    func losesPatience() async throws {
        let testFolder = try TestStoreFolder()
        let (one, two) = (rig(try testFolder.store()), rig(try testFolder.store()))
        one.transport.onAnyRequest().respond(.stalls)
        two.transport.onAnyRequest().respond(.text("two", headers: ["Cache-Control": "max-age=60"]))
        let first = Task { try await load(one) }
        _ = try await one.transport.request(at: 0)
        var request = try two.request()
        request.deadline = .seconds(3)
        let hasty = request
        let start = two.time.now
        let error = await two.time.runAutomatically { () -> LoadingError? in
            do throws(LoadingError) {
                _ = try await two.loader.load(hasty)
                return nil
            } catch {
                return error
            }
        }

        guard case .deadlineExceeded? = error?.kind else { throw try #require(error) }
        #expect(two.time.now == start.advanced(by: .seconds(3)))
        #expect(two.transport.received.isEmpty)
        let text = await two.time.runAutomatically { try? await load(two) }
        #expect(text == "two")
        #expect(two.time.now == start.advanced(by: .seconds(13)))
        first.cancel()
        _ = await first.result
    }

    @Test("cache CA-172 CA-186 a stale response is validated in the background by one process")
    func sharesValidations() async throws {
        let testFolder = try TestStoreFolder()
        let (one, two) = (rig(try testFolder.store()), rig(try testFolder.store()))
        let fields: Headers = ["Cache-Control": "max-age=10, stale-while-revalidate=60", "ETag": "\"a\""]
        let signal = Signal()
        one.transport.onAnyRequest().respond(.text("one", headers: fields))
            .then(.status(304, headers: fields).after(signal))
        two.transport.onAnyRequest().respond(.status(304, headers: fields))
        _ = try await load(one)
        try await one.service.cache?.flush()
        for rig in [one, two] { rig.time.advance(by: .seconds(20)) }
        #expect(try await load(one) == "one")
        _ = try await one.transport.request(at: 1)
        for _ in 0..<3 {
            #expect(try await load(two) == "one")
            await two.service.cache?.finishBackgroundWork(time: two.time)
        }
        signal.raise()
        await one.service.cache?.finishBackgroundWork(time: one.time)

        #expect(one.transport.received.count == 2)
        #expect(two.transport.received.isEmpty)
    }

    @Test("cache CA-186 the exchange of a process that is killed is free immediately")
    func isFreeAfterKill() async throws {
        let testFolder = try TestStoreFolder()
        let store = try testFolder.store()
        let place = CachePlace(
            partition: "probe",
            scope: .account("me"),
            address: try RuleSamples.address("https://example.org/held")
        )
        let key = CacheKey(place, digester: RuleSamples.digester)
        let descriptor = open(testFolder.folder.file("log"), O_WRONLY | O_CREAT, 0o600)
        defer { close(descriptor) }
        let line = ["hold", testFolder.path, "1000000", "1", "1"]
        let status = try await ChildProcess(SQLiteCrashTests.probe, line, output: descriptor).ended()

        #expect(status == -SIGKILL)
        #expect(testFolder.folder.text("log") == "held\n")
        #expect(store.reserveExchange(for: key))
        #expect(try !testFolder.store().reserveExchange(for: key))
        store.endExchange(for: key)
        #expect(try testFolder.store().reserveExchange(for: key))
    }
}
