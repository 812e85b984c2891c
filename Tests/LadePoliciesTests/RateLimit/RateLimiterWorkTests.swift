import LadeCore
import LadeTesting
import Testing

@testable import LadePolicies

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How much work a call causes when many others wait, counted in comparisons.
@Suite(.timeLimit(.minutes(5)))
struct RateLimiterWorkTests {
    private func second(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    private func key(_ number: Int) -> ServiceKey { ServiceKey("host\(number).example.com:443/") }

    /// The work of one change.
    private func work(_ state: inout RateLimiterState, _ change: (inout RateLimiterState) -> Void) -> Int {
        let before = state.work
        change(&state)
        return state.work - before
    }

    private func bound(_ count: Int) -> Int { 12 * (Int.bitWidth - count.leadingZeroBitCount) }

    @Test("finding FP-17 a call costs no more than logarithmic work beside 10,000 that wait", arguments: [100, 10_000])
    func manyWaiters(count: Int) {
        var limits = RateLimits(default: .perSecond(1))
        limits.delayLimit = .seconds(100_000)
        var state = RateLimiterState(limits, seed: 1)
        var worst: [String: Int] = [:]
        func note(_ name: String, _ work: Int) { worst[name] = max(worst[name] ?? 0, work) }

        for number in 1...count {
            let call = Call(id: .init(UInt64(number)), account: "account \(number % 7)")
            let priority = [Request.Priority.low, .normal, .high][number % 3]
            let deadline = second(Int64(1_000_000 - number))
            let arrival = work(&state) {
                let taskPriority = UInt8(number % 30)
                let now = second(0)
                _ = $0.arrive(key(0), priority, deadline: deadline, call: call, taskPriority: taskPriority, now: now)
            }
            note("arrival", arrival)
        }
        for number in 2..<50 {
            let id = UInt64(number * count / 101)
            let priority = number % 2 == 0 ? Request.Priority.high : .low
            note("priority", work(&state) { _ = $0.setPriority(priority, of: .init(id), now: second(0)) })
            note("cancellation", work(&state) { _ = $0.cancel(id, now: second(0)) })
        }
        for moment in Int64(1)...20 {
            note("start", work(&state) { _ = $0.fire(key(0), due: second(moment), now: second(moment)) })
            note(
                "end",
                work(&state) { _ = $0.finish(0, of: "account 1", key(0), isUnused: false, now: second(moment)) }
            )
        }
        // The first delay visits every call once; a response that makes it a little longer does not.
        _ = state.close(key(0), nil, for: .seconds(10), now: second(21))
        for more in 1...20 {
            note("delay", work(&state) { _ = $0.close(key(0), nil, for: .seconds(10 + 2 * more), now: second(21)) })
        }

        #expect(state.waitingCount >= count - 80)
        #expect(worst.allSatisfy { $0.value <= bound(count) }, "\(worst), at most \(bound(count))")
    }

    @Test("finding FP-17 a call costs no more than logarithmic work beside 10,000 host keys", arguments: [200, 10_000])
    func manyKeys(count: Int) {
        var limits = RateLimits()
        limits.totalConcurrency = 1
        var state = RateLimiterState(limits, seed: 1)
        for number in 0..<count {
            let call = Call(id: .init(UInt64(number + 1)))
            _ = state.arrive(key(number), .normal, deadline: nil, call: call, taskPriority: 21, now: second(0))
        }
        var worst = 0

        for number in 0..<100 {
            let steps = work(&state) { _ = $0.finish(0, of: "", key(number), isUnused: false, now: second(1)) }
            worst = max(worst, steps)
        }

        #expect(state.waitingCount == count - 101)
        #expect(worst <= bound(count), "\(worst), at most \(bound(count))")
    }

    @Test("finding FP-17 keeps elements in the order of their ranks through any changes")
    func priorityIndex() {
        let random = SeededRandom(seed: 7)
        var index = PriorityIndex<Int, Int>()
        var model: [Int: Int] = [:]
        for _ in 0..<3_000 {
            let (element, rank) = (Int(random.next() % 200), Int(random.next() % 1_000))
            if random.next() % 3 == 0 {
                index.remove(element)
                model[element] = nil
            } else {
                index.set(element, rank)
                model[element] = rank
            }
            #expect(index.first?.rank == model.values.min())
            #expect(index.count == model.count)
            #expect(index[element] == model[element])
        }
        var drained: [Int] = []
        while let (element, rank) = index.first {
            drained.append(rank)
            index.remove(element)
        }
        #expect(drained == model.values.sorted())
    }

    // MARK: - The timer

    @Test("finding FP-19 the waiting call with the highest task priority keeps the timer")
    func leaders() {
        var state = RateLimiterState(RateLimits(default: .perSecond(1)), seed: 1)
        var leaders: [UInt8?] = []
        for (number, priority) in ([21, 9, 25, 9, 21] as [UInt8]).enumerated() {
            let call = Call(id: .init(UInt64(number + 1)))
            _ = state.arrive(key(0), .normal, deadline: nil, call: call, taskPriority: priority, now: second(0))
            leaders.append(state.buckets[key(0)]?.leader?.taskPriority)
        }
        // The second waiter in the queue arrived third.
        _ = state.cancel(2, now: second(0))
        leaders.append(state.buckets[key(0)]?.leader?.taskPriority)

        #expect(leaders == [nil, 9, 25, 25, 25, 21])
    }

    @Test("finding FP-19 the timer of a user's call does not run in the task of a background call")
    func timerPriority() async throws {
        let time = NotingTime()
        let limiter = try RateLimiter(RateLimits(default: .perSecond(1)), time: time)
        let request = try Request("https://svc.example.com/")
        try await limiter.start(request, call: Call(time: time))?.finish()

        let background = Task(priority: .background) {
            try await limiter.start(request, call: Call(time: time))?.finish()
        }
        _ = try await time.base.sleepers(atLeast: 1)
        let user = Task(priority: .high) { try await limiter.start(request, call: Call(time: time))?.finish() }
        _ = try await time.base.sleepers(atLeast: 2)

        let priorities = time.priorities.withLock { $0 }
        #expect(priorities.count == 2)
        #expect(priorities[0] < .high)
        #expect(priorities[1] == .high)
        background.cancel()
        user.cancel()
        _ = await background.result
        _ = await user.result
    }
}

/// A virtual time that records the priorities of sleeping tasks.
private final class NotingTime: TimeSource {
    let base = VirtualTime()
    let priorities = Locked<[TaskPriority]>([])

    var now: Instant { base.now }
    var date: Date { base.date }

    func sleep(until deadline: Instant) async throws(LoadingError) {
        priorities.withLock { $0.append(Task.currentPriority) }
        try await base.sleep(until: deadline)
    }
}
