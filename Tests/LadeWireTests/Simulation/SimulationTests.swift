import CProcess
import Foundation
import LadeCore
import SharedDoubles
import Testing

@testable import LadeExchange
@testable import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Faults at every byte and at every call of the system: a random part of them in `make test`, and `make soak` runs all
/// of them in several weathers.
@Suite("The loop over simulated sockets", .serialized, .timeLimit(.minutes(30)))
struct SimulationTests {
    /// A scenario with a fault.
    private struct Case {
        var scenario: Scenario
        var place: SimulatedSystem.Place?
        var replacement: SimulatedSystem.Replacement?
        var weather: UInt64?
    }

    /// The error numbers of each call.
    private static let errors: [SimulatedSystem.SystemCall: [Int32]] = [
        .connect: [EMFILE, ENFILE, ENOBUFS, EACCES, EADDRNOTAVAIL, ENETUNREACH, ECONNREFUSED, ETIMEDOUT],
        .connectError: [ECONNREFUSED, ECONNRESET, ETIMEDOUT, EHOSTUNREACH, ENETUNREACH],
        .receive: [EAGAIN, ECONNRESET, ETIMEDOUT, ENOMEM],
        .send: [EAGAIN, EPIPE, ECONNRESET, ENOBUFS, EHOSTUNREACH],
        // 0 is bytes that belong to no request.
        .peek: [EAGAIN, ECONNRESET, 0],
        // No addresses, none ever, and a cancellation meanwhile.
        .lookUp: [ENOENT, ETIMEDOUT, ECANCELED],
    ]

    private static let wakeUp = lade_event_descriptor()

    /// Runs a case.
    ///
    /// - Returns: The run, and what did not hold.
    private static func run(_ test: Case) -> (Simulation, findings: [String]) {
        let system = test.scenario.system(
            place: test.place,
            replacement: test.replacement,
            weather: test.weather.map(Weather.init),
            wakeUpDescriptor: wakeUp
        )
        let simulation = Simulation(test.scenario.lanes, test.scenario.settings, on: system)
        simulation.recordsEvents = test.scenario.proxy != nil
        if case .shutDown? = test.place?.fault { simulation.stops = true }
        simulation.run()
        simulation.checkOutcomes()
        let findings = simulation.findings + (benignFailure(test, simulation).map { [$0] } ?? [])
        return (simulation, findings.map { "\($0): \(test)" })
    }

    /// What only changes when bytes come changes no outcome.
    private static func benignFailure(_ test: Case, _ simulation: Simulation) -> String? {
        let isBenign =
            test.replacement.map { $0.errno == EAGAIN } ?? true
            && test.place.map { $0.fault == .split || $0.fault == .crumble } ?? true
        guard isBenign else { return nil }
        for (call, outcome) in zip(simulation.calls, simulation.outcomes) where outcome.error != call.error {
            return "a call ended without a reason with \(String(describing: outcome.error))"
        }
        return nil
    }

    /// Every case of a scenario, from a run without a fault.
    private static func cases(of scenario: Scenario, _ findings: inout [String]) -> [Case] {
        let (calm, found) = run(Case(scenario: scenario))
        findings += found
        for (call, outcome) in zip(calm.calls, calm.outcomes)
        where call.error == nil && outcome.content != Array(call.content.utf8) {
            findings.append("the calm run has another body")
        }
        var cases: [Case] = []
        for connection in calm.system.delivered.indices {
            for direction in SimulatedSystem.Direction.allCases {
                let bytes =
                    direction == .inward ? calm.system.delivered[connection] : calm.system.accepted[connection]
                for offset in 0...bytes {
                    for fault in SimulatedSystem.Fault.allCases where fault != .crumble || offset % 8 == 0 {
                        let place = SimulatedSystem.Place(
                            connection: connection,
                            direction: direction,
                            offset: offset,
                            fault: fault
                        )
                        cases.append(Case(scenario: scenario, place: place))
                    }
                }
            }
        }
        // In a fixed order, so that a seed repeats its cases.
        for call in SimulatedSystem.SystemCall.allCases {
            for number in 0..<(calm.system.calls[call] ?? 0) {
                for errno in errors[call] ?? [] {
                    let replacement = SimulatedSystem.Replacement(call: call, number: number, errno: errno)
                    cases.append(Case(scenario: scenario, replacement: replacement))
                }
            }
        }
        return cases
    }

    @Test(
        "ends each call once and rightly, with a fault at any byte and any call of the system: wire WR-3, WR-66, WR-68",
        arguments: Scenario.all
    )
    func faults(scenario: Scenario) async {
        // On a thread of its own, because it waits for the tasks that make bodies.
        let findings = await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: Self.sweep(scenario)) }
        }
        #expect(findings.isEmpty, "\(findings.count) findings")
    }

    /// Runs the cases of a scenario.
    ///
    /// - Returns: What did not hold.
    private static func sweep(_ scenario: Scenario) -> [String] {
        var findings: [String] = []
        var weather = Weather(state: Soak.current.seed(for: "simulation of \(scenario)"))
        let cases = cases(of: scenario, &findings)
        let count = Soak.current.rounds(of: 500_000 / Scenario.all.count, few: 6_000 / Scenario.all.count)
        let began = ContinuousClock.now
        var order = cases.indices.shuffled(using: &weather)[...]
        for _ in 0..<count where findings.count < 10 {
            // Each case once, and then again with other sizes and orders.
            let isRepeated = order.isEmpty
            let index = order.popFirst() ?? Int.random(in: cases.indices, using: &weather)
            var test = cases[index]
            if isRepeated || Bool.random(using: &weather) { test.weather = weather.next() }
            findings += run(test).findings
        }
        let seconds = (ContinuousClock.now - began) / .seconds(1)
        print(
            "simulation of \(scenario): \(cases.count) cases, \(count) runs, \(Int(Double(count) / seconds)) a second"
        )
        return findings
    }
}
