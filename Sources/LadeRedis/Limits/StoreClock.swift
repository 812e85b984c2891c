package import LadeCore

/// The difference between this process's clock and that of the store.
///
/// Each reply gives an upper bound of *local − store*: the store read its clock before the reply arrived. The least bound
/// counts, relaxed by the most that clocks drift apart. So no slot is used early, and none is late by more than the shortest
/// way of a reply.
package struct StoreClock: Sendable {
    /// Local nanoseconds less those of the store; nil before the first reply.
    package private(set) var offset: Double?
    private var measured = Instant(nanoseconds: 0)
    /// The shortest round trip of the connection; a second before the first.
    package private(set) var leastRoundTrip = Duration.seconds(1)
    private static let drift = 100e-6
    private static let tolerance = 2_000_000.0
    /// A smaller bound is a better measurement; one that is smaller by more than this is another clock.
    private static let jump = 1_000_000_000.0

    package init() {}

    /// The next replies come over another connection, which may be longer.
    package mutating func beginConnection() { leastRoundTrip = .seconds(1) }

    /// Takes a reply.
    ///
    /// - Parameters:
    ///   - microseconds: The time of the store.
    ///   - sent: When the command was sent.
    ///   - received: When the reply arrived.
    /// - Returns: How far the clock of the store has jumped; nil when it has not.
    package mutating func note(_ microseconds: Double, sent: Instant, received: Instant) -> Duration? {
        let store = microseconds * 1_000
        let upper = Double(received.nanoseconds) - store
        let lower = Double(sent.nanoseconds) - store
        leastRoundTrip = min(leastRoundTrip, sent.duration(to: received))
        defer { measured = received }
        guard let offset else {
            self.offset = upper
            return nil
        }
        let elapsed = Double(measured.duration(to: received).wholeNanoseconds)
        let relaxed = offset + max(0, elapsed) * Self.drift
        guard relaxed >= lower - Self.tolerance, relaxed - upper <= Self.jump else {
            self.offset = upper
            return .nanoseconds(Int64(min(abs(upper - relaxed), 4e18)))
        }
        self.offset = min(relaxed, upper)
        return nil
    }

    /// The local instant of one of the store.
    package func local(_ microseconds: Double) -> Instant? {
        guard let offset else { return nil }
        let nanoseconds = microseconds * 1_000 + offset
        return abs(nanoseconds) < 9e18 ? Instant(nanoseconds: Int64(nanoseconds)) : nil
    }
}
