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
struct FreshnessTests {
    private let samples = RuleSamples()

    @Test("cache CA-60 a response is fresh until its age equals its lifetime", arguments: [(9.9, true), (10, false)])
    func endsAtLifetime(age: Double, isFresh: Bool) throws {
        let head = try samples.keep(["Cache-Control": "max-age=10", "ETag": "\"a\""])

        #expect(try samples.rule([head], at: age) == (isFresh ? .fresh : .stale))
    }

    @Test(
        "cache CA-61 max-age counts alone beside any Expires",
        arguments: [RuleSamples.date(-100), RuleSamples.date(1_000), "soon", "0"]
    )
    func prefersMaxAge(expires: String) throws {
        #expect(try samples.lifetime(["Cache-Control": "max-age=60", "Expires": expires]) == .seconds(60))
    }

    @Test("cache CA-62 s-maxage decides nothing, in one line or two")
    func ignoresSharedMaxAge() throws {
        #expect(try samples.lifetime(["Cache-Control": "s-maxage=3600, max-age=1"]) == .seconds(1))
        #expect(try samples.lifetime(["Cache-Control": "s-maxage=3600", "cache-control": "max-age=1"]) == .seconds(1))
    }

    @Test(
        "cache CA-63 the first max-age counts, in any spelling",
        arguments: ["max-age=60, max-age=10", "max-age=\"60\"", "Max-Age=60", "max-age=0060", "MAX-AGE=60"]
    )
    func readsMaxAge(line: String) throws {
        #expect(try samples.lifetime(["Cache-Control": line]) == .seconds(60))
    }

    @Test(
        "cache CA-64 a max-age that is no number is zero",
        arguments: [
            "max-age=-1", "max-age=", "max-age='60'", "max-age=60.0", "max-age=60a", "max-age", "a=\"max-age=60\"",
            "a=\"b, max-age=60, c\"", "x-max-age=60", "max-agex=60", "max-age =60", "max-age= 60",
        ]
    )
    func refusesMaxAge(line: String) throws {
        #expect(try samples.lifetime(["Cache-Control": line]) == .zero)
    }

    @Test(
        "cache CA-65 numbers saturate at 2³¹ seconds",
        arguments: ["2147483648", "100000000000", "1000000000000000000000000000000"]
    )
    func saturates(number: String) throws {
        let limit = Duration.seconds(Int64(1) << 31)
        let young = try samples.keep(["Cache-Control": "max-age=\(number)"])
        let old = try samples.keep(["Cache-Control": "max-age=\(number)", "Age": number])
        let address = try RuleSamples.address("https://example.org/a")

        let freshness = samples.rules.freshness(of: old, at: RuleSamples.at(5e9), address)

        #expect(try samples.lifetime(young) == limit)
        #expect(freshness.age == limit)
        #expect(!freshness.isFresh)
        #expect(try samples.rule([young], at: 1_000) == .fresh)
    }

    @Test(
        "cache CA-66 Expires is read in three forms",
        arguments: [
            "Thu, 01 Jan 2026 00:05:00 GMT", "THU, 01 JAN 2026 00:05:00 gmt", "Mon, 01 Jan 2026 00:05:00 GMT",
            "Thursday, 01-Jan-26 00:05:00 GMT", "thursday, 01-jan-26 00:05:00 GMT", "Thu Jan  1 00:05:00 2026",
            "Thu Jan 01 00:05:00 2026",
        ]
    )
    func readsExpires(text: String) throws {
        #expect(try samples.lifetime(["Expires": text]) == .seconds(300))
    }

    @Test(
        "cache CA-66 every other Expires has passed, without an error",
        arguments: [
            "Thu, 01 Jan 2026 00:05:00 UTC", "Thu, 01 Jan 2026 00:05:00 EST", "Thu, 01 Jan 2026 00:05:00 +0000",
            "Thu, 01 Jan 26 00:05:00 GMT", "Thu, 01-Jan-2026 00:05:00 GMT", "Thu 01 Jan 2026 00:05:00 GMT",
            "Thu,  01 Jan 2026 00:05:00 GMT", "Thu, 01  Jan 2026 00:05:00 GMT", "Thu, 01 Jan 2026 2:05:00 GMT",
            "Thu, 01 Jan 2026 00.05.00 GMT", "Thu, 1 Jan 2026 00:05:00 GMT", "0", "-1", "",
            "Thu, 01 Jan 2026 00:05:00", "Thu, 01 Jan 2026 00:05:00 GMT x", "Thu, 32 Jan 2026 00:05:00 GMT",
            "Thu, 01 Jan 2026 00:05:00 GMT, Thu, 01 Jan 2026 00:05:01 GMT",
        ]
    )
    func refusesExpires(text: String) throws {
        let head = samples.received(200, ["Expires": text])
        let stored = StoredHead(status: 200, headers: head.headers, times: head.times)

        let (lifetime, source) = samples.rules.lifetime(of: stored, try RuleSamples.address("https://example.org/a"))

        #expect(lifetime == .zero)
        #expect(source == .expires)
    }

    @Test("cache CA-66 equal lines of Expires are one, and different ones have passed")
    func refusesTwoDates() throws {
        #expect(
            try samples.lifetime(["Expires": RuleSamples.date(300), "expires": RuleSamples.date(300)]) == .seconds(300)
        )
        #expect(
            try samples.lifetime(["Expires": "\(RuleSamples.date(300)), \(RuleSamples.date(300))"]) == .seconds(300)
        )
        #expect(try samples.lifetime(["Expires": RuleSamples.date(300), "expires": RuleSamples.date(400)]) == .zero)
        #expect(try samples.lifetime(["Expires": RuleSamples.date(300), "expires": ""]) == .zero)
    }

    @Test("cache CA-67 Expires counts from Date")
    func countsFromDate() throws {
        #expect(try samples.lifetime(["Expires": RuleSamples.date(0)]) == .zero)
        #expect(try samples.lifetime(["Expires": RuleSamples.date(300), "Date": RuleSamples.date(400)]) == .zero)
        #expect(
            try samples.lifetime(["Expires": RuleSamples.date(300), "Date": RuleSamples.date(-100)]) == .seconds(400)
        )
    }

    @Test("cache CA-68 the time of arrival stands for a missing Date", arguments: ["", "yesterday"])
    func standsForDate(date: String) throws {
        let head = try samples.keep(["Expires": RuleSamples.date(300), "Date": date], from: 0, at: 100)

        #expect(try samples.lifetime(head) == .seconds(200))
        #expect(head.headers["Date"] == (date.isEmpty ? nil : date))
    }

    private func age(_ headers: Headers, from: Double = 0, to: Double = 0, at seconds: Double? = nil) throws -> Duration
    {
        let head = try samples.keep(headers, from: from, at: to)
        let address = try RuleSamples.address("https://example.org/a")
        return samples.rules.freshness(of: head, at: RuleSamples.at(seconds ?? to), address).age
    }

    @Test("cache CA-69 the first member of the first Age counts")
    func readsFirstAge() throws {
        let base: Headers = ["Cache-Control": "max-age=3600"]
        for (lines, age) in [(["7200, 0"], 7_200), (["0, 7200"], 0), (["7200", "0"], 7_200), (["0", "7200"], 0)] {
            var headers = base
            for line in lines { headers.add("Age", line) }
            #expect(try self.age(headers) == .seconds(age))
        }
    }

    @Test("cache CA-70 an Age that is no number is ignored", arguments: ["abc", "-7200", "7200.0", "7200;a=b", ""])
    func ignoresAge(text: String) throws {
        #expect(try age(["Cache-Control": "max-age=3600", "Age": text]) == .zero)
    }

    @Test("cache CA-71 a Date in the past is an age, unless the setting is off")
    func usesApparentAge() throws {
        let headers: Headers = ["Cache-Control": "max-age=3600", "Date": RuleSamples.date(-7_200)]
        var other = samples
        other.rules.usesApparentAge = false

        #expect(try samples.rule([samples.keep(headers)], at: 0) == .stale)
        #expect(try other.rule([other.keep(headers)], at: 0) == .fresh)
    }

    @Test("cache CA-72 a Date in the future lengthens nothing", arguments: [1, 400, 1e9])
    func ignoresFutureDate(seconds: Double) throws {
        let date = RuleSamples.date(seconds)

        #expect(try age(["Cache-Control": "max-age=60", "Date": date]) == .zero)
        #expect(try samples.lifetime(["Cache-Control": "max-age=60", "Date": date]) == .seconds(60))
        #expect(try samples.lifetime(["Expires": RuleSamples.date(seconds + 30), "Date": date]) == .seconds(30))
    }

    @Test("cache CA-73 the exchange is added to Age")
    func addsDelay() throws {
        #expect(try age(["Cache-Control": "max-age=60", "Age": "10"], from: 0, to: 5) == .seconds(15))
    }

    @Test("cache CA-08 only the last exchange counts as delay")
    func countsOwnExchange() throws {
        // 30 s were spent waiting before the exchange of 1 s.
        let head = try samples.keep(["Cache-Control": "max-age=10"], from: 30, at: 31)

        #expect(try samples.rule([head], at: 39.9) == .fresh)
    }

    @Test("cache CA-74 a served response states its age in whole seconds, and keeps its dates")
    func statesAge() throws {
        let headers: Headers = ["Age": "30", "Cache-Control": "max-age=60", "Expires": RuleSamples.date(50)]
        let head = try samples.keep(headers)
        let outcome = samples.rules.decide(try samples.query(at: 3.9), [head])

        let (status, served) = ResponseCache.Rules.served(head, outcome.freshness)

        #expect(outcome.rule == .fresh)
        #expect(status == 200)
        #expect(served.all("Age") == ["33"])
        #expect(served["Date"] == RuleSamples.date(0))
        #expect(served["Expires"] == RuleSamples.date(50))
        #expect(ResponseCache.Rules.served(head, nil).headers["Age"] == "30")
    }

    private static let day = 86_400.0

    @Test("cache CA-75 a tenth of the time since the last change is the lifetime, seven days at most")
    func guessesLifetime() throws {
        #expect(try samples.lifetime(["Last-Modified": RuleSamples.date(-10 * Self.day)]) == .seconds(86_400))
        #expect(try samples.lifetime(["Last-Modified": RuleSamples.date(-100 * Self.day)]) == .seconds(7 * 86_400))
        #expect(try samples.lifetime(["Last-Modified": RuleSamples.date(-10 * Self.day)], 404) == .seconds(86_400))
    }

    @Test("cache CA-76 nothing is guessed for queries, for odd dates and for other statuses")
    func guessesNothing() throws {
        let modified: Headers = ["Last-Modified": RuleSamples.date(-10 * Self.day)]

        #expect(try samples.lifetime(modified, 200, "https://example.org/a?b") == .zero)
        #expect(try samples.lifetime(["Last-Modified": RuleSamples.date(10)]) == .zero)
        #expect(try samples.lifetime(["Last-Modified": "long ago"]) == .zero)
        #expect(try samples.lifetime(modified, 403) == .zero)
    }

    @Test("cache CA-77 public and private allow the guess for every status", arguments: ["public", "private"])
    func guessesForAllowed(directive: String) throws {
        let headers: Headers = ["Last-Modified": RuleSamples.date(-10 * Self.day), "Cache-Control": directive]

        #expect(try samples.lifetime(headers, 599) == .seconds(86_400))
    }

    @Test("cache CA-78 nothing is guessed beside anything explicit", arguments: [RuleSamples.date(-5), "0", "never"])
    func guessesNothingBesideExpires(expires: String) throws {
        let head = try samples.keep(["Last-Modified": RuleSamples.date(-10 * Self.day), "Expires": expires])

        #expect(try samples.lifetime(head) == .zero)
        #expect(try samples.rule([head], at: 0) == .stale)
    }

    @Test("cache CA-79 the stricter of no-cache and max-age wins")
    func prefersStricter() throws {
        let head = try samples.keep(["Cache-Control": "no-cache, max-age=100", "ETag": "\"a\""])

        #expect(try samples.rule([head], at: 0) == .noCache)
    }

    @Test("cache CA-80 a date that was set back keeps no response alive")
    func usesMonotonicClock() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10", "ETag": "\"a\""])
        var query = try samples.query(at: 10)
        query.now.date = RuleSamples.start.addingTimeInterval(-3_600)

        #expect(samples.rules.decide(query, [head]).rule == .stale)
    }

    @Test("cache CA-81 the time in which the machine slept counts")
    func countsSleep() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10", "ETag": "\"a\""])
        var query = try samples.query(at: 1)
        query.now.date = RuleSamples.start.addingTimeInterval(3_600)

        #expect(samples.rules.decide(query, [head]).rule == .stale)
    }

    @Test("cache CA-82 an entry of another process from the future has no age and is validated")
    func validatesByClock() throws {
        var head = try samples.keep(["Cache-Control": "max-age=10", "ETag": "\"a\""])
        head.times.received.instant = nil

        let before = samples.rules.decide(try samples.query(at: -1), [head])
        let after = samples.rules.decide(try samples.query(at: 1), [head])

        #expect(before.rule == .clock)
        #expect(before.decision.condition?.entityTags.map(\.field.value) == ["\"a\""])
        #expect(after.rule == .fresh)
    }

    @Test("cache CA-83 immutable changes no lifetime")
    func ignoresImmutable() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10, immutable", "ETag": "\"a\""])

        #expect(try samples.lifetime(head) == .seconds(10))
        #expect(try samples.rule([head], at: 11) == .stale)
    }

    @Test("cache CA-84 Pragma counts only without Cache-Control")
    func readsPragma() throws {
        let validators: Headers = ["ETag": "\"a\"", "Expires": RuleSamples.date(60), "Pragma": "no-cache"]
        var both = validators
        both.add("Cache-Control", "max-age=60")

        #expect(try samples.rule([samples.keep(validators)], at: 0) == .noCache)
        #expect(try samples.rule([samples.keep(both)], at: 0) == .fresh)
    }

    @Test("cache CA-02 fields and directives for other caches decide nothing")
    func ignoresOtherCaches() throws {
        let targeted: Headers = [
            "CDN-Cache-Control": "max-age=100", "Surrogate-Control": "max-age=100", "ETag": "\"a\"",
            "Cache-Control": "s-maxage=100, proxy-revalidate, private",
        ]
        let head = try samples.keep(targeted)
        let shared = try samples.keep(["Cache-Control": "max-age=10, private=\"x\", proxy-revalidate", "ETag": "\"a\""])

        #expect(try samples.lifetime(head) == .zero)
        #expect(try samples.rule([head], at: 0) == .stale)
        #expect(head.headers["CDN-Cache-Control"] == "max-age=100")
        #expect(head.headers["Surrogate-Control"] == "max-age=100")
        #expect(try samples.rule([shared], at: 1) == .fresh)
        #expect(try samples.rule([shared], ["Cache-Control": "max-stale"], at: 11) == .maxStale)
    }
}
