#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CacheStoreConformance
import LadeCache
import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StoringTests {
    private let samples = RuleSamples()

    private func storage(
        _ headers: Headers,
        _ status: Response.Status = 200,
        method: Request.Method = .get,
        request: Headers = [:],
        url: String = "https://example.org/a",
        change: (inout CacheQuery, inout ReceivedHead) -> Void = { _, _ in }
    ) throws -> Explained<StorageDecision> {
        var query = try samples.query(method, url, request)
        var received = samples.received(status, headers, sent: request)
        change(&query, &received)
        return samples.rules.storage(query, received)
    }

    private static let heuristic = [200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501]

    @Test("cache CA-10 eleven statuses need no lifetime to be stored", arguments: heuristic)
    func storesHeuristically(code: Int) throws {
        #expect(try storage(["ETag": "\"a\""], Response.Status(code)).decision.head?.status == Response.Status(code))
    }

    @Test("cache CA-11 what nothing could use is stored only for offline use")
    func refusesUseless() throws {
        var offline = samples
        offline.rules.keepsForOfflineUse = true

        #expect(try storage([:]).rule == .useless)
        #expect(try storage(["Cache-Control": "max-age=0"]).rule == .useless)
        #expect(try storage(["Cache-Control": "no-cache, max-age=60"]).rule == .useless)
        #expect(try storage(["Cache-Control": "stale-while-revalidate=9"]).decision.head != nil)
        #expect(try storage(["Cache-Control": "stale-if-error=9"]).decision.head != nil)
        #expect(try storage([:]) { query, _ in query.mode = .preferStored }.decision.head != nil)
        #expect(offline.rules.storage(try offline.query(), offline.received()).decision.head != nil)
    }

    @Test(
        "cache CA-12 every other status needs an explicit lifetime or permission",
        arguments: [299, 302, 403, 499, 503, 599]
    )
    func needsPermission(code: Int) throws {
        let validator: Headers = ["ETag": "\"a\""]
        for line in ["max-age=60", "public", "private", "private=\"a\""] {
            var headers = validator
            headers.add("Cache-Control", line)
            #expect(try storage(headers, Response.Status(code)).decision.head != nil, "\(line)")
        }
        #expect(try storage(["Expires": RuleSamples.date(60)], Response.Status(code)).decision.head != nil)
        #expect(try storage(validator, Response.Status(code)).rule == .status)
        #expect(try storage(["ETag": "\"a\"", "Cache-Control": "s-maxage=60"], Response.Status(code)).rule == .status)
    }

    @Test("cache CA-13 what nothing forbids is stored, and served to the next call")
    func storesByDefault() throws {
        let head = try samples.keep(["Cache-Control": "max-age=60"])

        #expect(try samples.rule([head], at: 1) == .fresh)
    }

    @Test("cache CA-14 the request and the app's hook forbid storing, and reading follows the mode")
    func obeysRequestAndHook() throws {
        let headers: Headers = ["Cache-Control": "max-age=60"]
        let head = try samples.keep(headers)
        var query = try samples.query(at: 1)
        query.storesResponse = false

        #expect(try storage(headers) { query, _ in query.storesResponse = false }.rule == .hook)
        #expect(try storage(headers) { _, received in received.isRefusedByHook = true }.rule == .hook)
        #expect(samples.rules.decide(query, [head]).rule == .fresh)
    }

    @Test(
        "cache CA-15 some statuses are never stored",
        arguments: [100, 103, 199, 304, 401, 407, 421, 425, 428, 429, 431, 511]
    )
    func neverStores(code: Int) throws {
        let headers: Headers = [
            "Cache-Control": "max-age=60, public", "ETag": "\"a\"", "Expires": RuleSamples.date(60),
        ]

        #expect(try storage(headers, Response.Status(code)).rule == .status)
    }

    @Test("cache CA-15 CA-160 a range outside of the body is stored for no other request")
    func neverStoresRangeRefusals() throws {
        let refusal = samples.received(416, ["Cache-Control": "max-age=60", "Content-Range": "bytes */10"])

        let ranged = try samples.query(.get, "https://example.org/a", ["Range": "bytes=50-"])
        #expect(samples.rules.storage(ranged, refusal).rule == .status)
        #expect(samples.rules.storage(try samples.query(), refusal).rule == .storable)
    }

    @Test(
        "cache CA-16 no-store of a response forbids storing, beside any other directive",
        arguments: ["no-store", "NO-STORE", "max-age=60, no-store, public", "no-store=1", "private, No-Store"]
    )
    func obeysNoStore(line: String) throws {
        #expect(try storage(["Cache-Control": line, "ETag": "\"a\""]).rule == .noStore)
    }

    @Test("cache CA-17 no-store of a request passes by: nothing is served or stored")
    func obeysRequestNoStore() throws {
        let head = try samples.keep(["Cache-Control": "max-age=60"])
        let request: Headers = ["Cache-Control": "no-store"]

        let outcome = samples.rules.decide(try samples.query(.get, "https://example.org/a", request), [head])

        #expect(outcome.decision == .passBy)
        #expect(outcome.rule == .requestNoStore)
        #expect(try storage(["Cache-Control": "max-age=60"], request: request).rule == .requestNoStore)
    }

    @Test("cache CA-18 must-understand overrides no-store for a known status", arguments: heuristic + [302, 403, 503])
    func understands(code: Int) throws {
        let headers: Headers = ["Cache-Control": "no-store, must-understand, max-age=60"]

        #expect(try storage(headers, Response.Status(code)).decision.head != nil)
        #expect(try storage(headers, 599).rule == .notUnderstood)
    }

    @Test("cache CA-19 must-understand alone forbids storing an unknown status")
    func refusesUnknown() throws {
        #expect(try storage(["Cache-Control": "must-understand, max-age=60"], 599).rule == .notUnderstood)
        #expect(try storage(["Cache-Control": "must-understand, max-age=60"], 200).decision.head != nil)
    }

    @Test(
        "cache CA-20 a response to be validated is stored, and the next request sends the condition",
        arguments: ["no-cache", "max-age=0"]
    )
    func storesForValidation(line: String) throws {
        for (name, value) in [("ETag", "\"a\""), ("Last-Modified", RuleSamples.date(-10))] {
            let outcome = try storage(["Cache-Control": line, name: value])
            guard case .storeForValidation(let head, _) = outcome.decision else {
                Issue.record("\(line) with \(name): \(outcome.decision)")
                continue
            }
            let next = samples.rules.decide(try samples.query(at: 1), [head])
            let sent = next.decision.condition?.adding(to: [:])
            #expect(sent?[name == "ETag" ? "If-None-Match" : "If-Modified-Since"] == value)
        }
    }

    @Test("cache CA-21 no-cache with names keeps the rest of the response usable")
    func dropsNamedFields() throws {
        let named = try samples.keep(["Cache-Control": "max-age=60, no-cache=\"A, b\"", "a": "1", "B": "2", "C": "3"])

        #expect(named.headers["a"] == nil)
        #expect(named.headers["B"] == nil)
        #expect(named.headers["C"] == "3")
        #expect(try samples.rule([named], at: 1) == .fresh)
        for line in ["max-age=60, no-cache=\"\"", "max-age=60, no-cache=\"a\", no-cache"] {
            let bare = try samples.keep(["Cache-Control": line, "ETag": "\"a\"", "a": "1"])
            #expect(try samples.rule([bare], at: 1) == .noCache)
            #expect(bare.headers["a"] == "1")
        }
    }

    @Test("cache CA-22 responses to authorised requests are stored for their account")
    func storesAuthorised() throws {
        let request: Headers = ["Authorization": "Bearer 123456"]

        #expect(try storage(["Cache-Control": "max-age=60"], request: request).decision.head != nil)
    }

    @Test(
        "cache CA-23 a Vary that no request can be known to match",
        arguments: ["*", "Accept, *", "a b", "\"x\"", "a;b"]
    )
    func refusesVaryStar(line: String) throws {
        #expect(try storage(["Cache-Control": "max-age=60", "Vary": line]).rule == .varyStar)
    }

    @Test(
        "cache CA-24 responses to other methods are not stored",
        arguments: ["HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "SEARCH"]
    )
    func refusesMethods(name: String) throws {
        #expect(try storage(["Cache-Control": "max-age=60"], method: Request.Method(name)).rule == .method)
    }

    @Test("cache CA-25 a POST is stored for GET when its response says so")
    func storesPost() throws {
        let explicit: Headers = ["Cache-Control": "max-age=60", "Content-Location": "/a"]
        let expires: Headers = ["Expires": RuleSamples.date(60), "Content-Location": "https://EXAMPLE.org:443/a"]
        let head = try #require(try storage(explicit, method: .post).decision.head)

        #expect(try samples.rule([head], at: 1) == .fresh)
        #expect(try storage(expires, method: .post).decision.head != nil)
        #expect(try storage(["Cache-Control": "max-age=60"], method: .post).rule == .method)
        #expect(try storage(["ETag": "\"a\"", "Content-Location": "/a"], method: .post).rule == .method)
        #expect(
            try storage(["Cache-Control": "max-age=60", "Content-Location": "/b"], method: .post).rule == .method
        )
        #expect(
            samples.rules.invalidation(try samples.query(.post), 200, explicit).decision
                == .mustValidate([try RuleSamples.address("https://example.org/a")])
        )
    }

    @Test("cache CA-26 Content-Location of a GET changes nothing")
    func ignoresContentLocation() throws {
        let headers: Headers = ["Cache-Control": "max-age=60", "Content-Location": "/b"]

        #expect(try storage(headers).decision.head != nil)
        #expect(samples.rules.invalidation(try samples.query(), 200, headers).decision == .none)
    }

    @Test("cache CA-27 a body that was not received whole is not stored as complete")
    func refusesBrokenBodies() throws {
        let sized = try storage(["Cache-Control": "max-age=60", "Content-Length": "100"]).decision
        let chunked = try storage(["Cache-Control": "max-age=60"]).decision

        #expect(samples.rules.finished(sized, received: 99, .complete).rule == .brokenOff)
        #expect(samples.rules.finished(sized, received: 99, .brokenOff).rule == .brokenOff)
        #expect(samples.rules.finished(chunked, received: 99, .brokenOff).rule == .brokenOff)
        #expect(samples.rules.finished(sized, received: 100, .complete).decision.head?.extent == .whole(100))
        #expect(samples.rules.finished(chunked, received: 99, .complete).decision.head?.extent == .whole(99))
    }

    @Test("cache CA-28 the entry limit is inclusive, and decided from Content-Length already")
    func obeysEntryLimit() throws {
        var small = samples
        small.rules.bodyLimit = 100
        let query = try samples.query()
        func decision(_ length: Int) -> Explained<StorageDecision> {
            small.rules.storage(
                query,
                small.received(200, ["Cache-Control": "max-age=60", "Content-Length": "\(length)"])
            )
        }
        let unsized = small.rules.storage(query, small.received(200, ["Cache-Control": "max-age=60"])).decision

        #expect(decision(100).decision.head != nil)
        #expect(decision(101).rule == .tooLarge)
        #expect(small.rules.finished(unsized, received: 100, .complete).rule == .storable)
        #expect(small.rules.finished(unsized, received: 101, .complete).rule == .tooLarge)
    }

    @Test("cache CA-237 a decoded body counts at its decoded size")
    func countsDecodedSize() throws {
        var small = samples
        small.rules.bodyLimit = 100
        var received = small.received(200, ["Cache-Control": "max-age=60", "Content-Length": "900"])
        received.isDecoded = true

        let decision = small.rules.storage(try samples.query(), received).decision

        #expect(small.rules.finished(decision, received: 100, .complete).decision.head?.length == 100)
        #expect(small.rules.finished(decision, received: 101, .complete).rule == .tooLarge)
    }

    @Test("cache CA-29 a body that the reader dropped leaves no complete entry")
    func refusesDroppedBodies() throws {
        let decision = try storage(["Cache-Control": "max-age=60"]).decision

        #expect(samples.rules.finished(decision, received: 10, .brokenOff).decision == .refuse)
    }

    @Test("cache CA-30 fields of the connection are not stored, and all others are, in order")
    func dropsConnectionFields() throws {
        let kept: [(String, String)] = [
            ("Cache-Control", "max-age=60"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2"), ("X-Unknown", "ü"),
            ("ETag", "a"), ("Date", RuleSamples.date(0)),
        ]
        let dropped = [
            "Connection", "Proxy-Connection", "Keep-Alive", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
            "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
        ]
        var headers = Headers(kept)
        for name in dropped { headers.add(name.uppercased(), "X-Named, x-other") }
        headers.add("x-NAMED", "1")
        headers.add("X-Other", "2")

        let head = try samples.keep(headers)

        #expect(head.headers.areSpelled(like: Headers(kept)))
    }

    @Test("cache CA-31 trailers stay apart from the fields")
    func keepsTrailersApart() throws {
        var head = try samples.keep(["Cache-Control": "max-age=60"])
        head.trailers = ["X-Sum": "1"]

        let (_, served) = ResponseCache.Rules.served(head, nil)

        #expect(served["X-Sum"] == nil)
        #expect(head.trailers["X-Sum"] == "1")
    }

    @Test("cache CA-32 a decoded body is stored without the fields of its coding")
    func storesDecoded() throws {
        let headers: Headers = ["Cache-Control": "max-age=60", "Content-Encoding": "gzip", "Content-Length": "9"]
        let outcome = try storage(headers) { _, received in received.isDecoded = true }
        let head = try #require(outcome.decision.head)

        #expect(head.isDecoded)
        #expect(head.headers["Content-Encoding"] == nil)
        #expect(head.headers["Content-Length"] == nil)
    }

    @Test("cache CA-33 a body that is not decoded keeps its coding")
    func storesCoded() throws {
        let head = try samples.keep(["Cache-Control": "max-age=60", "Content-Encoding": "x", "Content-Length": "9"])

        #expect(!head.isDecoded)
        #expect(head.headers["Content-Encoding"] == "x")
        #expect(head.headers["Content-Length"] == "9")
    }

    @Test(
        "cache CA-34 a body with another digest than announced is not stored",
        arguments: ["Repr-Digest", "Content-Digest"]
    )
    func comparesDigests(name: String) throws {
        let body = Array("hello".utf8)
        let text = "sha-256=:\(Data(SHA256.hash(body)).base64EncodedString()):"
        let decision = try storage(["Cache-Control": "max-age=60", name: text]).decision
        func rule(_ bytes: String) -> Response.CacheRule {
            samples.rules.finished(decision, received: 5, .complete, digest: SHA256.hash(bytes.utf8)).rule
        }

        #expect(rule("hello") == .storable)
        #expect(rule("hallo") == .digest)
        #expect(
            ResponseCache.Rules.expectedDigest([name: text], 203) == (name == "Repr-Digest" ? SHA256.hash(body) : nil)
        )
        #expect(ResponseCache.Rules.expectedDigest([name: "sha-256=x"], 200) == nil)
        #expect(ResponseCache.Rules.expectedDigest([name: "md5=:AAAA:"], 200) == nil)
    }

    @Test("cache CA-35 the response whose exchange began later replaces the other")
    func replacesByExchange() throws {
        let first = try samples.keep(
            ["Cache-Control": "max-age=60", "Date": RuleSamples.date(500)],
            id: 7,
            from: 1,
            at: 4
        )
        let query = try samples.query()
        func replaced(from: Double, at seconds: Double) -> [UInt64]? {
            let received = samples.received(200, ["Cache-Control": "max-age=60"], from: from, at: seconds)
            guard case .store(_, let ids) = samples.rules.storage(query, received, stored: [first]).decision else {
                return nil
            }
            return ids
        }

        #expect(replaced(from: 2, at: 3) == [7])
        #expect(replaced(from: 0, at: 9) == [])
    }

    @Test("cache CA-36 a 503 is stored by the rule for its status")
    func storesUnavailable() throws {
        #expect(try storage(["Cache-Control": "max-age=60"], 503).decision.head?.status == 503)
    }

    @Test("cache CA-03 other schemes than http and https pass by", arguments: ["file:///a", "data:,a", "ftp://a/b"])
    func passesSchemes(address: String) throws {
        let url = try #require(URL(string: address))
        var query = CacheQuery(
            Request(url),
            partition: "service",
            account: "me",
            now: RuleSamples.at(0),
            digester: RuleSamples.digester
        )

        #expect(samples.rules.decide(query, []).decision == .passBy)
        #expect(samples.rules.decide(query, []).rule == .scheme)
        #expect(samples.rules.storage(query, samples.received(200, ["Cache-Control": "max-age=60"])).rule == .scheme)
        query.mode = .storedOnly
        #expect(samples.rules.decide(query, []).decision == .passBy)
    }

    @Test("cache CA-07 Set-Cookie is stored, and comes from a 304 only if the 304 has it")
    func storesCookies() throws {
        let head = try samples.keep(["Cache-Control": "max-age=60", "Set-Cookie": "a=1", "ETag": "\"a\""])
        let without = samples.rules.merged(head, samples.received(304, [:], at: 5), try samples.query(at: 5))
        let with = samples.rules.merged(
            head,
            samples.received(304, ["Set-Cookie": "a=2"], at: 5),
            try samples.query(at: 5)
        )

        #expect(ResponseCache.Rules.served(head, nil).headers["Set-Cookie"] == "a=1")
        #expect(without.headers.all("Set-Cookie") == ["a=1"])
        #expect(with.headers.all("Set-Cookie") == ["a=2"])
    }

    @Test("cache CA-09 301 and 308 need no lifetime, and other redirects do")
    func storesRedirects() throws {
        let location: Headers = ["Location": "/b", "Last-Modified": RuleSamples.date(-86_400)]

        for code in [301, 308] { #expect(try storage(location, Response.Status(code)).decision.head != nil) }
        for code in [302, 303, 307] {
            #expect(try storage(location, Response.Status(code)).rule == .status)
            #expect(
                try storage(["Location": "/b", "Cache-Control": "max-age=9"], Response.Status(code)).decision.head
                    != nil
            )
        }
    }

    @Test("cache CA-42 a shared response comes from an exchange without credentials and cookies")
    func storesShared() throws {
        func rule(_ sent: Headers, _ headers: Headers) throws -> Response.CacheRule {
            var query = try samples.query()
            let place = try #require(query.key).place.with(scope: .shared)
            query.key = CacheKey(place, digester: RuleSamples.digester)
            var all = headers
            all.add("Cache-Control", "max-age=60")
            return samples.rules.storage(query, samples.received(200, all, sent: sent)).rule
        }
        let place = try RuleSamples.key().place

        #expect(try rule([:], [:]) == .storable)
        #expect(try rule(["Authorization": "x"], [:]) == .sharedScope)
        #expect(try rule(["Cookie": "a=1"], [:]) == .sharedScope)
        #expect(try rule([:], ["Set-Cookie": "a=1"]) == .sharedScope)
        #expect(try RuleSamples.key(account: "me") != RuleSamples.key(account: "you"))
        #expect(
            CacheKey(place.with(scope: .shared), digester: RuleSamples.digester)
                == CacheKey(
                    try RuleSamples.key(account: "you").place.with(scope: .shared),
                    digester: RuleSamples.digester
                )
        )
    }

    @Test("cache CA-233 a head above the limit is not stored")
    func refusesLargeHeads() throws {
        let names = (0..<100).map { "x-\($0)" }.joined(separator: ", ")

        #expect(
            try storage(["Cache-Control": "max-age=60", "X-A": String(repeating: "a", count: 65_536)]).rule
                == .headTooLarge
        )
        #expect(try storage(["Cache-Control": "max-age=60", "Vary": names]).rule == .varyStar)
    }
}
