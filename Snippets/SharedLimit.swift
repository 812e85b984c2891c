// Keeps ten calls a second together with every other process of the fleet “shows”.
import Lade
import LadeRedis

let fleet = try Fleet("redis://127.0.0.1/shows")
try await fleet.join()
var settings = Service.Settings()
settings.rateLimiter = try RateLimiter(RateLimits(default: .perSecond(10)), fleet: fleet)
let loader = try Loader(settings)
print(try await loader.load(Request("https://api.example.com/shows")).status)
await fleet.leave()
