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

@Suite(.timeLimit(.minutes(5)))
struct CacheKeyTests {
    private func query(
        _ method: Request.Method = .get,
        _ url: String = "https://example.org/a",
        account: String = "me",
        partition: String = "service",
        body: String? = nil,
        change: (inout Request) -> Void = { _ in }
    ) throws -> CacheQuery {
        var request = Request(method, try #require(URL(string: url)))
        if let body { request.body = .bytes(Data(body.utf8)) }
        change(&request)
        return CacheQuery(
            request,
            partition: partition,
            account: account,
            body: body.map { Array($0.utf8) },
            now: RuleSamples.at(0),
            digester: RuleSamples.digester
        )
    }

    private func key(
        _ method: Request.Method = .get,
        _ url: String = "https://example.org/a",
        account: String = "me",
        partition: String = "service",
        body: String? = nil,
        change: (inout Request) -> Void = { _ in }
    ) throws -> CacheKey {
        try #require(
            query(method, url, account: account, partition: partition, body: body, change: change).key
        )
    }

    @Test("cache CA-41 an address that needs no change has the key that the changes lead to")
    func shortWay() throws {
        let random = SeededRandom(seed: Soak.current.seed)
        let parts = [
            "a", "B", "/", "//", ".", "..", "/./", "%", "%41", "%2f", "%zz", "?", "&", "=", ":", "@", ";", "~", "|",
            "\u{e9}",
        ]
        let origins = [
            "http://example.org", "HTTPS://example.org", "https://EXAMPLE.org", "https://a@example.org", "http://[::1]",
            "https://example.org:443", "http://example.org:8080", "http://example.org.", "https://b\u{fc}cher.example",
        ]
        for _ in 0..<2_000 {
            let path = (0..<random.below(6)).map { _ in random.pick(parts) }.joined()
            let text = random.pick(origins) + random.pick(["/", "/", "?", ""]) + path
            // A fragment is no part of the key, and keeps the short way from being taken.
            guard let url = URL(string: text), let long = URL(string: text + "#") else { continue }
            var (short, changed) = (Request(.get, url), Request(.get, long))
            for isShared in [false, true] {
                short.cacheOptions.isShared = isShared
                changed.cacheOptions.isShared = isShared
                let keys = [short, changed].map { request in
                    CacheQuery(
                        request,
                        partition: "service",
                        account: "me",
                        body: nil,
                        now: RuleSamples.at(0),
                        digester: RuleSamples.digester
                    ).key
                }
                #expect(keys[0] == keys[1], "seed \(random.seed), \(text)")
                #expect(keys[0]?.place.address.text == keys[1]?.place.address.text, "seed \(random.seed), \(text)")
            }
        }
    }

    @Test("cache CA-40 each part makes a key of its own, and GET and HEAD share one")
    func distinguishesParts() throws {
        let keys = [
            try key(), try key(.get, "https://example.org/b"), try key(account: "you"), try key(partition: "other"),
            try key { $0.headers["Host"] = "x.org" }, try key { $0.destination = .host("x.org", port: nil) },
            try key { $0.destination = .host("x.org", port: 8) },
            try key { $0.destination = .unixSocket(path: "x.org") },
            try key { $0.headers["Authorization"] = "Basic 1" }, try key(Request.Method("QUERY"), body: "x"),
            try key { $0.cacheOptions.key = .init("k") }, try key { $0.cacheOptions.isShared = true },
        ]

        #expect(Set(keys).count == keys.count)
        #expect(try key(.head) == keys[0])
        #expect(try key { $0.headers["Accept"] = "a" } == keys[0])
    }

    @Test("cache CA-40 parts with any delimiter never collide")
    func neverCollides() throws {
        let random = SeededRandom(seed: Soak.current.seed)
        var seen: [CacheKey: [String]] = [:]
        for _ in 0..<4_000 {
            let parts = (0..<3).map { _ in
                String((0..<random.below(4)).map { _ in random.pick(["a", ":", "|", "\u{1}", "/", "1"]) }.joined())
            }
            let key = try key(account: parts[0], partition: parts[1]) { $0.cacheOptions.key = .init(parts[2]) }
            if let other = seen[key] { #expect(other == parts, "seed \(random.seed)") }
            seen[key] = parts
        }
    }

    @Test(
        "cache CA-41 spellings of one address have one key",
        arguments: [
            ("HTTP://EXAMPLE.org:80", "http://example.org/"), ("https://example.org:443/a#b", "https://example.org/a"),
            ("https://example.org/a/./b/../c", "https://example.org/a/c"),
            ("https://example.org/%7Ea%2db", "https://example.org/~a-b"),
            ("https://example.org/%c3%bc", "https://example.org/%C3%BC"),
            ("https://example.org/a/%2e%2E/b", "https://example.org/b"),
            ("https://example.org?x", "https://example.org/?x"), ("https://example.org/..", "https://example.org/"),
            ("https://example.org:/a", "https://example.org/a"), ("http://[::1]:80/", "http://[::1]/"),
        ]
    )
    func normalises(address: String, normal: String) throws {
        #expect(try RuleSamples.address(address).text == normal)
        #expect(try key(.get, address) == key(.get, normal))
    }

    @Test("cache CA-41 the query is kept")
    func keepsQuery() throws {
        let addresses = [
            "a", "a?", "a?x=1&y=2", "a?y=2&x=1", "a?x=1&x=1", "a?x=1", "a?x=+", "a?x=%20", "a?X=1", "A", "a/", "a%2Fb",
            "a/b", "a?x=/../", "a//b",
        ].map { "https://example.org/\($0)" }

        #expect(Set(try addresses.map { try key(.get, $0) }).count == addresses.count)
        #expect(try RuleSamples.address("https://example.org/?").hasQuery)
        #expect(try !RuleSamples.address("https://example.org/").hasQuery)
    }

    @Test("cache CA-41 a closure may map addresses first")
    func mapsAddresses() throws {
        let plain = try RuleSamples.address("https://example.org/a")
        let request = Request(try #require(URL(string: "https://example.org/a?utm_source=x")))
        let query = CacheQuery(
            request,
            partition: "service",
            account: "me",
            address: plain,
            now: RuleSamples.at(0),
            digester: RuleSamples.digester
        )

        #expect(query.key == (try key()))
    }

    @Test("cache CA-43 the caller's own credentials are in the key, as a digest")
    func digestsCredentials() throws {
        let secret = try key { $0.headers["Authorization"] = "Bearer 0123456789" }

        #expect(secret != (try key { $0.headers["Authorization"] = "Bearer 0123456788" }))
        #expect(secret == (try key { $0.headers["authorization"] = "Bearer 0123456789" }))
        #expect(!String(decoding: secret.octets, as: UTF8.self).contains("0123456789"))
        let user = try RuleSamples.address("https://me:password1@example.org/a")
        let named = try key(.get, "https://me:password1@example.org/a")
        #expect(user.text == "https://example.org/a")
        #expect(named != (try key()))
        #expect(!String(decoding: named.octets, as: UTF8.self).contains("password1"))
    }

    @Test("cache CA-43 user information of an address is part of its key, and not of its text")
    func keepsUsersApart() throws {
        let keys = try ["", "a:b@", "a:c@"].map { try key(.get, "https://\($0)example.org/a") }

        #expect(Set(keys).count == 3)
        #expect(Set(keys.map(\.place.address.text)) == ["https://example.org/a"])
    }

    @Test("cache CA-46 QUERY is looked up by its body, type and coding, and changes nothing")
    func looksUpQuery() throws {
        let method = try Request.Method("QUERY")
        let first = try query(method, body: "a") { $0.headers["Content-Type"] = "x/y" }

        #expect(first.key == (try key(method, body: "a") { $0.headers["Content-Type"] = "x/y" }))
        #expect(first.key != (try key(method, body: "b") { $0.headers["Content-Type"] = "x/y" }))
        #expect(first.key != (try key(method, body: "a") { $0.headers["Content-Type"] = "x/z" }))
        #expect(
            first.key
                != (try key(method, body: "a") {
                    $0.headers["Content-Type"] = "x/y"
                    $0.headers["Content-Encoding"] = "gzip"
                })
        )
        let rules = RuleSamples().rules
        #expect(rules.decide(first, []).rule == .uriMiss)
        #expect(rules.storage(first, RuleSamples().received(200, ["Cache-Control": "max-age=9"])).decision.head != nil)
        #expect(rules.invalidation(first, 200, [:]).decision == .none)
    }

    @Test("cache CA-47 POST is looked up only by a stated key, which may replace the body")
    func looksUpPost() throws {
        let rules = RuleSamples().rules
        func post(_ key: Request.CacheOptions.CustomKey?, _ body: String) throws -> CacheQuery {
            try query(.post, body: body) { $0.cacheOptions.key = key }
        }

        #expect(rules.decide(try post(nil, "a"), []).rule == .method)
        // What its response is stored for is the GET of the address.
        #expect(try post(nil, "a").key == key())
        #expect(rules.decide(try post(.init("k"), "a"), []).rule == .uriMiss)
        #expect(rules.invalidation(try post(.init("k"), "a"), 200, [:]).decision == .none)
        #expect(try post(.init("k"), "a").key != post(.init("k"), "b").key)
        let replacing = Request.CacheOptions.CustomKey("k", replacesBody: true)
        #expect(try post(replacing, "a").key == post(replacing, "b").key)
    }

    @Test("cache CA-48 a body that cannot be read twice passes by")
    func passesOneShotBodies() throws {
        var query = try query(Request.Method("QUERY"), body: "a")
        query.isReplayable = false

        #expect(RuleSamples().rules.decide(query, []).rule == .oneShotBody)
        #expect(RuleSamples().rules.decide(query, []).decision == .passBy)
        #expect(
            RuleSamples().rules.storage(query, RuleSamples().received(200, ["Cache-Control": "max-age=9"])).rule
                == .oneShotBody
        )
    }

    @Test(
        "cache CA-231 schemes, ports and hosts never share",
        arguments: [
            "http://example.org/a", "https://example.org:8443/a", "https://example.com/a", "https://example.org./a",
        ]
    )
    func separatesOrigins(other: String) throws {
        #expect(try key() != key(.get, other))
        #expect(try RuleSamples.address(other).origin != RuleSamples.address("https://example.org/a").origin)
    }

    @Test("cache CA-210 digests depend on the key of the store")
    func dependsOnKey() {
        let digest = CacheDigester(key: [1]).digest(Array("secret".utf8))

        #expect(digest == CacheDigester(key: [1]).digest(Array("secret".utf8)))
        #expect(digest != CacheDigester(key: [2]).digest(Array("secret".utf8)))
        #expect(
            CacheDigester(key: Array("key".utf8))
                .digest(Array("The quick brown fox jumps over the lazy dog".utf8)).hexadecimalText
                == "f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8"
        )
        #expect(
            CacheDigester(key: Array(repeating: 0xAA, count: 131))
                .digest(Array("Test Using Larger Than Block-Size Key - Hash Key First".utf8)).hexadecimalText
                == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        )
    }

    @Test("cache CA-45 a service that checks less has a partition of its own")
    func separatesWeakened() throws {
        var unchecked = TransportSettings()
        unchecked.tls.verification = .unsafelyAcceptEveryCertificate
        var tolerant = TransportSettings()
        tolerant.tolerances = .bareLineFeed
        var other = TransportSettings()
        other.tolerances = .foldedFields
        let names = [TransportSettings(), unchecked, tolerant, other].map { CachePlace.partition("service", $0) }

        #expect(names[0] == "service")
        #expect(Set(try names.map { try key(partition: $0) }).count == 4)
    }

    @Test("cache CA-236 keys, addresses and heads print no secrets")
    func printsNoSecrets() throws {
        let key = try RuleSamples.key("https://example.org/a?token=0123456789")
        let head = try RuleSamples().keep(
            ["Cache-Control": "max-age=60", "Set-Cookie": "sid=9876543210", "Vary": "Cookie"],
            request: ["Cookie": "sid=5555555555"]
        )
        var text = "\(key) \(key.place) \(head)"
        dump(key, to: &text)
        dump(key.place, to: &text)
        dump(head, to: &text)

        for secret in ["0123456789", "9876543210", "5555555555"] { #expect(!text.contains(secret)) }
    }
}
