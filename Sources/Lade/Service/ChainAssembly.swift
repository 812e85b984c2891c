import LadePolicies

/// Builds the chain; the only place that does.
///
/// An interceptor is added here, in its slot; the numbers are those of the table in `Documentation/Architecture.md`.
/// What all accounts share (limits, budgets, host lists, the cache) is made once, in ``init(_:)``; what belongs to one
/// account is made in ``interceptors(for:)``.
struct ChainAssembly: Sendable {
    /// The limiter of the service.
    let limiter: RateLimiter
    private let settings: Service.Settings

    /// Makes what the chains of all accounts share.
    init(_ settings: Service.Settings) {
        self.settings = settings
        limiter = settings.rateLimiter ?? RateLimiter(unlimitedIn: settings.time, random: settings.random)
    }

    /// The interceptors of an account's chain, outermost first.
    func interceptors(for account: Account.Settings, jar: CookieJar?) -> [any Interceptor] {
        let budget = settings.retryBudget
        var interceptors: [any Interceptor] = []
        // 1 Once per call: the app's interceptors, then the fields that every request gets, then decorators.
        interceptors += settings.callInterceptors
        interceptors.append(
            PreparationInterceptor(
                userAgent: settings.userAgent,
                languages: settings.languages,
                isTraced: settings.tracing != nil
            )
        )
        interceptors.append(DecorationInterceptor(settings.decorators + account.decorators))
        // 2 Deadline.
        interceptors.append(DeadlineInterceptor(settings.deadlines))
        // 3 Redirect.
        interceptors.append(RedirectInterceptor(policy: settings.redirects, budget: budget, keyRule: limiter.keyRule))
        // 4 Cache; until there is one, nothing is stored.
        interceptors.append(CacheModeInterceptor())
        // 5 Retry.
        interceptors.append(
            RetryInterceptor(settings.retries, budget: budget, keyRule: limiter.keyRule, random: settings.random)
        )
        // 6 Hosts.
        interceptors.append(HostsInterceptor(directory: settings.hosts))
        // 7 Authorisation.
        if !account.authorisers.isEmpty {
            interceptors.append(
                AuthorisationInterceptor(authorisers: account.authorisers, budget: budget, keyRule: limiter.keyRule)
            )
        }
        // 8 Rate limit, the last wait.
        interceptors.append(RateLimitInterceptor(limiter))
        // 9 Cookies, below everything that sends requests again or waits, so that each exchange has the newest. Then
        // the exchange, which gets the remaining time.
        if let jar { interceptors.append(CookieInterceptor(jar: jar)) }
        interceptors.append(ExchangeDeadlineInterceptor(settings.deadlines))
        // 10 Once per exchange: the app's interceptors, then the trace context.
        interceptors += settings.attemptInterceptors
        if let tracing = settings.tracing { interceptors.append(TraceInterceptor(tracing)) }
        // 11 Buffering.
        interceptors.append(BufferingInterceptor())
        settings.adjustChain(&interceptors)
        return interceptors
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
