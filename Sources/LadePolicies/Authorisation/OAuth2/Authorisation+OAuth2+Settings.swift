#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

extension Authorisation.OAuth2 {
    /// How an OAuth 2 client obtains its tokens (RFC 6749).
    public struct Settings: Sendable {
        /// The proof that the client exchanges for a token.
        public enum Grant: Sendable, Hashable {
            /// Only its own identity (§4.4).
            case clientCredentials
            /// A refresh token (§6), from an earlier sign-in. The server may replace it.
            case refreshToken(Secret)
            /// The user's name and password (§4.3).
            case password(user: String, password: Secret)
        }

        /// How the client authenticates at the token endpoint (§2.3).
        public enum ClientProof: Sendable, Hashable {
            /// A public client, which only sends its identifier.
            case none
            /// A secret, sent by Basic authentication.
            case basic(Secret)
            /// A secret, sent in the form.
            case form(Secret)
        }

        /// The token endpoint; https unless ``allowsInsecureEndpoint``.
        public var tokenEndpoint: URL
        /// The proof that the client exchanges for a token.
        public var grant: Grant
        /// The client's identifier; nil where the server needs none.
        public var clientID: String?
        /// How the client authenticates.
        public var clientProof = ClientProof.none
        /// The scopes to request; empty leaves them to the server.
        public var scopes: [String] = []
        /// Additional form fields, such as `audience`.
        public var parameters: [(name: String, value: Secret)] = []
        /// Tokens of an earlier run; nil obtains tokens at the first call.
        public var tokens: Authorisation.OAuth2.Tokens?
        /// How tokens are renewed.
        public var refresh = Authorisation.RefreshSettings()
        /// Whether the token endpoint may be used over plain HTTP; false by default.
        public var allowsInsecureEndpoint = false

        /// Makes settings.
        public init(tokenEndpoint: URL, grant: Grant, clientID: String? = nil, clientProof: ClientProof = .none) {
            self.tokenEndpoint = tokenEndpoint
            self.grant = grant
            self.clientID = clientID
            self.clientProof = clientProof
        }
    }
}

extension Authorisation.OAuth2.Settings {
    /// The user whose tokens these are, as apart from every other; refresh tokens are renewed.
    package var owner: Authorisation.Owner {
        var isRenewed = false
        var parts: [Secret?] = [Secret(tokenEndpoint.absoluteString), clientID.map { Secret($0) }]
        switch clientProof {
        case .none: parts.append(nil)
        case .basic(let secret), .form(let secret): parts.append(secret)
        }
        switch grant {
        case .clientCredentials: parts.append(nil)
        case .refreshToken(let token):
            isRenewed = true
            parts.append(token)
        case .password(let user, let password): parts += [Secret(user), password]
        }
        parts += scopes.map { Secret($0) } + [nil]
        for parameter in parameters { parts += [Secret(parameter.name), parameter.value] }
        return Authorisation.Owner(parts, isRenewed: isRenewed)
    }
}

extension Authorisation.OAuth2.Settings: CustomStringConvertible, CustomReflectable {
    /// The token endpoint, without secrets.
    public var description: String { "tokens of \(tokenEndpoint.redacted())" }

    /// A mirror that shows no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["tokenEndpoint": tokenEndpoint.redacted(), "grant": grant, "scopes": scopes])
    }
}

extension Authorisation.OAuth2 {
    /// The response of a token endpoint (RFC 6749 §5.1).
    public struct Tokens: Sendable, Hashable {
        /// The token for requests.
        public var accessToken: Secret
        /// The type as written in `Authorization`; `Bearer` in nearly all cases.
        public var tokenType: String
        /// When the access token expires.
        public var end: Authorisation.Expiry
        /// The token for the next refresh; nil when the server sent none.
        public var refreshToken: Secret?

        /// Makes tokens, for example from an earlier run of the program.
        public init(
            accessToken: Secret,
            tokenType: String = "Bearer",
            end: Authorisation.Expiry = .never,
            refreshToken: Secret? = nil
        ) {
            self.accessToken = accessToken
            self.tokenType = tokenType
            self.end = end
            self.refreshToken = refreshToken
        }
    }
}
