import CacheStoreConformance
import LadeCache
import LadeCore
import Testing

@Suite(.timeLimit(.minutes(5)))
struct StaleTests {
    private let samples = RuleSamples()
    private let line = "max-age=10, stale-while-revalidate=30"

    private func rule(
        _ line: String,
        _ request: Headers = [:],
        mode: Request.CacheMode = .standard,
        at seconds: Double = 20,
        change: (inout StoredHead) -> Void = { _ in }
    ) throws -> Response.CacheRule {
        var head = try samples.keep(["Cache-Control": line, "ETag": "\"a\""])
        change(&head)
        return try samples.rule([head], request, mode: mode, at: seconds)
    }

    @Test(
        "cache CA-170 a stale response is served within the window, and validated in the background",
        arguments: [(9.9, Response.CacheRule.fresh), (10, .whileRevalidate), (39.9, .whileRevalidate), (40, .stale)]
    )
    func servesWithinWindow(age: Double, expected: Response.CacheRule) throws {
        #expect(try rule(line, at: age) == expected)
    }

    @Test("cache CA-170 a response without a validator is fetched in the background")
    func fetchesInBackground() throws {
        let head = try samples.keep(["Cache-Control": line])
        guard
            case .serveAndRevalidate(let serving, let condition) =
                samples.rules.decide(try samples.query(at: 20), [head]).decision
        else {
            Issue.record("not served")
            return
        }
        var off = samples
        off.rules.usesStaleWhileRevalidate = false

        #expect(serving.id == 1)
        #expect(condition.isEmpty)
        #expect(try off.rule([head], at: 20) == .stale)
    }

    @Test("cache CA-171 what must be validated is not served while it is")
    func refusesWindow() throws {
        #expect(try rule("\(line), must-revalidate") == .mustRevalidate)
        #expect(try rule("\(line), no-cache") == .noCache)
        #expect(try rule(line) { $0.mustValidate = true } == .invalidated)
        #expect(try rule(line) { $0.extent = .parts([0..<5], total: 10) } == .incomplete)
        #expect(try rule(line, ["Cache-Control": "no-cache"]) == .requestNoCache)
        #expect(try rule(line, ["Cache-Control": "max-age=15"]) == .requestMaxAge)
        #expect(try rule(line, ["Cache-Control": "min-fresh=1"]) == .stale)
        #expect(try rule(line, ["Cache-Control": "max-age=25"]) == .whileRevalidate)
        #expect(try rule(line, mode: .revalidate) == .stale)
    }

    @Test("cache CA-174 a replacement takes the place of the expired response")
    func replacesExpired() throws {
        let head = try samples.keep(["Cache-Control": line], id: 9)
        let query = try samples.query(at: 20)
        func decision(_ status: Response.Status, _ fields: Headers) -> ValidationDecision {
            samples.rules.validation(query, CacheCondition(), [head], samples.received(status, fields, at: 20)).decision
        }
        guard case .replace(.store(_, let replaced), _) = decision(200, ["Cache-Control": "max-age=10"]) else {
            Issue.record("not replaced")
            return
        }

        #expect(replaced == [9])
        #expect(decision(200, ["Cache-Control": "no-store"]) == .removeAndDeliver([9]))
        #expect(decision(404, [:]) == .removeAndDeliver([9]))
    }
}
