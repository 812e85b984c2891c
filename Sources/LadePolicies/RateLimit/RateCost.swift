public import LadeCore

/// How many starts of a service's rate a request takes; 1 by default.
///
/// ```swift
/// request[RateCost.self] = 5
/// ```
///
/// A request of cost 5 starts when five starts in a row are free, and the next one an interval later. At 10 per second it waits
/// 0.4 s at an idle service, and with a burst of 5 it does not wait. A cost that only the response tells is corrected by
/// ``RateLimiter/adjustCost(of:to:)``. Numbers of exchanges and quotas that servers announce count requests, whatever their cost.
///
/// A cost below 1 or above 10,000 is `LoadingError.Kind.invalidSetting`, before anything is sent. Without any limit costs are not read.
public enum RateCost: Request.Tag {
    /// The cost of requests that have none.
    public static let defaultValue = 1
    /// The greatest cost.
    static let most = 10_000

    static func validate(_ cost: Int) throws(LoadingError) {
        guard !(1...most).contains(cost) else { return }
        throw LoadingError(.invalidSetting(name: "cost", reason: "\(cost) is not from 1 to \(most)"))
    }
}

extension RateLimiter {
    /// Corrects the cost of a request that was sent, as when a response says how many points it took.
    ///
    /// ```swift
    /// let response = try await loader.load(request)
    /// try service.rateLimiter.adjustCost(of: response.request, to: points)
    /// ```
    ///
    /// Later calls wait longer or shorter by the difference. Where the rate was not used up, a lower cost changes nothing.
    ///
    /// - Parameters:
    ///   - request: The request, with the cost at which it was sent.
    ///   - cost: The cost that it had, from 1 to 10,000.
    /// - Throws: `LoadingError.Kind.invalidSetting` for another cost.
    public func adjustCost(of request: Request, to cost: Int) throws(LoadingError) {
        try RateCost.validate(cost)
        let difference = cost - request[RateCost.self]
        guard difference != 0 else { return }
        let now = time.now
        for key in keys(of: request).all { wake(state.withLock { $0.adjust(key, by: difference, now: now) }) }
    }
}

extension RateLimiterState {
    /// Moves the next start of a service by a number of intervals.
    mutating func adjust(_ key: ServiceKey, by units: Int, now: Instant) -> Wakes {
        guard let rate = buckets[key]?.rate, rate.interval != nil else { return [] }
        change(key) { $0.adjust(by: units, now: now) }
        if sharing?.contact == .open { sharing?.orders.append(.adjust(key, units: units, rate: rate)) }
        var wakes: Wakes = []
        if hasWaiters(key) { pump(key, now, &wakes) }
        return wakes
    }
}
