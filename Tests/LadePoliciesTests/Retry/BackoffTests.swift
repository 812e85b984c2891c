#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadePolicies
import Testing

@Suite(.timeLimit(.minutes(5)))
struct BackoffTests {
    let random = SeededRandom(seed: 7)

    @Test("service TI-01 starts again with exactly the initial interval")
    func resets() {
        var timer = ExponentialTimer(initial: .seconds(1), maximum: .seconds(10))
        for _ in 0..<3 { #expect(timer.takeAndAdvance(random) > .zero) }
        timer.reset()
        #expect(timer.takeAndAdvance(random) == .seconds(1))
    }

    @Test("service TI-02 stays at zero forever when it starts there")
    func staysAtZero() {
        var timer = ExponentialTimer(initial: .zero, maximum: .seconds(10), jitter: 0)
        for _ in 0..<10 { #expect(timer.takeAndAdvance(random) == .zero) }
    }

    @Test("service TI-03 never passes the maximum")
    func observesMaximum() {
        var timer = ExponentialTimer(initial: .seconds(1), maximum: .seconds(10))
        for _ in 0..<100 { #expect(timer.takeAndAdvance(random) <= .seconds(10)) }
    }

    @Test("service TI-03 grows by e with the mean of its blur")
    func growsByE() {
        var sum = 0.0
        for _ in 0..<2_000 {
            var timer = ExponentialTimer(initial: .seconds(1), maximum: .seconds(1000))
            for _ in 0..<3 { _ = timer.takeAndAdvance(random) }
            sum += timer.takeAndAdvance(random) / .seconds(1)
        }
        #expect(abs(sum / 2_000 - 20.0855) < 0.3)
    }

    @Test("service D-25 blurs every delay, at the maximum too, and is never negative")
    func blursEveryDelay() {
        var first: Set<Duration> = []
        var atMaximum: [Duration: Int] = [:]
        for _ in 0..<200 {
            var delays = RetryPolicy.Backoff.exponentialTimer(initial: .seconds(1), maximum: .seconds(10)).makeDelays()
            first.insert(delays.next(random))
            for _ in 0..<5 { _ = delays.next(random) }
            atMaximum[delays.next(random), default: 0] += 1
        }
        var wild = ExponentialTimer(initial: .seconds(1), maximum: .seconds(10), jitter: 3)

        #expect(first.count > 190)
        #expect(atMaximum.values.allSatisfy { $0 <= 2 })
        let delays = (0..<1_000).map { _ in wild.takeAndAdvance(random) }
        #expect(delays.allSatisfy { $0 >= .zero })
        // A third of the samples is negative: they are mirrored and not cut off, which would make that many delays zero.
        #expect(delays.count { $0 == .zero } < 10)
    }

    @Test("policies PL-10 spreads the n-th further try evenly over half a second times 2ⁿ, up to 20 s")
    func spreadsFully() {
        var largest = [Double](repeating: 0, count: 8)
        var sums = [Double](repeating: 0, count: 8)
        for _ in 0..<2_000 {
            var delays = RetryPolicy.Backoff.fullJitter().makeDelays()
            for index in 0..<8 {
                let delay = delays.next(random) / .seconds(1)
                largest[index] = max(largest[index], delay)
                sums[index] += delay
            }
        }
        for (index, bound) in [1.0, 2, 4, 8, 16, 20, 20, 20].enumerated() {
            #expect(largest[index] < bound && largest[index] > bound * 0.98)
            #expect(abs(sums[index] / 2_000 - bound / 2) < bound * 0.03)
        }
    }

    @Test("policies PL-10 takes the base as the longest first delay")
    func startsWithTheBase() {
        let largest = (0..<2_000).map { _ in
            var delays = RetryPolicy.Backoff.fullJitter(base: .milliseconds(250)).makeDelays()
            return delays.next(random)
        }.max()
        #expect((largest ?? .zero) < .milliseconds(250))
        #expect((largest ?? .zero) > .milliseconds(245))
    }
}
