public import LadeCache
public import LadePolicies
import Synchronization

/// The user level: the user that calls are made for.
///
/// An account exists from signing in to signing out. It owns everything that belongs to one user: credentials, cookies,
/// cached responses. It keeps its service alive, and its loaders keep the account alive.
public final class Account: Sendable {
    /// The configuration of an account.
    public struct Settings: Sendable {
        /// Distinguishes the account's cached responses, announced quotas and cookies from those of others; empty for the
        /// signed-out account.
        ///
        /// It stands for the user: stored responses stay in use when the account gets a new token or other cookies. An account
        /// with authorisers, decorators or credential holders and without an identifier gets a generated one. It is different
        /// in every run, unless there is a cache, and every authoriser has an `Authoriser.owner`.
        public var identifier = ""
        /// The authorisers of its requests, in order.
        public var authorisers: [any Authoriser] = []
        /// Where its cookies are stored; by default in memory, for the life of the account.
        public var cookies = Cookies.memory
        /// The decorators of its requests, which run after those of the service.
        public var decorators: [any Service.Decorator] = []
        /// Objects that forget credentials when the user signs out, besides the decorators.
        package var credentialHolders: [any Account.CredentialHolder] = []

        /// Makes the settings of the signed-out account.
        public init() {}

        /// Whether its requests may carry credentials of a user.
        var hasCredentials: Bool { !authorisers.isEmpty || !decorators.isEmpty || !credentialHolders.isEmpty }
    }

    /// Where cookies are stored.
    public enum Cookies: Sendable {
        /// Nowhere: no cookies are stored or sent.
        case off
        /// In memory, for the life of the account.
        case memory
        /// In a jar of the app, for example a jar with a file.
        case jar(CookieJar)

        func makeJar() -> CookieJar? {
            switch self {
            case .off: nil
            case .memory: CookieJar()
            case .jar(let jar): jar
            }
        }
    }

    /// The service that carries out its calls.
    public let service: Service
    /// The configuration of the account.
    public let settings: Settings
    /// The jar of its cookies; nil when none are stored.
    public let cookieJar: CookieJar?
    /// The chain that each of its calls goes through; print it to see the interceptors.
    public let chain: Chain
    let group: WorkGroup
    private let offline = Atomic(false)

    init(service: Service, settings: Settings, jar: CookieJar?, chain: Chain) {
        self.service = service
        self.settings = settings
        cookieJar = jar
        self.chain = chain
        group = WorkGroup(within: service.group)
    }

    deinit {
        // The loaders keep the group alive, so no call remains to be cancelled.
        group.dissolve()
    }

    /// Distinguishes the account's cached responses, announced quotas and cookies from those of others; empty for the
    /// signed-out account.
    public var identifier: String { settings.identifier }

    /// Whether its calls receive stored responses only, and never reach a server; false by default.
    ///
    /// Calls in progress are not affected. A call without a stored response fails with `LoadingError.Kind.notStored`.
    public var isOffline: Bool {
        get { offline.load(ordering: .acquiring) }
        set { offline.store(newValue, ordering: .releasing) }
    }

    /// Says what a request of this account would get from the cache now, and why; changes nothing, and asks no server.
    ///
    /// - Parameter request: The request, with the fields that the service adds to it.
    /// - Returns: The decision; nil for a service without a cache.
    /// - Throws: Why the store cannot be read.
    public func explainCaching(of request: Request) async throws(CacheError) -> ResponseCache.Explanation? {
        guard let cache = service.cache else { return nil }
        let identity = chain.interceptors.lazy.compactMap { ($0 as? HopInterceptor)?.cache }.first?.identity
        return try await cache.explain(
            request,
            in: service.makeCallTemplate(for: identifier, []),
            identity ?? CallIdentity()
        )
    }

    /// Makes a loader, for example for a screen or a job.
    public func makeLoader() -> Loader {
        Loader(account: self)
    }

    /// Ends the account: calls in progress are cancelled, later calls fail immediately, and credentials, cookies and cached
    /// responses are forgotten.
    ///
    /// A second call has no effect. Returns when every credential holder has forgotten its credentials, and
    /// nothing that was stored for the account is found any more.
    public func signOut() async {
        group.close()
        for authoriser in settings.authorisers { authoriser.forget() }
        cookieJar?.removeAll()
        await service.cache?.forget(account: identifier)
        let decorators: [any Sendable] = settings.decorators
        for holder in decorators.compactMap({ $0 as? any Account.CredentialHolder }) + settings.credentialHolders {
            await holder.forgetCredentials()
        }
    }
}

extension Account {
    /// Stores credentials of a user, and can forget them.
    package protocol CredentialHolder: Sendable {
        /// Forgets the credentials: nothing made from them is sent afterwards.
        func forgetCredentials() async
    }
}
