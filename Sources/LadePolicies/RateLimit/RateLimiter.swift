#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore
import Synchronization

/// Limits how often services are called, by the program's settings and the delays and rates that servers request.
///
/// The limits may be changed at any time:
///
/// ```swift
/// let search = service.rateLimiter.key(of: searchURL)
/// try service.rateLimiter.setRate(1, for: search)
/// service.rateLimiter.closeGate(of: search, for: .seconds(30))
/// ```
///
/// A call reserves a slot before its exchange starts, in order of arrival within its priority. Later calls do not take
/// a reserved slot away. A waiting call holds no thread; a cancelled one returns its queue position or slot. A *gate*
/// is a delay during which no call to a service starts. A server requests it with `Retry-After`, or the program closes
/// it with ``closeGate(of:for:)``; it ends only when its time has passed.
///
/// Services are distinguished by ``ServiceKey``.
public final class RateLimiter: Sendable {
    /// Leave to carry out one exchange; returned once, by ``finish(isUnused:)`` or when it is released.
    public final class Slot: Sendable {
        /// The service that it is for.
        let key: ServiceKey
        /// The account of the call.
        let account: String
        /// The number of the start among those of the service.
        let start: UInt64
        /// Further services that it is for, with the numbers of the starts.
        let others: [(key: ServiceKey, start: UInt64)]
        /// Whether the first of them counts among all exchanges.
        let isCounted: Bool
        /// How many starts it takes.
        let cost: Int
        private let limiter: RateLimiter
        private let isFinished = Atomic(false)

        fileprivate init(
            _ key: ServiceKey,
            _ account: String,
            start: UInt64,
            others: [(key: ServiceKey, start: UInt64)] = [],
            isCounted: Bool = true,
            cost: Int,
            of limiter: RateLimiter
        ) {
            (self.key, self.account, self.start, self.limiter) = (key, account, start, limiter)
            (self.others, self.isCounted, self.cost) = (others, isCounted, cost)
        }

        deinit { finish() }

        /// Returns the slot; only the first call has an effect.
        ///
        /// - Parameter isUnused: Whether nothing was sent, so that the next call may start in its place.
        public func finish(isUnused: Bool = false) {
            guard !isFinished.exchange(true, ordering: .acquiringAndReleasing) else { return }
            limiter.finish(self, isUnused: isUnused)
        }
    }

    let time: any TimeSource
    /// Which requests share a rate.
    public let keyRule: ServiceKey.Rule
    /// The longest time for which a server can close a gate; see ``RateLimits/gateLimit``.
    package let gateLimit: Duration
    private let furtherKeys: (@Sendable (Request) -> [ServiceKey])?
    private let gateStatuses: Response.StatusSet
    private let respectsQuotas: Bool
    private let reserve: QuotaReserve
    private let delaySharing: RateLimits.Sharing
    // Guarded by its lock.
    let state: Locked<RateLimiterState>
    /// Where slots of shared limits come from, and this limiter's number there; nil for limits of this process alone.
    let supply: (any RateSupply)?
    let supplyNumber: Atomic<Int>

    /// Makes a limiter.
    ///
    /// - Parameters:
    ///   - limits: The initial limits.
    ///   - time: The time source of its waits; the same as that of the calls.
    ///   - random: The source of the jitter after a gate.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a negative rate, a burst or a number of exchanges below one.
    public convenience init(
        _ limits: RateLimits = RateLimits(),
        time: any TimeSource = SystemTime(),
        random: any RandomSource = SystemRandom()
    ) throws(LoadingError) {
        try self.init(limits, time: time, random: random, supply: nil)
    }

    /// Makes a limiter whose slots come from a supply; without one, it computes them alone.
    package init(
        _ limits: RateLimits,
        time: any TimeSource,
        random: any RandomSource,
        supply: (any RateSupply)?
    ) throws(LoadingError) {
        try limits.default?.validate()
        for rate in limits.rates.values { try rate.validate() }
        try Self.validate(limits.concurrency)
        try Self.validate(limits.totalConcurrency)
        self.time = time
        keyRule = limits.keyRule
        furtherKeys = limits.furtherKeys
        gateLimit = limits.gateLimit
        gateStatuses = limits.gateStatuses
        respectsQuotas = limits.respectsQuotas
        reserve = limits.reserve
        delaySharing = limits.delaySharing
        var state = RateLimiterState(limits, seed: random.next())
        if supply != nil { state.sharing = RateSharing() }
        self.state = Locked(state)
        self.supply = supply
        supplyNumber = Atomic(-1)
        guard let supply else { return }
        let number = supply.attach { [weak self] news in self?.receive(news) }
        supplyNumber.store(number, ordering: .releasing)
    }

    /// The service that an address belongs to, for the functions below.
    ///
    /// ```swift
    /// try limiter.setRate(2, for: limiter.key(of: searchURL))
    /// ```
    public func key(of url: URL) -> ServiceKey { keyRule(Request(url)) }

    // MARK: - Rates

    /// Sets the rate of a service, effective immediately for waiting calls too.
    ///
    /// - Parameters:
    ///   - perSecond: Starts per second; zero holds every call until the rate is changed.
    ///   - burst: How many may start together after a time without calls.
    ///   - key: The service.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a negative rate or a burst below one.
    public func setRate(_ perSecond: Double, burst: Int = 1, for key: ServiceKey) throws(LoadingError) {
        let rate = RateLimits.Rate(perSecond: perSecond, burst: burst)
        try rate.validate()
        let now = time.now
        wake(state.withLock { $0.setRate(rate, of: key, now: now) })
    }

    /// Removes the specific rate of a service, which then has the default.
    public func removeRate(for key: ServiceKey) {
        let now = time.now
        wake(state.withLock { $0.setRate(nil, of: key, now: now) })
    }

    /// Sets the rate of services that have none of their own; nil for no limit.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a negative rate or a burst below one.
    public func setDefaultRate(_ rate: RateLimits.Rate?) throws(LoadingError) {
        try rate?.validate()
        let now = time.now
        wake(state.withLock { $0.setDefaultRate(rate, now: now) })
    }

    /// The rate of a service, specific or default; nil for no limit.
    public func rate(for key: ServiceKey) -> RateLimits.Rate? { state.withLock { $0.rate(of: key) } }

    // MARK: - Gates, caps, priorities

    /// Closes the gate of a service: no call to it starts for a while.
    ///
    /// A gate that is closed for longer stays so. The time is limited to ``RateLimits/gateLimit``.
    public func closeGate(of key: ServiceKey, for pause: Duration) {
        _ = close(key, nil, for: pause)
    }

    /// Forgets the quota that a service has announced; the calls that wait for it start.
    ///
    /// The next announced quota takes effect again.
    ///
    /// - Parameters:
    ///   - key: The service.
    ///   - account: The account with the quota; nil for all accounts.
    public func clearQuota(of key: ServiceKey, account: String? = nil) {
        let now = time.now
        wake(state.withLock { $0.clearQuota(key, account, now: now) })
    }

    /// Sets how many exchanges with a service may run at a time; nil for the default.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a number below one.
    public func setConcurrency(_ count: Int?, for key: ServiceKey) throws(LoadingError) {
        try Self.validate(count)
        let now = time.now
        wake(state.withLock { $0.setConcurrency(count, of: key, now: now) })
    }

    /// Sets how many exchanges may run at a time in all; nil for no limit.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a number below one.
    public func setTotalConcurrency(_ count: Int?) throws(LoadingError) {
        try Self.validate(count)
        let now = time.now
        wake(state.withLock { $0.setTotalConcurrency(count, now: now) })
    }

    /// Changes the priority of a waiting call, as when a prefetched page scrolls into view.
    ///
    /// Among the calls of its new priority, its order of arrival counts. A call that does not wait is not affected.
    public func setPriority(_ priority: Request.Priority, of call: Call.ID) {
        let now = time.now
        wake(state.withLock { $0.setPriority(priority, of: call, now: now) })
    }

    // MARK: - Looking

    /// How long a call of normal priority that came now would wait; nothing waits here.
    ///
    /// - Parameters:
    ///   - key: The service.
    ///   - account: The account of the call; the signed-out one by default.
    /// - Returns: The wait; nil when it is not known.
    public func estimatedWait(for key: ServiceKey, account: String = "") -> Duration? {
        let now = time.now
        return state.withLock { $0.wait(of: key, account, now: now) }
    }

    /// How many calls wait.
    public var waitingCount: Int { state.withLock(\.waitingCount) }

    /// How many services have a state.
    public var keyCount: Int { state.withLock(\.buckets.count) }

    // MARK: - Slots

    /// Reserves a slot for an exchange, waiting for it if necessary.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - call: The call it belongs to; its deadline bounds the wait.
    /// - Returns: The slot, to be returned when the exchange has ended; nil when nothing limits the request.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a ``RateCost`` below 1 or above 10,000.
    ///   `LoadingError.Kind.deadlineExceeded` when the wait could not end before the deadline, or has not.
    ///   `LoadingError.Kind.rateLimited` when the server requests a longer delay than ``RateLimits/delayLimit``, or when
    ///   ``RateLimits/waitingLimit`` calls wait already. `LoadingError.Kind.cancelled` as soon as the task or the call is
    ///   cancelled.
    public func start(_ request: Request, call: Call) async throws(LoadingError) -> Slot? {
        switch try startNow(request, call: call) {
        case .slot(let slot): return slot
        case .waiting(let id, let key, let reason):
            return try await wait(id, key, reason, request[RateCost.self], call)
        case .waitingForAll(let wait): return try await self.wait(wait, call)
        }
    }

    /// The result of requesting a slot without waiting.
    enum Entry {
        /// It may go; nil when nothing limits it.
        case slot(Slot?)
        /// It is in the queue, under this number; ``wait(_:_:_:_:_:)`` is to follow.
        case waiting(UInt64, ServiceKey, Call.WaitReason)
        /// It is in the queue of one of several keys; ``wait(_:_:)`` is to follow.
        indirect case waitingForAll(SetWait)
    }

    /// A call that waits for one of its keys, and holds no slot of the others.
    struct SetWait: Sendable {
        var keys: RateKeys
        /// The position of the key in whose queue it is.
        var index: Int
        var id: UInt64
        var reason: Call.WaitReason
        var priority: Request.Priority
        var cost: Int
    }

    /// The keys of a request whose limits it keeps.
    func keys(of request: Request) -> RateKeys { RateKeys(keyRule(request), furtherKeys?(request) ?? []) }

    /// Reserves a free slot, or a queue position.
    @inline(never)
    func startNow(_ request: Request, call: Call) throws(LoadingError) -> Entry {
        guard !state.withLock({ $0.isUnlimited }) else { return .slot(nil) }
        let cost = request[RateCost.self]
        if cost != 1 { try RateCost.validate(cost) }
        if supply != nil { use(in: call) }
        let key = keyRule(request)
        if let further = furtherKeys?(request), !further.isEmpty {
            return try startAll(RateKeys(key, further), request.priority, cost, call)
        }
        let now = time.now
        let deadline = call.deadline.map { now.advanced(by: call.time.now.duration(to: $0)) }
        let taskPriority = Task.currentPriority.rawValue
        let (arrival, wakes) = state.withLock {
            $0.arrive(
                key,
                request.priority,
                deadline: deadline,
                call: call,
                taskPriority: taskPriority,
                cost: cost,
                now: now
            )
        }
        wake(wakes)
        switch arrival {
        case .started(let number):
            return .slot(number.map { Slot(key, call.account, start: $0, cost: cost, of: self) })
        case .waiting(let id, let reason, let gate):
            if let gate { call.noteWait(until: call.time.now.advanced(by: now.duration(to: gate))) }
            return .waiting(id, key, reason)
        case .refused(let reason, let wait): throw Self.impossible(wait, reason, call)
        case .paused(let wait): throw LoadingError(.rateLimited(key: key.description, wait: wait))
        case .full(let wait, let limit): throw Self.full(key, wait, limit)
        }
    }

    /// Reserves a slot of each key, or a queue position of the first that has none.
    ///
    /// One lock: no other call sees a slot that is given back because another key has none. `granted` is the slot that the
    /// call has waited for, with its number in the queues.
    private func startAll(
        _ keys: RateKeys,
        _ priority: Request.Priority,
        _ cost: Int,
        _ call: Call,
        granted: (id: UInt64, index: Int, start: UInt64)? = nil
    ) throws(LoadingError) -> Entry {
        let now = time.now
        let deadline = call.deadline.map { now.advanced(by: call.time.now.duration(to: $0)) }
        let taskPriority = Task.currentPriority.rawValue
        let (arrival, wakes) = state.withLock {
            $0.arrive(
                keys,
                priority,
                deadline: deadline,
                call: call,
                taskPriority: taskPriority,
                granted: granted,
                cost: cost,
                now: now
            )
        }
        wake(wakes)
        switch arrival {
        case .started(let starts):
            guard let first = starts.first else { return .slot(nil) }
            let slot = Slot(
                first.key,
                call.account,
                start: first.start,
                others: Array(starts.dropFirst()),
                isCounted: first.key == keys.all.first,
                cost: cost,
                of: self
            )
            return .slot(slot)
        case .obstacle(let index, let arrival):
            let key = keys.all[index]
            switch arrival {
            case .started: return .slot(nil)
            case .waiting(let id, let reason, let gate):
                if let gate { call.noteWait(until: call.time.now.advanced(by: now.duration(to: gate))) }
                let wait = SetWait(keys: keys, index: index, id: id, reason: reason, priority: priority, cost: cost)
                return .waitingForAll(wait)
            case .refused(let reason, let wait): throw Self.impossible(wait, reason, call)
            case .paused(let wait): throw LoadingError(.rateLimited(key: key.description, wait: wait))
            case .full(let wait, let limit): throw Self.full(key, wait, limit)
            }
        }
    }

    private static func full(_ key: ServiceKey, _ wait: Duration, _ limit: Int) -> LoadingError {
        var context = LoadingError.Context()
        context.detail = "\(limit) calls wait for it already"
        return LoadingError(.rateLimited(key: key.description, wait: wait), context)
    }

    private func finish(_ slot: Slot, isUnused: Bool) {
        let now = time.now
        let wakes = state.withLock { state in
            var wakes = state.finish(
                slot.start,
                of: slot.account,
                slot.key,
                isUnused: isUnused,
                isCounted: slot.isCounted,
                cost: slot.cost,
                now: now
            )
            for (key, start) in slot.others {
                wakes += state.finish(
                    start,
                    of: slot.account,
                    key,
                    isUnused: isUnused,
                    isCounted: false,
                    cost: slot.cost,
                    now: now
                )
            }
            return wakes
        }
        wake(wakes)
    }

    /// Reads the limits that a server announces with a response.
    ///
    /// A 429 or 503 with `Retry-After` closes the gate of the service; see ``RateLimits/respectsQuotas`` for announced quotas.
    public func observe(_ status: Response.Status, _ headers: Headers, of request: Request, call: Call) {
        observe(status, Reply(headers, now: call.time.date), of: request, call: call, isRunning: false)
    }

    /// Reads the limits that a server announces with a response.
    ///
    /// - Parameters:
    ///   - status: The status of the response.
    ///   - reply: The demands of its head on later calls; nil for none.
    ///   - request: The request of the response.
    ///   - call: The call.
    ///   - isRunning: Whether the slot of the exchange has not been returned yet.
    func observe(_ status: Response.Status, _ reply: Reply?, of request: Request, call: Call, isRunning: Bool) {
        guard let reply else { return }
        if gateStatuses.contains(status), let pause = reply.delay {
            let key = keyRule(request)
            if let closed = close(key, delaySharing == .account ? call.account : nil, for: pause) {
                call.record(.gateClosed(key: key.description, for: closed, status: status))
                if supply != nil, delaySharing == .service { share(closed, of: key) }
            }
        }
        guard respectsQuotas else { return }
        for field in reply.ignoredQuotas { call.record(.valueIgnored(name: field.name, value: field.value)) }
        guard let reading = QuotaReading.strictest(of: reply.quotas, reserve) else { return }
        let key = keyRule(request)
        let now = time.now
        let (pace, wakes) = state.withLock { $0.observe(reading, key, call.account, isRunning: isRunning, now: now) }
        wake(wakes)
        if let pace { call.record(.rateAdjusted(key: key.description, perSecond: pace.isFinite ? pace : nil)) }
    }

    // MARK: - Waiting

    // Ten thousand calls may wait here, and each keeps the frames of these functions. So there are few, and anything
    // that needs stack space but need not wait is in a separate function.

    /// Waits for the slot of a queue position.
    func wait(
        _ id: UInt64,
        _ key: ServiceKey,
        _ reason: Call.WaitReason,
        _ cost: Int,
        _ call: Call
    ) async throws(LoadingError) -> Slot {
        let news = await news(of: id, key, reason, call)
        return try slot(of: key, news, cost, call)
    }

    /// Waits for the slots of all keys, for one after the other.
    ///
    /// The key that the call waited for may have a slot when another key has none. Then the slot goes to the next call, and
    /// this call waits for the other key, in its order of arrival.
    func wait(_ first: SetWait, _ call: Call) async throws(LoadingError) -> Slot? {
        var wait = first
        while true {
            let key = wait.keys.all[wait.index]
            let news = await news(of: wait.id, key, wait.reason, call)
            guard case .granted(let start) = news, !call.isCancelled else {
                return try slot(of: key, news, wait.cost, call)
            }
            call.noteWait(until: nil)
            switch try startAll(wait.keys, wait.priority, wait.cost, call, granted: (wait.id, wait.index, start)) {
            case .slot(let slot): return slot
            case .waitingForAll(let next): wait = next
            case .waiting: preconditionFailure("A call with several keys waits for one of them alone")
            }
        }
    }

    private func news(
        of id: UInt64,
        _ key: ServiceKey,
        _ reason: Call.WaitReason,
        _ call: Call
    ) async -> RateWake {
        let start = call.beginWait(reason)
        let registration = call.scope?.add { [self] in cancel(id) }
        if registration == nil, call.scope != nil { cancel(id) }
        var news = await nextNews(of: id)
        if case .lead = news { news = await lead(id, key) }
        if let registration { call.scope?.remove(registration) }
        call.endWait(reason, from: start)
        return news
    }

    @inline(never)
    private func slot(
        of key: ServiceKey,
        _ news: RateWake,
        _ cost: Int,
        _ call: Call
    ) throws(LoadingError) -> Slot {
        call.noteWait(until: nil)
        if supply != nil { use(in: call) }
        switch news {
        case .granted(let number):
            let slot = Slot(key, call.account, start: number, cost: cost, of: self)
            guard call.isCancelled else { return slot }
            slot.finish(isUnused: true)
            throw LoadingError(.cancelled)
        case .refused(let reason, let wait): throw Self.impossible(wait, reason, call)
        case .paused(let wait): throw LoadingError(.rateLimited(key: key.description, wait: wait))
        case .expired: throw LoadingError(.deadlineExceeded(call.deadlineReport(at: call.time.now)))
        // The loop that waits has handled the instruction to lead.
        case .cancelled, .lead: throw LoadingError(.cancelled)
        }
    }

    /// Runs the timer of a service until the waiter receives other news.
    private func lead(_ id: UInt64, _ key: ServiceKey) async -> RateWake {
        var news = RateWake.lead
        while case .lead = news {
            news = await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.keepTimer(of: key, leader: id) }
                let news = await self.nextNews(of: id)
                group.cancelAll()
                return news
            }
        }
        return news
    }

    private func nextNews(of id: UInt64) async -> RateWake {
        await RateLimiterState.Wait.outcome { resumption in
            state.withLock { $0.wait(id, resumption) }
        } _: {
            cancel(id)
        }
    }

    private func cancel(_ id: UInt64) {
        let now = time.now
        wake(state.withLock { $0.cancel(id, now: now) })
    }

    /// Sleeps until the next slot of a service and starts the calls that are due, until another call becomes the
    /// leader.
    private func keepTimer(of key: ServiceKey, leader: UInt64) async {
        while let timer = nextTimer(of: key, leader: leader) {
            do throws(LoadingError) {
                try await time.sleep(until: timer)
            } catch {
                return
            }
            // It voids the slots that are held when the machine has slept since.
            supply?.touch()
            let now = time.now
            wake(state.withLock { $0.fire(key, due: timer, now: now) })
        }
    }

    private func nextTimer(of key: ServiceKey, leader: UInt64) -> Instant? {
        let now = time.now
        return state.withLock { $0.timer(of: key, leader: leader, now: now) }
    }

    private func close(_ key: ServiceKey, _ account: String?, for pause: Duration) -> Duration? {
        let now = time.now
        guard let (closed, wakes) = state.withLock({ $0.close(key, account, for: pause, now: now) }) else {
            return nil
        }
        wake(wakes)
        return closed
    }

    func wake(_ wakes: RateLimiterState.Wakes) {
        for wake in wakes { wake.resume() }
        if supply != nil { carryOut() }
    }

    private static func impossible(_ wait: Duration, _ reason: Call.WaitReason, _ call: Call) -> LoadingError {
        let entry = Call.StageTimes.Entry(stage: .wait(reason), duration: wait)
        return LoadingError(.deadlineExceeded(call.deadlineReport(at: call.time.now, impossible: entry)))
    }

    private static func validate(_ concurrency: Int?) throws(LoadingError) {
        guard let concurrency, concurrency < 1 else { return }
        throw LoadingError(.invalidSetting(name: "concurrency", reason: "\(concurrency) is less than one"))
    }
}
