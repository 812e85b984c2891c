import Foundation
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

    @Test(
        "policies PL-22 the release begins at the end of the delay itself, one interval apart, unless a rate spaces it"
    )
    func releaseTimes() {
        var bucket = RateBucket(rate: nil, concurrency: nil)
        _ = bucket.close(until: second(1), spread: .seconds(2), blur: 0)
        for id in UInt64(1)...2 {
            let place = WaitPlace(priority: .normal, id: id)
            bucket.enqueue(place, "", deadline: nil, taskPriority: 0, now: second(0))
        }

        bucket.advance(now: second(1), spread: .seconds(2), blur: 0.5)

        let starts = (0...3).map { bucket.start(after: $0, now: second(1)) }
        #expect(starts == [1_500, 2_500, 3_500, 3_500].map { Instant(nanoseconds: $0 * 1_000_000) })
        let gate = bucket.gate
        #expect(gate.start(after: 2, now: second(1), isSpaced: true) == Instant(nanoseconds: 1_500_000_000))
    }

    @Test("policies PL-22 a second delay that begins during the release holds the calls to its end")
    func delayDuringRelease() {
        var bucket = RateBucket(rate: nil, concurrency: nil)
        _ = bucket.close(until: second(1), spread: .seconds(2), blur: 0)
        for id in UInt64(1)...2 {
            let place = WaitPlace(priority: .normal, id: id)
            bucket.enqueue(place, "", deadline: nil, taskPriority: 0, now: second(0))
        }
        bucket.advance(now: second(1), spread: .seconds(2), blur: 0.5)

        let isLonger = bucket.close(until: second(5), spread: .seconds(2), blur: 0)

        #expect(isLonger)
        #expect(bucket.start(after: 0, now: second(1)) == second(5))
    }

    @Test("fleet RD-23 RD-24 slots that became void while no timer ran are asked for anew, at once", arguments: [1, 3])
    func voidSlots(held: Int) {
        var bucket = RateBucket(rate: .perSecond(10), concurrency: nil)
        bucket.share = RateShare()
        for id in UInt64(1)...3 {
            let place = WaitPlace(priority: .normal, id: id)
            bucket.enqueue(place, "", deadline: nil, taskPriority: 0, now: second(0))
        }
        let slots = (0..<held).map { second(1).advanced(by: .milliseconds(100 * Int64($0))) }
        bucket.share?.grant(slots, lead: 5_000_000, interval: 100_000_000, now: second(0))

        // With every slot held, no ask is due; the last call starts so late that its timer was never set.
        #expect(held < 3 || bucket.askInstant(now: second(0)) == nil)
        #expect(bucket.askInstant(now: second(9)).map { $0 <= second(9) } == true)
        let (void, _, ask, _) = bucket.consult(now: second(9), mayAsk: true)
        #expect(void == held && ask == 3)
    }

    @Test("fleet RD-34 slots within a delay that a server has requested count as none")
    func slotsInDelay() {
        var bucket = RateBucket(rate: .perSecond(10), concurrency: nil)
        bucket.share = RateShare()
        let place = WaitPlace(priority: .normal, id: 1)
        bucket.enqueue(place, "", deadline: nil, taskPriority: 0, now: second(0))
        bucket.share?.grant([second(1)], lead: 5_000_000, interval: 100_000_000, now: second(0))
        _ = bucket.close(until: second(5), spread: .zero, blur: 0)

        // Five milliseconds before the end of the delay.
        #expect(bucket.askInstant(now: second(0)) == second(5).advanced(by: .milliseconds(-5)))
    }

    @Test("a quota that all accounts share has counted the call whose answer brings it")
    func ownCall() throws {
        let headers: Headers = ["RateLimit-Remaining": "1", "RateLimit-Reset": "10"]
        let reading = try #require(QuotaReading.all(in: headers, now: Date(timeIntervalSince1970: 0)).readings.first)
        func start(isRunning: Bool) -> Instant? {
            var bucket = RateBucket(rate: nil, concurrency: nil)
            bucket.reserve("", due: second(0), now: second(0), blur: 0)
            _ = bucket.observe(reading, nil, isRunning: isRunning, now: second(0))
            return bucket.start(after: 0, now: second(0))
        }

        // One call is left for the ten seconds, or none, because the running call takes it.
        #expect(start(isRunning: true) == second(5))
        #expect(start(isRunning: false) == second(11))
    }

    @Test("another call runs the timer only when its task has a higher priority")
    func leaders() {
        var bucket = RateBucket(rate: .held, concurrency: nil)
        var chosen: [UInt64?] = [bucket.chooseLeader()]
        for (id, priority) in [(UInt64(1), UInt8(21)), (2, 21), (3, 9), (4, 25)] {
            let place = WaitPlace(priority: .normal, id: id)
            bucket.enqueue(place, "", deadline: nil, taskPriority: priority, now: second(0))
            chosen.append(bucket.chooseLeader())
        }

        #expect(chosen == [nil, 1, nil, nil, 4])
        bucket.remove(WaitPlace(priority: .normal, id: 4), "", now: second(0))
        let next = bucket.chooseLeader()
        #expect(next == 2)
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
