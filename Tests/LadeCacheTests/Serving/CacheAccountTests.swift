#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCache
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@Suite("Cache of a service, accounts", .timeLimit(.minutes(5)))
struct CacheAccountTests {
    @Test("cache CA-42 accounts share only what a request shares, and only an exchange without credentials and cookies")
    func shares() async throws {
        let rig = Rig.caching()
        rig.transport.on(.get, "/plain").respond(.text("plain", headers: .fresh()))
        rig.transport.on(.get, "/cookie").respond(.text("cookie", headers: .fresh(60, ["Set-Cookie": "a=b"])))
        let loaders = ["a", "b"].map { rig.service.account(identifier: $0).makeLoader() }
        func load(_ path: String, isShared: Bool) async throws -> [Response.Source] {
            var sources: [Response.Source] = []
            for loader in loaders {
                var request = try rig.request(path)
                request.cacheOptions.isShared = isShared
                sources.append(try await loader.load(request).source)
            }
            return sources
        }

        #expect(try await load("/plain", isShared: false) == [.network, .network])
        #expect(try await load("/plain", isShared: true) == [.network, .cache])
        #expect(try await load("/cookie", isShared: true) == [.network, .network])
        #expect(rig.cacheStory.contains("cacheNotStored(LadeCore.Response.CacheRule.sharedScope)"))
    }

    @Test("cache CA-43 a refreshed token keeps what is stored")
    func tokens() async throws {
        let rig = Rig.caching()
        rig.transport.onAnyRequest().respond(.text("one", headers: .fresh(60, ["Vary": "Authorization"])))
        let scope = Authorisation.Scope(origins: [try #require(Origin(rig.request().url))])
        func loader(_ token: String) -> Loader {
            rig.service.account(
                identifier: "a",
                authorisers: [Authorisation.Bearer(token: Secret(token), scope: scope)]
            )
            .makeLoader()
        }

        _ = try await loader("first").load(rig.request())
        let second = try await loader("second").load(rig.request())

        #expect(second.source == .cache)
        #expect(rig.sent == 1)
    }

    @Test("cache CA-144 CA-211 signing out removes what is stored, and drops what arrives later")
    func signsOut() async throws {
        let rig = Rig.caching()
        let signal = Signal()
        rig.transport.on(.get, "/thing").respond(.text("one", headers: .fresh()))
        rig.transport.on(.get, "/late").respond(.chunks(["a", "b"], headers: .fresh()))
        let account = rig.service.account(identifier: "a")
        let loader = account.makeLoader()
        let other = rig.service.account(identifier: "b").makeLoader()
        for loader in [loader, other] { _ = try await loader.load(rig.request()) }
        let late = try await loader.load(rig.request("/late").streamed)
        signal.raise()

        await account.signOut()
        _ = await failure { () throws(LoadingError) in try await late.body.collect() }

        let again = rig.service.account(identifier: "a").makeLoader()
        #expect(try await again.load(rig.request("/late")).source == .network)
        #expect(try await again.load(rig.request()).source == .network)
        #expect(try await other.load(rig.request()).source == .cache)
    }

    @Test(
        "cache CA-230 no account receives a body of another one, through hits, joins, variants, 304s, changes and purges"
    )
    func keepsAccountsApart() async throws {
        let seed = UInt64.random(in: 1...UInt64(UInt32.max))
        let random = SeededRandom(seed: seed)
        let rig = Rig.caching { $0.store = MemoryStoreOfTests.make(limit: 128 << 10) }
        let version = Locked(0)
        rig.transport.onAnyRequest().respond(
            .computed { request, call in
                let accept = request.headers["Accept"] ?? ""
                let tag = "\"\(call.account)-\(accept)-\(version.withLock { $0 } / 7)\""
                if request.method != .get {
                    version.withLock { $0 += 1 }
                    return .status(204)
                }
                let kinds = [
                    "max-age=1", "max-age=20, stale-while-revalidate=20", "no-cache", "no-store", "max-age=60",
                ]
                let kind = kinds[Int((request.url.path.utf8.last ?? 0) % 5)]
                let fields: Headers = ["Cache-Control": kind, "ETag": tag, "Vary": "Accept"]
                if request.headers["If-None-Match"]?.contains(tag) == true { return .status(304, headers: fields) }
                return .text("\(call.account) \(accept)", headers: fields)
            }
        )
        let accounts = (0..<5).map { rig.service.account(identifier: "user\($0)") }
        var mixed: [String] = []
        for _ in 0..<60 {
            var tasks: [(String, Task<String, any Error>)] = []
            for _ in 0..<20 {
                let account = accounts[Int(random.next() % 5)]
                var request = try rig.request("/r\(random.next() % 6)")
                let accept = random.next() % 2 == 0 ? "text/a" : "text/b"
                request.headers["Accept"] = accept
                switch random.next() % 20 {
                case 0: request.method = .delete
                case 1: request.cacheMode = .revalidate
                case 2: request.cacheMode = .preferStored
                case 3: request.delivery = .streamed
                default: break
                }
                if request.method == .delete {
                    _ = try await account.makeLoader().load(request)
                    continue
                }
                let loader = account.makeLoader()
                let task = Task { [request] in
                    defer { withExtendedLifetime(loader) {} }
                    return try await loader.load(request).wholeText
                }
                tasks.append(("\(account.identifier) \(accept)", task))
            }
            if random.next() % 8 == 0 {
                _ = try await rig.service.cache?.remove(.prefix("https://svc.example.com/r\(random.next() % 6)"))
            }
            for (expected, task) in tasks {
                let text = try await task.value
                if text != expected { mixed.append("\(expected) got \(text)") }
            }
            rig.time.advance(by: .seconds(Int64(random.next() % 5)))
        }
        await rig.service.cache?.finishBackgroundWork(time: rig.time)

        #expect(mixed.isEmpty, "seed \(seed)")
        let counters = try #require(await rig.service.cache?.counters)
        // The traffic has hits and confirmations, otherwise nothing was tested.
        #expect(counters.servedFresh > 0 && counters.validated > 0 && counters.stored > 0, "seed \(seed)")
    }
}

/// Stores of other sizes.
enum MemoryStoreOfTests {
    static func make(limit: Int) -> ResponseCache.MemoryStore {
        do throws(CacheError) { return try ResponseCache.MemoryStore(limit: limit) } catch {
            preconditionFailure("\(error)")
        }
    }
}
