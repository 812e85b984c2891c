#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadePolicies
import LadeTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RateLimiterTests: RateLimiterSuite {
    let time = VirtualTime()
    let random = SeededRandom(seed: 11)
    let key = ServiceKey("api.example.com:443/v1")
    let url: URL

    init() throws { url = try #require(URL(string: "https://api.example.com/v1/shows")) }

    @Test("service D-03 policies PL-22 keeps a gate closed when a shorter delay is requested")
    func keepsGates() async throws {
        let limiter = try limiter()
        limiter.closeGate(of: key, for: .seconds(60))
        limiter.closeGate(of: key, for: .seconds(1))
        #expect(try #require(limiter.estimatedWait(for: key)) >= .seconds(60))
    }

    @Test("service D-02 policies PL-21 starts 20 simultaneous calls at 10 per second over 1.9 seconds, in order")
    func spacesStarts() async throws {
        let starts = await starts(20, try limiter())
        #expect(starts == (0..<20).map { seconds(Double($0) / 10) })
    }

    @Test("service D-02 policies PL-20 keeps the first components of a path apart")
    func keepsPathsApart() async throws {
        let limiter = try limiter()
        let first = await starts(3, limiter, path: "/a/x")
        let second = await starts(1, limiter, path: "/b/x")
        #expect(first.last == seconds(0.2))
        #expect(second == [seconds(0.2)])
    }

    @Test("policies PL-20 lets a burst start immediately and spaces the rest")
    func letsBurstsGo() async throws {
        let starts = await starts(6, try limiter(RateLimits(default: .perSecond(10, burst: 3))))
        #expect(starts == [0, 0, 0, 0.1, 0.2, 0.3].map(seconds))
    }

    @Test("policies PL-20 applies a new rate immediately, to waiting calls too")
    func changesRates() async throws {
        let limiter = try limiter(RateLimits(default: .perSecond(0.1)))
        let (time, url) = (time, url)
        let change: @Sendable () async -> Void = {
            try? await time.sleep(for: .seconds(5))
            try? limiter.setRate(10, for: limiter.key(of: url))
        }
        let starts = await self.starts(3, limiter, meanwhile: change)
        // Half an interval was used up, which is now half of a shorter one.
        #expect(starts == [0, 5.05, 5.15].map(seconds))
    }

    @Test("service D-11 policies PL-20 holds every call at rate zero until the rate is changed")
    func holds() async throws {
        let limiter = try limiter(RateLimits(default: .held))
        let (time, url) = (time, url)
        let task = Task { () async throws in
            let slot = try await limiter.start(Request(url), call: Call(time: time))
            slot?.finish()
        }
        while limiter.waitingCount == 0 { await Task.yield() }
        #expect(limiter.estimatedWait(for: key) == nil)
        time.advance(by: .seconds(1_000_000))
        #expect(limiter.waitingCount == 1)
        try limiter.setRate(1, for: limiter.key(of: url))
        try await task.value
    }

    @Test("service D-11 rejects invalid rates", arguments: [-1, -0.001, .nan, .infinity])
    func rejectsNonsense(rate: Double) throws {
        let limiter = try limiter()
        let attempts: [() throws -> Void] = [
            { try limiter.setRate(rate, for: key) }, { try limiter.setDefaultRate(.perSecond(rate)) },
            { _ = try RateLimiter(RateLimits(default: .perSecond(rate))) },
        ]
        for attempt in attempts {
            let error = #expect(throws: LoadingError.self) { try attempt() }
            guard case .invalidSetting(name: "rate", _)? = error?.kind else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(throws: LoadingError.self) { try limiter.setRate(1, burst: 0, for: key) }
        #expect(throws: LoadingError.self) { try limiter.setConcurrency(0, for: key) }
    }
}
