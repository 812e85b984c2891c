/// The source of randomness for the request path: jitter, identifiers, boundaries.
///
/// Programs use ``SystemRandom``; tests use ``SeededRandom``, which produces the same numbers for the same seed.
public protocol RandomSource: Sendable {
    /// The next 64 random bits.
    func next() -> UInt64
}

extension RandomSource {
    /// A number in `0 ..< 1`, uniformly distributed.
    public func unit() -> Double {
        Double(next() >> 11) * 0x1p-53
    }

    /// A duration in `0 ..< bound`, uniformly distributed.
    public func duration(below bound: Duration) -> Duration {
        .nanoseconds(Int64(Double(bound.wholeNanoseconds) * unit()))
    }
}

/// The system's random number generator.
public struct SystemRandom: RandomSource {
    /// Makes the system's random source; all values of this type are equal.
    public init() {}

    /// The next 64 bits of the system's generator.
    public func next() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}

/// A small deterministic generator (SplitMix64) that may be shared between tasks.
///
/// The same seed gives the same numbers. When tasks draw concurrently, their order determines which task gets which
/// number.
public final class SeededRandom: RandomSource {
    /// The seed it was made from, to be printed when a random test fails.
    public let seed: UInt64
    private let state: Locked<UInt64>

    /// Starts the sequence that belongs to `seed`.
    public init(seed: UInt64) {
        self.seed = seed
        state = Locked(seed)
    }

    /// The next 64 bits of the sequence.
    public func next() -> UInt64 {
        state.withLock { state in
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }
}
