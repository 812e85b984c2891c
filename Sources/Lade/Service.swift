import Synchronization

#if os(Linux)
    import LadeCurl
#else
    import LadeURLSession
#endif

/// The application level: one connection pool and one set of rules for everybody in the program.
///
/// ```swift
/// let service = try Service()
/// let loader = service.anonymous.makeLoader()
/// let response = try await loader.load(Request("https://example.com/"))
/// ```
public final class Service: Sendable {
    /// What a service is made from.
    public struct Settings: Sendable {
        /// Connections, TLS, proxies, limits.
        public var transport = TransportSettings()
        /// Links of the user's own that see each call once, outermost first.
        public var callInterceptors: [any Interceptor] = []
        /// Links of the user's own that see each exchange, outermost first.
        public var attemptInterceptors: [any Interceptor] = []
        /// Status codes that count as success unless a request says otherwise; 200 to 299 by default.
        public var acceptableStatuses = 200..<300
        /// Who is told what happens to every call.
        public var observers: [any EventSink] = []
        /// Where waits and dates come from.
        public var time: any TimeSource = SystemTime()
        /// Where jitter and identifiers come from.
        public var random: any RandomSource = SystemRandom()

        /// Makes the default settings.
        public init() {}
    }

    /// What the service was made from.
    public let settings: Settings
    /// The chain each call goes through; print it to see the links.
    public let chain: Chain
    private let lastCall = Atomic<UInt64>(0)
    private let shutDownTransport: (@Sendable () async -> Void)?

    /// Makes a service with the platform's transport.
    ///
    /// - Throws: `LoadingError.invalidSetting` for a setting that cannot be used.
    public convenience init(_ settings: Settings = Settings()) throws(LoadingError) {
        #if os(Linux)
            let transport = try CurlTransport(settings: settings.transport)
            self.init(settings, transport: transport, shutDown: { await transport.shutDown() })
        #else
            let transport = try URLSessionTransport(settings: settings.transport)
            self.init(settings, transport: transport, shutDown: nil)
        #endif
    }

    /// Makes a service on a transport of your own; `settings.transport` is not used.
    public convenience init(_ settings: Settings = Settings(), transport: any Transport) {
        self.init(settings, transport: transport, shutDown: nil)
    }

    private init(_ settings: Settings, transport: any Transport, shutDown: (@Sendable () async -> Void)?) {
        self.settings = settings
        shutDownTransport = shutDown
        chain = Chain(
            settings.callInterceptors + settings.attemptInterceptors + [BufferingInterceptor()],
            transport: transport
        )
    }

    /// The account of nobody in particular.
    public var anonymous: Account { Account(service: self, identifier: "") }

    /// Ends every call as cancelled and returns when nothing of the service's own transport is left.
    public func shutDown() async {
        await shutDownTransport?()
    }

    func nextCallID() -> Call.ID {
        Call.ID(lastCall.add(1, ordering: .relaxed).newValue)
    }
}
