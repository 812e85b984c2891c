#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

extension Authorisation {
    /// Credentials that are renewed by a single refresh at a time, for all calls that need them.
    ///
    /// Authorisers use it for tokens that expire. Calls that need new credentials wait for the one refresh. The refresh has
    /// its own deadline, bypasses the authorised chain, and continues when the call that started it is cancelled. It ends
    /// when the credentials are deallocated.
    public final class RefreshingCredentials<Value: Sendable>: Sendable {
        /// Credentials and when they expire.
        public struct Fresh: Sendable {
            /// The credentials.
            public var value: Value
            /// When they expire.
            public var end: Authorisation.Expiry

            /// Makes credentials.
            public init(_ value: Value, end: Authorisation.Expiry = .never) {
                self.value = value
                self.end = end
            }
        }

        /// Credentials with their version.
        public struct Versioned: Sendable {
            /// The credentials.
            public var value: Value
            /// Their version, from 1.
            public var version: Int
        }

        /// Obtains new credentials.
        ///
        /// It receives the last credentials, if there were any, and a context with a call of its own. It may throw anything.
        /// `LoadingError.Kind.authorisationFailed` says that only the user can help, unless its cause passes. Every other error
        /// passes, and is the cause `refreshFailed` of the error of the waiting calls. A `LoadingError` that says that
        /// nothing was sent is not remembered: the next call tries again. A closure that has not returned by
        /// ``Authorisation/RefreshSettings/deadline`` is cancelled and abandoned, and its later result is not used.
        public typealias Refresh = @Sendable (Value?, Authorisation.Context) async throws -> Fresh

        enum Notice: Sendable {
            /// The state has changed: ask again.
            case changed
            case failed(LoadingError.AuthorisationCause.Cause, detail: String?)
            case deadline
            case cancelled
        }

        struct State {
            var machine: CredentialMachine<Value>
            /// Credentials from outside.
            ///
            /// They take effect with the next call, which supplies the current time.
            var pending: Fresh?
            /// The latest credentials from outside; another user may have them.
            var replacement: Value?
            /// The last credentials; a refresh starts from them.
            var last: Value?
            var waiters: [UInt64: Waiter<Notice>] = [:]
            var lastWaiter: UInt64 = 0
            /// The knowledge that the members of a fleet share.
            var fleet = FleetState()
            /// The refresh in progress and its deadline task; cancelled when the result is no longer needed.
            var tasks: [Task<Void, Never>] = []

            mutating func takeTasks() -> [Task<Void, Never>] {
                defer { tasks = [] }
                return tasks
            }

            /// A call waits for the next change; returns its number, or the outcome if there is nothing to wait for.
            mutating func addWaiter() -> (number: UInt64, ended: Notice?) {
                // The refresh may have ended since the caller checked. Its failure is the failure of this call too, even a
                // failure that is not remembered.
                guard machine.isRefreshing else {
                    return (0, machine.lastFailure.map { .failed($0.cause, detail: $0.detail) } ?? .changed)
                }
                lastWaiter += 1
                waiters[lastWaiter] = Waiter()
                return (lastWaiter, nil)
            }

            mutating func endWaiters(_ notice: Notice) -> [Waiter<Notice>.Wake] {
                // In order of arrival, so that runs are reproducible.
                waiters.keys.sorted().compactMap { end($0, notice) }
            }

            /// Ends the wait of a call; its entry stays until the call has its notice.
            mutating func end(_ waiter: UInt64, _ notice: Notice) -> Waiter<Notice>.Wake? {
                let wake = waiters[waiter]?.end(notice)
                if wake != nil { waiters[waiter] = nil }
                return wake
            }

            mutating func wait(_ waiter: UInt64, _ resumption: Resumption<Notice>) -> Waiter<Notice>.Wake? {
                let wake = waiters[waiter]?.wait(resumption)
                if wake != nil { waiters[waiter] = nil }
                return wake
            }
        }

        /// A refresh that has begun.
        struct Attempt: Sendable {
            var number: Int
            var context: Authorisation.Context
            var start: Instant
            var makeNew: Refresh

            var call: Call { context.call }
        }

        /// The name of the credentials in events and errors.
        public let identifier: String
        /// How they are renewed.
        public let settings: Authorisation.RefreshSettings
        private let makeNew: Refresh?
        let onFresh: (@Sendable (Value) async -> Void)?
        let shared: Shared?
        let locked: Locked<State>

        /// Makes credentials.
        ///
        /// - Parameters:
        ///   - identifier: The name in events and errors.
        ///   - initial: Known credentials; nil obtains them at the first call.
        ///   - settings: How they are renewed.
        ///   - refresh: Obtains new credentials; nil when they cannot be renewed.
        public convenience init(
            identifier: String,
            initial: Fresh? = nil,
            settings: Authorisation.RefreshSettings = Authorisation.RefreshSettings(),
            refresh: Refresh?
        ) {
            self.init(
                identifier: identifier,
                initial: initial,
                settings: settings,
                shared: nil,
                onFresh: nil,
                refresh: refresh
            )
        }

        /// Makes credentials.
        ///
        /// - Parameters:
        ///   - identifier: The name in events and errors.
        ///   - initial: Known credentials; nil obtains them at the first call.
        ///   - settings: How they are renewed.
        ///   - shared: The store of a fleet that renews them; nil without one.
        ///   - onFresh: Receives the result of a refresh before it is used. It is not called for results that arrive after
        ///     ``forget()`` or ``replace(with:)``.
        ///   - refresh: Obtains new credentials; nil when they cannot be renewed.
        init(
            identifier: String,
            initial: Fresh?,
            settings: Authorisation.RefreshSettings,
            shared: Shared?,
            onFresh: (@Sendable (Value) async -> Void)?,
            refresh: Refresh?
        ) {
            self.identifier = identifier
            self.settings = settings
            self.onFresh = onFresh
            self.shared = shared
            makeNew = refresh
            locked = Locked(
                State(machine: CredentialMachine(shared == nil ? settings : settings.shared), pending: initial)
            )
            if let shared { attach(shared) }
        }

        deinit {
            let (tasks, sharer) = locked.withLock { ($0.takeTasks(), $0.fleet.sharer) }
            for task in tasks { task.cancel() }
            shared?.store.detach(sharer)
        }

        // MARK: - Calls

        /// The credentials to use now.
        ///
        /// Waits for a refresh when they have expired or were refused.
        ///
        /// - Throws: `LoadingError.Kind.authorisationFailed` when there are none, `LoadingError.Kind.deadlineExceeded` when the
        ///   call's deadline comes first, `LoadingError.Kind.cancelled` when its task or scope is cancelled. The refresh
        ///   continues in all cases.
        public func current(in context: Authorisation.Context) async throws(LoadingError) -> Versioned {
            let call = context.call
            // The credentials of a successful refresh may be refused for another call immediately. That call waits again,
            // up to the limit on refreshes, which ends the loop.
            while true {
                // A cancelled call starts no refresh: no other call may need it, and the user may have signed out.
                guard !call.isCancelled else { throw LoadingError(.cancelled) }
                switch request(at: call.time) {
                case .use(let value, let version, let refresh):
                    if let refresh { start(refresh, context) }
                    return Versioned(value: value, version: version)
                case .fail(let cause):
                    throw failure(cause, locked.withLock(\.machine.failureDetail))
                case .wait(let refresh):
                    if let refresh { start(refresh, context) }
                    let reason = Call.WaitReason.authorisation(authoriser: identifier)
                    let outcome = try await call.wait(for: reason) { () async throws(LoadingError) in
                        await self.outcome(by: call)
                    }
                    switch outcome {
                    case .changed: continue
                    case .failed(let cause, let detail): throw failure(cause, detail)
                    case .deadline: throw LoadingError(.deadlineExceeded(call.deadlineReport(at: call.time.now)))
                    case .cancelled: throw LoadingError(.cancelled)
                    }
                }
            }
        }

        /// The credentials that can be used now, without waiting; nil when only a refresh, or the user, can supply some.
        ///
        /// For ``Authoriser/renewed(_:in:)``. A refresh that is due begins, and is not waited for.
        public func available(in context: Authorisation.Context) -> Versioned? {
            guard !context.call.isCancelled else { return nil }
            switch request(at: context.call.time) {
            case .use(let value, let version, let refresh):
                if let refresh { start(refresh, context) }
                return Versioned(value: value, version: version)
            case .fail: return nil
            case .wait(let refresh):
                if let refresh { start(refresh, context) }
                return nil
            }
        }

        /// The request of an authoriser with the newest of these credentials, for ``Authoriser/renewed(_:in:)``.
        ///
        /// - Parameters:
        ///   - request: The request with the credentials of a version (`Request.setCredentialVersion(_:of:)`).
        ///   - context: The call.
        ///   - add: Adds credentials to the request, in place of its old ones.
        /// - Returns: The request, changed if there is a newer version; nil when its version cannot be used any more and no newer
        ///   one exists.
        func renewed(
            _ request: Request,
            in context: Authorisation.Context,
            by add: (Versioned, inout Request) -> Void
        ) -> Request? {
            guard let version = request.credentialVersion(of: identifier) else { return request }
            guard let newest = available(in: context) else { return nil }
            guard newest.version != version else { return request }
            var request = request
            add(newest, &request)
            return request
        }

        /// Receives the refusal of a version; returns whether ``current(in:)`` would return a different version.
        public func refuse(version: Int) -> Bool {
            guard makeNew != nil else {
                // Credentials that the program supplied meanwhile take effect with the next use.
                return locked.withLock { $0.pending != nil || version < ($0.machine.held?.version ?? 0) }
            }
            locked.withLock { $0.machine.refuse(version) }
            return true
        }

        // MARK: - The app

        /// Makes the next call obtain new credentials first.
        public func refresh() {
            guard makeNew != nil else { return }
            locked.withLock { $0.machine.invalidate() }
        }

        /// Replaces the credentials from outside: the user has signed in.
        ///
        /// The members of a fleet receive them.
        public func replace(with fresh: Fresh) {
            change { state in
                state.pending = fresh
                state.replacement = fresh.value
                state.machine.replace(with: nil, end: .never, now: Instant(nanoseconds: 0), date: .distantPast)
                guard let shared else { return }
                (state.fleet.isForgotten, state.fleet.version, state.fleet.refresh) = (false, 0, nil)
                // A date means something on this machine alone; the server's refusal is the end then.
                let life: Duration? = if case .after(let life) = fresh.end { life } else { nil }
                state.fleet.unsent = .put(base: nil, shared.encode(fresh.value), life: life)
            }
            sendUnsent()
        }

        /// The latest credentials from outside; nil where there were none after the first.
        var replacement: Value? { locked.withLock(\.replacement) }

        /// Forgets the credentials, also those that a refresh would start from, and cancels a refresh in progress.
        ///
        /// In a fleet it affects this process alone: until ``replace(with:)`` it takes nothing from the others, and a refresh in
        /// progress ends for the others.
        public func forget() { forget(everywhere: false) }

        /// Forgets the credentials, in all members of a fleet too.
        ///
        /// The other members forget them at their next refresh, and within 30 s. A refresh in progress is not published.
        public func forget(everywhere: Bool) {
            signOut { state in
                guard shared != nil else { return }
                state.fleet.isForgotten = !everywhere
                if everywhere { state.fleet.unsent = .forget }
                if everywhere || state.fleet.refresh?.state.isSent == false { state.fleet.refresh = nil }
            }
            sendUnsent()
        }

        func signOut(_ body: (inout State) -> Void) {
            change { state in
                state.pending = nil
                state.last = nil
                state.fleet.version = 0
                state.machine.replace(with: nil, end: .never, now: Instant(nanoseconds: 0), date: .distantPast)
                body(&state)
            }
        }

        private func change(_ body: (inout State) -> Void) {
            let (tasks, wakes) = locked.withLock { state in
                body(&state)
                // The other members of a fleet wait for the refresh that this one has sent.
                let isAwaitedElsewhere = state.fleet.refresh != nil
                return (isAwaitedElsewhere ? [] : state.takeTasks(), state.endWaiters(.changed))
            }
            for task in tasks { task.cancel() }
            for wake in wakes { wake.resume() }
        }

        func failure(_ cause: LoadingError.AuthorisationCause.Cause, _ detail: String? = nil) -> LoadingError {
            LoadingError(.authorisationFailed(.init(authoriser: identifier, cause: cause, detail: detail)))
        }

        private func request(at time: any TimeSource) -> CredentialMachine<Value>.Decision {
            let (now, date) = (time.now, time.date)
            shared?.store.touch()
            return locked.withLock { state in
                if let pending = state.pending {
                    state.pending = nil
                    state.last = pending.value
                    state.machine.replace(with: pending.value, end: pending.end, now: now, date: date)
                }
                // If they cannot be renewed, the existing credentials are used to their end and beyond.
                guard makeNew != nil else {
                    guard let held = state.machine.held else { return .fail(.signInRequired) }
                    return .use(held.value, version: held.version, starting: nil)
                }
                return state.machine.request(at: now)
            }
        }

        // MARK: - Waiting

        /// Waits for the end of the refresh, the call's deadline or its cancellation, whichever comes first.
        private func outcome(by call: Call) async -> Notice {
            let (waiter, ended) = locked.withLock { $0.addWaiter() }
            if let ended { return call.isCancelled ? .cancelled : ended }
            return await Waiter.outcome(of: call, until: call.deadline) { [locked] resumption in
                locked.withLock { $0.wait(waiter, resumption) }
            } cancel: { [locked] in
                locked.withLock { $0.end(waiter, .cancelled) }?.resume()
            } expire: { [locked] in
                locked.withLock { $0.end(waiter, .deadline) }?.resume()
            }
        }

        // MARK: - The refresh

        private func start(_ refresh: Int, _ context: Authorisation.Context) {
            guard let makeNew else { return }
            let call = Call(id: context.call.id, like: context.call)
            let own = Authorisation.Context(call: call, like: context)
            let attempt = Attempt(number: refresh, context: own, start: call.time.now, makeNew: makeNew)
            if let shared, let action = begin(attempt, shared) { return perform(action, attempt) }
            obtain(after: locked.withLock(\.last), attempt, until: attempt.start.advanced(by: settings.deadline))
        }

        /// Obtains credentials, in a task that another ends at the deadline.
        ///
        /// These credentials own the tasks and cancel them when deallocated. The tasks are not children of one group: a
        /// source that ignores its cancellation would keep the group, and with it the refresh, forever.
        func obtain(after last: Value?, _ attempt: Attempt, until deadline: Instant) {
            let (call, makeNew, context, onFresh) = (attempt.call, attempt.makeNew, attempt.context, onFresh)
            call.record(.refreshStarted(authoriser: identifier))
            let work = Task(executorPreference: TaskExecutors.current) { [weak self] in
                do {
                    let fresh = try await makeNew(last, context)
                    // Checked after the last suspension before it: after a sign-out no callback is called.
                    if let onFresh, self?.isAwaited(attempt.number) == true { await onFresh(fresh.value) }
                    self?.obtained(.success(fresh), attempt)
                } catch {
                    self?.obtained(.failure(error), attempt)
                }
            }
            let timer = Task(executorPreference: TaskExecutors.current) { [weak self] in
                do throws(LoadingError) {
                    try await call.time.sleep(until: deadline)
                } catch {
                    return
                }
                self?.obtained(.failure(LoadingError(.timedOut(.whole))), attempt)
            }
            own([work, timer], of: attempt)
        }

        /// Keeps tasks of a refresh; cancels them if it has ended already, or other credentials were supplied meanwhile.
        func own(_ tasks: [Task<Void, Never>], of attempt: Attempt) {
            let isAwaited = locked.withLock { state in
                let isAwaited =
                    state.machine.isAwaited(attempt.number) || state.fleet.refresh?.number == attempt.number
                if isAwaited { state.tasks = tasks }
                return isAwaited
            }
            guard !isAwaited else { return }
            for task in tasks { task.cancel() }
        }

        func isAwaited(_ refresh: Int) -> Bool { locked.withLock { $0.machine.isAwaited(refresh) } }

        private func obtained(_ result: Result<Fresh, any Error>, _ attempt: Attempt) {
            guard let shared, locked.withLock({ $0.fleet.refresh?.number == attempt.number }) else {
                return finish(result, of: attempt)
            }
            let now = attempt.call.time.now
            switch result {
            case .success(let fresh):
                // A life of nothing comes with a wrong clock; the server's refusal is the end then.
                let life = fresh.end.life(at: attempt.call.time.date).flatMap { $0 > .zero ? $0 : nil }
                locked.withLock { $0.fleet.own = fresh.value }
                advance(attempt) { $0.succeeded(shared.encode(fresh.value), life: life, now) }
            case .failure(let error):
                let isForgotten = locked.withLock { state in
                    state.fleet.error = error
                    return state.fleet.isForgotten
                }
                // The sign-out of this process is no failure for the others.
                advance(attempt) { $0.failed(isForgotten ? nil : Self.sharedFailure(of: error)) }
            }
        }

        /// Takes the first end of a refresh.
        ///
        /// A further end, and the end of a refresh that is no longer awaited, have no effect.
        func finish(
            _ result: Result<Fresh, any Error>,
            of attempt: Attempt,
            version: Int = 0,
            _ memory: CredentialMachine<Value>.Memory? = nil
        ) {
            let (call, refresh) = (attempt.call, attempt.number)
            let (now, date) = (call.time.now, call.time.date)
            let (tasks, wakes, isFirst) = locked.withLock {
                state -> ([Task<Void, Never>], [Waiter<Notice>.Wake], Bool) in
                if state.fleet.refresh?.number == refresh { state.fleet.refresh = nil }
                guard state.machine.isAwaited(refresh) else { return ([], [], false) }
                switch result {
                case .success(let fresh):
                    state.last = fresh.value
                    state.fleet.version = version
                    state.machine.succeed(fresh.value, end: fresh.end, refresh: refresh, now: now, date: date)
                    return (state.takeTasks(), state.endWaiters(.changed), true)
                case .failure(let error):
                    let (cause, kept, detail) = Self.cause(of: error)
                    state.machine.fail(cause, memory ?? kept, detail: detail, refresh: refresh, now: now)
                    return (state.takeTasks(), state.endWaiters(.failed(cause, detail: detail)), true)
                }
            }
            guard isFirst else { return }
            switch result {
            case .success:
                call.record(.refreshFinished(authoriser: identifier, after: attempt.start.duration(to: now)))
            case .failure(let error):
                call.record(
                    .refreshFailed(authoriser: identifier, error as? LoadingError ?? failure(.refreshFailed(error)))
                )
            }
            for task in tasks { task.cancel() }
            for wake in wakes { wake.resume() }
        }

        static func cause(
            of error: any Error
        ) -> (LoadingError.AuthorisationCause.Cause, CredentialMachine<Value>.Memory, detail: String?) {
            let memory: CredentialMachine<Value>.Memory = FailureKind.isUnsent(error) ? .none : .passing
            guard case .authorisationFailed(let fault)? = (error as? LoadingError)?.kind else {
                return (.refreshFailed(error), memory, nil)
            }
            switch fault.cause {
            // The source of the tokens is signed in by tokens of its own, whose refresh may succeed later.
            case .refreshFailed, .excessiveRefresh: return (fault.cause, memory, fault.detail)
            default: return (fault.cause, .lasting, fault.detail)
            }
        }
    }
}

extension Authorisation.RefreshingCredentials: CustomStringConvertible, CustomReflectable {
    /// The name of the credentials, never their values.
    public var description: String { "credentials of \(identifier)" }

    /// A mirror that shows no credentials.
    public var customMirror: Mirror { Mirror(self, children: ["identifier": identifier]) }
}

extension Authorisation.RefreshingCredentials.Fresh: CustomReflectable {
    /// A mirror that shows no credentials.
    public var customMirror: Mirror { Mirror(self, children: ["end": end]) }
}

extension Authorisation.RefreshingCredentials.Fresh: CustomStringConvertible {
    /// When they expire; never their values.
    public var description: String { "credentials, end: \(end)" }
}

extension Authorisation.RefreshingCredentials.Versioned: CustomStringConvertible, CustomReflectable {
    /// Their version; never their values.
    public var description: String { "credentials, version \(version)" }

    /// A mirror that shows no credentials.
    public var customMirror: Mirror { Mirror(self, children: ["version": version]) }
}
