#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// A call that waits for the exchange of another one.
///
/// All of them share one timer: a timer of ``Waiter`` would be a task for each, with more memory than the call.
struct CacheWaiter: Sendable {
    var waiter = Waiter<CacheWait>()
    /// When it ends at the latest; nil before it begins.
    var end: Instant?
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

/// An exchange that a call carries out for all calls that ask the same at the same time.
///
/// It is handed over exactly once: with an outcome, or to another call that then carries it out anew.
struct CacheLead: Sendable {
    let exchange: UInt64
    /// The number of the call.
    let number: UInt64
    /// Whether the exchange is reserved in all processes that use the store.
    var isReserved = false

    /// Begins: others learn how long the call waits itself.
    fileprivate func begin(_ work: CacheWork) {
        work.call.observeWaits { [cache = work.cache, exchange] end in cache.delay(exchange, until: end) }
    }

    /// Shares the outcome.
    func share(_ work: CacheWork, _ outcome: CacheDelivery) {
        release(work)
        work.cache.share(outcome, of: exchange, work.query, now: work.call.time.now)
        work.call.observeWaits(nil)
    }

    /// Shares the error, or lets another call carry out the exchange.
    func end(_ work: CacheWork, with error: LoadingError) {
        release(work)
        work.cache.end(exchange, number, with: error)
        work.call.observeWaits(nil)
    }

    private func release(_ work: CacheWork) {
        if isReserved, let key = work.query.key { work.store.endExchange(for: key) }
    }
}

extension CacheWork {
    /// Asks the server, together with all calls that ask the same at the same time.
    ///
    /// One of them carries out the exchange in its own task; if it is cancelled or late, another one begins anew.
    func together(_ inquiry: Inquiry) throws(LoadingError) -> Rest {
        guard mayShare else { return .step(send(inquiry)) }
        switch cache.arrive(self, inquiry.lookup) {
        case .alone: return .step(send(inquiry))
        case .lead(let exchange, let number): return lead(CacheLead(exchange: exchange, number: number), inquiry)
        case .wait(let leader, let number): return .wait(for: leader, number: number, inquiry)
        case .tooLate(let leader, let end): throw tooLate(leader, until: end)
        }
    }

    /// The error of a call that would wait for another one beyond its deadline.
    private func tooLate(_ leader: Call.ID, until end: Instant) -> LoadingError {
        let now = call.time.now
        let wait = Call.StageTimes.Entry(stage: .wait(.coalescing(leader)), duration: now.duration(to: end))
        return LoadingError(
            .deadlineExceeded(call.deadlineReport(at: now, impossible: wait)),
            LoadingError.Context(request)
        )
    }

    /// Whether the response of another call may be shared.
    private var mayShare: Bool {
        // A request with directives of its own shares no exchange. A streamed body is read at the pace of its caller and within
        // its scope. The deadline and the cancellation of that call would end the body for all other calls, in the middle. The
        // bytes that they had received could not be continued from another exchange.
        guard cache.settings.coalescesRequests, query.method != .head, case .buffered = request.delivery else {
            return false
        }
        return CollapseState.mayJoin(query) && query.names.isDisjoint(with: [.cacheControl, .pragma])
    }

    /// Carries out an exchange, unless another process that uses the store does so.
    private func lead(_ lead: CacheLead, _ inquiry: Inquiry) -> Rest {
        var (lead, inquiry) = (lead, inquiry)
        lead.begin(self)
        lead.isReserved = query.key.map(store.reserveExchange) ?? true
        inquiry.lead = lead
        return lead.isReserved ? .step(send(inquiry)) : .waitForOthers(inquiry)
    }

    /// Waits until no other process sends a request for the key, then serves a stored response or sends the request.
    func waitForOthers(_ inquiry: Inquiry) async throws(LoadingError) -> CacheStep {
        guard var lead = inquiry.lead, let key = query.key else { return send(inquiry) }
        do throws(LoadingError) {
            lead.isReserved = try await waitForOtherProcess(key)
            let lookup = await lookUp()
            let decided = rules.decide(currentQuery, lookup.heads)
            var condition = CacheCondition()
            var rule = inquiry.rule
            switch decided.decision {
            case .serve(let serving), .serveAndRevalidate(let serving, _):
                guard var served = try await serve(serving, lookup, decided) else { break }
                served.shared = lookup.heads.first { $0.id == serving.id }
                lead.share(self, served)
                return finished(served)
            case .validate(let stated): (condition, rule) = (stated, decided.rule)
            default: break
            }
            let freshness = condition.isEmpty ? nil : decided.freshness
            return send(
                Inquiry(
                    work: self,
                    form: .condition(condition),
                    lookup: lookup,
                    rule: rule,
                    freshness: freshness,
                    lead: lead
                )
            )
        } catch {
            lead.end(self, with: error)
            throw error
        }
    }

    /// Waits until no other process sends a request for a key.
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
            throw LoadingError(.deadlineExceeded(call.deadlineReport(at: call.time.now)), LoadingError.Context(request))
        }
        return false
    }

    /// Waits for the exchange of another call.
    func wait(for leader: Call.ID, _ number: UInt64, _ inquiry: Inquiry) async throws(LoadingError) -> CacheStep {
        let start = call.beginWait(.coalescing(leader))
        let outcome = await cache.wait(number, call, until: waitEnd(start))
        call.endWait(.coalescing(leader), from: start)
        if case .lead(let exchange) = outcome {
            cache.change(leaderOf: exchange, to: call.id)
            let rest = lead(CacheLead(exchange: exchange, number: number), inquiry)
            guard case .step(let step) = rest else { return try await self.step(after: rest) }
            return step
        }
        return try step(after: outcome, leader, inquiry)
    }

    /// The end of a wait for another call, which began at an instant.
    private func waitEnd(_ start: Instant) -> Instant {
        min(start.advanced(by: cache.settings.patience), call.deadline ?? Instant(nanoseconds: .max))
    }

    @inline(never)
    private func step(after outcome: CacheWait, _ leader: Call.ID, _ inquiry: Inquiry) throws(LoadingError) -> CacheStep
    {
        switch outcome {
        case .shared(let response, let other): return try shared(response, with: other, inquiry)
        case .failed(let error): throw LoadingError(error.kind, LoadingError.Context(request), underlyingError: error)
        case .tooLate(let end): throw tooLate(leader, until: end)
        case .alone, .lead: return send(inquiry)
        case .left:
            let now = call.time.now
            guard !call.isCancelled else { throw LoadingError(.cancelled, LoadingError.Context(request)) }
            if let deadline = call.deadline, now >= deadline {
                throw LoadingError(.deadlineExceeded(call.deadlineReport(at: now)), LoadingError.Context(request))
            }
            return send(inquiry)
        }
    }

    private func shared(
        _ response: Response,
        with other: Call.ID,
        _ inquiry: Inquiry
    ) throws(LoadingError) -> CacheStep {
        if case .buffered(let limit) = request.delivery, let count = response.body.bytes?.count, count > limit {
            throw LoadingError(.bodyTooLarge(limit: limit, announced: Int64(count)), LoadingError.Context(request))
        }
        call.record(.cacheJoined(other))
        cache.count { $0.joined += 1 }
        var response = response
        response.request = request
        var status = CacheStatus(inquiry.rule, isHit: false, inquiry.freshness)
        status.isCollapsed = true
        return finished(CacheDelivery(response: response, status: status))
    }
}

// MARK: - The calls together

/// The role of a call that needs the server.
enum CacheArrival {
    case alone
    case lead(exchange: UInt64, number: UInt64)
    case wait(for: Call.ID, number: UInt64)
    case tooLate(Call.ID, until: Instant)
}

extension ResponseCache {
    /// A call needs the server.
    func arrive(_ work: CacheWork, _ lookup: CacheLookup) -> CacheArrival {
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
                    state.leaders[exchange] = (work.call.id, lookup.ticket)
                    arrival = .lead(exchange: exchange, number: number)
                case .wait(let exchange):
                    guard let leader = state.leaders[exchange], leader.ticket == lookup.ticket else {
                        // Something was removed since that exchange began, so its response may be an older one.
                        _ = state.collapse.leave(number)
                        return (.alone, nil)
                    }
                    state.waiters[number] = CacheWaiter()
                    arrival = .wait(for: leader.call, number: number)
                case .tooLate(let exchange, _, let end):
                    guard let leader = state.leaders[exchange], leader.ticket == lookup.ticket else { break }
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

    /// The priority of an exchange: the priority of the most urgent call that has joined it.
    func priority(of exchange: UInt64) -> Request.Priority? {
        state.withLock { $0.collapse.priority(of: exchange) }
    }

    /// Another call carries out an exchange.
    func change(leaderOf exchange: UInt64, to call: Call.ID) {
        state.withLock { $0.leaders[exchange]?.call = call }
    }

    /// The call that carries out an exchange waits itself until an instant, or no longer where that is nil.
    func delay(_ exchange: UInt64, until end: Instant?) {
        let wakes = state.withLock { state -> [Waiter<CacheWait>.Wake] in
            state.collapse.delay(exchange, until: end).compactMap { action in
                guard case .tooLate(_, let call, let end) = action else { return nil }
                return state.end(call, .tooLate(until: end))
            }
        }
        resume(wakes)
    }

    /// An exchange has a response.
    func share(_ outcome: CacheDelivery, of exchange: UInt64, _ query: CacheQuery, now: Instant) {
        // Fields that were added below the cache may differ from call to call.
        let shared = outcome.shared.flatMap { rules.hasUnseenField($0, query) ? nil : $0 }
        let head = shared.map { CollapseState.Head.shared(with: matching($0, exchange)) } ?? .unshared
        let isShared = shared != nil
        let wakes = state.withLock { state -> [Waiter<CacheWait>.Wake] in
            let leader = state.leaders.removeValue(forKey: exchange)?.call ?? Call.ID(0)
            let actions = state.collapse.receive(exchange, head, now: now)
            state.collapse.end(exchange)
            return actions.compactMap { action in
                switch action {
                case .deliver(_, let call):
                    state.end(call, isShared ? .shared(outcome.response, with: leader) : .alone)
                case .alone(let call): state.end(call, .alone)
                default: nil
                }
            }
        }
        resume(wakes)
    }

    /// The calls that wait for an exchange and match the head of its response.
    private func matching(_ head: StoredHead, _ exchange: UInt64) -> Set<UInt64> {
        // Compared outside of the lock: the cookies of a request may be those of a jar.
        let waiting = state.withLock { $0.collapse.closeToOthers(exchange) }
        return Set(waiting.filter { !rules.variants(of: $0.value.query, in: [head]).isEmpty }.keys)
    }

    /// An exchange has no response.
    func end(_ exchange: UInt64, _ number: UInt64, with error: LoadingError) {
        let wakes = state.withLock { state -> [Waiter<CacheWait>.Wake] in
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
                case .lead(let exchange, let call): state.end(call, .lead(exchange: exchange))
                case .fail(_, let call): state.end(call, .failed(error))
                default: nil
                }
            }
        }
        resume(wakes)
    }

    private func resume(_ wakes: [Waiter<CacheWait>.Wake]) {
        for wake in wakes { wake.resume() }
        if !wakes.isEmpty { endIdleTimer() }
    }

    /// Waits for the exchange of another call, until an instant.
    func wait(_ number: UInt64, _ call: Call, until end: Instant) async -> CacheWait {
        await Waiter.outcome(of: call) { resumption in
            enter(number, until: end, call.time, resumption)
        } cancel: {
            self.leave(number)
        }
    }

    private func enter(
        _ number: UInt64,
        until end: Instant,
        _ time: any TimeSource,
        _ resumption: Resumption<CacheWait>
    ) -> Waiter<CacheWait>.Wake? {
        let (wake, timer) = state.withLock { state -> (Waiter<CacheWait>.Wake?, WaitTimer.Start?) in
            if let wake = state.wait(number, resumption, until: end) { return (wake, nil) }
            return (nil, state.timer.set(until: end))
        }
        if wake != nil { endIdleTimer() }
        if let timer { start(timer, time) }
        return wake
    }

    /// A call is cancelled; an end that came before stays.
    private func leave(_ number: UInt64) {
        let wake = state.withLock { state -> Waiter<CacheWait>.Wake? in
            guard state.waiters[number]?.waiter.hasEnded == false else { return nil }
            _ = state.collapse.leave(number)
            return state.end(number, .left)
        }
        wake?.resume()
        endIdleTimer()
    }

    // MARK: - The timer of all waits

    /// Starts the timer; a task for each waiting call would cost more memory than the call.
    private func start(_ timer: WaitTimer.Start, _ time: any TimeSource) {
        timer.replaced?.cancel()
        let (number, end) = (timer.number, timer.end)
        // Owned by the cache, which cancels it with the last wait.
        let task = Task { [weak self] in
            // Cancelled by the timer that takes its place, and with the last wait.
            guard (try? await time.sleep(until: end)) != nil else { return }
            self?.ring(number, time)
        }
        let isOutdated = state.withLock { state in !state.timer.keep(task, number) }
        if isOutdated { task.cancel() }
    }

    /// Ends the waits that are over, and starts the timer for the next one.
    private func ring(_ number: UInt64, _ time: any TimeSource) {
        let now = time.now
        let (over, next) = state.withLock { state -> ([Waiter<CacheWait>.Wake], WaitTimer.Start?) in
            guard state.timer.end(number) else { return ([], nil) }
            var over: [Waiter<CacheWait>.Wake] = []
            var next: Instant?
            for (number, waiting) in state.waiters {
                guard waiting.waiter.isSuspended, let end = waiting.end else { continue }
                if end <= now {
                    _ = state.collapse.leave(number)
                    if let wake = state.end(number, .left) { over.append(wake) }
                } else {
                    next = min(next ?? end, end)
                }
            }
            return (over, next.flatMap { state.timer.set(until: $0) })
        }
        for wake in over { wake.resume() }
        if let next { start(next, time) }
    }

    /// Cancels the timer once no call waits.
    private func endIdleTimer() {
        state.withLock { state in state.waiters.isEmpty ? state.timer.stop() : nil }?.cancel()
    }
}

/// The timer for the waits of all calls: it rings at the earliest end.
struct WaitTimer: Sendable {
    /// A timer to start, and the timer that it replaces.
    struct Start {
        let number: UInt64
        let end: Instant
        let replaced: Task<Void, Never>?
    }

    private var number: UInt64 = 0
    private var end: Instant?
    private var task: Task<Void, Never>?

    /// Sets the timer, unless it rings early enough already.
    ///
    /// - Returns: The timer to start.
    mutating func set(until instant: Instant) -> Start? {
        if let end, end <= instant { return nil }
        number += 1
        end = instant
        defer { task = nil }
        return Start(number: number, end: instant, replaced: task)
    }

    /// Keeps the task of a timer; false if another timer has replaced it.
    mutating func keep(_ task: Task<Void, Never>, _ number: UInt64) -> Bool {
        guard number == self.number, end != nil else { return false }
        self.task = task
        return true
    }

    /// The timer has expired; false if another timer has replaced it.
    mutating func end(_ number: UInt64) -> Bool {
        guard number == self.number, end != nil else { return false }
        (end, task) = (nil, nil)
        return true
    }

    /// Stops the timer.
    ///
    /// - Returns: The task to cancel.
    mutating func stop() -> Task<Void, Never>? {
        defer { (end, task) = (nil, nil) }
        return task
    }
}

extension ResponseCache.State {
    /// Ends the wait of a call, also before the call has begun to wait.
    ///
    /// - Returns: The task to resume outside of the lock. Nil for a call that does not wait yet, and for the call that
    ///   carries the exchange out.
    mutating func end(_ call: UInt64, _ outcome: CacheWait) -> Waiter<CacheWait>.Wake? {
        guard let wake = waiters[call]?.waiter.end(outcome) else { return nil }
        waiters[call] = nil
        return wake
    }

    /// Begins the wait of a call.
    ///
    /// - Returns: The task again, if the wait has ended already.
    mutating func wait(
        _ call: UInt64,
        _ resumption: Resumption<CacheWait>,
        until end: Instant
    ) -> Waiter<CacheWait>.Wake? {
        guard let wake = waiters[call, default: CacheWaiter()].waiter.wait(resumption) else {
            waiters[call]?.end = end
            return nil
        }
        waiters[call] = nil
        return wake
    }
}
