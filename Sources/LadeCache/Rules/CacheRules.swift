extension ResponseCache {
    /// The settings of a private HTTP cache, and its decisions (RFC 9111, RFC 5861, RFC 8246).
    ///
    /// A value without clock, store or waiting: requests, stored heads and times go in, decisions come out, each with the
    /// ``/LadeCore/Response/CacheRule`` that decided. The same input gives the same decision.
    public struct Rules: Sendable, Hashable {
        /// How the values of the fields named by `Vary` are compared.
        public enum VariantMatching: Sendable, Hashable {
            /// `Accept`, `Accept-Language` and `Accept-Encoding` by meaning, all other fields by value.
            case normalised
            /// All fields by value.
            case exact
        }

        /// The part of the time since `Last-Modified` for which a response without a stated lifetime is fresh; 0.1 by default.
        public var heuristicFraction = 0.1
        /// The longest such lifetime; 7 days by default.
        public var heuristicLimit = Duration.seconds(7 * 86_400)
        /// Whether a response whose `Date` is in the past has that age on arrival; true by default.
        ///
        /// Turn it off where the clocks of clients are wrong.
        public var usesApparentAge = true
        /// Whether `stale-while-revalidate` of responses is used; true by default.
        public var usesStaleWhileRevalidate = true
        /// Whether responses are stored that only ``/LadeCore/Request/CacheMode/preferStored`` and
        /// ``/LadeCore/Request/CacheMode/storedOnly`` can use; false by default.
        public var keepsForOfflineUse = false
        /// How values of fields named by `Vary` are compared; normalised by default.
        public var variantMatching = VariantMatching.normalised
        /// The largest head that is stored, in bytes; 64 KiB by default.
        public var headLimit = 64 << 10
        /// The largest body that is stored, in bytes; a store may accept less.
        package var bodyLimit = Int64.max
        /// Makes digests of credentials.
        package var digester = CacheDigester(key: [])

        /// Makes the default settings.
        public init() {}
    }
}
