extension Chain {
    /// The interceptors of a service's chain with the slots that they stand in, outermost first.
    ///
    /// ``Service/Settings/adjustChain`` changes it:
    ///
    /// ```swift
    /// settings.adjustChain = { layout in
    ///     layout.remove(.redirect)
    ///     layout.insert(Auditing(), above: .retry)
    /// }
    /// ```
    public struct Layout: Sendable {
        /// What an interceptor of the chain is for.
        @nonexhaustive
        public enum Slot: Sendable, Hashable, CaseIterable {
            /// The app's interceptors that see each call once.
            case call
            /// User agent, languages, decorators, and the field of the cache mode of a service without a cache.
            case preparation
            /// The deadline of the call.
            case deadline
            /// Following redirects.
            case redirect
            /// The cache; nothing stands here without one.
            case cache
            /// Further attempts.
            case retry
            /// The addresses of a host.
            case hosts
            /// Credentials of the account; nothing stands here without authorisers.
            case authorisation
            /// The wait for the service's rate limit.
            case rateLimit
            /// The cookies of the account; nothing stands here without a jar.
            case cookies
            /// The time limit of an exchange.
            case exchangeDeadline
            /// The app's interceptors that see each exchange.
            case attempt
            /// The trace context; nothing stands here without tracing.
            case trace
            /// Collecting bodies, when the transport does not, and noting the times of exchanges for the cache.
            case buffering
        }

        private var parts: [(slot: Slot, interceptor: any Interceptor)] = []

        /// The interceptors, outermost first.
        public var interceptors: [any Interceptor] { parts.map(\.interceptor) }
        /// The slots in which something stands, outermost first.
        public var slots: [Slot] { parts.map(\.slot) }

        /// Adds an interceptor below all others.
        mutating func append(_ interceptor: any Interceptor, in slot: Slot) {
            parts.append((slot, interceptor))
        }

        /// Removes what stands in a slot.
        public mutating func remove(_ slot: Slot) {
            parts.removeAll { $0.slot == slot }
        }

        /// Removes every interceptor: a call goes to the transport as it is.
        public mutating func removeAll() {
            parts = []
        }

        /// Puts another interceptor in the place of what stands in a slot, or where it would stand.
        public mutating func replace(_ slot: Slot, with interceptor: any Interceptor) {
            let index = start(of: slot)
            remove(slot)
            parts.insert((slot, interceptor), at: index)
        }

        /// Inserts an interceptor directly above a slot: it sees the request first and the response last.
        public mutating func insert(_ interceptor: any Interceptor, above slot: Slot) {
            parts.insert((slot, interceptor), at: start(of: slot))
        }

        /// Inserts an interceptor directly below a slot.
        public mutating func insert(_ interceptor: any Interceptor, below slot: Slot) {
            let end = parts.lastIndex { $0.slot == slot }.map { $0 + 1 } ?? start(of: slot)
            parts.insert((slot, interceptor), at: end)
        }

        /// Where a slot begins; where it would, when nothing stands in it.
        private func start(of slot: Slot) -> Int {
            let order = Slot.allCases
            let place = order.firstIndex(of: slot) ?? order.endIndex
            return parts.firstIndex { (order.firstIndex(of: $0.slot) ?? order.endIndex) >= place } ?? parts.endIndex
        }
    }
}
