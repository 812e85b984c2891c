#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

// Credentials that a fleet renews together: the store's replies are events of the state, and its actions are carried out.
extension Authorisation.RefreshingCredentials {
    /// The knowledge of credentials that a fleet shares.
    struct FleetState {
        /// The number of these credentials in their store.
        var sharer = 0
        /// The version of the last credentials in the store; 0 when it is not known.
        var version = 0
        /// The refresh in progress.
        var refresh: (number: Int, state: SharedRefresh)?
        /// Its result here, or why it failed.
        var own: Value?
        var error: (any Error)?
        /// The order that the store does not have yet: a sign-in or a sign-out.
        var unsent: CredentialOrder?
        /// Whether this process has signed out, and the fleet has not.
        var isForgotten = false
    }

    /// Credentials that a fleet shares: the store, and their form in it.
    struct Shared: Sendable {
        var store: any CredentialStore
        var rules: CredentialRules
        var encode: @Sendable (Value) -> Secret
        /// Returns nil for a text that is none of these credentials.
        var decode: @Sendable (Secret, Authorisation.Expiry) -> Value?
        /// Called when all members sign out.
        var onSignOut: @Sendable () -> Void = {}
    }

    func attach(_ shared: Shared) {
        let sharer = shared.store.attach(shared.rules) { [weak self] now in
            self?.offer(at: now)
        } receive: { [weak self] reply in
            guard case .signedOut = reply, let self, locked.withLock({ $0.fleet.unsent == nil }) else { return }
            shared.onSignOut()
            signOut { $0.fleet.refresh = nil }
        }
        locked.withLock { $0.fleet.sharer = sharer }
    }

    /// The order that offers what this process holds, for a store that may have lost it.
    private func offer(at now: Instant) -> CredentialOrder? {
        guard let shared else { return nil }
        sendUnsent()
        return locked.withLock { state in
            guard !state.fleet.isForgotten, state.last != nil || state.fleet.refresh != nil else { return nil }
            var held = CredentialOrder.Held(version: state.fleet.version, value: state.last.map(shared.encode))
            held.life = state.machine.held?.end.map { max(.zero, now.duration(to: $0)) }
            return .offer(state.fleet.refresh?.state.offer(held, at: now) ?? held)
        }
    }

    /// Sends a sign-in or a sign-out; the store asks for it again after it did not respond.
    func sendUnsent() {
        guard let shared else { return }
        let (order, sharer) = locked.withLock { ($0.fleet.unsent, $0.fleet.sharer) }
        guard let order else { return }
        shared.store.carryOut(order, for: sharer) { [weak self] reply, _, _ in
            self?.locked.withLock { state in
                guard reply != nil, state.fleet.unsent == order else { return }
                state.fleet.unsent = nil
                if case .use(let record) = reply { state.fleet.version = record.version }
            }
        }
    }

    /// Begins the refresh of a fleet; nil when this process refreshes without it.
    func begin(_ attempt: Attempt, _ shared: Shared) -> SharedRefresh.Action? {
        sendUnsent()
        return locked.withLock { state in
            guard !state.fleet.isForgotten else { return nil }
            let (version, value) = (state.fleet.version, state.last.map(shared.encode))
            var refresh = SharedRefresh(shared.rules, have: version, value: value, now: attempt.start)
            let action = refresh.begin()
            (state.fleet.refresh, state.fleet.own, state.fleet.error) = ((attempt.number, refresh), nil, nil)
            return action
        }
    }

    func advance(_ attempt: Attempt, _ body: (inout SharedRefresh) -> SharedRefresh.Action) {
        let action = locked.withLock { state -> SharedRefresh.Action in
            guard var refresh = state.fleet.refresh, refresh.number == attempt.number else { return .none }
            defer { state.fleet.refresh = refresh }
            return body(&refresh.state)
        }
        perform(action, attempt)
    }

    func perform(_ action: SharedRefresh.Action, _ attempt: Attempt) {
        guard let shared else { return }
        let time = attempt.call.time
        switch action {
        case .none: break
        case .send(let order):
            let sharer = locked.withLock(\.fleet.sharer)
            shared.store.carryOut(order, for: sharer) { [weak self] reply, sent, now in
                // A value that is none of these credentials counts as no reply.
                let reply = reply?.value.map { shared.decode($0, .never) == nil } == true ? nil : reply
                self?.advance(attempt) { $0.reply(reply, sent: sent, now: now) }
            }
        case .wait(let until, let isInDoubt):
            if isInDoubt { attempt.call.record(.refreshInDoubt(authoriser: identifier)) }
            let task = Task(executorPreference: TaskExecutors.current) { [weak self] in
                do throws(LoadingError) { try await time.sleep(until: until) } catch { return }
                self?.advance(attempt) { $0.woke(time.now) }
            }
            own([task], of: attempt)
        case .refresh(let from, let until):
            obtain(after: from.flatMap { shared.decode($0, .never) }, attempt, until: until)
        case .use(let value, let version, let end, let isOwn):
            let now = time.now
            let expiry = end.map { Authorisation.Expiry.after(max(.nanoseconds(1), now.duration(to: $0))) } ?? .never
            if isOwn, let own = locked.withLock(\.fleet.own) {
                return finish(.success(Fresh(own, end: expiry)), of: attempt, version: version)
            }
            guard let value = shared.decode(value, expiry) else { return self.end(.unreachable, attempt, shared) }
            take(Fresh(value, end: expiry), version, attempt)
        case .end(let ending): end(ending, attempt, shared)
        }
    }

    /// Uses the credentials of another member, once the app has them.
    private func take(_ fresh: Fresh, _ version: Int, _ attempt: Attempt) {
        attempt.call.record(.refreshTaken(authoriser: identifier))
        guard let onFresh else { return finish(.success(fresh), of: attempt, version: version) }
        let task = Task(executorPreference: TaskExecutors.current) { [weak self] in
            if self?.isAwaited(attempt.number) == true { await onFresh(fresh.value) }
            self?.finish(.success(fresh), of: attempt, version: version)
        }
        own([task], of: attempt)
    }

    private func end(_ ending: SharedRefresh.Ending, _ attempt: Attempt, _ shared: Shared) {
        // The fleet knows when another refresh may succeed, for example after a sign-in elsewhere.
        let most = Duration.seconds(30)
        switch ending {
        case .ownFailure(let rest):
            let error = locked.withLock(\.fleet.error) ?? LoadingError(.timedOut(.whole))
            finish(.failure(error), of: attempt, rest.map { .given(min($0, most)) })
        case .failed(let fault, let rest):
            let cause: LoadingError.AuthorisationCause.Cause =
                fault.needsUser ? .signInRequired : .refreshFailed(FleetFault(description: fault.detail))
            let detail = fault.needsUser ? fault.detail : nil
            let error = LoadingError(
                .authorisationFailed(.init(authoriser: identifier, cause: cause, detail: detail))
            )
            finish(.failure(error), of: attempt, .given(min(rest ?? most, most)))
        case .excessive: finish(.failure(failure(.excessiveRefresh)), of: attempt, .given(.seconds(1)))
        case .signedOut:
            shared.onSignOut()
            finish(.failure(failure(.signInRequired)), of: attempt, .given(most))
            signOut { $0.fleet.refresh = nil }
        case .unreachable:
            let fault = FleetFault(description: "the store of the fleet does not respond")
            finish(.failure(failure(.refreshFailed(fault))), of: attempt, CredentialMachine<Value>.Memory.none)
        }
    }

    /// A failure as the other members receive it; nil when nothing was sent.
    static func sharedFailure(of error: any Error) -> CredentialFailure? {
        let (cause, memory, code) = cause(of: error)
        switch memory {
        case .none: return nil
        case .lasting: return CredentialFailure(needsUser: true, detail: code ?? "")
        default: break
        }
        // Other texts may contain what the source of the credentials has received.
        var detail = "the refresh of another member has failed"
        if case .refreshFailed(let error) = cause, let fault = error as? LoadingError {
            if let refusal = fault.underlyingError as? TokenResponse.Fault { detail += ": \(refusal)" }
            if case .unacceptableStatus(let status) = fault.kind { detail += " with status \(status.code)" }
        }
        return CredentialFailure(needsUser: false, detail: detail)
    }
}

/// Why the fleet has no credentials.
private struct FleetFault: Error, CustomStringConvertible {
    let description: String
}

extension Authorisation.RefreshSettings {
    /// The settings of a member: the store counts the refreshes, and they begin early enough to survive a killed member.
    var shared: Self {
        var settings = self
        settings.limit = .max
        // A program that ends with its call has no time for a refresh beside it.
        if settings.ahead > .zero { settings.ahead = max(settings.ahead, .seconds(150)) }
        return settings
    }
}

extension CredentialReply {
    fileprivate var value: Secret? {
        switch self {
        case .use(let record): record.value
        case .lease(_, _, let value): value
        default: nil
        }
    }
}
