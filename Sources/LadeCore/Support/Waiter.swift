/// One wait of a task: a state machine that ends once, by whatever ends it first.
///
/// It is a value in the locked state of its owner, whose lock decides which end comes first: a resumption, a deadline or a
/// cancellation. An end that comes before the wait is kept for it. Each change returns the ``Wake`` to carry out after
/// unlocking.
package struct Waiter<Outcome: Sendable>: Sendable {
    /// A task to resume with the outcome of its wait, outside of any lock.
    package struct Wake: Sendable {
        @usableFromInline let resumption: Resumption<Outcome>
        @usableFromInline let outcome: Outcome

        @inlinable
        init(_ resumption: Resumption<Outcome>, _ outcome: Outcome) {
            self.resumption = resumption
            self.outcome = outcome
        }

        /// Resumes the task.
        @inlinable
        package func resume() { resumption.resume(returning: outcome) }
    }

    @usableFromInline
    enum State: Sendable {
        /// It has not ended, and its task does not wait yet.
        case open
        case waiting(Resumption<Outcome>)
        /// It ended before its task waited.
        case ended(Outcome)
        /// Its task has its outcome.
        case over
    }

    @usableFromInline var state = State.open

    /// Makes the waiter of a task that will wait.
    @inlinable
    package init() {}

    /// Whether the task is suspended in its wait.
    @inlinable
    package var isSuspended: Bool {
        if case .waiting = state { true } else { false }
    }

    /// Whether the wait has ended.
    @inlinable
    package var hasEnded: Bool {
        switch state {
        case .open, .waiting: false
        case .ended, .over: true
        }
    }

    /// Begins the wait; each waiter waits once.
    ///
    /// - Returns: The task again, if the wait has ended already.
    @inlinable
    package mutating func wait(_ resumption: Resumption<Outcome>) -> Wake? {
        switch state {
        case .open:
            state = .waiting(resumption)
            return nil
        case .ended(let outcome):
            state = .over
            return Wake(resumption, outcome)
        case .waiting, .over: preconditionFailure("a waiter waits twice")
        }
    }

    /// Ends the wait; only the first end counts.
    ///
    /// - Returns: The task, if it is suspended.
    @inlinable
    package mutating func end(_ outcome: Outcome) -> Wake? {
        switch state {
        case .open:
            state = .ended(outcome)
            return nil
        case .waiting(let resumption):
            state = .over
            return Wake(resumption, outcome)
        case .ended, .over: return nil
        }
    }
}

extension Waiter {
    /// Suspends the task until its waiter ends.
    ///
    /// The three closures lock the owner's state. The waiter must be in that state before, because `cancel` may run before
    /// `enter`; both may run at the same time.
    ///
    /// - Parameters:
    ///   - call: The call that waits.
    ///   - deadline: When `expire` runs; nil for no deadline.
    ///   - enter: Calls ``wait(_:)`` of the waiter.
    ///   - cancel: Ends the waiter because the task or the call's scope was cancelled; it may run twice, and after the wait.
    ///   - expire: Ends the waiter at the deadline.
    /// - Returns: The outcome of the first end.
    @inlinable
    package static func outcome(
        of call: Call,
        until deadline: Instant? = nil,
        enter: @Sendable (Resumption<Outcome>) -> Wake?,
        cancel: @escaping @Sendable () -> Void,
        expire: @escaping @Sendable () -> Void = {}
    ) async -> Outcome {
        let registration = call.scope?.add(cancel)
        if registration == nil, call.scope != nil { cancel() }
        defer { if let registration { call.scope?.remove(registration) } }
        guard let deadline else { return await outcome(enter, cancel) }
        return await withTaskGroup(of: Void.self) { timer in
            timer.addTask {
                // It throws when the wait has ended, or was cancelled.
                if (try? await call.time.sleep(until: deadline)) != nil { expire() }
            }
            let outcome = await outcome(enter, cancel)
            timer.cancelAll()
            return outcome
        }
    }

    /// Suspends the task until its waiter ends, by a resumption or the cancellation of the task.
    @inlinable
    package static func outcome(
        _ enter: @Sendable (Resumption<Outcome>) -> Wake?,
        _ cancel: @Sendable () -> Void
    ) async -> Outcome {
        await withTaskCancellationHandler {
            await withResumption { enter($0)?.resume() }
        } onCancel: {
            cancel()
        }
    }
}

extension Locked {
    /// Ends the wait, unless it has ended, and resumes its task.
    @inlinable
    package func end<Outcome>(_ outcome: Outcome) where State == Waiter<Outcome> {
        withLock { $0.end(outcome) }?.resume()
    }

    /// Suspends the task until the wait ends; cancelling the task does not end it.
    @inlinable
    package func outcome<Outcome>() async -> Outcome where State == Waiter<Outcome> {
        await withResumption { resumption in withLock { $0.wait(resumption) }?.resume() }
    }

    /// Suspends the task until the wait ends, at the latest when the task is cancelled.
    @inlinable
    package func outcome<Outcome>(whenCancelled cancelled: Outcome) async -> Outcome where State == Waiter<Outcome> {
        await Waiter.outcome { resumption in
            withLock { $0.wait(resumption) }
        } _: {
            end(cancelled)
        }
    }
}
