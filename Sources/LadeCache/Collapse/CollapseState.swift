package import LadeCore

/// The calls that share one exchange: a state machine without tasks, locks or time of its own.
///
/// The first of equal requests starts an exchange, which belongs to the service and not to that call. Others wait for its head.
/// The exchange goes on as long as any call wants it.
package struct CollapseState: Sendable {
    /// The next step of the machine's caller.
    package enum Action: Sendable, Hashable {
        /// Start the exchange for the call, which waits for it like all others.
        case start(exchange: UInt64)
        /// Wait for the exchange, which another call started.
        case wait(exchange: UInt64)
        /// Send the call's own request, and share it with no other.
        case alone(call: UInt64)
        /// Fail the call now: the exchange waits until an instant after the call's deadline.
        case tooLate(exchange: UInt64, call: UInt64, until: Instant)
        /// Deliver the response of the exchange to the call.
        case deliver(exchange: UInt64, call: UInt64)
        /// Fail the call with the error of the exchange.
        case fail(exchange: UInt64, call: UInt64)
        /// End the exchange: no call wants it any more.
        case cancel(exchange: UInt64)
        /// Carry out the exchange in place of the call that did, which is cancelled or late.
        case lead(exchange: UInt64, call: UInt64)
        /// Raise the priority of the exchange.
        case raise(exchange: UInt64, to: Request.Priority)
    }

    /// The meaning of a response's head for the calls that wait.
    package enum Head: Sendable {
        /// It is stored, and these calls match it and share it.
        case shared(with: Set<UInt64>)
        /// It is not stored, or no request can be known to match it.
        case unshared
    }

    private struct Exchange {
        let key: CacheKey
        let began: Instant
        var priority: Request.Priority
        /// The calls that wait.
        var waiters: [UInt64: WaitingCall] = [:]
        var hasHead = false
        /// Until when the call that carries it out waits itself, where that is known.
        var waitsUntil: Instant?
        /// The calls that read the shared body.
        var readers: Set<UInt64> = []
    }

    /// A call that waits for the head of an exchange.
    package struct WaitingCall: Sendable {
        /// Its request.
        package let query: CacheQuery
        fileprivate let deadline: Instant?
    }

    private var exchanges: [UInt64: Exchange] = [:]
    private var open: [CacheKey: UInt64] = [:]
    private var calls: [UInt64: UInt64] = [:]
    /// Keys whose responses were not shared, and until when their calls are not joined.
    private var apart: [CacheKey: Instant] = [:]
    private var apartOrder: [CacheKey] = []
    private var lastExchange: UInt64 = 0

    /// How long the calls of a key are not joined after its response was not shared.
    package static let apartTime = Duration.seconds(120)
    /// How many such keys are remembered.
    package static let apartLimit = 1_000

    /// Makes a machine without exchanges.
    package init() {}

    /// How many exchanges, calls and keys are known; all zero when nothing is in flight.
    package var counts: (exchanges: Int, calls: Int, keys: Int) { (exchanges.count, calls.count, open.count) }

    /// The highest priority of the calls that have wanted an exchange; nil once its head has arrived.
    package func priority(of exchange: UInt64) -> Request.Priority? { exchanges[exchange]?.priority }

    /// Whether a request may share an exchange with others.
    package static func mayJoin(_ query: CacheQuery) -> Bool {
        query.isLookedUp && query.isReplayable && query.range == .none && !query.hasOwnCondition && !query.isNoCache
            && !query.directives.noStore && query.mode != .bypass && !query.isStoredOnly
            && !query.headers.contains("Authorization")
    }

    // MARK: - Calls

    /// A call needs the server.
    package mutating func arrive(
        _ call: UInt64,
        _ query: CacheQuery,
        priority: Request.Priority = .normal,
        deadline: Instant? = nil,
        now: Instant
    ) -> [Action] {
        guard let key = query.key, Self.mayJoin(query), !isApart(key, now) else { return [.alone(call: call)] }
        let waiter = WaitingCall(query: query, deadline: deadline)
        if let number = open[key], let exchange = exchanges[number] {
            if let end = exchange.waitsUntil, let deadline, end > deadline {
                return [.tooLate(exchange: number, call: call, until: end)]
            }
            calls[call] = number
            exchanges[number]?.waiters[call] = waiter
            var actions = [Action.wait(exchange: number)]
            if let current = exchanges[number]?.priority, priority > current {
                exchanges[number]?.priority = priority
                actions.append(.raise(exchange: number, to: priority))
            }
            return actions
        }
        lastExchange += 1
        var exchange = Exchange(key: key, began: now, priority: priority)
        exchange.waiters[call] = waiter
        exchanges[lastExchange] = exchange
        open[key] = lastExchange
        calls[call] = lastExchange
        return [.start(exchange: lastExchange)]
    }

    /// A call is cancelled, its deadline has passed, it has lost patience, or it has read the body to its end.
    package mutating func leave(_ call: UInt64) -> [Action] {
        guard let number = calls.removeValue(forKey: call) else { return [] }
        exchanges[number]?.waiters[call] = nil
        exchanges[number]?.readers.remove(call)
        guard let exchange = exchanges[number], exchange.waiters.isEmpty, exchange.readers.isEmpty else { return [] }
        close(number)
        return [.cancel(exchange: number)]
    }

    /// The call that carries out an exchange is cancelled or late; the one that has waited longest carries it out anew.
    package mutating func handOver(_ number: UInt64, from call: UInt64) -> [Action] {
        calls[call] = nil
        exchanges[number]?.waiters[call] = nil
        exchanges[number]?.waitsUntil = nil
        guard let exchange = exchanges[number] else { return [] }
        guard let next = exchange.waiters.keys.min() else {
            close(number)
            return []
        }
        return [.lead(exchange: number, call: next)]
    }

    /// The call that carries out an exchange waits itself until an instant, or no longer where that is nil.
    ///
    /// - Returns: The calls whose deadlines are before it; they leave.
    package mutating func delay(_ number: UInt64, until end: Instant?) -> [Action] {
        exchanges[number]?.waitsUntil = end
        guard let end, let exchange = exchanges[number], open[exchange.key] == number else { return [] }
        let late = exchange.waiters.filter { waiter in waiter.value.deadline.map { end > $0 } ?? false }.keys.sorted()
        for call in late {
            calls[call] = nil
            exchanges[number]?.waiters[call] = nil
        }
        return late.map { .tooLate(exchange: number, call: $0, until: end) }
    }

    // MARK: - Exchanges

    /// The head of an exchange has arrived: no other call joins it from now on.
    ///
    /// - Returns: The calls that wait for it, by number. They are compared with the head outside of any lock, because that may
    ///   ask a cookie jar.
    package mutating func closeToOthers(_ number: UInt64) -> [UInt64: WaitingCall] {
        guard let exchange = exchanges[number], !exchange.hasHead else { return [:] }
        if open[exchange.key] == number { open[exchange.key] = nil }
        return exchange.waiters
    }

    /// The head of an exchange has arrived, and its meaning is known.
    ///
    /// - Returns: The delivery to each call that shares it, in the order of arrival; the others go alone, all immediately.
    package mutating func receive(_ number: UInt64, _ head: Head, now: Instant) -> [Action] {
        guard let exchange = exchanges[number], !exchange.hasHead else { return [] }
        exchanges[number]?.hasHead = true
        if open[exchange.key] == number { open[exchange.key] = nil }
        let waiting = exchange.waiters.keys.sorted()
        exchanges[number]?.waiters = [:]
        var actions: [Action] = []
        switch head {
        case .unshared:
            keepApart(exchange.key, now)
            // The response is of use to one call: the waiting call that began first.
            for (index, call) in waiting.enumerated() {
                if index == 0 { actions.append(take(call, number)) } else { actions.append(part(call)) }
            }
        case .shared(let matching):
            for call in waiting { actions.append(matching.contains(call) ? take(call, number) : part(call)) }
        }
        if exchanges[number]?.readers.isEmpty ?? false {
            close(number)
            actions.append(.cancel(exchange: number))
        }
        return actions
    }

    private mutating func take(_ call: UInt64, _ number: UInt64) -> Action {
        exchanges[number]?.readers.insert(call)
        return .deliver(exchange: number, call: call)
    }

    private mutating func part(_ call: UInt64) -> Action {
        calls[call] = nil
        return .alone(call: call)
    }

    /// An exchange has failed before its head; no waiting call makes it again, and later calls start anew.
    package mutating func fail(_ number: UInt64) -> [Action] {
        guard let exchange = exchanges[number] else { return [] }
        close(number)
        return exchange.waiters.keys.sorted().map { call in
            calls[call] = nil
            return .fail(exchange: number, call: call)
        }
    }

    /// The body of an exchange has ended.
    package mutating func end(_ number: UInt64) {
        guard let exchange = exchanges[number] else { return }
        close(number)
        for call in exchange.readers { calls[call] = nil }
    }

    // MARK: - Parts

    private mutating func close(_ number: UInt64) {
        guard let exchange = exchanges.removeValue(forKey: number) else { return }
        if open[exchange.key] == number { open[exchange.key] = nil }
    }

    private func isApart(_ key: CacheKey, _ now: Instant) -> Bool { apart[key].map { now < $0 } ?? false }

    private mutating func keepApart(_ key: CacheKey, _ now: Instant) {
        if apart.updateValue(now.advanced(by: Self.apartTime), forKey: key) == nil { apartOrder.append(key) }
        while apartOrder.count > Self.apartLimit { apart[apartOrder.removeFirst()] = nil }
    }
}
