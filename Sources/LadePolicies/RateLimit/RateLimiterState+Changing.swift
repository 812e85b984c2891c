import LadeCore

// Changes of the limits while calls wait, by the program and by servers.
extension RateLimiterState {
    mutating func setRate(_ rate: RateLimits.Rate?, of key: ServiceKey, now: Instant) -> Wakes {
        rates[key] = rate
        return apply([key], now)
    }

    mutating func setDefaultRate(_ rate: RateLimits.Rate?, now: Instant) -> Wakes {
        defaultRate = rate
        return apply(Array(buckets.keys), now)
    }

    mutating func setConcurrency(_ count: Int?, of key: ServiceKey, now: Instant) -> Wakes {
        concurrencies[key] = count
        return apply([key], now)
    }

    mutating func setTotalConcurrency(_ count: Int?, now: Instant) -> Wakes {
        totalConcurrency = count
        var wakes: Wakes = []
        releaseCrowd(now, &wakes)
        return wakes
    }

    mutating func setPriority(_ priority: Request.Priority, of call: Call.ID, now: Instant) -> Wakes {
        var wakes: Wakes = []
        for id in waiters(of: call) {
            guard let waiter = waiters[id], waiter.place.priority != priority else { continue }
            waiters[id]?.place.priority = priority
            change(waiter.key) { $0.move(waiter.place, to: priority, waiter.lane, now: now) }
            rearm(waiter.key, now, &wakes)
        }
        return wakes
    }

    /// Closes the gate of a service, or of one account there; nil when it was closed for as long already.
    mutating func close(
        _ key: ServiceKey,
        _ account: String?,
        for pause: Duration,
        now: Instant
    ) -> (Duration, Wakes)? {
        let pause = min(max(.zero, pause), limits.gateLimit)
        guard pause > .zero else { return nil }
        if buckets[key] == nil { add(makeBucket(key), key, now) }
        let end = now.advanced(by: pause)
        var wakes: Wakes = []
        if let account {
            let lane = lane(of: account)
            guard change(key, { $0.close(lane, until: end, now: now) }) ?? false else { return nil }
            recheck(key, now, &wakes)
            return (pause, wakes)
        }
        let wasClosed = buckets[key]?.gate.isClosed(at: now) ?? false
        let spread = releaseSpread
        let blur = nextBlur()
        guard change(key, { $0.close(until: end, spread: spread, blur: blur) }) ?? false else { return nil }
        if wasClosed, pause <= limits.delayLimit {
            // Many concurrent responses extend a gate a little each: only the calls that become late by the extension are
            // visited.
            refuseLate(key, before: end, now, &wakes)
        } else {
            recheck(key, now, &wakes)
        }
        return (pause, wakes)
    }

    /// Applies the quota that a server announced; returns the new pace when it must be reported.
    mutating func observe(
        _ reading: QuotaReading,
        _ key: ServiceKey,
        _ account: String,
        isRunning: Bool,
        now: Instant
    ) -> (Double?, Wakes) {
        if buckets[key] == nil { add(makeBucket(key), key, now) }
        let reading = reading.bounded(by: limits.quotaLimit)
        let lane = limits.quotaSharing == .account ? account : nil
        let reserve = limits.reserve
        let isShared = sharing?.contact == .open
        let observed = change(key) {
            $0.observe(reading, lane, isRunning: isRunning, reserve: reserve, isShared: isShared, now: now)
        }
        var wakes: Wakes = []
        if sharing != nil {
            wakeUp(key, now, &wakes)
        } else if hasWaiters(key) {
            pump(key, now, &wakes)
        }
        return (observed ?? nil, wakes)
    }

    /// Forgets announced quotas.
    mutating func clearQuota(_ key: ServiceKey, _ account: String?, now: Instant) -> Wakes {
        change(key) { $0.clearQuota(account, now: now) }
        var wakes: Wakes = []
        if buckets[key].map({ $0.waiting > 0 }) ?? false { pump(key, now, &wakes) }
        return wakes
    }

    private mutating func apply(_ keys: [ServiceKey], _ now: Instant) -> Wakes {
        var wakes: Wakes = []
        for key in keys {
            let fresh = makeBucket(key)
            change(key) { bucket in
                if bucket.rate != fresh.rate { bucket.setRate(fresh.rate, now: now) }
                bucket.concurrency = fresh.concurrency
            }
            if sharing != nil { beginSharing(key, now) }
            guard buckets[key].map({ $0.waiting > 0 }) ?? false else { continue }
            recheck(key, now, &wakes)
            pump(key, now, &wakes)
        }
        return wakes
    }

    /// Dismisses the calls whose deadline is before the end of a delay.
    private mutating func refuseLate(_ key: ServiceKey, before end: Instant, _ now: Instant, _ wakes: inout Wakes) {
        while let (id, deadline) = buckets[key]?.firstDeadline, deadline < end {
            dismiss(id, .refused(.gate(key: key.description), now.duration(to: end)), now, &wakes)
        }
        rearm(key, now, &wakes)
    }

    /// Dismisses the calls that can no longer start in time.
    private mutating func recheck(_ key: ServiceKey, _ now: Instant, _ wakes: inout Wakes) {
        var (ahead, aheadInLanes) = (0, [String: Int]())
        for id in everyWaiter(of: key) {
            guard let waiter = waiters[id], let bucket = buckets[key], let lane = bucket.lanes[waiter.lane],
                let open = bucket.start(after: ahead, cost: waiter.place.cost, now: now, isPaced: false)
            else { break }
            let inLane = aheadInLanes[waiter.lane] ?? 0
            let start = max(open, lane.start(after: inLane, now: now, isPaced: false))
            let end = [bucket.gate, lane.gate].filter { $0.isClosed(at: now) }.compactMap(\.end).max()
            let reason: Call.WaitReason = end == nil ? .rateLimit(key: key.description) : .gate(key: key.description)
            if let end, now.duration(to: end) > limits.delayLimit {
                dismiss(id, .paused(now.duration(to: start)), now, &wakes)
            } else if let deadline = waiter.deadline, start > deadline {
                dismiss(id, .refused(reason, now.duration(to: start)), now, &wakes)
            } else {
                aheadInLanes[waiter.lane] = inLane + 1
                // The calls of other lanes overtake the calls of a held lane.
                if lane.isReady { ahead += waiter.place.cost }
            }
        }
        rearm(key, now, &wakes)
    }
}
