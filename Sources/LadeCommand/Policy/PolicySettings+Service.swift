#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTraffic

extension PolicySettings {
    /// Copies the policies into the settings of a service; for a single call, a policy without an option stays off.
    ///
    /// The limiter is the one that all calls of a command share; without it, the service has its own.
    func apply(
        to settings: inout Service.Settings,
        for work: Work,
        _ limiter: RateLimiter? = nil
    ) throws(CommandError) {
        settings.redirects.limit = redirectLimit ?? (followsRedirects || work == .list ? 10 : 0)
        settings.redirects.sendsBodyToOtherOrigins = sendsBodyElsewhere
        settings.redirects.trustsAllOrigins = trustsEveryOrigin
        settings.redirects.countsAsPost = followsByRules
        settings.redirects.keepsPost = Response.StatusSet(keepsPost)
        settings.redirects.setsReferer = setsReferer
        settings.redirects.followsLoops = followsLoops
        if let retryDelay {
            settings.retries.backoff = .exponentialTimer(initial: retryDelay, maximum: retryDelay, growth: 1, jitter: 0)
        }
        settings.retries.limit = retries ?? (work == .list ? 2 : 0)
        settings.retries.methods = repeatsUnsafe ? .all : .idempotent
        // A single call has its own limit. A list must not send three requests per page to a failing server.
        settings.retryBudget = work == .list ? RetryBudget() : nil
        settings.deadlines.buffered = nil
        // The idle time-out ends a stalled response; this limit ends a response that trickles.
        settings.deadlines.attempt = work == .list ? .seconds(60) : nil
        if let delayLimit { settings.retries.delayLimit = delayLimit }
        let retryLimit = settings.retries.delayLimit
        settings.retries.hook = retryHook(settings.time, since: settings.time.now, delayLimit: retryLimit)
        settings.hedging = hedging
        settings.hosts = HostDirectory(hosts)
        settings.rateLimiter = if let limiter { limiter } else { try makeLimiter(settings.time, sharing: nil) }
    }

    /// Makes a limiter; a supply gives the slots of limits that are shared with other processes.
    fileprivate func makeLimiter(
        _ time: any TimeSource,
        sharing supply: (any RateSupply)?
    ) throws(CommandError) -> RateLimiter {
        var limits = RateLimits(default: rate)
        if let delayLimit {
            limits.delayLimit = delayLimit
            limits.quotaLimit = min(limits.quotaLimit, delayLimit)
        }
        return try CommandError.translating { [limits] () throws(LoadingError) in
            try RateLimiter(limits, time: time, random: SystemRandom(), supply: supply)
        }
    }

    /// Applies the policies that belong to a request.
    func apply(to request: inout Request) {
        request.deadline = deadline
        request.idempotencyKey = idempotencyKey
    }

    /// The authorisers for requests to the origin of `request`; empty without `--auth`.
    ///
    /// - Throws: A usage error when no secret is available.
    func authorisers(
        for request: Request,
        askingBy prompt: PasswordPrompt,
        hiding secrets: SecretMask? = nil,
        keeping keeper: RefreshTokenKeeper? = nil,
        sharingBy membership: SharedLimits.Membership? = nil,
        for work: Work = .call,
        receiving receive: (String) -> Void = { _ in }
    ) async throws(CommandError) -> [any Authoriser] {
        guard let authorisation else { return [] }
        guard !request.headers.contains("Authorization") else {
            throw .usage("--auth and an Authorization field", advice: "Choose one of them.")
        }
        let question = Self.question(for: authorisation, request).escapedForDisplay()
        var oauth2Settings: Authorisation.OAuth2.Settings?
        if case .oauth2(let endpoint, let client) = authorisation, let url = URL(string: endpoint) {
            oauth2Settings = Authorisation.OAuth2.Settings(
                tokenEndpoint: url,
                grant: .clientCredentials,
                clientID: client
            )
        }
        let isPublic = oauth2.authentication == OAuth2Options.ClientAuthentication.none
        let secret =
            isPublic
            ? Secret("") : try await SecretReader(source: secretSource, prompt: prompt).secret(asking: question)
        if !isPublic { secrets?.add([secret]) }
        var shared: Authorisation.Sharing?
        if var settings = oauth2Settings {
            settings.scopes = scopes
            let original = try oauth2.apply(to: &settings, isPublic ? nil : secret, hiding: secrets, keeping: keeper)
            shared = try membership?.sharing(of: original)
            // The end of the call would end a refresh beside it, and the other members would have neither token.
            if shared != nil, work == .call { settings.refresh.ahead = .zero }
            oauth2Settings = settings
        }
        receive(secret.reveal())
        let (tokens, sharing) = (oauth2Settings, shared)
        return try CommandError.translating { () throws(LoadingError) in
            var scope = Authorisation.Scope(origins: [Origin(request.url)].compactMap(\.self))
            scope.allowsInsecure = request.url.isOnThisMachine
            switch authorisation {
            case .basic(let user): return [try Authorisation.Basic(user: user, password: secret, scope: scope)]
            case .bearer: return [Authorisation.Bearer(token: secret, scope: scope)]
            case .oauth2:
                guard var settings = tokens else {
                    throw LoadingError(.invalidSetting(name: "auth", reason: "the token endpoint is no address"))
                }
                settings.allowsInsecureEndpoint = settings.tokenEndpoint.isOnThisMachine
                let onTokens = keeper?.closure(for: settings)
                return [Authorisation.OAuth2(settings, scope: scope, sharing: sharing, onTokens: onTokens)]
            }
        }
    }

    /// The store of the fleet with what else belongs to it.
    fileprivate var wholeSharing: SharedLimits? {
        var sharing = sharing
        sharing?.secretSource = fleetSecret
        sharing?.sharesTokensInPlain = sharesTokensInPlain
        return sharing
    }

    private static func question(for authorisation: AuthorisationChoice, _ request: Request) -> String {
        let host = request.url.host(percentEncoded: false) ?? ""
        return switch authorisation {
        case .basic(let user): "Password of \(user) at \(host): "
        case .bearer: "Token for \(host): "
        case .oauth2(let endpoint, let client):
            "Secret of \(client) at \(URL(string: endpoint)?.host(percentEncoded: false) ?? endpoint): "
        }
    }
}

extension URL {
    /// Whether the address is on this machine, where no other machine can read the traffic.
    fileprivate var isOnThisMachine: Bool {
        host(percentEncoded: true).flatMap { NormalHost($0) }?.isLoopback ?? false
    }
}

extension CommandContext {
    /// The settings that the calls of one limiter have in common.
    struct LimitKey: Hashable, Sendable {
        var rate: RateLimits.Rate?
        var delayLimit: Duration?
        var sharing: SharedLimits?
    }

    /// The limiter of all calls of the command with these limits; nil without a rate and a fleet.
    ///
    /// The first use joins the fleet; uses at the same time would join it several times.
    func limiter(of policy: PolicySettings, _ time: any TimeSource) async throws(CommandError) -> RateLimiter? {
        guard policy.rate != nil || policy.sharing != nil else { return nil }
        let key = LimitKey(rate: policy.rate, delayLimit: policy.delayLimit, sharing: policy.wholeSharing)
        if let limiter = limiters.withLock({ $0[key] }) { return limiter }
        let made = try policy.makeLimiter(time, sharing: try await membership(of: policy)?.supply)
        return limiters.withLock { limiters in
            let limiter = limiters[key] ?? made
            limiters[key] = limiter
            return limiter
        }
    }

    /// The membership of the fleet that the calls share; nil without one.
    private func membership(of policy: PolicySettings) async throws(CommandError) -> SharedLimits.Membership? {
        guard let sharing = policy.wholeSharing else { return nil }
        if let membership = memberships.withLock({ $0[sharing] }) { return membership }
        let membership = try await sharing.join(askingBy: PasswordPrompt(interruption: interruption), console)
        memberships.withLock { $0[sharing] = membership }
        return membership
    }

    /// Makes the account that makes the calls of a command; its service ends with `account.service.shutDown()`.
    ///
    /// It keeps no cookies unless an option asks for them, so that the command line decides what is sent.
    func account(
        _ connection: ConnectionSettings,
        _ policy: PolicySettings,
        for work: PolicySettings.Work,
        _ call: PreparedCall,
        witness: Witness,
        observers: [any Call.Observer] = [],
        receiving receive: (String) -> Void = { _ in }
    ) async throws(CommandError) -> Account {
        let request = call.request
        let prompt = PasswordPrompt(interruption: interruption)
        var connection = connection
        try await connection.completeProxyUser(askingBy: prompt)
        if case .oauth2 = policy.authorisation { try policy.wholeSharing?.checkTokens() }
        var accountSettings = Account.Settings()
        console.secrets.add(Redaction.secrets(of: request))
        accountSettings.authorisers = try await policy.authorisers(
            for: request,
            askingBy: prompt,
            hiding: console.secrets,
            keeping: RefreshTokenKeeper(session: call.session, console: console, isShared: policy.sharing != nil),
            sharingBy: policy.authorisation == nil ? nil : try await membership(of: policy),
            for: work,
            receiving: receive
        )
        if let authoriser = try call.credentials?.authoriser(
            for: request,
            trustsEveryOrigin: policy.trustsEveryOrigin,
            hiding: console.secrets
        ) {
            accountSettings.authorisers.append(authoriser)
        }
        if let netrc = call.netrc { accountSettings.authorisers.append(NetrcAuthoriser(netrc)) }
        accountSettings.cookies = call.jar.map { .jar($0) } ?? .off
        var settings = Service.Settings()
        settings.cache = call.cache
        settings.transport = try connection.transportSettings()
        if case .proxy(let proxy) = settings.transport.proxy, let password = proxy.credentials?.password {
            console.secrets.add([password])
        }
        settings.observers = witness.observers(hasCache: call.cache != nil) + observers
        settings.time = time
        settings.userAgent = nil
        settings.languages = .none
        if work == .call { settings.attemptInterceptors = [HeadTimeout(idle: request.timeouts.idle)] }
        if let rate = call.bodyRate { settings.attemptInterceptors.append(BodyThrottle(bytesPerSecond: rate)) }
        settings.attemptInterceptors += witness.interceptors(connection)
        if let credentials = connection.challengedProxyCredentials {
            console.secrets.add([credentials.password])
            settings.attemptInterceptors.append(ProxyProof(credentials))
        }
        try policy.apply(to: &settings, for: work, try await limiter(of: policy, settings.time))
        let resolved = connection.resolvedHosts(for: request.url)
        if !resolved.isEmpty {
            settings.hosts = HostDirectory(policy.hosts.merging(resolved) { given, _ in given })
        }
        witness.recorder?.attach(to: &settings)
        let service = try CommandError.translating { [settings] () throws(LoadingError) in
            try makeService(settings)
        }
        return service.account(accountSettings)
    }
}
