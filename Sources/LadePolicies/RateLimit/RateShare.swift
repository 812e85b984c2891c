import LadeCore

/// The part of a shared limit that one service of one process has: slots of the store, or a share of the rate.
struct RateShare: Sendable {
    /// The reserved instants, the earliest first.
    private(set) var slots: [Instant] = []
    /// Whether an ask is in progress.
    var isAsking = false
    /// No ask is made before this instant.
    private(set) var askAt = Instant(nanoseconds: .min)
    /// How long an ask precedes the need.
    private(set) var lead: Int64 = 5_000_000
    /// The next start and the divisor of the rate while the store does not respond; nil with slots of the store.
    private var alone: (next: Instant, members: Int64)?
    /// The slots of the last starts, for those that are returned unused.
    private var used: [(start: UInt64, slot: Instant)] = []
    /// How many slots are requested beyond those of waiting calls, while the limit delays none.
    ///
    /// Without them each call that ends would have the next one wait for a round trip. They are as many as pass before they
    /// are void: none at 100 a second, 9 at 1,000.
    private(set) var spare = 0
    private var hasVoid = false
    /// The time from one slot to the next in the last block.
    private var spacing: Int64 = 0
    private static let leastSpare = 8
    /// The most slots that one ask may request.
    static let most = 64
    /// The delay of the next ask after a grant without any slot.
    private static let emptyDelay: Int64 = 250_000_000

    /// Whether starts are a share of the rate.
    var isAlone: Bool { alone != nil }

    /// How late a slot may be used: by one interval, so that at most one call is above the limit, or as any timer.
    static func lateness(_ interval: Int64) -> Int64 { max(RateBucket.lateness, interval) }

    /// Slots before this instant are void.
    ///
    /// A call that takes several slots starts at the last, so the first ones are older then.
    func bound(_ now: Instant, interval: Int64, cost: Int = 1) -> Instant {
        let bound = now.advanced(nanoseconds: -Self.lateness(interval))
        guard cost > 1 else { return bound }
        return bound.advanced(nanoseconds: -max(interval, spacing).times(cost - 1))
    }

    /// When a call may start that has `ahead` starts before it; nil when unknown.
    func start(after ahead: Int, cost: Int = 1, now: Instant, interval: Int64) -> Instant? {
        if let alone {
            let (step, overflow) = interval.multipliedReportingOverflow(by: alone.members)
            let (steps, more) = step.multipliedReportingOverflow(by: Int64(ahead + cost - 1))
            return overflow || more ? Instant(nanoseconds: .max) : max(now, alone.next).advanced(nanoseconds: steps)
        }
        let bound = bound(now, interval: interval, cost: cost)
        let last = (slots.firstIndex { $0 >= bound } ?? slots.endIndex) + ahead + cost - 1
        return last < slots.endIndex ? slots[last] : nil
    }

    /// Uses the next slots for a start with this number.
    ///
    /// - Returns: The instant of the last slot; nil for a share of the rate.
    mutating func use(_ number: UInt64, cost: Int = 1, now: Instant, interval: Int64) -> Instant? {
        if let alone {
            let step = interval.times(Int(alone.members))
            let due = now.advanced(nanoseconds: -RateBucket.lateness).advanced(nanoseconds: -step.times(cost - 1))
            self.alone?.next = max(alone.next, due).advanced(nanoseconds: step.times(cost))
            return nil
        }
        let bound = bound(now, interval: interval, cost: cost)
        guard let first = slots.firstIndex(where: { $0 >= bound }), first + cost <= slots.endIndex else { return nil }
        let taken = slots[first..<first + cost]
        slots.removeSubrange(first..<first + cost)
        used.removeAll { $0.slot < bound }
        if used.count < Self.most { used += taken.map { (number, $0) } }
        return taken.last
    }

    /// Takes back the slots of a start that sent nothing, as long as they are not void.
    mutating func giveBack(_ number: UInt64) {
        let returned = used.filter { $0.start == number }.map(\.slot)
        guard !returned.isEmpty else { return }
        used.removeAll { $0.start == number }
        slots = (slots + returned).sorted()
    }

    /// Moves the next start of a share of the rate.
    mutating func adjust(by units: Int, interval: Int64, now: Instant) {
        guard let alone else { return }
        let step = interval.times(Int(alone.members)).times(units)
        let moved = (units > 0 ? max(alone.next, now) : alone.next).advanced(nanoseconds: step)
        self.alone?.next = max(min(alone.next, now), moved)
    }

    /// Adds granted slots; the share of the rate ends.
    mutating func grant(_ granted: [Instant], lead: Int64, interval: Int64, now: Instant) {
        isAsking = false
        if let first = granted.first, first <= now {
            let most = min(Int64(Self.most), RateBucket.lateness / max(1, interval) - 1)
            spare = hasVoid ? spare / 2 : min(max(0, Int(most)), max(Self.leastSpare, spare * 2))
        } else if !granted.isEmpty {
            spare = 0
        }
        hasVoid = false
        alone = nil
        self.lead = max(0, lead)
        slots += granted.prefix(max(Self.most, RateCost.most))
        slots.sort()
        if let first = granted.first, let last = granted.last, granted.count > 1 {
            spacing = first.duration(to: last).wholeNanoseconds / Int64(granted.count - 1)
        }
        guard let last = slots.last else {
            askAt = now.advanced(nanoseconds: Self.emptyDelay)
            return
        }
        // With an empty grant, the next ask follows when no slot is held.
        askAt = granted.isEmpty ? last : last.advanced(nanoseconds: -self.lead)
    }

    /// The number of slots from an instant on.
    func held(from bound: Instant) -> Int { slots.count - (slots.firstIndex { $0 >= bound } ?? slots.endIndex) }

    /// Removes the slots before an instant.
    ///
    /// - Returns: Their number.
    mutating func drop(before bound: Instant) -> Int {
        let count = slots.prefix { $0 < bound }.count
        slots.removeFirst(count)
        if count > 0 { hasVoid = true }
        return count
    }

    /// Removes the slots that no waiting call needs, but for spare ones.
    ///
    /// - Returns: Their number.
    mutating func trim(to count: Int) -> Int {
        let excess = max(0, slots.count - count - spare)
        slots.removeLast(excess)
        return excess
    }

    /// Starts a share of the rate; the fraction places the first start, so that members do not start together.
    mutating func begin(members: Int, interval: Int64, now: Instant, phase: Double) {
        guard alone?.members != Int64(members) else { return }
        (slots, isAsking) = ([], false)
        let step = Double(interval) * Double(members) * phase
        let first = now.advanced(nanoseconds: Int64(min(step, 4e18)))
        alone = (alone.map { min($0.next, first) } ?? first, Int64(max(1, members)))
    }

    /// Ends the share of the rate without a grant.
    mutating func endAlone() { alone = nil }

    /// Makes no ask before this instant.
    mutating func delay(until instant: Instant) { askAt = instant }

    /// Forgets all slots.
    mutating func void() -> Int {
        defer { (slots, used) = ([], []) }
        return slots.count
    }
}
