#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadePolicies
import LadeTesting
import Testing

/// The order in which calls start, and how many run at the same time.
@Suite(.timeLimit(.minutes(5)))
struct RateLimiterOrderTests: RateLimiterSuite {
    let time = VirtualTime()
    let random = SeededRandom(seed: 11)
    let key = ServiceKey("api.example.com:443/v1")
    let url: URL

    init() throws { url = try #require(URL(string: "https://api.example.com/v1/shows")) }

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
                        slot?.finish()
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
                slot?.finish()
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
                            slot.finish()
                        }
                    }
                }
            }
            #expect(running.withLock(\.most) == limits ?? expected)
            #expect(begin.duration(to: time.now) == .seconds(12 / (limits ?? expected ?? 1)))
        }
    }

    @Test("policies PL-25 starts the most urgent call of all services when a slot is free again")
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
                        slot.finish()
                    }
                }
            }
        }
        #expect(order.withLock { $0 } == [0, 4, 5, 1, 2, 3])
    }

    /// 5 a second for the host, and 2 a second for its search.
    private static var limitsOfAHost: RateLimits {
        var limits = RateLimits()
        limits.furtherKeys = { [ServiceKey.perHost($0)] }
        limits.rates = [
            ServiceKey("api.example.com:443"): .perSecond(5), ServiceKey("api.example.com:443/search"): .perSecond(2),
        ]
        return limits
    }

    @Test("finding DC-2 a request keeps the limits of all its keys", arguments: [0, 1, 2, 3])
    func severalKeys(seed: Int) async throws {
        let (time, limiter) = (time, try limiter(Self.limitsOfAHost))
        let isSearch: @Sendable (Int) -> Bool = { number in
            switch seed {
            case 0: number % 2 == 0
            case 1: number < 10
            case 2: number >= 20
            default: number % 3 == 0
            }
        }
        let starts = await time.runAutomatically {
            await withTaskGroup(of: (Bool, Instant)?.self) { group in
                for number in 0..<30 {
                    group.addTask {
                        let path = isSearch(number) ? "search" : "shows"
                        guard let request = try? Request("https://api.example.com/\(path)"),
                            let slot = try? await limiter.start(request, call: Call(time: time))
                        else { return nil }
                        let start = time.now
                        slot.finish()
                        return (isSearch(number), start)
                    }
                }
                return await group.reduce(into: [(Bool, Instant)]()) { $0.append(contentsOf: [$1].compactMap(\.self)) }
            }
        }

        let all = starts.map(\.1).sorted()
        let searches = starts.filter(\.0).map(\.1).sorted()
        #expect(starts.count == 30 && limiter.waitingCount == 0)
        #expect(zip(all, all.dropFirst()).allSatisfy { $0.duration(to: $1) >= .milliseconds(200) })
        #expect(zip(searches, searches.dropFirst()).allSatisfy { $0.duration(to: $1) >= .milliseconds(500) })
        // Neither limit stands idle for long while calls wait for it; searches that arrive last start last.
        let least = seed == 2 ? 8.5 : max(Double(29) / 5, Double(searches.count - 1) / 2)
        #expect(all.last.map { $0 <= seconds(least + 1) } == true, "\(all.last as Any)")
    }

    @Test("finding DC-2 no slot of a key is held while a call waits for another key, nor after it was cancelled")
    func holdsNothing() async throws {
        var limits = Self.limitsOfAHost
        limits.rates[ServiceKey("api.example.com:443/search")] = .held
        limits.concurrency = 1
        let (time, limiter) = (time, try limiter(limits))
        let search = try Request("https://api.example.com/search")
        let held = Task { try await limiter.start(search, call: Call(time: time)) }
        while limiter.waitingCount < 1 { await Task.yield() }

        let show = try await limiter.start(Request(url), call: Call(time: time))
        #expect(limiter.estimatedWait(for: ServiceKey("api.example.com:443")) != .zero)
        show?.finish()
        held.cancel()
        guard case .failure = await held.result else {
            Issue.record("It was not cancelled")
            return
        }
        time.advance(by: .milliseconds(200))

        #expect(limiter.waitingCount == 0)
        #expect(limiter.estimatedWait(for: ServiceKey("api.example.com:443")) == .zero)
        // Each exchange counts once among all of them, whatever number of keys it has.
        try limiter.setTotalConcurrency(2)
        let first = try await limiter.start(Request(url), call: Call(time: time))
        #expect(first != nil && limiter.estimatedWait(for: ServiceKey("other")) == .zero)
        first?.finish()
    }
}
