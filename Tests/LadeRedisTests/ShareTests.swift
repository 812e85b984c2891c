import Foundation
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting
import Testing

/// A supply that grants what a test says.
private final class ScriptedSupply: RateSupply {
    private let receive = Locked<(@Sendable ([RateNews]) -> Void)?>(nil)
    private let taken = Locked<[RateOrder]>([])
    private let hasSlept = Locked(false)

    func attach(_ receive: @escaping @Sendable ([RateNews]) -> Void) -> Int {
        self.receive.withLock { $0 = receive }
        return 1
    }

    func carryOut(_ orders: [RateOrder], for limiter: Int) { taken.withLock { $0 += orders } }

    func touch() {
        let sleeps = hasSlept.withLock { hasSlept in
            defer { hasSlept = false }
            return hasSlept
        }
        if sleeps { send(.void) }
    }

    /// The machine sleeps, which the next use notices.
    func sleep() { hasSlept.withLock { $0 = true } }

    /// The orders since the last call.
    func orders() -> [RateOrder] {
        taken.withLock { orders in
            defer { orders = [] }
            return orders
        }
    }

    func send(_ news: RateNews...) { receive.withLock(\.self)?(news) }
}

/// A limiter whose slots come from outside.
@Suite(.timeLimit(.minutes(5)))
struct ShareTests {
    private let time = VirtualTime()
    private let supply = ScriptedSupply()
    private let key = ServiceKey("api.example.com:443/v1")

    private func makeLimiter(_ limits: RateLimits = RateLimits(default: .perSecond(10))) throws -> RateLimiter {
        try RateLimiter(limits, time: time, random: SeededRandom(seed: 1), supply: supply)
    }

    private func call(_ limiter: RateLimiter) -> Task<Instant?, Never> {
        let time = time
        return Task {
            do throws(LoadingError) {
                let slot = try await limiter.start(Request("https://api.example.com/v1/x"), call: Call(time: time))
                slot?.finish()
                return time.now
            } catch {
                return nil
            }
        }
    }

    /// Waits until so many calls wait.
    private func waiting(_ count: Int, _ limiter: RateLimiter) async {
        while limiter.waitingCount != count { await Task.yield() }
    }

    private func instant(_ milliseconds: Int64) -> Instant { time.now.advanced(by: .milliseconds(milliseconds)) }

    @Test("fleet RD-24 RD-33 a member asks for as many slots as calls wait, once")
    func asks() async throws {
        let limiter = try makeLimiter()
        supply.send(.joined(members: 2, active: 2))
        let calls = [call(limiter), call(limiter), call(limiter)]
        await waiting(3, limiter)
        let asked = supply.orders()
        #expect(asked == [.ask(RateAsk(key: key, count: 1, rate: .perSecond(10), holdsNone: true))])
        supply.send(.granted(key, slots: [time.now], lead: .milliseconds(5)))
        await waiting(2, limiter)
        time.advance(by: .milliseconds(100))
        while supply.orders().isEmpty { await Task.yield() }
        for call in calls { call.cancel() }
        for call in calls { _ = await call.value }
    }

    @Test("fleet RD-24 while a fast limit delays no call, slots are requested before calls need them")
    func spare() async throws {
        let limiter = try makeLimiter(RateLimits(default: .perSecond(100_000)))
        supply.send(.joined(members: 1, active: 1))
        let request = try Request("https://api.example.com/v1/x")
        let first = call(limiter)
        await waiting(1, limiter)
        #expect(supply.orders().count == 1)
        supply.send(.granted(key, slots: [time.now], lead: .milliseconds(5)))
        #expect(await first.value != nil)
        // Eight slots follow that no call needs yet; then calls start without waiting.
        let rate = RateLimits.Rate.perSecond(100_000)
        #expect(supply.orders() == [.ask(RateAsk(key: key, count: 8, rate: rate, holdsNone: true))])
        time.advance(by: .milliseconds(1))
        supply.send(.granted(key, slots: Array(repeating: time.now, count: 8), lead: .milliseconds(5)))
        for _ in 0..<3 {
            time.advance(by: .microseconds(10))
            try await limiter.start(request, call: Call(time: time))?.finish()
        }
        #expect(limiter.waitingCount == 0)
        #expect(supply.orders().count == 1)
    }

    @Test("fleet RD-26 slots that no call waits for any longer are returned")
    func returned() async throws {
        let limiter = try makeLimiter()
        supply.send(.joined(members: 1, active: 1))
        let first = call(limiter)
        await waiting(1, limiter)
        supply.send(.granted(key, slots: [instant(1_000)], lead: .milliseconds(5)))
        _ = supply.orders()
        let second = call(limiter)
        await waiting(2, limiter)
        first.cancel()
        _ = await first.value
        // The slot is the next caller's.
        #expect(!supply.orders().contains { if case .giveBack = $0 { true } else { false } })
        second.cancel()
        _ = await second.value
        #expect(supply.orders().contains(.giveBack(key, count: 1)))
    }

    @Test("fleet RD-32 a held rate and a service without a rate ask for nothing")
    func held() async throws {
        let limiter = try makeLimiter(RateLimits(default: .held))
        supply.send(.joined(members: 1, active: 1))
        let held = call(limiter)
        await waiting(1, limiter)
        #expect(supply.orders().isEmpty)
        held.cancel()
        _ = await held.value
        let free = try makeLimiter(RateLimits())
        #expect(await call(free).value != nil)
        #expect(supply.orders().isEmpty)
    }

    @Test("fleet RD-40 before the first contact calls wait for the fleet, and the event says so")
    func waitsForContact() async throws {
        let limiter = try makeLimiter()
        let request = try Request("https://api.example.com/v1/x")
        let recorder = EventRecorder()
        let call = Call(time: time, events: [recorder])
        let task = Task { try? await limiter.start(request, call: call) }
        await waiting(1, limiter)
        #expect(recorder.story.contains { $0.contains("the store that shares the rate limit") }, "\(recorder.story)")
        task.cancel()
        _ = await task.value
    }

    @Test("fleet RD-41 numbers of concurrent exchanges are divided among the members, at least one each")
    func concurrency() async throws {
        var limits = RateLimits()
        limits.concurrency = 4
        let limiter = try makeLimiter(limits)
        supply.send(.joined(members: 2, active: 2))
        let request = try Request("https://api.example.com/v1/x")
        let slots = [
            try await limiter.start(request, call: Call(time: time)),
            try await limiter.start(request, call: Call(time: time)),
        ]
        let third = call(limiter)
        await waiting(1, limiter)
        supply.send(.members(1, active: 1))
        #expect(await third.value != nil)
        supply.send(.members(9, active: 9))
        for slot in slots { slot?.finish() }
        let recorder = EventRecorder()
        try await limiter.start(request, call: Call(time: time, events: [recorder]))?.finish()
        #expect(recorder.story.contains { $0.contains("fleetCoarse") }, "\(recorder.story)")
    }

    @Test("fleet RD-23 slots that have passed are void, and no call uses them")
    func void() async throws {
        let limiter = try makeLimiter()
        supply.send(.joined(members: 1, active: 1))
        let waiting = call(limiter)
        await self.waiting(1, limiter)
        _ = supply.orders()
        supply.send(.granted(key, slots: [instant(-3_000), instant(-101)], lead: .milliseconds(5)))
        #expect(limiter.waitingCount == 1)
        #expect(supply.orders() == [.ask(RateAsk(key: key, count: 1, rate: .perSecond(10), holdsNone: true))])
        waiting.cancel()
        _ = await waiting.value
    }

    @Test("fleet RD-23 a slot may be late by one interval, so that a late timer does not lose it")
    func late() async throws {
        let limiter = try makeLimiter()
        supply.send(.joined(members: 1, active: 1))
        let call = call(limiter)
        await waiting(1, limiter)
        supply.send(.granted(key, slots: [instant(-99)], lead: .milliseconds(5)))
        #expect(await call.value != nil)
    }

    @Test("fleet RD-23 slots from before a sleep of the machine are void, though no clock of the process shows it")
    func slept() async throws {
        let limiter = try makeLimiter()
        supply.send(.joined(members: 1, active: 1))
        let call = call(limiter)
        await waiting(1, limiter)
        supply.send(.granted(key, slots: [instant(50)], lead: .milliseconds(5)))
        _ = supply.orders()
        supply.sleep()
        time.advance(by: .milliseconds(50))
        while supply.orders().isEmpty { await Task.yield() }
        #expect(limiter.waitingCount == 1)
        call.cancel()
        _ = await call.value
    }

    @Test("fleet RD-49 rates can be changed, set and removed as without a fleet, and waits are those of this member")
    func changes() async throws {
        let limiter = try makeLimiter()
        supply.send(.joined(members: 2, active: 2))
        let first = call(limiter)
        await waiting(1, limiter)
        #expect(limiter.estimatedWait(for: key) == nil)
        #expect(limiter.waitingCount == 1)
        try limiter.setRate(50, for: key)
        #expect(limiter.rate(for: key)?.perSecond == 50)
        try limiter.setDefaultRate(nil)
        limiter.removeRate(for: key)
        // Without a rate no slot is needed.
        #expect(await first.value != nil)
    }

    @Test("fleet RD-112 a store that grants everything at once lets a member reach its own rate, and no more")
    func hostile() async throws {
        let limiter = try makeLimiter()
        supply.send(.joined(members: 1, active: 1))
        let calls = (0..<5).map { _ in call(limiter) }
        await waiting(5, limiter)
        supply.send(.granted(key, slots: Array(repeating: time.now, count: 64), lead: .milliseconds(5)))
        await waiting(4, limiter)
        #expect(limiter.waitingCount == 4)
        for call in calls { call.cancel() }
        for call in calls { _ = await call.value }
    }

    @Test("fleet RD-36 a reading begins the sharing of a quota, and calls start when the store has granted them slots")
    func quota() async throws {
        let limiter = try makeLimiter(RateLimits())
        supply.send(.joined(members: 2, active: 2))
        let request = try Request("https://api.example.com/v1/x")
        let headers: Headers = [
            "X-RateLimit-Limit": "100", "X-RateLimit-Remaining": "50", "X-RateLimit-Reset": "30",
        ]
        limiter.observe(200, headers, of: request, call: Call(time: time))
        var report = QuotaAsk(key: key, account: "")
        (report.limit, report.interval) = (100, .nanoseconds(588_235_294))
        report.reading = QuotaAsk.Reading(remaining: 50, reset: .seconds(30), inFlight: 0)
        #expect(supply.orders() == [.quota(report)])
        let first = call(limiter)
        await waiting(1, limiter)
        #expect(limiter.estimatedWait(for: key) == nil)
        let end = instant(30_000)
        supply.send(.quota(key, account: "", .granted([], lead: .zero, window: 1, end: end, isUsedUp: false)))
        guard case .quota(let ask)? = supply.orders().first else {
            Issue.record("no ask")
            return
        }
        #expect(ask.count == 1 && ask.reading == nil && ask.window == 1)
        supply.send(.quota(key, account: "", .granted([time.now], lead: .zero, window: 1, end: end, isUsedUp: false)))
        #expect(await first.value != nil)
    }

    @Test("fleet RD-36 slots of a quota are returned when no call waits for them, and those of a used-up one are void")
    func returnedQuota() async throws {
        let limiter = try makeLimiter(RateLimits())
        supply.send(.joined(members: 2, active: 2), .quotaAnnounced(key, for: .seconds(30)))
        let (first, second) = (call(limiter), call(limiter))
        await waiting(2, limiter)
        #expect(supply.orders().count == 1)
        let end = instant(30_000)
        let slots = [instant(1_000), instant(2_000)]
        supply.send(.quota(key, account: "", .granted(slots, lead: .zero, window: 3, end: end, isUsedUp: false)))
        first.cancel()
        _ = await first.value
        guard case .quota(let ask)? = supply.orders().first else {
            Issue.record("nothing is returned")
            return
        }
        #expect(ask.returned == 1 && ask.window == 3 && ask.count == 0)
        supply.send(.quota(key, account: "", .usedUp(for: .seconds(29))))
        #expect(limiter.estimatedWait(for: key) == nil)
        time.advance(by: .milliseconds(1_500))
        #expect(limiter.waitingCount == 1)
        second.cancel()
        _ = await second.value
    }

    @Test("fleet RD-36 a quota that the store does not know delays no call")
    func noQuota() async throws {
        let limiter = try makeLimiter(RateLimits())
        supply.send(.joined(members: 2, active: 2), .quotaAnnounced(key, for: .seconds(30)))
        let first = call(limiter)
        await waiting(1, limiter)
        supply.send(.quota(key, account: "", .none))
        #expect(await first.value != nil)
        #expect(await call(limiter).value != nil)
    }

    @Test("fleet RD-34 without a rate, calls after a shared delay are spread over the members' time")
    func spread() async throws {
        let limiter = try makeLimiter(RateLimits())
        supply.send(.joined(members: 4, active: 4))
        supply.send(.gate(key, for: .seconds(10)))
        #expect(limiter.estimatedWait(for: key) == .seconds(10))
        // A longer one stays.
        supply.send(.gate(key, for: .seconds(5)))
        #expect(limiter.estimatedWait(for: key) == .seconds(10))
    }
}
