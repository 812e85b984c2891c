public import LadeCore
public import LadePolicies

/// A record of credentials in the store of a fleet, with the encryption of the app.
final class RedisCredentialStore: CredentialStore {
    private let core: FleetCore
    private let name: String
    private let seal: (@Sendable (Secret) throws -> Secret)?
    private let open: (@Sendable (Secret) throws -> Secret)?

    init(
        _ core: FleetCore,
        name: String,
        seal: (@Sendable (Secret) throws -> Secret)?,
        open: (@Sendable (Secret) throws -> Secret)?
    ) {
        (self.core, self.name, self.seal, self.open) = (core, name, seal, open)
    }

    func attach(
        _ rules: CredentialRules,
        offer: @escaping @Sendable (Instant) -> CredentialOrder?,
        receive: @escaping @Sendable (CredentialReply) -> Void
    ) -> Int {
        core.attach(name, rules) { [weak self] now in
            offer(now).flatMap { self?.sealed($0) }
        } receive: {
            receive($0)
        }
    }

    func detach(_ sharer: Int) { core.detach(sharer) }

    func touch() { core.touch() }

    func carryOut(
        _ order: CredentialOrder,
        for sharer: Int,
        _ receive: @escaping @Sendable (CredentialReply?, _ sent: Instant, _ now: Instant) -> Void
    ) {
        guard let order = sealed(order) else { return receive(nil, core.now, core.now) }
        core.carryOut(order, for: sharer) { [self] reply, sent, now in
            receive(reply.flatMap { opened($0) }, sent, now)
        }
    }

    /// The order with its value encrypted; nil when it cannot be.
    private func sealed(_ order: CredentialOrder) -> CredentialOrder? {
        guard let seal else { return order }
        do {
            switch order {
            case .take(var held):
                held.value = try held.value.map(seal)
                return .take(held)
            case .offer(var held):
                held.value = try held.value.map(seal)
                return .offer(held)
            case .put(let base, let value, let life): return .put(base: base, try seal(value), life: life)
            default: return order
            }
        } catch {
            return nil
        }
    }

    /// The reply with its value decrypted; nil, with an event, for one that does not open.
    private func opened(_ reply: CredentialReply) -> CredentialReply? {
        guard let open else { return reply }
        do {
            switch reply {
            case .use(var record):
                record.value = try open(record.value)
                return .use(record)
            case .lease(let fence, let version, let value):
                return .lease(fence: fence, version: version, try value.map(open))
            default: return reply
            }
        } catch {
            core.pass(.event(.fleetFault("the credentials “\(name)” do not open")), to: nil)
            return nil
        }
    }
}

extension Fleet {
    /// A record by which the members of the fleet renew credentials as one.
    ///
    /// ```swift
    /// let sharing = try fleet.credentials("reports")
    /// let authoriser = Authorisation.OAuth2(settings, scope: scope, sharing: sharing)
    /// ```
    ///
    /// One member refreshes, and the others use its result. A refresh token that the server replaces is sent once, unless a
    /// member dies between sending it and publishing the result. The publication does not wait for replicas of the store.
    /// Without `seal` and `open`, reading the store is having the tokens.
    ///
    /// - Parameters:
    ///   - name: The name of the credentials, from 1 to 64 visible characters of ASCII. Members with the same name use the same
    ///     client and the same sign-in.
    ///   - isReusable: Whether the server accepts the credentials of a refresh again. By default it does not accept a refresh
    ///     token again, and it does accept everything else.
    ///   - seal: Encrypts a value for the store. The result is text.
    ///   - open: Decrypts it. A value for which it throws counts as missing, with an event.
    /// - Returns: The record, which an authoriser takes as `sharing`.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a name that cannot be used, and for one closure without the other. Also
    ///   for a store on another machine without TLS, unless ``Settings/sharesTokensInPlain`` is set or values are sealed.
    public func credentials(
        _ name: String,
        isReusable: Bool? = nil,
        seal: (@Sendable (Secret) throws -> Secret)? = nil,
        open: (@Sendable (Secret) throws -> Secret)? = nil
    ) throws(LoadingError) -> Authorisation.Sharing {
        guard (1...64).contains(name.utf8.count), name.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
            throw FleetAddress.fault("the name of credentials must have 1 to 64 visible characters of ASCII")
        }
        guard (seal == nil) == (open == nil) else { throw FleetAddress.fault("seal and open are given together") }
        guard maySendTokens || seal != nil else {
            throw FleetAddress.fault(
                "its store is on another machine without TLS, and tokens would be readable on the way"
            )
        }
        return Authorisation.Sharing(
            store: RedisCredentialStore(core, name: name, seal: seal, open: open),
            isReusable: isReusable
        )
    }
}
