#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The limits of all services and the calls that wait for them: a state machine without tasks.
///
/// Every change returns the waiters to resume; the caller resumes them after it has released the lock. No thread is blocked and
/// no task runs for the limiter itself. One of the calls that wait for a service, the *leader*, runs the timer.
struct RateLimiterState {
    typealias Wait = LadeCore.Waiter<RateWake>
    typealias Wakes = [Wait.Wake]

    /// The result of requesting a slot.
    enum Arrival {
        /// The exchange starts now, with this number; nil when ``finish(_:_:isUnused:now:)`` need not be called.
        case started(UInt64?)
        /// Wait under this number, and at least until the end of a delay that the server has requested.
        case waiting(UInt64, Call.WaitReason, gate: Instant?)
        /// The meaning is the same as of the cases of `RateWake` with these names.
        case refused(Call.WaitReason, Duration)
        case paused(Duration)
        /// As many calls as may wait for the service wait already; how long this one would have, and their number.
        case full(Duration, Int)
    }

    struct Waiter {
        let key: ServiceKey
        /// The lane of the waiter.
        let lane: String
        let call: Call.ID
        let deadline: Instant?
        var place: WaitPlace
        /// Whether its slot counts among all exchanges: only the slot of a request's first key does.
        let isCounted: Bool
        var isQueued = true
        /// The wait for the next news.
        var wait = Wait()
    }

    let limits: RateLimits
    var defaultRate: RateLimits.Rate?
    var rates: [ServiceKey: RateLimits.Rate]
    var concurrencies: [ServiceKey: Int] = [:]
    private(set) var concurrency: Int?
    var totalConcurrency: Int?
    private(set) var buckets: [ServiceKey: RateBucket] = [:]
    var waiters: [UInt64: Waiter] = [:]
    /// How many calls wait.
    private(set) var waitingCount = 0
    /// The waiting calls by identity; calls of tests may share one.
    private var waitersOfCalls: [Call.ID: Set<UInt64>] = [:]
    /// How many waiting calls were visited one by one so far.
    private var scanned = 0
    private var lastID: UInt64 = 0
    private var inFlight = 0
    /// The services whose next call is held only by the limit on all exchanges, by that call.
    private var crowded = PriorityIndex<ServiceKey, WaitPlace>()
    private var sweepAt: Int
    /// Whether calls of different accounts may wait for different things.
    private let keepsAccountsApart: Bool
    /// A separate generator (SplitMix64), so that no other lock is taken under the limiter's.
    private var blurState: UInt64
    /// The state of a shared limit; nil without a supply.
    var sharing: RateSharing?

    init(_ limits: RateLimits, seed: UInt64) {
        self.limits = limits
        blurState = seed
        defaultRate = limits.default
        rates = limits.rates
        concurrency = limits.concurrency
        totalConcurrency = limits.totalConcurrency
        sweepAt = max(16, limits.idleKeyLimit)
        keepsAccountsApart = limits.quotaSharing == .account || limits.delaySharing == .account
    }

    // MARK: - Looking

    /// Whether there are no limits, so that no call can have to wait.
    var isUnlimited: Bool {
        buckets.isEmpty && defaultRate == nil && rates.isEmpty && concurrency == nil && totalConcurrency == nil
            && concurrencies.isEmpty && sharing == nil
    }

    /// The comparisons made to keep waiting calls in order, and the calls visited one by one; tests limit them.
    var work: Int { buckets.values.reduce(crowded.comparisons + scanned) { $0 + $1.comparisons } }

    func rate(of key: ServiceKey) -> RateLimits.Rate? { rates[key] ?? defaultRate }

    func wait(of key: ServiceKey, _ account: String, now: Instant) -> Duration? {
        let bucket = buckets[key] ?? makeBucket(key)
        return bucket.start(of: .normal, in: lane(of: account), now: now).map { now.duration(to: $0) }
    }

    /// The lane for calls of an account.
    func lane(of account: String) -> String { keepsAccountsApart ? account : "" }

    // MARK: - Coming and going

    mutating func arrive(
        _ key: ServiceKey,
        _ priority: Request.Priority,
        deadline: Instant?,
        call: Call,
        taskPriority: UInt8,
        id: UInt64? = nil,
        isCounted: Bool = true,
        cost: Int = 1,
        now: Instant
    ) -> (Arrival, Wakes) {
        if buckets[key] == nil {
            let bucket = makeBucket(key)
            if bucket.rate == nil, bucket.concurrency == nil, totalConcurrency == nil {
                return (.started(nil), [])
            }
            add(bucket, key, now)
        }
        let (isCrowded, lane, spread) = (isCrowded && isCounted, lane(of: call.account), releaseSpread)
        let (blur, otherBlur) = (nextBlur(), nextBlur())
        let obstacle = change(key) { bucket in
            bucket.advance(now: now, spread: spread, blur: otherBlur)
            return bucket.arrive(priority, lane, cost: cost, isCrowded: isCrowded, now: now, blur: blur)
        }
        guard case .some(.some(let arrival)) = obstacle else {
            if isCounted { inFlight += 1 }
            if sharing != nil { consult(key, now, isCrowded: isCrowded) }
            return (.started(buckets[key]?.lastStart ?? 0), [])
        }
        let reason = reason(arrival.reason, key)
        if arrival.reason == .gate, arrival.wait > limits.delayLimit { return (.paused(arrival.wait), []) }
        // Waits of unknown length end at the deadline.
        if let start = arrival.start, let deadline, start > deadline { return (.refused(reason, arrival.wait), []) }
        // A hedge never waits: the exchange before it is in progress.
        if let limit = call.hedge > 0 ? 0 : limits.waitingLimit, let waiting = buckets[key]?.waiting,
            waiting >= max(0, limit)
        {
            return (.full(arrival.wait, limit), [])
        }
        if id == nil { lastID += 1 }
        let place = WaitPlace(priority: priority, id: id ?? lastID, cost: cost)
        waiters[place.id] = Waiter(
            key: key,
            lane: lane,
            call: call.id,
            deadline: deadline,
            place: place,
            isCounted: isCounted
        )
        waitersOfCalls[call.id, default: []].insert(place.id)
        waitingCount += 1
        change(key) { $0.enqueue(place, lane, deadline: deadline, taskPriority: taskPriority, now: now) }
        // The new call does not wait yet: it finds the instruction to lead when it suspends.
        var wakes: Wakes = []
        rearm(key, now, &wakes)
        return (.waiting(place.id, reason, gate: buckets[key]?.gateEnd(of: lane, now: now)), wakes)
    }

    /// A waiter waits for its next news; returns its task again if there is some already.
    mutating func wait(_ id: UInt64, _ resumption: Resumption<RateWake>) -> Wait.Wake? {
        guard var waiter = waiters[id] else {
            var over = Wait()
            _ = over.end(.cancelled)
            return over.wait(resumption)
        }
        let wake = waiter.wait.wait(resumption)
        if wake != nil { waiter.wait = Wait() }
        waiters[id] = wake != nil && !waiter.isQueued ? nil : waiter
        return wake
    }

    /// Removes a waiter that no longer wants a slot.
    mutating func cancel(_ id: UInt64, now: Instant) -> Wakes {
        guard let waiter = waiters[id], waiter.isQueued else { return [] }
        var wakes: Wakes = []
        dismiss(id, .cancelled, now, &wakes)
        // The calls behind it start earlier now, but the next slot is as far away as before.
        rearm(waiter.key, now, &wakes)
        return wakes
    }

    /// Frees the slot of a start, by its number among those of the service.
    mutating func finish(
        _ start: UInt64,
        of account: String,
        _ key: ServiceKey,
        isUnused: Bool,
        isCounted: Bool = true,
        cost: Int = 1,
        now: Instant
    ) -> Wakes {
        if isCounted { inFlight = max(0, inFlight - 1) }
        let lane = lane(of: account)
        change(key) { isUnused ? $0.giveBack(start, cost: cost, lane, now: now) : $0.finish(lane) }
        var wakes: Wakes = []
        let hasWaiters = hasWaiters(key)
        guard totalConcurrency != nil else {
            if hasWaiters { pump(key, now, &wakes) }
            return wakes
        }
        // The slot is for the next call of all services.
        if hasWaiters { crowd(key) }
        releaseCrowd(now, &wakes)
        return wakes
    }

    // MARK: - Timers

    /// When the leader must check again; nil when it no longer runs the timer.
    mutating func timer(of key: ServiceKey, leader: UInt64, now: Instant) -> Instant? {
        guard buckets[key]?.leader?.id == leader else { return nil }
        let next = nextTimer(key, now)
        change(key) { $0.armed = next }
        return next
    }

    /// Starts every call that is due, after a timer that was set for `due` has fired.
    mutating func fire(_ key: ServiceKey, due: Instant, now: Instant) -> Wakes {
        var wakes: Wakes = []
        pump(key, now, due: min(due, now), &wakes)
        return wakes
    }

    private mutating func nextTimer(_ key: ServiceKey, _ now: Instant) -> Instant? {
        guard hasWaiters(key) else { return nil }
        // Without a timer, the service must be found when the total number allows another exchange.
        let isCrowded = isCrowded
        if isCrowded { crowd(key) }
        let next = buckets[key]?.nextTimer(now: now, isCrowded: isCrowded)
        guard sharing != nil, !isCrowded, let ask = nextAsk(key, now) else { return next }
        return next.map { min($0, ask) } ?? ask
    }

    /// Ensures that a waiter runs the timer, and that it fires early enough.
    ///
    /// The timer runs in the leader's task: a waiting call with a higher priority than the leader's takes it over.
    mutating func rearm(_ key: ServiceKey, _ now: Instant, _ wakes: inout Wakes) {
        if sharing != nil { consult(key, now, isCrowded: isCrowded) }
        guard let next = nextTimer(key, now) else { return }
        if let leader = change(key, { $0.chooseLeader() }) ?? nil {
            change(key) { $0.armed = next }
            wake(leader, .lead, &wakes)
        } else if let leader = buckets[key]?.leader, buckets[key]?.armed.map({ next < $0 }) ?? true {
            change(key) { $0.armed = next }
            wake(leader.id, .lead, &wakes)
        }
    }

    mutating func pump(
        _ key: ServiceKey,
        _ now: Instant,
        due: Instant? = nil,
        _ wakes: inout Wakes
    ) {
        let spread = releaseSpread
        let blur = nextBlur()
        change(key) { $0.advance(now: now, spread: spread, blur: blur) }
        while let head = buckets[key]?.head, buckets[key]?.isFull == false {
            if isCrowded {
                crowd(key)
                break
            }
            guard mayStart(key, now) else { break }
            if sharing != nil, let lane = waiters[head.id]?.lane, change(key, { $0.isHeld(lane, now: now) }) == true {
                continue
            }
            grant(head.id, key, now, due: due ?? now, &wakes)
        }
        while !isCrowded, buckets[key]?.isFull == false, let id = impatient(key, now) {
            grant(id, key, now, due: now, &wakes)
        }
        expire(key, now, &wakes)
        rearm(key, now, &wakes)
    }

    private func mayStart(_ key: ServiceKey, _ now: Instant) -> Bool {
        buckets[key]?.startOfHead(now: now).map { $0 <= now } ?? false
    }

    /// A waiting call that a pace has delayed for long enough.
    private mutating func impatient(_ key: ServiceKey, _ now: Instant) -> UInt64? {
        let waiters = waiters
        return change(key) { $0.impatient(now: now) { waiters[$0]?.lane } } ?? nil
    }

    private mutating func grant(
        _ id: UInt64,
        _ key: ServiceKey,
        _ now: Instant,
        due: Instant,
        _ wakes: inout Wakes
    ) {
        guard let lane = waiters[id]?.lane, let cost = waiters[id]?.place.cost else { return }
        if waiters[id]?.isCounted == true { inFlight += 1 }
        let blur = nextBlur()
        let number = change(key) { $0.lastStart + 1 } ?? 0
        dismiss(id, .granted(number), now, &wakes)
        change(key) { $0.reserve(lane, cost: cost, due: due, now: now, blur: blur) }
    }

    /// Records that only the limit on all exchanges holds the next call of a service.
    private mutating func crowd(_ key: ServiceKey) {
        if let head = buckets[key]?.head { crowded.set(key, head) } else { crowded.remove(key) }
    }

    mutating func releaseCrowd(_ now: Instant, _ wakes: inout Wakes) {
        let spread = releaseSpread
        // The most urgent call first, then the one that has waited longest, across all services.
        while !isCrowded, let (key, place) = crowded.first {
            let blur = nextBlur()
            change(key) { $0.advance(now: now, spread: spread, blur: blur) }
            // Its next call may have changed.
            guard buckets[key]?.head == place else {
                crowd(key)
                continue
            }
            crowded.remove(key)
            if buckets[key]?.isFull == false, mayStart(key, now) {
                grant(place.id, key, now, due: now, &wakes)
                crowd(key)
            }
            // The total limit no longer delays the next call of this service, but another one does.
            rearm(key, now, &wakes)
        }
    }

    private mutating func expire(_ key: ServiceKey, _ now: Instant, _ wakes: inout Wakes) {
        while let (id, deadline) = buckets[key]?.firstDeadline, deadline <= now { dismiss(id, .expired, now, &wakes) }
    }

    // MARK: - Parts

    /// A number in `0 ..< 1`.
    mutating func nextBlur() -> Double {
        blurState &+= 0x9E37_79B9_7F4A_7C15
        var mixed = blurState
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Double((mixed ^ (mixed >> 31)) >> 11) * 0x1p-53
    }

    private var isCrowded: Bool { totalConcurrency.map { inFlight >= $0 } ?? false }

    func makeBucket(_ key: ServiceKey) -> RateBucket {
        RateBucket(rate: rate(of: key), concurrency: share(of: concurrencies[key] ?? concurrency))
    }

    /// Adds the state of a service, and removes idle ones when there are many.
    mutating func add(_ bucket: RateBucket, _ key: ServiceKey, _ now: Instant) {
        if buckets.count >= sweepAt {
            buckets = buckets.filter { !$0.value.isIdle(now: now) }
            // Twice as many as are busy, so that the next sweep is as far away as this one was long.
            sweepAt = max(limits.idleKeyLimit, 16, 2 * buckets.count)
        }
        buckets[key] = bucket
        if sharing != nil { beginSharing(key, now) }
    }

    @discardableResult
    mutating func change<Result>(_ key: ServiceKey, _ body: (inout RateBucket) -> Result) -> Result? {
        guard let index = buckets.index(forKey: key) else { return nil }
        return body(&buckets.values[index])
    }

    func hasWaiters(_ key: ServiceKey) -> Bool { buckets[key].map { $0.waiting > 0 } ?? false }

    /// The waiting calls with a call's identity.
    func waiters(of call: Call.ID) -> Set<UInt64> { waitersOfCalls[call] ?? [] }

    /// Every waiter of a service, in starting order.
    ///
    /// It visits all of them, so it is for rare changes.
    mutating func everyWaiter(of key: ServiceKey) -> [UInt64] {
        guard let bucket = buckets[key] else { return [] }
        scanned += bucket.waiting
        return bucket.lanes.values.flatMap { $0.queue.elements }.compactMap { waiters[$0]?.place }.sorted().map(\.id)
    }

    /// Removes a waiter from the queue and notifies it of the reason.
    mutating func dismiss(_ id: UInt64, _ news: RateWake, _ now: Instant, _ wakes: inout Wakes) {
        guard let waiter = waiters[id], waiter.isQueued else { return }
        waiters[id]?.isQueued = false
        waitingCount -= 1
        waitersOfCalls[waiter.call]?.remove(id)
        if waitersOfCalls[waiter.call]?.isEmpty == true { waitersOfCalls[waiter.call] = nil }
        change(waiter.key) { $0.remove(waiter.place, waiter.lane, now: now) }
        wake(id, news, &wakes)
    }

    private mutating func wake(_ id: UInt64, _ news: RateWake, _ wakes: inout Wakes) {
        guard var waiter = waiters[id] else { return }
        // Later news replaces an instruction to lead that was not received.
        if waiter.wait.hasEnded { waiter.wait = Wait() }
        let wake = waiter.wait.end(news)
        if let wake {
            wakes.append(wake)
            waiter.wait = Wait()
        }
        waiters[id] = wake != nil && !waiter.isQueued ? nil : waiter
    }
}
