import Lade
import LadeCache
import LadeTesting
import SharedDoubles
import Testing

/// What calls use, which does not depend on the machine; `Benchmarks/cache` measures the same rows in time.
@Suite("Cache of a service, what calls use", .timeLimit(.minutes(5)))
struct CacheCostTests {
    /// A rig whose store counts how often it is used.
    private func counting() -> (rig: Rig, uses: Locked<Int>) {
        let store = FaultyStore()
        let uses = Locked(0)
        store.onUse.withLock { $0 = { uses.withLock { $0 += 1 } } }
        return (Rig.caching { $0.store = store }, uses)
    }

    @Test("cache CA-240 a served call uses the store twice, sends nothing and copies no body")
    func serves() async throws {
        let (rig, uses) = counting()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh())).andNoMore()
        _ = try await rig.loader.load(rig.request())
        uses.withLock { $0 = 0 }

        let bodies = try await [rig.loader.load(rig.request()), rig.loader.load(rig.request())].map(\.body.bytes)

        // A lookup and the opening of the body for each.
        #expect(uses.withLock(\.self) == 4)
        #expect(rig.sent == 1)
        #expect(bodies.allSatisfy { $0 != nil })
    }

    @Test("cache CA-242 a stored response costs one lookup and one entry, and waits for nothing else")
    func stores() async throws {
        let (rig, uses) = counting()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()))

        _ = try await rig.loader.load(rig.request())

        #expect(uses.withLock(\.self) == 2)
        #expect(!rig.events.story.contains { $0.hasPrefix("wait started") })
    }

    @Test("cache CA-243 without a cache nothing acts for it, and a call that passes by uses no store")
    func passesBy() async throws {
        let (rig, uses) = counting()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()))
        var request = try rig.request()
        request.headers["Cache-Control"] = "no-store"
        _ = try await rig.loader.load(request)
        _ = try await rig.loader.load(Request(.options, request.url))

        #expect(uses.withLock(\.self) == 0)
        #expect(!Rig().service.chain.interceptors.contains { ($0 as? HopInterceptor)?.cache != nil })
        #expect(rig.service.chain.interceptors.contains { ($0 as? HopInterceptor)?.cache != nil })
    }

    @Test("cache CA-245 a confirmed response costs one exchange without a body, and no second entry")
    func confirms() async throws {
        let (rig, uses) = counting()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(1, ["ETag": "\"a\""])))
            .then(.status(304, headers: .fresh(1)))
        _ = try await rig.loader.load(rig.request())
        rig.time.advance(by: .seconds(10))
        uses.withLock { $0 = 0 }

        let confirmed = try await rig.loader.load(rig.request())

        // A lookup, the update of the head, and the opening of the body.
        #expect(uses.withLock(\.self) == 3)
        #expect(try await confirmed.wholeText == "one")
        #expect(rig.sent == 2)
    }

    @Test("cache CA-246 a thousand calls share one exchange, and leave nothing behind")
    func waits() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()).after(signal)).andNoMore()
        let request = try rig.request()
        let tasks = (0..<1_000).map { _ in Task { try await rig.loader.load(request).wholeText } }
        let waiting = Locked(0)
        try await rig.events.event { event in
            guard case .waitStarted(.coalescing) = event else { return false }
            return waiting.withLock {
                $0 += 1
                return $0
            } == 999
        }
        #expect(rig.service.cache?.waiting == 999)
        signal.raise()

        for task in tasks { #expect(try await task.value == "one") }
        #expect(rig.sent == 1)
        #expect(rig.service.cache?.waiting == 0)
        #expect(await rig.service.cache?.counters.joined == 999)
    }
}
