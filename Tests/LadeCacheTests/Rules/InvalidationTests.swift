import CacheStoreConformance
import LadeCache
import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct InvalidationTests {
    private let samples = RuleSamples()

    private func invalidated(
        _ method: String,
        _ status: Response.Status = 204,
        _ headers: Headers = [:],
        url: String = "https://example.org/a/b"
    ) throws -> [String] {
        let outcome = samples.rules.invalidation(try samples.query(Request.Method(method), url), status, headers)
        guard case .mustValidate(let addresses) = outcome.decision else { return [] }
        #expect(outcome.rule == .unsafeMethod)
        return addresses.map(\.text)
    }

    @Test(
        "cache CA-140 every method that is not known as safe invalidates its address on success",
        arguments: ["POST", "PUT", "PATCH", "DELETE", "M-SEARCH", "x", "get"]
    )
    func invalidates(method: String) throws {
        for code in [200, 204, 299, 301, 303, 399] {
            #expect(try invalidated(method, Response.Status(code)) == ["https://example.org/a/b"])
        }
    }

    @Test("cache CA-140 what was invalidated is not used in any mode")
    func isUsedInNoMode() throws {
        var head = try samples.keep(["Cache-Control": "max-age=60", "ETag": "\"a\""])
        head.mustValidate = true

        for mode in [Request.CacheMode.standard, .revalidate, .preferStored, .storedOnly] {
            #expect(try samples.rule([head], ["Cache-Control": "max-stale"], mode: mode, at: 1) == .invalidated)
        }
    }

    @Test("cache CA-141 failures and safe methods invalidate nothing")
    func keeps() throws {
        for code in [400, 404, 500, 503, 100] { #expect(try invalidated("POST", Response.Status(code)).isEmpty) }
        for method in ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"] { #expect(try invalidated(method).isEmpty) }
    }

    private static let locations: [(String, [String])] = [
        ("/c", ["/c"]), ("c", ["/a/c"]), ("https://example.org/c", ["/c"]), ("HTTPS://EXAMPLE.ORG:443/c", ["/c"]),
        ("", []), ("b", []), ("http://example.org/c", []), ("https://example.com/c", []),
        ("https://example.org:8443/c", []), ("//example.com/c", []), ("//example.org/c", ["/c"]), ("?x", ["/a/b?x"]),
        ("mailto:a@example.org", []),
    ]

    @Test("cache CA-142 CA-231 addresses of the same origin in the response are invalidated, too", arguments: locations)
    func invalidatesLocations(location: String, paths: [String]) throws {
        let expected = ["https://example.org/a/b"] + paths.map { "https://example.org\($0)" }
        for name in ["Location", "Content-Location"] {
            #expect(try invalidated("POST", 201, Headers([(name, location)])) == expected)
        }
        #expect(
            try invalidated("POST", 201, ["Location": "/1", "Content-Location": "/2"]).dropFirst()
                == ["https://example.org/1", "https://example.org/2"]
        )
    }

    @Test(
        "cache CA-234 Clear-Site-Data removes what an origin stored, if it is quoted and came over https",
        arguments: [
            ("\"cache\"", true), ("\"*\"", true), ("\"cookies\", \"cache\"", true), ("cache", false), ("*", false),
            ("\"Cache\"", false), ("\"cookies\"", false), ("", false),
        ]
    )
    func clears(value: String, clears: Bool) throws {
        let headers: Headers = ["Clear-Site-Data": value]

        #expect(
            ResponseCache.Rules.clearsCache(headers, from: try RuleSamples.address("https://example.org/")) == clears
        )
        #expect(!ResponseCache.Rules.clearsCache(headers, from: try RuleSamples.address("http://example.org/")))
    }
}
