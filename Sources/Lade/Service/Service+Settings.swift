#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadePolicies

extension Service {
    /// What a service is made from: a field per policy, each with a default.
    public struct Settings: Sendable {
        /// Connections, TLS, proxies, limits.
        public var transport = TransportSettings()
        /// Transports for schemes of your own, by scheme in lower case; they go before the service's own transport.
        public var transportsByScheme: [String: any Transport] = [:]

        /// What requests without a `User-Agent` of their own get; nil for none.
        public var userAgent: UserAgent? = .application
        /// What requests without an `Accept-Language` of their own get; the user's languages by default.
        public var languages = PreferredLanguages.system
        /// Status codes that count as success unless an endpoint or a request says otherwise; 200 to 299 by default.
        public var acceptableStatuses = StatusSet.successful
        /// Who changes every request before it is sent, in order, before those of its endpoint.
        public var decorators: [any RequestDecorator] = []
        /// Who changes the body of every endpoint's answer, in order, before the processors of the endpoint.
        public var processors: [any ResponseProcessor<Data, Data>] = []

        /// How long calls and their exchanges may take.
        public var deadlines = DeadlineSettings()
        /// How redirects are followed.
        public var redirects = RedirectPolicy()
        /// What is repeated, how often and after which pause.
        public var retries = RetryPolicy()
        /// What all repeating of a service may cost; nil for no such limit.
        public var retryBudget: RetryBudget? = RetryBudget()
        /// Other addresses of hosts, for when one is dead; can be changed while calls run.
        public var hosts = HostDirectory()
        /// Rates and gates; nil, the default, makes one without rates that keeps to what servers ask for.
        ///
        /// A limiter is made with the service's `time`; see ``Service/rateLimiter`` for changing rates later.
        public var rateLimiter: RateLimiter?

        /// Whether attempts carry a trace context; nil for none.
        public var tracing: Tracing?
        /// Links of the user's own that see each call once, outermost first.
        public var callInterceptors: [any Interceptor] = []
        /// Links of the user's own that see each exchange, outermost first.
        public var attemptInterceptors: [any Interceptor] = []
        /// Changes the chain of each account once it is put together; leaves it as it is by default.
        public var adjustChain: @Sendable (inout [any Interceptor]) -> Void = { _ in }

        /// Who is told what happens to every call.
        public var observers: [any EventSink] = []
        /// Where waits and dates come from.
        public var time: any TimeSource = SystemTime()
        /// Where jitter and identifiers come from.
        public var random: any RandomSource = SystemRandom()

        /// Makes the default settings.
        public init() {}

        /// What SPTDataLoader documents: no deadline but 20 s for an attempt, retries for whoever asks for them, all
        /// methods alike, and 10 requests a second for each service.
        ///
        /// - Throws: Nothing that the given time source could cause.
        public static func dataLoader(time: any TimeSource = SystemTime()) throws(LoadingError) -> Settings {
            var settings = Settings()
            settings.time = time
            settings.deadlines = .dataLoader
            settings.retries = .dataLoader
            settings.rateLimiter = try RateLimiter(.dataLoader, time: time)
            return settings
        }
    }
}
