#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadePolicies
import LadeTesting
import Testing

/// The cases of SPTDataLoader's rate limiter, one by one.
@Suite(.timeLimit(.minutes(5)))
struct RateLimiterCaseTests: RateLimiterSuite {
    let time = VirtualTime()
    let random = SeededRandom(seed: 11)
    let key = ServiceKey("api.example.com:443/v1")
    let url: URL

    init() throws { url = try #require(URL(string: "https://api.example.com/v1/shows")) }

    @Test("service RL-01 is made with a rate")
    func creation() throws {
        let limiter = try limiter()
        #expect(limiter.waitingCount == 0)
        #expect(limiter.estimatedWait(for: key) == .zero)
    }

    @Test("service RL-02 uses the system's clock by default")
    func hasSystemTime() async throws {
        let limiter = try RateLimiter(RateLimits(default: .perSecond(0.001)))
        _ = try await limiter.start(Request(url), call: Call())
        // A thousand seconds of the real clock, of which this test can have used none.
        #expect(try #require(limiter.estimatedWait(for: key)) > .seconds(500))
        #expect(try #require(limiter.estimatedWait(for: key)) <= .seconds(1000))
    }

    @Test("service RL-03 waits as long as a server requested")
    func waitsAfterRetryAfter() throws {
        let limiter = try limiter()
        limiter.closeGate(of: key, for: .seconds(60))
        #expect(try #require(limiter.estimatedWait(for: key)) >= .seconds(60))
        #expect(try #require(limiter.estimatedWait(for: key)) <= .seconds(61))
        #expect(limiter.estimatedWait(for: ServiceKey("other")) == .zero)
    }

    /// How long the next call waits when one has started and the given time has passed since.
    private func wait(after elapsed: Duration) async throws -> Duration? {
        let limiter = try limiter()
        _ = try await limiter.start(Request(url), call: Call(time: time))
        time.advance(by: elapsed)
        return limiter.estimatedWait(for: key)
    }

    @Test("service RL-04 waits no longer when the date is set back")
    func ignoresDates() async throws {
        let jumping = TimeWithDate(base: time)
        let limiter = try RateLimiter(RateLimits(default: .perSecond(10)), time: jumping, random: random)
        _ = try await limiter.start(Request(url), call: Call(time: jumping))
        jumping.shift.withLock { $0 = -100 }
        #expect(limiter.estimatedWait(for: key) == .milliseconds(100))
        time.advance(by: .milliseconds(100))
        #expect(limiter.estimatedWait(for: key) == .zero)
    }

    /// A time source whose date is set while it runs.
    private struct TimeWithDate: TimeSource {
        let base: VirtualTime
        let shift = Locked<TimeInterval>(0)

        var now: Instant { base.now }
        var date: Date { base.date.addingTimeInterval(shift.withLock { $0 }) }

        func sleep(until deadline: Instant) async throws(LoadingError) { try await base.sleep(until: deadline) }
    }

    @Test("service RL-05 waits for the rest of the interval")
    func waitsForTheRest() async throws {
        #expect(try await wait(after: .milliseconds(20)) == .milliseconds(80))
    }

    @Test("service RL-06 does not wait beyond the interval")
    func waitsNoLonger() async throws {
        #expect(try await wait(after: .seconds(100)) == .zero)
    }

    @Test("service RL-07 waits for the whole interval after a call that just started")
    func waitsForTheInterval() async throws {
        #expect(try await wait(after: .zero) == .milliseconds(100))
    }

    @Test("service RL-08 lets a call without a host start")
    func startsAnyAddress() async throws {
        let limiter = try limiter()
        let odd = Request(try #require(URL(string: "data:,x")))
        let slot = try await limiter.start(odd, call: Call(time: time))
        slot?.finish()
        #expect(limiter.estimatedWait(for: ServiceKey(odd)) == .milliseconds(100))
    }

    @Test("service RL-09 has the default rate for every service")
    func hasDefaultRate() throws {
        let limiter = try limiter()
        #expect(limiter.rate(for: limiter.key(of: url)) == .perSecond(10))
        #expect(limiter.rate(for: ServiceKey("other")) == .perSecond(10))
    }

    @Test("service RL-10 has a rate of its own for a service, until that is removed")
    func hasOwnRate() throws {
        let limiter = try limiter()
        try limiter.setRate(20, for: limiter.key(of: url))
        #expect(limiter.rate(for: limiter.key(of: url)) == .perSecond(20))
        #expect(limiter.rate(for: key) == .perSecond(20))
        #expect(limiter.rate(for: ServiceKey("other")) == .perSecond(10))
        limiter.removeRate(for: key)
        #expect(limiter.rate(for: key) == .perSecond(10))
    }

    @Test("service RL-11 closes the gate of an address without a host, and no other")
    func closesGateOfAnyAddress() throws {
        let limiter = try limiter()
        let odd = ServiceKey(Request(try #require(URL(string: "data:,x"))))
        limiter.closeGate(of: odd, for: .seconds(1))
        #expect(try #require(limiter.estimatedWait(for: odd)) >= .seconds(1))
        #expect(limiter.estimatedWait(for: key) == .zero)
    }

    @Test("service RL-12 keeps a gate closed when a call of the service ends meanwhile")
    func keepsGateThroughEndings() async throws {
        let limiter = try limiter()
        let call = Call(time: time)
        let slot = try await limiter.start(Request(url), call: call)
        limiter.closeGate(of: key, for: .seconds(60))
        slot?.finish()
        limiter.observe(200, [:], of: Request(url), call: call)
        #expect(try #require(limiter.estimatedWait(for: key)) >= .seconds(60))
    }
}
