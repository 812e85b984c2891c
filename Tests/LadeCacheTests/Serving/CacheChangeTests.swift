#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCache
import LadeTesting
import SharedDoubles
import Testing

@Suite("Cache of a service, what is stored and what changes it", .timeLimit(.minutes(5)))
struct CacheChangeTests {
    @Test("service SV-20 a response that may be stored is stored, and serves the next call")
    func stores() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(60, ["X-A": "1"]))).andNoMore()
        let sent = try await rig.loader.load(rig.request())

        let served = try await rig.loader.load(rig.request())

        #expect(try await rig.service.cache?.entries().map(\.head.status) == [200])
        #expect(served.source == .cache)
        #expect(served.status == sent.status)
        #expect(served.headers["X-A"] == "1")
        #expect(try await served.wholeText == "one")
    }

    @Test("service SV-21 a request that keeps its response out stores nothing, and reads what is stored")
    func storesNothing() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh())).then(.text("two", headers: .fresh()))
        var request = try rig.request()
        request.cacheOptions.storesResponse = false

        _ = try await rig.loader.load(request)
        #expect(try await rig.service.cache?.entries().isEmpty == true)
        _ = try await rig.loader.load(rig.request())

        #expect(try await rig.loader.load(request).wholeText == "two")
        #expect(rig.sent == 2)
    }

    @Test(
        "cache CA-102 a call that is in flight when the account goes offline ends as it began, and nothing is removed"
    )
    func goesOffline() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh()).after(signal)).andNoMore()
        let request = try rig.request()
        let loading = Task { try await rig.loader.load(request) }
        _ = try await rig.transport.request(at: 0)
        rig.loader.account.isOffline = true
        signal.raise()

        let begun = try await loading.value
        let offline = try await rig.loader.load(request)
        rig.loader.account.isOffline = false
        let online = try await rig.loader.load(request)

        #expect(begun.source == .network)
        #expect([offline.source, online.source] == [.cache, .cache])
        for response in [begun, offline, online] { #expect(try await response.wholeText == "one") }
    }

    @Test("cache CA-135 a 304 for a response that another call has replaced meanwhile changes nothing")
    func losesToReplacement() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(1, ["ETag": "\"a\""])))
            .then(.status(304, headers: .fresh(60, ["ETag": "\"a\"", "X-New": "1"])).after(signal))
            .then(.text("two", headers: .fresh(60, ["ETag": "\"b\""])))
        _ = try await rig.loader.load(rig.request())
        rig.time.advance(by: .seconds(10))
        let request = try rig.request()
        let slow = Task {
            let response = try await rig.loader.load(request)
            return (response.headers["ETag"], try await response.wholeText)
        }
        _ = try await rig.transport.request(at: 1)
        // It asks for itself, and waits for no equal call.
        var own = request
        own.headers["Cache-Control"] = "no-cache"
        #expect(try await rig.loader.load(own).wholeText == "two")
        signal.raise()
        let (tag, text) = try await slow.value

        let served = try await rig.loader.load(request)
        #expect((tag, text) == ("\"a\"", "one") || (tag, text) == ("\"b\"", "two"))
        #expect(served.source == .cache)
        #expect(served.headers["ETag"] == "\"b\"")
        #expect(served.headers["X-New"] == nil)
        #expect(try await served.wholeText == "two")
        #expect(try await rig.service.cache?.entries().count == 1)
        // What was confirmed is gone, so the call asks once more, without a condition.
        #expect(rig.transport.requests.map { $0.headers["If-None-Match"] } == [nil, "\"a\"", "\"a\"", nil])
    }

    @Test("cache CA-143 a change invalidates for its own account and for the shared scope, and for no other account")
    func invalidatesItsOwn() async throws {
        let rig = Rig.caching()
        rig.transport.on(.post, "/thing").respond(.status(204))
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(60, ["ETag": "\"a\""])))
        let (mine, other) = (rig.service.account(identifier: "a"), rig.service.account(identifier: "b"))
        let loaders = (mine.makeLoader(), other.makeLoader())
        let own = try rig.request()
        var shared = own
        shared.cacheOptions.isShared = true
        for loader in [loaders.0, loaders.1] { _ = try await loader.load(own) }
        _ = try await loaders.0.load(shared)
        #expect(try await loaders.1.load(shared).source == .cache)

        _ = try await loaders.0.load(Request(.post, own.url))
        let marks = try await rig.service.cache?.entries().map { ($0.key.place.scope, $0.head.mustValidate) } ?? []

        #expect(marks.count == 3)
        for (scope, mustValidate) in marks { #expect(mustValidate == (scope != .account("b")), "\(scope)") }
        #expect(try await loaders.1.load(own).source == .cache)
        #expect(try await loaders.0.load(own).source == .network)
    }

    @Test("cache CA-146 later calls see what the app invalidates, in every mode, and what it removes")
    func appChanges() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(60, ["ETag": "\"a\""])))
            .then(.status(304, headers: .fresh(60)))
        let cache = try #require(rig.service.cache)
        let request = try rig.request()
        _ = try await rig.loader.load(request)
        #expect(try await rig.loader.load(request.only).source == .cache)

        #expect(try await cache.invalidate(.address(request.url)) == 1)
        let refused = await failure { () throws(LoadingError) in try await rig.loader.load(request.only) }
        #expect(refused?.kind == .notStored)
        #expect(try await rig.loader.load(request).source == .revalidated)
        #expect(try await rig.loader.load(request.only).source == .cache)

        #expect(try await cache.remove(.address(request.url)).entries == 1)
        let removed = await failure { () throws(LoadingError) in try await rig.loader.load(request.only) }
        #expect(removed?.underlyingError as? ResponseCache.NotStoredReason == .nothing)
        #expect(rig.sent == 2)
    }

    @Test("cache CA-235 a call of one account is the same whether another account has stored the response or not")
    func cannotBeProbed() async throws {
        func look(afterAnother: Bool) async throws -> (
            [String], [Headers], Response.CacheUse?, ResponseCache.Explanation
        ) {
            let rig = Rig.caching { $0.addsStatusField = true }
            rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(60, ["ETag": "\"a\""])))
            let other = rig.service.account(identifier: "a").makeLoader()
            if afterAnother { _ = try await other.load(rig.request()) }
            rig.events.clear()
            let explanation = try #require(
                try await rig.service.account(identifier: "b").explainCaching(of: rig.request())
            )
            let response = try await rig.service.account(identifier: "b").makeLoader().load(rig.request())
            let sent = try #require(rig.transport.requests.last)
            return (rig.events.story, [response.headers, sent.headers], response.metrics.cacheUse, explanation)
        }

        let (alone, after) = (try await look(afterAnother: false), try await look(afterAnother: true))

        #expect(alone.0 == after.0)
        #expect(alone.1 == after.1)
        #expect(alone.2 == after.2)
        #expect(after.3.rule == .uriMiss)
        #expect(after.3.stored.isEmpty)
    }
}

extension Request {
    /// The request, which never reaches the server.
    fileprivate var only: Request {
        var copy = self
        copy.cacheMode = .storedOnly
        return copy
    }
}
