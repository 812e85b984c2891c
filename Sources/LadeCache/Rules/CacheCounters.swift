public import LadeCore

extension ResponseCache {
    /// The numbers of a cache's responses and exchanges since it was made.
    public struct Counters: Sendable, Hashable {
        /// Responses served while fresh.
        public var servedFresh = 0
        /// Responses served stale.
        public var servedStale = 0
        /// Responses served after the server confirmed them.
        public var validated = 0
        /// Requests for which the server sent the response.
        public var missed = 0
        /// Requests that shared the exchange of another one.
        public var joined = 0
        /// Responses stored.
        public var stored = 0
        /// Responses not stored, by rule.
        public var refused: [Response.CacheRule: Int] = [:]
        /// Responses evicted.
        public var evicted = 0
        /// Errors of the store.
        public var faults = 0
        /// Bytes of bodies served from the store.
        public var bytesServed: Int64 = 0
        /// Bytes stored now.
        public var bytes: Int64 = 0
        /// Responses stored now.
        public var entries = 0

        /// Makes counters at zero.
        public init() {}

        /// The part of the requests that were served from the store, confirmed ones included; zero before the first request.
        public var hitRatio: Double {
            let hits = servedFresh + servedStale + validated
            return hits + missed == 0 ? 0 : Double(hits) / Double(hits + missed)
        }
    }
}
