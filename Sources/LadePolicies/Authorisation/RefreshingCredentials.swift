#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// Credentials that are renewed by one refresh at a time, however many calls need them.
///
/// The helper for authorisers whose tokens end. Calls that need new credentials wait for the one refresh; it has a
/// deadline of its own, runs past the authorised chain and goes on when the call that began it is given up. It ends with
/// the credentials themselves. Source: policies PL-41 to PL-44, `service-loader.md` §12.5.
public final class RefreshingCredentials<Value: Sendable>: Sendable {
    /// Credentials and their end.
    public struct Fresh: Sendable {
        /// The credentials.
        public var value: Value
        /// When they end.
        public var end: CredentialEnd

        /// Makes credentials.
        public init(_ value: Value, end: CredentialEnd = .never) {
            self.value = value
            self.end = end
        }
    }

    /// Credentials with their version.
    public struct Versioned: Sendable {
        /// The credentials.
        public var value: Value
        /// Their version, from 1 on.
        public var version: Int
    }

    /// Makes new credentials.
    ///
    /// It gets the last ones, if there were any, and a context with a call of its own. It may throw anything:
    /// `LoadingError.authorisationFailed` says that only the user can help; every other error passes, and is the cause
    /// `refreshFailed` of what the waiting calls fail with. One that has not returned by
    /// ``RefreshSettings/deadline`` is cancelled and abandoned: what it gives later is not used.
    public typealias Refresh = @Sendable (Value?, AuthorisationContext) async throws -> Fresh

    private enum Outcome: Sendable {
        /// Ask again: something changed.
        case changed
        case failed(AuthorisationFault.Cause)
        case deadline
        case cancelled
    }

    private struct State {
        var machine: CredentialMachine<Value>
        /// Credentials from outside, until a call says what time it is.
        var pending: Fresh?
        /// The last credentials ever held; a refresh starts from them.
        var last: Value?
        var waiters: [UInt64: CheckedContinuation<Outcome, Never>] = [:]
        var lastWaiter: UInt64 = 0
        /// The refresh in progress and its deadline; cancelled when the result is no longer awaited.
        var tasks: [Task<Void, Never>] = []

        mutating func takeTasks() -> [Task<Void, Never>] {
            defer { tasks = [] }
            return tasks
        }

        mutating func takeWaiters() -> [CheckedContinuation<Outcome, Never>] {
            defer { waiters.removeAll() }
            // In order of arrival, so that a run can be repeated exactly.
            return waiters.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    /// Whose credentials they are, for events and errors.
    public let identifier: String
    /// How they are renewed.
    public let settings: RefreshSettings
    private let makeNew: Refresh?
    private let onFresh: (@Sendable (Value) async -> Void)?
    private let locked: Locked<State>

    /// Makes credentials.
    ///
    /// - Parameters:
    ///   - identifier: Whose they are, for events and errors.
    ///   - initial: What is known already; nil lets the first call get them.
    ///   - settings: How they are renewed.
    ///   - refresh: Makes new ones; nil when they cannot be renewed.
    public convenience init(
        identifier: String,
        initial: Fresh? = nil,
        settings: RefreshSettings = RefreshSettings(),
        refresh: Refresh?
    ) {
        self.init(identifier: identifier, initial: initial, settings: settings, onFresh: nil, refresh: refresh)
    }

    /// Makes credentials.
    ///
    /// - Parameters:
    ///   - identifier: Whose they are, for events and errors.
    ///   - initial: What is known already; nil lets the first call get them.
    ///   - settings: How they are renewed.
    ///   - onFresh: Receives what a refresh has made before it is used; not called for what came after ``forget()`` or
    ///     ``replace(with:)``.
    ///   - refresh: Makes new ones; nil when they cannot be renewed.
    init(
        identifier: String,
        initial: Fresh?,
        settings: RefreshSettings,
        onFresh: (@Sendable (Value) async -> Void)?,
        refresh: Refresh?
    ) {
        self.identifier = identifier
        self.settings = settings
        self.onFresh = onFresh
        makeNew = refresh
        locked = Locked(State(machine: CredentialMachine(settings), pending: initial))
    }

    deinit {
        for task in locked.withLock({ $0.takeTasks() }) { task.cancel() }
    }

    // MARK: - Calls

    /// The credentials to use now; waits for a refresh when they have ended or were refused.
    ///
    /// - Throws: `LoadingError.authorisationFailed` when none can be had, `LoadingError.deadlineExceeded` when the call's
    ///   deadline comes first, `LoadingError.cancelled` when its task is cancelled or the call given up. The refresh goes
    ///   on in all cases.
    public func current(in context: AuthorisationContext) async throws(LoadingError) -> Versioned {
        let call = context.call
        // A refresh that succeeds for one call may be refused for another at once: that one waits again, up to the
        // limit on refreshes, which ends the loop.
        while true {
            // Who was given up starts nothing: there may be nobody to wait for it, and the user may have signed out.
            guard !call.isCancelled else { throw .cancelled(ErrorContext()) }
            switch request(at: call.time) {
            case .use(let value, let version, let refresh):
                if let refresh { start(refresh, context) }
                return Versioned(value: value, version: version)
            case .fail(let cause):
                throw failure(cause)
            case .wait(let refresh):
                if let refresh { start(refresh, context) }
                let reason = WaitReason.authorisation(authoriser: identifier)
                let outcome = try await call.wait(for: reason) { () async throws(LoadingError) in
                    await self.outcome(by: call)
                }
                switch outcome {
                case .changed: continue
                case .failed(let cause): throw failure(cause)
                case .deadline: throw .deadlineExceeded(call.deadlineReport(at: call.time.now), ErrorContext())
                case .cancelled: throw .cancelled(ErrorContext())
                }
            }
        }
    }

    /// Learns that a server refused a version; returns whether ``current(in:)`` would give another.
    public func refuse(version: Int) -> Bool {
        guard makeNew != nil else {
            // What the program has brought meanwhile is in force from the next use on.
            return locked.withLock { $0.pending != nil || version < ($0.machine.held?.version ?? 0) }
        }
        locked.withLock { $0.machine.refuse(version) }
        return true
    }

    // MARK: - The app

    /// Makes the next call get new credentials first.
    public func refresh() {
        guard makeNew != nil else { return }
        locked.withLock { $0.machine.invalidate() }
    }

    /// Puts in credentials from outside: the user has signed in.
    public func replace(with fresh: Fresh) {
        change { state in
            state.pending = fresh
            state.machine.replace(with: nil, end: .never, now: Instant(nanoseconds: 0), date: .distantPast)
        }
    }

    /// Forgets the credentials and what a refresh would start from, and ends a refresh under way.
    public func forget() {
        change { state in
            state.pending = nil
            state.last = nil
            state.machine.replace(with: nil, end: .never, now: Instant(nanoseconds: 0), date: .distantPast)
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let (tasks, waiters) = locked.withLock { state in
            body(&state)
            return (state.takeTasks(), state.takeWaiters())
        }
        for task in tasks { task.cancel() }
        for waiter in waiters { waiter.resume(returning: .changed) }
    }

    private func failure(_ cause: AuthorisationFault.Cause) -> LoadingError {
        .authorisationFailed(AuthorisationFault(authoriser: identifier, cause: cause), ErrorContext())
    }

    private func request(at time: any TimeSource) -> CredentialMachine<Value>.Answer {
        let (now, date) = (time.now, time.date)
        return locked.withLock { state in
            if let pending = state.pending {
                state.pending = nil
                state.last = pending.value
                state.machine.replace(with: pending.value, end: pending.end, now: now, date: date)
            }
            // Without a way to get new ones, what is there is used to its end and beyond.
            guard makeNew != nil else {
                guard let held = state.machine.held else { return .fail(.signInRequired) }
                return .use(held.value, version: held.version, starting: nil)
            }
            return state.machine.request(at: now)
        }
    }

    // MARK: - Waiting

    /// Waits for the end of the refresh, the call's deadline or its cancellation, whichever comes first.
    private func outcome(by call: Call) async -> Outcome {
        guard let deadline = call.deadline else { return await nextChange(for: call) }
        return await withTaskGroup(of: Outcome.self) { group in
            group.addTask { await self.nextChange(for: call) }
            group.addTask {
                do {
                    try await call.time.sleep(until: deadline)
                    return .deadline
                } catch {
                    return .cancelled
                }
            }
            let first = await group.next() ?? .cancelled
            group.cancelAll()
            return first
        }
    }

    private func nextChange(for call: Call) async -> Outcome {
        let id = locked.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        return await call.withCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWaiting = locked.withLock { state in
                    // It may have ended between the question and this line.
                    guard state.machine.isRefreshing else { return false }
                    state.waiters[id] = continuation
                    return true
                }
                // A call is marked as given up before its handlers run: one that found nobody here is seen now.
                switch (isWaiting, call.isCancelled) {
                case (true, true): giveUp(id)
                case (true, false): break
                case (false, let isCancelled): continuation.resume(returning: isCancelled ? .cancelled : .changed)
                }
            }
        } onCancel: { [self] in
            giveUp(id)
        }
    }

    /// Ends one wait, unless it has ended.
    private func giveUp(_ id: UInt64) {
        locked.withLock { $0.waiters.removeValue(forKey: id) }?.resume(returning: .cancelled)
    }

    // MARK: - The refresh

    /// Starts the one refresh, and beside it what ends it at its deadline.
    ///
    /// The tasks are owned by these credentials, which cancel them when they are deallocated. They are not children of one
    /// group: a source that ignores its cancellation would keep the group, and the refresh with it, for ever.
    private func start(_ refresh: Int, _ context: AuthorisationContext) {
        guard let makeNew else { return }
        let last = locked.withLock { $0.last }
        let call = Call(id: context.call.id, like: context.call)
        let own = AuthorisationContext(call: call, like: context)
        let (start, onFresh) = (call.time.now, onFresh)
        let deadline = start.advanced(by: settings.deadline)
        call.record(.refreshStarted(authoriser: identifier))
        let work = Task(executorPreference: TaskExecutors.current) { [weak self] in
            do {
                let fresh = try await makeNew(last, own)
                // Checked after the last wait before it: after a sign-out no callback is called.
                if let onFresh, self?.isAwaited(refresh) == true { await onFresh(fresh.value) }
                self?.finish(.success(fresh), of: refresh, call, start)
            } catch {
                self?.finish(.failure(error), of: refresh, call, start)
            }
        }
        let timer = Task(executorPreference: TaskExecutors.current) { [weak self] in
            do throws(LoadingError) {
                try await call.time.sleep(until: deadline)
            } catch {
                return
            }
            self?.finish(.failure(LoadingError.timedOut(.whole, ErrorContext())), of: refresh, call, start)
        }
        let isAwaited = locked.withLock { state in
            let isAwaited = state.machine.isAwaited(refresh)
            if isAwaited { state.tasks = [work, timer] }
            return isAwaited
        }
        guard !isAwaited else { return }
        // It has ended already, or other credentials were brought meanwhile.
        work.cancel()
        timer.cancel()
    }

    private func isAwaited(_ refresh: Int) -> Bool { locked.withLock { $0.machine.isAwaited(refresh) } }

    /// Takes the first end of a refresh; any further one, and that of a refresh that is no longer awaited, has no effect.
    private func finish(_ result: Result<Fresh, any Error>, of refresh: Int, _ call: Call, _ start: Instant) {
        let (now, date) = (call.time.now, call.time.date)
        let (tasks, waiters, outcome) = locked.withLock {
            state -> ([Task<Void, Never>], [CheckedContinuation<Outcome, Never>], Outcome?) in
            guard state.machine.isAwaited(refresh) else { return ([], [], nil) }
            switch result {
            case .success(let fresh):
                state.last = fresh.value
                state.machine.succeed(fresh.value, end: fresh.end, refresh: refresh, now: now, date: date)
                return (state.takeTasks(), state.takeWaiters(), .changed)
            case .failure(let error):
                let (cause, isLasting) = Self.cause(of: error)
                state.machine.fail(cause, isLasting: isLasting, refresh: refresh, now: now)
                return (state.takeTasks(), state.takeWaiters(), .failed(cause))
            }
        }
        guard let outcome else { return }
        let duration = start.duration(to: now)
        switch result {
        case .success: call.record(.refreshFinished(authoriser: identifier, after: duration))
        case .failure(let error):
            call.record(
                .refreshFailed(authoriser: identifier, error as? LoadingError ?? failure(.refreshFailed(error)))
            )
        }
        for task in tasks { task.cancel() }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    private static func cause(of error: any Error) -> (AuthorisationFault.Cause, isLasting: Bool) {
        if case .authorisationFailed(let fault, _)? = error as? LoadingError { return (fault.cause, true) }
        return (.refreshFailed(error), false)
    }
}

extension RefreshingCredentials: CustomStringConvertible, CustomReflectable {
    /// Whose they are; never what they are.
    public var description: String { "credentials of \(identifier)" }

    /// A mirror that shows no credentials.
    public var customMirror: Mirror { Mirror(self, children: ["identifier": identifier]) }
}

extension RefreshingCredentials.Fresh: CustomReflectable {
    /// A mirror that shows no credentials.
    public var customMirror: Mirror { Mirror(self, children: ["end": end]) }
}

extension RefreshingCredentials.Fresh: CustomStringConvertible {
    /// When they end; never what they are.
    public var description: String { "credentials, end: \(end)" }
}

extension RefreshingCredentials.Versioned: CustomStringConvertible, CustomReflectable {
    /// Their version; never what they are.
    public var description: String { "credentials, version \(version)" }

    /// A mirror that shows no credentials.
    public var customMirror: Mirror { Mirror(self, children: ["version": version]) }
}
