/// A point on a monotonic time line, in nanoseconds since an origin that only its ``TimeSource`` knows.
///
/// Instants of one time source compare and subtract; instants of two sources mean nothing to each other.
public struct Instant: InstantProtocol, Hashable, Sendable {
    /// Nanoseconds since the origin of the time source.
    public var nanoseconds: Int64

    /// Makes an instant from nanoseconds since the origin.
    public init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// The instant `duration` later; saturates at the ends of the time line.
    public func advanced(by duration: Duration) -> Instant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return Instant(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// How long after this instant `other` lies; negative when it lies before.
    public func duration(to other: Instant) -> Duration {
        .nanoseconds(other.nanoseconds.subtractingReportingOverflow(nanoseconds).partialValue)
    }

    /// Whether `lhs` is earlier than `rhs`.
    public static func < (lhs: Instant, rhs: Instant) -> Bool {
        lhs.nanoseconds < rhs.nanoseconds
    }
}

extension Duration {
    /// The duration in nanoseconds, cut off towards zero, saturated at the range of `Int64` (about 292 years).
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (high, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carry) = high.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in seconds as a floating-point number, for arithmetic on rates.
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}
