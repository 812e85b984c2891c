import LadePolicies

extension Chain {
    /// The policies and interceptors of a service's chain with the slots that they stand in, outermost first.
    ///
    /// Policies that follow each other act in one interceptor:
    ///
    /// - the function of the hops (``Slot/preparation`` to ``Slot/cache``),
    /// - the function of the attempts (``Slot/retry`` to ``Slot/authorisation``),
    /// - the function of the exchange (``Slot/rateLimit`` to ``Slot/buffering``).
    ///
    /// An interceptor between two of them divides it; the effects keep the order of the slots.
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
        /// The purpose of an interceptor of the chain.
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
            /// Sending a request a second time; nothing stands here without hedging.
            case hedging
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

        private enum Part {
            case policy
            case interceptor(any Interceptor)
        }

        private var parts: [(slot: Slot, part: Part)]
        private let hop: HopInterceptor
        private let attempt: AttemptInterceptor
        private let exchange: ExchangeInterceptor

        /// Makes the layout of three interceptors.
        init(_ hop: HopInterceptor, _ attempt: AttemptInterceptor, _ exchange: ExchangeInterceptor) {
            (self.hop, self.attempt, self.exchange) = (hop, attempt, exchange)
            var acting = Set(hop.slots)
            acting.formUnion(attempt.slots)
            acting.formUnion(exchange.slots)
            parts = Slot.allCases.filter(acting.contains).map { ($0, .policy) }
        }

        /// The interceptors, outermost first.
        public var interceptors: [any Interceptor] {
            var all: [any Interceptor] = []
            var run: [Slot] = []
            func endRun() {
                if let depth = run.first?.depth {
                    switch depth {
                    case .hop: all.append(hop.only(run))
                    case .attempt: all.append(attempt.only(run))
                    case .exchange: all.append(exchange.only(run))
                    }
                }
                run = []
            }
            for (slot, part) in parts {
                switch part {
                case .interceptor(let interceptor):
                    endRun()
                    all.append(interceptor)
                case .policy:
                    if run.first?.depth != slot.depth { endRun() }
                    run.append(slot)
                }
            }
            endRun()
            return all
        }

        /// The slots in which something stands, outermost first.
        public var slots: [Slot] { parts.map(\.slot) }

        /// Removes what stands in a slot.
        public mutating func remove(_ slot: Slot) {
            parts.removeAll { $0.slot == slot }
        }

        /// Removes every interceptor: a call goes to the transport as it is.
        public mutating func removeAll() {
            parts = []
        }

        /// Replaces the interceptor in a slot, or fills an empty slot.
        public mutating func replace(_ slot: Slot, with interceptor: any Interceptor) {
            let index = start(of: slot)
            remove(slot)
            parts.insert((slot, .interceptor(interceptor)), at: index)
        }

        /// Inserts an interceptor directly above a slot: it sees the request first and the response last.
        public mutating func insert(_ interceptor: any Interceptor, above slot: Slot) {
            insert(interceptor, above: slot, as: slot)
        }

        /// Inserts an interceptor directly below a slot.
        public mutating func insert(_ interceptor: any Interceptor, below slot: Slot) {
            let end = parts.lastIndex { $0.slot == slot }.map { $0 + 1 } ?? start(of: slot)
            parts.insert((slot, .interceptor(interceptor)), at: end)
        }

        /// Inserts an interceptor above a slot, in a slot of its own.
        mutating func insert(_ interceptor: any Interceptor, above slot: Slot, as own: Slot) {
            parts.insert((own, .interceptor(interceptor)), at: start(of: slot))
        }

        /// Where a slot begins; where it would, when nothing stands in it.
        private func start(of slot: Slot) -> Int {
            let order = Slot.allCases
            let place = order.firstIndex(of: slot) ?? order.endIndex
            return parts.firstIndex { (order.firstIndex(of: $0.slot) ?? order.endIndex) >= place } ?? parts.endIndex
        }
    }
}

// MARK: - The slots of each interceptor

private enum Depth {
    case hop, attempt, exchange
}

extension Chain.Layout.Slot {
    /// The interceptor in which the policy of the slot acts; nil for a slot of the app's interceptors.
    fileprivate var depth: Depth? {
        switch self {
        case .call, .attempt: nil
        case .preparation, .deadline, .redirect, .cache: .hop
        case .retry, .hedging, .hosts, .authorisation: .attempt
        case .rateLimit, .cookies, .exchangeDeadline, .trace, .buffering: .exchange
        }
    }
}

extension HopInterceptor {
    /// The slots of the policies that act.
    fileprivate var slots: [Chain.Layout.Slot] {
        [
            preparation.map { _ in .preparation }, deadlines.map { _ in .deadline }, redirects.map { _ in .redirect },
            cache.map { _ in .cache },
        ].compactMap(\.self)
    }

    /// The interceptor with these policies alone.
    fileprivate func only(_ slots: [Chain.Layout.Slot]) -> HopInterceptor {
        var copy = self
        if !slots.contains(.preparation) { copy.preparation = nil }
        if !slots.contains(.deadline) { copy.deadlines = nil }
        if !slots.contains(.redirect) { copy.redirects = nil }
        if !slots.contains(.cache) { copy.cache = nil }
        return copy
    }
}

extension AttemptInterceptor {
    /// The slots of the policies that act.
    fileprivate var slots: [Chain.Layout.Slot] {
        [
            retries.map { _ in .retry }, hedging.map { _ in .hedging }, hosts.map { _ in .hosts },
            authorisers.isEmpty ? nil : .authorisation,
        ].compactMap(\.self)
    }

    /// The interceptor with these policies alone.
    fileprivate func only(_ slots: [Chain.Layout.Slot]) -> AttemptInterceptor {
        var copy = self
        if !slots.contains(.retry) { copy.retries = nil }
        if !slots.contains(.hedging) { copy.hedging = nil }
        if !slots.contains(.hosts) { copy.hosts = nil }
        if !slots.contains(.authorisation) { copy.authorisers = [] }
        return copy
    }
}

extension ExchangeInterceptor {
    /// The slots of the policies that act.
    fileprivate var slots: [Chain.Layout.Slot] {
        [
            limiter.map { _ in .rateLimit }, jar.map { _ in .cookies }, deadlines.map { _ in .exchangeDeadline },
            tracing.map { _ in .trace }, collectsBodies || notesTimes ? .buffering : nil,
        ].compactMap(\.self)
    }

    /// The interceptor with these policies alone.
    fileprivate func only(_ slots: [Chain.Layout.Slot]) -> ExchangeInterceptor {
        var copy = self
        if !slots.contains(.rateLimit) { copy.limiter = nil }
        if !slots.contains(.cookies) { copy.jar = nil }
        if !slots.contains(.exchangeDeadline) { copy.deadlines = nil }
        if !slots.contains(.trace) { copy.tracing = nil }
        if !slots.contains(.buffering) { (copy.collectsBodies, copy.notesTimes) = (false, false) }
        return copy
    }
}
