// Renews the tokens of a sign-in as one with every other process of the fleet “shows”.
import Foundation
import Lade
import LadeRedis

guard let endpoint = URL(string: "https://auth.example.com/token") else { exit(1) }
let secret = Secret("the refresh token of the sign-in")
let scope = try Authorisation.Scope("https://api.example.com")
let fleet = try Fleet("redis://127.0.0.1/shows")
let settings = Authorisation.OAuth2.Settings(tokenEndpoint: endpoint, grant: .refreshToken(secret), clientID: "app")
let sharing = try fleet.credentials("reports")
let authoriser = Authorisation.OAuth2(settings, scope: scope, sharing: sharing)
var account = Account.Settings()
account.authorisers = [authoriser]
let loader = try Service().account(account).makeLoader()
print(try await loader.load(Request("https://api.example.com/shows")).status)
await fleet.leave()
