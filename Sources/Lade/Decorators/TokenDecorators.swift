public import LadePolicies

extension Service {
    /// Adds an OAuth access token and the name of its issuer, if both are set.
    ///
    /// The token can be changed at any time, from any thread. Requests that are sent afterwards carry the new one.
    public final class OAuthDecorator: Service.Decorator, Account.CredentialHolder {
        private struct State {
            var provider: String?
            var token: Secret?
        }

        private let state: Locked<State>
        private let replacesAuthorization: Bool
        private let scope: Authorisation.Scope?

        /// Makes a decorator.
        ///
        /// - Parameters:
        ///   - authenticationProvider: The issuer of the tokens, such as `IdP`; sent as `X-Authentication-Provider`.
        ///   - accessToken: The token; sent as `Authorization: Bearer …`.
        ///   - replacesAuthorization: Whether an `Authorization` that the caller has set is replaced; false by default.
        ///   - scope: Where the token may be sent; by default everywhere that the app itself sends requests to.
        public init(
            authenticationProvider: String? = nil,
            accessToken: Secret? = nil,
            replacesAuthorization: Bool = false,
            scope: Authorisation.Scope? = nil
        ) {
            self.scope = scope
            state = Locked(State(provider: authenticationProvider, token: accessToken))
            self.replacesAuthorization = replacesAuthorization
        }

        /// The issuer of the tokens; nothing is added without it.
        public var authenticationProvider: String? {
            get { state.withLock { $0.provider } }
            set { state.withLock { $0.provider = newValue } }
        }

        /// The token; nothing is added without it.
        public var accessToken: Secret? {
            get { state.withLock { $0.token } }
            set { state.withLock { $0.token = newValue } }
        }

        /// Adds both fields.
        public func decorate(_ request: Request) async -> Request {
            let (provider, token) = state.withLock { ($0.provider, $0.token) }
            guard let provider, let token, !token.isEmpty, scope?.admits(request) ?? true else { return request }
            var decorated = request
            guard decorated.setAuthorization("Bearer \(token.reveal())", replacing: replacesAuthorization) else {
                return request
            }
            decorated.headers.set("X-Authentication-Provider", provider)
            return decorated
        }

        /// Forgets the token.
        public func forgetCredentials() async {
            accessToken = nil
        }
    }
}

extension Service {
    /// Adds a SAML token in the name of a client, if a token is set.
    ///
    /// The token can be changed at any time, from any thread.
    public final class SAMLDecorator: Service.Decorator, Account.CredentialHolder {
        private let clientID: String
        private let replacesAuthorization: Bool
        private let scope: Authorisation.Scope?
        private let token: Locked<Secret?>

        /// Makes a decorator.
        ///
        /// - Parameters:
        ///   - clientID: The name of the client, such as `iplayer`.
        ///   - token: The token; nil if there is none yet.
        ///   - replacesAuthorization: Whether an `Authorization` that the caller has set is replaced; false by default.
        ///   - scope: Where the token may be sent; by default everywhere that the app itself sends requests to.
        public init(
            clientID: String,
            token: Secret? = nil,
            replacesAuthorization: Bool = false,
            scope: Authorisation.Scope? = nil
        ) {
            self.clientID = clientID
            self.token = Locked(token)
            self.scope = scope
            self.replacesAuthorization = replacesAuthorization
        }

        /// The token; nothing is added without it.
        public var samlToken: Secret? {
            get { token.withLock { $0 } }
            set { token.withLock { $0 = newValue } }
        }

        /// Adds `Authorization: CLIENT x=TOKEN`.
        public func decorate(_ request: Request) async -> Request {
            guard let token = samlToken, !token.isEmpty, scope?.admits(request) ?? true else { return request }
            var decorated = request
            _ = decorated.setAuthorization("\(clientID) x=\(token.reveal())", replacing: replacesAuthorization)
            return decorated
        }

        /// Forgets the token.
        public func forgetCredentials() async {
            samlToken = nil
        }
    }
}

extension Authorisation.Scope {
    /// Whether a credential may be added to a request.
    fileprivate func admits(_ request: Request) -> Bool {
        contains(request) && mayCarryCredentials(request)
    }
}

/// Whether a decorator set the `Authorization` of a request, so that a later decorator may replace it.
private enum DecoratedAuthorization: Request.Tag {
    static let defaultValue = false
}

extension Request {
    /// Sets `Authorization`.
    ///
    /// A value that the caller has set is kept, unless `replacing` is true.
    ///
    /// - Returns: Whether it was set.
    fileprivate mutating func setAuthorization(_ value: String, replacing: Bool) -> Bool {
        guard replacing || self[DecoratedAuthorization.self] || !headers.contains("Authorization") else { return false }
        headers.set("Authorization", value)
        self[DecoratedAuthorization.self] = true
        return true
    }
}
