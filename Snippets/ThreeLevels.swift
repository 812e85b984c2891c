// A service for the program, an account for the user, a loader for the screen.
import Lade
import LadeTesting

struct Show: Decodable, Sendable {
    var title: String
}

let transport = ScriptedTransport(answering: .json(#"{"title": "Tagesschau"}"#))
var settings = Service.Settings()
settings.userAgent = .product("Play", version: "1.0")
let service = Service(settings, transport: transport)

let decorator = Service.OAuthDecorator(authenticationProvider: "IdP", accessToken: "token")
var accountSettings = Account.Settings()
accountSettings.identifier = "ann"
accountSettings.decorators = [decorator]
let account = service.account(accountSettings)

let loader = account.makeLoader()
let show = try await loader.load(Endpoint("https://api.example.com/shows/1").decoding(Show.self))
print(show.title)
await account.signOut()
