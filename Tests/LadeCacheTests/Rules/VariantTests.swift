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
struct VariantTests {
    private let samples = RuleSamples()

    private func keep(
        _ vary: String?,
        _ request: Headers,
        sent: Headers? = nil,
        id: UInt64 = 1,
        at seconds: Double = 0,
        maxAge: Int = 60
    ) throws -> StoredHead {
        var headers: Headers = ["Cache-Control": "max-age=\(maxAge)", "ETag": "\"\(id)\""]
        if let vary { headers.add("Vary", vary) }
        return try samples.keep(headers, request: request, sent: sent, id: id, at: seconds)
    }

    private func served(_ stored: [StoredHead], _ request: Headers, at seconds: Double = 1) throws -> UInt64? {
        let outcome = samples.rules.decide(
            try samples.query(.get, "https://example.org/a", request, at: seconds),
            stored
        )
        guard case .serve(let serving) = outcome.decision else { return nil }
        return serving.id
    }

    @Test("cache CA-50 all variants are kept, each served to its own requests")
    func keepsVariants() throws {
        let stored = [
            try keep("Accept", ["Accept": "a/a"], id: 1), try keep("Accept", ["Accept": "b/b"], id: 2),
        ]

        #expect(try served(stored, ["Accept": "a/a"]) == 1)
        #expect(try served(stored, ["Accept": "b/b"]) == 2)
        #expect(try served(stored, ["Accept": "c/c"]) == nil)
        #expect(try samples.rule(stored, ["Accept": "c/c"], at: 1) == .variantMiss)
    }

    @Test("cache CA-51 all lines of Vary count, and absent matches only absent")
    func readsAllVary() throws {
        var headers: Headers = ["Cache-Control": "max-age=60"]
        headers.add("Vary", "x-a")
        headers.add("vary", "X-B, x-a")
        let head = try samples.keep(headers, request: ["X-A": "1"])

        #expect(try served([head], ["x-a": "1"]) == 1)
        #expect(try served([head], ["X-A": "1", "X-B": "2"]) == nil)
        #expect(try served([head], ["X-A": "1", "X-B": ""]) == nil)
        #expect(try served([head], [:]) == nil)
    }

    @Test("cache CA-51 CA-233 64 names of Vary are compared, and more match no request")
    func limitsVary() throws {
        func vary(_ count: Int) -> Vary { Vary(["Vary": (0..<count).map { "x-\($0)" }.joined(separator: ", ")]) }

        #expect(vary(64).names.count == 64)
        #expect(!vary(64).isUnmatchable)
        #expect(vary(65).isUnmatchable)
    }

    private static let values: [([String], [String], Bool)] = [
        (["1,2"], [" 1, 2 "], true), (["1,2"], ["1", "2"], true), (["1 ,\t2"], ["1,2"], true),
        (["a"], ["A"], false), (["1,2"], ["2,1"], false), (["a b"], ["a  b"], false),
        (["\"a, b\""], ["\"a,b\""], false), (["\"a\\\"\", b"], ["\"a\\\"\",b"], true), (["1"], ["1,"], false),
        (["é"], ["e\u{301}"], false), ([""], [], false),
    ]

    @Test("cache CA-52 CA-252 values match but for blanks around commas and the division into lines", arguments: values)
    func comparesValues(first: [String], second: [String], areEqual: Bool) throws {
        func form(_ lines: [String]) -> [UInt8]? { SelectingFields.normalise("x-a", lines.map { Array($0.utf8) }) }
        let head = try keep("X-A", Headers(first.map { ("X-A", $0) }))

        #expect((form(first) == form(second)) == areEqual)
        #expect(try served([head], Headers(second.map { ("X-A", $0) })) == (areEqual ? 1 : nil))
    }

    /// Selecting fields by name, in classes of equal meaning.
    private static let classes: [(String, [[[String]]])] = [
        ("accept", [[["a/a, b/b"], ["b/b,a/a"], ["a/a", "b/b"], ["A/A;q=1, b/b;q=1.0"]], [["a/a"]]]),
        ("accept", [[["a/a;q=0.5, b/b"], ["b/b", "a/a;q=0.50"]], [["a/a, b/b"]], [["a/a, b/b;q=0.5"]]]),
        ("accept-language", [[["de, en;q=0.8"], ["EN;q=0.80", "de"]], [["de", "en"]], [["de-ch, en;q=0.8"]]]),
        ("x-a", [[["a, b"], ["a,b"], ["a", "b"], [" a ,\tb "]], [["b, a"]], [["A, b"]], [["a b"]]]),
    ]

    @Test("cache CA-252 selecting fields are normalised by a function of its own", arguments: classes)
    func normalises(name: String, classes: [[[String]]]) {
        let forms = classes.map { lines in
            Set(lines.map { SelectingFields.normalise(name, $0.map { Array($0.utf8) }) })
        }

        for (form, lines) in zip(forms, classes) { #expect(form.count == 1, "\(lines)") }
        #expect(Set(forms).count == classes.count)
    }

    /// What is stored, what a 304 says, and what is stored afterwards.
    private static let merges: [(Headers, Headers, Headers)] = [
        (["A": "1"], [:], ["A": "1"]), (["A": "1"], ["a": "2"], ["a": "2"]),
        (["A": "1", "B": "1"], ["A": "2", "A": "3"], ["B": "1", "A": "2", "A": "3"]),
        (["A": "1", "A": "2"], ["B": "3"], ["A": "1", "A": "2", "B": "3"]),
        (["Content-Length": "5"], ["Content-Length": "0"], ["Content-Length": "5"]),
        (["Content-Encoding": "gzip"], ["Content-Encoding": "br"], ["Content-Encoding": "gzip"]),
        (["A": "1"], ["Connection": "A", "A": "2"], ["A": "1"]),
    ]

    @Test("cache CA-252 fields are merged by a function of its own", arguments: merges)
    func mergesFields(stored: Headers, update: Headers, expected: Headers) {
        #expect(StoredFields.mergeHeaders(stored, update).areSpelled(like: expected))
    }

    private static let preferences: [(String, String, String, Bool)] = [
        ("accept", "text/html, image/png", "IMAGE/PNG, text/html;q=1.0", true),
        ("accept", "a/a;q=0.5, b/b", "b/b, a/a;q=0.500", true), ("accept", "a/a;q=0.5", "a/a;q=0.6", false),
        ("accept", "a/a, b/b;q=0.9", "b/b, a/a;q=0.9", false), ("accept", "a/a;q=500", "a/a;q=0.5", false),
        ("accept", "a/a;level=1", "a/a;level=2", false), ("accept", "a/a;q=x", "a/a", false),
        ("accept-language", "de, EN;q=0.8", "en;q=0.8,DE", true), ("accept-language", "de", "de-ch", false),
        ("accept-encoding", "gzip, br", "br,gzip", true), ("accept-encoding", "gzip", "gzip;q=0", false),
        ("accept", "a/a;q=1.001", "a/a", false), ("accept", "a/a;q=0.", "a/a;q=0", true),
        ("accept", "a/a;q=05", "a/a;q=0", false), ("accept", "a/a;q=0.0005", "a/a;q=0.005", false),
    ]

    @Test("cache CA-53 CA-252 weights are compared by meaning, unless matching is exact", arguments: preferences)
    func comparesWeights(name: String, first: String, second: String, areEqual: Bool) throws {
        func form(_ line: String, isExact: Bool = false) -> [UInt8]? {
            SelectingFields.normalise(name, [Array(line.utf8)], isExact: isExact)
        }
        var exact = samples
        exact.rules.variantMatching = .exact
        let headers: Headers = ["Cache-Control": "max-age=60", "Vary": name]
        let head = try exact.keep(headers, request: Headers([(name, first)]))

        #expect((form(first) == form(second)) == areEqual)
        #expect(form(first, isExact: true) != form(second, isExact: true))
        #expect(try exact.rule([head], Headers([(name, second)]), at: 1) == .variantMiss)
    }

    @Test(
        "cache CA-54 fields that are added to every request alike count as absent",
        arguments: ["Accept-Encoding", "Host", "Connection", "traceparent", "tracestate"]
    )
    func ignoresAddedFields(name: String) throws {
        let head = try keep(name, [:], sent: Headers([(name, "x")]))

        #expect(try served([head], [:]) == 1)
        #expect(try served([head], Headers([(name, "x")])) == nil)
    }

    @Test("cache CA-54 the fields of an authoriser count as absent, and any other added one is never matched")
    func distrustsAddedFields() throws {
        let query = try samples.query()
        var received = samples.received(200, ["Cache-Control": "max-age=60", "Vary": "Authorization, X-Key"])
        received.sent = ["Authorization": "Bearer 1", "X-Key": "2"]
        received.authorised = ["authorization", "x-key"]
        let authorised = try #require(samples.rules.storage(query, received).decision.head)
        let unseen = try keep("X-Added", [:], sent: ["X-Added": "1"])
        let unnamed = try keep("X-Other", [:], sent: ["X-Added": "1"])

        var later = try samples.query(at: 1)
        #expect(samples.rules.decide(later, [authorised]).rule == .variantMiss)
        later.below.authorised = ["authorization", "x-key"]
        #expect(samples.rules.decide(later, [authorised]).rule == .fresh)
        #expect(try samples.rule([unseen], at: 1) == .unseenField)
        #expect(try samples.rule([unseen], mode: .preferStored, at: 1) == .unseenField)
        #expect(try samples.rule([unnamed], at: 1) == .fresh)
    }

    @Test("finding PT-5 a field that a layer below the cache changed is distrusted, as one that it added")
    func distrustsChangedFields() throws {
        let changed = try keep("Accept-Language", ["Accept-Language": "de"], sent: ["Accept-Language": "fr"])
        let kept = try keep("Accept-Language", ["Accept-Language": "de"], sent: ["Accept-Language": "de"])
        let query = try samples.query(.get, "https://example.org/a", ["Accept-Language": "de"], at: 1)

        #expect(samples.rules.decide(query, [changed]).rule == .unseenField)
        #expect(samples.rules.decide(query, [kept]).rule == .fresh)
    }

    @Test(
        "finding CK-10 a field that a layer below may set is distrusted before it is, but for what is set for all alike"
    )
    func distrustsWhatMayBeSet() throws {
        let varying = try keep("X-A, Accept-Encoding", ["X-A": "1"])
        let encoded = try keep("Accept-Encoding", [:])
        for (changed, rule) in [(nil, Response.CacheRule.unseenField), (["x-a"], .unseenField), (["x-b"], .fresh)]
            as [(Set<String>?, Response.CacheRule)]
        {
            var query = try samples.query(.get, "https://example.org/a", ["X-A": "1"], at: 1)
            query.below.changed = changed
            #expect(samples.rules.decide(query, [varying]).rule == rule)
            #expect(samples.rules.decide(query, [encoded]).rule == .fresh)
            query.below.changed = []
            query.below.authorised = changed
            #expect(samples.rules.decide(query, [varying]).rule == rule)
        }
    }

    @Test("finding CK-3 the form of a stored body takes part in choosing it", arguments: [true, false], [true, false])
    func comparesForms(isRaw: Bool, wasRaw: Bool) throws {
        func head(_ headers: Headers, isDecoded: Bool = false) throws -> StoredHead {
            var query = try samples.query()
            query.isRaw = wasRaw
            var received = samples.received(200, headers)
            received.headers.add("Cache-Control", "max-age=60")
            received.isDecoded = isDecoded
            return try #require(samples.rules.storage(query, received).decision.head)
        }
        var query = try samples.query(at: 1)
        query.isRaw = isRaw
        func isServed(_ head: StoredHead) -> Bool { samples.rules.decide(query, [head]).rule == .fresh }

        // Without a coding the body is the same, unless the server chose it by the codings that were accepted.
        #expect(isServed(try head([:])))
        #expect(isServed(try head(["Vary": "Accept-Encoding"])) == (isRaw == wasRaw))
        #expect(isServed(try head(["Content-Encoding": "gzip"])) == (isRaw == wasRaw))
        #expect(isServed(try head(["Content-Encoding": "gzip"], isDecoded: true)) == (isRaw == wasRaw))
        // The tag of another form is not asked about: its body would be served in the wrong form.
        let tagged = try head(["Content-Encoding": "gzip", "ETag": "\"a\""])
        if isRaw != wasRaw { #expect(samples.rules.decide(query, [tagged]).decision == .fetch) }
    }

    @Test("cache CA-55 the latest Date is used, then the latest stored, and no stale variant hides a fresh one")
    func choosesVariant() throws {
        let early = try keep(nil, [:], id: 1, at: 0)
        let late = try keep(nil, [:], id: 2, at: 5)
        let twin = try keep(nil, [:], id: 3, at: 5)
        let stale = try keep(nil, [:], id: 4, at: 8, maxAge: 1)

        #expect(try served([late, early], [:], at: 10) == 2)
        #expect(try served([early, late], [:], at: 10) == 2)
        #expect(try served([twin, late, early], [:], at: 10) == 3)
        #expect(try served([stale, early], [:], at: 10) == 1)
    }

    @Test("cache CA-55 the most recent Vary applies to a response without one")
    func appliesRecentVary() throws {
        let plain = try keep(nil, ["X-A": "1"], id: 1, at: 5)
        let varying = try keep("X-A", ["X-A": "2"], id: 2, at: 3)

        #expect(try served([plain, varying], ["X-A": "1"], at: 6) == 1)
        #expect(try served([plain, varying], ["X-A": "2"], at: 6) == 2)
        #expect(try served([plain, varying], ["X-A": "3"], at: 6) == nil)
        #expect(try served([plain], ["X-A": "3"], at: 6) == 1)
    }

    @Test("cache CA-244 a decision finds each of sixteen variants by its head, which decodes as it was stored")
    func findsEachOfSixteen() throws {
        var stored: [StoredHead] = []
        for number in 0..<16 {
            var headers: Headers = ["Cache-Control": "max-age=60", "ETag": "\"\(number)\"", "Vary": "X-A"]
            for field in 0..<17 { headers.add("X-Field-\(field)", "value \(field)") }
            stored.append(try samples.keep(headers, request: ["X-A": "\(number)"], id: UInt64(number + 1)))
        }

        for (number, head) in stored.enumerated() {
            #expect(try served(stored, ["X-A": "\(number)"]) == head.id)
            #expect(try served(stored.reversed(), ["X-A": "\(number)"]) == head.id)
            #expect(StoredHead(encoded: head.encoded)?.headers.areSpelled(like: head.headers) == true)
        }
        #expect(try served(stored, ["X-A": "16"]) == nil)
    }

    @Test("cache CA-56 CA-57 credentials are compared by keyed digests of 256 bits")
    func digestsCredentials() throws {
        let head = try keep(
            "Cookie, Authorization",
            ["Cookie": "session=0123456789", "Authorization": "Bearer 99999999"]
        )
        let text = "\(head.selecting)"

        #expect(try served([head], ["Cookie": "session=0123456789", "Authorization": "Bearer 99999999"]) == 1)
        #expect(try served([head], ["Cookie": "session=0123456788", "Authorization": "Bearer 99999999"]) == nil)
        #expect(try served([head], [:]) == nil)
        for value in head.selecting {
            guard case .digest(let digest) = value.form else {
                Issue.record("\(value.name) is not a digest")
                continue
            }
            #expect(digest.count == 32)
            #expect(digest != SHA256.hash("session=0123456789".utf8))
        }
        #expect(!text.contains("0123456789"))
    }

    @Test("cache CA-58 a replacement has its own Vary and values")
    func replacesVary() throws {
        let old = try keep("X-A", ["X-A": "1"], id: 1)
        let query = try samples.query(.get, "https://example.org/a", ["X-A": "1", "X-B": "2"], at: 100)
        var received = samples.received(200, ["Cache-Control": "max-age=60", "Vary": "X-B"], at: 100)
        received.sent = query.headers

        guard case .store(let head, let replaced) = samples.rules.storage(query, received, stored: [old]).decision
        else {
            Issue.record("not stored")
            return
        }

        #expect(replaced == [1])
        #expect(head.reading.vary.names == ["x-b"])
        #expect(head.selecting.map(\.name) == ["x-b"])
    }

    @Test("cache CA-268 matching is an equivalence, and every change beyond the normal form is told apart")
    func isEquivalence() throws {
        let random = SeededRandom(seed: Soak.current.seed)
        for _ in 0..<3_000 {
            let value = (0..<random.below(6)).map { _ in random.pick(["a", "B", ",", " ", "\"", "\\", ";q=1", "é"]) }
                .joined()
            let head = try keep("X-A", ["X-A": value])
            let changed = value + random.pick(["x", "\u{301}", ",1"])
            #expect(try served([head], ["X-A": value]) == 1, "seed \(random.seed): \(value)")
            #expect(try served([head], ["X-A": changed]) == nil, "seed \(random.seed): \(value) and \(changed)")
            // Symmetric: the other request's response is not served to this one, either.
            #expect(try served([keep("X-A", ["X-A": changed])], ["X-A": value]) == nil, "seed \(random.seed): \(value)")
        }
    }
}
