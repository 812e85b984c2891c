import LadeCore

// Hedged requests.
//
// A hedge is no retry: the attempt stays the same, and has one result. Both exchanges run in child tasks, and each passes by hosts,
// credentials and everything below for itself. An attempt that is not hedged has no child task.
extension AttemptInterceptor {
    /// Whether a request may be sent a second time while the first is in progress.
    @inline(never)
    func mayHedge(_ request: Request) -> Bool {
        request.allowsHedging && (retries ?? RetryPolicy()).obstacle(toRepeating: request) == nil
    }

    /// Makes one attempt, and sends its request once more when no head arrives within the delay.
    ///
    /// - Throws: The error of the exchange that is the result.
    func hedged(_ request: Request, _ hedging: Hedging, _ next: Chain.Next) async throws(LoadingError) -> Response {
        let key = keyRule(request)
        let race = Call.Race()
        let watch = HeadWatch(race, at: next.call.time.now)
        var first = next
        first.call = next.call.racing(race, hedge: 0, reportingTo: watch)
        guard let delay = hedging.delay(for: key) else {
            let response = try await sent(request, first)
            if let sample = watch.sample(response.status, at: next.call.time.now) { hedging.note(sample, for: key) }
            return response
        }
        var run = HedgeRun(HedgeRace(limit: hedging.policy.limit), retries ?? RetryPolicy(), next.call)
        await withTaskGroup(of: HedgeRun.Signal.self) { tasks in
            add(0, request, first, watch, delay, to: &tasks)
            while let signal = await tasks.next() {
                switch run.step(after: signal, withdrawing: { budget?.withdraw(for: key) ?? true }) {
                case .wait: break
                case .deliver: tasks.cancelAll()
                case .hedge(let number):
                    next.call.record(.hedgeStarted(number, after: delay))
                    let watch = HeadWatch(race, at: next.call.time.now)
                    var hedge = next
                    hedge.call = next.call.racing(race, hedge: number, reportingTo: watch)
                    add(number, request, hedge, watch, delay, to: &tasks)
                }
            }
        }
        if let sample = run.sample(watch) { hedging.note(sample, for: key) }
        if let budget, run.freeHedges > 0 { budget.refund(for: key, run.freeHedges * budget.settings.retryCost) }
        return try run.finish().get()
    }

    /// Starts an exchange, and the delay before the next one.
    private func add(
        _ number: Int,
        _ request: Request,
        _ next: Chain.Next,
        _ watch: HeadWatch,
        _ delay: Duration,
        to tasks: inout TaskGroup<HedgeRun.Signal>
    ) {
        tasks.addImmediately {
            let result: Result<Response, LoadingError>
            do throws(LoadingError) {
                result = .success(try await sent(request, next))
            } catch {
                result = .failure(error)
            }
            return .ended(number, result, at: next.call.time.now)
        }
        tasks.addImmediately { await watch.isDue(after: delay, next.call.time) ? .due(number) : .idle }
    }
}

/// A hedged attempt in progress: the results of its exchanges, and the settlements that remain at its end.
private struct HedgeRun {
    enum Signal: Sendable {
        /// The delay after an exchange is over.
        case due(Int)
        case ended(Int, Result<Response, LoadingError>, at: Instant)
        /// The delay was not awaited to its end.
        case idle
    }

    private struct Exchange {
        let start: Instant
        var end: Instant?
        var result: Result<Response, LoadingError>?
    }

    private var race: HedgeRace
    private let policy: RetryPolicy
    private let call: Call
    /// The exchanges that were sent.
    private var exchanges: [Int: Exchange]
    /// How many hedges have cost the service nothing, although the budget has paid for them.
    private(set) var freeHedges = 0

    init(_ race: HedgeRace, _ policy: RetryPolicy, _ call: Call) {
        (self.race, self.policy, self.call) = (race, policy, call)
        exchanges = [0: Exchange(start: call.time.now)]
    }

    /// Decides what follows a signal.
    ///
    /// - Parameters:
    ///   - signal: The signal.
    ///   - withdraw: Takes the cost of a hedge from the budget; returns whether it was there.
    /// - Returns: The action to carry out.
    mutating func step(after signal: Signal, withdrawing withdraw: () -> Bool) -> HedgeRace.Action {
        switch signal {
        case .idle: return .wait
        case .due(let number):
            guard case .hedge(let number) = race.due(after: number) else { return .wait }
            guard withdraw() else { return refused(number, Call.RetryRule.budgetEmpty.description) }
            exchanges[number] = Exchange(start: call.time.now)
            return .hedge(number)
        case .ended(let number, let result, let end):
            let ending = ending(number, result)
            if number > 0, case .failure(let error) = result, FailureKind.isFree(error) { freeHedges += 1 }
            if ending == .unsent, case .failure(let error) = result { return refused(number, Self.reason(error)) }
            exchanges[number]?.end = end
            exchanges[number]?.result = result
            return race.ended(number, ending)
        }
    }

    /// A hedge is not sent.
    private mutating func refused(_ number: Int, _ reason: String) -> HedgeRace.Action {
        exchanges[number] = nil
        call.record(.hedgeRefused(number, reason: reason))
        return race.ended(number, .unsent)
    }

    private func ending(_ number: Int, _ result: Result<Response, LoadingError>) -> HedgeRace.Ending {
        switch result {
        case .success(let response):
            let acceptable = call.acceptableStatuses ?? response.request.acceptableStatuses
            return policy.mayPass(response.status, acceptable) ? .unsettled : .settled
        case .failure(let error):
            if error.isCancellation { return .cancelled }
            guard number > 0 else { return .failed }
            switch error.kind {
            case .rateLimited: return .unsent
            case .deadlineExceeded(let report) where report.impossibleWait != nil: return .unsent
            default: return .failed
            }
        }
    }

    private static func reason(_ error: LoadingError) -> String {
        if case .rateLimited(let key, _) = error.kind { return "no slot of \(key) is free" }
        return error.description
    }

    /// How long the first exchange took until its head; nil when that is not known.
    ///
    /// An attempt that was cancelled for a hedge took at least as long as it had taken then. So the percentile does not fall with
    /// each hedge.
    func sample(_ watch: HeadWatch) -> Duration? {
        switch exchanges[0]?.result {
        case .success(let response)?: watch.sample(response.status, at: exchanges[0]?.end ?? call.time.now)
        case .failure(let error)? where error.isCancellation && race.result != 0:
            watch.sample(nil, at: exchanges[0]?.end ?? call.time.now)
        default: nil
        }
    }

    /// Discards the bodies of the other exchanges, corrects the record of the call's time, and gives the result.
    func finish() -> Result<Response, LoadingError> {
        let winner = race.result ?? 0
        for (number, exchange) in exchanges where number != winner {
            if case .success(let response)? = exchange.result { response.body.cancel() }
        }
        let now = call.time.now
        let result = exchanges[winner]?.result ?? .failure(LoadingError(.cancelled))
        guard race.sent > 0 else { return result }
        call.record(.hedgeFinished(used: winner))
        // Each exchange has recorded its own time; while several were in progress, the time of the call passed once.
        call.add(.zero - overlap(until: now), to: .exchange)
        return result.mapError { reported($0, at: now) }
    }

    private func overlap(until now: Instant) -> Duration {
        guard let start = exchanges[0]?.start else { return .zero }
        return exchanges.values.reduce(.zero - start.duration(to: now)) { sum, exchange in
            // The time of a streamed body is recorded when it ends, from the start of its exchange on.
            let isStreamed =
                if case .success(let response)? = exchange.result { response.body.bytes == nil } else { false }
            return sum + exchange.start.duration(to: isStreamed ? now : exchange.end ?? now)
        }
    }

    /// The error with the corrected times.
    private func reported(_ error: LoadingError, at now: Instant) -> LoadingError {
        guard case .deadlineExceeded(let old) = error.kind, old.impossibleWait == nil else { return error }
        var report = call.deadlineReport(at: now)
        report.endedExchange = old.endedExchange
        var error = error
        error.kind = .deadlineExceeded(report)
        return error
    }
}

/// Watches the events of one exchange: when it began, whether it waits, and when its head arrived.
private final class HeadWatch: Call.Observer {
    private let race: Call.Race
    // Guarded by its lock.
    private let state: Locked<HeadWait>
    private let changes: AsyncStream<Void>
    private let changed: AsyncStream<Void>.Continuation

    init(_ race: Call.Race, at now: Instant) {
        self.race = race
        state = Locked(HeadWait(since: now))
        (changes, changed) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func record(_ event: Call.Event, of call: Call) {
        // The token request of an authoriser has the sinks of the call that began it, and is none of its exchanges.
        guard call.race === race else { return }
        let now = call.time.now
        if state.withLock({ $0.note(event, at: now) }) { changed.yield() }
    }

    func sample(_ status: Response.Status?, at now: Instant) -> Duration? {
        state.withLock { $0.sample(status, at: now) }
    }

    /// Waits until no head has arrived for the given time.
    ///
    /// - Returns: Whether that is so; false when the task was cancelled.
    func isDue(after delay: Duration, _ time: any TimeSource) async -> Bool {
        var changes = changes.makeAsyncIterator()
        while !Task.isCancelled {
            if let end = state.withLock({ $0.end(of: delay) }) {
                guard end > time.now else { return true }
                // A cancelled sleep ends the loop.
                try? await time.sleep(until: end)
            } else {
                _ = await changes.next()
            }
        }
        return false
    }
}
