import CHangingResolver
import Foundation
import LadeConformance
import LadeCore
import LadeTesting
import LadeWire
import Testing

/// The suite's context for `WireTransport`.
private func makeContext() -> ConformanceContext {
    var context = ConformanceContext(shutDown: { await ($0 as? WireTransport)?.shutDown() }) { settings in
        try WireTransport(settings: settings)
    }
    // The machine may be busy with every other test.
    context.patience = .seconds(240)
    #if os(Linux)
        context.hangingName = {
            let host = "wire.hanging.lade.test"
            guard lade_hanging_host_arm(host, { lookUpBegan.raise() }) != 0 else {
                throw ConformanceError.skipped("the name \(host) hangs already")
            }
            return ConformanceContext.HangingName(
                host: host,
                lookUpBegan: { try await lookUpBegan.wait() },
                release: { lade_hanging_host_release(host) }
            )
        }
    #endif
    return context
}

/// Raised by the first look-up of the name that hangs.
private let lookUpBegan = Signal()

/// What the transport does not have yet, as the beginnings of the findings about it; an empty one is the whole case.
///
/// A case whose listed findings do not appear any more fails, so that this table ends with the transport's steps.
private let notDone: [String: [String]] = [:]

private let isCI = ProcessInfo.processInfo.environment["CI"] == "true"

/// Runs one case of the transport's conformance suite on `WireTransport`.
private func conform(_ number: String) async throws {
    let test = try #require(TransportConformance.conformanceCase(number))
    do {
        var findings: [String] = []
        do {
            try await test.run(makeContext())
        } catch ConformanceError.failed(_, let found) {
            findings = found
        }
        let listed = notDone[number] ?? []
        for beginning in listed where !findings.contains(where: { $0.hasPrefix(beginning) }) {
            Issue.record("\(number): “\(beginning)” passes, and is in the table of what is not done")
        }
        findings.removeAll { finding in listed.contains { finding.hasPrefix($0) } }
        // Recorded, not thrown: this may run in a process of its own, which an error would end without a word.
        if !findings.isEmpty { Issue.record("\(number): \(findings.joined(separator: "; "))") }
    } catch ConformanceError.skipped(let reason) {
        if isCI {
            Issue.record("\(number) did not run whole: \(reason)")
        } else {
            print("\(number) did not run whole: \(reason)")
        }
    }
}

private func skipUnlessRunnable(_ number: String) throws {
    let test = try #require(TransportConformance.conformanceCase(number))
    let context = makeContext()
    let missing = test.needs.filter { !context.offers($0) }
    guard !missing.isEmpty else { return }
    let reason = "needs " + missing.map(\.description).joined(separator: ", ")
    if isCI { Issue.record("\(number) \(reason)") }
    try Test.cancel("\(number) \(reason)")
}

@Suite("Transport conformance of WireTransport", .timeLimit(.minutes(10)))
struct WireConformanceTests {
    /// The cases that measure the process, so that each runs in one of its own.
    static let measured: Set = [
        "TR-51", "TR-52", "TR-57", "TR-85", "TR-86", "TR-87", "TR-93", "TR-94", "TR-95", "FT-10",
    ]
    static let numbers = TransportConformance.cases.map(\.number).filter { !measured.contains($0) }

    @Test("passes the cases of the suite", arguments: numbers)
    func conforms(number: String) async throws {
        try skipUnlessRunnable(number)
        try await conform(number)
    }
}

@Suite("Transport conformance of WireTransport: measured", .serialized, .timeLimit(.minutes(10)))
struct WireMeasuredTests {
    @Test("passes a measured case in a process of its own", arguments: WireConformanceTests.measured.sorted())
    func conforms(number: String) async throws {
        try skipUnlessRunnable(number)
        await #expect(processExitsWith: .success) { [number] in try await conform(number) }
    }
}
