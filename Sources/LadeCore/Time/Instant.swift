/// A point on a monotonic time line, in nanoseconds since an origin that is specific to its ``TimeSource``.
///
/// Instants of one time source can be compared and subtracted; instants of different sources are unrelated.
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

    /// The duration from this instant to `other`; negative when `other` is earlier.
    public func duration(to other: Instant) -> Duration {
        .nanoseconds(other.nanoseconds.subtractingReportingOverflow(nanoseconds).partialValue)
    }

    /// Whether `lhs` is earlier than `rhs`.
    public static func < (lhs: Instant, rhs: Instant) -> Bool {
        lhs.nanoseconds < rhs.nanoseconds
    }
}

extension Duration {
    /// The duration in nanoseconds, truncated towards zero, saturated at the range of `Int64` (about 292 years).
    package var wholeNanoseconds: Int64 {
        // A single division instruction suffices up to 584 years.
        let upper = UInt64(truncatingIfNeeded: self.attoseconds >> 64)
        if upper < 1_000_000_000 {
            let lower = UInt64(truncatingIfNeeded: self.attoseconds)
            return Int64(clamping: UInt64(1_000_000_000).dividingFullWidth((upper, lower)).quotient)
        }
        let (seconds, attoseconds) = components
        let (high, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carry) = high.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// This many seconds, saturated at the range of `Int64` nanoseconds (about 292 years); zero for NaN.
    package static func seconds(saturating seconds: Double) -> Duration {
        guard !seconds.isNaN else { return .zero }
        // The largest and smallest numbers of seconds whose nanoseconds fit.
        return .seconds(min(max(seconds, -9_223_372_036), 9_223_372_036))
    }

    /// The duration in seconds as a floating-point number, for arithmetic on rates.
    package var inSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) * 1e-18
    }
}

/// An optional duration in a third of the space, for values that travel with every request and response.
struct StoredDuration: Sendable, Hashable {
    // The minimum stands for nil; no duration is minus 292 years.
    private var stored = Int64.min

    init() {}

    init(nanoseconds: Int64) {
        stored = max(nanoseconds, .min + 1)
    }

    init(_ duration: Duration?) {
        if let duration { stored = max(duration.wholeNanoseconds, .min + 1) }
    }

    var nanoseconds: Int64? { stored == .min ? nil : stored }

    var duration: Duration? { nanoseconds.map { .nanoseconds($0) } }
}
