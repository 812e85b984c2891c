import Foundation
import LadeCore
import LadePolicies
import LadeRedis
import LadeTesting

/// The store in virtual time, with a clock of its own.
final class SimulatedStore: Sendable {
    private struct State {
        var model = StoreModel()
        var offset = 1.7e15
        var isReachable = true
        var asks = 0
        var quotaAsks = 0
    }

    private let state = Locked(State())

    var isReachable: Bool {
        get { state.withLock(\.isReachable) }
        set { state.withLock { $0.isReachable = newValue } }
    }

    /// The commands that asked for slots.
    var asks: Int { state.withLock(\.asks) }
    var quotaAsks: Int { state.withLock(\.quotaAsks) }

    func flush() { state.withLock { $0.model.flush() } }
    func jump(by seconds: Double) { state.withLock { $0.offset += seconds * 1e6 } }

    /// Keeps the present contents as a copy, and puts them back when called.
    func snapshot() -> @Sendable () -> Void {
        let model = state.withLock(\.model)
        return { [state] in state.withLock { $0.model = model } }
    }

    func run(_ command: FleetMember.Command, at now: Instant) -> StoreReply? {
        state.withLock { state in
            guard state.isReachable else { return nil }
            if command.script == .ask { state.asks += 1 }
            if command.script == .quota { state.quotaAsks += 1 }
            return state.model.run(command, now: (state.offset + Double(now.nanoseconds) / 1_000).rounded())
        }
    }
}

/// Virtual time with another origin and another speed, as the clock of another machine.
struct SkewedTime: TimeSource {
    let base: VirtualTime
    let skew: Duration
    /// How much faster it runs, in millionths.
    var drift: Int64 = 0

    var now: Instant {
        base.now.advanced(by: skew).advanced(by: .nanoseconds(base.now.nanoseconds / 1_000_000 * drift))
    }
    var date: Date { base.date }

    func sleep(until deadline: Instant) async throws(LoadingError) {
        let local = deadline.advanced(by: .zero - skew)
        try await base.sleep(until: local.advanced(by: .nanoseconds(-(local.nanoseconds / 1_000_000 * drift))))
        // A rounding of nanoseconds.
        while now < deadline { try await base.sleep(until: base.now.advanced(by: now.duration(to: deadline))) }
    }
}

/// A member in virtual time: ``FleetMember`` between a limiter and the simulated store.
final class SimulatedMember: RateSupply {
    private struct State {
        var member: FleetMember
        var receive: (@Sendable ([RateNews]) -> Void)?
        var replies: [(at: Instant, reply: StoreReply)] = []
        var isOpen = false
        var hasDemand = false
        var isKilled = false
        /// Whether the network between this member and the store is interrupted.
        var isCut = false
        var nextTry = Instant(nanoseconds: .min)
        var events: [Call.Event] = []
    }

    private let state: Locked<State>
    private let store: SimulatedStore
    /// The member's own clock.
    let clock: SkewedTime
    private let delay: Duration
    /// A reply takes up to as much longer.
    private let jitter: Duration
    private let random: SeededRandom
    private let begin: Instant
    static let step = Duration.milliseconds(1)

    init(
        _ number: Int,
        _ store: SimulatedStore,
        _ time: VirtualTime,
        delay: Duration = .milliseconds(1),
        jitter: Duration = .zero,
        skew: Duration = .zero,
        drift: Int64 = 0,
        size: Int = 1,
        sharesAlone: Bool = true,
        name: String? = nil,
        forget: Duration = .seconds(60),
        from begin: Double = 0
    ) {
        var settings = FleetMember.Settings(fleet: "test", id: "id\(number)", name: name ?? "member\(number)")
        settings.declared = size
        settings.forget = forget
        self.begin = Instant(nanoseconds: Int64(begin * 1e9))
        settings.sharesAlone = sharesAlone
        (self.store, self.delay, self.jitter) = (store, delay, jitter)
        random = SeededRandom(seed: UInt64(number))
        clock = SkewedTime(base: time, skew: skew, drift: drift)
        state = Locked(State(member: FleetMember(settings, now: clock.now)))
    }

    var events: [Call.Event] { state.withLock(\.events) }
    var member: FleetMember { state.withLock(\.member) }

    func cut(_ isCut: Bool) { state.withLock { $0.isCut = isCut } }

    func kill() { state.withLock { $0.isKilled = true } }

    func leave() {
        let now = clock.now
        carry(
            state.withLock { state in
                state.member.leave(now)
                return state.member.take()
            }
        )
        kill()
    }

    func attach(_ receive: @escaping @Sendable ([RateNews]) -> Void) -> Int {
        state.withLock { $0.receive = receive }
        return 1
    }

    func touch() { state.withLock { $0.hasDemand = true } }

    func carryOut(_ orders: [RateOrder], for limiter: Int) {
        let now = clock.now
        carry(
            state.withLock { state in
                guard !state.isKilled else { return [] }
                for order in orders { state.member.order(order, of: limiter, now) }
                return state.member.take()
            }
        )
    }

    /// Works until it is killed or its task is cancelled.
    func run() async {
        try? await clock.base.sleep(until: begin)
        while (try? await clock.base.sleep(for: Self.step)) != nil, !state.withLock(\.isKilled) { turn() }
    }

    private func turn() {
        let now = clock.now
        if !state.withLock(\.isOpen), store.isReachable, !state.withLock(\.isCut), state.withLock({ $0.nextTry <= now })
        {
            carry(
                state.withLock { state in
                    state.isOpen = true
                    state.member.opened(now)
                    return state.member.take()
                }
            )
        }
        while let reply = state.withLock({ state -> StoreReply? in
            guard let first = state.replies.first, first.at <= now else { return nil }
            return state.replies.removeFirst().reply
        }) {
            carry(
                state.withLock { state in
                    state.member.reply(reply, now)
                    return state.member.take()
                }
            )
        }
        carry(
            state.withLock { state in
                if state.member.due <= now || state.hasDemand { state.member.tick(now, hasDemand: state.hasDemand) }
                state.hasDemand = false
                return state.member.take()
            }
        )
    }

    private func carry(_ actions: [FleetMember.Action]) {
        let now = clock.now
        for action in actions {
            switch action {
            case .send(let command, _):
                guard !state.withLock(\.isCut), let reply = store.run(command, at: clock.base.now) else { continue }
                let arrival = now.advanced(by: delay + jitter * random.unit())
                // Replies arrive in order.
                state.withLock { $0.replies.append((max(arrival, $0.replies.last?.at ?? arrival), reply)) }
            case .news(_, let news):
                if case .event(let event) = news { state.withLock { $0.events.append(event) } }
                state.withLock(\.receive)?([news])
            case .close:
                state.withLock { state in
                    (state.isOpen, state.replies) = (false, [])
                    state.nextTry = now.advanced(by: .milliseconds(50))
                }
            case .refuse, .move, .offer, .credentials, .board, .beatBoards: break
            }
        }
    }
}

/// Starts of calls, judged from outside.
final class Judge: Sendable {
    private let starts = Locked<[(member: Int, time: Instant)]>([])

    func note(_ member: Int, _ time: Instant) { starts.withLock { $0.append((member, time)) } }

    var count: Int { starts.withLock(\.count) }
    var times: [Instant] { starts.withLock { $0.map(\.time) } }

    func times(of member: Int) -> [Instant] { starts.withLock { $0.filter { $0.member == member }.map(\.time) } }

    /// The most calls above burst + rate × time in any window.
    func excess(rate: Double, burst: Int = 1, from start: Double = 0) -> Double {
        var least = Double.infinity
        var excess = -Double.infinity
        let seconds = times.map { Double($0.nanoseconds) / 1e9 }.sorted().filter { $0 >= start }
        for (index, second) in seconds.enumerated() {
            least = min(least, Double(index) - rate * second)
            excess = max(excess, Double(index) + 1 - rate * second - least - Double(burst))
        }
        return excess
    }

    func used(rate: Double, from start: Double, to end: Double) -> Double {
        Double(times.count { (start..<end).contains(Double($0.nanoseconds) / 1e9) }) / (rate * (end - start))
    }
}

/// Members with limiters and callers, in virtual time.
struct Simulation {
    let time = VirtualTime()
    let store = SimulatedStore()
    let judge = Judge()
    var rate = RateLimits.Rate(perSecond: 100)
    var callers = 8

    func makeMembers(
        _ count: Int,
        size: Int = 1,
        delay: Duration = .milliseconds(1),
        forget: Duration = .seconds(60),
        skew: (Int) -> Duration = { _ in .zero }
    ) -> [SimulatedMember] {
        (0..<count).map {
            SimulatedMember($0, store, time, delay: delay, skew: skew($0), size: size, forget: forget)
        }
    }

    /// Runs callers without a pause at all members until the given second, and a script beside them.
    func run(
        _ members: [SimulatedMember],
        callers counts: [Int]? = nil,
        until end: Double,
        _ script: @escaping @Sendable (VirtualTime, [RateLimiter]) async -> Void = { _, _ in }
    ) async throws {
        let limiters = try members.map { member in
            try RateLimiter(
                RateLimits(default: rate),
                time: member.clock,
                random: SeededRandom(seed: 7),
                supply: member
            )
        }
        let (time, judge, callers) = (time, judge, callers)
        let request = try Request("https://api.example.com/v1/x")
        try await time.runAutomatically {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for member in members { group.addTask { await member.run() } }
                for (index, limiter) in limiters.enumerated() {
                    for _ in 0..<(counts?[index] ?? callers) {
                        group.addTask {
                            while !Task.isCancelled {
                                guard let slot = try? await limiter.start(request, call: Call(time: time)) else {
                                    return
                                }
                                judge.note(index, time.now)
                                slot.finish()
                            }
                        }
                    }
                }
                group.addTask { await script(time, limiters) }
                try await time.sleep(until: Instant(nanoseconds: Int64(end * 1e9)))
                group.cancelAll()
            }
        }
    }
}

extension VirtualTime {
    /// Sleeps until a second.
    func reach(_ second: Double) async { try? await sleep(until: Instant(nanoseconds: Int64(second * 1e9))) }
}
