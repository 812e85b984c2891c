// A service that trusts one private authority, pins a key and goes through a proxy.
import Lade

var settings = Service.Settings()
settings.transport.tls.trustsSystemAuthorities = false
settings.transport.tls.authorities = [.file("/etc/my-company/ca.pem")]
try settings.transport.tls.pins.pin(["47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="], for: "api.example.com")
settings.transport.proxy = .proxy(.init(.http, host: "proxy.example.com", port: 3128))

do {
    let service = try Service(settings)
    _ = try await service.anonymous.makeLoader().load(Request("https://api.example.com/"))
} catch {
    // One sentence that names the setting, such as “The setting authority cannot be used: …”.
    print(error)
}
