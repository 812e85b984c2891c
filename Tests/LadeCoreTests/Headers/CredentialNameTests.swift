import Foundation
import Testing

@testable import LadeCore

@Suite(.timeLimit(.minutes(5)))
struct CredentialNameTests {
    /// A separate list: a name that is removed from the sources is missed here.
    static let names = [
        "Authorization", "Proxy-Authorization", "Cookie", "Cookie2", "Set-Cookie", "Set-Cookie2", "Authentication-Info",
        "Proxy-Authentication-Info", "X-Api-Key", "Api-Key", "ApiKey", "X-ApiKey", "X-Auth-Token", "X-Access-Token",
        "X-Auth-Key", "X-Amz-Security-Token", "X-Amz-Credential", "X-Amz-Signature", "X-CSRF-Token", "X-CSRFToken",
        "X-XSRF-TOKEN", "X-Authentication-Provider", "PRIVATE-TOKEN", "JOB-TOKEN", "X-Vault-Token", "X-Gitlab-Token",
        "X-Goog-Api-Key", "Ocp-Apim-Subscription-Key", "X-Shopify-Access-Token", "X-Figma-Token", "DD-API-KEY",
        "DD-APPLICATION-KEY", "X-Algolia-API-Key", "X-Forwarded-Access-Token", "X-Forwarded-Authorization",
        "X-Client-Secret",
        "X-Password", "X-Passphrase", "X-Hub-Signature", "X-Hub-Signature-256", "Signature", "X-Signature", "DPoP",
        "X-Session-ID", "X-Session", "Session-Id", "X-JWT-Assertion", "X-Auth", "X-Custom-Auth", "X-Id-Token",
        "X-Plex-Token",
        "Circle-Token", "X-Redmine-API-Key", "X-Ms-Client-Principal", "X_Access_Token", "x.api.key",
    ]

    /// The same for query items.
    static let items = [
        "token", "access_token", "refreshToken", "id_token", "api_key", "api-key", "apikey", "key", "auth",
        "authorization",
        "code", "credential", "password", "passwd", "pwd", "pass", "secret", "client_secret", "sig", "signature",
        "X-Amz-Signature", "X-Amz-Credential", "session", "sessionid", "session_id", "sid", "hdnts", "hdnea",
        "client_assertion", "assertion", "jwt", "user[password]", "auth[token]", "TOKEN", "accessKey",
    ]

    @Test("finding FQ-18 every credential name is redacted wherever a field is shown", arguments: names)
    func fields(name: String) {
        let field = Headers([(name, "cAnArY")])[0]

        #expect(field.carriesCredentials)
        #expect(field.redactedValue == "<redacted>")
        #expect(field.description == "\(name): <redacted>")
        #expect(!"\(Headers([(name, "cAnArY")]))".contains("cAnArY"))
        #expect(Redaction.standard.headers([name: "cAnArY"])[name] == "<redacted>")
        #expect(
            LoadingError.MalformedResponse(.fieldValue, excerpt: "\(name): cAnArY").excerpt == "\(name): <redacted>"
        )
        var headers: Headers = [name.lowercased(): "cAnArY", "Accept": "*/*"]
        headers.removeCredentials()
        #expect(headers.map(\.name) == ["Accept"])
    }

    @Test("finding FQ-18 every credential name is redacted in a query", arguments: items)
    func queries(name: String) throws {
        let written = name.replacingOccurrences(of: "[", with: "%5B").replacingOccurrences(of: "]", with: "%5D")
        let url = try #require(URL(string: "https://a.test/?a=1&\(written)=cAnArY&b=2"))

        #expect(url.redacted() == "https://a.test/?a=1&\(written)=<redacted>&b=2")
        let error = LoadingError(.redirectRefused(.loop(url: url.absoluteString)))
        #expect(!error.description.contains("cAnArY"))
    }

    @Test(
        "names that carry no credential are shown and follow redirects",
        arguments: [
            "Accept", "Content-Type", "ETag", "Idempotency-Key", "Sec-WebSocket-Key", "Surrogate-Key", "User-Agent",
            "Range",
            "X-Request-ID", "WWW-Authenticate", "Link", "Location", "keyboard", "tokens", "X-Author", "page", "monkey",
        ]
    )
    func harmless(name: String) {
        #expect(!CredentialNames.contains(name))
    }
}
