#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The limits of all services and everybody who waits for them: a state machine without tasks.
///
/// Every change returns whom to wake; the caller wakes them after it has left the lock. Nobody's thread is held and no
/// task runs for the limiter itself: of those who wait for a service one, the *leader*, keeps its alarm.
struct RateLimiterState {
    typealias Continuation = Resumption<RateWake>
    typealias Wakes = [(Continuation, RateWake)]

    /// What comes of asking for a slot.
    enum Arrival {
        /// Start now; `isTracked` says whether ``finish(_:isUnused:now:)`` is to be called.
        case started(isTracked: Bool)
        /// Wait under this number.
        case waiting(UInt64, WaitReason)
        /// As the wakes of the same names.
        case refused(WaitReason, Duration)
        case paused(Duration)
    }

    struct Waiter {
        let key: ServiceKey
        let call: Call.ID
        let deadline: Instant?
        var priority: Request.Priority
        var isQueued = true
        var pending: RateWake?
        var continuation: Continuation?
    }

    let limits: RateLimits
    var defaultRate: Rate?
    var rates: [ServiceKey: Rate]
    var concurrencies: [ServiceKey: Int] = [:]
    private(set) var concurrency: Int?
    var totalConcurrency: Int?
    var buckets: [ServiceKey: RateBucket] = [:]
    var waiters: [UInt64: Waiter] = [:]
    private var lastID: UInt64 = 0
    private var inFlight = 0
    /// The services whose next call waits only for the total number of exchanges to fall.
    private var crowded: Set<ServiceKey> = []
    private var sweepAt: Int
    /// A small generator of its own (SplitMix64), so that no other lock is taken under the limiter's.
    private var blurState: UInt64

    init(_ limits: RateLimits, seed: UInt64) {
        self.limits = limits
        blurState = seed
        defaultRate = limits.default
        rates = limits.rates
        concurrency = limits.concurrency
        totalConcurrency = limits.totalConcurrency
        sweepAt = max(16, limits.idleKeyLimit)
    }

    // MARK: - Looking

    /// Whether there is nothing that could hold any call.
    var isUnlimited: Bool {
        buckets.isEmpty && defaultRate == nil && rates.isEmpty && concurrency == nil && totalConcurrency == nil
            && concurrencies.isEmpty
    }

    var waitingCount: Int { buckets.values.reduce(0) { $0 + $1.waiting } }

    func rate(of key: ServiceKey) -> Rate? { rates[key] ?? defaultRate }

    func wait(of key: ServiceKey, now: Instant) -> Duration? {
        let bucket = buckets[key] ?? makeBucket(key)
        return bucket.start(after: bucket.ahead(of: .normal), now: now).map { now.duration(to: $0) }
    }

    // MARK: - Coming and going

    mutating func arrive(
        _ key: ServiceKey,
        _ priority: Request.Priority,
        deadline: Instant?,
        call: Call.ID,
        now: Instant
    ) -> (Arrival, Wakes) {
        if buckets[key] == nil {
            let bucket = makeBucket(key)
            if bucket.rate == nil, bucket.concurrency == nil, totalConcurrency == nil {
                return (.started(isTracked: false), [])
            }
            add(bucket, key, now)
        }
        let isCrowded = isCrowded
        let blur = nextBlur()
        guard let arrival = buckets[key]?.arrive(priority, isCrowded: isCrowded, now: now, blur: blur) else {
            inFlight += 1
            return (.started(isTracked: true), [])
        }
        let reason = arrival.reason.reason(key)
        if arrival.reason == .gate, arrival.wait > limits.pauseLimit { return (.paused(arrival.wait), []) }
        // Waits for an unknown time end at the deadline.
        if let start = arrival.start, let deadline, start > deadline { return (.refused(reason, arrival.wait), []) }
        lastID += 1
        let id = lastID
        waiters[id] = Waiter(key: key, call: call, deadline: deadline, priority: priority)
        change(key) { bucket in
            bucket.queues[priority.rawValue].insert(id)
            if let deadline { bucket.earliestDeadline = bucket.earliestDeadline.map { min($0, deadline) } ?? deadline }
        }
        if isCrowded { crowded.insert(key) }
        // The newcomer's continuation is not here yet: it finds the order to lead when it comes.
        var wakes: Wakes = []
        rearm(key, now, &wakes)
        return (.waiting(id, reason), wakes)
    }

    /// Stores who waits, unless there is news for it already.
    mutating func settle(_ id: UInt64, _ continuation: Continuation) -> RateWake? {
        guard var waiter = waiters[id] else { return .cancelled }
        if let pending = waiter.pending {
            waiter.pending = nil
            waiters[id] = waiter.isQueued ? waiter : nil
            return pending
        }
        waiter.continuation = continuation
        waiters[id] = waiter
        return nil
    }

    /// Lets somebody go who no longer wants to wait.
    mutating func cancel(_ id: UInt64, now: Instant) -> Wakes {
        guard let waiter = waiters[id], waiter.isQueued else { return [] }
        var wakes: Wakes = []
        dismiss(id, .cancelled, &wakes)
        // Those behind come earlier now, but the slot that is next is as far away as before.
        rearm(waiter.key, now, &wakes)
        return wakes
    }

    mutating func finish(_ key: ServiceKey, isUnused: Bool, now: Instant) -> Wakes {
        inFlight = max(0, inFlight - 1)
        change(key) { isUnused ? $0.giveBack() : $0.finish() }
        var wakes: Wakes = []
        guard totalConcurrency != nil else {
            if buckets[key]?.waiting ?? 0 > 0 { pump(key, now, &wakes) }
            return wakes
        }
        // The place is for whoever is next of all services.
        if buckets[key]?.waiting ?? 0 > 0 { crowded.insert(key) }
        releaseCrowd(now, &wakes)
        return wakes
    }

    // MARK: - Alarms

    /// When the leader is to look again; nil when it keeps no alarm any more.
    mutating func alarm(of key: ServiceKey, leader: UInt64, now: Instant) -> Instant? {
        guard let bucket = buckets[key], bucket.leader == leader else { return nil }
        let next = nextAlarm(key, now)
        change(key) { $0.armed = next }
        return next
    }

    /// Starts everybody whose time has come, when an alarm that was set for `due` has rung.
    mutating func ring(_ key: ServiceKey, due: Instant, now: Instant) -> Wakes {
        var wakes: Wakes = []
        pump(key, now, due: min(due, now), &wakes)
        return wakes
    }

    private mutating func nextAlarm(_ key: ServiceKey, _ now: Instant) -> Instant? {
        guard let bucket = buckets[key], bucket.waiting > 0 else { return nil }
        // Without an alarm it has to be found when there is room again.
        if isCrowded { crowded.insert(key) }
        var next = bucket.isFull || isCrowded ? nil : bucket.start(after: 0, now: now)
        if let deadline = bucket.earliestDeadline { next = next.map { min($0, deadline) } ?? deadline }
        return next
    }

    /// Sees to it that somebody keeps the alarm, and that it rings early enough.
    mutating func rearm(_ key: ServiceKey, _ now: Instant, _ wakes: inout Wakes) {
        guard let next = nextAlarm(key, now), let bucket = buckets[key] else { return }
        if let leader = bucket.leader {
            guard bucket.armed.map({ next < $0 }) ?? true else { return }
            change(key) { $0.armed = next }
            wake(leader, .lead, &wakes)
            return
        }
        // The last in line leads longest.
        for priority in bucket.queues.indices {
            guard let id = bucket.queues[priority].last(isValid: { isValid($0, priority) }) else { continue }
            change(key) { ($0.leader, $0.armed) = (id, next) }
            wake(id, .lead, &wakes)
            return
        }
    }

    mutating func pump(
        _ key: ServiceKey,
        _ now: Instant,
        due: Instant? = nil,
        _ wakes: inout Wakes
    ) {
        let spread = limits.releaseSpread
        let blur = nextBlur()
        change(key) { $0.open(now: now, spread: spread, blur: blur) }
        while let id = head(of: key) {
            guard let bucket = buckets[key], !bucket.isFull else { break }
            if isCrowded {
                crowded.insert(key)
                break
            }
            guard let start = bucket.start(after: 0, now: now), start <= now else { break }
            grant(id, key, now, due: due ?? now, &wakes)
        }
        expire(key, now, &wakes)
        rearm(key, now, &wakes)
    }

    private mutating func grant(
        _ id: UInt64,
        _ key: ServiceKey,
        _ now: Instant,
        due: Instant,
        _ wakes: inout Wakes
    ) {
        dismiss(id, .granted, &wakes)
        inFlight += 1
        let blur = nextBlur()
        change(key) { $0.reserve(due: due, now: now, blur: blur) }
    }

    mutating func releaseCrowd(_ now: Instant, _ wakes: inout Wakes) {
        while !crowded.isEmpty, !isCrowded {
            // The most urgent first, then whoever has waited longest, whichever service they are for.
            var best: (key: ServiceKey, id: UInt64, priority: Request.Priority)?
            for key in crowded {
                guard let id = head(of: key), let waiter = waiters[id] else { continue }
                if let best, (best.priority, id) >= (waiter.priority, best.id) { continue }
                best = (key, id, waiter.priority)
            }
            guard let best else {
                crowded.removeAll()
                return
            }
            let key = best.key
            crowded.remove(key)
            guard let bucket = buckets[key] else { continue }
            if !bucket.isFull, let start = bucket.start(after: 0, now: now), start <= now {
                grant(best.id, key, now, due: now, &wakes)
                if buckets[key]?.waiting ?? 0 > 0 { crowded.insert(key) }
            }
            // What keeps its next call now is not the total.
            rearm(key, now, &wakes)
        }
    }

    private mutating func expire(_ key: ServiceKey, _ now: Instant, _ wakes: inout Wakes) {
        guard let earliest = buckets[key]?.earliestDeadline, earliest <= now else { return }
        var next: Instant?
        for id in everybody(at: key) {
            guard let deadline = waiters[id]?.deadline else { continue }
            if deadline <= now {
                dismiss(id, .expired, &wakes)
            } else {
                next = next.map { min($0, deadline) } ?? deadline
            }
        }
        change(key) { $0.earliestDeadline = next }
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
        RateBucket(rate: rate(of: key), concurrency: concurrencies[key] ?? concurrency)
    }

    /// Remembers a service, and forgets idle ones when there are many.
    mutating func add(_ bucket: RateBucket, _ key: ServiceKey, _ now: Instant) {
        if buckets.count >= sweepAt {
            buckets = buckets.filter { !$0.value.isIdle(now: now) }
            // Twice as many as are busy, so that the next sweep is as far away as this one was long.
            sweepAt = max(limits.idleKeyLimit, 16, 2 * buckets.count)
        }
        buckets[key] = bucket
    }

    mutating func change(_ key: ServiceKey, _ body: (inout RateBucket) -> Void) {
        guard let index = buckets.index(forKey: key) else { return }
        body(&buckets.values[index])
    }

    private func isValid(_ id: UInt64, _ priority: Int) -> Bool { Self.isValid(id, priority, waiters) }

    private static func isValid(_ id: UInt64, _ priority: Int, _ waiters: [UInt64: Waiter]) -> Bool {
        guard let waiter = waiters[id] else { return false }
        return waiter.isQueued && waiter.priority.rawValue == priority
    }

    private mutating func head(of key: ServiceKey) -> UInt64? {
        guard let index = buckets.index(forKey: key), buckets.values[index].waiting > 0 else { return nil }
        for priority in buckets.values[index].queues.indices.reversed() {
            let first = buckets.values[index].queues[priority].first { Self.isValid($0, priority, waiters) }
            if let first { return first }
        }
        return nil
    }

    /// Counts somebody out of the queue it stood in.
    mutating func leave(_ waiter: Waiter) {
        guard let index = buckets.index(forKey: waiter.key) else { return }
        let priority = waiter.priority.rawValue
        buckets.values[index].queues[priority].leave { Self.isValid($0, priority, waiters) }
    }

    /// Everybody who waits for a service, in the order in which they will start.
    func everybody(at key: ServiceKey) -> [UInt64] {
        guard let bucket = buckets[key] else { return [] }
        return bucket.queues.indices.reversed().flatMap { priority in
            bucket.queues[priority].all { isValid($0, priority) }
        }
    }

    /// Takes somebody out of the line with the news why.
    mutating func dismiss(_ id: UInt64, _ news: RateWake, _ wakes: inout Wakes) {
        guard let waiter = waiters[id], waiter.isQueued else { return }
        waiters[id]?.isQueued = false
        leave(waiter)
        change(waiter.key) { bucket in
            if bucket.leader == id { (bucket.leader, bucket.armed) = (nil, nil) }
            if bucket.waiting == 0 { bucket.earliestDeadline = nil }
        }
        wake(id, news, &wakes)
    }

    private mutating func wake(_ id: UInt64, _ news: RateWake, _ wakes: inout Wakes) {
        guard let waiter = waiters[id] else { return }
        guard let continuation = waiter.continuation else {
            waiters[id]?.pending = news
            return
        }
        wakes.append((continuation, news))
        if waiter.isQueued { waiters[id]?.continuation = nil } else { waiters[id] = nil }
    }
}
