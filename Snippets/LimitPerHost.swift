// At most fifty requests a second to each host, whatever their paths.
import Foundation
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
var limits = RateLimits(default: .perSecond(50))
limits.concurrency = 2
// Without a rule of its own, a limit is per host, port and first component of the path.
limits.keyRule = { request in ServiceKey(request.url.host() ?? "") }
var settings = Service.Settings()
settings.rateLimiter = try RateLimiter(limits)
let loader = try Loader(settings)
let start = ContinuousClock.now
try await withThrowingTaskGroup(of: Void.self) { group in
    for number in 1...6 {
        group.addTask { _ = try await loader.load(Request(address + "/shows/\(number)")) }
    }
    try await group.waitForAll()
}
print("6 requests took at least 100 ms:", start.duration(to: .now) >= .milliseconds(100))
