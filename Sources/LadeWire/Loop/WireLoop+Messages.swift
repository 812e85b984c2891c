import LadeCore
import LadeExchange

// Messages from other threads: start an exchange, end one, continue one, note an outcome of the resolver.
extension WireLoop {
    func handle(_ message: LoopMessage) {
        switch message {
        case .submit(let exchange): submit(exchange)
        case .cancel(let exchange): cancel(exchange)
        case .resume(let exchange, .upload): resumeUpload(exchange)
        case .resume(let exchange, .download): resumeDownload(exchange)
        case .resolved(let number): if let connection = resolving[number] { resolved(connection) }
        case .computed(let number): if let connection = watched[number] { computed(connection) }
        case .run(let job): job.runSynchronously(on: executor.asUnownedTaskExecutor())
        }
    }

    private func submit(_ exchange: Exchange) {
        exchange.submitted = now
        guard !exchange.isCancelled else {
            return finish(exchange, LoadingError(.cancelled, exchange.context), Response.Metrics())
        }
        guard exchange.limits.deadline > 0 else {
            return finish(exchange, exchange.deadlineExceeded, Response.Metrics())
        }
        exchange.hostNumber =
            exchange.request.destination == nil
            ? admission.host(of: exchange.address, upTo: exchange.parts.authorityEnd) { exchange.hostKey }
            : admission.host(exchange.hostKey)
        exchange.hostIdentity = admission.identity(host: exchange.hostNumber)
        let priority = exchange.request.priority
        switch admission.request(exchange, host: exchange.hostNumber, kind: kind(exchange), priority: priority) {
        case .start: start(exchange)
        case .wait(let place): wait(exchange, in: place)
        }
    }

    /// A streamed response keeps its connection until its reader has finished.
    func kind(_ exchange: Exchange) -> Admission.Kind { exchange.isStreamed ? .exclusive : .shared }

    /// Returns the exchanges for which there was no descriptor to the front of their queues, in their order.
    func putBackStarving() {
        for exchange in starving.reversed() {
            guard case .running = exchange.phase else { continue }
            removeRunning(exchange)
            let priority = exchange.request.priority
            let place = admission.starve(exchange, host: exchange.hostNumber, kind: kind(exchange), priority: priority)
            wait(exchange, in: place)
        }
        starving = []
    }

    /// Starts the exchanges that wait for a descriptor, one after the other, until there is none again.
    func startStarved() {
        guard hasFreed else { return }
        hasFreed = false
        while starving.isEmpty, let exchange = admission.nextStarved() { start(exchange) }
        putBackStarving()
        admitted += admission.startable()
    }

    private func wait(_ exchange: Exchange, in place: Admission.Place) {
        exchange.phase = .waiting(place)
        exchange.waitStarted = now
        exchange.call.record(.waitStarted(.connection(host: exchange.host)))
        let (deadline, overflow) = exchange.submitted.addingReportingOverflow(exchange.limits.deadline)
        if !overflow { deadlines.insert(exchange, at: deadline) }
    }

    /// Records that an exchange no longer waits for its turn.
    func endWait(_ exchange: Exchange) {
        exchange.call.record(
            .waitEnded(.connection(host: exchange.host), after: .nanoseconds(now - exchange.waitStarted))
        )
        deadlines.noteDeparture { if case .waiting = $0.phase { true } else { false } }
    }

    private func cancel(_ exchange: Exchange) {
        exchange.isCancelled = true
        let error = LoadingError(.cancelled, exchange.context)
        switch exchange.phase {
        case .new, .finished: break
        case .waiting: leaveQueue(exchange, error)
        case .running: end(exchange, error)
        }
    }

    private func leaveQueue(_ exchange: Exchange, _ error: LoadingError) {
        guard case .waiting(let place) = exchange.phase else { return }
        admission.withdraw(from: place, host: exchange.hostNumber)
        endWait(exchange)
        finish(exchange, error, Response.Metrics())
    }

    private func resumeUpload(_ exchange: Exchange) {
        if exchange.streamNumber > 0 { return resumeUploadOfStream(exchange) }
        guard let connection = exchange.connection, let carried = connection.carried, carried.carriage.awaitsProducer
        else { return }
        carried.carriage.awaitsProducer = false
        exchange.lastActivity = now
        updateDue(connection)
        markDirty(connection)
    }

    private func resumeDownload(_ exchange: Exchange) {
        if exchange.streamNumber > 0 { return resumeDownloadOfStream(exchange) }
        guard let connection = exchange.connection, let carried = connection.carried, carried.carriage.isPaused else {
            return
        }
        carried.carriage.isPaused = false
        exchange.lastActivity = now
        updateDue(connection)
        markBacklogged(connection)
    }

    // MARK: - Due times

    /// Ends the exchanges that have taken too long.
    func expire() {
        while let exchange = deadlines.popFirst(until: now) { leaveQueue(exchange, exchange.deadlineExceeded) }
        if !resolving.isEmpty, resolver.due <= now { resolver.startWaiting(at: now) }
        // Each once, also when it stands in the queue twice: what becomes due meanwhile is due in the next turn.
        var due: [Connection] = []
        var numbers: Set<Int> = []
        while let connection = dues.popFirst(until: now) {
            if numbers.insert(connection.number).inserted { due.append(connection) }
        }
        for connection in due {
            expire(connection)
            // Also when nothing was due any more: the entry is gone.
            updateDue(connection)
        }
    }

    private func expire(_ connection: Connection) {
        // Another one that was due may have closed it.
        switch connection.stage {
        case .closed: return
        case .idle:
            if pool.evicts(connection, at: now) { close(connection) }
            return
        case .opening, .busy, .streaming: break
        }
        guard wasLookedAt(connection) else { return markBacklogged(connection) }
        switch connection.stage {
        case .closed, .idle: break
        case .streaming(let streams): expireStreams(streams, connection)
        case .opening(let opening): expire(opening, connection)
        case .busy(let carried):
            let (at, bound) = firstBound(of: carried.exchange, connection)
            if at <= now { return expire(carried, connection, bound) }
            guard carried.carriage.continueDue <= now else { return }
            carried.carriage.continueDue = .max
            carried.http.continueAnyway()
            markDirty(connection)
        }
    }

    private func expire(_ opening: Opening, _ connection: Connection) {
        for exchange in opening.joining {
            let (at, bound) = firstBound(of: exchange, connection)
            if at <= now { end(exchange, error(of: exchange, bound)) }
        }
        if let exchange = opening.exchange {
            let (at, bound) = firstBound(of: exchange, connection)
            if at <= now { return end(exchange, error(of: exchange, bound)) }
        }
        guard let racing = connection.racing else { return }
        if racing.retryDue <= now { return retryAttempt(connection) }
        if let action = racing.race?.expire(at: now) { carryOut(action, connection) }
    }

    /// Whether a connection's socket was read before a time-out ends its exchange.
    ///
    /// A process that was stopped meanwhile, or was busy, has not read the socket. True the second time that the same time is
    /// due.
    private func wasLookedAt(_ connection: Connection) -> Bool {
        let due = due(of: connection)
        guard due <= now, connection.socket >= 0, connection.judgedDue != due else { return true }
        connection.judgedDue = due
        return connection.isIgnored || system.peek(connection.socket) == .nothing
    }

    private func expire(_ carried: CarriedExchange, _ connection: Connection, _ bound: Bound) {
        guard case .timeout(.idle) = bound, carried.http.receiving == .done else {
            return end(carried.exchange, error(of: carried.exchange, bound))
        }
        // The response is complete, and the server does not read the rest of the request.
        stopUpload(carried, connection)
        complete(carried, connection)
    }

    /// The error of an exchange that takes too long.
    func error(of exchange: Exchange, _ bound: Bound) -> LoadingError {
        switch bound {
        case .deadline: exchange.deadlineExceeded
        case .timeout(let phase): LoadingError(.timedOut(phase), exchange.context)
        }
    }

    /// Why an exchange ends that takes too long.
    enum Bound {
        case timeout(LoadingError.TimeoutPhase)
        case deadline
    }

    /// The time of the first time-out of an exchange, and its reason.
    func firstBound(of exchange: Exchange, _ connection: Connection) -> (at: Int64, bound: Bound) {
        let limits = exchange.limits
        var next = (at: Int64.max, bound: Bound.deadline)
        func consider(_ limit: Int64, since start: Int64, _ bound: Bound) {
            let (at, overflow) = start.addingReportingOverflow(limit)
            if !overflow, at < next.at { next = (at, bound) }
        }
        consider(limits.deadline, since: exchange.submitted, .deadline)
        consider(limits.whole, since: exchange.started, .timeout(.whole))
        // The time-out of inactivity runs while the server is the slow side.
        switch connection.stage {
        case .opening(let opening):
            var phase = LoadingError.TimeoutPhase.connect
            if case .resolving = opening.step { phase = .nameLookup }
            consider(limits.connect, since: exchange.started, .timeout(phase))
        case .streaming(let streams) where streams.session.life.isConnecting:
            consider(limits.connect, since: exchange.started, .timeout(.connect))
        case .streaming(let streams) where isHeldBack(exchange, streams): break
        case .busy(let carried) where carried.carriage.isPaused || carried.carriage.awaitsProducer: break
        case .busy, .streaming, .idle, .closed:
            consider(limits.idle, since: exchange.lastActivity, .timeout(.idle))
        }
        return next
    }

    /// Computes when the loop must look at a connection.
    func updateDue(_ connection: Connection) {
        connection.due = due(of: connection)
        dues.moved(connection)
    }

    /// When the loop must look at a connection, from its state alone.
    func due(of connection: Connection) -> Int64 {
        switch connection.stage {
        case .closed: return .max
        case .idle: return connection.evictionDue
        case .streaming(let streams): return due(of: streams, connection)
        case .busy(let carried):
            return min(firstBound(of: carried.exchange, connection).at, carried.carriage.continueDue)
        case .opening(let opening):
            var bound = opening.exchange.map { firstBound(of: $0, connection).at } ?? .max
            for exchange in opening.joining { bound = min(bound, firstBound(of: exchange, connection).at) }
            return min(bound, connection.racing?.due ?? .max)
        }
    }
}

extension Exchange {
    /// The connection that carries the exchange; nil while none does.
    var connection: Connection? {
        guard let carrier else { return nil }
        return unsafeDowncast(carrier, to: Connection.self)
    }
}
