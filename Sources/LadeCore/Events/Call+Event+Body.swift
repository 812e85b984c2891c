extension Call.Event {
    /// How the body of a call ended.
    public struct Body: Sendable {
        /// The ways in which a body ends.
        @nonexhaustive
        public enum Ending: Sendable {
            /// It was read to its end, or was complete when the call ended.
            case whole
            /// Reading it failed with this error.
            case failed(LoadingError)
            /// Its reader, or the end of its loader, cancelled it.
            case cancelled
            /// It was released before its end.
            case abandoned
        }

        /// How it ended.
        public var ending: Ending
        /// The bytes of the body that the call delivered, after content codings were removed.
        public var bytes: Int64
        /// The time from the start of the call to the end of the body.
        public var duration: Duration
        /// How many attempts the call made; 0 for a response that needed none, such as one from the cache.
        public var attempts: Int

        /// Makes a record.
        public init(_ ending: Ending, bytes: Int64, duration: Duration, attempts: Int) {
            self.ending = ending
            self.bytes = bytes
            self.duration = duration
            self.attempts = attempts
        }
    }
}
