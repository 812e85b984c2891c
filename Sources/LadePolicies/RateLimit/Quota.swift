#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeFields

/// How much of an announced quota is kept for spreading.
struct QuotaReserve: Sendable, Hashable {
    /// The share of the limit.
    var share = 0.1
    /// The least number of calls.
    var least = 5

    /// The calls from which on the rest is spread over the rest of the window.
    func calls(of limit: Int) -> Int {
        let part = Double(limit) * min(max(share, 0), 1)
        return max(0, least, Int(min(part, 1e12)))
    }
}

/// The remaining quota that a server announces.
///
/// | fields | source |
/// | --- | --- |
/// | `RateLimit: "default";r=50;t=30`, `RateLimit-Policy: "default";q=100;w=60` | IETF draft, structured fields |
/// | `RateLimit: limit=100, remaining=50, reset=30` | earlier IETF draft |
/// | `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset` | earlier IETF drafts |
/// | `X-RateLimit-…` | many services |
///
/// The reset of the last two is a number of seconds, a duration such as `5m0s`, or a date; see `Whole`.
struct QuotaReading: Sendable, Hashable {
    /// A field that is not understood whole.
    struct IgnoredField: Sendable, Hashable {
        var name: String
        var value: String
    }

    /// The number of calls left.
    var remaining: Int
    /// The time until the quota is renewed.
    var reset: Duration
    /// The calls of a whole window, when the server announced them.
    var limit: Int?
    /// The time per call over a whole window, when the server announced both its length and its quota.
    var windowInterval: Duration?

    /// Reads the fields of a response: every quota that it announces, and the fields that are not understood.
    static func all(in headers: Headers, now: Date) -> (readings: [QuotaReading], ignored: [IgnoredField]) {
        // Most responses have none of them.
        guard headers.containsName(startingWithOneOf: names) else { return ([], []) }
        var ignored: [IgnoredField] = []
        if let text = headers.joined("RateLimit") {
            let readings = structured(headers)
            if !readings.isEmpty { return (readings, []) }
            if let reading = dictionary(headers) { return ([reading], []) }
            ignored.append(IgnoredField(name: "RateLimit", value: text))
        }
        for prefix in ["RateLimit", "X-RateLimit"] where headers.contains(prefix + "-Remaining") {
            if let reading = three(prefix, headers, now, &ignored) { return ([reading], ignored) }
        }
        return ([], ignored)
    }

    private static let names: [StaticString] = ["ratelimit", "x-ratelimit"]

    /// The quota that delays calls the most; the first one where several are equal.
    static func strictest(of readings: [QuotaReading], _ reserve: QuotaReserve) -> QuotaReading? {
        readings.dropFirst().reduce(readings.first) { strictest, reading in
            strictest.map { reading.isStricter(than: $0, reserve) } ?? true ? reading : strictest
        }
    }

    private init?(remaining: Double, reset: Double, limit: Double? = nil, window: Double? = nil) {
        guard remaining.isFinite, remaining >= 0, reset.isFinite else { return nil }
        self.remaining = Int(min(remaining, 1e12))
        // A month is the longest window in use; a longer one is a misread date.
        self.reset = .seconds(min(max(0, reset), 31 * 86_400))
        guard let limit, limit >= 1 else { return }
        self.limit = Int(min(limit, 1e12))
        if let window, window > 0 { windowInterval = .seconds(min(window, 1e9) / limit) }
    }

    /// The reading with its times limited.
    func bounded(by limit: Duration) -> QuotaReading {
        var copy = self
        copy.reset = min(reset, limit)
        copy.windowInterval = windowInterval.map { min($0, limit) }
        return copy
    }

    /// The quotas of several policies.
    private static func structured(_ headers: Headers) -> [QuotaReading] {
        guard let limits = try? StructuredField.List(parsing: headers.all("RateLimit")) else { return [] }
        let policies = try? StructuredField.List(parsing: headers.all("RateLimit-Policy"))
        return limits.members.compactMap { member in
            guard let name = member.item?.value.text, let remaining = member.parameters["r"]?.number else { return nil }
            let policy = policies?.members.first { $0.item?.value.text == name }?.parameters
            let window = policy?["w"]?.number
            // Without a time, the whole window is the cautious guess.
            guard let reset = member.parameters["t"]?.number ?? window else { return nil }
            return QuotaReading(remaining: remaining, reset: reset, limit: policy?["q"]?.number, window: window)
        }
    }

    private func isStricter(than other: QuotaReading, _ reserve: QuotaReserve) -> Bool {
        let (own, others) = (isSpread(reserve), other.isSpread(reserve))
        return own == others ? secondsPerCall > other.secondsPerCall : own
    }

    private func isSpread(_ reserve: QuotaReserve) -> Bool { remaining <= reserve.calls(of: limit ?? 0) }

    private var secondsPerCall: Double { remaining > 0 ? reset.inSeconds / Double(remaining) : .infinity }

    private static func dictionary(_ headers: Headers) -> QuotaReading? {
        guard let fields = try? StructuredField.Dictionary(parsing: headers.all("RateLimit")),
            let remaining = fields["remaining"]?.item?.value.number, let reset = fields["reset"]?.item?.value.number
        else { return nil }
        return QuotaReading(remaining: remaining, reset: reset, limit: fields["limit"]?.item?.value.number)
    }

    private static func three(
        _ prefix: String,
        _ headers: Headers,
        _ now: Date,
        _ ignored: inout [IgnoredField]
    ) -> QuotaReading? {
        func read<Value>(_ field: SingleField, _ parse: (String) -> Value?) -> Value? {
            guard let written = headers.joined(field.name) else { return nil }
            let value = headers.value(field).flatMap(parse)
            if value == nil { ignored.append(IgnoredField(name: field.name, value: written)) }
            return value
        }
        let server = headers.date(now: now) ?? now
        let remaining = read(SingleField(number: prefix + "-Remaining"), Whole.decimal)
        let reset = read(SingleField(date: prefix + "-Reset")) { text in
            Whole.date(text, now: now).map { $0.timeIntervalSince(server) } ?? Whole.duration(text)?.inSeconds
        }
        // `100, 100;w=60` has the quotas of all windows after the limit that applies.
        let limit = read(SingleField(text: prefix + "-Limit")) { text in
            (try? StructuredField.List(parsing: [text]))?.members.first?.item?.value.number
        }
        guard let remaining, let reset else { return nil }
        return QuotaReading(remaining: remaining, reset: reset, limit: limit)
    }
}

/// How an announced quota is spent: at once while much of it is left, the last calls evenly over the remaining window.
///
/// The last call comes before the reset, not on it, where it would belong to the next window. With 3 calls left and 12
/// s to go, calls start after 3, 6 and 9 s. With none left, no call starts until the reset. With 60 calls left of 100,
/// 50 start immediately.
struct QuotaPace: Sendable {
    /// The interval after a reset, until the first response of the new window.
    private static let unknownInterval: Int64 = 1_000_000_000

    /// When the next call may start.
    private(set) var next: Instant
    /// Whether no call is left before the reset: then ``next`` is the reset, and not a pace.
    private(set) var isExhausted = false
    private let reserve: QuotaReserve
    /// The calls that start at once.
    private var free = 0
    /// The time from one call to the next, after those.
    private var interval: Int64 = 0
    /// The earliest reset that was announced in this window.
    ///
    /// Servers announce whole seconds, rounded up or down. The real reset is therefore at most one second after the
    /// earliest announced one. Calls are spread up to the announced reset, so that all remaining calls are used. When
    /// none is left, calls wait for the latest possible reset.
    private var earliest: Instant
    /// The latest possible reset.
    private(set) var high: Instant
    /// The calls that may start before the next reading; nil when unknown.
    private var allowance: Int?
    /// The calls of a whole window: as announced, else the most that were left in any reading of this window.
    private var limit = 0
    /// Whether the reset has passed since the last reading.
    private var isNewWindow = false
    /// The interval at the beginning of a window, before its first reading.
    private var resting: Int64?
    private var lastStart: Instant?
    /// How calls would have started without the last one of the quota; nil unless that was the last start.
    private var beforeLast: (next: Instant, free: Int, interval: Int64)?
    /// The pace that was last reported to the event sinks; without one, calls start at once.
    private var announced = Double.infinity
    /// How many processes divide the quota without a store that counts its calls.
    private var members = 1
    /// The slots of a quota whose calls a store counts; nil for a quota of this process.
    private(set) var share: QuotaShare?

    init(_ now: Instant, _ reserve: QuotaReserve = QuotaReserve()) {
        (next, earliest, high) = (now, now, now)
        self.reserve = reserve
    }

    /// When a call may start that has `ahead` others before it in the queue.
    func start(after ahead: Int, now: Instant) -> Instant {
        if let share {
            let slot = share.slots.start(after: ahead, now: now, interval: share.lateness(now)) ?? .never
            return floor.map { max(slot, $0) } ?? slot
        }
        let steps = free > 0 ? max(0, ahead - free + 1) : ahead
        let (length, overflow) = interval.multipliedReportingOverflow(by: Int64(steps))
        return overflow ? Instant(nanoseconds: .max) : next.advanced(nanoseconds: length)
    }

    /// The instant before which the server would refuse every call; nil while it would take one.
    var floor: Instant? { isExhausted ? next : nil }

    /// When the next call may start.
    func hold(at now: Instant) -> Instant { share == nil ? next : start(after: 0, now: now) }

    /// Records a start with this number.
    mutating func start(_ number: UInt64, at now: Instant) {
        if let lateness = share?.lateness(now) { _ = share?.slots.use(number, now: now, interval: lateness) }
        lastStart = now
        if now >= high, !isNewWindow { beginWindow() }
        isExhausted = false
        let before = (next, free, interval)
        guard free > 0 else {
            next = max(next, now).advanced(nanoseconds: interval)
            spend(now, before)
            return
        }
        free -= 1
        spend(now, before)
        if free == 0, !isExhausted { spread(now) } else if !isExhausted { next = now }
    }

    /// The reset has passed: the quota is whole again, as far as it is known.
    private mutating func beginWindow() {
        isNewWindow = true
        (allowance, beforeLast) = (nil, nil)
        let limit = limit / members
        guard limit > reserve.calls(of: limit) else { return }
        allowance = limit
        free = limit - reserve.calls(of: limit)
        // Until the first response of the window, nothing is known of its end.
        interval = restingInterval
    }

    private var restingInterval: Int64 { (resting ?? Self.unknownInterval).times(members) }

    private mutating func spend(_ now: Instant, _ before: (next: Instant, free: Int, interval: Int64)) {
        guard let left = allowance else { return }
        allowance = left - 1
        guard left <= 1 else { return }
        exhaust(now)
        beforeLast = before
    }

    /// Spreads what is left over the rest of the window.
    private mutating func spread(_ now: Instant) {
        if let allowance, earliest > now {
            interval = now.duration(to: earliest).wholeNanoseconds / Int64(min(allowance, 1 << 40) + 1)
        }
        next = min(now.advanced(nanoseconds: interval), max(high, now))
    }

    /// Returns a start that was not used.
    mutating func giveBack(_ number: UInt64) {
        share?.slots.giveBack(number)
        if isExhausted, let before = beforeLast {
            (next, free, interval) = before
            (allowance, isExhausted, beforeLast) = (1, false, nil)
            return
        }
        if let left = allowance { allowance = left + 1 }
        if free > 0 {
            free += 1
        } else if !isExhausted {
            next = next.advanced(nanoseconds: -interval)
        }
    }

    /// Applies a reading; `inFlight` calls that the server may not have counted yet count as spent.
    ///
    /// - Returns: The new pace in calls per second when it differs from the last reported one by a tenth.
    mutating func observe(_ reading: QuotaReading, inFlight: Int, now: Instant) -> Double? {
        let observed = now.advanced(by: reading.reset)
        let difference = earliest.duration(to: observed)
        let isSameWindow = now < high && difference < .milliseconds(1500) && difference > .milliseconds(-1500)
        earliest = isSameWindow ? min(earliest, observed) : observed
        high = earliest.advanced(by: .seconds(1))
        // The server has counted the call to which it responds.
        limit = reading.limit ?? max(min(reading.remaining, .max - 1) + 1, isSameWindow ? limit : 0)
        if let whole = reading.windowInterval { resting = whole.wholeNanoseconds }
        let available = (reading.remaining - inFlight) / members
        let wasExhausted = isExhausted
        (isExhausted, isNewWindow, beforeLast) = (false, false, nil)
        var rate = 0.0
        if available > 0 {
            allowance = available
            free = max(0, available - reserve.calls(of: limit))
            interval = max(0, now.duration(to: earliest).wholeNanoseconds) / Int64(min(available, 1 << 40) + 1)
            if reading.windowInterval == nil, !isSameWindow || interval > resting ?? 0, interval > 0 {
                resting = interval
            }
            // Never later than the reset, which renews the quota.
            let spaced = (lastStart ?? now).advanced(nanoseconds: interval)
            next = free > 0 ? min(lastStart ?? now, now) : min(spaced, max(high, now))
            rate = free > 0 || interval == 0 ? .infinity : 1e9 / Double(interval)
        } else {
            exhaust(now)
        }
        let isUrgent = !isSameWindow || isExhausted && !wasExhausted
        share?.note(reading.remaining, inFlight: inFlight, reset: observed, isUrgent: isUrgent)
        // Equal infinities differ by no number.
        if rate == announced || abs(rate - announced) <= announced * 0.1, rate.isInfinite == announced.isInfinite {
            return nil
        }
        announced = rate
        return rate
    }

    /// No call is left before the reset.
    private mutating func exhaust(_ now: Instant) {
        (allowance, beforeLast) = (nil, nil)
        free = 0
        isExhausted = true
        interval = restingInterval
        next = max(now, high)
    }

    // MARK: - Shared quotas

    /// Lets a store count the calls; until its first reply, none starts.
    ///
    /// - Parameter end: The end of the window of which another process knows; nil when this process has read it.
    mutating func beginShare(until end: Instant? = nil) {
        members = 1
        if let end { high = max(high, end) }
        if share == nil { share = QuotaShare() }
    }

    /// Divides the rest of the quota among processes that no store counts the calls of.
    mutating func endShare(members count: Int, now: Instant) {
        share = nil
        guard count != members else { return }
        members = max(1, count)
        guard members > 1, let allowance, !isExhausted else { return }
        (self.allowance, free, interval) = (allowance / members, free / members, interval.times(members))
        if allowance < members { exhaust(now) }
    }

    /// The next order for the store; nil without a shared quota.
    mutating func makeAsk(
        _ key: ServiceKey,
        _ account: String?,
        calls: Int,
        waiting: Int,
        now: Instant
    ) -> QuotaAsk? {
        guard var share else { return nil }
        var ask = QuotaAsk(key: key, account: account)
        _ = share.slots.drop(before: now.advanced(nanoseconds: -share.lateness(now)))
        ask.returned = share.slots.trim(to: waiting)
        ask.window = share.window
        ask.holdsNone = share.slots.slots.isEmpty
        let held = share.slots.slots.count
        // A report before the time of the next ask wants no slots.
        ask.count = share.slots.askAt <= now ? max(0, min(calls, RateShare.most) - held) : 0
        ask.reserve = (reserve.share, reserve.least)
        ask.limit = limit > 0 ? limit : nil
        ask.interval = resting.map { .nanoseconds($0) }
        if let reading = share.reading, reading.reset.advanced(by: .seconds(1)) > now {
            let reset = max(.zero, now.duration(to: reading.reset))
            ask.reading = .init(remaining: reading.remaining, reset: reset, inFlight: reading.inFlight)
        }
        (share.reading, share.isUrgent, share.hasAsked, share.slots.isAsking) = (nil, false, ask.count > 0, true)
        self.share = share
        return ask
    }

    /// Takes the news of the store.
    mutating func receive(_ news: QuotaNews, now: Instant) {
        switch news {
        case .granted(let slots, let lead, let window, let end, let isUsedUp):
            share?.grant(slots, lead: lead, window: window, end: end, now: now)
            guard isUsedUp, let end else { return }
            useUp(until: end.advanced(by: .seconds(1)))
        case .none: share = nil
        case .lost: share?.slots.isAsking = false
        case .usedUp(let delay):
            guard share != nil else { return }
            _ = share?.slots.void()
            useUp(until: now.advanced(by: delay))
        }
    }

    private mutating func useUp(until end: Instant) {
        (allowance, beforeLast, free) = (nil, nil, 0)
        (isExhausted, next, high) = (true, end, max(high, end))
        share?.slots.delay(until: end)
    }

    /// Voids the slots that are held.
    mutating func voidSlots() { _ = share?.slots.void() }
}

extension Int64 {
    /// The product; saturates.
    func times(_ count: Int) -> Int64 {
        let (product, overflow) = multipliedReportingOverflow(by: Int64(count))
        return overflow ? .max : product
    }
}

extension Instant {
    /// An instant that no clock reaches.
    static let never = Instant(nanoseconds: .max)

    /// The instant this many nanoseconds later; saturates.
    func advanced(nanoseconds count: Int64) -> Instant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(count)
        return Instant(nanoseconds: overflow ? (count < 0 ? .min : .max) : sum)
    }
}
