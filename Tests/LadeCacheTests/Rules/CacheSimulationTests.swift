#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CacheStoreConformance
import LadeCache
import LadeCore
import SharedDoubles
import Testing

/// A server with versions, behind the rules and the store in memory, one call at a time in virtual time.
@Suite(.timeLimit(.minutes(10)))
struct CacheSimulationTests {
    /// The server, and what it knows about its versions.
    final class Server {
        struct Resource {
            var versions: [(number: Int, from: Double)] = [(1, 0)]
            let directives: String
            /// For how long a response may be used after it was current.
            let staleness: Double
            let isStrong: Bool
            let varies: Bool
        }

        let random: SeededRandom
        var seconds = 0.0
        var resources: [String: Resource] = [:]
        var exchanges = 0
        var failureRate = 0

        init(_ random: SeededRandom, paths: Int) {
            self.random = random
            for path in 0..<paths {
                let lifetime = random.pick([0, 2, 10, 40])
                let window = random.pick([0, 0, 5, 20])
                let kind = random.pick([
                    "", ", must-revalidate", ", stale-while-revalidate=\(window)", ", stale-if-error=\(window)",
                ])
                resources["/\(path)"] = Resource(
                    directives: "max-age=\(lifetime)\(kind)",
                    staleness: Double(lifetime) + (kind.contains("stale-") ? Double(window) : 0),
                    isStrong: random.chance(60),
                    varies: random.chance(40)
                )
            }
        }

        func current(_ path: String) -> Int { resources[path]?.versions.last?.number ?? 0 }

        func change(_ path: String) {
            let number = current(path) + 1
            resources[path]?.versions.append((number, seconds))
        }

        /// Until when a version was the current one.
        func end(of version: Int, _ path: String) -> Double {
            resources[path]?.versions.first { $0.number > version }?.from ?? .infinity
        }

        static func body(_ path: String, _ account: String, _ variant: String, _ version: Int) -> Data {
            let line = "\(path) \(account) \(variant) \(version)\n"
            return Data(String(repeating: line, count: 5 + version % 40).utf8)
        }

        func respond(_ query: CacheQuery, _ sent: Headers, account: String) -> (head: ReceivedHead, body: Data)? {
            exchanges += 1
            let path = String(query.key?.place.address.text.dropFirst(19) ?? "")
            guard let resource = resources[path], !random.chance(failureRate) else { return nil }
            let requested = RuleSamples.at(seconds)
            if query.method == .post { change(path) }
            seconds += Double(random.below(3)) / 4
            let version = current(path)
            let variant = resource.varies ? sent["X-A"] ?? "" : ""
            let tag = "\(resource.isStrong ? "" : "W/")\"\(variant)-\(version)\""
            var headers: Headers = [
                "Date": RuleSamples.date(seconds.rounded(.down)), "ETag": tag, "Cache-Control": resource.directives,
            ]
            if resource.varies { headers.add("Vary", "X-A") }
            var body = Self.body(path, account, variant, version)
            var status: Response.Status = 200
            let tags = (sent["If-None-Match"] ?? "").split(separator: ",").map { String($0.trimmedOfSpace) }
            if query.method == .post {
                status = 204
                body = Data()
            } else if tags.contains(tag) {
                status = 304
                body = Data()
            } else if let range = sent["Range"]?.behind("bytes="), sent["If-Range"] == nil || sent["If-Range"] == tag {
                let bounds = range.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
                let end = min((bounds[1] ?? body.count) + (bounds[1] == nil ? 0 : 1), body.count)
                if let start = bounds[0], start < end {
                    status = 206
                    headers.add("Content-Range", "bytes \(start)-\(end - 1)/\(body.count)")
                    body = body[start..<end]
                }
            }
            var head = ReceivedHead(
                status,
                headers,
                sent: sent,
                times: ExchangeTimes(requested: requested, received: RuleSamples.at(seconds))
            )
            if status != 304 { head.headers.add("Content-Length", "\(body.count)") }
            return (head, Data(body))
        }
    }

    @Test("cache CA-265 CA-230 each response is of its account, and recent enough, also after a change of its own")
    func isRecent() async throws {
        try await simulate("recent") { load, comment in
            #expect(load.server.end(of: load.version, load.path) >= load.oldest, comment)
            #expect(load.version >= load.least, comment)
        }
    }

    @Test("cache CA-266 the versions that are served for one key and variant never go back")
    func neverGoesBack() async throws {
        try await simulate("forward") { load, comment in
            #expect(load.version >= load.newest, comment)
        }
    }

    @Test("cache CA-267 each body is one whole body of the server, or the range of one that its fields say")
    func neverMixes() async throws {
        try await simulate("whole") { load, comment in
            #expect(load.isWhole, comment)
        }
    }

    /// What a response of the cache is, and what it may be.
    private struct Load {
        let server: Server
        let path: String
        /// The version of the server whose body it is.
        let version: Int
        /// A moment after which the version must have been current.
        let oldest: Double
        /// The version that the account's own change has made, and the one that was served last.
        let least: Int
        let newest: Int
        /// Whether the body is that of a version, and not of several.
        let isWhole: Bool
    }

    private func simulate(_ name: String, _ check: (Load, Comment) throws -> Void) async throws {
        for await _ in Soak.turns(Soak.current.rounds(of: 67, few: 2)) {
            let random = SeededRandom(seed: Soak.current.seed(for: name))
            let server = Server(random, paths: 5)
            server.failureRate = random.pick([0, 5, 20])
            let store = try ResponseCache.MemoryStore(limit: random.pick([65_536, 1 << 20]))
            var newest: [String: Int] = [:]
            var least: [String: Int] = [:]
            for step in 0..<800 {
                server.seconds += Double(random.below(8)) / 2
                let path = "/\(random.below(5))"
                if random.chance(8) { server.change(path) }
                let account = random.pick(["me", "you"])
                let variant = random.pick(["1", "2"])
                var headers: Headers = ["X-A": variant]
                let isRange = random.chance(25)
                if isRange { headers["Range"] = "bytes=\(random.below(60))-\(random.pick(["", "90"]))" }
                let isPost = random.chance(4)
                var query = try RuleSamples().query(
                    isPost ? .post : .get,
                    "https://example.org\(path)",
                    headers,
                    at: server.seconds
                )
                query.key = try RuleSamples.key("https://example.org\(path)", account: account)
                let mini = MiniCache(rules: RuleSamples().rules, store: store) { query, sent in
                    server.respond(query, sent, account: account)
                }
                let began = server.seconds
                let comment = Comment("seed \(random.seed), step \(step), \(path) \(account) \(variant) \(headers)")
                guard let outcome = try await mini.load(query) else { continue }
                if isPost {
                    // Nothing from before the change is served to the account that made it.
                    least["\(path) \(account)"] = server.current(path)
                    continue
                }
                guard outcome.status == 200 || outcome.status == 206, !outcome.body.isEmpty else {
                    #expect(outcome.status == 200, comment)
                    continue
                }
                let resource = try #require(server.resources[path])
                let name = resource.varies ? variant : ""
                let candidates = (1...server.current(path)).filter { version in
                    let body = Server.body(path, account, name, version)
                    guard outcome.status == 206 else { return body == outcome.body }
                    guard let range = ContentRange(outcome.headers), range.total == Int64(body.count) else {
                        return false
                    }
                    return Data(body[Int(range.span.lowerBound)..<Int(range.span.upperBound)]) == outcome.body
                }
                // Ranges may be alike in several versions; the last is the one to blame least.
                let version = candidates.last
                let place = "\(path) \(account) \(name)"
                let load = Load(
                    server: server,
                    path: path,
                    version: version ?? .max,
                    oldest: began - resource.staleness - 1,
                    least: least["\(path) \(account)"] ?? 0,
                    newest: isRange ? 0 : newest[place] ?? 0,
                    isWhole: version != nil
                )
                try check(load, comment)
                if !isRange, let version { newest[place] = version }
            }
            #expect(try await store.size() <= 1 << 20)
        }
    }

    @Test("cache CA-13 CA-50 CA-101 a cache saves exchanges")
    func saves() async throws {
        let server = Server(SeededRandom(seed: 3), paths: 1)
        server.resources["/0"] = .init(directives: "max-age=1000", staleness: 1_000, isStrong: true, varies: true)
        let store = try ResponseCache.MemoryStore()
        let mini = MiniCache(rules: RuleSamples().rules, store: store) { server.respond($0, $1, account: "me") }
        for number in 0..<100 {
            let headers: Headers = ["X-A": "\(number % 2)", "Cache-Control": "x=1"]
            let query = try RuleSamples().query(.get, "https://example.org/0", headers, at: server.seconds)
            _ = try await mini.load(query)
        }

        #expect(server.exchanges == 2)
    }

    @Test("cache CA-271 two stores with one history respond alike")
    func respondAlike() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        let stores = [try ResponseCache.MemoryStore(), try ResponseCache.MemoryStore()]
        let servers = stores.map { _ in Server(SeededRandom(seed: random.seed), paths: 3) }
        for step in 0..<300 {
            let path = "/\(random.below(3))"
            let elapsed = Double(random.below(10))
            var bodies: [Data?] = []
            for (store, server) in zip(stores, servers) {
                server.seconds += elapsed
                let mini = MiniCache(rules: RuleSamples().rules, store: store) { server.respond($0, $1, account: "me") }
                let query = try RuleSamples().query(
                    .get,
                    "https://example.org\(path)",
                    ["X-A": "1"],
                    at: server.seconds
                )
                bodies.append(try await mini.load(query)?.body)
            }
            #expect(bodies[0] == bodies[1], "seed \(random.seed), step \(step)")
            #expect(servers[0].exchanges == servers[1].exchanges, "seed \(random.seed), step \(step)")
        }
    }
}
