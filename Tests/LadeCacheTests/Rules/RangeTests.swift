import CacheStoreConformance
import LadeCache
import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RangeTests {
    private let samples = RuleSamples()

    private func whole(_ more: Headers = [:], length: Int64 = 10) throws -> StoredHead {
        var headers: Headers = ["Cache-Control": "max-age=10", "ETag": "\"a\"", "Content-Type": "a/b"]
        headers.add(contentsOf: more)
        return try samples.keep(headers, length: length)
    }

    private func part(_ spans: [Range<Int64>], total: Int64 = 100) throws -> StoredHead {
        var head = try whole()
        head.extent = .parts(spans, total: total)
        return head
    }

    private func decide(_ range: String?, _ stored: [StoredHead], at seconds: Double = 1) throws -> Explained<
        CacheDecision
    > {
        var headers: Headers = [:]
        headers["Range"] = range
        return samples.rules.decide(try samples.query(.get, "https://example.org/a", headers, at: seconds), stored)
    }

    private static let ranges: [(String, Range<Int64>)] = [
        ("bytes=0-1", 0..<2), ("bytes=1-", 1..<10), ("bytes=-1", 9..<10), ("bytes=8-20", 8..<10), ("bytes=-20", 0..<10),
        ("BYTES=0-0", 0..<1), ("bytes= 0-1 ", 0..<2), ("bytes=0-99999999999999999999999", 0..<10),
        ("bytes=0-1,", 0..<2),
    ]

    @Test("cache CA-150 a range is served from a fresh whole body", arguments: ranges)
    func servesRange(text: String, span: Range<Int64>) throws {
        let head = try whole(["Content-Length": "10"])
        let outcome = try decide(text, [head])
        guard case .serve(let serving) = outcome.decision else {
            Issue.record("\(outcome.decision)")
            return
        }
        let (status, headers) = ResponseCache.Rules.served(head, outcome.freshness, span: serving.span)

        #expect(serving.span == span)
        #expect(status == 206)
        #expect(headers["Content-Range"] == "bytes \(span.lowerBound)-\(span.upperBound - 1)/10")
        #expect(headers["Content-Length"] == "\(span.count)")
        #expect(headers["Content-Type"] == "a/b")
    }

    @Test("cache CA-150 a range of another status than 200 means nothing")
    func ignoresRange() throws {
        let head = try samples.keep(["Cache-Control": "max-age=10"], 404)
        guard case .serve(let serving) = try decide("bytes=0-1", [head]).decision else {
            Issue.record("not served")
            return
        }
        #expect(serving.span == nil)
    }

    @Test("cache CA-151 a range of a stale body is validated, and the response decides")
    func validatesRange() throws {
        let head = try whole()
        let headers: Headers = ["Range": "bytes=0-1"]
        let query = try samples.query(.get, "https://example.org/a", headers, at: 20)
        let condition = try #require(samples.rules.decide(query, [head]).decision.condition)
        func decision(_ status: Response.Status, _ fields: Headers) -> ValidationDecision {
            samples.rules.validation(query, condition, [head], samples.received(status, fields, at: 20)).decision
        }

        #expect(condition.adding(to: headers)["If-None-Match"] == "\"a\"")
        #expect(condition.adding(to: headers)["Range"] == "bytes=0-1")
        #expect("\(decision(304, [:]))".hasPrefix("update"))
        #expect(decision(206, ["ETag": "\"a\"", "Content-Range": "bytes 0-1/*"]) == .deliver)
        #expect(decision(206, ["ETag": "\"b\"", "Content-Range": "bytes 0-1/*"]) == .removeAndDeliver([1]))
        for (tag, removed) in [("\"a\"", []), ("\"b\"", [1])] as [(String, [UInt64])] {
            guard
                case .replace(.storePart(let part), removed) = decision(
                    206,
                    ["ETag": tag, "Content-Range": "bytes 0-1/10"]
                )
            else {
                Issue.record("\(tag) is not stored")
                continue
            }
            #expect(part.extent == .parts([0..<2], total: 10))
        }
        #expect(decision(206, ["ETag": "W/\"a\"", "Content-Range": "bytes 0-1/10"]) == .removeAndDeliver([1]))
        #expect(decision(206, ["Content-Range": "bytes 0-1/10"]) == .removeAndDeliver([1]))
        #expect("\(decision(200, ["Cache-Control": "max-age=9"]))".hasPrefix("replace"))
    }

    @Test(
        "cache CA-152 ranges that cannot be served pass by",
        arguments: [
            "bytes=0-1,3-4", "lines=0-1", "bytes=", "bytes=a-b", "bytes=5-2", "bytes", "bytes=-", "bytes=--1",
            "bytes=10-", "bytes=10-20", "bytes=-0", "",
        ]
    )
    func passesRanges(text: String) throws {
        let outcome = try decide(text, [whole()])

        #expect(outcome.decision == .passBy)
        #expect(outcome.rule == .range)
    }

    @Test("cache CA-153 a decoded body serves and combines no ranges")
    func passesDecoded() throws {
        var head = try whole()
        head.isDecoded = true
        var prefix = try part([0..<5])
        prefix.isDecoded = true

        #expect(try decide("bytes=0-1", [head]).rule == .range)
        #expect(try decide(nil, [prefix]).decision == .fetch)
        #expect(samples.rules.joined(head, try part([0..<5], total: 10)) == nil)
    }

    private func storage(
        _ range: String?,
        _ headers: Headers,
        at seconds: Double = 0
    ) throws -> Explained<StorageDecision> {
        var request: Headers = [:]
        request["Range"] = range
        return samples.rules.storage(
            try samples.query(.get, "https://example.org/a", request),
            samples.received(206, headers, sent: request, at: seconds)
        )
    }

    @Test("cache CA-154 a part with a strong tag and a known total is stored, and serves its own ranges")
    func storesPart() throws {
        let headers: Headers = [
            "ETag": "\"a\"", "Content-Range": "bytes 10-19/100", "Content-Length": "10", "Cache-Control": "max-age=10",
        ]
        let decision = try storage("bytes=10-19", headers).decision
        let head = try #require(samples.rules.finished(decision, received: 10, .complete).decision.head)

        #expect(head.status == 200)
        #expect(head.extent == .parts([10..<20], total: 100))
        #expect(head.headers["Content-Range"] == nil)
        guard case .serve(let serving) = try decide("bytes=12-13", [head]).decision else {
            Issue.record("not served")
            return
        }
        #expect(serving.span == 12..<14)
        #expect(samples.rules.finished(decision, received: 9, .complete).rule == .brokenOff)
    }

    @Test("cache CA-154 CA-233 the head of a part may have the limit of heads, and not a byte more")
    func limitsHeadsOfParts() throws {
        let headers: Headers = ["ETag": "\"a\"", "Content-Range": "bytes 10-19/100", "Cache-Control": "max-age=10"]
        let query = try samples.query(.get, "https://example.org/a", ["Range": "bytes=10-19"])
        let received = samples.received(206, headers, sent: query.headers)
        let cost = try #require(samples.rules.storage(query, received).decision.head).cost
        var rules = samples.rules

        rules.headLimit = cost
        #expect(rules.storage(query, received).decision.head != nil)
        rules.headLimit = cost - 1
        #expect(rules.storage(query, received).rule == .headTooLarge)
    }

    private static let parts: [(String?, Headers)] = [
        ("bytes=0-9", ["ETag": "W/\"a\"", "Content-Range": "bytes 0-9/100"]),
        ("bytes=0-9", ["Content-Range": "bytes 0-9/100"]),
        ("bytes=0-9", ["ETag": "a", "Content-Range": "bytes 0-9/100"]),
        ("bytes=0-9", ["ETag": "\"a\"", "Content-Range": "bytes 0-9/*"]),
        ("bytes=0-9", ["ETag": "\"a\"", "Content-Range": "bytes 0-9/100", "Content-Length": "11"]),
        ("bytes=0-9", ["ETag": "\"a\"", "Content-Range": "bytes 0-10/100"]),
        ("bytes=5-9", ["ETag": "\"a\"", "Content-Range": "bytes 0-9/100"]),
        ("bytes=0-9", ["ETag": "\"a\"", "Content-Type": "multipart/byteranges; boundary=x"]),
        (nil, ["ETag": "\"a\"", "Content-Range": "bytes 0-9/100"]),
        ("bytes=0-9", ["ETag": "\"a\"", "Content-Range": "bytes 9-0/100"]),
        ("bytes=0-9", ["ETag": "\"a\"", "Content-Range": "bytes 0-9/5"]),
        ("bytes=0-9,20-29", ["ETag": "\"a\"", "Content-Range": "bytes 0-9/100"]),
    ]

    @Test("cache CA-155 every other part is delivered and not stored", arguments: parts)
    func refusesPart(range: String?, headers: Headers) throws {
        var all = headers
        all.add("Cache-Control", "max-age=10")

        #expect(try storage(range, all).decision == .refuse)
    }

    @Test("cache CA-156 parts of one body are joined, and of different bodies are not")
    func joinsParts() throws {
        let first = try part([0..<10])
        var renewed = try samples.keep(["Cache-Control": "max-age=50", "ETag": "\"a\""], at: 5)
        renewed.extent = .parts([5..<20], total: 100)
        var rest = renewed
        rest.extent = .parts([20..<100], total: 100)
        var other = try samples.keep(["Cache-Control": "max-age=50", "ETag": "\"b\""], at: 5)
        other.extent = .parts([20..<30], total: 100)
        let joined = try #require(samples.rules.joined(first, renewed))
        let whole = try #require(samples.rules.joined(joined, rest))

        #expect(joined.extent == .parts([0..<20], total: 100))
        #expect(joined.headers["Cache-Control"] == "max-age=50")
        #expect(joined.times.received == RuleSamples.at(5))
        #expect(whole.extent == .whole(100))
        #expect(whole.headers["Content-Length"] == "100")
        #expect(samples.rules.joined(first, other) == nil)
        var aged = first
        aged.renew(["ETag": "\"a\"", "Age": "100"], first.times)
        #expect(samples.rules.joined(aged, renewed)?.headers["Age"] == nil)
        #expect(samples.rules.joined(first, try part([10..<20], total: 50)) == nil)
    }

    @Test("cache CA-157 the rest of a stored beginning is asked for, and the response decides")
    func completes() throws {
        let head = try part([0..<40])
        let outcome = try decide(nil, [head])
        func completion(_ status: Response.Status, _ fields: Headers) -> CompletionDecision {
            samples.rules.completion(of: head, from: 40, samples.received(status, fields, at: 5))
        }
        guard case .complete(let id, let start, let tag) = outcome.decision else {
            Issue.record("\(outcome.decision)")
            return
        }

        #expect(id == 1)
        #expect(start == 40)
        #expect(tag.field.value == "\"a\"")
        #expect(outcome.rule == .incomplete)
        guard case .join(let joined, true) = completion(206, ["ETag": "\"a\"", "Content-Range": "bytes 40-99/100"])
        else {
            Issue.record("not joined")
            return
        }
        #expect(joined.extent == .whole(100))
        #expect(joined.status == 200)
        #expect(joined.headers["Content-Length"] == "100")
        #expect(joined.headers["Content-Range"] == nil)
        guard
            case .join(_, false) = completion(
                206,
                ["ETag": "\"a\"", "Content-Range": "bytes 40-99/100", "Cache-Control": "no-store"]
            )
        else {
            Issue.record("stored in spite of no-store")
            return
        }
        #expect(completion(206, ["ETag": "\"a\"", "Content-Range": "bytes 40-99/100", "Vary": "X-A"]) == .fetchAnew)
        #expect(completion(200, ["ETag": "\"b\""]) == .replace)
        #expect(completion(416, ["Content-Range": "bytes */40"]) == .fetchAnew)
        #expect(completion(503, [:]) == .fetchAnew)
        #expect(completion(206, ["ETag": "\"b\"", "Content-Range": "bytes 40-99/100"]) == .fetchAnew)
        #expect(completion(206, ["ETag": "\"a\"", "Content-Range": "bytes 41-99/100"]) == .fetchAnew)
        #expect(completion(206, ["ETag": "\"a\"", "Content-Range": "bytes 40-98/100"]) == .fetchAnew)
    }

    @Test("cache CA-158 a body with other gaps is fetched whole")
    func fetchesGaps() throws {
        let outcome = try decide(nil, [part([10..<100])])

        #expect(outcome.decision == .fetch)
        #expect(outcome.rule == .incomplete)
    }

    @Test("cache CA-159 a broken-off body is kept as a beginning where the rest can be asked for")
    func keepsPrefix() throws {
        let headers: Headers = [
            "Cache-Control": "max-age=60", "ETag": "\"a\"", "Accept-Ranges": "bytes", "Content-Length": "200000",
        ]
        func finished(_ received: Int64, without name: String? = nil, isDecoded: Bool = false) throws -> StoredHead? {
            var fields = headers
            if let name { fields.remove(name) }
            var head = samples.received(200, fields)
            head.isDecoded = isDecoded
            let decision = samples.rules.storage(try samples.query(), head).decision
            return samples.rules.finished(decision, received: received, .brokenOff).decision.head
        }
        var prefix = try #require(try finished(65_536))
        prefix.id = 1

        #expect(prefix.extent == .parts([0..<65_536], total: 200_000))
        // Even while it is fresh, it is not served as the whole.
        #expect("\(try decide(nil, [prefix]).decision)".hasPrefix("complete"))
        #expect(try finished(65_535) == nil)
        #expect(try finished(70_000, without: "ETag") == nil)
        #expect(try finished(70_000, without: "Accept-Ranges") == nil)
        #expect(try finished(70_000, isDecoded: true) == nil)
    }

    @Test(
        "cache CA-160 a part alone responds to nothing beyond it",
        arguments: ["bytes=0-50", "bytes=40-", "bytes=-1", "bytes=60-70"]
    )
    func refusesBeyond(range: String) throws {
        let head = try part([0..<40])
        let query = try samples.query(.head, at: 1)

        #expect(try decide(range, [head]).decision == .fetch)
        #expect(try decide(range, [head]).rule == .incomplete)
        #expect(samples.rules.decide(query, [head]).decision == .fetch)
        #expect(!(try decide(nil, [head]).decision.isServed))
    }

    @Test("cache CA-161 a whole body in response to a range is stored whole")
    func storesWhole() throws {
        let query = try samples.query(.get, "https://example.org/a", ["Range": "bytes=0-1"])
        let decision = samples.rules.storage(query, samples.received(200, ["Cache-Control": "max-age=10"])).decision

        #expect(samples.rules.finished(decision, received: 10, .complete).decision.head?.extent == .whole(10))
    }

    @Test("cache CA-162 joined parts are complete only if they match their digest")
    func checksJoined() throws {
        let body = Array("hello".utf8)
        let text = "sha-256=:LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ=:"
        let head = try whole(["Repr-Digest": text], length: 5)

        #expect(ResponseCache.Rules.needsDigest(head) == SHA256.hash(body))
        #expect(ResponseCache.Rules.needsDigest(try whole()) == nil)
    }

    @Test("cache CA-154 ranges are joined where they touch or overlap")
    func unites() {
        #expect(ResponseCache.Rules.union([5..<7, 0..<2, 2..<4, 6..<9]) == [0..<4, 5..<9])
        #expect(ResponseCache.Rules.union([]).isEmpty)
        #expect(ResponseCache.Rules.union([3..<3, 1..<2]) == [1..<2])
    }
}
