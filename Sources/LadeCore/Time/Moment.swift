#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A point in time by both clocks: the date, which may be set, and the monotonic clock, which may stand still in sleep.
package struct Moment: Sendable, Hashable {
    /// The date.
    package var date: Date
    /// The monotonic instant; nil where it belongs to another process or an earlier start.
    package var instant: Instant?

    /// Makes a point in time.
    package init(date: Date, instant: Instant?) {
        self.date = date
        self.instant = instant
    }

    /// The present by a time source.
    package init(now time: some TimeSource) {
        self.init(date: time.date, instant: time.now)
    }

    /// How much time has passed until a later moment.
    ///
    /// The larger of the two clocks counts. The monotonic one does not notice that the date was set back. The date does
    /// not stand still while the machine sleeps.
    ///
    /// - Returns: The time; nil where only dates can be compared and the later moment has the earlier date.
    package func elapsed(until later: Moment) -> Duration? {
        let wall = date.wholeMicroseconds(until: later.date)
        guard let instant, let end = later.instant else { return wall < .zero ? nil : wall }
        return max(.zero, wall, instant.duration(to: end))
    }

    /// The moment after some time, by both clocks.
    package func advanced(by duration: Duration) -> Moment {
        Moment(date: date.addingTimeInterval(duration.inSeconds), instant: instant?.advanced(by: duration))
    }

    /// Whether this moment is before another moment, by the monotonic clock where both have it.
    package func isBefore(_ other: Moment) -> Bool {
        guard let instant, let end = other.instant else { return date < other.date }
        return instant < end
    }
}

extension Date {
    /// The time until another date, rounded to microseconds: the resolution of a date of this century.
    package func wholeMicroseconds(until other: Date) -> Duration {
        let seconds = other.timeIntervalSince(self)
        guard seconds.magnitude < 1e12 else { return .seconds(seconds < 0 ? -1_000_000_000_000 : 1_000_000_000_000) }
        return .microseconds(Int64((seconds * 1e6).rounded()))
    }
}

/// When an exchange with the server began, and when the head of its response arrived.
///
/// Time spent before the exchange, in queues and delays, is not part of it (RFC 9111 §4.2.3).
package struct ExchangeTimes: Sendable, Hashable {
    /// When the request was sent.
    package var requested: Moment
    /// When the head of the response arrived.
    package var received: Moment

    /// Makes the times of an exchange.
    package init(requested: Moment, received: Moment) {
        self.requested = requested
        self.received = received
    }

    /// How long the server took, never negative.
    package var delay: Duration { requested.elapsed(until: received) ?? .zero }
}
