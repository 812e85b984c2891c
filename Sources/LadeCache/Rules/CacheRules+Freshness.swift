package import LadeCore

extension ResponseCache.Rules {
    /// The lifetime and age of a stored response at a moment (RFC 9111 §4.2).
    ///
    /// - Parameters:
    ///   - head: The stored response.
    ///   - now: The moment.
    ///   - address: The address, because responses with a query have no heuristic lifetime.
    /// - Returns: Lifetime and age, with the numbers they come from.
    package func freshness(of head: StoredHead, at now: Moment, _ address: CacheAddress) -> ResponseCache.Freshness {
        let (lifetime, source) = lifetime(of: head, address)
        return ResponseCache.Freshness(
            lifetime: lifetime,
            source: source,
            apparentAge: apparentAge(of: head),
            statedAge: head.reading.age,
            delay: min(head.times.delay, ResponseCache.Freshness.limit),
            residence: head.times.received.elapsed(until: now).map { min($0, ResponseCache.Freshness.limit) }
        )
    }

    /// The first that is stated of `max-age`, `Expires` and a heuristic.
    package func lifetime(of head: StoredHead, _ address: CacheAddress) -> (Duration, ResponseCache.Freshness.Source) {
        let reading = head.reading
        if let maxAge = reading.directives.maxAge { return (maxAge, .maxAge) }
        switch reading.expires {
        case .at(let date):
            let lifetime = head.dateOrReceived.wholeMicroseconds(until: date)
            return (min(max(lifetime, .zero), ResponseCache.Freshness.limit), .expires)
        case .passed: return (.zero, .expires)
        case nil: return heuristicLifetime(of: head, address)
        }
    }

    /// A part of the time that the resource had not changed before the response (§4.2.2).
    private func heuristicLifetime(of head: StoredHead, _ address: CacheAddress) -> (
        Duration, ResponseCache.Freshness.Source
    ) {
        guard !address.hasQuery, let modified = head.reading.lastModified,
            Self.isHeuristicallyCacheable(head.status) || Self.allowsStoring(head.reading.directives)
        else { return (.zero, .none) }
        let unchanged = modified.wholeMicroseconds(until: head.dateOrReceived)
        guard unchanged > .zero else { return (.zero, .none) }
        let fraction = min(max(heuristicFraction, 0), 1)
        // Rounded, because a fraction such as 0.1 is not exact.
        let microseconds = (unchanged.inSeconds * 1e6 * fraction).rounded()
        return (min(.microseconds(Int64(microseconds)), heuristicLimit), .heuristic)
    }

    /// The age by `Date`, less the second that `Date` cannot resolve.
    private func apparentAge(of head: StoredHead) -> Duration {
        guard usesApparentAge, let date = head.reading.date else { return .zero }
        let age = date.wholeMicroseconds(until: head.times.received.date) - .seconds(1)
        return min(max(age, .zero), ResponseCache.Freshness.limit)
    }

    /// The statuses that need no stated lifetime to be stored (RFC 9110 §15.1).
    package static func isHeuristicallyCacheable(_ status: Response.Status) -> Bool {
        switch status.code {
        case 200, 203, 204, 300, 301, 308, 404, 405, 410, 414, 501: true
        default: false
        }
    }

    /// Whether a response may be stored whatever its status (RFC 9111 §3).
    package static func allowsStoring(_ directives: CacheControl) -> Bool {
        directives.isPublic || directives.privateScope != nil
    }
}
