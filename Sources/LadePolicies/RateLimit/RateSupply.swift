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
    /// Move the next start, as a call took another number of starts than were reserved for it.
    case adjust(ServiceKey, units: Int, rate: RateLimits.Rate)
    /// Report a reading of a quota, and reserve slots of it.
    case quota(QuotaAsk)
}

/// A wish for slots of a service.
package struct RateAsk: Sendable, Equatable {
    /// The service.
    package var key: ServiceKey
    /// How many slots waiting calls lack.
    package var count: Int
    /// The member's own rate.
    package var rate: RateLimits.Rate
    /// Whether the limiter has no slot left, or too few for the first call.
    package var holdsNone: Bool
    /// Fewer slots are of no use to the first call.
    package var least: Int

    package init(key: ServiceKey, count: Int, rate: RateLimits.Rate, holdsNone: Bool, least: Int = 1) {
        (self.key, self.count, self.rate, self.holdsNone, self.least) = (key, count, rate, holdsNone, least)
    }
}

/// The news of a limiter about a quota, and its wish for slots.
package struct QuotaAsk: Sendable, Equatable {
    /// A reading that the store may not know yet.
    package struct Reading: Sendable, Equatable {
        /// The number of calls left.
        package var remaining: Int
        /// The time until the quota is renewed.
        package var reset: Duration
        /// The calls of this process that the server may not have counted yet.
        package var inFlight: Int

        package init(remaining: Int, reset: Duration, inFlight: Int) {
            (self.remaining, self.reset, self.inFlight) = (remaining, reset, inFlight)
        }
    }

    /// The service.
    package var key: ServiceKey
    /// The account with the quota; nil for one of all accounts.
    package var account: String?
    /// How many calls wait and have no slot.
    package var count = 0
    /// Whether the limiter has no slot left.
    package var holdsNone = true
    /// How many slots no call needs any longer, and the window that they are from.
    package var returned = 0
    package var window = 0.0
    /// The last calls that are spread over the rest of a window: a share of all, and the least number.
    package var reserve = (share: 0.1, least: 5)
    /// The calls of a whole window, and the time per call; nil when unknown.
    package var limit: Int?
    package var interval: Duration?
    package var reading: Reading?

    package init(key: ServiceKey, account: String?) { (self.key, self.account) = (key, account) }

    package static func == (left: QuotaAsk, right: QuotaAsk) -> Bool {
        (left.key, left.account, left.count, left.holdsNone, left.returned, left.window)
            == (right.key, right.account, right.count, right.holdsNone, right.returned, right.window)
            && left.reserve == right.reserve && left.limit == right.limit && left.interval == right.interval
            && left.reading == right.reading
    }
}

/// The news of a supply about one quota.
package enum QuotaNews: Sendable {
    /// Slots of a window are reserved, which ends at `end`; `isUsedUp` when no call is left in it.
    case granted([Instant], lead: Duration, window: Double, end: Instant?, isUsedUp: Bool)
    /// The store knows no such quota.
    case none
    /// An ask was lost, with what it may have been granted.
    case lost
    /// Another member has learned that no call is left.
    case usedUp(for: Duration)
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
    /// News about the quota of an account, or of all accounts when that is nil.
    case quota(ServiceKey, account: String?, QuotaNews)
    /// Another member has read a quota of some account, which lasts for so long.
    case quotaAnnounced(ServiceKey, for: Duration)
    /// The clock stood still: slots that are held are void.
    case void
    /// An event for the next call.
    case event(Call.Event)
}
