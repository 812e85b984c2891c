import LadeCore

/// The limits of one service and where it stands with them: a pure value.
///
/// The rate is kept as one instant (the generic cell rate algorithm): `paidUntil` is the time up to which the starts so
/// far have used the rate up. A start is allowed once that is no more than burst − 1 intervals ahead, and moves it on by
/// one. At 10 per second and burst 1: starts at 0, 0.1, 0.2 …; burst 3: at 0, 0, 0, 0.1, 0.2 …
struct RateBucket: Sendable {
    /// How late a waiting call may come without the next ones coming later for it.
    ///
    /// Alarms ring about a millisecond late. Without this a rate of 10 would lose 1 % to that, one of 100 a tenth.
    static let lateness: Int64 = 10_000_000

    private(set) var rate: Rate?
    /// The exchanges that may run at a time; nil for no limit.
    var concurrency: Int?
    private(set) var inFlight = 0
    private(set) var paidUntil = Instant(nanoseconds: .min)
    /// Until when the server wants no calls.
    private(set) var gate: Instant?
    /// The first start after a gate, blurred.
    private var notBefore: Instant?
    /// The mean time between the releases of calls that waited at a gate of a service without a rate.
    private var releaseInterval: Int64?
    /// How many of those who waited at the gate are still to be released; who comes later is not held for it.
    private var releasesLeft = 0
    private var awaitsRelease = false
    var pace: QuotaPace?
    /// Those who wait, low priority first.
    var queues = [WaitQueue](repeating: WaitQueue(), count: 3)
    /// The waiter whose task keeps the alarm.
    var leader: UInt64?
    /// When the alarm rings.
    var armed: Instant?
    /// No waiter's deadline is before this.
    var earliestDeadline: Instant?

    init(rate: Rate?, concurrency: Int?) {
        self.rate = rate
        self.concurrency = concurrency
    }

    /// How many wait.
    var waiting: Int { queues[0].count + queues[1].count + queues[2].count }

    /// How many wait that go before a newcomer of this priority.
    func ahead(of priority: Request.Priority) -> Int {
        queues[priority.rawValue...].reduce(0) { $0 + $1.count }
    }

    var isFull: Bool { concurrency.map { inFlight >= $0 } ?? false }

    /// Whether the server wants no calls now.
    func isClosed(at now: Instant) -> Bool { gate.map { $0 > now } ?? false }

    /// When the call may start that has so many before it, others' caps aside; nil when nobody knows.
    func start(after ahead: Int, now: Instant) -> Instant? {
        var start = max(now, gate ?? now, notBefore ?? now)
        if let rate {
            guard let interval = rate.interval else { return nil }
            let base = max(paidUntil, start).nanoseconds
            let (steps, overflow) = interval.multipliedReportingOverflow(by: Int64(ahead - rate.burst + 1))
            guard !overflow else { return Instant(nanoseconds: ahead < rate.burst ? start.nanoseconds : .max) }
            start = max(start, Instant(nanoseconds: base).advanced(nanoseconds: steps))
        } else if let releaseInterval {
            start = start.advanced(nanoseconds: releaseInterval * Int64(min(ahead, releasesLeft)))
        }
        if let pace {
            let (steps, overflow) = pace.interval.multipliedReportingOverflow(by: Int64(ahead))
            start = max(start, overflow ? Instant(nanoseconds: .max) : pace.next.advanced(nanoseconds: steps))
        }
        return start
    }

    /// Reserves the slot of a call that starts now.
    ///
    /// - Parameters:
    ///   - due: When it would have started had its alarm been on time; now for one that had none.
    ///   - now: The time.
    ///   - blur: Where in `0 ..< 1` of its room the next release after a gate falls.
    mutating func reserve(due: Instant, now: Instant, blur: Double) {
        inFlight += 1
        if let interval = rate?.interval {
            let floor = max(due, now.advanced(nanoseconds: -Self.lateness))
            paidUntil = max(paidUntil, floor).advanced(nanoseconds: interval)
        }
        pace?.start(at: now)
        if let gate, gate <= now { self.gate = nil }
        notBefore = nil
        guard let interval = releaseInterval else { return }
        releasesLeft -= 1
        if waiting == 0 || releasesLeft <= 0 {
            releaseInterval = nil
        } else {
            notBefore = now.advanced(nanoseconds: Int64(Double(2 * interval) * blur))
        }
    }

    /// Gives back a slot that was reserved and not used.
    mutating func giveBack() {
        finish()
        guard let interval = rate?.interval else { return }
        paidUntil = paidUntil.advanced(nanoseconds: -interval)
    }

    mutating func finish() {
        inFlight = max(0, inFlight - 1)
    }

    /// Changes the rate; what is owed stays owed, counted in starts.
    ///
    /// At 1 per second with the next start in 0.5 s, a change to 10 per second makes that 0.05 s.
    mutating func setRate(_ new: Rate?, now: Instant) {
        defer { rate = new }
        guard let old = rate?.interval, let interval = new?.interval, paidUntil > now else {
            // After a hold, or without any rate before, the count starts afresh: at the end of the gate if it is closed.
            if rate?.interval == nil { paidUntil = gate ?? Instant(nanoseconds: .min) }
            return
        }
        let open = max(gate ?? now, now)
        guard paidUntil > open else { return }
        let owed = Double(open.duration(to: paidUntil).wholeNanoseconds) / Double(old)
        paidUntil = open.advanced(nanoseconds: Int64(min(owed * Double(interval), 4e18)))
    }

    /// Closes the gate; a gate that is closed for longer stays as it is.
    ///
    /// - Returns: Whether that changed anything.
    mutating func close(until end: Instant, spread: Duration, blur: Double) -> Bool {
        guard gate.map({ end > $0 }) ?? true else { return false }
        gate = end
        awaitsRelease = true
        guard let rate, let interval = rate.interval else { return true }
        // After a gate calls go one by one, whatever the burst: the server has just had too many.
        let burst = interval.multipliedReportingOverflow(by: Int64(rate.burst - 1)).partialValue
        paidUntil = max(paidUntil, end.advanced(nanoseconds: burst))
        let room = min(interval, spread.wholeNanoseconds)
        notBefore = end.advanced(nanoseconds: Int64(Double(room) * blur))
        return true
    }

    /// Prepares the release of those who waited at a gate that has opened.
    mutating func open(now: Instant, spread: Duration, blur: Double) {
        guard awaitsRelease, let gate, gate <= now else { return }
        awaitsRelease = false
        guard rate?.interval == nil, waiting > 1 else { return }
        let interval = spread.wholeNanoseconds / Int64(waiting)
        releaseInterval = interval
        releasesLeft = waiting
        notBefore = now.advanced(nanoseconds: Int64(Double(interval) * blur))
    }

    /// Whether forgetting it changes nothing.
    func isIdle(now: Instant) -> Bool {
        inFlight == 0 && waiting == 0 && paidUntil <= now && !isClosed(at: now) && (pace.map { $0.high <= now } ?? true)
    }
}

/// Waiters of one priority in order of arrival.
///
/// Those who leave stay in the list until they come up, or are more than the others.
struct WaitQueue: Sendable {
    private var ids: [UInt64] = []
    private var head = 0
    /// How many really wait.
    private(set) var count = 0

    /// Adds a waiter at its place in the order of arrival.
    mutating func insert(_ id: UInt64) {
        count += 1
        guard let last = ids.last, head < ids.count, last >= id else {
            ids.append(id)
            return
        }
        // Somebody with a new priority: found by halving.
        var (low, high) = (head, ids.count)
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] < id { low = middle + 1 } else { high = middle }
        }
        // Who has been here before is still in the list.
        if ids[low] != id { ids.insert(id, at: low) }
    }

    /// Counts a waiter out who is no longer valid.
    mutating func leave(isValid: (UInt64) -> Bool) {
        count -= 1
        guard ids.count - head > 2 * count + 16 else { return }
        ids = ids[head...].filter(isValid)
        head = 0
    }

    /// The first who is valid.
    mutating func first(isValid: (UInt64) -> Bool) -> UInt64? {
        guard count > 0 else {
            ids.removeAll(keepingCapacity: false)
            head = 0
            return nil
        }
        while head < ids.count, !isValid(ids[head]) { head += 1 }
        if head > 64, head > ids.count / 2 {
            ids.removeFirst(head)
            head = 0
        }
        return head < ids.count ? ids[head] : nil
    }

    /// The last who is valid.
    func last(isValid: (UInt64) -> Bool) -> UInt64? {
        ids[head...].last(where: isValid)
    }

    /// All who are valid, in order.
    func all(isValid: (UInt64) -> Bool) -> [UInt64] {
        ids[head...].filter(isValid)
    }
}
