#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadePolicies
import LadeTesting

/// The common parts of the limiter's tests.
protocol RateLimiterSuite {
    var time: VirtualTime { get }
    var random: SeededRandom { get }
}

extension RateLimiterSuite {
    func limiter(_ limits: RateLimits = RateLimits(default: .perSecond(10))) throws -> RateLimiter {
        try RateLimiter(limits, time: time, random: random)
    }

    func seconds(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64((seconds * 1e9).rounded())) }

    /// Starts a number of calls together and returns the times at which they got their slots, in order of arrival.
    func starts(
        _ count: Int,
        _ limiter: RateLimiter,
        path: String = "/v1/shows",
        priority: @escaping @Sendable (Int) -> Request.Priority = { _ in .normal },
        meanwhile: @escaping @Sendable () async -> Void = {}
    ) async -> [Instant] {
        let time = time
        return await time.runAutomatically {
            await withTaskGroup(of: (Int, Instant).self) { group in
                for number in 0..<count {
                    group.addTask {
                        guard var request = try? Request("https://api.example.com\(path)") else {
                            return (number, .init(nanoseconds: -1))
                        }
                        request.priority = priority(number)
                        let call = Call(id: .init(UInt64(number + 1)), time: time)
                        guard let slot = try? await limiter.start(request, call: call) else {
                            return (number, .init(nanoseconds: -1))
                        }
                        let start = time.now
                        slot.finish()
                        return (number, start)
                    }
                }
                group.addTask {
                    await meanwhile()
                    return (count, time.now)
                }
                return await group.reduce(into: [(Int, Instant)]()) { $0.append($1) }
                    .sorted { $0.0 < $1.0 }.dropLast().map(\.1)
            }
        }
    }
}
