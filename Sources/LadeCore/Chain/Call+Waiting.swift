extension Call {
    /// Waits until an instant, notifies the event sinks, and records the time under its reason.
    ///
    /// - Parameters:
    ///   - instant: When the wait ends; the method returns immediately when the instant has passed.
    ///   - reason: The purpose of the wait.
    /// - Throws: ``LoadingError/Kind/deadlineExceeded(_:)`` immediately when the call's deadline comes first;
    ///   ``LoadingError/Kind/cancelled`` as soon as the task or the call's scope is cancelled.
    public func wait(until instant: Instant, for reason: Call.WaitReason) async throws(LoadingError) {
        let now = time.now
        guard instant > now else { return }
        try checkDeadline(wait: now.duration(to: instant), for: reason)
        let start = beginWait(reason)
        noteWait(until: instant)
        defer {
            noteWait(until: nil)
            endWait(reason, from: start)
        }
        try await inTask { (call) async throws(LoadingError) in try await call.time.sleep(until: instant) }
    }

    /// Runs an operation that waits, notifies the event sinks, and records the time under the reason.
    ///
    /// The operation must observe the deadline itself.
    public func wait<Value: Sendable>(
        for reason: Call.WaitReason,
        _ operation: () async throws(LoadingError) -> Value
    ) async throws(LoadingError) -> Value {
        let start = beginWait(reason)
        do {
            let value = try await operation()
            endWait(reason, from: start)
            return value
        } catch {
            endWait(reason, from: start)
            throw error
        }
    }

    /// How long after the deadline ``untilDeadline(_:)`` cancels: code that observes the deadline itself ends first, and names
    /// its stage.
    private static let cancellationDelay = Duration.milliseconds(100)

    /// Runs an operation that may wait without observing the deadline.
    ///
    /// The operation runs in a child task, which is cancelled 100 ms after the deadline, or with the call's scope. An
    /// operation that ignores this delays the end of the call until it returns, and its result counts.
    ///
    /// - Returns: The result of the operation, also if it comes after the deadline.
    /// - Throws: The error of the operation; ``LoadingError/Kind/deadlineExceeded(_:)`` if it was cancelled because of
    ///   the deadline.
    package func untilDeadline<Value: Sendable>(
        _ operation: @escaping @Sendable (Call) async throws(LoadingError) -> Value
    ) async throws(LoadingError) -> Value {
        try await inTask { (call) async throws(LoadingError) in
            guard let deadline = call.deadline else { return try await operation(call) }
            let end = deadline.advanced(by: Self.cancellationDelay)
            return try await call.run(until: end) {
                LoadingError(.deadlineExceeded(call.deadlineReport(at: call.time.now)))
            } _: { () async throws(LoadingError) in
                try await operation(call)
            }
        }
    }

    /// Runs an operation in a child task, which is cancelled at an instant.
    ///
    /// An operation that ignores its cancellation delays the end until it returns.
    ///
    /// - Parameters:
    ///   - end: When the operation is cancelled.
    ///   - late: Makes the error of an operation that was cancelled at that instant.
    ///   - operation: The code to run.
    /// - Returns: The result of the operation, also if it comes after the instant.
    /// - Throws: The error of the operation; the late error in place of a cancellation that this method caused.
    package func run<Value: Sendable>(
        until end: Instant,
        late: () -> LoadingError,
        _ operation: @escaping @Sendable () async throws(LoadingError) -> Value
    ) async throws(LoadingError) -> Value {
        let (result, isLate) = await withTaskGroup(of: Result<Value, LoadingError>?.self) { tasks in
            tasks.addImmediately {
                do throws(LoadingError) { return .success(try await operation()) } catch { return .failure(error) }
            }
            tasks.addImmediately {
                try? await time.sleep(until: end)
                return nil
            }
            defer { tasks.cancelAll() }
            if case .some(let result?) = await tasks.next() { return (result, false) }
            tasks.cancelAll()
            let result = await tasks.next() ?? nil
            return (result ?? .failure(LoadingError(.cancelled)), true)
        }
        if isLate, case .failure(let error) = result, error.isCancellation, !Task.isCancelled { throw late() }
        return try result.get()
    }

    /// Throws when a wait of this length would end after the deadline.
    public func checkDeadline(wait: Duration, for reason: Call.WaitReason) throws(LoadingError) {
        let now = time.now
        guard let deadline, now.advanced(by: wait) > deadline else { return }
        throw LoadingError(
            .deadlineExceeded(deadlineReport(at: now, impossible: .init(stage: .wait(reason), duration: wait)))
        )
    }

    /// Where the time of the call went, up to an instant.
    public func deadlineReport(at now: Instant) -> LoadingError.DeadlineReport {
        deadlineReport(at: now, impossible: nil)
    }

    /// Where the time of the call went, up to an instant, and the wait that would have ended too late.
    package func deadlineReport(at now: Instant, impossible: Call.StageTimes.Entry?) -> LoadingError.DeadlineReport {
        let times = times
        let start = times?.start ?? now
        var report = LoadingError.DeadlineReport(
            limit: start.duration(to: deadline ?? now),
            elapsed: start.duration(to: now),
            stages: times?.stages ?? Call.StageTimes(),
            impossibleWait: impossible
        )
        report.setting = times?.setting
        return report
    }

    /// Notifies the event sinks that a wait begins.
    ///
    /// Used where many tasks wait at the same time and each frame must stay small.
    ///
    /// - Returns: When the wait began, for ``endWait(_:from:)``.
    @inline(never)
    package func beginWait(_ reason: Call.WaitReason) -> Instant {
        record(.waitStarted(reason))
        return time.now
    }

    /// Notifies the event sinks that a wait has ended, and records its time.
    @inline(never)
    package func endWait(_ reason: Call.WaitReason, from start: Instant) {
        let duration = start.duration(to: time.now)
        add(duration, to: .wait(reason))
        record(.waitEnded(reason, after: duration))
    }
}

extension Call {
    /// When one call started, and how long each of its stages took so far.
    package struct Times: Sendable, Hashable {
        /// When the call started.
        package let start: Instant
        /// The setting that the deadline of the call comes from; nil when the call had it before.
        package let setting: String?
        /// The time spent so far, by stage.
        package var stages = Call.StageTimes()

        init(start: Instant, setting: String?) {
            self.start = start
            self.setting = setting
        }
    }
}
