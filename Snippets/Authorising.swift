// Signs requests to one origin with tokens of an OAuth 2 server, and dials a backup when the first address is dead.
import Foundation
import Lade

let tokenEndpoint = try Request("https://id.example.com/token").url
var oauth = Authorisation.OAuth2.Settings(tokenEndpoint: tokenEndpoint, grant: .clientCredentials, clientID: "app")
oauth.clientProof = .basic(Secret(ProcessInfo.processInfo.environment["APP_SECRET"] ?? ""))
let authoriser = Authorisation.OAuth2(oauth, scope: try Authorisation.Scope("https://api.example.com"))

var settings = Service.Settings()
settings.hosts = HostDirectory(["api.example.com": ["api.example.com", "backup.example.com"]])
let account = try Service(settings).account(authorisers: [authoriser])
print(account.chain)
print(try await account.makeLoader().load(Request("https://api.example.com/shows")).status)
