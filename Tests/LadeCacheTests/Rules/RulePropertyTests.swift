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

/// Random heads, requests and clocks; `LADE_SOAK` runs more of them.
@Suite(.timeLimit(.minutes(30)))
struct RulePropertyTests {
    private static let rounds = Soak.current.rounds(of: 1_000_000, few: 4_000)

    private let samples = RuleSamples()

    /// A response of which nothing is forbidden or certain.
    private func head(_ random: SeededRandom, id: UInt64 = 1) throws -> StoredHead {
        var directives: [String] = []
        if random.chance(70) { directives.append("max-age=\(random.pick([0, 1, 5, 10, 60, 3_600]))") }
        for (name, percent) in [
            ("no-cache", 8), ("must-revalidate", 15), ("immutable", 15), ("public", 15), ("private", 15),
            ("s-maxage=99", 10),
        ] where random.chance(percent) { directives.append(name) }
        for name in ["stale-while-revalidate", "stale-if-error"] where random.chance(25) {
            directives.append("\(name)=\(random.pick([0, 5, 30]))")
        }
        var headers: Headers = ["ETag": "\"\(id)\""]
        if random.chance(90) { headers.add("Cache-Control", directives.joined(separator: ", ")) }
        if random.chance(30) {
            headers.add(
                "Expires",
                random.pick([RuleSamples.date(-5), RuleSamples.date(20), RuleSamples.date(500), "0"])
            )
        }
        if random.chance(30) { headers.add("Age", random.pick(["0", "4", "30", "x", "7, 1"])) }
        if random.chance(30) { headers.add("Last-Modified", RuleSamples.date(-Double(random.below(100_000)))) }
        if random.chance(10) { headers.add("Pragma", "no-cache") }
        let date = random.pick([
            "", RuleSamples.date(0), RuleSamples.date(-20), RuleSamples.date(15), RuleSamples.date(2), "x",
        ])
        if !date.isEmpty { headers.add("Date", date) }
        let delay = Double(random.below(4))
        let status = random.pick([200, 200, 200, 404, 302])
        var head = StoredHead(
            status: Response.Status(status),
            headers: headers,
            times: ExchangeTimes(requested: RuleSamples.at(0), received: RuleSamples.at(delay)),
            extent: .whole(10)
        )
        head.id = id
        head.mustValidate = random.chance(5)
        if random.chance(10) { head.times.received.instant = nil }
        return head
    }

    private func request(_ random: SeededRandom) -> Headers {
        var directives: [String] = []
        for name in ["max-age", "min-fresh", "max-stale"] where random.chance(15) {
            directives.append("\(name)=\(random.pick([0, 3, 10, 100]))")
        }
        for (name, percent) in [("max-stale", 5), ("no-cache", 5), ("only-if-cached", 5)] where random.chance(percent) {
            directives.append(name)
        }
        return directives.isEmpty ? [:] : ["Cache-Control": directives.joined(separator: ", ")]
    }

    private static let modes: [Request.CacheMode] = [
        .standard, .standard, .standard, .revalidate, .preferStored, .storedOnly,
    ]

    // MARK: - CA-260

    /// Lifetime and age in milliseconds, computed a second time from the texts, without the library's types.
    private func plainFreshness(_ head: StoredHead, at now: Moment) -> (lifetime: Int, age: Int)? {
        func seconds(_ text: String?) -> Int? { text.flatMap { $0.allSatisfy(\.isNumber) ? Int($0) : nil } }
        func milliseconds(_ date: Date) -> Int { Int((date.timeIntervalSince1970 * 1_000).rounded()) }
        func date(_ name: String) -> Int? {
            head.headers[name].flatMap { text in
                (try? Headers.HTTPDate(text, now: now.date)).map { milliseconds($0.date) }
            }
        }
        let received = milliseconds(head.times.received.date)
        let written = date("Date") ?? received
        let members = (head.headers["Cache-Control"] ?? "").split(separator: ",").map { $0.trimmedOfSpace }
        let maxAge = members.first { $0.hasPrefix("max-age=") }.flatMap { Int($0.dropFirst(8)) }
        var lifetime = 0
        if let maxAge {
            lifetime = maxAge * 1_000
        } else if head.headers.contains("Expires") {
            lifetime = date("Expires").map { max(0, $0 - written) } ?? 0
        } else if let modified = date("Last-Modified"),
            head.status != 302 || members.contains("public") || members.contains("private")
        {
            lifetime = min(max(0, (written - modified) / 10), 7 * 86_400_000)
        }
        let age = seconds(head.headers["Age"]?.split(separator: ",").first.map { String($0.trimmedOfSpace) }) ?? 0
        let delay = received - milliseconds(head.times.requested.date)
        let apparent = date("Date").map { max(0, received - $0 - 1_000) } ?? 0
        let wall = milliseconds(now.date) - received
        var resident = wall
        if let start = head.times.received.instant, let end = now.instant {
            resident = max(0, wall, Int((end.nanoseconds - start.nanoseconds) / 1_000_000))
        } else if wall < 0 {
            return nil
        }
        return (lifetime, max(apparent, age * 1_000 + delay) + resident)
    }

    @Test("cache CA-260 what is served as fresh has a lifetime above its age, by a second implementation")
    func agreesWithPlainFreshness() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        let address = try RuleSamples.address("https://example.org/a")
        for await round in Soak.turns(Self.rounds) {
            let head = try head(random)
            var query = try samples.query(mode: random.pick(Self.modes), at: Double(4 + random.below(400)) / 4)
            if random.chance(20) { query.now.date += Double(random.below(200) - 100) }
            let freshness = samples.rules.freshness(of: head, at: query.now, address)
            let plain = plainFreshness(head, at: query.now)

            #expect(
                plain.map { $0.lifetime > $0.age } ?? false == freshness.isFresh,
                "seed \(random.seed), \(round): \(head)"
            )
            if let plain {
                #expect(freshness.lifetime == .milliseconds(plain.lifetime), "seed \(random.seed), \(round): \(head)")
                #expect(freshness.age == .milliseconds(plain.age), "seed \(random.seed), \(round): \(head)")
            }
            let rule = samples.rules.decide(query, [head]).rule
            if rule == .fresh || rule == .immutable { #expect(freshness.isFresh, "seed \(random.seed), \(round)") }
        }
    }

    @Test("cache CA-261 what is served stale is within a bound that allows it")
    func staysWithinBounds() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        for await round in Soak.turns(Self.rounds) {
            let head = try head(random)
            let request = request(random)
            let mode = random.pick(Self.modes)
            let query = try samples.query(
                .get,
                "https://example.org/a",
                request,
                mode: mode,
                at: Double(random.below(100))
            )
            let outcome = samples.rules.decide(query, [head])
            guard outcome.decision.isServed, let freshness = outcome.freshness, !freshness.isFresh else { continue }
            let staleness = freshness.staleness
            let directives = CacheControl(request.all("Cache-Control"))
            let comment = Comment("seed \(random.seed), \(round): \(outcome.rule) \(head) \(request)")
            switch outcome.rule {
            case .maxStale:
                if case .upTo(let bound)? = directives.maxStale { #expect(staleness < bound, comment) }
                #expect(directives.maxStale != nil, comment)
                #expect(!head.reading.directives.mustRevalidate, comment)
            case .whileRevalidate:
                #expect(staleness < (head.reading.directives.staleWhileRevalidate ?? .zero), comment)
            case .preferStored: #expect(mode == .preferStored, comment)
            case .storedOnly: #expect(mode == .storedOnly, comment)
            default: Issue.record(comment)
            }
        }
    }

    @Test("cache CA-262 what is stale stays stale, and no age decreases, while the date jumps in one direction")
    func staysStale() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        let address = try RuleSamples.address("https://example.org/a")
        for await round in Soak.turns(Self.rounds / 10) {
            let head = try head(random)
            let direction = random.chance(50) ? 1.0 : -1.0
            var (seconds, jump) = (5.0, 0.0)
            var last: ResponseCache.Freshness?
            for _ in 0..<30 {
                seconds += Double(random.below(8)) / 2
                if random.chance(20) { jump += direction * Double(random.below(5_000)) }
                var now = RuleSamples.at(seconds)
                now.date += jump
                let freshness = samples.rules.freshness(of: head, at: now, address)
                // An entry of another process has no age while the date is before its arrival.
                guard freshness.residence != nil else { continue }
                guard head.times.received.instant != nil || direction > 0 else { continue }
                if let last {
                    #expect(freshness.age >= last.age, "seed \(random.seed), \(round)")
                    if !last.isFresh { #expect(!freshness.isFresh, "seed \(random.seed), \(round)") }
                }
                last = freshness
            }
        }
    }

    @Test("cache CA-250 CA-263 the same input has the same decision, in any order of what is stored")
    func isDeterministic() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        for await round in Soak.turns(Self.rounds / 4) {
            let stored = try (1...(1 + random.below(6))).map { try head(random, id: UInt64($0)) }
            let query = try samples.query(
                .get,
                "https://example.org/a",
                request(random),
                mode: random.pick(Self.modes),
                at: Double(random.below(80))
            )
            let first = samples.rules.decide(query, stored)

            #expect(samples.rules.decide(query, stored) == first, "seed \(random.seed), \(round)")
            #expect(samples.rules.decide(query, stored.reversed()) == first, "seed \(random.seed), \(round)")
            #expect(samples.rules.decide(query, stored.shuffled()) == first, "seed \(random.seed), \(round)")
        }
    }

    @Test("cache CA-264 a stricter directive never turns asking into serving")
    func isMonotonic() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        for await round in Soak.turns(Self.rounds) {
            let head = try head(random)
            let request = request(random)
            let mode = random.pick([Request.CacheMode.standard, .revalidate])
            let seconds = Double(random.below(80))
            func isServed(_ head: StoredHead, _ request: Headers) throws -> Bool {
                let query = try samples.query(.get, "https://example.org/a", request, mode: mode, at: seconds)
                return samples.rules.decide(query, [head]).decision.isServed
            }
            guard try !isServed(head, request) else { continue }
            for directive in ["no-cache", "must-revalidate"] {
                var stricter = head
                var headers = head.headers
                headers["Cache-Control"] = [headers["Cache-Control"], directive].compactMap(\.self).joined(
                    separator: ", "
                )
                // Pragma counts only without Cache-Control, so adding one to none may relax it.
                headers.remove("Pragma")
                stricter.renew(headers, head.times)
                if head.headers.contains("Cache-Control") || !head.headers.contains("Pragma") {
                    #expect(try !isServed(stricter, request), "seed \(random.seed), \(round): \(head) \(directive)")
                }
            }
            let own = CacheControl(request.all("Cache-Control"))
            var directives = own
            switch random.below(3) {
            case 0: directives.noCache = .everything
            case 1: directives.maxAge = min(own.maxAge ?? .seconds(100), .seconds(random.below(20)))
            default: directives.minFresh = max(own.minFresh ?? .zero, .seconds(random.below(20)))
            }
            #expect(
                try !isServed(head, ["Cache-Control": directives.description]),
                "seed \(random.seed), \(round): \(head) \(directives)"
            )
        }
    }

    @Test("cache CA-264 no-store of a response never makes it storable")
    func neverStoresMore() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        for await round in Soak.turns(Self.rounds) {
            let head = try head(random)
            var headers = head.headers
            headers.add("Cache-Control", "no-store")
            let received = samples.received(head.status, headers)

            #expect(
                samples.rules.storage(try samples.query(), received).decision == .refuse,
                "seed \(random.seed), \(round)"
            )
        }
    }

    @Test("cache CA-269 merging the same 304 twice is merging it once")
    func mergesOnce() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        let names = ["A", "b", "Vary", "ETag", "Content-Length", "Content-Type", "Connection", "Set-Cookie", "Age"]
        func fields() -> Headers {
            Headers((0..<random.below(8)).map { _ in (random.pick(names), random.pick(["1", "2", "A, b", ""])) })
        }
        for await _ in Soak.turns(Self.rounds) {
            let (stored, update) = (fields(), fields())
            let once = StoredFields.mergeHeaders(stored, update)
            #expect(
                StoredFields.mergeHeaders(once, update).areSpelled(like: once),
                "seed \(random.seed): \(stored) \(update)"
            )
        }
    }

    // MARK: - CA-253

    @Test("cache CA-253 any bytes in any field give a decision, in linear time")
    func survivesAnyBytes() async throws {
        let random = SeededRandom(seed: Soak.current.seed)
        let names = [
            "Cache-Control", "Vary", "Expires", "Age", "Date", "ETag", "Content-Range", "Last-Modified", "Pragma",
            "Content-Length", "Repr-Digest", "Accept-Ranges", "Content-Location", "Location", "Clear-Site-Data",
        ]
        let pieces = [
            "max-age=", "no-cache", "=\"", "\"", "\\", ",", ";", "1", "99999999999999999999", " ", "\t", "bytes ",
            "0-1/2",
            "*", "-", "/", "W/", "Thu, 01 Jan 2026 00:00:00 GMT", "é", "\u{80}", "a", "sha-256=:", ":", "%",
            "stale-if-error=",
        ]
        func text() -> String { (0..<random.below(8)).map { _ in random.pick(pieces) }.joined() }
        for await _ in Soak.turns(Self.rounds) {
            let fields = Headers((0..<4).map { _ in (random.pick(names), text()) })
            let request = Headers([("Range", text()), ("Cache-Control", text()), ("Accept", text()), ("Vary", text())])
            let asked = request.keeping { _ in random.chance(30) }
            let query = try samples.query(.get, "https://example.org/a", asked, at: Double(random.below(20)))
            let received = samples.received(random.chance(50) ? 200 : 206, fields, sent: asked)
            let stored = samples.rules.storage(query, received)
            var heads: [StoredHead] = []
            if let head = stored.decision.head { heads.append(head) }
            _ = samples.rules.decide(query, heads)
            _ = samples.rules.finished(stored.decision, received: 3, .complete)
            _ = samples.rules.validation(
                query,
                heads.first.map(samples.rules.condition) ?? CacheCondition(),
                heads,
                received
            )
            _ = samples.rules.invalidation(try samples.query(.post), 200, fields)
            _ = ResponseCache.Rules.clearsCache(fields, from: try RuleSamples.address("https://example.org/"))
        }
        let long = String(repeating: "a, \"\\", count: 20_000)
        for name in names {
            let received = samples.received(200, Headers([(name, long)]))
            _ = samples.rules.storage(try samples.query(), received)
        }
    }
}
