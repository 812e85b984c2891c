public import LadePolicies

/// Adds an OAuth access token and the name of its issuer, once both are set.
///
/// The token can be changed at any time, from any thread; requests that are sent afterwards have the new one. Source:
/// brief `bbc-httpclient.txt`, `client-decorators-processors.md` §6.2.
public final class OAuthDecorator: RequestDecorator, CredentialHolder {
    private struct State {
        var provider: String?
        var token: Secret?
    }

    private let state: Locked<State>
    private let replacesAuthorization: Bool
    private let scope: CredentialScope?

    /// Makes a decorator.
    ///
    /// - Parameters:
    ///   - authenticationProvider: The issuer of the tokens, as `IdP`; sent as `X-Authentication-Provider`.
    ///   - accessToken: The token; sent as `Authorization: Bearer …`.
    ///   - replacesAuthorization: Whether an `Authorization` that the caller has set is replaced; false by default.
    ///   - scope: Where the token may go; by default wherever the app itself sends a request.
    public init(
        authenticationProvider: String? = nil,
        accessToken: Secret? = nil,
        replacesAuthorization: Bool = false,
        scope: CredentialScope? = nil
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

/// Adds a SAML token in the name of a client, once there is one.
///
/// The token can be changed at any time, from any thread. Source: brief `bbc-httpclient.txt`,
/// `client-decorators-processors.md` §6.2.
public final class SAMLDecorator: RequestDecorator, CredentialHolder {
    private let clientID: String
    private let replacesAuthorization: Bool
    private let scope: CredentialScope?
    private let token: Locked<Secret?>

    /// Makes a decorator.
    ///
    /// - Parameters:
    ///   - clientID: The name of the client, as `iplayer`.
    ///   - token: The token, if there is one yet.
    ///   - replacesAuthorization: Whether an `Authorization` that the caller has set is replaced; false by default.
    ///   - scope: Where the token may go; by default wherever the app itself sends a request.
    public init(
        clientID: String,
        token: Secret? = nil,
        replacesAuthorization: Bool = false,
        scope: CredentialScope? = nil
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

extension CredentialScope {
    /// Whether a credential may be added to a request.
    fileprivate func admits(_ request: Request) -> Bool {
        contains(request) && mayCarryCredentials(request)
    }
}

/// Whether the `Authorization` of a request was made by a decorator, so that a later one may replace it.
private enum DecoratedAuthorization: RequestTag {
    static let defaultValue = false
}

extension Request {
    /// Sets `Authorization`, but not over one that the caller has set unless asked to (client D-02).
    ///
    /// - Returns: Whether it was set.
    fileprivate mutating func setAuthorization(_ value: String, replacing: Bool) -> Bool {
        guard replacing || self[DecoratedAuthorization.self] || !headers.contains("Authorization") else { return false }
        headers.set("Authorization", value)
        self[DecoratedAuthorization.self] = true
        return true
    }
}
