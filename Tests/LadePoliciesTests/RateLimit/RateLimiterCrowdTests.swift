#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadePolicies
import LadeTesting
import Testing

/// Many services, many calls, real threads, and timers that fire late.
@Suite(.timeLimit(.minutes(5)))
struct RateLimiterCrowdTests: RateLimiterSuite {
    let time = VirtualTime()
    let random = SeededRandom(seed: 11)
    let key = ServiceKey("api.example.com:443/v1")
    let url: URL

    init() throws { url = try #require(URL(string: "https://api.example.com/v1/shows")) }

    @Test("forgets idle services, and none that is busy or has something to remember")
    func forgets() async throws {
        var settings = RateLimits(default: .perSecond(1))
        settings.idleKeyLimit = 100
        let limiter = try limiter(settings)
        limiter.closeGate(of: ServiceKey("api.example.com:443/gate"), for: .seconds(3600))
        for number in 0..<10_000 {
            let slot = try await limiter.start(Request("https://api.example.com/\(number)"), call: Call(time: time))
            slot?.finish()
            time.advance(by: .milliseconds(100))
        }
        #expect(limiter.keyCount <= 101)
        #expect(try #require(limiter.estimatedWait(for: ServiceKey("api.example.com:443/gate"))) > .seconds(2000))
    }

    @Test("policies PL-24 keeps 1,000 services to their rates with 10,000 waiting calls", arguments: [UInt64(1), 2, 3])
    func keepsRates(seed: UInt64) async throws {
        let draws = SeededRandom(seed: seed)
        let limiter = try limiter(RateLimits())
        var rates: [RateLimits.Rate] = []
        for number in 0..<1_000 {
            let rate = RateLimits.Rate(perSecond: 0.5 + draws.unit() * 20, burst: 1 + Int(draws.unit() * 5))
            rates.append(rate)
            try limiter.setRate(rate.perSecond, burst: rate.burst, for: ServiceKey("h\(number):80/"))
        }
        let (time, starts) = (time, Locked([[Instant]](repeating: [], count: 1_000)))
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<10_000 {
                    group.addTask {
                        guard let request = try? Request("http://h\(number % 1_000)/") else { return }
                        guard let slot = try? await limiter.start(request, call: Call(time: time)) else { return }
                        starts.withLock { $0[number % 1_000].append(time.now) }
                        slot.finish()
                    }
                }
            }
        }
        for (times, rate) in zip(starts.withLock { $0 }, rates) {
            try #require(times.count == 10, "seed \(seed)")
            for first in times.indices {
                for last in first..<times.count {
                    let window = times[first].duration(to: times[last]) / .seconds(1)
                    let count = Double(last - first + 1)
                    #expect(count <= Double(rate.burst) + rate.perSecond * window + 1e-6, "seed \(seed)")
                }
            }
            // The last starts as soon as the rate allows.
            let whole = times[0].duration(to: times[9]) / .seconds(1)
            #expect(abs(whole - Double(10 - rate.burst) / rate.perSecond) <= 0.01 * whole + 1e-6, "seed \(seed)")
        }
    }

    @Test(
        "policies PL-21 policies PL-24 starts or dismisses every call, with cancellations at any time",
        .timeLimit(.minutes(5)),
        arguments: (UInt64(1)...20).map(\.self)
    )
    func survivesCancellations(seed: UInt64) async throws {
        let draws = SeededRandom(seed: seed)
        var settings = RateLimits(
            default: RateLimits.Rate(perSecond: 1 + draws.unit() * 9, burst: 1 + Int(draws.unit() * 3))
        )
        if draws.unit() < 0.5 { settings.concurrency = 1 + Int(draws.unit() * 3) }
        if draws.unit() < 0.5 { settings.totalConcurrency = 1 + Int(draws.unit() * 5) }
        let limiter = try limiter(settings)
        let time = time
        let starts = Locked<[Int: [Instant]]>([:])
        let ended = Locked(0)
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<200 {
                    let (arrival, patience, work) = (draws.unit() * 5, draws.unit() * 20, draws.unit() * 0.3)
                    let priority = Request.Priority(rawValue: Int(draws.unit() * 3)) ?? .normal
                    let mayCancel = draws.unit() < 0.5
                    group.addTask {
                        try? await time.sleep(for: .seconds(arrival))
                        await withTaskGroup(of: Void.self) { race in
                            race.addTask {
                                guard var request = try? Request("https://api.example.com/\(number % 5)") else {
                                    return
                                }
                                request.priority = priority
                                let call = Call(id: .init(UInt64(number + 1)), time: time)
                                guard let slot = try? await limiter.start(request, call: call) else { return }
                                starts.withLock { $0[number % 5, default: []].append(time.now) }
                                try? await time.sleep(for: .seconds(work))
                                slot.finish()
                            }
                            if mayCancel { race.addTask { try? await time.sleep(for: .seconds(patience)) } }
                            if number % 10 == 0 { limiter.setPriority(.high, of: .init(UInt64(number))) }
                            await race.next()
                            race.cancelAll()
                        }
                        ended.withLock { $0 += 1 }
                    }
                }
            }
        }
        #expect(ended.withLock { $0 } == 200, "seed \(seed)")
        #expect(limiter.waitingCount == 0, "seed \(seed)")
        let rate = try #require(settings.default)
        for times in starts.withLock({ $0.values }) {
            for first in times.indices {
                for last in first..<times.count {
                    let window = times[first].duration(to: times[last]) / .seconds(1)
                    let limit = Double(rate.burst) + rate.perSecond * window + 1e-6
                    #expect(Double(last - first + 1) <= limit, "seed \(seed)")
                }
            }
        }
        #expect(time.sleepers.isEmpty, "seed \(seed)")
    }

    @Test("policies PL-21 serves real threads without losing a waiter", .timeLimit(.minutes(5)))
    func servesThreads() async throws {
        let limiter = try RateLimiter(RateLimits(default: RateLimits.Rate(perSecond: 20_000, burst: 2)))
        let url = url
        let tasks = (0..<500).map { number in
            Task {
                let slot = try? await limiter.start(Request(url), call: Call(id: .init(UInt64(number + 1))))
                guard let slot else { return false }
                slot.finish()
                return true
            }
        }
        for (number, task) in tasks.enumerated() where number % 3 == 0 { task.cancel() }
        for (number, task) in tasks.enumerated() {
            let hasStarted = await task.value
            #expect(hasStarted || number % 3 == 0)
        }
        #expect(limiter.waitingCount == 0)
    }

    @Test("policies PL-24 service D-45 keeps its rate within 1 % when timers fire late")
    func makesUpForLateness() async throws {
        // A timer that fires 1 ms late each time would reduce 100 per second to 91.
        let late = LateTime(time: time, by: .milliseconds(1))
        let limiter = try RateLimiter(RateLimits(default: .perSecond(100)), time: late, random: random)
        let (time, url) = (time, url)
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0...1_000 {
                    group.addTask {
                        if let slot = try? await limiter.start(Request(url), call: Call(time: late)) {
                            slot.finish()
                        }
                    }
                }
            }
        }
        #expect(abs(Instant(nanoseconds: 0).duration(to: time.now) / .seconds(1) - 10) < 0.1)
    }
}

/// A time source whose sleepers resume late.
private struct LateTime: TimeSource {
    let time: VirtualTime
    let by: Duration

    init(time: VirtualTime, by: Duration) { (self.time, self.by) = (time, by) }

    var now: Instant { time.now }
    var date: Date { time.date }
    func sleep(until deadline: Instant) async throws(LoadingError) {
        try await time.sleep(until: deadline.advanced(by: by))
    }
}
