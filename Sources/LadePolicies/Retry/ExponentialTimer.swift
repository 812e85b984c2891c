#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
public import LadeCore

/// A jittered exponential timer: each interval is the last one times a growth factor, blurred.
///
/// The interval that was blurred is the one that grows next, so two timers drift apart, and the more the longer they run.
/// An initial interval of zero stays zero for ever: do not start there.
///
/// ```swift
/// var timer = ExponentialTimer(initial: .seconds(1), maximum: .seconds(60))
/// timer.takeAndAdvance(random)  // 1 s
/// timer.takeAndAdvance(random)  // about 2.72 s
/// timer.takeAndAdvance(random)  // about 7.39 s
/// ```
///
/// Source: `service-loader.md` §10. Unlike its model the timer is never negative, and at the maximum it is blurred
/// downwards, so that clients that have reached it do not gather there (D-25).
public struct ExponentialTimer: Sendable, Hashable {
    /// The jitter unless another is given: the standard deviation of an interval as a part of it.
    public static let defaultJitter = 0.11304999836
    /// The growth unless another is given: e.
    public static let defaultGrowth = 2.718281828459045

    /// The first interval.
    public let initial: Duration
    /// The longest interval.
    public let maximum: Duration
    /// What the intervals are multiplied by.
    public let growth: Double
    /// The standard deviation of an interval as a part of it; below 0.0001 there is none.
    public let jitter: Double
    /// The interval that is taken next.
    public private(set) var current: Duration

    /// Makes a timer whose first interval is exactly `initial`.
    public init(
        initial: Duration,
        maximum: Duration,
        growth: Double = ExponentialTimer.defaultGrowth,
        jitter: Double = ExponentialTimer.defaultJitter
    ) {
        self.initial = max(.zero, initial)
        self.maximum = max(.zero, maximum)
        self.growth = growth
        self.jitter = jitter
        current = self.initial
    }

    /// Gives the current interval and computes the next.
    public mutating func takeAndAdvance(_ random: some RandomSource) -> Duration {
        let taken = current
        current = blurred(min(current.inSeconds * growth, maximum.inSeconds), random)
        return taken
    }

    /// Starts again with exactly the initial interval.
    public mutating func reset() {
        current = initial
    }

    /// Blurs the interval that is taken next.
    mutating func blur(_ random: some RandomSource) {
        current = blurred(min(current, maximum).inSeconds, random)
    }

    private func blurred(_ mean: Double, _ random: some RandomSource) -> Duration {
        guard jitter >= 0.0001, mean > 0 else { return .seconds(max(0, mean)) }
        let limit = maximum.inSeconds
        var value = Self.normal(mean: mean, deviation: jitter * mean, random)
        // What would pass the maximum is mirrored at it, what would be negative at zero.
        if value > limit { value = 2 * limit - value }
        return .seconds(min(abs(value), limit))
    }

    /// A draw from the normal distribution by the ratio of uniforms (Kinderman and Monahan, ACM TOMS 3, 1977).
    ///
    /// The constant is 4 / √(2e); three of four pairs are accepted, so twenty rejections in a row do not happen.
    private static func normal(mean: Double, deviation: Double, _ random: some RandomSource) -> Double {
        for _ in 0..<20 {
            let numerator = random.unit()
            let denominator = 1 - random.unit()
            let ratio = 1.7155277699214135 * (numerator - 0.5) / denominator
            if ratio * ratio / 4 <= -log(denominator) { return mean + ratio * deviation }
        }
        return mean + 2 * deviation * random.unit()
    }
}
