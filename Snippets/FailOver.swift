// Asks a second address when the first one of a host cannot be reached.
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let port = try Request(address).url.port ?? 443
var settings = Service.Settings()
settings.hosts.setAddresses(
    [HostDirectory.Address("127.0.0.9", port: 1), HostDirectory.Address("127.0.0.1", port: port)],
    for: "api.localhost"
)
let loader = try Loader(settings)
let response = try await loader.load(Request("http://api.localhost:\(port)/shows/1"))
print(response.status)
