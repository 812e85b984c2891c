import CacheStoreConformance
import LadeCache
import LadeCore
import Testing

/// What caches make of each spelling of a number of seconds, for every directive that has one.
@Suite(.timeLimit(.minutes(5)))
struct DirectiveSpellingTests {
    private let samples = RuleSamples()

    /// What stands behind the name, and whether it means 60 seconds; otherwise it means none.
    private static let spellings: [(argument: String, isRead: Bool)] = [
        // RFC 9110 §5.6.4: both forms of an argument.
        ("=60", true), ("=\"60\"", true), ("=\"6\\0\"", true),
        // RFC 9111 §1.2.2: any number of digits.
        ("=0060", true), ("=00000000000000000000000060", true),
        // White space belongs to the list around the directive, and to nothing within it.
        ("=60 ", true), ("=60\t, x", true), (" =60", false), ("= 60", false), (" = 60", false), ("\t=\"60\"", false),
        ("=\" 60\"", false), ("=\"60 \"", false), ("=6 0", false),
        // RFC 9111 §4.2.1: no whole number.
        ("=", false), ("=\"\"", false), ("='60'", false), ("=60.0", false), ("=60.5", false), ("=-60", false),
        ("=+60", false), ("=60a", false), ("=a60", false), ("=60s", false), ("=6e1", false), ("=0x3c", false),
        ("=\"60", false), ("=60\"", false), ("=60;x", false), ("==60", false), ("=\u{FF16}\u{FF10}", false),
        // The first of several counts, and none in a quoted string.
        ("=60, NAME=5", true), ("=60, x=\"NAME=5\"", true),
    ]

    @Test(
        "cache CA-63 CA-64 a lifetime is read in every spelling of the grammar, and zero in others",
        arguments: spellings
    )
    func lifetime(argument: String, isRead: Bool) throws {
        let line = Self.line("max-age", argument)

        #expect(try samples.lifetime(["Cache-Control": line]) == (isRead ? .seconds(60) : .zero), "\(line)")
    }

    @Test(
        "cache CA-64 CA-170 a window for stale responses is read in the same spellings, and is none in others",
        arguments: spellings
    )
    func windows(argument: String, isRead: Bool) throws {
        let revalidated = try samples.keep([
            "Cache-Control": Self.line("max-age=10, stale-while-revalidate", argument), "ETag": "\"a\"",
        ])
        let kept = try samples.keep([
            "Cache-Control": Self.line("max-age=10, stale-if-error", argument), "ETag": "\"a\"",
        ])

        #expect(try samples.rule([revalidated], at: 69) == (isRead ? .whileRevalidate : .stale))
        #expect(try samples.rule([revalidated], at: 70) == .stale)
        #expect(try isKept(kept, at: 69) == isRead)
        #expect(try !isKept(kept, at: 71))
    }

    @Test("cache CA-93 CA-94 CA-101 directives of a request are read in the same spellings", arguments: spellings)
    func requests(argument: String, isRead: Bool) throws {
        let long = try samples.keep(["Cache-Control": "max-age=100", "ETag": "\"a\""])
        let short = try samples.keep(["Cache-Control": "max-age=10", "ETag": "\"a\""])
        func rule(_ head: StoredHead, _ name: String, at seconds: Double) throws -> Response.CacheRule {
            try samples.rule([head], ["Cache-Control": Self.line(name, argument)], at: seconds)
        }

        // A greatest age that cannot be read is none that a response could have.
        #expect(try rule(long, "max-age", at: 60) == (isRead ? .fresh : .requestMaxAge))
        #expect(try rule(long, "max-age", at: 61) == .requestMaxAge)
        // The others ask for nothing then.
        #expect(try rule(long, "min-fresh", at: 39) == .fresh)
        #expect(try rule(long, "min-fresh", at: 41) == (isRead ? .minFresh : .fresh))
        #expect(try rule(short, "max-stale", at: 69) == (isRead ? .maxStale : .stale))
        #expect(try rule(short, "max-stale", at: 71) == .stale)
        #expect(try isKept(short, ["Cache-Control": Self.line("stale-if-error", argument)], at: 69) == isRead)
    }

    @Test(
        "cache CA-21 CA-64 names of fields are read from one argument, and anything else concerns the whole response",
        arguments: [
            ("=\"x-a\"", true), ("=x-a", true), ("=\"X-A, x-b\"", true), ("=\" ,x-a,\"", true), ("", false),
            ("=", false),
            ("=\"\"", false), (" =\"x-a\"", false), ("= \"x-a\"", false), ("=\"x-a x-b\"", false), ("=\"x-a", false),
            ("='x a'", false), ("=\"x-a\", NAME", false),
        ]
    )
    func names(argument: String, isRead: Bool) throws {
        let lines = ["no-cache", "private"].map { Self.line($0, argument) }
        let headers: Headers = ["Cache-Control": "max-age=60, \(lines[0])", "ETag": "\"a\"", "X-A": "1", "X-C": "1"]

        let head = try samples.keep(headers)

        #expect(try samples.rule([head], at: 1) == (isRead ? .fresh : .noCache))
        #expect(head.headers.contains("X-A") == !isRead)
        #expect(head.headers.contains("X-C"))
        // A private cache keeps what is private.
        let own = try samples.keep(["Cache-Control": "max-age=60, \(lines[1])", "X-A": "1"])
        #expect(try samples.rule([own], at: 1) == .fresh)
        #expect(own.headers.contains("X-A"))
    }

    private static func line(_ name: String, _ argument: String) -> String {
        let last = name.split(separator: " ").last.map(String.init) ?? name
        return name + argument.split(separator: "NAME", omittingEmptySubsequences: false).joined(separator: last)
    }

    /// Whether a response is served after the server has failed.
    private func isKept(_ head: StoredHead, _ headers: Headers = [:], at seconds: Double) throws -> Bool {
        let query = try samples.query(.get, "https://example.org/a", headers, at: seconds)
        let outcome = samples.rules.validation(query, samples.rules.condition(for: head), [head], failure: .connection)
        return outcome.decision == .serveStale(head.id)
    }
}
