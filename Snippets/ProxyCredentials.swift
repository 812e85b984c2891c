// Goes through a proxy that asks for a user name and a password.
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "http://proxy.example.com:3128"
let proxy = try Request(address).url
var settings = Service.Settings()
settings.transport.proxy = .proxy(
    .init(
        .http,
        host: proxy.host() ?? "",
        port: proxy.port ?? 3128,
        credentials: .init(user: "ann", password: Secret("secret")),
        exceptions: [".internal.example.com"]
    )
)
print(try await Loader(settings).load(Request("http://api.example.com/shows/1")).text)
