#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadePolicies
import LadeTesting
import Testing

@Suite struct RateLimiterTests {
    let time = VirtualTime()
    let random = SeededRandom(seed: 11)
    let key = ServiceKey("api.example.com:443/v1")
    let url: URL

    init() throws { url = try #require(URL(string: "https://api.example.com/v1/shows")) }

    private func limiter(_ limits: RateLimits = RateLimits(default: .perSecond(10))) throws -> RateLimiter {
        try RateLimiter(limits, time: time, random: random)
    }

    private func seconds(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1e9).rounded())) }

    /// Starts so many calls at once and gives the times at which they got their slots, in order of arrival.
    private func starts(
        _ count: Int,
        _ limiter: RateLimiter,
        path: String = "/v1/shows",
        priority: @escaping @Sendable (Int) -> Request.Priority = { _ in .normal },
        meanwhile: @escaping @Sendable () async -> Void = {}
    ) async -> [Instant] {
        let time = time
        return await time.runAutomatically {
            await withTaskGroup(of: (Int, Instant).self) { group in
                for number in 0..<count {
                    group.addTask {
                        guard var request = try? Request("https://api.example.com\(path)") else {
                            return (number, .init(nanoseconds: -1))
                        }
                        request.priority = priority(number)
                        let call = Call(id: .init(UInt64(number + 1)), time: time)
                        guard let slot = try? await limiter.start(request, call: call) else {
                            return (number, .init(nanoseconds: -1))
                        }
                        let start = time.now
                        limiter.finish(slot)
                        return (number, start)
                    }
                }
                group.addTask {
                    await meanwhile()
                    return (count, time.now)
                }
                return await group.reduce(into: [(Int, Instant)]()) { $0.append($1) }
                    .sorted { $0.0 < $1.0 }.dropLast().map(\.1)
            }
        }
    }

    @Test("service D-03 policies PL-22 keeps a gate closed whatever shorter pause is asked for")
    func keepsGates() async throws {
        let limiter = try limiter()
        limiter.closeGate(of: key, for: .seconds(60))
        limiter.closeGate(of: key, for: .seconds(1))
        #expect(try #require(limiter.wait(for: key)) >= .seconds(60))
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

    @Test("policies PL-20 lets a burst go at once and spaces the rest")
    func letsBurstsGo() async throws {
        let starts = await starts(6, try limiter(RateLimits(default: .perSecond(10, burst: 3))))
        #expect(starts == [0, 0, 0, 0.1, 0.2, 0.3].map(seconds))
    }

    @Test("policies PL-20 goes by a new rate at once, for those too who wait")
    func changesRates() async throws {
        let limiter = try limiter(RateLimits(default: .perSecond(0.1)))
        let (time, url) = (time, url)
        let change: @Sendable () async -> Void = {
            try? await time.sleep(for: .seconds(5))
            try? limiter.setRate(10, for: url)
        }
        let starts = await self.starts(3, limiter, meanwhile: change)
        // Half an interval was owed, which is half of a shorter one now.
        #expect(starts == [0, 5.05, 5.15].map(seconds))
    }

    @Test("service D-11 policies PL-20 holds every call at rate zero until the rate is changed")
    func holds() async throws {
        let limiter = try limiter(RateLimits(default: .held))
        let (time, url) = (time, url)
        let task = Task { () async throws in
            let slot = try await limiter.start(Request(url), call: Call(time: time))
            limiter.finish(slot)
        }
        while limiter.waitingCount == 0 { await Task.yield() }
        #expect(limiter.wait(for: key) == nil)
        time.advance(by: .seconds(1_000_000))
        #expect(limiter.waitingCount == 1)
        try limiter.setRate(1, for: url)
        try await task.value
    }

    @Test("service D-11 rejects what is no rate", arguments: [-1, -0.001, .nan, .infinity])
    func rejectsNonsense(rate: Double) throws {
        let limiter = try limiter()
        let attempts: [() throws -> Void] = [
            { try limiter.setRate(rate, for: key) }, { try limiter.setDefaultRate(.perSecond(rate)) },
            { _ = try RateLimiter(RateLimits(default: .perSecond(rate))) },
        ]
        for attempt in attempts {
            let error = #expect(throws: LoadingError.self) { try attempt() }
            guard case .invalidSetting(name: "rate", _, _)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(throws: LoadingError.self) { try limiter.setRate(1, burst: 0, for: key) }
        #expect(throws: LoadingError.self) { try limiter.setConcurrency(0, for: key) }
    }

    @Test("policies PL-21 lets urgent calls pass and keeps the order within a priority")
    func ordersByPriority() async throws {
        let starts = await starts(6, try limiter()) { [.normal, .low, .normal, .high, .low, .high][$0] }
        #expect(starts == [0, 0.4, 0.3, 0.1, 0.5, 0.2].map(seconds))
    }

    @Test("policies PL-25 gives a waiting call another priority and its place by arrival")
    func changesPriorities() async throws {
        let limiter = try limiter()
        let (time, url) = (time, url)
        let starts = await time.runAutomatically {
            await withTaskGroup(of: (UInt64, Instant).self) { group in
                for number in UInt64(1)...5 {
                    group.addTask {
                        let slot = try? await limiter.start(Request(url), call: Call(id: .init(number), time: time))
                        let start = time.now
                        if let slot { limiter.finish(slot) }
                        return (number, start)
                    }
                }
                group.addTask {
                    try? await time.sleep(for: .milliseconds(50))
                    limiter.setPriority(.high, of: .init(5))
                    limiter.setPriority(.high, of: .init(4))
                    limiter.setPriority(.low, of: .init(2))
                    limiter.setPriority(.high, of: .init(99))
                    return (0, time.now)
                }
                return await group.reduce(into: [UInt64: Instant]()) { $0[$1.0] = $1.1 }
            }
        }
        #expect(starts[1] == seconds(0))
        #expect(starts[4] == seconds(0.1))
        #expect(starts[5] == seconds(0.2))
        #expect(starts[3] == seconds(0.3))
        #expect(starts[2] == seconds(0.4))
    }

    @Test("policies PL-21 service D-10 service D-46 gives the place of a cancelled call to the next")
    func givesPlacesBack() async throws {
        let limiter = try limiter(RateLimits(default: .perSecond(1)))
        let (time, url) = (time, url)
        let begun = Locked<[Int: Instant]>([:])
        let tasks = (0..<4).map { number in
            Task { () async throws in
                while limiter.waitingCount < number - 1 { await Task.yield() }
                let slot = try await limiter.start(Request(url), call: Call(time: time))
                begun.withLock { $0[number] = time.now }
                limiter.finish(slot)
            }
        }
        while limiter.waitingCount < 3 { await Task.yield() }
        tasks[1].cancel()
        tasks[2].cancel()
        for task in tasks[1...2] {
            guard case .failure(let error as LoadingError) = await task.result, error.isCancellation else {
                Issue.record("It was not cancelled")
                continue
            }
        }
        #expect(limiter.waitingCount == 1)
        try await time.advanceToNextSleeper()
        try await tasks[3].value
        #expect(begun.withLock { $0[3] } == seconds(1))
        #expect(limiter.waitingCount == 0)
    }

    @Test("policies PL-02 refuses at once whoever cannot start in time, and says how long it would have been")
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
            guard case .deadlineExceeded(let report, _) = error else { throw error }
            #expect(
                report.impossibleWait == .init(stage: .wait(.rateLimit(key: key.description)), duration: .seconds(20))
            )
        }
        // A gate makes those hopeless who were not.
        limiter.closeGate(of: key, for: .seconds(30))
        guard case .failure(let error as LoadingError) = await waiting.result,
            case .deadlineExceeded(let report, _) = error
        else {
            Issue.record("It went on waiting")
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
        call.ledger = StageLedger(start: time.now)
        call.deadline = time.now.advanced(by: .seconds(15))
        let error = await time.runAutomatically { [call] () -> LoadingError? in
            do throws(LoadingError) {
                _ = try await limiter.start(Request(url), call: call)
                return nil
            } catch {
                return error
            }
        }
        guard case .deadlineExceeded(let report, _)? = error else { throw error ?? .cancelled(.init()) }
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
            guard case .rateLimited(key.description, let wait, _) = error else { throw error }
            // No server can close a gate for more than an hour.
            #expect(wait >= .seconds(3600) && wait < .seconds(3601))
        }
    }

    @Test("policies PL-25 starts no more exchanges at a time than allowed, per service and in all")
    func observesCaps() async throws {
        for (limits, expected) in [(2, nil as Int?), (nil as Int?, 3)] {
            var settings = RateLimits()
            (settings.concurrency, settings.totalConcurrency) = (limits, expected)
            let limiter = try limiter(settings)
            let (time, running) = (time, Locked((now: 0, most: 0)))
            let begin = time.now
            await time.runAutomatically {
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<12 {
                        group.addTask {
                            guard
                                let request = try? Request(
                                    "https://api.example.com/\(expected == nil ? 0 : number % 4)"
                                ),
                                let slot = try? await limiter.start(request, call: Call(time: time))
                            else { return }
                            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
                            try? await time.sleep(for: .seconds(1))
                            running.withLock { $0.now -= 1 }
                            limiter.finish(slot)
                        }
                    }
                }
            }
            #expect(running.withLock(\.most) == limits ?? expected)
            #expect(begin.duration(to: time.now) == .seconds(12 / (limits ?? expected ?? 1)))
        }
    }

    @Test("policies PL-25 takes the most urgent of all services when there is room again")
    func ordersAcrossServices() async throws {
        var settings = RateLimits()
        settings.totalConcurrency = 1
        let limiter = try limiter(settings)
        let time = time
        let order = Locked<[Int]>([])
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<6 {
                    group.addTask {
                        guard var request = try? Request("https://api.example.com/\(number % 3)") else { return }
                        request.priority = number >= 4 ? .high : .normal
                        guard let slot = try? await limiter.start(request, call: Call(time: time)) else { return }
                        order.withLock { $0.append(number) }
                        try? await time.sleep(for: .seconds(1))
                        limiter.finish(slot)
                    }
                }
            }
        }
        #expect(order.withLock { $0 } == [0, 4, 5, 1, 2, 3])
    }

    @Test("forgets idle services, and none that is busy or has something to remember")
    func forgets() async throws {
        var settings = RateLimits(default: .perSecond(1))
        settings.idleKeyLimit = 100
        let limiter = try limiter(settings)
        limiter.closeGate(of: ServiceKey("api.example.com:443/gate"), for: .seconds(3600))
        for number in 0..<10_000 {
            let slot = try await limiter.start(Request("https://api.example.com/\(number)"), call: Call(time: time))
            limiter.finish(slot)
            time.advance(by: .milliseconds(100))
        }
        #expect(limiter.keyCount <= 101)
        #expect(try #require(limiter.wait(for: ServiceKey("api.example.com:443/gate"))) > .seconds(2000))
    }

    @Test("policies PL-24 keeps 1,000 services to their rates with 10,000 waiting calls", arguments: [UInt64(1), 2, 3])
    func keepsRates(seed: UInt64) async throws {
        let draws = SeededRandom(seed: seed)
        let limiter = try limiter(RateLimits())
        var rates: [Rate] = []
        for number in 0..<1_000 {
            let rate = Rate(perSecond: 0.5 + draws.unit() * 20, burst: 1 + Int(draws.unit() * 5))
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
                        limiter.finish(slot)
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
        "policies PL-21 policies PL-24 lets everybody start or leave, whoever is cancelled when",
        .timeLimit(.minutes(1)),
        arguments: (UInt64(1)...20).map(\.self)
    )
    func survivesCancellations(seed: UInt64) async throws {
        let draws = SeededRandom(seed: seed)
        var settings = RateLimits(default: Rate(perSecond: 1 + draws.unit() * 9, burst: 1 + Int(draws.unit() * 3)))
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
                                limiter.finish(slot)
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

    @Test("policies PL-21 serves real threads without losing a waiter", .timeLimit(.minutes(1)))
    func servesThreads() async throws {
        let limiter = try RateLimiter(RateLimits(default: Rate(perSecond: 20_000, burst: 2)))
        let url = url
        let tasks = (0..<500).map { number in
            Task {
                let slot = try? await limiter.start(Request(url), call: Call(id: .init(UInt64(number + 1))))
                if let slot { limiter.finish(slot) }
                return slot != nil
            }
        }
        for (number, task) in tasks.enumerated() where number % 3 == 0 { task.cancel() }
        for (number, task) in tasks.enumerated() {
            let hasStarted = await task.value
            #expect(hasStarted || number % 3 == 0)
        }
        #expect(limiter.waitingCount == 0)
    }

    @Test("policies PL-24 service D-45 keeps its rate when alarms ring late, within 1 %")
    func makesUpForLateness() async throws {
        // An alarm that rings 1 ms late each time would make 100 per second 91.
        let late = LateTime(time: time, by: .milliseconds(1))
        let limiter = try RateLimiter(RateLimits(default: .perSecond(100)), time: late, random: random)
        let (time, url) = (time, url)
        await time.runAutomatically {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0...1_000 {
                    group.addTask {
                        if let slot = try? await limiter.start(Request(url), call: Call(time: late)) {
                            limiter.finish(slot)
                        }
                    }
                }
            }
        }
        #expect(abs(Instant(nanoseconds: 0).duration(to: time.now) / .seconds(1) - 10) < 0.1)
    }
}

/// A time source whose sleepers wake up late.
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
