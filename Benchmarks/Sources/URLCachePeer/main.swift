import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

// Asks for one address again and again with URLSession and a URLCache, for Benchmarks/cache: URLCachePeer URL COUNT

let words = CommandLine.arguments
guard words.count == 3, let url = URL(string: words[1]), let count = Int(words[2]) else { exit(2) }
let configuration = URLSessionConfiguration.default
configuration.urlCache = URLCache(memoryCapacity: 64 << 20, diskCapacity: 0, diskPath: nil)
configuration.requestCachePolicy = .useProtocolCachePolicy
let session = URLSession(configuration: configuration)

func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

func fetch() async throws {
    let (body, response) = try await session.data(from: url)
    guard (response as? HTTPURLResponse)?.statusCode == 200, !body.isEmpty else { exit(3) }
}

for _ in 0..<max(count / 20, 1) { try await fetch() }
let (start, before) = (ContinuousClock.now, processorTime())
for _ in 0..<count { try await fetch() }
let processor = (processorTime() - before) / Double(count) * 1e6
let time = ContinuousClock.now - start
let seconds = Double(time.components.seconds) + Double(time.components.attoseconds) * 1e-18
print("\(Int(Double(count) / seconds)) \(processor)")
