import LadeCore

/// The limits of one service and how far they are used: a pure value.
///
/// The rate is stored as one instant (the generic cell rate algorithm). `paidUntil` is the time up to which the starts so far
/// have used the rate up. A start is allowed once the instant is at most burst − 1 intervals ahead, and advances it by one
/// interval. At 10 per second and burst 1, starts are at 0, 0.1, 0.2 …; with burst 3 at 0, 0, 0, 0.1, 0.2 …
///
/// Waiting calls are queued in lanes, one per account. The next to start is the first of all lanes that are not held.
struct RateBucket: Sendable {
    /// How late a waiting call may start without delaying the next ones.
    ///
    /// Timers fire about a millisecond late. Without this allowance a rate of 10 would lose 1 %, and one of 100 a
    /// tenth.
    static let lateness: Int64 = 10_000_000

    /// The obstacle that keeps a call from starting now.
    enum Obstacle {
        case gate
        case rate
        case concurrency

        func reason(_ key: ServiceKey) -> Call.WaitReason {
            switch self {
            case .gate: .gate(key: key.description)
            case .rate: .rateLimit(key: key.description)
            case .concurrency: .concurrency(key: key.description)
            }
        }
    }

    private(set) var rate: RateLimits.Rate?
    /// The exchanges that may run at the same time; nil for no limit.
    var concurrency: Int?
    private(set) var inFlight = 0
    private(set) var paidUntil = Instant(nanoseconds: .min)
    /// The starts, as far as a slot that is returned late must know them.
    var starts = RateStarts()
    /// The server-requested delay for all accounts.
    var gate = RateGate()
    var pace: QuotaPace?
    /// The part that this process has of a limit shared by several; nil for a limit of its own.
    var share: RateShare?
    var lanes: [String: RateLane] = [:]
    /// How many calls wait, and how many starts they take.
    var waiting = 0
    private var waitingStarts = 0
    private var readyCounts = WaitCounts()
    /// The lanes with waiting calls, by their first call; and the held lanes, by the end of the hold.
    private var ready = PriorityIndex<String, WaitPlace>()
    private var held = PriorityIndex<String, Instant>()
    private var deadlines = PriorityIndex<UInt64, Instant>()
    /// The waiting calls by the instant from which no pace delays them.
    private var patience = PriorityIndex<UInt64, Instant>()
    private var leaders = PriorityIndex<UInt64, LeaderRank>()
    private var laneSweepAt = 16
    /// When the store must be asked about shared quotas, by account; nil for that of all accounts.
    var asks = PriorityIndex<String?, Instant>()
    /// Until when each account must ask whether it has a quota, because another process has read one.
    var quotaNotice: (end: Instant, reserve: QuotaReserve)?
    /// The waiting call whose task runs the timer, and the priority of that task.
    private(set) var leader: LeaderRank?
    /// When the timer fires.
    var armed: Instant?

    init(rate: RateLimits.Rate?, concurrency: Int?) {
        self.rate = rate
        self.concurrency = concurrency
    }

    var isFull: Bool { concurrency.map { inFlight >= $0 } ?? false }

    /// The comparisons made so far to keep everything in order; tests limit them.
    var comparisons: Int {
        ready.comparisons + held.comparisons + deadlines.comparisons + leaders.comparisons
            + lanes.values.reduce(0) { $0 + $1.queue.comparisons }
    }

    // MARK: - When

    /// When the service's limits allow a call with this many starts before it to start; nil when unknown.
    ///
    /// Limits on the number of concurrent exchanges are not considered.
    ///
    /// - Parameters:
    ///   - ahead: The starts before it.
    ///   - cost: The starts that it takes.
    ///   - now: The time.
    ///   - isPaced: Whether the pace of an announced quota delays the call; an exhausted one always does.
    ///   - isWaiting: Whether the call is in the queue, so that starts have been free for it since.
    /// - Returns: The instant; nil when unknown.
    func start(
        after ahead: Int,
        cost: Int = 1,
        now: Instant,
        isPaced: Bool = true,
        isWaiting: Bool = false
    ) -> Instant? {
        guard let start = ownStart(after: ahead, cost: cost, now: now, isPaced: isPaced, isWaiting: isWaiting) else {
            return nil
        }
        guard let share, let interval = rate?.interval else { return start }
        return share.start(after: ahead, cost: cost, now: now, interval: interval).map { max(start, $0) }
    }

    /// When the next waiting call may start; nil when unknown.
    func startOfHead(now: Instant, isPaced: Bool = true) -> Instant? {
        start(after: 0, cost: headCost, now: now, isPaced: isPaced, isWaiting: true)
    }

    private var headCost: Int { ready.first?.rank.cost ?? 1 }

    /// When the limits of this process alone allow it; slots of a shared limit are kept to this arithmetic as well.
    private func ownStart(
        after ahead: Int,
        cost: Int = 1,
        now: Instant,
        isPaced: Bool = true,
        isWaiting: Bool = false
    ) -> Instant? {
        var start = gate.start(after: ahead, now: now, isSpaced: rate != nil)
        if let rate {
            guard let interval = rate.interval else { return nil }
            // Since a call that takes several starts waits, `paidUntil` is not before its arrival.
            let base = (isWaiting && cost > 1 ? paidUntil : max(paidUntil, start)).nanoseconds
            let (steps, overflow) = interval.multipliedReportingOverflow(by: Int64(ahead + cost - rate.burst))
            guard !overflow else { return Instant(nanoseconds: ahead + cost <= rate.burst ? start.nanoseconds : .max) }
            start = max(start, Instant(nanoseconds: base).advanced(nanoseconds: steps))
        }
        let hold = isPaced ? pace?.start(after: ahead, now: now) : pace?.floor
        return hold.map { max(start, $0) } ?? start
    }

    /// When a new call would start; nil when unknown.
    func start(
        of priority: Request.Priority,
        cost: Int = 1,
        in account: String,
        now: Instant,
        isPaced: Bool = true
    ) -> Instant? {
        let ahead = readyCounts.ahead(of: priority)
        guard let start = start(after: ahead, cost: cost, now: now, isPaced: isPaced) else { return nil }
        guard let lane = lanes[account] else { return start == .never && pace?.share != nil ? nil : start }
        let own = lane.start(after: lane.counts.ahead(of: priority), now: now, isPaced: isPaced)
        let latest = max(start, own)
        return latest == .never && (pace?.share ?? lane.pace?.share) != nil ? nil : latest
    }

    /// When the delay ends that the server has requested of an account's calls; nil without one.
    func gateEnd(of account: String, now: Instant) -> Instant? {
        let end = max(gate.end ?? now, lanes[account]?.gate.end ?? now)
        return end > now ? end : nil
    }

    /// The first of the calls that their accounts allow to start.
    var head: WaitPlace? { ready.first?.rank }

    /// When the timer must fire next; nil when none is needed.
    func nextTimer(now: Instant, isCrowded: Bool) -> Instant? {
        var next: Instant?
        if !isFull, !isCrowded {
            if let start = startOfHead(now: now) {
                next = ready.isEmpty ? held.first.map { max(start, $0.rank) } : start
            } else if share != nil, ready.isEmpty {
                // Slots of a shared rate are requested when an account lets a call start.
                next = held.first?.rank
            }
        }
        if !isFull, !isCrowded, let due = patience.first?.rank, let start = startOfHead(now: now, isPaced: false) {
            next = min(next ?? .never, max(due, start))
        }
        // A grant of the store, and no time, starts calls that have no slot.
        if next == .never { next = nil }
        guard let deadline = deadlines.first?.rank else { return next }
        return next.map { min($0, deadline) } ?? deadline
    }

    /// A waiting call that no pace delays any longer, because it has waited for half of the time that it had.
    ///
    /// It is nil without a quota, or when something else delays the call.
    mutating func impatient(now: Instant, account: (UInt64) -> String?) -> UInt64? {
        while let (id, due) = patience.first, due <= now {
            guard let start = startOfHead(now: now, isPaced: false), start <= now else { return nil }
            let lane = account(id).flatMap { lanes[$0] }
            // The other processes do not know of a call without a slot.
            guard (pace?.share ?? lane?.pace?.share) == nil else {
                patience.remove(id)
                continue
            }
            guard let lane else { return id }
            let own = lane.start(after: 0, now: now, isPaced: false)
            guard own > now else { return id }
            // Its account has to wait for something else.
            patience.set(id, own)
        }
        return nil
    }

    /// The waiting call with the earliest deadline.
    var firstDeadline: (id: UInt64, deadline: Instant)? { deadlines.first.map { ($0.element, $0.rank) } }

    // MARK: - Coming and going

    /// Reserves a slot for a new call, or returns the reason of its wait, with the length where known.
    mutating func arrive(
        _ priority: Request.Priority,
        _ account: String,
        cost: Int = 1,
        isCrowded: Bool,
        now: Instant,
        blur: Double
    ) -> (reason: Obstacle, start: Instant?, wait: Duration)? {
        if let quotaNotice { shareQuota(of: account, until: quotaNotice.end, quotaNotice.reserve, now) }
        let paced = start(of: priority, cost: cost, in: account, now: now)
        let isFree = !isFull && !isCrowded
        let hasNoneAhead =
            readyCounts.ahead(of: priority) == 0 && (lanes[account]?.counts.ahead(of: priority) ?? 0) == 0
        // A slot may be free for a waiting call that was not resumed yet; a new call never overtakes that one.
        if isFree, hasNoneAhead, let paced, paced <= now {
            reserve(account, cost: cost, due: now, now: now, blur: blur)
            return nil
        }
        // A pace delays calls, and refuses none.
        let start = start(of: priority, cost: cost, in: account, now: now, isPaced: false)
        let wait = start.map { now.duration(to: $0) } ?? .zero
        if gate.isClosed(at: now) || lanes[account]?.gate.isClosed(at: now) ?? false { return (.gate, start, wait) }
        if isFree || paced.map({ $0 > now }) ?? true { return (.rate, start, wait) }
        return (.concurrency, start, wait)
    }

    /// Adds a waiting call.
    mutating func enqueue(_ place: WaitPlace, _ account: String, deadline: Instant?, taskPriority: UInt8, now: Instant)
    {
        if place.cost > 1 { paidUntil = max(paidUntil, now) }
        add(place, account, now)
        if let deadline {
            deadlines.set(place.id, deadline)
            patience.set(place.id, now.advanced(by: now.duration(to: deadline) / 2))
        }
        leaders.set(place.id, LeaderRank(taskPriority: taskPriority, id: place.id))
    }

    /// Removes a waiting call.
    mutating func remove(_ place: WaitPlace, _ account: String, now: Instant) {
        take(place, account, now)
        deadlines.remove(place.id)
        patience.remove(place.id)
        leaders.remove(place.id)
        if leader?.id == place.id { (leader, armed) = (nil, nil) }
        dropLane(account)
    }

    /// Changes the priority of a waiting call; its order of arrival stays.
    mutating func move(_ place: WaitPlace, to priority: Request.Priority, _ account: String, now: Instant) {
        take(place, account, now)
        add(WaitPlace(priority: priority, id: place.id, cost: place.cost), account, now)
    }

    /// Chooses the waiting call whose task runs the timer.
    ///
    /// It changes when another call has a higher priority.
    ///
    /// - Returns: The new leader; nil when it stays the same, or there is none.
    mutating func chooseLeader() -> UInt64? {
        guard let best = leaders.first?.rank else { return nil }
        if let leader, leader.taskPriority >= best.taskPriority { return nil }
        leader = best
        return best.id
    }

    private mutating func add(_ place: WaitPlace, _ account: String, _ now: Instant) {
        makeLane(account, now)
        lanes[account]?.queue.set(place.id, place)
        lanes[account]?.counts[place.priority] += place.cost
        if lanes[account]?.isReady == true { readyCounts[place.priority] += place.cost }
        waiting += 1
        waitingStarts += place.cost
        arrange(account, now)
    }

    private mutating func take(_ place: WaitPlace, _ account: String, _ now: Instant) {
        lanes[account]?.queue.remove(place.id)
        lanes[account]?.counts[place.priority] -= place.cost
        if lanes[account]?.isReady == true { readyCounts[place.priority] -= place.cost }
        waiting -= 1
        waitingStarts -= place.cost
        arrange(account, now)
    }

    // MARK: - Slots

    /// Reserves the slot of a call that starts now.
    ///
    /// - Parameters:
    ///   - account: The account of the call.
    ///   - cost: The starts that it takes.
    ///   - due: When it would have started if its timer had been on time; now for a call without one.
    ///   - now: The time.
    ///   - blur: A number in `0 ..< 1` that places the next start after a delay.
    mutating func reserve(_ account: String, cost: Int = 1, due: Instant, now: Instant, blur: Double) {
        inFlight += 1
        var floor = max(due, now.advanced(nanoseconds: -Self.lateness))
        let number = lastStart + 1
        if share != nil, let interval = rate?.interval,
            let slot = share?.use(number, cost: cost, now: now, interval: interval)
        {
            floor = min(now, slot)
        }
        if cost > 1, let rate, let interval = rate.interval {
            // It starts at the last of its starts; those beyond the burst were before.
            floor = floor.advanced(nanoseconds: -interval.times(max(0, cost - rate.burst)))
        }
        starts.add(slack: floor.duration(to: paidUntil).wholeNanoseconds)
        if let interval = rate?.interval {
            paidUntil = max(paidUntil, floor).advanced(nanoseconds: cost > 1 ? interval.times(cost) : interval)
        }
        pace?.start(number, at: now)
        if pace?.share != nil { noteAsk(nil, now) }
        gate.started(now: now, waiting: waiting, blur: blur)
        guard !lanes.isEmpty, let waiting = lanes[account]?.queue.count else { return }
        lanes[account]?.inFlight += 1
        lanes[account]?.pace?.start(number, at: now)
        lanes[account]?.gate.started(now: now, waiting: waiting, blur: blur)
        arrange(account, now)
    }

    /// The number of the last start.
    var lastStart: UInt64 { starts.count }

    // MARK: - Shared limits

    /// When the next ask is due; nil when no call needs a slot that is not held or requested.
    func askInstant(now: Instant) -> Instant? {
        guard let share, !share.isAsking else { return nil }
        let held = share.held(from: voidBound(now))
        guard needed(of: share, held) > 0, let own = ownStart(after: held, now: now) else { return nil }
        return max(share.askAt, own.advanced(nanoseconds: -share.lead))
    }

    /// The instant before which slots are void: too late to be used, or within a server-requested delay.
    private func voidBound(_ now: Instant) -> Instant {
        let interval = rate?.interval ?? 0
        let bound = share?.bound(now, interval: interval, cost: headCost) ?? now
        guard gate.isClosed(at: now), let end = gate.end else { return bound }
        return max(bound, end)
    }

    /// How many slots would be used beside those that are held and not void.
    private func needed(of share: RateShare, _ held: Int) -> Int {
        let ready = readyCounts.ahead(of: .low)
        let calls = min(ready, concurrency.map { max(0, $0 - inFlight) } ?? ready)
        // The slots of a call that takes several are of one block: those of an earlier one would be void before the last.
        guard waitingStarts == waiting else { return calls > 0 ? max(0, headCost - held) : 0 }
        // Spare slots are requested in blocks.
        guard calls > held || held * 2 < share.spare else { return 0 }
        return min(calls + share.spare, RateShare.most) - held
    }

    /// Removes slots that are void or not needed, and asks for the next ones when it is time.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - mayAsk: Whether the store responds, and nothing else holds the calls.
    /// - Returns: The number of void slots, the number to return, the number to ask for, and how many the first call lacks.
    mutating func consult(now: Instant, mayAsk: Bool) -> (void: Int, excess: Int, ask: Int, lacking: Int) {
        let bound = voidBound(now)
        let void = share?.drop(before: bound) ?? 0
        let excess = share?.trim(to: waitingStarts) ?? 0
        guard mayAsk, let due = askInstant(now: now), due <= now, let share else { return (void, excess, 0, 0) }
        let count = needed(of: share, share.slots.count)
        self.share?.isAsking = true
        return (void, excess, count, max(0, headCost - share.slots.count))
    }

    /// Moves the next start by a number of intervals, never before now.
    mutating func adjust(by units: Int, now: Instant) {
        guard let interval = rate?.interval else { return }
        starts.forget()
        let step = interval.times(units)
        let moved = (units > 0 ? max(paidUntil, now) : paidUntil).advanced(nanoseconds: step)
        paidUntil = max(min(paidUntil, now), moved)
        share?.adjust(by: units, interval: interval, now: now)
    }

    /// Returns a slot that was reserved and not used.
    ///
    /// - Parameters:
    ///   - start: The number of its start.
    ///   - cost: The starts that it took.
    ///   - account: The account of the call.
    ///   - now: The time.
    mutating func giveBack(_ start: UInt64, cost: Int = 1, _ account: String, now: Instant) {
        pace?.giveBack(start)
        lanes[account]?.pace?.giveBack(start)
        share?.giveBack(start)
        if let interval = rate?.interval {
            paidUntil = paidUntil.advanced(nanoseconds: -starts.refund(start, atMost: interval.times(cost)))
        }
        arrange(account, now)
        finish(account)
    }

    mutating func finish(_ account: String) {
        inFlight = max(0, inFlight - 1)
        guard !lanes.isEmpty, let running = lanes[account]?.inFlight else { return }
        lanes[account]?.inFlight = max(0, running - 1)
        dropLane(account)
    }

    // MARK: - Changes

    /// Changes the rate.
    ///
    /// Starts that are used up already stay used up.
    ///
    /// At 1 per second with the next start in 0.5 s, a change to 10 per second makes that 0.05 s.
    mutating func setRate(_ new: RateLimits.Rate?, now: Instant) {
        // The interval that a slot of another rate took is no longer known.
        starts.forget()
        defer { rate = new }
        guard let old = rate?.interval, let interval = new?.interval, paidUntil > now else {
            // After a hold, or without a previous rate, counting starts again: at the end of a server-requested delay,
            // if there is one.
            let begin = waitingStarts > waiting ? now : Instant(nanoseconds: .min)
            if rate?.interval == nil { paidUntil = gate.end ?? begin }
            return
        }
        let open = max(gate.end ?? now, now)
        guard paidUntil > open else { return }
        let owed = Double(open.duration(to: paidUntil).wholeNanoseconds) / Double(old)
        paidUntil = open.advanced(nanoseconds: Int64(min(owed * Double(interval), 4e18)))
    }

    /// Starts a server-requested delay for the service; a longer one stays.
    ///
    /// - Returns: Whether anything changed.
    mutating func close(until end: Instant, spread: Duration, blur: Double) -> Bool {
        guard gate.close(until: end) else { return false }
        guard let rate, let interval = rate.interval else { return true }
        starts.forget()
        // After a delay calls start one by one, regardless of the burst: the server has just had too many.
        let burst = interval.multipliedReportingOverflow(by: Int64(rate.burst - 1)).partialValue
        paidUntil = max(paidUntil, end.advanced(nanoseconds: burst))
        let room = min(interval, spread.wholeNanoseconds)
        gate.notBefore = end.advanced(nanoseconds: Int64(Double(room) * blur))
        return true
    }

    /// Starts a server-requested delay for one account; a longer one stays.
    ///
    /// - Returns: Whether anything changed.
    mutating func close(_ account: String, until end: Instant, now: Instant) -> Bool {
        makeLane(account, now)
        defer { arrange(account, now) }
        return lanes[account]?.gate.close(until: end) ?? false
    }

    /// Applies the quota that a server announced to an account, or to all accounts when that is nil.
    ///
    /// - Parameters:
    ///   - reading: The announced quota.
    ///   - account: The account.
    ///   - isRunning: Whether the exchange that brought the reading still counts as running.
    ///   - reserve: How much of the quota is spread.
    ///   - isShared: Whether a store counts the calls.
    ///   - now: The time.
    /// - Returns: The new pace in calls per second; nil when it need not be reported.
    mutating func observe(
        _ reading: QuotaReading,
        _ account: String?,
        isRunning: Bool,
        reserve: QuotaReserve = QuotaReserve(),
        isShared: Bool = false,
        now: Instant
    ) -> Double? {
        // The server has counted the call to which it responds.
        let own = isRunning ? 1 : 0
        guard let account else {
            var pace = pace ?? QuotaPace(now, reserve)
            if isShared { pace.beginShare() }
            defer {
                self.pace = pace
                noteAsk(nil, now)
            }
            return pace.observe(reading, inFlight: max(0, inFlight - own), now: now)
        }
        makeLane(account, now)
        var pace = lanes[account]?.pace ?? QuotaPace(now, reserve)
        if isShared { pace.beginShare() }
        let observed = pace.observe(reading, inFlight: max(0, (lanes[account]?.inFlight ?? 0) - own), now: now)
        lanes[account]?.pace = pace
        arrange(account, now)
        return observed
    }

    /// Forgets the quota announced to one account or to all.
    mutating func clearQuota(_ account: String?, now: Instant) {
        if account == nil {
            pace = nil
            asks.remove(nil)
        }
        for name in account.map({ [$0] }) ?? Array(lanes.keys) {
            lanes[name]?.pace = nil
            arrange(name, now)
            dropLane(name)
        }
    }

    /// Releases the lanes whose hold has ended, and spreads the calls that waited for a delay to end.
    mutating func advance(now: Instant, spread: Duration, blur: Double) {
        gate.open(now: now, waiting: rate?.interval == nil ? waiting : nil, spread: spread, blur: blur)
        while let (account, end) = held.first, end <= now {
            let count = lanes[account]?.queue.count
            lanes[account]?.gate.open(now: now, waiting: count, spread: spread, blur: blur)
            arrange(account, now)
        }
    }

    /// Whether forgetting the service changes nothing.
    func isIdle(now: Instant) -> Bool {
        inFlight == 0 && waiting == 0 && paidUntil <= now && !gate.isClosed(at: now)
            && (pace.map { $0.high <= now } ?? true) && lanes.values.allSatisfy { $0.isIdle(now: now) }
    }

    // MARK: - Lanes

    mutating func makeLane(_ account: String, _ now: Instant) {
        guard lanes[account] == nil else { return }
        if lanes.count >= laneSweepAt {
            lanes = lanes.filter { !$0.value.isIdle(now: now) }
            // Twice as many as are busy, so that the next sweep is as far away as this one was long.
            laneSweepAt = max(16, 2 * lanes.count)
        }
        lanes[account] = RateLane()
    }

    /// Removes a lane without state.
    private mutating func dropLane(_ account: String) {
        guard let lane = lanes[account], lane.queue.isEmpty, lane.inFlight == 0, lane.pace == nil, lane.gate.end == nil
        else { return }
        lanes[account] = nil
    }

    /// Moves a lane to the right index: ready, held, or none.
    mutating func arrange(_ account: String, _ now: Instant) {
        guard
            let (first, hold, counts, wasReady) = lanes[account].map({
                ($0.queue.first, $0.hold(at: now), $0.counts, $0.isReady)
            })
        else { return }
        let isHeld = hold.map { $0 > now } ?? false
        let isReady = first != nil && !isHeld
        if isReady != wasReady {
            readyCounts.add(counts, times: isReady ? 1 : -1)
            lanes[account]?.isReady = isReady
        }
        if isReady, let first { ready.set(account, first.rank) } else { ready.remove(account) }
        if first != nil, isHeld, let hold { held.set(account, hold) } else { held.remove(account) }
        if lanes[account]?.pace?.share != nil { noteAsk(account, now) }
        if pace?.share != nil { noteAsk(nil, now) }
    }
}
