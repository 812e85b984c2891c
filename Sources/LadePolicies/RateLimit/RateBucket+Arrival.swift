import LadeCore

extension RateBucket {
    /// What a call waits for that may not start at once.
    enum Obstacle {
        case gate
        case rate
        case concurrency

        func reason(_ key: ServiceKey) -> WaitReason {
            switch self {
            case .gate: .gate(key: key.description)
            case .rate: .rateLimit(key: key.description)
            case .concurrency: .concurrency(key: key.description)
            }
        }
    }

    /// Reserves a slot for a newcomer, or says what it has to wait for, and how long as far as anybody knows.
    mutating func arrive(
        _ priority: Request.Priority,
        isCrowded: Bool,
        now: Instant,
        blur: Double
    ) -> (reason: Obstacle, start: Instant?, wait: Duration)? {
        let ahead = ahead(of: priority)
        let start = start(after: ahead, now: now)
        let isFree = !isFull && !isCrowded
        // Nobody passes those who wait for a slot that is free by now and have not been woken yet.
        if isFree, ahead == 0, let start, start <= now {
            reserve(due: now, now: now, blur: blur)
            return nil
        }
        let wait = start.map { now.duration(to: $0) } ?? .zero
        if isClosed(at: now) { return (.gate, start, wait) }
        if isFree || start.map({ $0 > now }) ?? true { return (.rate, start, wait) }
        return (.concurrency, start, wait)
    }
}
