#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCache
public import LadePolicies

extension Service {
    /// The configuration of a service: a field per policy, each with a default.
    public struct Settings: Sendable {
        /// Connections, TLS, proxies, limits.
        public var transport = TransportSettings()
        /// Transports for custom schemes, by scheme in lower case; they take precedence over the service's own
        /// transport.
        public var transportsByScheme: [String: any Transport] = [:]

        /// The `User-Agent` of requests without their own; nil for none.
        public var userAgent: UserAgent? = .application
        /// The `Accept-Language` of requests without their own; the user's languages by default.
        public var languages = Service.PreferredLanguages.system
        /// Status codes that count as success unless an endpoint or a request says otherwise; 200 to 299 by default.
        public var acceptableStatuses = Response.StatusSet.successful
        /// The decorators of every request, called in order before it is sent and before those of its endpoint.
        public var decorators: [any Service.Decorator] = []
        /// The processors of every endpoint's body, in order; they run before those of the endpoint.
        public var processors: [any Service.Processor<Data, Data>] = []

        /// The cache that stores responses, and serves them instead of asking the server again; nil, no cache, by
        /// default.
        public var cache: ResponseCache.Settings?
        /// How long calls and their exchanges may take.
        public var deadlines = DeadlineSettings()
        /// How redirects are followed.
        public var redirects = RedirectPolicy()
        /// The policy of retries: which attempts, how often and after which delay.
        public var retries = RetryPolicy()
        /// The retry budget of the service; nil for no such limit.
        public var retryBudget: RetryBudget? = RetryBudget()
        /// When a request that gets no head is sent a second time; nil, never, by default.
        public var hedging: HedgingPolicy?
        /// Alternative addresses of hosts, for when one fails; can be changed while calls run.
        public var hosts = HostDirectory()
        /// Rate limits; nil, the default, makes a limiter without rates that only respects what servers request.
        ///
        /// Make a limiter with the service's `time`; see ``Service/rateLimiter`` for changing rates later.
        public var rateLimiter: RateLimiter?

        /// Where calls with ``Service/CompletionExecutor/ofService`` call back; the main actor by default.
        ///
        /// Closures that are bound to the main actor, delegates and content models stay there.
        public var completionExecutor = Service.CompletionExecutor.main

        /// Whether attempts carry a trace context; nil for none.
        public var tracing: Tracing?
        /// The app's interceptors that run once per call, outermost first.
        public var callInterceptors: [any Interceptor] = []
        /// The app's interceptors that run for each exchange, outermost first.
        public var attemptInterceptors: [any Interceptor] = []
        /// Changes the chain of each account after it is built; leaves it unchanged by default.
        public var adjustChain: @Sendable (inout Chain.Layout) -> Void = { _ in }

        /// The observers that are notified of every call.
        public var observers: [any Call.Observer] = []
        /// The source of waits and dates.
        public var time: any TimeSource = SystemTime()
        /// The source of jitter and identifiers.
        public var random: any RandomSource = SystemRandom()

        /// Makes the default settings.
        public init() {}

    }
}
