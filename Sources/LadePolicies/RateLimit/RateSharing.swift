import LadeCore
import Synchronization

/// The knowledge of a limiter about the supply that it shares limits by: a pure value within ``RateLimiterState``.
struct RateSharing: Sendable {
    /// The contact with the store.
    enum Contact: Sendable, Equatable {
        /// There was none yet, so no other member knows of this one: calls wait.
        case none
        case open
        /// It was lost; only slots that are held may be used.
        case lost
        /// It was lost for so long that the other members do not count this one.
        case alone(members: Int)
    }

    var contact = Contact.none
    /// The members known, and those that were heard lately; this one included.
    var members = 1
    var active = 1
    /// The services with more members than concurrent exchanges, which an event has named.
    var crowdedKeys: Set<ServiceKey> = []
    /// The orders for the supply.
    var orders: [RateOrder] = []
    /// Events for the next call.
    var events: [Call.Event] = []
    /// More events are dropped.
    private static let mostEvents = 64

    mutating func note(_ event: Call.Event) {
        if events.count < Self.mostEvents { events.append(event) }
    }
}

// Limits that are shared with other processes: asking is an action, a grant is an event.
extension RateLimiterState {
    /// The time over which calls are spread after a delay; members without a rate divide the load of the service.
    var releaseSpread: Duration {
        guard let sharing else { return limits.releaseSpread }
        return limits.releaseSpread * max(1, min(sharing.active, 1_000))
    }

    /// This member's part of a number of concurrent exchanges, at least one.
    func share(of concurrency: Int?) -> Int? {
        guard let sharing, let concurrency else { return concurrency }
        return max(1, concurrency / max(1, sharing.members))
    }

    /// The reason of a wait.
    func reason(_ obstacle: RateBucket.Obstacle, _ key: ServiceKey) -> Call.WaitReason {
        guard let sharing, sharing.contact == .none, obstacle == .rate else { return obstacle.reason(key) }
        return .fleet(key: key.description)
    }

    /// When a service must ask for slots; nil when it need not, or the store does not respond.
    func nextAsk(_ key: ServiceKey, _ now: Instant) -> Instant? {
        guard sharing?.contact == .open, let bucket = buckets[key] else { return nil }
        guard let quota = bucket.asks.first?.rank else { return bucket.askInstant(now: now) }
        return bucket.askInstant(now: now).map { min($0, quota) } ?? quota
    }

    /// Removes useless slots of a service, and asks for those that its calls need.
    mutating func consult(_ key: ServiceKey, _ now: Instant, isCrowded: Bool) {
        guard let sharing else { return }
        let mayAsk = sharing.contact == .open && !isCrowded
        while mayAsk, let ask = change(key, { $0.takeQuotaAsk(of: key, now: now) }) ?? nil {
            self.sharing?.orders.append(.quota(ask))
        }
        guard let rate = buckets[key]?.rate, buckets[key]?.share != nil else { return }
        guard let (void, excess, ask, lacking) = change(key, { $0.consult(now: now, mayAsk: mayAsk) }) else { return }
        if void > 0, buckets[key]?.share?.spare == 0 {
            self.sharing?.note(.slotsVoided(key: key.description, count: void))
        }
        if excess > 0 { self.sharing?.orders.append(.giveBack(key, count: excess)) }
        guard ask > 0 else { return }
        let wish = RateAsk(key: key, count: ask, rate: rate, holdsNone: lacking > 0, least: max(1, lacking))
        self.sharing?.orders.append(.ask(wish))
    }

    /// Gives a service with a rate its part of the shared limit, and takes it from one without.
    mutating func beginSharing(_ key: ServiceKey, _ now: Instant) {
        guard let sharing else { return }
        let phase = nextBlur()
        change(key) { bucket in
            guard let interval = bucket.rate?.interval else {
                bucket.share = nil
                return
            }
            if bucket.share == nil { bucket.share = RateShare() }
            if case .alone(let members) = sharing.contact {
                bucket.share?.begin(members: members, interval: interval, now: now, phase: phase)
            }
        }
    }

    /// Takes what the supply is to do, and the events for the next call.
    mutating func takeOrders() -> [RateOrder] {
        guard let orders = sharing?.orders, !orders.isEmpty else { return [] }
        sharing?.orders = []
        return orders
    }

    mutating func takeEvents() -> [Call.Event] {
        guard let events = sharing?.events, !events.isEmpty else { return [] }
        sharing?.events = []
        return events
    }

    /// Applies news of the supply.
    mutating func receive(_ news: [RateNews], now: Instant) -> Wakes {
        var wakes: Wakes = []
        for item in news { receive(item, now, &wakes) }
        return wakes
    }

    private mutating func receive(_ news: RateNews, _ now: Instant, _ wakes: inout Wakes) {
        switch news {
        case .granted(let key, let slots, let lead):
            change(key) { bucket in
                let interval = bucket.rate?.interval ?? 0
                bucket.share?.grant(slots, lead: lead.wholeNanoseconds, interval: interval, now: now)
            }
            if let last = slots.last {
                let until = max(.zero, now.duration(to: last))
                sharing?.note(.slotsGranted(key: key.description, count: slots.count, until: until))
            }
            wakeUp(key, now, &wakes)
        case .lost(let key):
            change(key) { $0.share?.isAsking = false }
        case .joined(let members, let active):
            sharing?.contact = .open
            count(members, active)
            for key in Array(buckets.keys) {
                // A share of the rate goes on until the first grant.
                if !hasWaiters(key) { change(key) { $0.share?.endAlone() } }
                divide(key, now, &wakes)
            }
        case .members(let members, let active):
            count(members, active)
            for key in Array(buckets.keys) { divide(key, now, &wakes) }
        case .parted:
            if sharing?.contact == .open { sharing?.contact = .lost }
            for key in Array(buckets.keys) { change(key) { $0.share?.isAsking = false } }
        case .alone(let members):
            sharing?.contact = .alone(members: members)
            for key in Array(buckets.keys) {
                change(key) { $0.changePaces(now) { $0.endShare(members: members, now: now) } }
                beginSharing(key, now)
                wakeUp(key, now, &wakes)
            }
        case .gate(let key, let pause):
            if let (_, more) = close(key, nil, for: pause, now: now) { wakes += more }
        case .void:
            for key in Array(buckets.keys) {
                let count = change(key) { $0.share?.void() ?? 0 } ?? 0
                change(key) { $0.changePaces(now) { $0.voidSlots() } }
                if count > 0 { sharing?.note(.slotsVoided(key: key.description, count: count)) }
                wakeUp(key, now, &wakes)
            }
        case .quota(let key, let account, let news):
            change(key) { $0.changePace(account, now) { $0.receive(news, now: now) } }
            if case .granted(let slots, _, _, _, _) = news, let last = slots.last {
                let until = max(.zero, now.duration(to: last))
                sharing?.note(.slotsGranted(key: key.description, count: slots.count, until: until))
            }
            wakeUp(key, now, &wakes)
        case .quotaAnnounced(let key, let rest):
            guard limits.respectsQuotas else { return }
            if buckets[key] == nil { add(makeBucket(key), key, now) }
            let (end, reserve) = (now.advanced(by: min(rest, limits.quotaLimit)), limits.reserve)
            let isOfAccount = limits.quotaSharing == .account
            change(key) { $0.shareQuotas(until: end, isOfAccount: isOfAccount, reserve: reserve, now: now) }
            wakeUp(key, now, &wakes)
        case .event(let event): sharing?.note(event)
        }
    }

    /// More services are not named by events.
    private static let mostCrowded = 64

    private mutating func count(_ members: Int, _ active: Int) {
        sharing?.members = max(1, members)
        sharing?.active = max(1, active)
    }

    /// Applies the number of members to the number of concurrent exchanges.
    private mutating func divide(_ key: ServiceKey, _ now: Instant, _ wakes: inout Wakes) {
        let concurrency = makeBucket(key).concurrency
        change(key) { $0.concurrency = concurrency }
        if let whole = concurrencies[key] ?? self.concurrency, let members = sharing?.members, members > whole {
            let isNamed =
                sharing.map { $0.crowdedKeys.contains(key) || $0.crowdedKeys.count >= Self.mostCrowded } ?? true
            if !isNamed {
                sharing?.crowdedKeys.insert(key)
                let reason = "\(members) members share \(whole) concurrent exchanges of \(key), one each"
                sharing?.note(.fleetCoarse(reason: reason))
            }
        } else {
            sharing?.crowdedKeys.remove(key)
        }
        wakeUp(key, now, &wakes)
    }

    mutating func wakeUp(_ key: ServiceKey, _ now: Instant, _ wakes: inout Wakes) {
        if hasWaiters(key) { pump(key, now, &wakes) } else { rearm(key, now, &wakes) }
    }
}

extension RateLimiter {
    /// Passes to the supply what the last change asks for.
    @inline(never)
    func carryOut() {
        let orders = state.withLock { $0.takeOrders() }
        if !orders.isEmpty { supply?.carryOut(orders, for: supplyNumber.load(ordering: .acquiring)) }
    }

    /// Notes that the limits are in use, and gives the call the events since the last one.
    @inline(never)
    func use(in call: Call) {
        supply?.touch()
        for event in state.withLock({ $0.takeEvents() }) { call.record(event) }
    }

    /// Lets the other members know of a delay that a server requested.
    func share(_ delay: Duration, of key: ServiceKey) {
        supply?.carryOut(
            [.gate(key, for: delay, rate: rate(for: key))],
            for: supplyNumber.load(ordering: .acquiring)
        )
    }

    func receive(_ news: [RateNews]) {
        let now = time.now
        wake(state.withLock { $0.receive(news, now: now) })
    }
}
