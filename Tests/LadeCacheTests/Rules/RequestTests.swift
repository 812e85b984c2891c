#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CacheStoreConformance
import LadeCache
import LadeCore
import Testing

/// What a stored response is like for the table of modes.
enum StoredKind: CaseIterable {
    case nothing, fresh, stale, mustRevalidate, noCache, otherVariant, invalidated
}

@Suite(.timeLimit(.minutes(5)))
struct RequestTests {
    private let samples = RuleSamples()

    /// At second 20.
    private func stored(_ kind: StoredKind) throws -> [StoredHead] {
        let line =
            switch kind {
            case .stale: "max-age=10"
            case .mustRevalidate: "max-age=10, must-revalidate"
            case .noCache: "max-age=60, no-cache"
            default: "max-age=60"
            }
        guard kind != .nothing else { return [] }
        var headers: Headers = ["Cache-Control": line, "ETag": "\"a\""]
        if kind == .otherVariant { headers.add("Vary", "X-A") }
        var head = try samples.keep(headers, request: kind == .otherVariant ? ["X-A": "1"] : [:])
        head.mustValidate = kind == .invalidated
        return [head]
    }

    private static let modes: [(StoredKind, Request.CacheMode, Response.CacheRule, String)] = [
        (.nothing, .standard, .uriMiss, "fetch"), (.fresh, .standard, .fresh, "serve"),
        (.stale, .standard, .stale, "validate"), (.mustRevalidate, .standard, .mustRevalidate, "validate"),
        (.noCache, .standard, .noCache, "validate"), (.otherVariant, .standard, .variantMiss, "validate"),
        (.invalidated, .standard, .invalidated, "validate"),
        (.nothing, .bypass, .bypass, "passBy"), (.fresh, .bypass, .bypass, "passBy"),
        (.stale, .bypass, .bypass, "passBy"), (.mustRevalidate, .bypass, .bypass, "passBy"),
        (.noCache, .bypass, .bypass, "passBy"), (.otherVariant, .bypass, .bypass, "passBy"),
        (.invalidated, .bypass, .bypass, "passBy"),
        (.nothing, .revalidate, .uriMiss, "fetch"), (.fresh, .revalidate, .requestMaxAge, "validate"),
        (.stale, .revalidate, .stale, "validate"), (.mustRevalidate, .revalidate, .stale, "validate"),
        (.noCache, .revalidate, .noCache, "validate"), (.otherVariant, .revalidate, .variantMiss, "validate"),
        (.invalidated, .revalidate, .invalidated, "validate"),
        (.nothing, .preferStored, .uriMiss, "fetch"), (.fresh, .preferStored, .fresh, "serve"),
        (.stale, .preferStored, .preferStored, "serve"), (.mustRevalidate, .preferStored, .preferStored, "serve"),
        (.noCache, .preferStored, .fresh, "serve"), (.otherVariant, .preferStored, .variantMiss, "validate"),
        (.invalidated, .preferStored, .invalidated, "validate"),
        (.nothing, .storedOnly, .uriMiss, "unsatisfiable"), (.fresh, .storedOnly, .fresh, "serve"),
        (.stale, .storedOnly, .storedOnly, "serve"), (.mustRevalidate, .storedOnly, .storedOnly, "serve"),
        (.noCache, .storedOnly, .fresh, "serve"), (.otherVariant, .storedOnly, .variantMiss, "unsatisfiable"),
        (.invalidated, .storedOnly, .invalidated, "unsatisfiable"),
    ]

    @Test("cache CA-90 each mode treats each stored response by the table", arguments: modes)
    func followsModes(kind: StoredKind, mode: Request.CacheMode, rule: Response.CacheRule, decision: String) throws {
        let outcome = samples.rules.decide(try samples.query(mode: mode, at: 20), try stored(kind))

        #expect(outcome.rule == rule)
        #expect("\(outcome.decision)".hasPrefix(decision))
    }

    @Test("cache CA-90 the modes send their fields")
    func sendsFields() {
        func field(_ mode: Request.CacheMode, _ hasStored: Bool = false) -> String? {
            ResponseCache.Rules.directives(for: mode, hasStored: hasStored)
        }

        #expect(field(.standard) == nil)
        #expect(field(.bypass) == "no-cache, no-store")
        #expect(field(.revalidate) == "max-age=0")
        #expect(field(.preferStored) == "max-stale")
        #expect(field(.preferStored, true) == nil)
        #expect(field(.storedOnly) == nil)
        #expect(samples.rules.passes(CacheQuery(key: nil, mode: .storedOnly, now: RuleSamples.at(0))) == .scheme)
    }

    @Test("cache CA-90 bypass stores nothing")
    func storesNothingOnBypass() throws {
        let query = try samples.query(mode: .bypass)

        #expect(samples.rules.storage(query, samples.received(200, ["Cache-Control": "max-age=60"])).rule == .bypass)
    }

    @Test("cache CA-91 revalidate serves a fresh immutable response, and the caller's own no-cache does not")
    func servesImmutable() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10, immutable", "ETag": "\"a\""])
        let own: Headers = ["Cache-Control": "no-cache"]

        #expect(try samples.rule([head], mode: .revalidate, at: 5) == .immutable)
        #expect(samples.rules.decide(try samples.query(mode: .revalidate, at: 5), [head]).decision.isServed)
        #expect(try samples.rule([head], mode: .revalidate, at: 15) == .stale)
        #expect(try samples.rule([head], own, mode: .revalidate, at: 5) == .requestNoCache)
        #expect(try samples.rule([head], own, mode: .standard, at: 5) == .requestNoCache)
    }

    @Test("cache CA-92 a bypassing response with another validator outdates the stored one")
    func outdates() throws {
        let head = try samples.keep(["ETag": "\"a\"", "Last-Modified": RuleSamples.date(-100)])
        let dated = try samples.keep(["Last-Modified": RuleSamples.date(-100)])
        func outdates(_ head: StoredHead, _ headers: Headers, _ status: Response.Status = 200) -> Bool {
            let times = ExchangeTimes(requested: RuleSamples.at(0), received: RuleSamples.at(0))
            return samples.rules.outdates(head, by: ReceivedHead(status, headers, times: times))
        }

        #expect(outdates(head, ["ETag": "\"b\""]))
        #expect(!outdates(head, ["ETag": "\"a\""]))
        #expect(!outdates(head, ["ETag": "\"b\""], 404))
        #expect(outdates(dated, ["Last-Modified": RuleSamples.date(-50)]))
        #expect(!outdates(dated, ["Last-Modified": RuleSamples.date(-100)]))
        #expect(!outdates(dated, [:]))
    }

    @Test("cache CA-93 max-age of a request bounds the age, and zero always validates")
    func boundsAge() throws {
        let head = try samples.keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])
        func rule(_ line: String, at seconds: Double) throws -> Response.CacheRule {
            try samples.rule([head], ["Cache-Control": line], at: seconds)
        }

        #expect(try rule("max-age=10", at: 10) == .fresh)
        #expect(try rule("max-age=10", at: 10.5) == .requestMaxAge)
        #expect(try rule("max-age=0", at: 0) == .requestMaxAge)
    }

    private static let sums: [(String, Double, Response.CacheRule)] = [
        ("min-fresh=10", 9.9, .fresh), ("min-fresh=10", 10, .minFresh), ("max-stale=5", 24.9, .maxStale),
        ("max-stale=5", 25, .stale), ("max-stale", 1e6, .maxStale), ("max-stale=5, min-fresh=3", 21.9, .maxStale),
        ("max-stale=5, min-fresh=3", 22, .stale), ("max-stale=5, min-fresh=10", 19, .minFresh),
    ]

    @Test("cache CA-94 a response is served while age and min-fresh are below lifetime and max-stale", arguments: sums)
    func addsBounds(line: String, age: Double, rule: Response.CacheRule) throws {
        let head = try samples.keep(["Cache-Control": "max-age=20", "ETag": "\"a\""])

        #expect(try samples.rule([head], ["Cache-Control": line], at: age) == rule)
    }

    @Test(
        "cache CA-95 max-stale overrides neither must-revalidate nor no-cache",
        arguments: [("must-revalidate", Response.CacheRule.mustRevalidate), ("no-cache", .noCache)]
    )
    func neverOverrides(directive: String, rule: Response.CacheRule) throws {
        let head = try samples.keep(["Cache-Control": "max-age=10, \(directive)", "ETag": "\"a\""])

        #expect(try samples.rule([head], ["Cache-Control": "max-stale"], at: 15) == rule)
    }

    @Test("cache CA-96 a fresh response with must-revalidate is served")
    func servesMustRevalidate() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10, must-revalidate"])

        #expect(try samples.rule([head], at: 5) == .fresh)
    }

    @Test(
        "cache CA-97 no-cache of a request validates with the stored validators",
        arguments: [["Cache-Control": "no-cache"], ["Pragma": "no-cache"]] as [Headers]
    )
    func validatesOnRequest(headers: Headers) throws {
        let head = try samples.keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])
        let outcome = samples.rules.decide(try samples.query(.get, "https://example.org/a", headers, at: 1), [head])
        let both: Headers = ["Pragma": "no-cache", "Cache-Control": "max-age=60"]

        #expect(outcome.rule == .requestNoCache)
        #expect(outcome.decision.condition?.adding(to: headers)["If-None-Match"] == "\"a\"")
        #expect(try samples.rule([head], both, at: 1) == .fresh)
    }

    private func reason(
        _ stored: [StoredHead],
        _ headers: Headers,
        mode: Request.CacheMode = .standard,
        at seconds: Double = 20
    ) throws -> ResponseCache.NotStoredReason? {
        let query = try samples.query(.get, "https://example.org/a", headers, mode: mode, at: seconds)
        guard case .unsatisfiable(let reason) = samples.rules.decide(query, stored).decision else { return nil }
        return reason
    }

    @Test("cache CA-98 only-if-cached serves what is usable, and never asks the server")
    func obeysOnlyIfCached() throws {
        let only: Headers = ["Cache-Control": "only-if-cached"]
        let both: Headers = ["Cache-Control": "only-if-cached, max-stale=15"]
        let swr = try samples.keep(["Cache-Control": "max-age=10, stale-while-revalidate=60"])

        #expect(try samples.rule(stored(.fresh), only, at: 20) == .fresh)
        #expect(try samples.rule(stored(.stale), both, at: 20) == .maxStale)
        #expect(try reason(stored(.stale), only) == .stale(by: .seconds(10)))
        #expect(try reason([], only) == .nothing)
        #expect(try reason([swr], only) == .stale(by: .seconds(10)))
    }

    @Test("cache CA-99 a failure says why nothing stored is used")
    func saysWhy() throws {
        var part = try samples.keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])
        part.extent = .parts([0..<5], total: 10)

        #expect(try reason([], [:], mode: .storedOnly) == .nothing)
        #expect(try reason(stored(.otherVariant), [:], mode: .storedOnly) == .otherVariant)
        #expect(
            try reason(stored(.stale), ["Cache-Control": "max-stale=9"], mode: .storedOnly) == .stale(by: .seconds(10))
        )
        #expect(try reason(stored(.invalidated), [:], mode: .storedOnly) == .mustBeValidated(.invalidated))
        #expect(try reason([part], [:], mode: .storedOnly) == .incomplete)
        #expect(try reason(stored(.fresh), ["If-None-Match": "x"], mode: .storedOnly) == .notServed(.ownCondition))
        #expect(
            try reason(stored(.fresh), ["Cache-Control": "no-store"], mode: .storedOnly) == .notServed(.requestNoStore)
        )
    }

    @Test("cache CA-100 of mode and header the stricter counts")
    func prefersStricter() throws {
        let stale = try stored(.stale)

        for mode in [Request.CacheMode.preferStored, .storedOnly] {
            #expect(try samples.rule(stale, ["Cache-Control": "no-cache"], mode: mode, at: 20) == .requestNoCache)
            #expect(try samples.rule(stale, ["Cache-Control": "max-age=5"], mode: mode, at: 20) == .requestMaxAge)
            #expect(try samples.rule(stale, ["Cache-Control": "max-stale=5"], mode: mode, at: 20) == .stale)
            #expect(
                try samples.rule(stored(.fresh), ["Cache-Control": "min-fresh=50"], mode: mode, at: 20) == .minFresh
            )
            #expect(
                try samples.rule(stale, ["Cache-Control": "max-stale=15"], mode: mode, at: 20).rawValue
                    == (mode == .storedOnly ? "stored-only" : "prefer-stored")
            )
        }
        #expect(
            try samples.rule(stored(.fresh), ["Cache-Control": "max-stale"], mode: .revalidate, at: 20)
                == .requestMaxAge
        )
    }

    @Test(
        "cache CA-101 unknown and malformed directives of a request are ignored",
        arguments: ["x=1", "max-stale=x", "min-fresh=", "only-if-cached-x", "=", "\"", ",,,", "no cache, MAX-STALE=x"]
    )
    func ignoresUnknown(line: String) throws {
        let head = try samples.keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])

        #expect(try samples.rule([head], ["Cache-Control": line], at: 1) == .fresh)
        #expect(try samples.rule([head], ["CACHE-control": "NO-CACHE"], at: 1) == .requestNoCache)
    }

    @Test("cache CA-09 CA-102 stored-only calls never reach the server, whatever the request")
    func neverReaches() throws {
        let heads = try StoredKind.allCases.flatMap(stored)
        for headers in [[:], ["Range": "bytes=x"], ["If-Match": "x"], ["Cache-Control": "no-store"]] as [Headers] {
            for method in [Request.Method.get, .head, .post, .delete] {
                var query = try samples.query(method, "https://example.org/a", headers, mode: .storedOnly, at: 20)
                query.isReplayable = method != .post
                for stored in [[], heads] {
                    let decision = samples.rules.decide(query, stored).decision
                    let isLocal = decision.isServed || "\(decision)".hasPrefix("unsatisfiable")
                    #expect(isLocal, "\(method) \(headers): \(decision)")
                }
            }
        }
    }
}
