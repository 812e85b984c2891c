package import LadeCore

extension Authorisation {
    /// A record of a store, by which several processes renew credentials as one.
    ///
    /// `Fleet.credentials(_:)` of `LadeRedis` makes it, for ``OAuth2`` and ``Bearer``.
    public struct Sharing: Sendable {
        package let store: any CredentialStore
        /// Whether the server accepts the credentials of a refresh again; nil for what the grant says.
        package let isReusable: Bool?

        package init(store: any CredentialStore, isReusable: Bool?) {
            (self.store, self.isReusable) = (store, isReusable)
        }
    }
}

/// The store of credentials that several processes renew together.
package protocol CredentialStore: AnyObject, Sendable {
    /// Adds the credentials of a process; the closures are called from a thread of the store.
    ///
    /// - Parameters:
    ///   - rules: How they are renewed.
    ///   - offer: Returns what the process holds, for a store that may have lost it.
    ///   - receive: Receives what the store says to an offer.
    /// - Returns: The number of the credentials, for ``detach(_:)`` and orders.
    func attach(
        _ rules: CredentialRules,
        offer: @escaping @Sendable (Instant) -> CredentialOrder?,
        receive: @escaping @Sendable (CredentialReply) -> Void
    ) -> Int
    /// Removes credentials.
    func detach(_ sharer: Int)
    /// Carries out an order; returns immediately.
    ///
    /// The closure receives the reply with the times at which the order was sent and the reply arrived. The reply is nil when the
    /// store does not respond, or holds nothing that can be read.
    func carryOut(
        _ order: CredentialOrder,
        for sharer: Int,
        _ receive: @escaping @Sendable (CredentialReply?, _ sent: Instant, _ now: Instant) -> Void
    )
    /// Notes that the credentials are in use.
    func touch()
}

/// How the members of a fleet renew credentials.
package struct CredentialRules: Sendable, Hashable {
    /// Whether the server accepts the credentials of a refresh again.
    package var isReusable: Bool
    /// Whether only a user can sign in again after signing out.
    package var hasUser: Bool
    /// The longest time for a refresh.
    package var deadline: Duration
    /// The most refreshes of all members within ``window``.
    package var limit: Int
    package var window: Duration
    /// How long the first temporary failure is remembered, doubled up to ``mostMemory``.
    package var memory: Duration
    package var mostMemory: Duration

    package init(_ settings: Authorisation.RefreshSettings, isReusable: Bool, hasUser: Bool) {
        (self.isReusable, self.hasUser) = (isReusable, hasUser)
        (deadline, limit, window) = (settings.deadline, settings.limit, settings.window)
        (memory, mostMemory) = (settings.failureMemory, settings.maximumFailureMemory)
    }

    /// How long a member may hold the right to refresh: longer than its own deadline.
    package var lease: Duration { deadline + .seconds(10) }
    /// The least rest of a lease with which a refresh may be sent.
    package var leastRest: Duration { deadline + .seconds(2) }
    /// How long after its lease a member that has sent a refresh may still publish.
    package var doubt: Duration { isReusable ? .zero : .seconds(60) }
}

/// Credentials in the store.
package struct CredentialRecord: Sendable, Hashable {
    package var version: Int
    package var value: Secret
    /// The rest of their life when the order was carried out; nil without a known end.
    package var life: Duration?

    package init(version: Int, value: Secret, life: Duration?) {
        (self.version, self.value, self.life) = (version, value, life)
    }
}

/// A failed refresh, as members share it.
package struct CredentialFailure: Sendable, Hashable {
    /// Whether only the user can help.
    package var needsUser: Bool
    /// The reason, without secrets.
    package var detail: String

    package init(needsUser: Bool, detail: String) {
        (self.needsUser, self.detail) = (needsUser, detail)
    }
}

/// An order for the store.
package enum CredentialOrder: Sendable, Hashable {
    /// Credentials that this process holds, and the lease, if it refreshes them.
    package struct Held: Sendable, Hashable {
        /// Their version in the store; 0 when it is not known.
        package var version = 0
        package var value: Secret?
        package var life: Duration?
        package var fence = 0
        package var leaseRest = Duration.zero

        package init(version: Int = 0, value: Secret? = nil, life: Duration? = nil) {
            (self.version, self.value, self.life) = (version, value, life)
        }
    }

    /// Newer credentials than the held ones, or the lease to obtain them.
    case take(Held)
    /// Credentials and lease for a store that may have lost them.
    case offer(Held)
    /// The refresh is about to be sent.
    case sending(fence: Int)
    /// The result of a refresh that started from a version; of a sign-in without one.
    case put(base: Int?, Secret, life: Duration?)
    /// The refresh has failed; nil when nothing was sent.
    case fail(fence: Int, CredentialFailure?)
    /// Every member signs out.
    case forget
}

/// The reply of the store to an order.
package enum CredentialReply: Sendable, Hashable {
    /// The newest credentials.
    case use(CredentialRecord)
    /// Another member has the lease; it ends, or its doubt ends, after the time given.
    case wait(Duration, isInDoubt: Bool)
    /// This member has the lease; the refresh starts from the credentials of the version, if the store has some.
    case lease(fence: Int, version: Int, Secret?)
    /// A refresh has failed, which is remembered; for a time, or until there are new credentials.
    case failed(CredentialFailure, for: Duration?)
    /// The members have refreshed too often.
    case excessive
    /// The members have signed out.
    case signedOut(version: Int)
    /// The order has taken effect.
    case done
    /// The lease has ended, or is about to.
    case refused
}
