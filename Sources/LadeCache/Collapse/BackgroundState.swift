package import LadeCore

/// The stale responses that are validated in the background: one exchange for a key at a time, a bounded number in all.
///
/// After a failure the next exchange for the key waits 1 s, then 2 s, and so on up to 60 s.
package struct BackgroundState: Sendable {
    private struct Failure {
        var delay: Duration
        var until: Instant
    }

    private let limit: Int
    private var inFlight: Set<CacheKey> = []
    private var failures: [CacheKey: Failure] = [:]
    private var order: [CacheKey] = []

    /// How many exchanges are in flight at most.
    package static let defaultLimit = 16
    /// The first and the longest delay after a failure.
    package static let delays = (first: Duration.seconds(1), longest: Duration.seconds(60))
    /// How many keys with failures are remembered.
    package static let failureLimit = 1_000

    /// Makes a state without exchanges.
    package init(limit: Int = BackgroundState.defaultLimit) {
        self.limit = limit
    }

    /// How many exchanges are in flight.
    package var count: Int { inFlight.count }

    /// Begins an exchange for a key.
    ///
    /// - Returns: Whether the validation may begin; otherwise the stale response is served without a validation.
    package mutating func begin(_ key: CacheKey, now: Instant) -> Bool {
        guard inFlight.count < limit, !inFlight.contains(key) else { return false }
        if let failure = failures[key], now < failure.until { return false }
        inFlight.insert(key)
        return true
    }

    /// Ends the exchange for a key.
    package mutating func end(_ key: CacheKey, hasFailed: Bool, now: Instant) {
        guard inFlight.remove(key) != nil else { return }
        guard hasFailed else {
            if failures.removeValue(forKey: key) != nil { order.removeAll { $0 == key } }
            return
        }
        let delay = failures[key].map { min($0.delay * 2, Self.delays.longest) } ?? Self.delays.first
        if failures.updateValue(Failure(delay: delay, until: now.advanced(by: delay)), forKey: key) == nil {
            order.append(key)
        }
        while order.count > Self.failureLimit { failures[order.removeFirst()] = nil }
    }
}
