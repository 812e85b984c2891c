public import LadePolicies
import Synchronization

/// The user level: who the calls are made for.
///
/// It lives from signing in to signing out. Everything that is one user's hangs on it: credentials, cookies, cached
/// answers. It keeps its service, and its loaders keep it. Source: brief `sptdataloader.txt`, `service-loader.md` §4.
public final class Account: Sendable {
    /// What an account is made from.
    public struct Settings: Sendable {
        /// What tells its cached answers, announced quotas and cookies from those of others; empty for the signed-out
        /// account.
        ///
        /// An account with authorisers, decorators or credential holders that has none gets a generated one, which differs
        /// from run to run.
        public var identifier = ""
        /// Who authorises its requests, in their order.
        public var authorisers: [any Authoriser] = []
        /// Where its cookies are kept; in memory, as long as the account, by default.
        public var cookies = Cookies.memory
        /// Who changes each of its requests before it is sent, after the decorators of the service.
        public var decorators: [any RequestDecorator] = []
        /// Who forgets credentials when the user signs out, besides its decorators.
        public var credentialHolders: [any CredentialHolder] = []

        /// Makes the settings of nobody in particular.
        public init() {}

        /// Whether its requests may carry what only one user has.
        var hasCredentials: Bool { !authorisers.isEmpty || !decorators.isEmpty || !credentialHolders.isEmpty }
    }

    /// Where cookies are kept.
    public enum Cookies: Sendable {
        /// Nowhere: none are kept and none are sent.
        case off
        /// In memory, as long as the account.
        case memory
        /// In a jar of the app's own, as one that is kept in a file.
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
    /// What the account was made from.
    public let settings: Settings
    /// Its cookies; nil when none are kept.
    public let cookieJar: CookieJar?
    /// The chain each of its calls goes through; print it to see the links.
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
        // Its loaders hold it, so there is nothing left to cancel.
        group.dissolve()
    }

    /// What tells its cached answers, announced quotas and cookies from those of others; empty for the signed-out account.
    public var identifier: String { settings.identifier }

    /// Whether its calls are answered from what is stored, and never by a server; false by default.
    ///
    /// Calls under way go on as they began. What is not stored fails with `LoadingError.notStored`. Source:
    /// `service-loader.md` §4.
    public var isOffline: Bool {
        get { offline.load(ordering: .acquiring) }
        set { offline.store(newValue, ordering: .releasing) }
    }

    /// Makes a loader for a screen, a job, a scope.
    public func makeLoader() -> Loader {
        Loader(account: self)
    }

    /// Ends the account: its work ends as cancelled, later calls do so at once, and its credentials and cookies are
    /// forgotten.
    ///
    /// Does nothing the second time. Returns when every holder has forgotten.
    public func signOut() async {
        group.close()
        for authoriser in settings.authorisers { authoriser.forget() }
        cookieJar?.removeAll()
        let decorators: [any Sendable] = settings.decorators
        for holder in decorators.compactMap({ $0 as? any CredentialHolder }) + settings.credentialHolders {
            await holder.forgetCredentials()
        }
    }
}

/// What keeps credentials of a user, and can forget them.
public protocol CredentialHolder: Sendable {
    /// Forgets them: nothing made from them is sent from now on.
    func forgetCredentials() async
}
