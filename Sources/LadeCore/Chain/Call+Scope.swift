import Synchronization

extension Call {
    /// The one object of a call.
    ///
    /// It cancels the call from outside of the task that the call runs in, counts its attempts, and records its times.
    ///
    /// A loader can end calls without cancelling the tasks that wait for them: when the loader is deallocated, or when its
    /// account signs out. A call with a scope is cancelled when its task or its scope is cancelled, and both have the same
    /// effect. Interceptors and transports that observe the scope (``Interceptor/observesScope``,
    /// ``Transport/observesScope``) react to it directly. For all others, ``Call/inTask(_:)`` creates a child task, which
    /// is cancelled with the scope.
    public final class Scope: Sendable {
        /// Identifies a handler, for ``remove(_:)``.
        public struct Registration: Sendable, Hashable {
            fileprivate let number: UInt64
        }

        // A structure, so that the closure leaves the lock unchanged: a bare closure would be wrapped in another one.
        private struct Handler {
            let number: UInt64
            let run: @Sendable () -> Void
        }

        private struct LastReport {
            let run: @Sendable () -> Void
        }

        private struct State {
            var isCancelled = false
            var isOver = false
            var lastNumber: UInt64 = 0
            // A call usually does one thing at a time; only interceptors that race several exchanges need more than this
            // slot.
            var first: Handler?
            var others: [UInt64: Handler] = [:]
            var times: Times?
            var onWait: (@Sendable (Instant?) -> Void)?
            /// The exchanges that have begun and not ended; counted while the call is observed.
            var exchanges = 0
            /// The report that follows the end of the last of them.
            var last: LastReport?

            /// Removes all handlers, and returns them in the order they were added.
            mutating func takeHandlers() -> [Handler] {
                defer { (first, others) = (nil, [:]) }
                return (Array(others.values) + (first.map { [$0] } ?? [])).sorted { $0.number < $1.number }
            }
        }

        // Guarded by its lock; handlers run outside it.
        private let state = Locked(State())
        private let attemptCount = Atomic(0)
        /// Records the times in place of this object.
        private let origin: Scope?
        /// The object of the first part of the call, which counts the exchanges of all parts; nil for that part itself.
        private let firstPart: Scope?
        /// The request of the call.
        package let request: Request?
        /// The statuses that count as success; nil leaves it to the request.
        package let acceptableStatuses: Response.StatusSet?

        /// Makes the scope of a call.
        ///
        /// - Parameter request: The request of the call; nil when it does not matter.
        public convenience init(_ request: Request? = nil) {
            self.init(request, accepting: nil)
        }

        /// Makes the scope of a call whose success is decided.
        package init(_ request: Request?, accepting statuses: Response.StatusSet?) {
            self.request = request
            acceptableStatuses = statuses
            origin = nil
            firstPart = nil
        }

        /// Makes the scope of a further part of a call, whose times are recorded with those of the parts before.
        package init(_ request: Request, continuing call: Call) {
            self.request = request
            acceptableStatuses = call.acceptableStatuses
            origin = call.recordsTimes ? call.object : nil
            firstPart = call.object.map { $0.firstPart ?? $0 }
        }

        deinit {
            // A transport that reports the start of an exchange and no end keeps no report back for ever.
            state.withLock { $0.last.take() }?.run()
        }

        /// How many attempts the call has made.
        package var attempts: Int { attemptCount.load(ordering: .relaxed) }

        /// Notes that an attempt begins.
        func noteAttempt(_ number: Int) { attemptCount.max(number, ordering: .relaxed) }

        // MARK: - Times

        var times: Times? { origin?.times ?? state.withLock { $0.times } }

        func recordTimes(since start: Instant, setting: String?) {
            state.withLock { $0.times = Times(start: start, setting: setting) }
        }

        func add(_ duration: Duration, to stage: StageTimes.Stage) {
            if let origin { return origin.add(duration, to: stage) }
            state.withLock { $0.times?.stages.add(duration, to: stage) }
        }

        func add(_ times: StageTimes.Exchange) {
            if let origin { return origin.add(times) }
            state.withLock { $0.times?.stages.add(times) }
        }

        func observeWaits(_ body: (@Sendable (Instant?) -> Void)?) {
            // Released outside the lock: deinitialisers of captured values may take other locks.
            _ = state.withLock { state in
                defer { state.onWait = body }
                return state.onWait
            }
        }

        func noteWait(until end: Instant?) {
            state.withLock { $0.onWait }?(end)
        }

        // MARK: - Exchanges

        /// Notes that an exchange of the call has begun.
        func exchangeBegan() {
            if let firstPart { return firstPart.exchangeBegan() }
            state.withLock { $0.exchanges += 1 }
        }

        /// Notes that an exchange of the call has ended, and was reported.
        func exchangeEnded() {
            if let firstPart { return firstPart.exchangeEnded() }
            let last = state.withLock { state -> LastReport? in
                state.exchanges = max(0, state.exchanges - 1)
                return state.exchanges == 0 ? state.last.take() : nil
            }
            last?.run()
        }

        /// Runs a report when no exchange of the call is in progress: now, or after the end of the last one was reported.
        func report(_ run: @escaping @Sendable () -> Void) {
            if let firstPart { return firstPart.report(run) }
            let isDue = state.withLock { state in
                if state.exchanges > 0 { state.last = LastReport(run: run) }
                return state.exchanges == 0
            }
            if isDue { run() }
        }

        // MARK: - Cancellation

        /// Whether the scope was cancelled.
        public var isCancelled: Bool { state.withLock { $0.isCancelled } }

        /// Cancels the call: every handler runs once, on the calling thread.
        ///
        /// Calling it again, or after the call has ended, has no effect.
        public func cancel() {
            let handlers = state.withLock { state -> [Handler] in
                guard !state.isCancelled, !state.isOver else { return [] }
                state.isCancelled = true
                return state.takeHandlers()
            }
            for handler in handlers { handler.run() }
        }

        /// Marks the call as ended.
        ///
        /// - Returns: Whether the result of the call counts; false when the scope was cancelled before.
        public func end() -> Bool {
            state.withLock { state in
                state.isOver = true
                return !state.isCancelled
            }
        }

        /// Registers a handler that runs when the scope is cancelled.
        ///
        /// The handler may still be running when ``remove(_:)`` returns; it must be harmless then.
        ///
        /// - Returns: The registration, for ``remove(_:)``; nil when the scope is cancelled already, and the handler is not
        ///   called.
        public func add(_ handler: @escaping @Sendable () -> Void) -> Registration? {
            state.withLock { state in
                guard !state.isCancelled else { return nil }
                state.lastNumber += 1
                let added = Handler(number: state.lastNumber, run: handler)
                if state.first == nil {
                    state.first = added
                } else {
                    state.others[added.number] = added
                }
                return Registration(number: state.lastNumber)
            }
        }

        /// Removes a handler.
        public func remove(_ registration: Registration) {
            // Released outside the lock: deinitialisers of captured values may take other locks.
            _ = state.withLock { state -> Handler? in
                guard state.first?.number == registration.number else {
                    return state.others.removeValue(forKey: registration.number)
                }
                return state.first.take()
            }
        }
    }
}

extension Call {
    /// Whether the call was cancelled, by its task or by its scope.
    public var isCancelled: Bool { Task.isCancelled || scope?.isCancelled ?? false }

    /// Runs an operation with a handler for the cancellation of the task or of the call's scope.
    ///
    /// It works as the standard library's function of that name, but the handler may run twice, and it may run after
    /// the operation has ended.
    public func withCancellationHandler<Value>(
        isolation: isolated (any Actor)? = #isolation,
        _ operation: () async -> Value,
        onCancel: @escaping @Sendable () -> Void
    ) async -> Value {
        guard let scope else {
            return await withTaskCancellationHandler(operation: operation, onCancel: onCancel, isolation: isolation)
        }
        let registration = scope.add(onCancel)
        defer { if let registration { scope.remove(registration) } }
        if registration == nil { onCancel() }
        return await withTaskCancellationHandler(operation: operation, onCancel: onCancel, isolation: isolation)
    }

    /// Runs an operation that observes only its task, so that cancelling the call's scope ends it too.
    ///
    /// Without a scope the operation runs in the current task. With one it runs in a child task, which is cancelled
    /// with the scope.
    ///
    /// - Parameter operation: The code to run. It receives the call to use.
    /// - Returns: The result of the operation.
    /// - Throws: The error of the operation.
    public func inTask<Value: Sendable>(
        _ operation: @escaping @Sendable (Call) async throws(LoadingError) -> Value
    ) async throws(LoadingError) -> Value {
        guard let scope else { return try await operation(self) }
        var inner = self
        inner.scope = nil
        // Ends with the task, or with the request to cancel it.
        let watch = Locked(Waiter<Bool>())
        let registration = scope.add { watch.end(true) }
        defer { if let registration { scope.remove(registration) } }
        let result = await withTaskGroup(of: Result<Value, LoadingError>.self) { [inner] tasks in
            // Cancelled before it began: the child task must not run to its end before it sees the cancellation.
            if registration == nil { tasks.cancelAll() }
            tasks.addImmediately {
                defer { watch.end(false) }
                do throws(LoadingError) {
                    return .success(try await operation(inner))
                } catch {
                    return .failure(error)
                }
            }
            if await watch.outcome() { tasks.cancelAll() }
            return await tasks.next() ?? .failure(LoadingError(.cancelled))
        }
        return try result.get()
    }
}

extension TaskGroup {
    /// Adds a task that starts synchronously where the system supports it, which saves a hop through the executor.
    package mutating func addImmediately(
        _ operation: sending @escaping @isolated(any) () async -> ChildTaskResult
    ) {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            // swift 6.3 loses the inherited executor where it optimises generic code, unless the executor is named.
            addImmediateTask(executorPreference: TaskExecutors.current, operation: operation)
        } else {
            addTask(operation: operation)
        }
    }
}
