#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// A call that waits for the exchange of another one.
enum CacheWaiter: Sendable {
    /// What it waits for is settled before, or after, it waits.
    case open
    case waiting(Resumption<CacheWait>)
    case settled(CacheWait)
}

/// How a wait for the exchange of another call ends.
enum CacheWait: Sendable {
    /// The exchange has a response, which this call shares.
    case shared(Response, with: Call.ID)
    /// The exchange has failed, after all retries.
    case failed(LoadingError)
    /// The response is not shared: send the own request.
    case alone
    /// Carry out the exchange in place of the call that did.
    case lead(exchange: UInt64)
    /// The call that carries out the exchange waits itself, longer than this one has time.
    case tooLate(until: Instant)
    /// The call left.
    case left
}

extension CacheWork {
    /// Asks the server, together with all calls that ask the same at the same time.
    ///
    /// One of them carries out the exchange in its own task; if it is cancelled or late, another one begins anew.
    func askTogether(_ question: Question) async throws(LoadingError) -> CacheOutcome {
        guard mayShare else { return try await ask(question) }
        switch cache.arrive(self, question) {
        case .alone: return try await ask(question)
        case .lead(let exchange, let number): return try await lead(exchange, number, question)
        case .wait(let leader, let number): return try await wait(for: leader, number, question)
        case .tooLate(let leader, let end): throw tooLate(leader, until: end)
        }
    }

    /// The error of a call that would wait for another one beyond its deadline.
    private func tooLate(_ leader: Call.ID, until end: Instant) -> LoadingError {
        let now = call.time.now
        let wait = Call.StageTimes.Entry(stage: .wait(.coalescing(leader)), duration: now.duration(to: end))
        return LoadingError(.deadlineExceeded(call.deadlineReport(at: now, impossible: wait)), ErrorContext(request))
    }

    /// Whether the response may be that of another call.
    private var mayShare: Bool {
        // Directives of the request's own are its own. A streamed body is read at the pace of its caller and within its
        // scope: the deadline and the cancellation of that call would end it for all others, in the middle of their
        // bodies, and what they had received could not be continued from another exchange.
        guard cache.settings.coalescesRequests, query.method != .head, case .buffered = request.delivery else {
            return false
        }
        return CollapseState.mayJoin(query) && !request.headers.contains("Cache-Control")
            && !request.headers.contains("Pragma")
    }

    /// Carries out an exchange, and shares its outcome.
    private func lead(_ exchange: UInt64, _ number: UInt64, _ question: Question) async throws(LoadingError)
        -> CacheOutcome
    {
        call.ledger?.observeWaits { [cache] end in cache.delay(exchange, until: end) }
        defer { call.ledger?.observeWaits(nil) }
        do throws(LoadingError) {
            let outcome = try await askAlone(question, for: exchange)
            cache.share(outcome, of: exchange, query, now: call.time.now)
            return outcome
        } catch {
            cache.end(exchange, number, with: error)
            throw error
        }
    }

    /// Asks the server, unless another process that uses the store does so; then waits for what that process stores.
    private func askAlone(_ question: Question, for exchange: UInt64) async throws(LoadingError) -> CacheOutcome {
        guard let key = query.key else { return try await ask(question, for: exchange) }
        guard !store.reserveExchange(for: key) else {
            defer { store.endExchange(for: key) }
            return try await ask(question, for: exchange)
        }
        return try await askAfterOthers(question, for: exchange, key)
    }

    /// Waits until no other process asks for the key, and serves what is stored then, or asks.
    private func askAfterOthers(
        _ question: Question,
        for exchange: UInt64,
        _ key: CacheKey
    ) async throws(LoadingError) -> CacheOutcome {
        let hasReserved = try await waitForOtherProcess(key)
        defer { if hasReserved { store.endExchange(for: key) } }
        let lookup = await lookUp()
        let decided = rules.decide(currentQuery, lookup.heads)
        switch decided.decision {
        case .serve(let serving), .serveAndRevalidate(let serving, _):
            guard var served = try await serve(serving, lookup, decided) else { break }
            served.shared = lookup.heads.first { $0.id == serving.id }
            return served
        case .validate(let condition):
            return try await ask(Question(condition, lookup, decided.rule, decided.freshness), for: exchange)
        default: break
        }
        return try await ask(Question(CacheCondition(), lookup, question.rule), for: exchange)
    }

    /// Waits until no other process asks for a key.
    ///
    /// - Returns: Whether the exchange is reserved now; false for a call that has lost patience.
    private func waitForOtherProcess(_ key: CacheKey) async throws(LoadingError) -> Bool {
        let start = call.beginWait(.anotherProcess)
        defer { call.endWait(.anotherProcess, from: start) }
        let end = min(start.advanced(by: cache.settings.patience), call.deadline ?? Instant(nanoseconds: .max))
        var delay = Duration.milliseconds(2)
        while call.time.now < end {
            let next = min(call.time.now.advanced(by: delay), end)
            try await call.inTask { (call) async throws(LoadingError) in try await call.time.sleep(until: next) }
            if store.reserveExchange(for: key) { return true }
            delay = min(delay * 2, .milliseconds(50))
        }
        if let deadline = call.deadline, call.time.now >= deadline {
            throw LoadingError(.deadlineExceeded(call.deadlineReport(at: call.time.now)), ErrorContext(request))
        }
        return false
    }

    private func wait(
        for leader: Call.ID,
        _ number: UInt64,
        _ question: Question
    ) async throws(LoadingError) -> CacheOutcome {
        let reason = Call.WaitReason.coalescing(leader)
        let start = call.beginWait(reason)
        let end = min(start.advanced(by: cache.settings.patience), call.deadline ?? Instant(nanoseconds: .max))
        let outcome = await cache.wait(number, call, until: end)
        call.endWait(reason, from: start)
        switch outcome {
        case .shared(let response, let other): return try shared(response, with: other, question)
        case .failed(let error): throw LoadingError(error.kind, ErrorContext(request), underlyingError: error)
        case .lead(let exchange):
            cache.change(leaderOf: exchange, to: call.id)
            return try await lead(exchange, number, question)
        case .alone: return try await ask(question)
        case .tooLate(let end): throw tooLate(leader, until: end)
        case .left:
            let now = call.time.now
            guard !call.isCancelled else { throw LoadingError(.cancelled, ErrorContext(request)) }
            if let deadline = call.deadline, now >= deadline {
                throw LoadingError(.deadlineExceeded(call.deadlineReport(at: now)), ErrorContext(request))
            }
            return try await ask(question)
        }
    }

    private func shared(
        _ response: Response,
        with other: Call.ID,
        _ question: Question
    ) throws(LoadingError) -> CacheOutcome {
        if case .buffered(let limit) = request.delivery, let count = response.body.bytes?.count, count > limit {
            throw LoadingError(.bodyTooLarge(limit: limit, announced: Int64(count)), ErrorContext(request))
        }
        call.record(.cacheJoined(other))
        cache.count { $0.joined += 1 }
        var response = response
        response.request = request
        var status = CacheStatus(question.rule, isHit: false, question.freshness)
        status.isCollapsed = true
        return CacheOutcome(response: response, status: status)
    }
}

// MARK: - The calls together

/// What a call that needs the server does.
enum CacheArrival {
    case alone
    case lead(exchange: UInt64, number: UInt64)
    case wait(for: Call.ID, number: UInt64)
    case tooLate(Call.ID, until: Instant)
}

extension ResponseCache {
    /// A call needs the server.
    func arrive(_ work: CacheWork, _ question: Question) -> CacheArrival {
        let now = work.call.time.now
        let (arrival, raised) = state.withLock { state -> (CacheArrival, Request.Priority?) in
            let number = state.nextNumber()
            var arrival = CacheArrival.alone
            var raised: Request.Priority?
            let priority = work.request.priority
            // A call that loses patience before its deadline can still send its own request.
            let patience = now.advanced(by: settings.patience)
            let deadline = work.call.deadline.flatMap { $0 <= patience ? $0 : nil }
            for action in state.collapse.arrive(number, work.query, priority: priority, deadline: deadline, now: now) {
                switch action {
                case .start(let exchange):
                    state.leaders[exchange] = (work.call.id, question.lookup.ticket)
                    arrival = .lead(exchange: exchange, number: number)
                case .wait(let exchange):
                    guard let leader = state.leaders[exchange], leader.ticket == question.lookup.ticket else {
                        // Something was removed since that exchange began, so its response may be an older one.
                        _ = state.collapse.leave(number)
                        return (.alone, nil)
                    }
                    state.waiters[number] = .open
                    arrival = .wait(for: leader.call, number: number)
                case .tooLate(let exchange, _, let end):
                    guard let leader = state.leaders[exchange], leader.ticket == question.lookup.ticket else { break }
                    arrival = .tooLate(leader.call, until: end)
                case .raise(_, let priority): raised = priority
                default: break
                }
            }
            return (arrival, raised)
        }
        if let raised, case .wait(let leader, _) = arrival { raise(raised, leader) }
        return arrival
    }

    /// The priority of an exchange: that of the most urgent call that has wanted it.
    func priority(of exchange: UInt64) -> Request.Priority? {
        state.withLock { $0.collapse.priority(of: exchange) }
    }

    /// Another call carries out an exchange.
    func change(leaderOf exchange: UInt64, to call: Call.ID) {
        state.withLock { $0.leaders[exchange]?.call = call }
    }

    /// The call that carries out an exchange waits itself until an instant, or no longer where that is nil.
    func delay(_ exchange: UInt64, until end: Instant?) {
        let settled = state.withLock { state -> [(Resumption<CacheWait>, CacheWait)] in
            state.collapse.delay(exchange, until: end).compactMap { action in
                guard case .tooLate(_, let call, let end) = action else { return nil }
                return state.settle(call, .tooLate(until: end))
            }
        }
        for (waiter, outcome) in settled { waiter.resume(returning: outcome) }
    }

    /// An exchange has a response.
    func share(_ outcome: CacheOutcome, of exchange: UInt64, _ query: CacheQuery, now: Instant) {
        let settled = state.withLock { state -> [(Resumption<CacheWait>, CacheWait)] in
            let leader = state.leaders.removeValue(forKey: exchange)?.call ?? Call.ID(0)
            // What was added below the cache may differ from call to call.
            let shared = outcome.shared.flatMap { rules.hasUnseenField($0, query) ? nil : $0 }
            let head = shared.map { CollapseState.Head.shared($0) } ?? .unshared
            let actions = state.collapse.receive(exchange, head, now: now)
            state.collapse.end(exchange)
            let isShared = shared != nil
            return actions.compactMap { action in
                switch action {
                case .deliver(_, let call):
                    state.settle(call, isShared ? .shared(outcome.response, with: leader) : .alone)
                case .alone(let call): state.settle(call, .alone)
                default: nil
                }
            }
        }
        for (waiter, outcome) in settled { waiter.resume(returning: outcome) }
    }

    /// An exchange has no response.
    func end(_ exchange: UInt64, _ number: UInt64, with error: LoadingError) {
        let settled = state.withLock { state -> [(Resumption<CacheWait>, CacheWait)] in
            // These concern the call that carried it out alone.
            let isOwn =
                switch error.kind {
                case .cancelled, .deadlineExceeded, .bodyTooLarge: true
                default: false
                }
            let actions = isOwn ? state.collapse.handOver(exchange, from: number) : state.collapse.fail(exchange)
            if !isOwn || actions.isEmpty { state.leaders[exchange] = nil }
            return actions.compactMap { action in
                switch action {
                case .lead(let exchange, let call): state.settle(call, .lead(exchange: exchange))
                case .fail(_, let call): state.settle(call, .failed(error))
                default: nil
                }
            }
        }
        for (waiter, outcome) in settled { waiter.resume(returning: outcome) }
    }

    /// Waits for the exchange of another call, until an instant.
    func wait(_ number: UInt64, _ call: Call, until end: Instant) async -> CacheWait {
        do throws(LoadingError) {
            return try await call.inTask { (call) async throws(LoadingError) in
                try await call.run(until: end, late: { LoadingError(.timedOut(.whole)) }) {
                    () async throws(LoadingError) in
                    await withTaskCancellationHandler {
                        await withResumption { self.sit(number, $0) }
                    } onCancel: {
                        self.leave(number)
                    }
                }
            }
        } catch {
            // The operation throws nothing: the wait was cancelled before it began.
            leave(number)
            return state.withLock { $0.takeSettled(number) } ?? .left
        }
    }

    private func sit(_ number: UInt64, _ waiter: Resumption<CacheWait>) {
        let known = state.withLock { state -> CacheWait? in
            switch state.waiters[number] {
            case .open:
                state.waiters[number] = .waiting(waiter)
                return nil
            default: return state.takeSettled(number) ?? .left
            }
        }
        if let known { waiter.resume(returning: known) }
    }

    /// A call is cancelled, or has lost patience; what is settled stays.
    private func leave(_ number: UInt64) {
        let waiter = state.withLock { state -> Resumption<CacheWait>? in
            switch state.waiters[number] {
            case .open:
                state.waiters[number] = .settled(.left)
                _ = state.collapse.leave(number)
                return nil
            case .waiting(let waiter):
                state.waiters[number] = nil
                _ = state.collapse.leave(number)
                return waiter
            case .settled, nil: return nil
            }
        }
        waiter?.resume(returning: .left)
    }
}

extension ResponseCache.State {
    /// Ends the wait of a call.
    ///
    /// - Returns: What to resume outside of the lock; nil for a call that does not wait yet, or is the one that carries
    ///   the exchange out.
    mutating func settle(_ call: UInt64, _ outcome: CacheWait) -> (Resumption<CacheWait>, CacheWait)? {
        switch waiters[call] {
        case .open:
            waiters[call] = .settled(outcome)
            return nil
        case .waiting(let waiter):
            waiters[call] = nil
            return (waiter, outcome)
        case .settled, nil: return nil
        }
    }

    mutating func takeSettled(_ call: UInt64) -> CacheWait? {
        guard case .settled(let outcome)? = waiters.removeValue(forKey: call) else { return nil }
        return outcome
    }
}
