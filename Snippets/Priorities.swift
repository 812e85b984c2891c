// Calls that wait for the same limit start in the order of their priority.
import Lade

let address = CommandLine.arguments.dropFirst().first ?? "https://api.example.com"
var limits = RateLimits(default: .held)
limits.concurrency = 1
let limiter = try RateLimiter(limits)
var settings = Service.Settings()
settings.rateLimiter = limiter
let loader = try Loader(settings)

try await withThrowingTaskGroup(of: Void.self) { group in
    for priority in [Request.Priority.low, .normal, .high] {
        group.addTask {
            var request = try Request(address + "/shows/\(priority)")
            request.priority = priority
            _ = try await loader.load(request)
        }
    }
    // A rate of zero holds the calls. Without it the first one would start before the others wait.
    while limiter.waitingCount < 3 { await Task.yield() }
    try limiter.setDefaultRate(nil)
    try await group.waitForAll()
}
print("all loaded")
