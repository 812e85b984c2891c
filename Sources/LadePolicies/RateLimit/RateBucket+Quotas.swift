import LadeCore

// Quotas that a store counts for several processes.
extension RateBucket {
    /// Has every account ask for slots before its next call, as another process has read a quota.
    ///
    /// - Parameters:
    ///   - end: The end of the quota's window.
    ///   - isOfAccount: Whether quotas are those of single accounts.
    ///   - reserve: How much of a quota is spread.
    ///   - now: The time.
    mutating func shareQuotas(until end: Instant, isOfAccount: Bool, reserve: QuotaReserve, now: Instant) {
        guard isOfAccount else {
            var pace = pace ?? QuotaPace(now, reserve)
            pace.beginShare(until: end)
            self.pace = pace
            return noteAsk(nil, now)
        }
        quotaNotice = (end, reserve)
        for account in Array(lanes.keys) {
            if lanes[account]?.pace == nil { lanes[account]?.pace = QuotaPace(now, reserve) }
            changePace(account, now) { $0.beginShare(until: end) }
        }
    }

    mutating func shareQuota(
        of account: String,
        until end: Instant,
        _ reserve: QuotaReserve,
        _ now: Instant
    ) {
        guard end > now else {
            quotaNotice = nil
            return
        }
        guard lanes[account]?.pace == nil else { return }
        makeLane(account, now)
        lanes[account]?.pace = QuotaPace(now, reserve)
        changePace(account, now) { $0.beginShare(until: end) }
    }

    /// Changes the quota of an account, or of all accounts when that is nil.
    mutating func changePace(_ account: String?, _ now: Instant, _ body: (inout QuotaPace) -> Void) {
        guard let account else {
            guard var pace else { return }
            body(&pace)
            self.pace = pace
            return noteAsk(nil, now)
        }
        guard var pace = lanes[account]?.pace else { return }
        body(&pace)
        lanes[account]?.pace = pace
        arrange(account, now)
    }

    /// Changes all quotas.
    mutating func changePaces(_ now: Instant, _ body: (inout QuotaPace) -> Void) {
        changePace(nil, now, body)
        for account in Array(lanes.keys) { changePace(account, now, body) }
    }

    /// Whether the slot of a waiting call's quota has become void.
    mutating func isHeld(_ account: String, now: Instant) -> Bool {
        guard lanes[account]?.pace?.share != nil else { return false }
        arrange(account, now)
        return lanes[account]?.isReady == false
    }

    /// The next order about a quota that is due.
    mutating func takeQuotaAsk(of key: ServiceKey, now: Instant) -> QuotaAsk? {
        while let (account, due) = asks.first, due <= now {
            asks.remove(account)
            let (calls, waiting) = demand(account)
            var ask: QuotaAsk?
            changePace(account, now) { ask = $0.makeAsk(key, account, calls: calls, waiting: waiting, now: now) }
            if let ask { return ask }
        }
        return nil
    }

    /// How many calls of an account, or of all, need slots, and how many wait.
    private func demand(_ account: String?) -> (calls: Int, waiting: Int) {
        let waiting = account.map { lanes[$0]?.queue.count ?? 0 } ?? self.waiting
        return (min(waiting, concurrency ?? waiting), waiting)
    }

    /// Notes when the store must be asked about a quota.
    mutating func noteAsk(_ account: String?, _ now: Instant) {
        let pace = account.map { lanes[$0]?.pace } ?? pace
        let (calls, waiting) = demand(account)
        guard let due = pace?.share?.askInstant(calls: calls, waiting: waiting, now: now) else {
            return asks.remove(account)
        }
        // No call starts during a delay, and its slot would not be used.
        let end = calls > 0 ? max(gate.end ?? due, account.flatMap { lanes[$0]?.gate.end } ?? due) : due
        asks.set(account, due == Instant(nanoseconds: .min) ? due : max(due, end))
    }
}
