#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
package import LadeCore

/// An exponential timer with jitter: each interval is the last one times a growth factor, with random variation.
///
/// The varied interval is the base of the next one, so two timers drift apart more and more. An initial interval of
/// zero stays zero forever: do not use it.
///
/// ```swift
/// var timer = ExponentialTimer(initial: .seconds(1), maximum: .seconds(60))
/// let first = timer.takeAndAdvance(random)   // 1 s
/// let second = timer.takeAndAdvance(random)  // about 2.72 s
/// let third = timer.takeAndAdvance(random)   // about 7.39 s
/// ```
///
/// It follows SPTDataLoader's exponential timer, with two differences. An interval is never negative. At the maximum an
/// interval varies only downwards, so that clients do not synchronise there.
package struct ExponentialTimer: Sendable, Hashable {
    /// The default jitter: the standard deviation of an interval as a fraction of it.
    package static let defaultJitter = 0.11304999836
    /// The default growth: e.
    package static let defaultGrowth = 2.718281828459045

    /// The first interval.
    package let initial: Duration
    /// The longest interval.
    package let maximum: Duration
    /// The factor from one interval to the next.
    package let growth: Double
    /// The standard deviation of an interval as a fraction of it; below 0.0001 there is no variation.
    package let jitter: Double
    /// The next interval.
    package private(set) var current: Duration

    /// Makes a timer whose first interval is exactly `initial`.
    package init(
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

    /// Returns the current interval and computes the next.
    package mutating func takeAndAdvance(_ random: some RandomSource) -> Duration {
        let taken = current
        current = blurred(min(current.inSeconds * growth, maximum.inSeconds), random)
        return taken
    }

    /// Restarts with exactly the initial interval.
    package mutating func reset() {
        current = initial
    }

    /// Varies the next interval.
    mutating func blur(_ random: some RandomSource) {
        current = blurred(min(current, maximum).inSeconds, random)
    }

    private func blurred(_ mean: Double, _ random: some RandomSource) -> Duration {
        guard jitter >= 0.0001, mean > 0 else { return .seconds(max(0, mean)) }
        let limit = maximum.inSeconds
        var value = Self.normal(mean: mean, deviation: jitter * mean, random)
        // A value above the maximum is mirrored at it, and a negative one at zero.
        if value > limit { value = 2 * limit - value }
        return .seconds(min(abs(value), limit))
    }

    /// A sample of the normal distribution by the ratio of uniforms (Kinderman and Monahan, ACM TOMS 3, 1977).
    ///
    /// The constant is 4 / √(2e). Three of four pairs are accepted, so twenty rejections in a row practically never
    /// happen.
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
