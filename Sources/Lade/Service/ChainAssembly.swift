import LadeCache
import LadeCore
import LadePolicies

/// Builds the chain; the only place that does.
///
/// An interceptor is added here, in its slot; the numbers come from the table in `Documentation/Architecture.md`. The parts
/// that all accounts share (limits, budgets, host lists, the cache) are made once, in ``init(_:)``. The parts of one account
/// are made in ``chain(for:jar:transport:)``.
struct ChainAssembly: Sendable {
    /// The limiter of the service.
    let limiter: RateLimiter
    /// The cache of the service; nil without one.
    let cache: ResponseCache?
    private let hedging: Hedging?
    private let settings: Service.Settings

    /// Makes the parts that the chains of all accounts share.
    init(_ settings: Service.Settings) {
        self.settings = settings
        let limiter = settings.rateLimiter ?? RateLimiter(unlimitedIn: settings.time, random: settings.random)
        self.limiter = limiter
        hedging = settings.hedging.map { Hedging($0) }
        cache = settings.cache.map {
            ResponseCache($0, transport: settings.transport) { limiter.setPriority($0, of: $1) }
        }
    }

    /// The chain of an account, outermost first.
    ///
    /// Three interceptors act in it, each with the policies of its depth; the app's stand between them.
    func chain(
        for account: Account.Settings,
        isNamed: Bool,
        jar: CookieJar?,
        transport: any Transport
    ) -> Chain {
        let (budget, keyRule) = (settings.retryBudget, limiter.keyRule)
        // 1 The call and its hops.
        var hop = HopInterceptor(
            deadlines: settings.deadlines,
            redirects: settings.redirects,
            budget: budget,
            keyRule: keyRule
        )
        hop.preparation = Preparation(
            userAgent: settings.userAgent,
            languages: settings.languages,
            isTraced: settings.tracing != nil,
            isCached: cache != nil,
            decorators: settings.decorators + account.decorators
        )
        hop.cache = cache.map { AccountCache($0) }
        // 2 The attempts of a hop.
        let attempt = AttemptInterceptor(
            retries: settings.retries,
            budget: budget,
            hedging: hedging,
            hosts: settings.hosts,
            authorisers: account.authorisers,
            keyRule: keyRule,
            gateLimit: limiter.gateLimit,
            random: settings.random
        )
        // 3 The exchange of an attempt.
        let exchange = ExchangeInterceptor(
            limiter: limiter,
            jar: jar,
            deadlines: settings.deadlines,
            tracing: settings.tracing,
            collectsBodies: !transport.collectsBodies,
            notesTimes: cache != nil
        )
        var layout = Chain.Layout(hop, attempt, exchange)
        for interceptor in settings.callInterceptors { layout.insert(interceptor, above: .preparation, as: .call) }
        for interceptor in settings.attemptInterceptors { layout.insert(interceptor, above: .trace, as: .attempt) }
        settings.adjustChain(&layout)
        return Chain(Self.identifying(layout.interceptors, isNamed), transport: transport)
    }

    /// The interceptors, with the cache knowing what those below it add to requests.
    private static func identifying(_ interceptors: [any Interceptor], _ isNamed: Bool) -> [any Interceptor] {
        interceptors.indices.map { index in
            guard var hop = interceptors[index] as? HopInterceptor else { return interceptors[index] }
            hop.cache?.identity = CallIdentity(isNamed: isNamed, below: interceptors[(index + 1)...])
            return hop
        }
    }
}

extension CallIdentity {
    /// Who the calls of an account are, by the interceptors below the cache.
    fileprivate init(isNamed: Bool, below interceptors: some Sequence<any Interceptor>) {
        self.init()
        self.isNamed = isNamed
        var authorisers: [any Authoriser] = []
        for interceptor in interceptors {
            switch interceptor {
            case let attempt as AttemptInterceptor:
                authorisers += attempt.authorisers
                below.authorised = Self.joined(below.authorised, attempt.authorisedFields)
            case let exchange as ExchangeInterceptor:
                if let jar = exchange.jar { self.cookies = { jar.sentCookies(with: $0, at: $1) } }
                below.changed = Self.joined(below.changed, exchange.addedFields)
            case is HopInterceptor: break
            default: below.changed = Self.joined(below.changed, interceptor.changedFields)
            }
        }
        hasAuthorisers = !authorisers.isEmpty
        owners = { [authorisers] in
            authorisers.compactMap(\.owner).map { Owner($0.secret, isRenewed: $0.isRenewed) }
        }
    }

    /// The names of both; nil when one of them stands for any.
    private static func joined(_ names: Set<String>?, _ others: [String]) -> Set<String>? {
        guard let names, !others.contains("*") else { return nil }
        return names.union(others.map { $0.lowercased() })
    }
}

extension RateLimiter {
    /// Makes a limiter without rates: it only respects what servers request.
    fileprivate convenience init(unlimitedIn time: any TimeSource, random: any RandomSource) {
        do throws(LoadingError) {
            try self.init(RateLimits(), time: time, random: random)
        } catch {
            preconditionFailure("the default limits were refused: \(error)")
        }
    }
}
