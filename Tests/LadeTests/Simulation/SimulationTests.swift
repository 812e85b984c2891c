#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import SharedDoubles
import Testing

/// Hours of calls through every interceptor, with every fault that servers have.
///
/// A failing run names its seed; `LADE_SIMULATION_SEEDS=17,18 swift test --filter SimulationTests` repeats it exactly.
// A sanitizer takes several times as long.
@Suite("Simulation", .timeLimit(.minutes(30)))
struct SimulationTests {
    /// The seeds of every `make soak`.
    static let fixedSeeds: [UInt64] = [2026, 17, 404]

    /// The seeds that the environment names, or one that no run has had before; in `make soak` the fixed ones and ten.
    static func seeds(
        _ environment: [String: String],
        random: @autoclosure () -> UInt64 = .random(in: 1_000...999_999_999)
    ) -> [UInt64] {
        let named = environment["LADE_SIMULATION_SEEDS"] ?? ""
        let seeds = named.split(separator: ",").compactMap { UInt64($0) }
        guard seeds.isEmpty else { return seeds }
        let soak = Soak(environment)
        return (soak.share == nil ? [] : fixedSeeds) + (0..<soak.rounds(of: 10, few: 1)).map { _ in random() }
    }

    static let seeds = seeds(ProcessInfo.processInfo.environment)

    @Test(
        "takes another seed each time, and in make soak three fixed ones too, unless seeds are named: finding FQ-26",
        arguments: [
            ([:], [5]), (["LADE_SOAK": "0.2"], [2026, 17, 404, 5, 5]),
            (["LADE_SOAK": "1", "LADE_SIMULATION_SEEDS": "17,18"], [17, 18]),
        ] as [([String: String], [UInt64])]
    )
    func choosesSeeds(environment: [String: String], expected: [UInt64]) {
        #expect(Self.seeds(environment, random: 5) == expected)
    }

    @Test(
        "finding FQ-26 the simulation's own key is host, port and first component",
        arguments: [
            ("https://api.example.com/v1/7?token=x", "api.example.com:443/v1"),
            ("https://cdn.example.com/img/gallery-1", "cdn.example.com:443/img"),
            ("https://id.example.com/token", "id.example.com:443/token"),
            ("https://www.example.com/go?a=/b", "www.example.com:443/go"),
        ]
    )
    func ownKeys(url: String, key: String) throws {
        #expect(ModelServers.key(of: try #require(URL(string: url))).description == key)
    }

    @Test(
        "policies PL-14 PL-16 PL-22 PL-24 PL-25 PL-47 PL-60 hold through 10,000 calls of a server with faults",
        arguments: seeds
    )
    func badDay(seed: UInt64) async throws {
        print("simulation: seed \(seed)")
        let outcome = try await Simulation(seed: seed, size: 12_000).run()

        for violation in outcome.violations.prefix(20) { Issue.record("seed \(seed): \(violation)") }
        #expect(outcome.violations.isEmpty, "seed \(seed): \(outcome.violations.count) violations")
        #expect(outcome.calls >= 10_000)
        #expect(outcome.elapsed >= .seconds(2 * 3600))
        #expect(outcome.gatesClosed > 10, "seed \(seed) has no storms")
        #expect(outcome.reachedCaps, "seed \(seed) has no crowds")
        #expect(abs(outcome.meteredRate - 7) <= 0.07, "seed \(seed): \(outcome.meteredRate) per second instead of 7")
        #expect(outcome.effects > 500, "seed \(seed): \(outcome.effects) orders were carried out")
        // Both endings must be frequent, or nothing is proven.
        #expect(outcome.endings["success"] ?? 0 > outcome.calls / 2, "seed \(seed): \(outcome.endings)")
        #expect(outcome.endings["call failed: cancelled"] ?? 0 > 100, "seed \(seed): \(outcome.endings)")
        if ProcessInfo.processInfo.environment["LADE_SIMULATION_SEEDS"] != nil { print(outcome) }
    }

    /// The size of the runs that show that the simulation works.
    private static let smallSize = Soak.current.rounds(of: 1500, few: 600)

    @Test(
        "policies PL-73 policies PL-75 the same holds where slow requests are hedged",
        arguments: [HedgingPolicy.delay(.milliseconds(150)), .percentile(90)]
    )
    func hedged(policy: HedgingPolicy) async throws {
        let events = EventCount()
        let outcome = try await Simulation(seed: 11, size: 3_000) {
            $0.hedging = policy
            $0.observers.append(events)
        }.run()

        for violation in outcome.violations.prefix(20) { Issue.record("\(policy): \(violation)") }
        #expect(events.started > 100)
        #expect(events.used > 10 && events.unused > 10 && events.refused > 10, "\(events.description)")
    }

    /// How often requests were hedged.
    private final class EventCount: Call.Observer, CustomStringConvertible {
        private let counts = Locked((started: 0, used: 0, unused: 0, refused: 0))

        var started: Int { counts.withLock(\.started) }
        var used: Int { counts.withLock(\.used) }
        var unused: Int { counts.withLock(\.unused) }
        var refused: Int { counts.withLock(\.refused) }
        var description: String { "\(counts.withLock { $0 })" }

        func record(_ event: Call.Event, of call: Call) {
            switch event {
            case .hedgeStarted: counts.withLock { $0.started += 1 }
            case .hedgeFinished(let used): counts.withLock { if used > 0 { $0.used += 1 } else { $0.unused += 1 } }
            case .hedgeRefused: counts.withLock { $0.refused += 1 }
            default: break
            }
        }
    }

    @Test("a seed repeats a run of the simulation, event by event")
    func repeats() async throws {
        let first = try await Simulation(seed: 7, size: Self.smallSize, keepsLines: true).run()
        let second = try await Simulation(seed: 7, size: Self.smallSize, keepsLines: true).run()

        let difference = zip(first.lines, second.lines).enumerated().first { $1.0 != $1.1 }
        #expect(difference == nil, "event \(difference.map { "\($0.offset): \($0.element)" } ?? "")")
        #expect(first.lines.count == second.lines.count)
        #expect(first.lines.count > 7 * Self.smallSize)
        #expect(first.endings == second.endings)
    }

    @Test("an interceptor that violates a rule is detected by the simulation", arguments: InjectedFault.allCases)
    func notices(_ injected: InjectedFault) async throws {
        let outcome = try await Simulation(seed: 3, size: Self.smallSize, injected: injected.apply).run()

        for clue in injected.clues {
            #expect(outcome.violations.contains { $0.contains(clue) }, "no violation has “\(clue)”")
        }
    }
}

/// A fault in the stack, and the violations that the checks report for it.
enum InjectedFault: CaseIterable, Sendable {
    case noRateLimits
    case noConcurrencyCaps
    case repeatsEverything
    case newKeys
    case repeatsForEver
    case showsSecrets
    case hidesTime

    var clues: [String] {
        switch self {
        case .noRateLimits: ["closed until", "early"]
        case .noConcurrencyCaps: ["concurrent exchanges, which is more than"]
        case .repeatsEverything: ["was repeated", "an effect came twice"]
        case .newKeys: ["came with two keys", "an effect came twice"]
        case .repeatsForEver: ["attempts in", "of a budget"]
        case .showsSecrets: ["a secret is shown"]
        case .hidesTime: ["is accounted for"]
        }
    }

    func apply(to settings: inout Service.Settings) {
        switch self {
        case .noRateLimits:
            settings.adjustChain = { $0.remove(.rateLimit) }
        case .noConcurrencyCaps:
            // Removing a limit cannot be refused.
            for key in ModelServers.caps.keys { try? settings.rateLimiter?.setConcurrency(nil, for: key) }
        case .repeatsEverything:
            settings.retries.methods = .all
        case .newKeys:
            settings.attemptInterceptors.append(Rekeying())
        case .repeatsForEver:
            settings.retryBudget = nil
            settings.adjustChain = { layout in
                var policy = RetryPolicy()
                policy.limit = 20
                policy.backoff = .fullJitter(base: .milliseconds(1), maximum: .milliseconds(2))
                layout.replace(.retry, with: AttemptInterceptor(retries: policy))
            }
        case .showsSecrets:
            settings.attemptInterceptors.append(Reporting())
        case .hidesTime:
            // Above the interceptor that records exchanges, where no wait is known.
            settings.adjustChain = { $0.insert(Dawdling(), above: .retry) }
        }
    }

    /// Puts a secret into an error.
    private struct Reporting: Interceptor {
        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            let response = try await next(request)
            guard response.status == 404 else { return response }
            throw LoadingError(
                .transport(code: 1, message: request.headers["Authorization"] ?? ""),
                LoadingError.Context(request)
            )
        }
    }

    /// Gives each attempt a different idempotency key.
    private struct Rekeying: Interceptor {
        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            guard let key = request.headers["Idempotency-Key"] else { return try await next(request) }
            var changed = request
            changed.headers["Idempotency-Key"] = "\(key)-\(next.call.attempt)"
            return try await next(changed)
        }
    }

    /// Waits without saying why.
    private struct Dawdling: Interceptor {
        func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
            try await next.call.time.sleep(for: .milliseconds(300))
            return try await next(request)
        }
    }
}
