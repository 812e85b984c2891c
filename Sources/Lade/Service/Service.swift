public import LadeCache
public import LadePolicies
import Synchronization

#if os(Linux)
    import LadeWire
#else
    import LadeURLSession
#endif

/// The application level: one connection pool and one set of policies for the whole program.
///
/// ```swift
/// let service = try Service()
/// let loader = service.anonymous.makeLoader()
/// let response = try await loader.load(Request("https://example.com/"))
/// ```
///
/// Accounts and loaders keep the service alive; it does not keep itself alive.
public final class Service: Sendable {
    /// The configuration of the service.
    public let settings: Settings
    let group = WorkGroup()
    let observers: ObserverList
    private let assembly: ChainAssembly
    private let transport: any Transport
    private let anonymousAccount: (settings: Account.Settings, jar: CookieJar?, chain: Chain)
    private let lastCall = Atomic<UInt64>(0)
    private let shutDownTransport: (@Sendable () async -> Void)?

    /// Makes a service with the platform's transport.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a setting that cannot be used.
    public convenience init(_ settings: Settings = Settings()) throws(LoadingError) {
        #if os(Linux)
            let transport = try WireTransport(settings: settings.transport)
        #else
            let transport = try URLSessionTransport(settings: settings.transport)
        #endif
        // Each platform's own transport is the service's, and ends with it.
        self.init(settings, transport: transport, shutDown: { await transport.shutDown() })
    }

    /// Makes a service with a custom transport; `settings.transport` is not used.
    public convenience init(_ settings: Settings = Settings(), transport: any Transport) {
        self.init(settings, transport: transport, shutDown: nil)
    }

    private init(_ settings: Settings, transport: any Transport, shutDown: (@Sendable () async -> Void)?) {
        self.settings = settings
        shutDownTransport = shutDown
        observers = ObserverList(settings.observers)
        assembly = ChainAssembly(settings)
        self.transport =
            settings.transportsByScheme.isEmpty
            ? transport : SchemeRouter(settings.transportsByScheme, otherwise: transport)
        let settings = Account.Settings()
        let jar = settings.cookies.makeJar()
        let chain = assembly.chain(for: settings, isNamed: false, jar: jar, transport: self.transport)
        anonymousAccount = (settings, jar, chain)
    }

    deinit {
        // No account is left whose calls could need them.
        assembly.cache?.close()
    }

    /// The chain for calls of the signed-out account; print it to see the interceptors.
    public var chain: Chain { anonymousAccount.chain }

    /// The rates of services and the delays that servers request; rates can be changed while calls run.
    public var rateLimiter: RateLimiter { assembly.limiter }

    /// The cache; nil for a service without one.
    public var cache: ResponseCache? { assembly.cache }

    /// The signed-out account.
    ///
    /// Each use makes a new account, all with the same cookies.
    public var anonymous: Account {
        let (settings, jar, chain) = anonymousAccount
        return Account(service: self, settings: settings, jar: jar, chain: chain)
    }

    /// Makes an account for a signed-in user.
    public func account(_ settings: Account.Settings) -> Account {
        var settings = settings
        let isNamed = !settings.identifier.isEmpty
        if !isNamed, settings.hasCredentials { settings.identifier = makeIdentity(of: settings) }
        let jar = settings.cookies.makeJar()
        let chain = assembly.chain(for: settings, isNamed: isNamed, jar: jar, transport: transport)
        return Account(service: self, settings: settings, jar: jar, chain: chain)
    }

    /// Makes an account whose requests are authorised.
    ///
    /// - Parameters:
    ///   - identifier: Distinguishes the account's cached responses, announced quotas and cookies from those of others.
    ///     An empty one is replaced by a generated one; see ``Account/Settings/identifier``.
    ///   - authorisers: The authorisers of its requests, in order.
    /// - Returns: The account.
    public func account(identifier: String = "", authorisers: [any Authoriser]) -> Account {
        var settings = Account.Settings()
        settings.identifier = identifier
        settings.authorisers = authorisers
        return account(settings)
    }

    /// Makes an account for a signed-in user.
    ///
    /// - Parameter identifier: Distinguishes the account's cached responses and cookies from those of others.
    /// - Returns: The account.
    public func account(identifier: String) -> Account {
        var settings = Account.Settings()
        settings.identifier = identifier
        return account(settings)
    }

    /// Notifies an observer of every call from now on.
    ///
    /// - Returns: The observation. It ends when it is released or ended, so keep it.
    public func observe(with observer: some Call.Observer) -> Service.Observation {
        observers.add(observer)
    }

    /// Cancels every call, and returns when the service's own transport has shut down.
    ///
    /// Later calls fail as cancelled immediately.
    public func shutDown() async {
        group.close()
        cache?.close()
        await shutDownTransport?()
    }

    /// An identifier that no other account has.
    ///
    /// It is the same in every run if a store on disk has responses, and every authoriser says whose credentials it
    /// has.
    private func makeIdentity(of settings: Account.Settings) -> String {
        let owners = settings.authorisers.compactMap(\.owner)
        if let cache, owners.count == settings.authorisers.count, settings.decorators.isEmpty,
            settings.credentialHolders.isEmpty
        {
            return "account-" + cache.digest(owners.map(\.secret))
        }
        let digits = [self.settings.random.next(), self.settings.random.next()].map { String($0, radix: 16) }
        return "account-" + digits.map { String(repeating: "0", count: 16 - $0.count) + $0 }.joined()
    }

    func nextCallID() -> Call.ID {
        Call.ID(lastCall.add(1, ordering: .relaxed).newValue)
    }

    func makeCallTemplate(for account: String, _ observers: [any Call.Observer]) -> Call {
        Call(account: account, time: settings.time, random: settings.random, events: observers)
    }
}
