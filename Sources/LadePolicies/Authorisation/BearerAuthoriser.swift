public import LadeCore

/// A bearer token with every request (RFC 6750): a fixed one, or one from a source that can be asked for another.
///
/// ```swift
/// let authoriser = BearerAuthoriser(scope: try CredentialScope("https://api.example.com")) { _, _ in
///     let session = try await signIn.session()
///     return .init(session.token, end: .after(session.lifetime))
/// }
/// ```
///
/// The source may throw any error: the calls that wait for the token fail with `LoadingError.authorisationFailed`, which keeps
/// it.
public struct BearerAuthoriser: Authoriser {
    /// What it is called in events and errors; `Bearer` by default.
    public let identifier: String
    /// The token and how it is renewed.
    public let credentials: RefreshingCredentials<Secret>
    private let scope: CredentialScope

    /// Makes an authoriser with a fixed token.
    public init(token: Secret, scope: CredentialScope, identifier: String = "Bearer") {
        self.identifier = identifier
        self.scope = scope
        credentials = RefreshingCredentials(identifier: identifier, initial: .init(token), refresh: nil)
    }

    /// Makes an authoriser that asks a source for its tokens: at first, before one ends, and after a refusal.
    ///
    /// - Parameters:
    ///   - scope: Where the tokens may go.
    ///   - identifier: What it is called in events and errors.
    ///   - settings: How tokens are renewed.
    ///   - source: Gives a token; it gets the last one, and is asked by one caller at a time.
    public init(
        scope: CredentialScope,
        identifier: String = "Bearer",
        settings: RefreshSettings = RefreshSettings(),
        source: @escaping RefreshingCredentials<Secret>.Refresh
    ) {
        self.identifier = identifier
        self.scope = scope
        credentials = RefreshingCredentials(identifier: identifier, settings: settings, refresh: source)
    }

    /// True: the wait for a token ends with the call.
    public var observesScope: Bool { true }

    /// Whether the request goes where the token may go.
    public func claims(_ request: Request) -> Bool { scope.contains(request) }

    /// Adds `Authorization`, with the newest token.
    public func authorise(
        _ request: Request,
        in context: AuthorisationContext
    ) async throws(LoadingError) -> Request {
        try scope.check(request, for: identifier)
        let token = try await credentials.current(in: context)
        var request = request
        request.headers.set("Authorization", secret: Secret("Bearer " + token.value.reveal()))
        request.setCredentialVersion(token.version, of: identifier)
        return request
    }

    /// Gives up the token that was refused, if there can be another.
    public func wasRefused(_ request: Request, by response: Response, in context: AuthorisationContext) -> Bool {
        credentials.refuse(version: request.credentialVersion(of: identifier) ?? 0)
    }

    /// Asks the source for another token before the next use.
    public func refresh() { credentials.refresh() }

    /// Forgets the token.
    public func forget() { credentials.forget() }
}
