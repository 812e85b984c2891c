#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

extension Authorisation {
    /// Access tokens of an OAuth 2 server, renewed as needed (RFC 6749, RFC 6750).
    ///
    /// It claims requests in its scope and adds `Authorization`. Requests wait while a token is obtained. When a token
    /// expires or is refused, a single refresh obtains the next one for all waiting calls.
    ///
    /// ```swift
    /// var settings = Authorisation.OAuth2.Settings(tokenEndpoint: tokenURL, grant: .refreshToken(secret), clientID: "app")
    /// let authoriser = Authorisation.OAuth2(settings, scope: try Authorisation.Scope("https://api.example.com")) { tokens in
    ///     keychain.store(tokens.refreshToken)
    /// }
    /// ```
    public struct OAuth2: Authoriser {
        /// The name in events and errors; `OAuth` by default.
        public let identifier: String
        /// The current tokens, and how they are renewed.
        public let credentials: Authorisation.RefreshingCredentials<OAuth2.Tokens>
        private let scope: Authorisation.Scope
        private let source: TokenSource

        /// Makes an authoriser.
        ///
        /// - Parameters:
        ///   - settings: The token endpoint and the grant.
        ///   - scope: Where the tokens may be sent.
        ///   - transport: How to reach the token endpoint; nil uses the interceptors below the authorisation, which add no
        ///     credentials. Never pass an authorised chain: a refresh would wait for itself.
        ///   - identifier: The name in events and errors.
        ///   - sharing: The record by which a fleet renews the tokens; nil without one. Its members have the same settings.
        ///   - onTokens: Receives each new set of tokens before it is used, to store it for the next run. In a fleet it also
        ///     receives those that another member has obtained. It is not called with tokens that arrive after ``forget()``
        ///     or ``Authorisation/RefreshingCredentials/replace(with:)``.
        public init(
            _ settings: OAuth2.Settings,
            scope: Authorisation.Scope,
            transport: (any Transport)? = nil,
            identifier: String = "OAuth",
            sharing: Authorisation.Sharing? = nil,
            onTokens: (@Sendable (OAuth2.Tokens) async -> Void)? = nil
        ) {
            self.identifier = identifier
            self.scope = scope
            let source = TokenSource(settings: settings, identifier: identifier, transport: transport)
            self.source = source
            credentials = Authorisation.RefreshingCredentials(
                identifier: identifier,
                initial: settings.tokens.map { .init($0, end: $0.end) },
                settings: settings.refresh,
                shared: sharing.map { Self.shared(by: $0, settings, source) },
                onFresh: onTokens
            ) { (last, context) async throws(LoadingError) in
                let tokens = try await source.tokens(after: last, context)
                return .init(tokens, end: tokens.end)
            }
        }

        /// True: the wait for a token ends with the call.
        public var observesScope: Bool { true }

        /// The proof that is exchanged for tokens, and its circumstances: endpoint, client, grant, scopes and parameters.
        public var owner: Authorisation.Owner? {
            guard let tokens = credentials.replacement else { return source.settings.owner }
            return Authorisation.Owner(
                [source.settings.owner.secret, tokens.refreshToken ?? tokens.accessToken],
                isRenewed: true
            )
        }

        /// `Authorization`.
        public var changedFields: [String] { ["Authorization"] }

        /// Whether the scope of the tokens contains the request.
        public func claims(_ request: Request) -> Bool { scope.contains(request) }

        /// Adds `Authorization`, after a refresh when there is no valid token.
        public func authorise(
            _ request: Request,
            in context: Authorisation.Context
        ) async throws(LoadingError) -> Request {
            try scope.check(request, for: identifier)
            let tokens = try await credentials.current(in: context)
            var request = request
            add(tokens, to: &request)
            return request
        }

        /// Replaces a token that was renewed meanwhile.
        public func renewed(_ request: Request, in context: Authorisation.Context) -> Request? {
            credentials.renewed(request, in: context, by: add)
        }

        private func add(_ tokens: Authorisation.RefreshingCredentials<Tokens>.Versioned, to request: inout Request) {
            let field = "\(tokens.value.tokenType) \(tokens.value.accessToken.reveal())"
            request.headers.set("Authorization", secret: Secret(field))
            request.setCredentialVersion(tokens.version, of: identifier)
        }

        /// Invalidates the refused token.
        public func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool {
            credentials.refuse(version: request.credentialVersion(of: identifier) ?? 0)
        }

        /// Obtains another token before the next use.
        public func refresh() { credentials.refresh() }

        private static func shared(
            by sharing: Authorisation.Sharing,
            _ settings: OAuth2.Settings,
            _ source: TokenSource
        ) -> Authorisation.RefreshingCredentials<Tokens>.Shared {
            // Servers take a second use of a refresh token for theft.
            let isReusable = if case .refreshToken = settings.grant { false } else { true }
            return .init(
                store: sharing.store,
                rules: CredentialRules(
                    settings.refresh,
                    isReusable: sharing.isReusable ?? isReusable,
                    hasUser: settings.grant != .clientCredentials
                ),
                encode: SharedTokens.text,
                decode: SharedTokens.tokens,
                onSignOut: { source.isSignedOut.withLock { $0 = true } }
            )
        }

        /// Forgets every token and does not use the refresh token or password of the settings again.
        ///
        /// From then on requests fail with the cause `signInRequired`, until ``Authorisation/RefreshingCredentials/replace(with:)``
        /// supplies new tokens. A client that acts for itself (client credentials) obtains another token.
        public func forget() { forget(everywhere: false) }

        /// Forgets as ``forget()`` does, in all members of a fleet too.
        public func forget(everywhere: Bool) {
            source.isSignedOut.withLock { $0 = true }
            credentials.forget(everywhere: everywhere)
        }
    }
}

/// Tokens in the store of a fleet.
private struct SharedTokens: Codable {
    var access: String
    var type: String
    var refresh: String?

    @Sendable
    static func text(_ tokens: Authorisation.OAuth2.Tokens) -> Secret {
        let fields = SharedTokens(
            access: tokens.accessToken.reveal(),
            type: tokens.tokenType,
            refresh: tokens.refreshToken?.reveal()
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // Three texts can always be written.
        let data = try? encoder.encode(fields)
        return Secret(String(decoding: data ?? Data(), as: UTF8.self))
    }

    /// The tokens of a text; nil for one that no field can have, because the store is not trusted.
    @Sendable
    static func tokens(_ text: Secret, until end: Authorisation.Expiry) -> Authorisation.OAuth2.Tokens? {
        // The error may quote the tokens.
        guard let fields = try? JSONDecoder().decode(SharedTokens.self, from: Data(text.reveal().utf8)),
            fields.access.isVisible, !fields.type.isEmpty, fields.type.utf8.allSatisfy(\.isTokenCharacter)
        else { return nil }
        return Authorisation.OAuth2.Tokens(
            accessToken: Secret(fields.access),
            tokenType: fields.type,
            end: end,
            refreshToken: fields.refresh.map { Secret($0) }
        )
    }
}
