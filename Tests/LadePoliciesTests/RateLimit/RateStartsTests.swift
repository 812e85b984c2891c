import LadeCore
import LadeTesting
import Testing

@testable import LadePolicies

/// What can be returned of a rate when a slot was not used.
@Suite("Starts of a rate", .timeLimit(.minutes(5)))
struct RateStartsTests {
    private static let second: Int64 = 1_000_000_000

    @Test("a slot is returned whole before any other start")
    func last() {
        var starts = RateStarts()
        starts.add(slack: 0)
        #expect(starts.refund(1, atMost: Self.second) == Self.second)
    }

    @Test("a slot returned after the service was idle is lost")
    func idle() {
        var starts = RateStarts()
        starts.add(slack: 0)
        starts.add(slack: -9 * Self.second)
        #expect(starts.refund(1, atMost: Self.second) == 0)
        #expect(starts.refund(2, atMost: Self.second) == Self.second)
    }

    @Test("slots of a burst are all returned, in any order", arguments: [[1, 2, 3], [3, 2, 1], [2, 1, 3]])
    func burst(order: [UInt64]) {
        var starts = RateStarts()
        for ahead in 0..<3 { starts.add(slack: Int64(ahead) * Self.second) }
        #expect(order.map { starts.refund($0, atMost: Self.second) } == [Self.second, Self.second, Self.second])
    }

    /// The same rate without the returned starts, computed from the beginning.
    private static func paidUntil(_ times: [Int64], without unused: Set<Int>) -> Int64 {
        times.indices.reduce(Int64.min) { unused.contains($1) ? $0 : max($0, times[$1]) + second }
    }

    @Test(
        "property: a returned slot never leaves more than if it had not been taken",
        arguments: 0..<50 as Range<UInt64>
    )
    func property(seed: UInt64) {
        let random = SeededRandom(seed: seed)
        var starts = RateStarts()
        var times: [Int64] = []
        var (now, paid) = (Int64(0), Int64.min)
        var unused: Set<Int> = []
        for _ in 0..<200 {
            now += Int64(random.next() % 3_000_000_000)
            if random.next() % 3 > 0 || times.isEmpty {
                // A burst of four.
                guard paid == .min || paid <= now + 3 * Self.second else { continue }
                starts.add(slack: paid == .min ? 0 : paid - now)
                times.append(now)
                paid = max(paid, now) + Self.second
            } else {
                let index = max(0, times.count - 1 - Int(random.next() % 5))
                guard unused.insert(index).inserted else { continue }
                paid -= starts.refund(UInt64(index + 1), atMost: Self.second)
            }
            #expect(paid >= Self.paidUntil(times, without: unused), "seed \(seed)")
        }
    }
}
