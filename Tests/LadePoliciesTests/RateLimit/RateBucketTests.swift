import LadeCore
import Testing

@testable import LadePolicies

@Suite(.timeLimit(.minutes(1)))
struct RateBucketTests {
    private func second(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test("policies PL-22 spreads those who waited at a gate, and holds nobody who comes later for it")
    func releases() {
        var bucket = RateBucket(rate: nil, concurrency: nil)
        _ = bucket.close(until: second(1), spread: .seconds(2), blur: 0)
        for id in UInt64(1)...2 { bucket.queues[1].insert(id) }
        bucket.open(now: second(1), spread: .seconds(2), blur: 0.5)
        // Somebody always waits, as with pages that are fetched ahead.
        for id in UInt64(3)...4 { bucket.queues[1].insert(id) }

        bucket.queues[1].leave { _ in true }
        bucket.reserve(due: second(2), now: second(2), blur: 0.5)
        let second = bucket.start(after: 0, now: second(2))
        bucket.queues[1].leave { _ in true }
        bucket.reserve(due: self.second(3), now: self.second(3), blur: 0.5)

        #expect(second == self.second(3))
        #expect(bucket.waiting == 2)
        #expect(bucket.start(after: 0, now: self.second(3)) == self.second(3))
    }
}
