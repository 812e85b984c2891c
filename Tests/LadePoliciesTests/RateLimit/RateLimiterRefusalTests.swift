#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadePolicies
import LadeTesting
import Testing

/// Waits that would end too late, or would last longer than allowed.
@Suite(.timeLimit(.minutes(5)))
struct RateLimiterRefusalTests: RateLimiterSuite {
    let time = VirtualTime()
    let random = SeededRandom(seed: 11)
    let key = ServiceKey("api.example.com:443/v1")
    let url: URL

    init() throws { url = try #require(URL(string: "https://api.example.com/v1/shows")) }

    @Test("as many calls wait for a service as are allowed, and a further one fails immediately")
    func boundsQueues() async throws {
        var limits = RateLimits(default: .held)
        limits.waitingLimit = 2
        let limiter = try limiter(limits)
        let call = Call(time: time)
        let waiting = (1...2).map { _ in
            Task { [url] in try await limiter.start(Request(url), call: call)?.finish() }
        }
        while limiter.waitingCount < 2 { await Task.yield() }
        do throws(LoadingError) {
            try await limiter.start(Request(url), call: call)?.finish()
            Issue.record("It waited")
        } catch {
            guard case .rateLimited(let service, _) = error.kind else { throw error }
            #expect(service == key.description)
            #expect(error.context.detail == "2 calls wait for it already")
        }
        // Another service has a queue of its own.
        try limiter.setRate(1_000, for: ServiceKey("other.example.com:443/"))
        try await limiter.start(Request("https://other.example.com/"), call: call)?.finish()
        for task in waiting { task.cancel() }
    }

    @Test("policies PL-02 a slower rate refuses the waiting calls that can no longer start in time, when it is set")
    func refusesAtRateChange() async throws {
        let limiter = try limiter(RateLimits(default: .perSecond(1)))
        var call = Call(time: time)
        _ = try await limiter.start(Request(url), call: call)
        call.deadline = time.now.advanced(by: .seconds(15))
        let late = Task { [url, call] () async throws in _ = try await limiter.start(Request(url), call: call) }
        call.deadline = nil
        let patient = Task { [url, call] () async throws in _ = try await limiter.start(Request(url), call: call) }
        while limiter.waitingCount < 2 { await Task.yield() }

        try limiter.setRate(0.01, for: key)

        guard case .failure(let error as LoadingError) = await late.result,
            case .deadlineExceeded(let report) = error.kind
        else {
            Issue.record("It continued to wait")
            return
        }
        #expect(report.impossibleWait?.stage == .wait(.rateLimit(key: key.description)))
        #expect(limiter.waitingCount == 1)
        patient.cancel()
        _ = await patient.result
    }

    @Test("a higher total concurrency starts waiting calls immediately")
    func raisesTotalConcurrency() async throws {
        let limiter = try limiter(RateLimits())
        try limiter.setTotalConcurrency(1)
        let first = try await limiter.start(Request(url), call: Call(time: time))
        let second = Task { [url, time] () async throws in
            try await limiter.start(Request(url), call: Call(time: time))?.finish()
        }
        while limiter.waitingCount < 1 { await Task.yield() }

        try limiter.setTotalConcurrency(2)

        try await second.value
        first?.finish()
        #expect(throws: LoadingError.self) { try limiter.setTotalConcurrency(0) }
    }

    @Test("a slot that is released without being finished is handed back")
    func handsBackReleasedSlots() async throws {
        let limiter = try limiter(RateLimits())
        try limiter.setConcurrency(1, for: limiter.key(of: url))
        for _ in 1...3 {
            _ = try await limiter.start(Request(url), call: Call(time: time))
        }
        #expect(limiter.waitingCount == 0)
        limiter.closeGate(of: limiter.key(of: url), for: .seconds(10))
        #expect(try #require(limiter.estimatedWait(for: limiter.key(of: url))) >= .seconds(10))
        try limiter.setRate(3, for: limiter.key(of: url))
        limiter.removeRate(for: limiter.key(of: url))
        limiter.clearQuota(of: limiter.key(of: url))
        #expect(limiter.rate(for: limiter.key(of: url)) == nil)
    }

    @Test(
        "policies PL-02 refuses immediately a call that cannot start in time, and says how long the wait would have been"
    )
    func refusesHopelessWaits() async throws {
        let limiter = try limiter(RateLimits(default: .perSecond(0.1)))
        var call = Call(time: time)
        call.deadline = time.now.advanced(by: .seconds(15))
        _ = try await limiter.start(Request(url), call: call)
        let waiting = Task { [url, call] () async throws in _ = try await limiter.start(Request(url), call: call) }
        _ = try await time.nextSleeper()
        do throws(LoadingError) {
            _ = try await limiter.start(Request(url), call: call)
            Issue.record("It waited")
        } catch {
            guard case .deadlineExceeded(let report) = error.kind else { throw error }
            #expect(
                report.impossibleWait == .init(stage: .wait(.rateLimit(key: key.description)), duration: .seconds(20))
            )
        }
        // Closing a gate makes calls fail that could have started in time before.
        limiter.closeGate(of: key, for: .seconds(30))
        guard case .failure(let error as LoadingError) = await waiting.result,
            case .deadlineExceeded(let report) = error.kind
        else {
            Issue.record("It continued to wait")
            return
        }
        #expect(report.impossibleWait?.stage == .wait(.gate(key: key.description)))
        #expect(limiter.waitingCount == 0)
    }

    @Test("policies PL-02 ends a wait of unknown length at the deadline")
    func endsAtTheDeadline() async throws {
        let limiter = try limiter(RateLimits(default: .held))
        let (time, url) = (time, url)
        var call = Call(time: time)
        call.recordTimes(since: time.now)
        call.deadline = time.now.advanced(by: .seconds(15))
        let error = await time.runAutomatically { [call] () -> LoadingError? in
            do throws(LoadingError) {
                _ = try await limiter.start(Request(url), call: call)
                return nil
            } catch {
                return error
            }
        }
        guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(
            report.stages.entries == [.init(stage: .wait(.rateLimit(key: key.description)), duration: .seconds(15))]
        )
    }

    @Test("policies PL-13 policies PL-22 service D-09 does not wait at a gate for longer than allowed")
    func refusesLongPauses() async throws {
        let limiter = try limiter()
        limiter.closeGate(of: key, for: .seconds(100_000))
        do throws(LoadingError) {
            _ = try await limiter.start(Request(url), call: Call(time: time))
            Issue.record("It waited")
        } catch {
            guard case .rateLimited(key.description, let wait) = error.kind else { throw error }
            // No server can close a gate for more than an hour.
            #expect(wait >= .seconds(3600) && wait < .seconds(3601))
        }
    }
}
