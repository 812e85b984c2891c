#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import LadeCore

/// How an OAuth 2 client gets its tokens (RFC 6749).
public struct OAuth2Settings: Sendable {
    /// What the client has to show for a token.
    public enum Grant: Sendable, Hashable {
        /// Only itself (§4.4).
        case clientCredentials
        /// A refresh token (§6), from an earlier sign-in. The server may replace it.
        case refreshToken(Secret)
        /// The user's name and password (§4.3).
        case password(user: String, password: Secret)
    }

    /// How the client proves who it is to the token endpoint (§2.3).
    public enum ClientProof: Sendable, Hashable {
        /// It is a public client: it only says who it is.
        case none
        /// A secret, by Basic.
        case basic(Secret)
        /// A secret, in the form.
        case form(Secret)
    }

    /// Where tokens come from; https unless ``allowsInsecureEndpoint``.
    public var tokenEndpoint: URL
    /// What the client has to show.
    public var grant: Grant
    /// Who the client is; nil where the server does not ask.
    public var clientID: String?
    /// How the client proves it.
    public var clientProof = ClientProof.none
    /// What the token is to allow; empty leaves it to the server.
    public var scopes: [String] = []
    /// Further fields of the form, as `audience`.
    public var parameters: [(name: String, value: Secret)] = []
    /// Tokens that are known from an earlier run; nil gets some at the first call.
    public var tokens: OAuth2Tokens?
    /// How tokens are renewed.
    public var refresh = RefreshSettings()
    /// Whether the token endpoint may be asked over plain HTTP; false by default.
    public var allowsInsecureEndpoint = false

    /// Makes settings.
    public init(tokenEndpoint: URL, grant: Grant, clientID: String? = nil, clientProof: ClientProof = .none) {
        self.tokenEndpoint = tokenEndpoint
        self.grant = grant
        self.clientID = clientID
        self.clientProof = clientProof
    }
}

extension OAuth2Settings: CustomStringConvertible, CustomReflectable {
    /// The token endpoint, without secrets.
    public var description: String { "tokens of \(tokenEndpoint.redacted())" }

    /// A mirror that shows no secret.
    public var customMirror: Mirror {
        Mirror(self, children: ["tokenEndpoint": tokenEndpoint.redacted(), "grant": grant, "scopes": scopes])
    }
}

/// What a token endpoint gave (RFC 6749 §5.1).
public struct OAuth2Tokens: Sendable, Hashable {
    /// The token for requests.
    public var accessToken: Secret
    /// Its type as it stands in `Authorization`; `Bearer` in nearly all cases.
    public var tokenType: String
    /// When it ends.
    public var end: CredentialEnd
    /// What gets the next one; nil when the server gave none.
    public var refreshToken: Secret?

    /// Makes tokens, for example from an earlier run of the program.
    public init(
        accessToken: Secret,
        tokenType: String = "Bearer",
        end: CredentialEnd = .never,
        refreshToken: Secret? = nil
    ) {
        self.accessToken = accessToken
        self.tokenType = tokenType
        self.end = end
        self.refreshToken = refreshToken
    }
}
