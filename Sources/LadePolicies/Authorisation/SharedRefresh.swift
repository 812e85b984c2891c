package import LadeCore

/// The state of a member that needs newer credentials of its fleet: a pure value, which decides what is sent to the store.
///
/// It asks the store for newer credentials or for the lease. With the lease it marks the refresh as sent, refreshes, and
/// publishes the result before its first use. A refresh is never sent without the mark, nor after the time of the mark.
package struct SharedRefresh: Sendable, Hashable {
    /// A task for the owner.
    package enum Action: Sendable, Hashable {
        case none
        case send(CredentialOrder)
        /// Wait, then call ``woke(_:)``.
        case wait(until: Instant, isInDoubt: Bool)
        /// Obtain credentials, starting from these; nil where the store has none.
        case refresh(from: Secret?, until: Instant)
        /// Use credentials.
        case use(Secret, version: Int, end: Instant?, isOwn: Bool)
        /// The credentials cannot be renewed.
        case end(Ending)
    }

    /// Why there are no newer credentials.
    package enum Ending: Sendable, Hashable {
        /// The refresh of another member has failed.
        case failed(CredentialFailure, for: Duration?)
        /// The own refresh has failed; nil when the store does not say for how long that is remembered.
        case ownFailure(for: Duration?)
        case excessive
        case signedOut(version: Int)
        /// The store does not respond.
        case unreachable
    }

    /// The right to refresh, and what the refresh starts from.
    private struct Lease: Hashable {
        var fence: Int
        var base: Int
        var from: Secret?
        var end: Instant
    }

    private enum Phase: Hashable {
        case asking
        case waiting
        case claiming(fence: Int, base: Int, Secret?)
        /// Without a lease when the store does not respond.
        case refreshing(Lease?, base: Int)
        case publishing(Lease?, base: Int, Secret, end: Instant?, since: Instant)
        case failing
        case ended
    }

    private let rules: CredentialRules
    /// The version that is no use any more, with its value.
    private var have: Int
    private var value: Secret?
    private let since: Instant
    private var phase = Phase.ended
    private var delay = Self.firstDelay
    private static let firstDelay = Duration.milliseconds(50)
    private static let longestDelay = Duration.milliseconds(500)
    /// How long a result that the store does not take waits for it before it is used.
    private static let publishTime = Duration.seconds(2)

    /// Makes the state.
    ///
    /// - Parameters:
    ///   - rules: How the credentials are renewed.
    ///   - have: The version in the store of those that this process holds; 0 when it is not known.
    ///   - value: Those that this process holds.
    ///   - now: The time.
    package init(_ rules: CredentialRules, have: Int, value: Secret?, now: Instant) {
        (self.rules, self.have, self.value, since) = (rules, have, value, now)
    }

    /// Begins.
    package mutating func begin() -> Action {
        phase = .asking
        // The end of credentials that are no use any more does not matter, except that it is known.
        return .send(.take(CredentialOrder.Held(version: have, value: value, life: .zero)))
    }

    /// The credentials that this process offers to a store that may have lost them, with the lease until the result is published.
    ///
    /// During a refresh these are the ones that it started from. They may be newer than those that this process holds.
    package func offer(_ held: CredentialOrder.Held, at now: Instant) -> CredentialOrder.Held {
        let lease: Lease
        switch phase {
        case .refreshing(let held?, _), .publishing(let held?, _, _, _, _): lease = held
        default: return held
        }
        var offer = held
        (offer.fence, offer.leaseRest) = (lease.fence, max(.zero, now.duration(to: lease.end)))
        if lease.base > held.version { (offer.version, offer.value, offer.life) = (lease.base, lease.from, .zero) }
        return offer
    }

    /// Whether the refresh may have been sent, so that its result matters to other members.
    package var isSent: Bool {
        switch phase {
        case .claiming, .refreshing, .publishing, .failing: true
        case .asking, .waiting, .ended: false
        }
    }

    /// The wait is over.
    package mutating func woke(_ now: Instant) -> Action {
        switch phase {
        case .waiting: begin()
        case .publishing(_, let base, let value, let end, _): .send(put(base, value, end, now))
        default: .none
        }
    }

    /// Takes a reply of the store; nil when it does not respond.
    package mutating func reply(_ reply: CredentialReply?, sent: Instant, now: Instant) -> Action {
        switch (phase, reply) {
        case (.asking, nil), (.claiming, nil): return alone(now)
        case (.asking, .use(let record)):
            let isKnown = record.version <= have || record.life == .zero
            // Credentials that this process held before the store knew them have a version now.
            guard !isKnown, record.value != value else {
                guard record.version > have else { return end(.unreachable) }
                (have, value) = (record.version, record.value)
                return begin()
            }
            return use(record, sent, isOwn: false)
        case (.asking, .wait(let rest, let isInDoubt)), (.failing, .wait(let rest, let isInDoubt)):
            phase = .waiting
            defer { delay = min(delay * 2, Self.longestDelay) }
            return .wait(until: now.advanced(by: max(.milliseconds(1), min(delay, rest))), isInDoubt: isInDoubt)
        case (.asking, .lease(let fence, let version, let stored)):
            phase = .claiming(fence: fence, base: version, stored ?? (version <= max(have, 1) ? value : nil))
            return .send(.sending(fence: fence))
        case (.asking, .failed(let failure, let rest)): return end(.failed(failure, for: rest))
        case (.asking, .excessive): return end(.excessive)
        case (.asking, .signedOut(let version)), (.publishing, .signedOut(let version)):
            return end(.signedOut(version: version))
        case (.claiming(let fence, let base, let from), .done):
            // A process that was stopped meanwhile sends nothing: its lease may have ended.
            let until = sent.advanced(by: rules.deadline)
            guard now < until else { return begin() }
            let end = sent.advanced(by: rules.leastRest)
            phase = .refreshing(Lease(fence: fence, base: base, from: from, end: end), base: base)
            return .refresh(from: from, until: until)
        case (.claiming, .refused): return begin()
        case (.publishing(_, let base, let value, let end, let since), nil):
            guard now < since.advanced(by: Self.publishTime) else {
                phase = .ended
                return .use(value, version: base + 1, end: end, isOwn: true)
            }
            defer { delay = min(delay * 2, Self.longestDelay) }
            return .wait(until: now.advanced(by: delay), isInDoubt: false)
        case (.publishing(_, _, let value, _, _), .use(let record)):
            // Another member was faster than a late result.
            guard record.life != .zero || record.value == value else {
                if record.version > have { (have, self.value) = (record.version, record.value) }
                return begin()
            }
            return use(record, sent, isOwn: record.value == value)
        case (.failing, .failed(_, let rest)):
            // A failure that lasts ends with a sign-in, maybe of another member.
            return end(.ownFailure(for: rest ?? .seconds(30)))
        case (.failing, _): return end(.ownFailure(for: nil))
        case (.ended, _), (.waiting, _), (.refreshing, _): return .none
        default: return end(.unreachable)
        }
    }

    /// The refresh has succeeded.
    package mutating func succeeded(_ value: Secret, life: Duration?, _ now: Instant) -> Action {
        guard case .refreshing(let lease, let base) = phase else { return .none }
        delay = Self.firstDelay
        let end = life.map { now.advanced(by: $0) }
        // Without a lease no other member waits for it.
        let since = lease == nil ? now.advanced(by: .zero - Self.publishTime) : now
        phase = .publishing(lease, base: base, value, end: end, since: since)
        return .send(put(base, value, end, now))
    }

    /// The refresh has failed; nil when nothing was sent.
    package mutating func failed(_ failure: CredentialFailure?) -> Action {
        guard case .refreshing(let lease, _) = phase else { return .none }
        guard let lease else { return end(.ownFailure(for: nil)) }
        phase = .failing
        return .send(.fail(fence: lease.fence, failure))
    }

    private func put(_ base: Int, _ value: Secret, _ end: Instant?, _ now: Instant) -> CredentialOrder {
        .put(base: base, value, life: end.map { max(.zero, now.duration(to: $0)) })
    }

    private mutating func use(_ record: CredentialRecord, _ sent: Instant, isOwn: Bool) -> Action {
        phase = .ended
        let end = record.life.map { sent.advanced(by: $0) }
        return .use(record.value, version: record.version, end: end, isOwn: isOwn)
    }

    private mutating func end(_ ending: Ending) -> Action {
        phase = .ended
        return .end(ending)
    }

    /// The store does not respond.
    private mutating func alone(_ now: Instant) -> Action {
        guard !rules.isReusable else {
            phase = .refreshing(nil, base: have)
            return .refresh(from: value, until: now.advanced(by: rules.deadline))
        }
        guard now < since.advanced(by: rules.deadline) else { return end(.unreachable) }
        phase = .waiting
        defer { delay = min(delay * 2, Self.longestDelay) }
        return .wait(until: now.advanced(by: delay), isInDoubt: false)
    }
}
