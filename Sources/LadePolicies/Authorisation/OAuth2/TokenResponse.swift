#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The meaning of a token endpoint's response (RFC 6749 §5.1, §5.2).
///
/// A member `error` without a token is a refusal whatever the status, for some servers refuse with 200. These codes say that
/// only the user can help; every other one, known or not, passes:
///
/// | code | source |
/// | --- | --- |
/// | `invalid_grant` | RFC 6749 §5.2 |
/// | `expired_token`, `access_denied` | RFC 8628 §3.5 |
/// | `login_required`, `consent_required` | OpenID Connect Core 1.0 §3.1.2.6, from the token endpoint of Microsoft Entra ID |
/// | `interaction_required`, `account_selection_required` | the same |
/// | `invalid_token` | RFC 6750 §3.1; Spring Security OAuth for an expired refresh token |
/// | `bad_refresh_token` | GitHub, with status 200 |
/// | `invalid_refresh_token`, `token_expired`, `token_revoked` | Slack, with status 200 |
enum TokenResponse {
    case tokens(Authorisation.OAuth2.Tokens)
    /// The endpoint refused with an error code: `invalid_grant`, `invalid_client` …
    case refused(code: String)
    /// A response that cannot be interpreted.
    case unusable(reason: String)

    /// Whether an error code says that the grant has ended, so that the user has to sign in again.
    static func endsGrant(_ code: String) -> Bool { endingCodes.contains(code) }

    private static let endingCodes: Set<String> = [
        "invalid_grant", "expired_token", "access_denied", "login_required", "consent_required", "interaction_required",
        "account_selection_required", "invalid_token", "bad_refresh_token", "invalid_refresh_token", "token_expired",
        "token_revoked",
    ]

    /// Why no token was obtained.
    ///
    /// It contains nothing of the response but its error code.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    private struct Fields: Decodable {
        var accessToken: String?
        var tokenType: String?
        var refreshToken: String?
        var seconds: Double?
        var error: String?

        enum Key: String, CodingKey {
            case accessToken = "access_token"
            case tokenType = "token_type"
            case refreshToken = "refresh_token"
            case expiresIn = "expires_in"
            case error
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            func text(_ key: Key) throws -> String? {
                // An empty member counts as absent: servers write it for a value that they do not have.
                let text = try container.decodeIfPresent(String.self, forKey: key)
                return text?.isEmpty == true ? nil : text
            }
            accessToken = try text(.accessToken)
            tokenType = try text(.tokenType)
            refreshToken = try text(.refreshToken)
            error = (try? container.decodeIfPresent(Refusal.self, forKey: .error))?.code
            // Some servers write the number as a string. Anything else counts as absent, and the end of the token is
            // unknown.
            if let number = try? container.decodeIfPresent(Double.self, forKey: .expiresIn) {
                seconds = number
            } else {
                seconds = (try? container.decodeIfPresent(String.self, forKey: .expiresIn)).flatMap {
                    Whole.decimal($0)
                }
            }
        }
    }

    /// The member `error`: a code (RFC 6749 §5.2), a number, or an object that has the code in a member.
    private struct Refusal: Decodable {
        /// Nil for a member that is empty or false.
        let code: String?

        private enum Key: String, CodingKey, CaseIterable {
            case code, type, status, error, message
        }

        init(from decoder: any Decoder) throws {
            if let members = try? decoder.container(keyedBy: Key.self) {
                let texts = Key.allCases.lazy.compactMap { try? members.decode(String.self, forKey: $0) }
                code = texts.first { !$0.isEmpty } ?? "an error without a code"
                return
            }
            let value = try decoder.singleValueContainer()
            if let text = try? value.decode(String.self) {
                code = text.isEmpty ? nil : text
            } else if let number = try? value.decode(Int.self) {
                code = String(number)
            } else {
                code = (try? value.decode(Bool.self)) == false ? nil : "an error without a code"
            }
        }
    }

    /// Reads a response.
    init(status: Response.Status, body: Data) {
        let fields: Fields
        do {
            fields = try JSONDecoder().decode(Fields.self, from: body)
        } catch {
            // The decoder's error message may quote the tokens.
            self = .unusable(reason: "its response with status \(status) is not understood")
            return
        }
        if let code = fields.error, !status.isSuccessful || fields.accessToken == nil {
            self = .refused(code: code.escapedForDisplay(limit: 60))
        } else if status.isSuccessful, let token = fields.accessToken {
            // Tokens are visible ASCII (RFC 6749 §A.12), and the type becomes the scheme of a field.
            guard token.isVisible, fields.tokenType?.utf8.allSatisfy(\.isTokenCharacter) ?? true else {
                self = .unusable(reason: "its response with status \(status) has a token that no field can have")
                return
            }
            self = .tokens(Self.tokens(token, fields))
        } else {
            self = .unusable(reason: "its response with status \(status) has no token")
        }
    }

    private static func tokens(_ token: String, _ fields: Fields) -> Authorisation.OAuth2.Tokens {
        let type = fields.tokenType ?? "Bearer"
        // Zero means that the server does not say: a token with that life would never be used.
        let life = fields.seconds.flatMap { $0 > 0 ? Duration.seconds(min($0, 1e9)) : nil }
        return Authorisation.OAuth2.Tokens(
            accessToken: Secret(token),
            tokenType: type.asciiLowercased == "bearer" ? "Bearer" : type,
            end: life.map { .after($0) } ?? .never,
            refreshToken: fields.refreshToken.map { Secret($0) }
        )
    }
}
