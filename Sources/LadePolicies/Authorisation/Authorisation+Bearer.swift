public import LadeCore

extension Authorisation {
    /// Adds a bearer token to every request (RFC 6750): a fixed one, or tokens from a source that can renew them.
    ///
    /// ```swift
    /// let authoriser = Authorisation.Bearer(scope: try Authorisation.Scope("https://api.example.com")) { _, _ in
    ///     let session = try await signIn.session()
    ///     return .init(session.token, end: .after(session.lifetime))
    /// }
    /// ```
    ///
    /// The source may throw any error: the calls that wait for the token fail with `LoadingError.Kind.authorisationFailed`,
    /// which keeps it.
    public struct Bearer: Authoriser {
        /// The name in events and errors; `Bearer` by default.
        public let identifier: String
        /// The current token, and how it is renewed.
        public let credentials: Authorisation.RefreshingCredentials<Secret>
        private let scope: Authorisation.Scope
        private let fixedToken: Secret?

        /// Makes an authoriser with a fixed token.
        public init(token: Secret, scope: Authorisation.Scope, identifier: String = "Bearer") {
            self.identifier = identifier
            self.scope = scope
            fixedToken = token
            credentials = Authorisation.RefreshingCredentials(
                identifier: identifier,
                initial: .init(token),
                refresh: nil
            )
        }

        /// Makes an authoriser that asks a source for tokens: at first, before a token expires, and after a refusal.
        ///
        /// - Parameters:
        ///   - scope: Where the tokens may be sent.
        ///   - identifier: The name in events and errors.
        ///   - settings: How tokens are renewed.
        ///   - sharing: The record by which a fleet renews the token; nil without one. Its members have the same source.
        ///   - source: Returns a token. The closure receives the last token, nil the first time, and the context of the renewal. Only
        ///     one call of the closure runs at a time.
        public init(
            scope: Authorisation.Scope,
            identifier: String = "Bearer",
            settings: Authorisation.RefreshSettings = Authorisation.RefreshSettings(),
            sharing: Authorisation.Sharing? = nil,
            source: @escaping Authorisation.RefreshingCredentials<Secret>.Refresh
        ) {
            self.identifier = identifier
            self.scope = scope
            fixedToken = nil
            credentials = Authorisation.RefreshingCredentials(
                identifier: identifier,
                initial: nil,
                settings: settings,
                shared: sharing.map { sharing in
                    let isReusable = sharing.isReusable ?? true
                    return .init(
                        store: sharing.store,
                        rules: CredentialRules(settings, isReusable: isReusable, hasUser: false),
                        encode: \.self,
                        // The store is not trusted: no text that could end the field.
                        decode: { text, _ in text.reveal().isVisible ? text : nil }
                    )
                },
                onFresh: nil,
                refresh: source
            )
        }

        /// True: the wait for a token ends with the call.
        public var observesScope: Bool { true }

        /// The token that the app gave; nil for tokens of a source.
        public var owner: Authorisation.Owner? {
            (credentials.replacement ?? fixedToken).map { Authorisation.Owner($0, isRenewed: true) }
        }

        /// `Authorization`.
        public var changedFields: [String] { ["Authorization"] }

        /// Whether the scope of the token contains the request.
        public func claims(_ request: Request) -> Bool { scope.contains(request) }

        /// Adds `Authorization` with the newest token.
        public func authorise(
            _ request: Request,
            in context: Authorisation.Context
        ) async throws(LoadingError) -> Request {
            try scope.check(request, for: identifier)
            let token = try await credentials.current(in: context)
            var request = request
            add(token, to: &request)
            return request
        }

        /// Replaces a token that was renewed meanwhile.
        public func renewed(_ request: Request, in context: Authorisation.Context) -> Request? {
            credentials.renewed(request, in: context, by: add)
        }

        private func add(_ token: Authorisation.RefreshingCredentials<Secret>.Versioned, to request: inout Request) {
            request.headers.set("Authorization", secret: Secret("Bearer " + token.value.reveal()))
            request.setCredentialVersion(token.version, of: identifier)
        }

        /// Invalidates the refused token; returns whether a new token is possible.
        public func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool {
            credentials.refuse(version: request.credentialVersion(of: identifier) ?? 0)
        }

        /// Asks the source for another token before the next use.
        public func refresh() { credentials.refresh() }

        /// Forgets the token.
        public func forget() { credentials.forget() }
    }
}

extension String {
    /// Whether a field can have the text as a token: it is not empty, and no control character ends the field.
    var isVisible: Bool { !isEmpty && utf8.allSatisfy { (0x20...0x7E).contains($0) } }
}
