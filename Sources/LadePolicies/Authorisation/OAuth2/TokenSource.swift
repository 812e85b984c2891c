#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// Obtains tokens from a token endpoint.
struct TokenSource: Sendable {
    let settings: Authorisation.OAuth2.Settings
    let identifier: String
    let transport: (any Transport)?
    /// Set when the user signs out: the user's credentials are not used again.
    let isSignedOut = Locked(false)

    private static let responseLimit = 1 << 20

    /// Tokens by the last refresh token where there is one, else by the grant.
    func tokens(after last: Authorisation.OAuth2.Tokens?, _ context: Authorisation.Context) async throws(LoadingError)
        -> Authorisation.OAuth2.Tokens
    {
        if let refreshToken = last?.refreshToken {
            switch try await ask(.refreshToken(refreshToken), context) {
            case .tokens(var tokens):
                // A server that sends no new refresh token expects the old one to be used again.
                tokens.refreshToken = tokens.refreshToken ?? refreshToken
                return tokens
            case .refused(let code) where TokenResponse.endsGrant(code) && hasOtherGrant:
                // The refresh token has expired; the app's original grant may still work.
                break
            case let other:
                throw failure(other)
            }
        }
        guard settings.grant == .clientCredentials || !isSignedOut.withLock({ $0 }) else {
            throw LoadingError(.authorisationFailed(.init(authoriser: identifier, cause: .signInRequired)))
        }
        let reply = try await ask(settings.grant, context)
        guard case .tokens(var tokens) = reply else { throw failure(reply) }
        if case .refreshToken(let token) = settings.grant, tokens.refreshToken == nil { tokens.refreshToken = token }
        return tokens
    }

    /// Whether the grant can be used again.
    ///
    /// A refresh token that was replaced must not be: servers take its use for theft.
    private var hasOtherGrant: Bool {
        if case .refreshToken = settings.grant { false } else { true }
    }

    private func failure(_ reply: TokenResponse) -> LoadingError {
        switch reply {
        // A client that acts for itself has no user.
        case .refused(let code) where TokenResponse.endsGrant(code) && settings.grant != .clientCredentials:
            let fault = LoadingError.AuthorisationCause(authoriser: identifier, cause: .signInRequired, detail: code)
            return LoadingError(.authorisationFailed(fault))
        case .refused(let code):
            return LoadingError(
                .decoding,
                underlyingError: TokenResponse.Fault(description: "the token endpoint refused with \(code)")
            )
        case .unusable(let reason):
            return LoadingError(
                .decoding,
                underlyingError: TokenResponse.Fault(description: "the token endpoint: \(reason)")
            )
        case .tokens:
            return LoadingError(
                .decoding,
                underlyingError: TokenResponse.Fault(description: "the token endpoint gave tokens unasked")
            )
        }
    }

    private func ask(
        _ grant: Authorisation.OAuth2.Settings.Grant,
        _ context: Authorisation.Context
    ) async throws(LoadingError) -> TokenResponse {
        let request = makeRequest(grant)
        guard settings.allowsInsecureEndpoint || Origin(request.url)?.isSecure == true else {
            throw LoadingError(
                .authorisationFailed(.init(authoriser: identifier, cause: .insecure)),
                LoadingError.Context(request)
            )
        }
        let response = try await context.using(transport).send(request, call: context.call)
        let status = response.status
        // The body of a server error says nothing about the grant.
        guard status.code != 429, status.statusClass != .serverError else {
            response.body.cancel()
            var context = LoadingError.Context(request)
            context.status = status
            throw LoadingError(.unacceptableStatus(status), context)
        }
        let reply = TokenResponse(status: status, body: try await response.body.collect(limit: Self.responseLimit))
        guard case .refused(let code) = reply, !Self.knownCodes.contains(code), !TokenResponse.endsGrant(code) else {
            return reply
        }
        // A server may send back values of the request.
        let secrets = secrets(of: grant).filter { !$0.isEmpty }
        return .refused(code: Redaction(names: [], values: secrets, leastLength: 1).text(code))
    }

    /// Further codes of RFC 6749 §5.2 and RFC 8628 §3.5, which contain no secret even where one is a part of them.
    private static let knownCodes: Set<String> = [
        "invalid_request", "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
        "authorization_pending", "slow_down",
    ]

    /// The secrets that a request for tokens carries.
    private func secrets(of grant: Authorisation.OAuth2.Settings.Grant) -> [String] {
        var secrets = settings.parameters.map { $0.value.reveal() }
        switch grant {
        case .clientCredentials: break
        case .refreshToken(let token): secrets.append(token.reveal())
        case .password(_, let password): secrets.append(password.reveal())
        }
        switch settings.clientProof {
        case .none: break
        case .form(let secret), .basic(let secret): secrets.append(secret.reveal())
        }
        return secrets
    }

    private func makeRequest(_ grant: Authorisation.OAuth2.Settings.Grant) -> Request {
        var fields: [(String, String)]
        switch grant {
        case .clientCredentials:
            fields = [("grant_type", "client_credentials")]
        case .refreshToken(let token):
            fields = [("grant_type", "refresh_token"), ("refresh_token", token.reveal())]
        case .password(let user, let password):
            fields = [("grant_type", "password"), ("username", user), ("password", password.reveal())]
        }
        if !settings.scopes.isEmpty { fields.append(("scope", settings.scopes.joined(separator: " "))) }
        fields += settings.parameters.map { ($0.name, $0.value.reveal()) }
        var request = Request(.post, settings.tokenEndpoint, delivery: .buffered(limit: Self.responseLimit))
        request.headers["Accept"] = "application/json"
        switch settings.clientProof {
        case .none:
            if let id = settings.clientID { fields.append(("client_id", id)) }
        case .form(let secret):
            fields += [("client_id", settings.clientID ?? ""), ("client_secret", secret.reveal())]
        case .basic(let secret):
            // Both are form-encoded first, so that a colon in one does not end the user name (RFC 6749 §2.3.1).
            let encoded = Secret(secret.reveal().formEncoded)
            let user = (settings.clientID ?? "").formEncoded
            request.headers.set("Authorization", secret: Authorisation.Basic.field(user: user, password: encoded))
        }
        let form = fields.map { "\($0.0.formEncoded)=\($0.1.formEncoded)" }.joined(separator: "&")
        request.body = .bytes(Data(form.utf8), contentType: "application/x-www-form-urlencoded")
        return request
    }
}
