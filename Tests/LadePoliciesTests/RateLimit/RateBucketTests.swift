import LadeCore
import Testing

@testable import LadePolicies

@Suite(.timeLimit(.minutes(5)))
struct RateBucketTests {
    private func second(_ seconds: Int64) -> Instant { Instant(nanoseconds: seconds * 1_000_000_000) }

    @Test("policies PL-22 spreads the calls that waited at a gate, and does not hold later calls for them")
    func releases() {
        var bucket = RateBucket(rate: nil, concurrency: nil)
        _ = bucket.close(until: second(1), spread: .seconds(2), blur: 0)
        let places = (UInt64(1)...4).map { WaitPlace(priority: .normal, id: $0) }
        for place in places[..<2] { bucket.enqueue(place, "", deadline: nil, taskPriority: 0, now: second(0)) }
        bucket.advance(now: second(1), spread: .seconds(2), blur: 0.5)
        // Some call always waits, as with pages that are loaded ahead.
        for place in places[2...] { bucket.enqueue(place, "", deadline: nil, taskPriority: 0, now: second(1)) }

        bucket.remove(places[0], "", now: second(2))
        bucket.reserve("", due: second(2), now: second(2), blur: 0.5)
        let second = bucket.start(after: 0, now: second(2))
        bucket.remove(places[1], "", now: self.second(3))
        bucket.reserve("", due: self.second(3), now: self.second(3), blur: 0.5)

        #expect(second == self.second(3))
        #expect(bucket.waiting == 2)
        #expect(bucket.start(after: 0, now: self.second(3)) == self.second(3))
    }

    @Test("finding FQ-16 after a server-requested delay calls start one interval apart, whatever the burst")
    func noBurstAfterADelay() throws {
        var bucket = RateBucket(rate: .perSecond(1, burst: 10), concurrency: nil)
        // The delay begins while the burst is unused.
        _ = bucket.close(until: second(30), spread: .seconds(2), blur: 0)
        var starts: [Instant] = []

        for _ in 0..<12 {
            let start = try #require(bucket.start(after: 0, now: starts.last ?? second(0)))
            bucket.reserve("", due: start, now: start, blur: 0)
            starts.append(start)
        }

        #expect(starts == (30..<42).map { second($0) })
        #expect(bucket.start(after: 3, now: second(41)) == second(45))
    }
}
