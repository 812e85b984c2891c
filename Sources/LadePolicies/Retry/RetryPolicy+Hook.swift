import LadeCore

extension RetryPolicy {
    /// Decides for the program which attempts are sent again, and after which delay.
    ///
    /// ```swift
    /// settings.retries.hook = RetryPolicy.Hook(
    ///     shouldRetry: { attempt, suggestion in
    ///         if case .response(409, _) = attempt.ending { true } else { suggestion }
    ///     }
    /// )
    /// ```
    ///
    /// A hook cannot exceed the number of attempts, the retry budget, the deadline or the delay that a server requests. A body
    /// that can be sent only once is not sent again. The hook is not called for successful responses, for cancelled calls and
    /// for servers that could not be trusted.
    public struct Hook: Sendable, Hashable {
        private final class Closures: Sendable {
            let shouldRetry: @Sendable (RetryPolicy.Attempt, Bool) -> Bool
            let delay: @Sendable (RetryPolicy.Attempt, Duration) -> Duration

            init(
                _ shouldRetry: @escaping @Sendable (RetryPolicy.Attempt, Bool) -> Bool,
                _ delay: @escaping @Sendable (RetryPolicy.Attempt, Duration) -> Duration
            ) {
                self.shouldRetry = shouldRetry
                self.delay = delay
            }
        }

        private let closures: Closures

        /// Makes a hook; both closures run in the task of the call and must be quick.
        ///
        /// - Parameters:
        ///   - shouldRetry: Receives an attempt that failed, and whether the policy would retry it. Returns whether it is
        ///     retried, also when its method is not idempotent. The policy's decision by default.
        ///   - delay: Receives the attempt and the delay of the policy, `Retry-After` included. Returns the delay before the
        ///     next attempt. A delay that is shorter than `Retry-After` counts as `Retry-After`. The policy's delay by default.
        public init(
            shouldRetry: @escaping @Sendable (_ attempt: RetryPolicy.Attempt, _ suggestion: Bool) -> Bool = { $1 },
            delay: @escaping @Sendable (_ attempt: RetryPolicy.Attempt, _ suggestion: Duration) -> Duration = { $1 }
        ) {
            closures = Closures(shouldRetry, delay)
        }

        func shouldRetry(_ attempt: RetryPolicy.Attempt, _ suggestion: Bool) -> Bool {
            closures.shouldRetry(attempt, suggestion)
        }

        func delay(_ attempt: RetryPolicy.Attempt, _ suggestion: Duration) -> Duration {
            closures.delay(attempt, suggestion)
        }

        /// Whether both are copies of one hook.
        public static func == (lhs: RetryPolicy.Hook, rhs: RetryPolicy.Hook) -> Bool { lhs.closures === rhs.closures }

        /// Feeds the identity of the hook into a hasher.
        public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(closures)) }
    }
}
