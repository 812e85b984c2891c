import Lade
import LadeCache
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@Suite("Cache of a service, seen from outside", .timeLimit(.minutes(5)))
struct CacheStoryTests {
    @Test("cache CA-220 a call's story names every decision once")
    func stories() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing").respond(.text("one", headers: .fresh(10, ["ETag": "\"a\""])))
            .then(.status(304, headers: .fresh(10)))
        func story(_ request: Request) async throws -> [String] {
            rig.events.clear()
            _ = try await rig.loader.load(request)
            return rig.cacheStory
        }

        #expect(
            try await story(rig.request()) == [
                "cacheMissed(LadeCore.Response.CacheRule.uriMiss)", "cacheStored(bytes: 3, lifetime: 10.0 seconds)",
            ]
        )
        #expect(
            try await story(rig.request()) == [
                "cacheServed(LadeCore.Response.CacheRule.fresh, age: 0.0 seconds, lifetime: 10.0 seconds)"
            ]
        )
        rig.time.advance(by: .seconds(20))
        #expect(
            try await story(rig.request()) == ["cacheValidating(LadeCore.Response.CacheRule.stale)", "cacheValidated"]
        )
    }

    @Test("cache CA-220 CA-222 the timeline says what the cache did, and keeps the server's own fields")
    func timelines() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(10)))
        _ = try await rig.loader.load(rig.request())
        rig.time.advance(by: .seconds(3))
        let story = Service.CallStory()
        let observation = rig.service.observe(with: story)
        _ = try await rig.loader.load(rig.request())
        observation.end()

        #expect("\(story.timeline)".contains("served from the cache: fresh, 3.0 s old, fresh for 10 s"))
    }

    @Test("cache CA-222 the timeline has the time of the store as a stage of its own, and no time is lost")
    func storeTimes() async throws {
        let store = FaultyStore()
        let rig = Rig.caching { $0.store = store }
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()).after(.milliseconds(20)))
        let time = rig.time
        store.onUse.withLock { $0 = { time.advance(by: .milliseconds(3)) } }
        let story = Service.CallStory()
        let observation = rig.service.observe(with: story)
        let request = try rig.request()
        let load = Task { try await rig.loader.load(request).wholeText }
        _ = try await time.sleepers(atLeast: 1)
        time.advance(by: .milliseconds(20))
        _ = try await load.value
        observation.end()

        let timeline = story.timeline
        let stores = timeline.totals.first { $0.stage == .store }
        // A lookup before the exchange, and the beginning of the entry after it.
        #expect(stores?.duration == .milliseconds(6))
        #expect(timeline.totals.reduce(.zero) { $0 + $1.duration } == timeline.elapsed)
        #expect(timeline.rows.contains { $0.text == "the store of the cache" && $0.start == .zero })
    }

    @Test("cache CA-221 the field says hit, miss and confirmation, after the members of the server, and is not stored")
    func statusField() async throws {
        let rig = Rig.caching { $0.addsStatusField = true }
        rig.transport.on(.get, "/thing")
            .respond(.text("one", headers: .fresh(10, ["ETag": "\"a\"", "Cache-Status": "edge; hit"])))
            .then(.status(304, headers: .fresh(10)))
        rig.transport.on(.post, "/thing").respond(.status(204))
        func field(_ method: Request.Method = .get) async throws -> [String] {
            try await rig.loader.load(Request(method, rig.request().url)).headers.all("Cache-Status")
        }

        #expect(try await field() == ["edge; hit", "Lade; fwd=uri-miss; stored; detail=uri-miss"])
        rig.time.advance(by: .seconds(3))
        #expect(try await field() == ["edge; hit", "Lade; hit; ttl=7; detail=fresh"])
        rig.time.advance(by: .seconds(10))
        #expect(
            try await field() == ["edge; hit", "Lade; fwd=stale; fwd-status=304; ttl=-3; stored; detail=stale"]
        )
        #expect(try await field(.post) == ["Lade; fwd=method; detail=method"])
    }

    @Test("cache CA-223 the counters say what the cache has done")
    func counters() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/thing").respond(.text("one", headers: .fresh(10, ["ETag": "\"a\""])))
            .then(.status(304, headers: .fresh(10)))
        rig.transport.on(.get, "/no").respond(.text("no", headers: ["Cache-Control": "no-store"]))
        for _ in 1...3 { _ = try await rig.loader.load(rig.request()) }
        rig.time.advance(by: .seconds(20))
        _ = try await rig.loader.load(rig.request())
        _ = try await rig.loader.load(rig.request("/no"))

        let counters = try #require(await rig.service.cache?.counters)

        #expect(counters.servedFresh == 2)
        #expect(counters.validated == 1)
        #expect(counters.missed == 2)
        #expect(counters.stored == 1)
        #expect(counters.refused == [.noStore: 1])
        #expect(counters.bytesServed == 6)
        #expect(counters.entries == 1)
        #expect(counters.bytes > 0)
        #expect(counters.hitRatio == 0.6)
    }

    @Test("cache CA-226 an explanation names decision, rule, lifetime and differences, and changes nothing")
    func explains() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(10, ["Vary": "Accept"])))
        let account = rig.service.anonymous
        var request = try rig.request()
        #expect(try await account.explainCaching(of: request)?.action == .fetch)
        request.headers["Accept"] = "text/a"
        _ = try await rig.loader.load(request)
        rig.time.advance(by: .seconds(4))

        var same = request
        same.headers["Accept-Language"] = nil
        let hit = try #require(try await account.explainCaching(of: same))
        request.headers["Accept"] = "text/b"
        let other = try #require(try await account.explainCaching(of: request))

        #expect(hit.action == .serve)
        #expect(hit.rule == .fresh)
        #expect(hit.freshness?.age == .seconds(4))
        #expect(hit.stored.map(\.differences) == [[]])
        #expect(other.rule == .variantMiss)
        #expect(other.stored.map(\.differences) == [["accept"]])
        #expect(rig.sent == 1)
    }
}
