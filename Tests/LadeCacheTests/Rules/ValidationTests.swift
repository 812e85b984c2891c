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
struct ValidationTests {
    private let samples = RuleSamples()

    /// Validates a stored response that is 20 s old.
    private func validate(
        _ stored: [StoredHead],
        _ status: Response.Status = 304,
        _ headers: Headers = [:],
        request: Headers = [:],
        method: Request.Method = .get,
        mode: Request.CacheMode = .standard,
        at seconds: Double = 20
    ) throws -> Explained<ValidationDecision> {
        let query = try samples.query(method, "https://example.org/a", request, mode: mode, at: seconds)
        let condition = samples.rules.decide(query, stored).decision.condition ?? CacheCondition()
        let received = samples.received(status, headers, sent: request, at: seconds)
        return samples.rules.validation(query, condition, stored, received)
    }

    private func updated(_ outcome: Explained<ValidationDecision>) throws -> StoredHead {
        guard case .update(let heads, _, _) = outcome.decision else {
            throw NotUpdated(text: "\(outcome.decision)")
        }
        return try #require(heads.first)
    }

    private struct NotUpdated: Error { let text: String }

    @Test(
        "cache CA-110 both validators are sent byte for byte",
        arguments: ["\"a\"", "W/\"a\"", "unquoted", "\"ü\"", "\"a\" \"b\"", "\"\""]
    )
    func sendsValidators(tag: String) throws {
        for date in [RuleSamples.date(-50), "long ago", "Thursday, 01-Jan-26 00:00:00 GMT"] {
            let head = try samples.keep([
                "Cache-Control": "max-age=10", "ETag": tag, "Last-Modified": date, "Vary": "Accept",
            ])
            let query = try samples.query(.get, "https://example.org/a", [:], at: 20)

            let sent = samples.rules.decide(query, [head]).decision.condition?.adding(to: ["X-A": "1"])

            #expect(sent?.all("If-None-Match") == [tag])
            #expect(sent?.all("If-Modified-Since") == [date])
            #expect(sent?["X-A"] == "1")
        }
    }

    @Test("cache CA-110 validators that are not UTF-8 are sent byte for byte")
    func sendsOctets() throws {
        let octets: [UInt8] = [0x22, 0xFC, 0x22]
        var received = samples.received(200, ["Cache-Control": "max-age=10"])
        received.headers = Headers(
            checked: Array(received.headers) + [.init(uncheckedName: "ETag", value: "\"ü\"", octets: octets)]
        )
        var head = try #require(samples.rules.storage(try samples.query(), received).decision.head)
        head.id = 1

        let sent = samples.rules.decide(try samples.query(at: 20), [head]).decision.condition?.adding(to: [:])

        #expect(sent?.octets("If-None-Match") == [octets])
    }

    @Test("cache CA-111 without a validator the response is fetched, and no condition is made from Date")
    func fetches() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10"])
        let outcome = samples.rules.decide(try samples.query(at: 20), [head])

        #expect(outcome.decision == .fetch)
        #expect(outcome.rule == .stale)
    }

    @Test("cache CA-112 up to eight tags of other variants are sent, the latest first")
    func sendsOtherTags() throws {
        let stored = try (1...12).map { number in
            try samples.keep(
                ["Cache-Control": "max-age=60", "Vary": "X-A", "ETag": "\"\(number)\""],
                request: ["X-A": "\(number)"],
                id: UInt64(number),
                at: Double(number)
            )
        }
        let outcome = samples.rules.decide(
            try samples.query(.get, "https://example.org/a", ["X-A": "0"], at: 20),
            stored
        )

        #expect(outcome.rule == .variantMiss)
        #expect(
            outcome.decision.condition?.adding(to: [:])["If-None-Match"]
                == (5...12).reversed().map { "\"\($0)\"" }.joined(separator: ", ")
        )
        #expect(outcome.decision.condition?.modifiedSince == nil)
    }

    @Test("cache CA-112 variants without a tag, and those of which only parts are stored, are not asked for")
    func asksForWholeVariants() throws {
        var part = try samples.keep(["Vary": "X-A", "ETag": "\"1\""], request: ["X-A": "1"], id: 1)
        part.extent = .parts([0..<5], total: 10)
        let untagged = try samples.keep(["Cache-Control": "max-age=60", "Vary": "X-A"], request: ["X-A": "2"], id: 2)
        let query = try samples.query(.get, "https://example.org/a", ["X-A": "0"], at: 20)

        let outcome = samples.rules.decide(query, [part, untagged])

        #expect(outcome.rule == .variantMiss)
        #expect(outcome.decision.condition == nil)
    }

    @Test(
        "cache CA-118 CA-122 a 304 of another host confirms nothing",
        arguments: [
            (304, true, Response.CacheRule.unknownValidator), (304, false, .otherHost), (200, true, .otherHost),
        ]
    )
    func otherHosts(status: Int, hasCondition: Bool, rule: Response.CacheRule) throws {
        let head = try samples.keep(["Cache-Control": "max-age=1", "ETag": "\"a\""])
        let query = try samples.query(at: 20)
        let condition = hasCondition ? samples.rules.decide(query, [head]).decision.condition : CacheCondition()
        var received = samples.received(
            Response.Status(status),
            ["ETag": "\"a\"", "Cache-Control": "max-age=60"],
            at: 20
        )
        received.isFromOtherHost = true

        let outcome = samples.rules.validation(query, try #require(condition), [head], received)

        #expect(outcome.decision == (rule == .otherHost ? .deliver : .fetchAnew))
        #expect(outcome.rule == rule)
    }

    @Test(
        "cache CA-113 a request with a condition of its own passes by",
        arguments: ["If-None-Match", "If-Modified-Since", "If-Match", "If-Unmodified-Since", "If-Range"]
    )
    func passesOwnConditions(name: String) throws {
        let head = try samples.keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])
        let query = try samples.query(.get, "https://example.org/a", Headers([(name, "\"a\"")]), at: 1)
        let outcome = samples.rules.decide(query, [head])
        func update(_ tag: String) -> StoredHead? {
            let received = samples.received(304, ["ETag": tag, "X-New": "1"], at: 1)
            return samples.rules.updated(byOwnCondition: query, [head], received)
        }

        #expect(outcome.decision == .passBy)
        #expect(outcome.rule == .ownCondition)
        #expect(update("\"a\"")?.headers["X-New"] == "1")
        #expect(update("W/\"a\"") == nil)
        #expect(update("\"b\"") == nil)
        #expect(
            samples.rules.storage(query, samples.received(200, ["Cache-Control": "max-age=9"])).decision.head != nil
        )
        #expect(
            samples.rules.storage(query, samples.received(404, ["Cache-Control": "max-age=9"])).rule == .ownCondition
        )
        #expect(try validate([head], 304, ["ETag": "\"a\""], request: query.headers).decision == .deliver)
    }

    @Test("cache CA-114 a 304 yields the stored status with merged fields", arguments: [200, 404, 410])
    func yieldsStored(code: Int) throws {
        let head = try samples.keep(
            ["Cache-Control": "max-age=10", "ETag": "\"a\"", "X-Old": "1"],
            Response.Status(code)
        )
        let outcome = try validate([head], 304, ["ETag": "\"a\"", "X-New": "2"])
        let merged = try updated(outcome)
        let (status, served) = ResponseCache.Rules.served(merged, nil)

        #expect(outcome.rule == .notModified)
        #expect(status == Response.Status(code))
        #expect(served["X-Old"] == "1")
        #expect(served["X-New"] == "2")
    }

    @Test("cache CA-115 CA-252 each field of a 304 replaces all lines of its name, and the others stay")
    func merges() {
        let stored: Headers = [
            "A": "1", "a": "2", "B": "3", "Vary": "X", "Content-Length": "10", "Content-Encoding": "gzip",
            "Content-Type": "a/b", "Content-X": "1", "Set-Cookie": "c=1",
        ]
        let update: Headers = [
            "A": "9", "A": "8", "Content-Length": "0", "Content-Encoding": "br", "Content-Range": "bytes 0-1/2",
            "Content-Type": "c/d", "Content-X": "2", "Connection": "X-Hop", "X-Hop": "1", "Keep-Alive": "5",
            "Transfer-Encoding": "chunked", "Proxy-Authenticate": "x",
        ]
        let expected: Headers = [
            "B": "3", "Vary": "X", "Content-Length": "10", "Content-Encoding": "gzip", "Set-Cookie": "c=1", "A": "9",
            "A": "8", "Content-Type": "c/d", "Content-X": "2",
        ]

        let merged = StoredFields.mergeHeaders(stored, update)

        #expect(merged.areSpelled(like: expected))
        // CA-269: merging the same update again changes nothing.
        #expect(StoredFields.mergeHeaders(merged, update).areSpelled(like: merged))
        #expect(StoredFields.mergeHeaders(stored, [:]).areSpelled(like: stored))
    }

    @Test("cache CA-116 lifetime, age and times are those of the 304")
    func renews() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10", "ETag": "\"a\"", "Age": "3"])
        let merged = try updated(try validate([head], 304, ["Cache-Control": "max-age=5"], at: 20))
        let aged = try updated(try validate([head], 304, ["Cache-Control": "max-age=5", "Age": "2"], at: 20))
        let undated = try updated(try validate([head], 304, ["Date": "", "Expires": RuleSamples.date(25)], at: 20))

        #expect(merged.times.received == RuleSamples.at(20))
        #expect(merged.headers["Age"] == nil)
        #expect(try samples.rule([merged], at: 24.9) == .fresh)
        #expect(try samples.rule([merged], at: 25) == .stale)
        #expect(aged.headers["Age"] == "2")
        #expect(try samples.rule([aged], at: 22.9) == .fresh)
        #expect(try samples.rule([aged], at: 23) == .stale)
        // The stored Date is not that of the 304.
        #expect(undated.headers["Date"] == nil)
    }

    @Test(
        "cache CA-117 a tag of a 304 matches weakly, and a missing one matches",
        arguments: [("\"a\"", "W/\"a\""), ("W/\"a\"", "\"a\""), ("\"a\"", "\"a\""), ("\"a\"", nil), ("a", "a")]
    )
    func matchesWeakly(own: String, sent: String?) throws {
        let head = try samples.keep(["Cache-Control": "max-age=10", "ETag": own])
        var headers: Headers = [:]
        headers["ETag"] = sent

        #expect(try validate([head], 304, headers).rule == .notModified)
    }

    @Test("cache CA-118 a 304 that names none of several tags leads to one fetch, and invents no body")
    func fetchesAnew() throws {
        let stored = try ["1", "2"].map { value in
            try samples.keep(
                ["Cache-Control": "max-age=60", "Vary": "X-A", "ETag": "\"\(value)\""],
                request: ["X-A": value],
                id: UInt64(value) ?? 0
            )
        }
        for headers in [["ETag": "\"b\""], [:]] as [Headers] {
            let outcome = try validate(stored, 304, headers, request: ["X-A": "3"])
            #expect(outcome.decision == .fetchAnew)
            #expect(outcome.rule == .unknownValidator)
        }
    }

    @Test(
        "finding CK-9 a 304 to one tag or date confirms it, and updates its fields only with a tag that matches",
        arguments: [
            (["ETag": "\"x-zstd\""], ["ETag": "\"x\""], false), (["ETag": "\"x\""], ["ETag": "W/\"y\""], false),
            (["ETag": "W/\"x\""], ["ETag": "\"y\""], false), (["ETag": "\"x\""], ["ETag": "W/\"x\""], true),
            (["ETag": "\"x\""], [:], true), (["Last-Modified": RuleSamples.date(-9)], ["ETag": "\"y\""], false),
            (["Last-Modified": RuleSamples.date(-9)], [:], true),
        ] as [(Headers, Headers, Bool)]
    )
    func confirmsWhatWasAskedFor(own: Headers, sent: Headers, mayUpdate: Bool) throws {
        var (fields, update): (Headers, Headers) = (["Cache-Control": "max-age=10", "X-A": "old"], ["X-A": "new"])
        fields.add(contentsOf: own)
        update.add(contentsOf: sent)
        let head = try samples.keep(fields)

        let outcome = try validate([head], 304, update)

        #expect(outcome.rule == .notModified)
        guard case .update(let heads, serve: 1, adding: nil) = outcome.decision else {
            Issue.record("\(outcome.decision)")
            return
        }
        #expect(heads.map { $0.headers["X-A"] } == (mayUpdate ? ["new"] : []))
    }

    @Test("cache CA-119 a 304 naming another variant serves it, and adds a variant with its body")
    func addsVariant() throws {
        let stored = try ["1", "2"].map { value in
            try samples.keep(
                ["Cache-Control": "max-age=60", "Vary": "X-A", "ETag": "\"\(value)\""],
                request: ["X-A": value],
                id: UInt64(value) ?? 0
            )
        }
        let outcome = try validate(stored, 304, ["ETag": "\"2\"", "X-New": "1"], request: ["X-A": "3"])

        guard case .update(let heads, let served, let added?) = outcome.decision else {
            Issue.record("\(outcome.decision)")
            return
        }
        #expect(served == 2)
        #expect(heads.map(\.id) == [2])
        #expect(heads[0].selecting == stored[1].selecting)
        #expect(heads[0].headers["X-New"] == "1")
        #expect(try samples.rule([added], ["X-A": "3"], at: 21) == .fresh)
        #expect(try samples.rule([added], ["X-A": "2"], at: 21) == .variantMiss)
        #expect(try validate(stored, 304, [:], request: ["X-A": "3"]).decision == .fetchAnew)
        // The other variant's value of a newly named field is unknown.
        let renamed = try validate(stored, 304, ["ETag": "\"2\"", "Vary": "X-B"], request: ["X-A": "3"])
        guard case .update(let kept, _, let renamedHead?) = renamed.decision else {
            Issue.record("\(renamed.decision)")
            return
        }
        #expect(kept.isEmpty)
        #expect(renamedHead.reading.vary.names == ["x-b"])
    }

    @Test("cache CA-120 Vary of a 304 replaces the stored one, with the values of this request")
    func replacesVary() throws {
        let head = try samples.keep(
            ["Cache-Control": "max-age=10", "ETag": "\"a\"", "Vary": "X-A"],
            request: ["X-A": "1"]
        )
        let merged = try updated(
            try validate(
                [head],
                304,
                ["Vary": "X-B", "Cache-Control": "max-age=10"],
                request: ["X-A": "1", "X-B": "2"]
            )
        )
        let star = try validate([head], 304, ["Vary": "*"], request: ["X-A": "1"])

        #expect(merged.reading.vary.names == ["x-b"])
        #expect(try samples.rule([merged], ["X-B": "2"], at: 21) == .fresh)
        #expect(try samples.rule([merged], ["X-B": "3"], at: 21) == .variantMiss)
        guard case .serveAndRemove = star.decision else {
            Issue.record("\(star.decision)")
            return
        }
    }

    @Test("cache CA-121 after a 304 with no-store the response is served once, and removed")
    func servesOnce() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10", "ETag": "\"a\""])

        guard case .serveAndRemove(let merged) = try validate([head], 304, ["Cache-Control": "no-store"]).decision
        else {
            Issue.record("not removed")
            return
        }
        #expect(merged.id == head.id)
    }

    @Test("cache CA-122 a 304 to a request without a condition is delivered as it came")
    func deliversStray304() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10"])

        #expect(try validate([head], 304, ["ETag": "\"a\""]).decision == .deliver)
        #expect(try validate([], 304).decision == .deliver)
    }

    @Test(
        "cache CA-123 another response replaces the stored one, or removes it",
        arguments: [200, 299, 301, 302, 400, 403, 404, 410, 422]
    )
    func replaces(code: Int) throws {
        let head = try samples.keep(["Cache-Control": "max-age=10", "ETag": "\"a\""], id: 5)
        let storable = try validate([head], Response.Status(code), ["Cache-Control": "max-age=60"])
        let unstorable = try validate([head], Response.Status(code), ["Cache-Control": "no-store"])

        guard case .replace(.store(let new, let replaced), []) = storable.decision else {
            Issue.record("\(storable.decision)")
            return
        }
        #expect(new.status == Response.Status(code))
        #expect(replaced == [5])
        #expect(unstorable.decision == .removeAndDeliver([5]))
    }

    @Test(
        "cache CA-124 some responses say nothing about the stored one",
        arguments: [401, 407, 408, 421, 425, 429, 500, 501, 502, 503, 504, 505, 599]
    )
    func keeps(code: Int) throws {
        let head = try samples.keep(["Cache-Control": "max-age=10", "ETag": "\"a\""])

        #expect(try validate([head], Response.Status(code), ["Cache-Control": "max-age=60"]).decision == .deliver)
    }

    private func onFailure(
        _ line: String,
        _ failure: ExchangeFailure = .connection,
        request: Headers = [:],
        mode: Request.CacheMode = .standard,
        at seconds: Double = 20,
        change: (inout StoredHead) -> Void = { _ in }
    ) throws -> Explained<ValidationDecision> {
        var head = try samples.keep(["Cache-Control": line, "ETag": "\"a\""])
        change(&head)
        let query = try samples.query(.get, "https://example.org/a", request, mode: mode, at: seconds)
        let condition = samples.rules.decide(query, [head]).decision.condition ?? CacheCondition()
        return samples.rules.validation(query, condition, [head], failure: failure)
    }

    @Test("cache CA-125 a stale response stands in for failures within its window")
    func servesOnError() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10, stale-if-error=30", "ETag": "\"a\""])
        let bare = try samples.keep(["Cache-Control": "max-age=10, stale-if-error=30"])

        for code in [500, 502, 503, 504] {
            for stored in [head, bare] {
                let outcome = try validate([stored], Response.Status(code))
                #expect(outcome.decision == .serveStale(1))
                #expect(outcome.rule == .ifError)
            }
        }
        for failure in [ExchangeFailure.connection, .timedOut, .name, .rateLimited, .malformedResponse] {
            #expect(try onFailure("max-age=10, stale-if-error=30", failure).decision == .serveStale(1))
        }
    }

    @Test("cache CA-126 outside of the window, or without the directive, the failure is delivered")
    func deliversOutsideWindow() throws {
        #expect(try onFailure("max-age=10, stale-if-error=30", at: 39.9).decision == .serveStale(1))
        #expect(try onFailure("max-age=10, stale-if-error=30", at: 40).decision == .deliver)
        #expect(try onFailure("max-age=10").decision == .deliver)
        #expect(try onFailure("max-age=10, stale-while-revalidate=30, must-revalidate").decision == .deliver)
    }

    @Test("cache CA-127 what must be validated never stands in for a failure")
    func neverServesOnError() throws {
        let line = "max-age=10, stale-if-error=30"

        #expect(try onFailure("\(line), must-revalidate").decision == .deliver)
        #expect(try onFailure("\(line), no-cache").decision == .deliver)
        #expect(try onFailure(line, request: ["Cache-Control": "no-cache"]).decision == .deliver)
        #expect(try onFailure(line, request: ["Pragma": "no-cache"]).decision == .deliver)
        #expect(try onFailure(line, mode: .revalidate).decision == .deliver)
        #expect(try onFailure(line) { $0.mustValidate = true }.decision == .deliver)
    }

    @Test("cache CA-128 cancellation, deadlines, trust and other statuses are no errors of the server")
    func ignoresOtherFailures() throws {
        let line = "max-age=10, stale-if-error=30"
        let head = try samples.keep(["Cache-Control": line, "ETag": "\"a\""])

        for failure in [ExchangeFailure.cancelled, .deadline, .trust, .other] {
            #expect(try onFailure(line, failure).decision == .deliver)
        }
        #expect(try validate([head], 501).decision == .deliver)
        for code in [400, 404, 408, 429] {
            #expect(try validate([head], Response.Status(code)).decision != .serveStale(1))
        }
    }

    @Test("cache CA-129 stale-if-error of the request is used in place of the response's")
    func prefersRequest() throws {
        let short: Headers = ["Cache-Control": "stale-if-error=5"]
        let long: Headers = ["Cache-Control": "stale-if-error=50"]

        #expect(try onFailure("max-age=10, stale-if-error=30", request: short).decision == .deliver)
        #expect(try onFailure("max-age=10, stale-if-error=5", request: long).decision == .serveStale(1))
        #expect(try onFailure("max-age=10", request: long).decision == .serveStale(1))
    }

    @Test("cache CA-130 HEAD is served from a stored GET, and is not stored itself")
    func servesHead() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10", "Content-Length": "10"])
        let query = try samples.query(.head, at: 1)
        let outcome = samples.rules.decide(query, [head])

        #expect(outcome.rule == .fresh)
        #expect(ResponseCache.Rules.served(head, outcome.freshness).headers["Content-Length"] == "10")
        #expect(samples.rules.storage(query, samples.received(200, ["Cache-Control": "max-age=9"])).rule == .method)
        #expect(try validate([head], 200, ["Cache-Control": "no-store"], method: .head).decision == .deliver)
    }

    private func headUpdate(_ stored: Headers, _ headers: Headers) throws -> ResponseCache.Rules.HeadUpdate {
        var all = stored
        all.add("Cache-Control", "max-age=10")
        let head = try samples.keep(all)
        return samples.rules.headUpdate(try samples.query(.head, at: 20), head, samples.received(200, headers, at: 20))
    }

    @Test("cache CA-131 a response to HEAD with the same validators updates the stored fields")
    func updatesFromHead() throws {
        let updates: [(Headers, Headers)] = [
            (["ETag": "\"a\"", "Content-Length": "10"], ["ETag": "\"a\"", "Content-Length": "10", "X-New": "1"]),
            (["ETag": "\"a\"", "Content-Length": "10"], ["ETag": "\"a\"", "X-New": "1"]),
            (
                ["Last-Modified": RuleSamples.date(-9)],
                ["Last-Modified": RuleSamples.date(-9), "Content-Length": "10", "X-New": "1"]
            ),
        ]
        for (stored, headers) in updates {
            guard case .update(let head) = try headUpdate(stored, headers) else {
                Issue.record("\(headers) does not update")
                continue
            }
            #expect(head.headers["X-New"] == "1")
            #expect(head.times.received == RuleSamples.at(20))
        }
    }

    @Test(
        "cache CA-132 a response to HEAD that differs outdates the stored one, and one without validators does nothing"
    )
    func outdatesFromHead() throws {
        #expect(try headUpdate(["ETag": "\"a\""], ["ETag": "\"b\""]) == .mustValidate)
        #expect(
            try headUpdate(["ETag": "\"a\""], ["ETag": "\"a\"", "Last-Modified": RuleSamples.date(0)]) == .mustValidate
        )
        #expect(
            try headUpdate(
                ["ETag": "\"a\"", "Content-Length": "10"],
                ["ETag": "\"a\"", "Content-Length": "11"]
            ) == .mustValidate
        )
        #expect(try headUpdate(["ETag": "\"a\""], ["Content-Length": "11"]) == .none)
    }

    @Test("cache CA-145 an invalidated response is usable again after a 304")
    func restores() throws {
        var head = try samples.keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])
        head.mustValidate = true

        #expect(try samples.rule([head], at: 20) == .invalidated)
        let merged = try updated(try validate([head], 304, ["Cache-Control": "max-age=60"]))
        #expect(try samples.rule([merged], at: 21) == .fresh)
    }
}
