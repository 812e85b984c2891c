#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How much of their random or exhaustive input the long tests run.
///
/// `make test` runs a small sample, with another seed each time. `make soak` sets `LADE_SOAK` to the share of the whole
/// that it runs: 1, or less in CI. `LADE_SEED` repeats a run.
package struct Soak: Sendable {
    /// The soak of this process.
    package static let current = Soak(ProcessInfo.processInfo.environment)

    /// The share of the whole, above 0 and at most 1; nil in `make test`.
    package let share: Double?
    /// The seed that the environment names, or a new one each time, for tests that print it with a failure.
    package var seed: UInt64 { namedSeed ?? .random(in: 1...999_999_999) }

    private let namedSeed: UInt64?

    package init(_ environment: [String: String]) {
        share = environment["LADE_SOAK"].flatMap { Double($0) }.flatMap { $0 > 0 ? min($0, 1) : nil }
        namedSeed = environment["LADE_SEED"].flatMap { UInt64($0) }
    }

    /// How many rounds of a whole run take place: the share of `whole`, and at least `few`, which `make test` runs.
    package func rounds(of whole: Int, few: Int) -> Int {
        guard let share else { return few }
        return max(few, Int(Double(whole) * share))
    }

    /// The numbers of some rounds; before each, other tests get their turn, which would else pass their time limits.
    package static func turns(_ count: Int) -> Turns { Turns(rounds: 0..<count) }

    /// The numbers of rounds between which the task yields.
    package struct Turns: AsyncSequence, AsyncIteratorProtocol {
        private var rounds: Range<Int>

        fileprivate init(rounds: Range<Int>) { self.rounds = rounds }

        package func makeAsyncIterator() -> Turns { self }

        package mutating func next(isolation actor: isolated (any Actor)?) async -> Int? {
            await Task.yield()
            return rounds.popFirst()
        }

        package mutating func next() async -> Int? { await next(isolation: nil) }
    }

    /// The seed that the environment names, or a new one, which is printed.
    package func seed(for test: String) -> UInt64 {
        let seed = seed
        print("\(test): LADE_SEED=\(seed)")
        return seed
    }
}
