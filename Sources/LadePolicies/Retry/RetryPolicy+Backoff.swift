package import LadeCore

extension RetryPolicy {
    /// The delays before further attempts.
    ///
    /// A value; the randomness comes from the call. Each call has its own sequence of delays.
    public struct Backoff: Sendable, Hashable {
        enum Shape: Sendable, Hashable {
            case fullJitter(base: Duration, maximum: Duration)
            case timer(ExponentialTimer)
            case none
        }

        let shape: Shape

        /// Uniform between zero and a bound that doubles with each attempt: base × 2ⁿ⁻¹ before the n-th further attempt.
        ///
        /// The bounds with the defaults: n = 1 → 1 s, 2 → 2 s, 5 → 16 s, 6 and more → 20 s. Clients that failed together
        /// are spread over the whole interval.
        ///
        /// - Parameters:
        ///   - base: The longest delay before the first further attempt; 1 s by default. `.milliseconds(100)` delays the attempts by at
        ///     most 100 ms, 200 ms, 400 ms and so on.
        ///   - maximum: The longest delay of all; 20 s by default.
        /// - Returns: The back-off.
        public static func fullJitter(
            base: Duration = .seconds(1),
            maximum: Duration = .seconds(20)
        ) -> RetryPolicy.Backoff {
            RetryPolicy.Backoff(shape: .fullJitter(base: max(.zero, base), maximum: max(.zero, maximum)))
        }

        /// Each delay is the one before times a factor, with random variation, as SPTDataLoader's exponential timer has it.
        ///
        /// The varied delay is the base of the next one, so two clients drift apart more and more: about 1 s, 2.72 s, 7.39 s. An
        /// initial delay of zero stays zero.
        ///
        /// - Parameters:
        ///   - initial: The first delay.
        ///   - maximum: The longest delay.
        ///   - growth: The factor from one delay to the next; e by default.
        ///   - jitter: The standard deviation of a delay as a fraction of it; below 0.0001 there is no variation.
        /// - Returns: The back-off.
        public static func exponentialTimer(
            initial: Duration = .seconds(1),
            maximum: Duration = .seconds(60),
            growth: Double = 2.718281828459045,
            jitter: Double = 0.11304999836
        ) -> RetryPolicy.Backoff {
            RetryPolicy.Backoff(
                shape: .timer(ExponentialTimer(initial: initial, maximum: maximum, growth: growth, jitter: jitter))
            )
        }

        /// No delay.
        public static var none: RetryPolicy.Backoff { RetryPolicy.Backoff(shape: .none) }

        /// Starts the sequence of delays of one call.
        package func makeDelays() -> Delays { Delays(shape: shape) }

        /// The delays of one call, in order.
        package struct Delays: Sendable {
            private var shape: Shape
            private var count = 0

            init(shape: Shape) { self.shape = shape }

            /// The delay before the next attempt.
            package mutating func next(_ random: some RandomSource) -> Duration {
                count += 1
                switch shape {
                case .fullJitter(let base, let maximum):
                    // 2⁶² seconds exceed any maximum.
                    let bound = base.inSeconds * Double(UInt64(1) << UInt64(min(count - 1, 62)))
                    return random.duration(below: .seconds(min(bound, maximum.inSeconds)))
                case .timer(var timer):
                    if count == 1 { timer.blur(random) }
                    let delay = timer.takeAndAdvance(random)
                    shape = .timer(timer)
                    return delay
                case .none:
                    return .zero
                }
            }
        }
    }
}
