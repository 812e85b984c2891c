// Signs requests to one origin with tokens of an OAuth 2 server, and dials a backup when the first address is dead.
import Foundation
import LadeCore
import LadePolicies

#if canImport(LadeCurl)
    import LadeCurl

    let transport = try CurlTransport()
#else
    import LadeURLSession

    let transport = try URLSessionTransport()
#endif

let tokenEndpoint = try Request("https://id.example.com/token").url
var oauth = OAuth2Settings(tokenEndpoint: tokenEndpoint, grant: .clientCredentials, clientID: "app")
oauth.clientProof = .basic(Secret(ProcessInfo.processInfo.environment["APP_SECRET"] ?? ""))
let authoriser = OAuth2Authoriser(oauth, scope: try CredentialScope("https://api.example.com"))
let hosts = HostDirectory(["api.example.com": ["api.example.com", "backup.example.com"]])

let chain = Chain(
    [
        RedirectInterceptor(), CookieInterceptor(jar: CookieJar()), HostsInterceptor(directory: hosts),
        AuthorisationInterceptor(authorisers: [authoriser]),
    ],
    transport: transport
)
print(chain)
print(try await chain.send(Request("https://api.example.com/shows"), call: Call()).status)
