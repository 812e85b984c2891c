extension ResponseCache {
    /// How long a stored response is fresh, and how old it is (RFC 9111 §4.2).
    package struct Freshness: Sendable, Hashable {
        /// The source of the lifetime.
        package enum Source: String, Sendable, Hashable {
            /// `max-age`.
            case maxAge = "max-age"
            /// `Expires`.
            case expires = "Expires"
            /// The time since `Last-Modified`.
            case heuristic
            /// Nothing: the response is stale from the beginning.
            case none
        }

        /// How long the response is fresh.
        package let lifetime: Duration
        /// The source of the lifetime.
        package let source: Source
        /// The age by `Date` on arrival; zero where it is not used.
        package let apparentAge: Duration
        /// `Age` of the response.
        package let statedAge: Duration
        /// How long the exchange took.
        package let delay: Duration
        /// How long the response has been stored; nil where the clock was set back.
        package let residence: Duration?

        /// The age: the larger one on arrival, and the time since.
        package var age: Duration { min(max(apparentAge, statedAge + delay) + (residence ?? .zero), Self.limit) }

        /// Whether the lifetime exceeds the age.
        package var isFresh: Bool { residence != nil && lifetime > age }

        /// How long the response has been stale; negative while it is fresh.
        package var staleness: Duration { age - lifetime }

        /// Times of HTTP saturate at 2³¹ seconds (RFC 9111 §1.2.2).
        package static let limit = Duration.seconds(Int64(1) << 31)
    }
}
