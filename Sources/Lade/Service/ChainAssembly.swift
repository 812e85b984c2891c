import LadeCache
import LadeCore
import LadePolicies

/// Builds the chain; the only place that does.
///
/// An interceptor is added here, in its slot; the numbers are those of the table in `Documentation/Architecture.md`.
/// What all accounts share (limits, budgets, host lists, the cache) is made once, in ``init(_:)``; what belongs to one
/// account is made in ``chain(for:jar:transport:)``.
struct ChainAssembly: Sendable {
    /// The limiter of the service.
    let limiter: RateLimiter
    /// The cache of the service; nil without one.
    let cache: ResponseCache?
    private let settings: Service.Settings

    /// Makes what the chains of all accounts share.
    init(_ settings: Service.Settings) {
        self.settings = settings
        let limiter = settings.rateLimiter ?? RateLimiter(unlimitedIn: settings.time, random: settings.random)
        self.limiter = limiter
        cache = settings.cache.map {
            ResponseCache($0, transport: settings.transport) { limiter.setPriority($0, of: $1) }
        }
    }

    /// The chain of an account, outermost first.
    func chain(for account: Account.Settings, jar: CookieJar?, transport: any Transport) -> Chain {
        let (budget, keyRule) = (settings.retryBudget, limiter.keyRule)
        var layout = Chain.Layout()
        // 1 Once per call: the app's interceptors, then what every request gets.
        for interceptor in settings.callInterceptors { layout.append(interceptor, in: .call) }
        layout.append(
            PreparationInterceptor(
                userAgent: settings.userAgent,
                languages: settings.languages,
                isTraced: settings.tracing != nil,
                isCached: cache != nil,
                decorators: settings.decorators + account.decorators
            ),
            in: .preparation
        )
        // 2 Deadline.
        layout.append(DeadlineInterceptor(settings.deadlines), in: .deadline)
        // 3 Redirect.
        layout.append(RedirectInterceptor(policy: settings.redirects, budget: budget, keyRule: keyRule), in: .redirect)
        // 4 Cache.
        if let cache { layout.append(CacheInterceptor(cache), in: .cache) }
        // 5 Retry.
        layout.append(
            RetryInterceptor(
                settings.retries,
                budget: budget,
                keyRule: keyRule,
                gateLimit: limiter.gateLimit,
                random: settings.random
            ),
            in: .retry
        )
        // 6 Hosts.
        layout.append(HostsInterceptor(directory: settings.hosts), in: .hosts)
        // 7 Authorisation.
        if !account.authorisers.isEmpty {
            layout.append(
                AuthorisationInterceptor(authorisers: account.authorisers, budget: budget, keyRule: keyRule),
                in: .authorisation
            )
        }
        // 8 Rate limit, the last wait.
        layout.append(RateLimitInterceptor(limiter), in: .rateLimit)
        // 9 Cookies, below everything that sends requests again or waits, so that each exchange has the newest. Then
        // the exchange, which gets the remaining time.
        if let jar { layout.append(CookieInterceptor(jar: jar), in: .cookies) }
        layout.append(ExchangeDeadlineInterceptor(settings.deadlines), in: .exchangeDeadline)
        // 10 Once per exchange: the app's interceptors, then the trace context.
        for interceptor in settings.attemptInterceptors { layout.append(interceptor, in: .attempt) }
        if let tracing = settings.tracing { layout.append(TraceInterceptor(tracing), in: .trace) }
        // 11 Buffering, where the transport does not collect bodies itself.
        if !transport.collectsBodies { layout.append(BufferingInterceptor(), in: .buffering) }
        // The times of exchanges, for the age of what is stored.
        if cache != nil { layout.append(ExchangeTimesInterceptor(), in: .buffering) }
        settings.adjustChain(&layout)
        return Chain(layout.interceptors, transport: transport)
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
