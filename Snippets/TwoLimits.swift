// Two limits over one request: one for the host, and a lower one for a path of it.
import Lade

/// How long the calls take that begin together.
func duration(of addresses: [String], with loader: Loader) async throws -> Duration {
    let start = ContinuousClock.now
    try await withThrowingTaskGroup(of: Void.self) { group in
        for address in addresses { group.addTask { _ = try await loader.load(Request(address)) } }
        try await group.waitForAll()
    }
    return start.duration(to: .now)
}

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
let search = try Request(address + "/search/1")
var limits = RateLimits()
limits.rates = [ServiceKey(search): .perSecond(20), ServiceKey.perHost(search): .perSecond(50)]
limits.furtherKeys = { [ServiceKey.perHost($0)] }
var settings = Service.Settings()
settings.rateLimiter = try RateLimiter(limits)
let loader = try Loader(settings)

let searches = try await duration(of: (1...4).map { address + "/search/\($0)" }, with: loader)
print("4 searches took at least 150 ms:", searches >= .milliseconds(150))
let others = try await duration(of: (1...5).map { address + "/others\($0)" }, with: loader)
print("5 other calls took at least 80 ms:", others >= .milliseconds(80))
