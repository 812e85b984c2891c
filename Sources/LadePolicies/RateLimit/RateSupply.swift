package import LadeCore

/// The instants of calls come from outside: several processes share the limits of one service.
///
/// A limiter without a supply computes its slots alone. Orders and news of one limiter carry the number that
/// ``attach(_:)`` has returned. No call waits for a supply: calls wait for the instants that it delivers.
package protocol RateSupply: AnyObject, Sendable {
    /// Adds a limiter, which receives news from a thread of the supply.
    func attach(_ receive: @escaping @Sendable ([RateNews]) -> Void) -> Int
    /// Takes the orders of a limiter; returns immediately.
    func carryOut(_ orders: [RateOrder], for limiter: Int)
    /// Notes that the limiters are in use, before they use slots; voids the slots when the machine has slept.
    func touch()
}

/// An order of a limiter to its supply.
package enum RateOrder: Sendable, Equatable {
    /// Reserve slots.
    case ask(RateAsk)
    /// The last slots of a block are not needed.
    case giveBack(ServiceKey, count: Int)
    /// A server requested a delay; the rate says how calls start after it, nil for none.
    case gate(ServiceKey, for: Duration, rate: RateLimits.Rate?)
}

/// A wish for slots of a service.
package struct RateAsk: Sendable, Equatable {
    /// The service.
    package var key: ServiceKey
    /// How many calls wait and have no slot.
    package var count: Int
    /// The member's own rate.
    package var rate: RateLimits.Rate
    /// Whether the limiter has no slot left.
    package var holdsNone: Bool

    package init(key: ServiceKey, count: Int, rate: RateLimits.Rate, holdsNone: Bool) {
        (self.key, self.count, self.rate, self.holdsNone) = (key, count, rate, holdsNone)
    }
}

/// News for a limiter.
package enum RateNews: Sendable {
    /// Slots are reserved; the next ask should precede the need by `lead`.
    case granted(ServiceKey, slots: [Instant], lead: Duration)
    /// An ask was lost, with what it may have been granted.
    case lost(ServiceKey)
    /// The store responds: asks are possible.
    case joined(members: Int, active: Int)
    /// The number of members has changed.
    case members(Int, active: Int)
    /// The store does not respond; only slots that are held may be used.
    case parted
    /// The store does not respond and counts this process no longer: it calls at its share of the rate.
    case alone(members: Int)
    /// Another member was asked for a delay.
    case gate(ServiceKey, for: Duration)
    /// The clock stood still: slots that are held are void.
    case void
    /// An event for the next call.
    case event(Call.Event)
}
