import LadeCore

// What changes the limits while calls wait: the program, and what servers say.
extension RateLimiterState {
    mutating func setRate(_ rate: Rate?, of key: ServiceKey, now: Instant) -> Wakes {
        rates[key] = rate
        return apply([key], now)
    }

    mutating func setDefaultRate(_ rate: Rate?, now: Instant) -> Wakes {
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
        for (id, waiter) in waiters where waiter.call == call && waiter.isQueued && waiter.priority != priority {
            waiters[id]?.priority = priority
            leave(waiter)
            change(waiter.key) { $0.queues[priority.rawValue].insert(id) }
            rearm(waiter.key, now, &wakes)
        }
        return wakes
    }

    /// Closes the gate of a service; nil when it was closed for as long already.
    mutating func close(
        _ key: ServiceKey,
        for pause: Duration,
        now: Instant
    ) -> (Duration, Wakes)? {
        let pause = min(max(.zero, pause), limits.gateLimit)
        guard pause > .zero else { return nil }
        if buckets[key] == nil { add(makeBucket(key), key, now) }
        let end = now.advanced(by: pause)
        let before = buckets[key]?.gate
        let spread = limits.releaseSpread
        let blur = nextBlur()
        guard buckets[key]?.close(until: end, spread: spread, blur: blur) ?? false else { return nil }
        var wakes: Wakes = []
        // Many answers of one moment close a gate a little more each; whoever that makes late meets the deadline.
        if before.map({ $0 <= now || $0.duration(to: end) > .seconds(1) }) ?? true { recheck(key, now, &wakes) }
        return (pause, wakes)
    }

    /// Takes what a server announced; returns the new pace when it is worth telling.
    mutating func observe(
        _ reading: QuotaReading,
        _ key: ServiceKey,
        now: Instant
    ) -> (Double?, Wakes) {
        if buckets[key] == nil { add(makeBucket(key), key, now) }
        var told: Double?
        change(key) { bucket in
            var pace = bucket.pace ?? QuotaPace(now)
            told = pace.observe(reading, inFlight: bucket.inFlight, now: now)
            bucket.pace = pace
        }
        var wakes: Wakes = []
        if buckets[key]?.waiting ?? 0 > 0 { pump(key, now, &wakes) }
        return (told, wakes)
    }

    private mutating func apply(_ keys: [ServiceKey], _ now: Instant) -> Wakes {
        var wakes: Wakes = []
        for key in keys {
            let fresh = makeBucket(key)
            change(key) { bucket in
                if bucket.rate != fresh.rate { bucket.setRate(fresh.rate, now: now) }
                bucket.concurrency = fresh.concurrency
            }
            guard buckets[key]?.waiting ?? 0 > 0 else { continue }
            recheck(key, now, &wakes)
            pump(key, now, &wakes)
        }
        return wakes
    }

    /// Lets those go at once who can no longer start in time.
    private mutating func recheck(_ key: ServiceKey, _ now: Instant, _ wakes: inout Wakes) {
        guard let bucket = buckets[key], bucket.waiting > 0 else { return }
        let isClosed = bucket.isClosed(at: now)
        let reason: WaitReason = isClosed ? .gate(key: key.description) : .rateLimit(key: key.description)
        let isTooLong = isClosed && (bucket.gate.map { now.duration(to: $0) > limits.pauseLimit } ?? false)
        var ahead = 0
        for id in everybody(at: key) {
            guard let start = bucket.start(after: ahead, now: now), let waiter = waiters[id] else { break }
            if isTooLong {
                dismiss(id, .paused(now.duration(to: start)), &wakes)
            } else if let deadline = waiter.deadline, start > deadline {
                dismiss(id, .refused(reason, now.duration(to: start)), &wakes)
            } else {
                ahead += 1
            }
        }
        rearm(key, now, &wakes)
    }
}
