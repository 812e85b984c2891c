import CacheStoreConformance
import LadeCache
import LadeCore
import LadeFields
import Testing

@Suite(.timeLimit(.minutes(5)))
struct CacheStatusTests {
    private let samples = RuleSamples()

    private func freshness(at seconds: Double) throws -> ResponseCache.Freshness {
        let head = try samples.keep(["Cache-Control": "max-age=40"])
        return samples.rules.freshness(
            of: head,
            at: RuleSamples.at(seconds),
            try RuleSamples.address("https://example.org/a")
        )
    }

    @Test("cache CA-221 the member says hit or why the server was asked")
    func writesMember() throws {
        var miss = CacheStatus(.uriMiss, isHit: false)
        miss.isStored = true
        var stale = CacheStatus(.stale, isHit: false, try freshness(at: 50.5))
        stale.forwardStatus = 304
        var joined = CacheStatus(.uriMiss, isHit: false)
        joined.isCollapsed = true

        #expect(CacheStatus(.fresh, isHit: true, try freshness(at: 10)).text == "Lade; hit; ttl=30; detail=fresh")
        #expect(
            CacheStatus(.maxStale, isHit: true, try freshness(at: 50.5)).text == "Lade; hit; ttl=-11; detail=max-stale"
        )
        #expect(miss.text == "Lade; fwd=uri-miss; stored; detail=uri-miss")
        #expect(stale.text == "Lade; fwd=stale; fwd-status=304; ttl=-11; detail=stale")
        #expect(joined.text == "Lade; fwd=uri-miss; collapsed; detail=uri-miss")
    }

    @Test(
        "cache CA-221 every reason is one of RFC 9211",
        arguments: [
            (Response.CacheRule.variantMiss, "vary-miss"), (.requestNoCache, "request"), (.ownCondition, "request"),
            (.method, "method"), (.bypass, "bypass"), (.incomplete, "partial"), (.mustRevalidate, "stale"),
        ]
    )
    func mapsReasons(rule: Response.CacheRule, reason: String) {
        #expect(CacheStatus(rule, isHit: false).text == "Lade; fwd=\(reason); detail=\(rule.rawValue)")
    }

    @Test("cache CA-221 the member follows those of the server, and is a structured field")
    func appends() throws {
        let headers = CacheStatus(.fresh, isHit: true).adding(to: ["Cache-Status": "Edge; fwd=miss"])
        let members = try StructuredField.List(parsing: headers.all("Cache-Status")).members

        #expect(headers.all("Cache-Status") == ["Edge; fwd=miss", "Lade; hit; detail=fresh"])
        #expect(members.count == 2)
        for rule in Response.CacheRule.allCases {
            #expect((try? StructuredField.List(parsing: [CacheStatus(rule, isHit: false).text])) != nil, "\(rule)")
        }
    }

    @Test("cache CA-223 the ratio of hits counts what the store had")
    func countsHits() {
        var counters = ResponseCache.Counters()
        #expect(counters.hitRatio == 0)
        counters.servedFresh = 5
        counters.servedStale = 1
        counters.validated = 2
        counters.missed = 2
        #expect(counters.hitRatio == 0.8)
    }

    @Test("cache CA-251 every rule has a name, a section and a sentence of its own")
    func explains() {
        let rules = Response.CacheRule.allCases

        #expect(Set(rules.map(\.sentence)).count == rules.count)
        for rule in rules {
            #expect(rule.sentence.hasSuffix("."), "\(rule)")
            #expect(rule.section.hasPrefix("RFC "), "\(rule)")
            #expect(rule.rawValue.utf8.allSatisfy { (0x61...0x7A).contains($0) || $0 == 0x2D }, "\(rule)")
        }
    }
}
