import CacheStoreConformance
import Foundation
import LadeTesting
import SharedDoubles
import Testing

@testable import Lade
@testable import LadeCommand

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What public suites for caches check of a private cache, by their groups, through `lade get --cache` and a store on disk.
@Suite("Cache suite", .timeLimit(.minutes(10)))
struct CacheSuiteTests {
    /// What the server sends when it is asked.
    struct Reply: Sendable {
        var status: Response.Status = 200
        var headers: Headers = [:]
        var body = "one"
        /// Whether the connection is lost instead.
        var isLost = false
    }

    /// What a request must lead to.
    enum Outcome: Sendable, Equatable {
        /// It is served without the server.
        case served
        /// The server receives it, with these fields among others; a field without a value must be absent.
        case asks([String: String?])
    }

    /// One request, and what becomes of it.
    struct Turn: Sendable {
        var words: [String] = []
        var path = "/thing"
        /// Seconds since the request before.
        var pause: Double = 0
        var reply = Reply()
        var outcome = Outcome.asks([:])
        /// Fields of the response; a field without a value must be absent.
        var shows: [String: String?] = [:]
        var status: Int?
        var body: String?
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let turns: [Turn]

        init(_ name: String, _ turns: Turn...) { (self.name, self.turns) = (name, turns) }

        var testDescription: String { name }
    }

    @Test("cache CA-280 what public suites require of a private cache", arguments: SuiteCases.required)
    func meets(entry: Case) async throws { try await run(entry) }

    @Test("cache CA-281 the questions of public suites without a right answer", arguments: SuiteCases.questions)
    func answers(entry: Case) async throws { try await run(entry) }

    @Test("cache CA-282 each request is sent once, and a lost connection is no response", arguments: SuiteCases.losses)
    func sendsOnce(entry: Case) async throws { try await run(entry, most: 1) }

    @Test("cache CA-283 fields about the transfer are not stored, and all others are", arguments: SuiteCases.fields)
    func storesFields(entry: Case) async throws { try await run(entry) }

    private func run(_ entry: Case, most: Int = .max) async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let time = VirtualTime(date: SuiteCases.start)
        let transport = ScriptedTransport()
        let reply = Locked(Reply())
        transport.onAnyRequest().respond(
            .computed { _, _ in
                let reply = reply.withLock(\.self)
                if reply.isLost { return .connectionLost() }
                return .status(reply.status, headers: reply.headers, reply.body)
            }
        )
        for (number, turn) in entry.turns.enumerated() {
            let note = "\(entry.name), request \(number + 1)"
            time.advance(by: .milliseconds(Int64(turn.pause * 1_000)))
            reply.withLock { $0 = turn.reply }
            let before = transport.requests.count
            let output = try await run(turn, folder, time, transport)
            let sent = transport.requests.dropFirst(before)
            switch turn.outcome {
            case .served: #expect(sent.isEmpty, "\(note) reached the server")
            case .asks(let fields):
                let request = try #require(sent.first, "\(note) was served")
                #expect(sent.count <= most, "\(note) was repeated")
                for (name, value) in fields { #expect(request.headers[name] == value, "\(note): \(name)") }
            }
            let head = output.range(of: Data("\r\n\r\n".utf8))
            let lines = String(decoding: output[..<(head?.lowerBound ?? output.startIndex)], as: UTF8.self)
                .split(separator: "\r\n")
            if let status = turn.status { #expect(lines.first?.split(separator: " ")[1] == "\(status)", "\(note)") }
            for (name, value) in turn.shows {
                let found = lines.filter { $0.lowercased().hasPrefix(name.lowercased() + ": ") }
                    .map { String($0.dropFirst(name.count + 2)) }
                #expect(found == (value.map { [$0] } ?? []), "\(note): \(name)")
            }
            if let body = turn.body {
                #expect(String(decoding: output[(head?.upperBound ?? 0)...], as: UTF8.self) == body, "\(note)")
            }
        }
    }

    /// Runs the command once, as one process after the other does.
    private func run(
        _ turn: Turn,
        _ folder: TemporaryFolder,
        _ time: VirtualTime,
        _ transport: ScriptedTransport
    ) async throws -> Data {
        let name = "out\(transport.received.count)-\(UInt64.random(in: 0...UInt64.max))"
        var console = Console()
        let output = try Descriptor.open(folder.file(name, ""), O_WRONLY)
        console.output = output
        let talk = try Descriptor.open(folder.file("talk", ""), O_WRONLY)
        defer { for descriptor in [output, talk] { try? descriptor.close() } }
        console.talk = LineLog(talk)
        (console.isOutputTerminal, console.isTalkTerminal) = (false, false)
        (console.usesColour, console.coloursTalk, console.laysOut) = (false, false, false)
        var context = CommandContext(table: .standard, console: console, interruption: Interruption(), time: time)
        context.makeService = { settings throws(LoadingError) in Service(settings, transport: transport) }
        let address = "https://svc.example.com\(turn.path)"
        let words = ["get", "--cache=\(folder.path)cache", "-i", "--retry", "0", address] + turn.words
        _ = await time.runAutomatically { [context] in
            do throws(CommandError) {
                return try await context.table.run(words, in: context)
            } catch {
                return error.code
            }
        }
        console.talk.flush()
        return try Data(contentsOf: URL(filePath: folder.path + name))
    }
}

/// The cases by the groups of such suites.
enum SuiteCases {
    typealias Case = CacheSuiteTests.Case
    typealias Turn = CacheSuiteTests.Turn
    typealias Reply = CacheSuiteTests.Reply

    static let start = Date(timeIntervalSince1970: 1_767_225_600)

    private static let all: [Case] = {
        let required: [[Case]] = [
            freshness, parsing, ages, expiry, statuses, responses, staleness, variants, invalidations, ranges,
        ]
        return required.flatMap(\.self)
    }()

    static let required = all.filter { !$0.losesConnection }
    static let losses = all.filter(\.losesConnection)
    static let questions: [Case] = {
        let groups: [[Case]] = [heuristics, requests, conditions, updates, heads]
        return groups.flatMap(\.self)
    }()

    /// The date some seconds after the start, as HTTP writes it.
    static func date(_ seconds: Double) -> String { Headers.HTTPDate(start.addingTimeInterval(seconds)).description }

    // MARK: - Shorthands

    static func reply(_ headers: Headers, _ status: Response.Status = 200, _ body: String = "one") -> Reply {
        var headers = headers
        if !headers.contains("Date") { headers.add("Date", date(0)) }
        if headers["Date"] == "" { headers.remove("Date") }
        return Reply(status: status, headers: headers, body: status == 204 ? "" : body)
    }

    static func first(_ headers: Headers, _ status: Response.Status = 200, words: [String] = [], body: String = "one")
        -> Turn
    {
        Turn(words: words, reply: reply(headers, status, body))
    }

    static func served(
        _ words: String...,
        after pause: Double = 0,
        shows: [String: String?] = [:],
        status: Int? = nil,
        body: String? = nil
    ) -> Turn {
        Turn(words: words, pause: pause, outcome: .served, shows: shows, status: status, body: body)
    }

    static func asks(
        _ words: String...,
        after pause: Double = 0,
        with fields: [String: String?] = [:],
        reply: Reply = reply([:], 200, "two"),
        shows: [String: String?] = [:],
        status: Int? = nil,
        body: String? = nil
    ) -> Turn {
        Turn(
            words: words,
            pause: pause,
            reply: reply,
            outcome: .asks(fields),
            shows: shows,
            status: status,
            body: body
        )
    }

    /// A response with these fields is served a second later.
    static func fresh(_ name: String, _ headers: Headers, _ status: Response.Status = 200) -> Case {
        Case("\(name) is fresh", first(headers, status), served(after: 1))
    }

    /// A response with these fields is not served a second later.
    static func notFresh(_ name: String, _ headers: Headers, _ status: Response.Status = 200) -> Case {
        Case("\(name) is not served", first(headers, status), asks(after: 1))
    }

    private static func adding(_ headers: Headers, _ name: String, _ value: String) -> Headers {
        var all = headers
        all.add(name, value)
        return all
    }

    private static func setting(_ headers: Headers, _ name: String, _ value: String) -> Headers {
        var all = headers
        all[name] = value
        return all
    }

    // MARK: - Groups

    @CaseList static var freshness: [Case] {
        notFresh("without a lifetime", [:])
        fresh("max-age", ["Cache-Control": "max-age=3600"])
        fresh("max-age beside Age", ["Cache-Control": "max-age=3600", "Age": "1800"])
        notFresh("max-age below Age", ["Cache-Control": "max-age=3600", "Age": "7200"])
        notFresh("max-age=0", ["Cache-Control": "max-age=0"])
        fresh("max-age of 2³¹ − 1", ["Cache-Control": "max-age=2147483647"])
        fresh("max-age of 2³¹", ["Cache-Control": "max-age=2147483648"])
        fresh("max-age beyond 2³¹", ["Cache-Control": "max-age=99999999999"])
        fresh("max-age, past Expires", ["Cache-Control": "max-age=3600", "Expires": date(-7_200)])
        fresh("max-age, broken Expires", ["Cache-Control": "max-age=3600", "Expires": "0"])
        notFresh("max-age=0, future Expires", ["Cache-Control": "max-age=0", "Expires": date(3_600)])
        notFresh("s-maxage", ["Cache-Control": "s-maxage=3600"])
        notFresh("max-age=0, s-maxage", ["Cache-Control": "max-age=0, s-maxage=3600"])
        fresh("max-age, s-maxage=0", ["Cache-Control": "max-age=3600, s-maxage=0"])
        notFresh("max-age below the age by Date", ["Cache-Control": "max-age=3600", "Date": date(-7_200)])
        Case(
            "a lifetime ends when it is over",
            first(["Cache-Control": "max-age=2"]),
            served(after: 1, shows: ["Age": "1"]),
            asks(after: 1)
        )
    }

    @CaseList static var parsing: [Case] {
        [
            ("upper case", "MAX-AGE=3600"), ("quoted", "max-age=\"3600\""), ("leading zeros", "max-age=003600"),
            ("an unknown directive before", "foo=\"a, b\", max-age=3600"), ("a semicolon later", "max-age=3600, x;y"),
            ("blanks and empty members", " , ,max-age=3600 ,"), ("private", "private, max-age=3600"),
            ("public", "public, max-age=3600"), ("the first of two", "max-age=3600, max-age=1"),
            ("an unknown no-store in quotes", "ext=\"no-store\", max-age=3600"),
        ].map { (pair: (String, String)) -> Case in fresh("\(pair.0)", ["Cache-Control": pair.1]) }
        [
            ("negative", "max-age=-3600"), ("a fraction", "max-age=3600.0"), ("single quotes", "max-age='3600'"),
            ("a letter", "max-age=3600a"), ("no value", "max-age"), ("an empty value", "max-age="),
            ("in quotes of another", "ext=\"max-age=3600\""), ("the first of two is 1", "max-age=1, max-age=3600"),
        ].map { (pair: (String, String)) -> Case in notFresh("\(pair.0)", ["Cache-Control": pair.1]) }
    }

    @CaseList static var ages: [Case] {
        ["0, 7200", "abc", "-7200", "7200.0", "7200;a=b", "", "7200 seconds"].map { (value: String) -> Case in
            fresh("Age “\(value)”", ["Cache-Control": "max-age=3600", "Age": value])
        }
        ["7200", "7200, 0", "2147483648", "99999999999999999999", "007200"].map { (value: String) -> Case in
            notFresh("Age “\(value)”", ["Cache-Control": "max-age=3600", "Age": value])
        }
        Case(
            "two lines of Age count as one list",
            first(adding(["Cache-Control": "max-age=3600", "Age": "7200"], "Age", "0")),
            asks(after: 1)
        )
        Case(
            "Age grows while it is stored",
            first(["Cache-Control": "max-age=3600", "Age": "30"]),
            served(after: 3, shows: ["Age": "33"])
        )
    }

    @CaseList static var expiry: [Case] {
        [
            "Thu, 01 Jan 2026 01:00:00 GMT", "Thursday, 01-Jan-26 01:00:00 GMT", "Thu Jan  1 01:00:00 2026",
            "thu, 01 jan 2026 01:00:00 gmt", "Mon, 01 Jan 2026 01:00:00 GMT",
        ].map { (value: String) -> Case in fresh("Expires “\(value)”", ["Expires": value]) }
        [
            "0", "-1", "", "Thu, 01 Jan 2026 01:00:00 UTC", "Thu, 01 Jan 2026 01:00:00 AEST",
            "Thu, 01 Jan 26 01:00:00 GMT", "Thu, 01-Jan-2026 01:00:00 GMT", "Thu 01 Jan 2026 01:00:00 GMT",
            "Thu,  01 Jan 2026 01:00:00 GMT", "Thu, 01 Jan 2026 1:00:00 GMT", "Thu, 01 Jan 2026 01.00.00 GMT",
            "Thu, 01 Jan 2026 01:00:00", "Thu, 01 Jan 2026  01:00:00 GMT",
        ].map { (value: String) -> Case in notFresh("Expires “\(value)”", ["Expires": value]) }
        notFresh("Expires in the past", ["Expires": date(-3_600)])
        notFresh("Expires at Date", ["Expires": date(0)])
        notFresh("Expires before a future Date", ["Expires": date(300), "Date": date(400)])
        notFresh("Expires below Age", ["Expires": date(3_600), "Age": "7200"])
        fresh("Expires without Date", ["Expires": date(3_600), "Date": ""])
        fresh("Expires with a broken Date", ["Expires": date(3_600), "Date": "foo"])
        Case(
            "two different lines of Expires have passed",
            first(adding(["Expires": date(3_600)], "Expires", date(7_200))),
            asks(after: 1)
        )
    }

    @CaseList static var heuristics: [Case] {
        [200, 203, 204, 404, 405, 410, 414, 501].map { (value: Int) -> Case in
            fresh("\(value) by its last change", ["Last-Modified": date(-864_000)], Response.Status(value))
        }
        [201, 202, 403, 502, 503, 504, 599].map { (value: Int) -> Case in
            notFresh("\(value) by its last change", ["Last-Modified": date(-864_000)], Response.Status(value))
        }
        fresh("599 by its last change, public", ["Last-Modified": date(-864_000), "Cache-Control": "public"], 599)
        notFresh("a last change in the future", ["Last-Modified": date(3_600)])
        notFresh("a last change beside past Expires", ["Last-Modified": date(-864_000), "Expires": "0"])
        Case(
            "a tenth of the time since the last change",
            first(["Last-Modified": date(-1_000)]),
            served(after: 99),
            asks(after: 1, with: ["If-Modified-Since": date(-1_000)])
        )
    }

    @CaseList static var statuses: [Case] {
        [200, 203, 204, 299, 400, 404, 410, 499, 500, 502, 503, 504, 599].map { (value: Int) -> Case in
            fresh("\(value) with max-age", ["Cache-Control": "max-age=3600"], Response.Status(value))
        }
        [401, 407, 421, 425, 428, 429, 431, 511].map { (value: Int) -> Case in
            notFresh("\(value) with max-age", ["Cache-Control": "max-age=3600"], Response.Status(value))
        }
        [299, 400, 403, 499, 500, 599].map { (value: Int) -> Case in
            notFresh("\(value) without a lifetime", ["ETag": "\"a\""], Response.Status(value))
        }
    }

    @CaseList static var responses: [Case] {
        [
            "no-store", "No-Store", "no-store, max-age=3600", "max-age=3600, no-store", "no-cache",
            "No-Cache, max-age=3600",
        ]
        .map { (value: String) -> Case in notFresh("a response with \(value)", ["Cache-Control": value]) }
        Case(
            "no-store leaves nothing to validate",
            first(["Cache-Control": "no-store", "ETag": "\"a\""]),
            asks(with: ["If-None-Match": nil])
        )
        Case(
            "no-cache is validated",
            first(["Cache-Control": "no-cache", "ETag": "\"a\""]),
            asks(with: ["If-None-Match": "\"a\""], reply: reply([:], 304, ""), status: 200, body: "one")
        )
        Case(
            "no-cache for a field leaves it out",
            first(["Cache-Control": "no-cache=\"x-a\", max-age=3600", "X-A": "1", "X-B": "2"]),
            served(shows: ["X-A": nil, "X-B": "2"])
        )
        fresh("must-revalidate", ["Cache-Control": "must-revalidate, max-age=3600"])
        fresh("immutable", ["Cache-Control": "immutable, max-age=3600"])
        notFresh("no-cache in Pragma", ["Pragma": "no-cache", "Expires": date(3_600)])
        fresh("Pragma beside Cache-Control", ["Pragma": "no-cache", "Cache-Control": "max-age=3600"])
        fresh("must-understand of 200", ["Cache-Control": "no-store, must-understand, max-age=3600"])
        notFresh("must-understand of 599", ["Cache-Control": "must-understand, max-age=3600"], 599)
        notFresh("CDN-Cache-Control", ["CDN-Cache-Control": "max-age=3600"])
        notFresh("Surrogate-Control", ["Surrogate-Control": "max-age=3600"])
    }

    @CaseList static var staleness: [Case] {
        Case(
            "a stale response is not served when the connection is lost",
            first(["Cache-Control": "max-age=1", "ETag": "\"a\""]),
            asks(after: 2, reply: Reply(isLost: true), body: "")
        )
        Case(
            "stale-if-error serves in place of 503",
            first(["Cache-Control": "max-age=1, stale-if-error=60"]),
            asks(after: 2, reply: reply([:], 503, "down"), status: 200, body: "one")
        )
        Case(
            "stale-if-error serves in place of a lost connection",
            first(["Cache-Control": "max-age=1, stale-if-error=60"]),
            asks(after: 2, reply: Reply(isLost: true), status: 200, body: "one")
        )
        Case(
            "stale-if-error ends",
            first(["Cache-Control": "max-age=1, stale-if-error=60"]),
            asks(after: 70, reply: reply([:], 503, "down"))
        )
        Case(
            "must-revalidate forbids stale-if-error",
            first(["Cache-Control": "max-age=1, stale-if-error=60, must-revalidate", "ETag": "\"a\""]),
            asks(after: 2, with: ["If-None-Match": "\"a\""], reply: Reply(isLost: true), body: "")
        )
        Case(
            "stale-while-revalidate ends",
            first(["Cache-Control": "max-age=1, stale-while-revalidate=10"]),
            asks(after: 12, body: "two")
        )
        Case(
            "a validation that fails on the server keeps what is stored",
            first(["Cache-Control": "max-age=1", "ETag": "\"a\""]),
            asks(after: 2, reply: reply([:], 503, "down")),
            asks(with: ["If-None-Match": "\"a\""], reply: reply([:], 304, ""), body: "one")
        )
    }

    @CaseList static var requests: [Case] {
        Case("max-age=0 asks", first(["Cache-Control": "max-age=3600"]), asks("Cache-Control:max-age=0", after: 1))
        Case(
            "max-age above the age",
            first(["Cache-Control": "max-age=3600"]),
            served("Cache-Control:max-age=10", after: 5)
        )
        Case(
            "max-age below the age",
            first(["Cache-Control": "max-age=3600"]),
            asks("Cache-Control:max-age=3", after: 5)
        )
        Case(
            "max-age below Age",
            first(["Cache-Control": "max-age=3600", "Age": "1800"]),
            asks("Cache-Control:max-age=600")
        )
        Case(
            "max-age=0 in a mode",
            first(["Cache-Control": "max-age=3600"]),
            asks("--cache-mode", "revalidate", after: 1)
        )
        Case(
            "min-fresh that is met",
            first(["Cache-Control": "max-age=60"]),
            served("Cache-Control:min-fresh=50", after: 5)
        )
        Case(
            "min-fresh that is not met",
            first(["Cache-Control": "max-age=60"]),
            asks("Cache-Control:min-fresh=58", after: 5)
        )
        Case(
            "max-stale",
            first(["Cache-Control": "max-age=2", "ETag": "\"a\""]),
            served("Cache-Control:max-stale=10", after: 5, body: "one"),
            served("Cache-Control:max-stale", after: 100),
            asks("Cache-Control:max-stale=10")
        )
        Case("no-cache asks", first(["Cache-Control": "max-age=3600"]), asks("Cache-Control:no-cache", after: 1))
        Case(
            "no-cache validates",
            first(["Cache-Control": "max-age=3600", "ETag": "\"a\""]),
            asks("Cache-Control:no-cache", with: ["If-None-Match": "\"a\"", "Cache-Control": "no-cache"])
        )
        Case(
            "no-store is not served and not stored",
            first(["Cache-Control": "max-age=3600"], words: ["Cache-Control:no-store"]),
            asks("Cache-Control:no-store", reply: reply(["Cache-Control": "max-age=60"])),
            asks()
        )
        Case(
            "only-if-cached",
            first(["Cache-Control": "max-age=3600"]),
            served("Cache-Control:only-if-cached", after: 1, body: "one"),
            served("Cache-Control:only-if-cached", after: 4_000, body: "")
        )
        Case("Pragma asks", first(["Cache-Control": "max-age=3600"]), asks("Pragma:no-cache", after: 1))
        Case(
            "Pragma beside Cache-Control",
            first(["Cache-Control": "max-age=3600"]),
            served("Pragma:no-cache", "Cache-Control:max-age=60", after: 1)
        )
        Case(
            "an unknown directive",
            first(["Cache-Control": "max-age=3600"]),
            served("Cache-Control:foo, =, \"", after: 1)
        )
        Case(
            "Authorization is stored by a private cache",
            first(["Cache-Control": "max-age=3600"], words: ["Authorization:FOO"]),
            served("Authorization:FOO", after: 1),
            asks()
        )
        Case(
            "the query is part of the address",
            Turn(path: "/thing?a=1", reply: reply(["Cache-Control": "max-age=3600"])),
            Turn(path: "/thing?a=2", reply: reply([:])),
            Turn(path: "/thing?a=1", outcome: .served)
        )
    }

    @CaseList static var variants: [Case] {
        Case(
            "Vary: an equal value",
            first(["Cache-Control": "max-age=3600", "Vary": "Foo"], words: ["Foo:1"]),
            served("Foo:1"),
            asks("Foo:2", reply: reply(["Cache-Control": "max-age=3600", "Vary": "Foo"], 200, "two")),
            served("Foo:1", body: "one"),
            served("Foo:2", body: "two")
        )
        Case(
            "Vary: a value is missing",
            first(["Cache-Control": "max-age=3600", "Vary": "Foo"], words: ["Foo:1"]),
            asks()
        )
        Case(
            "Vary: a value is added",
            first(["Cache-Control": "max-age=3600", "Vary": "Foo"]),
            asks("Foo:1"),
            served()
        )
        Case(
            "Vary: another field",
            first(["Cache-Control": "max-age=3600", "Vary": "Foo"], words: ["Foo:1"]),
            served("Foo:1", "Bar:2")
        )
        Case(
            "Vary: two fields",
            first(["Cache-Control": "max-age=3600", "Vary": "Foo, Bar"], words: ["Foo:1", "Bar:a"]),
            served("Bar:a", "Foo:1"),
            asks("Foo:1", "Bar:b")
        )
        Case(
            "Vary: two lines of Vary",
            first(
                adding(["Cache-Control": "max-age=3600", "Vary": "Foo"], "Vary", "Bar"),
                words: ["Foo:1", "Bar:a"]
            ),
            asks("Foo:1", "Bar:b"),
        )
        Case("Vary: *", first(["Cache-Control": "max-age=3600", "Vary": "*"]), asks())
        Case("Vary: * among others", first(["Cache-Control": "max-age=3600", "Vary": "Foo, *"]), asks())
        Case(
            "Vary: an empty member",
            first(["Cache-Control": "max-age=3600", "Vary": ", Foo ,"], words: ["Foo:1"]),
            asks("Foo:2")
        )
        Case(
            "Vary: case of the name",
            first(["Cache-Control": "max-age=3600", "Vary": "FOO"], words: ["foo:1"]),
            asks("Foo:2"),
            served("fOO:1")
        )
        Case(
            "Vary: case of the value",
            first(["Cache-Control": "max-age=3600", "Vary": "Foo"], words: ["Foo:a"]),
            asks("Foo:A")
        )
        Case(
            "Vary: blanks in the value",
            first(["Cache-Control": "max-age=3600", "Vary": "Foo"], words: ["Foo:1,2"]),
            served("Foo:1, 2")
        )
        Case(
            "Vary: languages in another order of equal weight",
            first(["Cache-Control": "max-age=3600", "Vary": "Accept-Language"], words: ["Accept-Language:en, de"]),
            served("Accept-Language:de, en")
        )
        Case(
            "Vary: languages of another weight",
            first(
                ["Cache-Control": "max-age=3600", "Vary": "Accept-Language"],
                words: ["Accept-Language:en;q=0.5, de"]
            ),
            asks("Accept-Language:en, de;q=0.5")
        )
        Case(
            "Vary: the variant that is missing is asked with the tags of the others",
            first(["Cache-Control": "max-age=3600", "Vary": "Foo", "ETag": "\"a\""], words: ["Foo:1"]),
            asks(
                "Foo:2",
                with: ["If-None-Match": "\"a\""],
                reply: reply(["Cache-Control": "max-age=3600", "Vary": "Foo", "ETag": "\"a\""], 304, ""),
                status: 200,
                body: "one"
            ),
            served("Foo:2", body: "one"),
            served("Foo:1", body: "one")
        )
    }

    @CaseList static var conditions: [Case] {
        ["\"a\"", "W/\"a\"", "\"\"", "a", "\"a\\\"b\"", "\"a, b\""].map { (tag: String) -> Case in
            Case(
                "the tag \(tag) is sent back as it was",
                first(["Cache-Control": "max-age=1", "ETag": tag]),
                asks(
                    after: 2,
                    with: ["If-None-Match": tag],
                    reply: reply(["Cache-Control": "max-age=5", "ETag": tag, "Date": date(2)], 304, ""),
                    status: 200,
                    body: "one"
                ),
                served(after: 3, shows: ["Age": "3"], body: "one"),
                asks(after: 3, with: ["If-None-Match": tag])
            )
        }
        Case(
            "the last change is sent back as it was",
            first(["Cache-Control": "max-age=1", "Last-Modified": "Wed, 1 Jan 2020 00:00:00 GMT"]),
            asks(
                after: 2,
                with: ["If-Modified-Since": "Wed, 1 Jan 2020 00:00:00 GMT", "If-None-Match": nil],
                reply: reply([:], 304, ""),
                body: "one"
            )
        )
        Case(
            "a request's own condition goes to the server, and its 304 to the caller",
            first(["Cache-Control": "max-age=3600", "ETag": "\"a\""]),
            asks("If-None-Match:\"b\"", with: ["If-None-Match": "\"b\""], reply: reply([:], 304, ""), status: 304),
            served(body: "one")
        )
        Case(
            "without a validator nothing is made up",
            first(["Cache-Control": "max-age=1, stale-if-error=9"]),
            asks(after: 2, with: ["If-None-Match": nil, "If-Modified-Since": nil])
        )
        Case(
            "a 304 for another tag confirms the only one that was sent",
            first(["Cache-Control": "max-age=1", "ETag": "\"a\""]),
            asks(after: 2, reply: reply(["ETag": "\"b\""], 304, ""), body: "one")
        )
        Case(
            "a 200 takes the place of what was validated",
            first(["Cache-Control": "max-age=1", "ETag": "\"a\""]),
            asks(
                after: 2,
                reply: reply(["Cache-Control": "max-age=60", "ETag": "\"b\"", "Date": date(2)], 200, "two")
            ),
            served(shows: ["ETag": "\"b\""], body: "two")
        )
        Case(
            "a 404 takes the place of what was validated",
            first(["Cache-Control": "max-age=1", "ETag": "\"a\""]),
            asks(after: 2, reply: reply([:], 404, "gone")),
            asks(with: ["If-None-Match": nil])
        )
    }

    @CaseList static var updates: [Case] {
        [
            ("Cache-Control", "max-age=3600", true), ("X-Test", "new", true), ("Content-Type", "text/new", true),
            ("Content-Language", "de", true), ("Set-Cookie", "a=new", true), ("Content-MD5", "bmV3", true),
            ("Content-Encoding", "new", false), ("Content-Range", "bytes 0-1/9", false),
            ("X-Frame-Options", "DENY", true),
        ].map { (name: String, value: String, isTaken: Bool) -> Case in
            Case(
                "a 304 \(isTaken ? "updates" : "does not update") \(name)",
                first(["ETag": "\"a\"", "Cache-Control": "max-age=1", "X-Test": "old", "Content-Type": "text/old"]),
                asks(
                    after: 2,
                    reply: reply(
                        setting(["ETag": "\"a\"", "Cache-Control": "max-age=3600", "Date": date(2)], name, value),
                        304,
                        ""
                    ),
                    body: "one"
                ),
                served(shows: [name: isTaken ? value : nil], body: "one")
            )
        }
    }

    @CaseList static var heads: [Case] {
        Case(
            "HEAD is served from a stored GET",
            first(["Cache-Control": "max-age=3600", "X-A": "1"]),
            served("--head", after: 1, shows: ["X-A": "1"])
        )
        Case("HEAD stores nothing for GET", first(["Cache-Control": "max-age=3600"], words: ["--head"]), asks())
        Case(
            "HEAD with the same validators updates",
            first(["Cache-Control": "max-age=1", "ETag": "\"a\"", "X-A": "1"]),
            asks(
                "--head",
                after: 2,
                reply: reply(["Cache-Control": "max-age=60", "ETag": "\"a\"", "X-A": "2", "Date": date(2)], 200)
            ),
            served(shows: ["X-A": "2"], body: "one")
        )
        Case(
            "HEAD with another validator makes the stored response invalid",
            first(["Cache-Control": "max-age=3600", "ETag": "\"a\""]),
            asks(
                "--head",
                "Cache-Control:no-cache",
                reply: reply(["Cache-Control": "max-age=60", "ETag": "\"b\""], 200)
            ),
            asks()
        )
    }

    @CaseList static var invalidations: [Case] {
        ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH"].flatMap { (method: String) -> [Case] in
            [
                Case(
                    "\(method) invalidates",
                    first(["Cache-Control": "max-age=3600"]),
                    asks("-X", method, reply: reply([:], 200, "")),
                    asks()
                ),
                Case(
                    "\(method) that fails does not invalidate",
                    first(["Cache-Control": "max-age=3600"]),
                    asks("-X", method, reply: reply([:], 500, "")),
                    served()
                ),
            ]
        }
        ["Location", "Content-Location"].flatMap { (name: String) -> [Case] in
            [("/thing", false), ("https://svc.example.com/thing", false), ("https://other.example.com/thing", true)].map
            { (target: String, isServed: Bool) -> Case in
                Case(
                    "POST with \(name): \(target) \(isServed ? "keeps" : "invalidates") the response there",
                    first(["Cache-Control": "max-age=3600"]),
                    Turn(words: ["-X", "POST"], path: "/other", reply: reply([name: target], 201, "")),
                    isServed ? served() : asks()
                )
            }
        }
        Case(
            "OPTIONS invalidates nothing",
            first(["Cache-Control": "max-age=3600"]),
            asks("-X", "OPTIONS", reply: reply([:], 200, "")),
            served()
        )
        Case(
            "POST with its own address in Content-Location is stored for GET",
            Turn(
                words: ["-X", "POST"],
                reply: reply(["Cache-Control": "max-age=3600", "Content-Location": "/thing"], 200, "posted")
            ),
            served(body: "posted")
        )
        Case("POST is not stored", first(["Cache-Control": "max-age=3600"], words: ["-X", "POST"]), asks())
    }

    @CaseList static var ranges: [Case] {
        [
            ("bytes=0-1", "01", "bytes 0-1/10"), ("bytes=2-", "23456789", "bytes 2-9/10"),
            ("bytes=-3", "789", "bytes 7-9/10"),
            ("bytes=4-400", "456789", "bytes 4-9/10"),
        ].map { (range: String, body: String, content: String) -> Case in
            Case(
                "the range \(range) is served from the whole",
                first(["Cache-Control": "max-age=3600", "ETag": "\"a\"", "Content-Length": "10"], body: "0123456789"),
                served(
                    "Range:\(range)",
                    shows: ["Content-Range": content, "Content-Length": "\(body.count)"],
                    status: 206,
                    body: body
                )
            )
        }
        Case(
            "parts with one tag are joined, and served as a whole",
            first(
                ["Cache-Control": "max-age=3600", "ETag": "\"a\"", "Content-Range": "bytes 0-4/10"],
                206,
                words: ["Range:bytes=0-4"],
                body: "01234"
            ),
            served("Range:bytes=1-3", status: 206, body: "123"),
            asks(
                "Range:bytes=5-9",
                reply: reply(
                    ["Cache-Control": "max-age=3600", "ETag": "\"a\"", "Content-Range": "bytes 5-9/10"],
                    206,
                    "56789"
                )
            ),
            served(status: 200, body: "0123456789")
        )
        Case(
            "a part is not served as a whole, and the rest is asked for",
            first(
                ["Cache-Control": "max-age=3600", "ETag": "\"a\"", "Content-Range": "bytes 0-4/10"],
                206,
                words: ["Range:bytes=0-4"],
                body: "01234"
            ),
            asks(
                with: ["Range": "bytes=5-", "If-Range": "\"a\""],
                reply: reply(
                    ["Cache-Control": "max-age=3600", "ETag": "\"a\"", "Content-Range": "bytes 5-9/10"],
                    206,
                    "56789"
                ),
                status: 200,
                body: "0123456789"
            ),
            served(status: 200, body: "0123456789")
        )
        Case(
            "a 200 to the rest takes the place of the part",
            first(
                ["Cache-Control": "max-age=3600", "ETag": "\"a\"", "Content-Range": "bytes 0-4/10"],
                206,
                words: ["Range:bytes=0-4"],
                body: "01234"
            ),
            asks(
                reply: reply(["Cache-Control": "max-age=3600", "ETag": "\"b\""], 200, "another"),
                status: 200,
                body: "another"
            ),
            served(status: 200, body: "another")
        )
        Case(
            "a part without a strong tag is not stored",
            first(
                ["Cache-Control": "max-age=3600", "ETag": "W/\"a\"", "Content-Range": "bytes 0-4/10"],
                206,
                words: ["Range:bytes=0-4"],
                body: "01234"
            ),
            asks("Range:bytes=0-4", with: ["If-None-Match": nil])
        )
        Case(
            "several ranges go to the server",
            first(["Cache-Control": "max-age=3600", "ETag": "\"a\""], body: "0123456789"),
            asks("Range:bytes=0-1,3-4", with: ["Range": "bytes=0-1,3-4"])
        )
    }

    @CaseList static var fields: [Case] {
        [
            "Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authentication-Info", "Proxy-Authorization",
            "Proxy-Connection", "TE", "Trailer", "Transfer-Encoding", "Upgrade",
        ].map { (value: String) -> Case in
            Case(
                "\(value) is not stored",
                first(setting(["Cache-Control": "max-age=3600"], value, "x-listed"), words: []),
                served(shows: [value: nil])
            )
        }
        [
            "Content-Language", "Content-Security-Policy", "Server", "Set-Cookie", "X-Test",
            "Strict-Transport-Security",
            "Public-Key-Pins", "WWW-Authenticate", "Clear-Site-Data",
        ].map { (value: String) -> Case in
            Case(
                "\(value) is stored",
                first(setting(["Cache-Control": "max-age=3600"], value, "x")),
                served(shows: [value: "x"])
            )
        }
        Case(
            "a field that Connection lists is not stored",
            first(["Cache-Control": "max-age=3600", "Connection": "A, b", "A": "1", "B": "2", "C": "3"]),
            served(shows: ["A": nil, "B": nil, "C": "3"])
        )
        Case(
            "Date and Age say when the response was made",
            first(["Cache-Control": "max-age=3600", "Date": date(0)]),
            served(after: 5, shows: ["Date": date(0), "Age": "5"])
        )
        Case(
            "a 304 is followed by the whole response in what is shown",
            first(["Cache-Control": "no-cache", "ETag": "\"a\"", "X-A": "1"]),
            asks(reply: reply(["ETag": "\"a\""], 304, ""), shows: ["X-A": "1"], status: 200, body: "one")
        )
    }
}

/// Makes a list of cases, each checked as a statement of its own.
@resultBuilder enum CaseList {
    static func buildExpression(_ entry: CacheSuiteTests.Case) -> [CacheSuiteTests.Case] { [entry] }
    static func buildExpression(_ entries: [CacheSuiteTests.Case]) -> [CacheSuiteTests.Case] { entries }
    static func buildBlock(_ parts: [CacheSuiteTests.Case]...) -> [CacheSuiteTests.Case] { parts.flatMap { $0 } }
}

extension CacheSuiteTests.Case {
    init(_ name: String, turns: [CacheSuiteTests.Turn]) { (self.name, self.turns) = (name, turns) }

    /// Whether the server is not reached in the end.
    var losesConnection: Bool { turns.contains { $0.reply.isLost } }
}
