extension Response {
    /// How the cache handled a request: the rule that decided, and the numbers it used.
    public struct CacheUse: Sendable, Hashable {
        /// The rule that decided.
        public var rule: Response.CacheRule
        /// The age of the stored response when it was used (RFC 9111 §4.2.3).
        public var age: Duration
        /// How long the stored response is fresh (RFC 9111 §4.2.1).
        public var lifetime: Duration

        /// Makes a record.
        public init(_ rule: Response.CacheRule, age: Duration, lifetime: Duration) {
            self.rule = rule
            self.age = age
            self.lifetime = lifetime
        }
    }
}
