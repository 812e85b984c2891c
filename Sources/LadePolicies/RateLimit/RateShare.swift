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
    private static let leastSpare = 8
    /// The most slots that one ask may request.
    static let most = 64
    /// The delay of the next ask after a grant without any slot.
    private static let emptyDelay: Int64 = 250_000_000

    /// Whether starts are a share of the rate.
    var isAlone: Bool { alone != nil }

    /// How late a slot may be used: by one interval, so that at most one call is above the limit, or as any timer.
    static func lateness(_ interval: Int64) -> Int64 { max(RateBucket.lateness, interval) }

    /// When a call may start that has `ahead` others before it; nil when unknown.
    func start(after ahead: Int, now: Instant, interval: Int64) -> Instant? {
        if let alone {
            let (step, overflow) = interval.multipliedReportingOverflow(by: alone.members)
            let (steps, more) = step.multipliedReportingOverflow(by: Int64(ahead))
            return overflow || more ? Instant(nanoseconds: .max) : max(now, alone.next).advanced(nanoseconds: steps)
        }
        let bound = now.advanced(nanoseconds: -Self.lateness(interval))
        let first = slots.firstIndex { $0 >= bound } ?? slots.endIndex
        return first + ahead < slots.endIndex ? slots[first + ahead] : nil
    }

    /// Uses the next slot for a start with this number.
    ///
    /// - Returns: The instant of the slot; nil for a share of the rate.
    mutating func use(_ number: UInt64, now: Instant, interval: Int64) -> Instant? {
        if let alone {
            let floor = max(alone.next, now.advanced(nanoseconds: -RateBucket.lateness))
            let (step, overflow) = interval.multipliedReportingOverflow(by: alone.members)
            self.alone?.next = floor.advanced(nanoseconds: overflow ? .max : step)
            return nil
        }
        let bound = now.advanced(nanoseconds: -Self.lateness(interval))
        guard let first = slots.firstIndex(where: { $0 >= bound }) else { return nil }
        let slot = slots.remove(at: first)
        used.removeAll { $0.slot < bound }
        if used.count < Self.most { used.append((number, slot)) }
        return slot
    }

    /// Takes back the slot of a start that sent nothing, as long as it is not void.
    mutating func giveBack(_ number: UInt64) {
        guard let index = used.firstIndex(where: { $0.start == number }) else { return }
        let slot = used.remove(at: index).slot
        slots.insert(slot, at: slots.firstIndex { $0 >= slot } ?? slots.endIndex)
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
        slots += granted.prefix(Self.most)
        slots.sort()
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
