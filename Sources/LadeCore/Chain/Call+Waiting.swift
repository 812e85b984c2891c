extension Call {
    /// Waits until an instant, tells the sinks, and books the time under its reason.
    ///
    /// - Parameters:
    ///   - instant: When to go on; returns at once when it has passed.
    ///   - reason: What the wait is for.
    /// - Throws: ``LoadingError/deadlineExceeded(_:_:)`` at once when the call's deadline comes first (policies PL-02);
    ///   ``LoadingError/cancelled(_:)`` as soon as the task is cancelled or the call given up.
    public func wait(until instant: Instant, for reason: WaitReason) async throws(LoadingError) {
        let now = time.now
        guard instant > now else { return }
        try checkDeadline(wait: now.duration(to: instant), for: reason)
        let start = beginWait(reason)
        do {
            try await inTask { (call) async throws(LoadingError) in try await call.time.sleep(until: instant) }
        } catch {
            endWait(reason, from: start)
            throw error
        }
        endWait(reason, from: start)
    }

    /// Waits for what an operation does, tells the sinks, and books the time under the reason.
    ///
    /// The operation observes the deadline by itself.
    public func wait<Value: Sendable>(
        for reason: WaitReason,
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

    /// Throws when a wait could not end before the deadline.
    public func checkDeadline(wait: Duration, for reason: WaitReason) throws(LoadingError) {
        let now = time.now
        guard let deadline, now.advanced(by: wait) > deadline else { return }
        throw .deadlineExceeded(
            deadlineReport(at: now, impossible: .init(stage: .wait(reason), duration: wait)),
            ErrorContext()
        )
    }

    /// What used the time of the call up to an instant.
    public func deadlineReport(at now: Instant, impossible: StageTimes.Entry? = nil) -> DeadlineReport {
        let start = ledger?.start ?? now
        var report = DeadlineReport(
            limit: start.duration(to: deadline ?? now),
            elapsed: start.duration(to: now),
            stages: ledger?.times ?? StageTimes(),
            impossibleWait: impossible
        )
        report.setting = ledger?.setting
        return report
    }

    /// Tells the sinks that a wait begins; for those who wait in great numbers and must keep their frames small.
    ///
    /// - Returns: When it began, for ``endWait(_:from:)``.
    @inline(never)
    package func beginWait(_ reason: WaitReason) -> Instant {
        record(.waitStarted(reason))
        return time.now
    }

    /// Tells the sinks that a wait has ended, and books its time.
    @inline(never)
    package func endWait(_ reason: WaitReason, from start: Instant) {
        let duration = start.duration(to: time.now)
        ledger?.add(duration, to: .wait(reason))
        record(.waitEnded(reason, after: duration))
    }
}

/// The account book of one call: when it started and where its time went.
public final class StageLedger: Sendable {
    /// When the call started.
    public let start: Instant
    /// The setting that the deadline of the call comes from; nil when the call had it before.
    public let setting: String?
    private let locked = Locked(StageTimes())

    /// Opens the book.
    public init(start: Instant, setting: String? = nil) {
        self.start = start
        self.setting = setting
    }

    /// Where the time went so far.
    public var times: StageTimes { locked.withLock { $0 } }

    /// Books time under a stage.
    public func add(_ duration: Duration, to stage: StageTimes.Stage) {
        locked.withLock { $0.add(duration, to: stage) }
    }
}
