import CHangingResolver
import Foundation
import LadeCore
import LadeCurl
import LadeConformance
import LadeTesting
import Testing

/// The suite's context for `CurlTransport`.
private func makeContext() -> ConformanceContext {
    var context = ConformanceContext(shutDown: { await ($0 as? CurlTransport)?.shutDown() }) { settings in
        try CurlTransport(settings: settings)
    }
    // The machine may be busy with every other test.
    context.patience = .seconds(240)
    #if os(Linux)
        context.hangingName = {
            let host = "curl.hanging.lade.test"
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

private let isCI = ProcessInfo.processInfo.environment["CI"] == "true"

/// A deviation that this libcurl makes impossible to avoid; `WhatLibcurlCannotDo.md` names each.
private struct KnownIssue {
    let number: String
    /// The beginning of the finding.
    let finding: String
    let reason: Comment

    static let all = [
        KnownIssue(
            number: "FH-14",
            finding: "a server that allows no stream: phase of the time-out: expected connect, got idle",
            reason: "libcurl 7.88 sends a connection's first request before it reads the settings, and reports none"
        )
    ]
}

/// Runs one case of the transport's conformance suite on `CurlTransport`.
func conform(_ number: String) async throws {
    let test = try #require(TransportConformance.conformanceCase(number))
    try skipUnlessRunnable(number)
    do {
        var findings: [String] = []
        do {
            try await test.run(makeContext())
        } catch ConformanceError.failed(_, let found) {
            findings = found
        }
        for issue in KnownIssue.all where issue.number == number {
            let known = findings.filter { $0.hasPrefix(issue.finding) }
            withKnownIssue(issue.reason) { #expect(known.isEmpty) }
            findings.removeAll { known.contains($0) }
        }
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

/// Skips the test when its case cannot begin here; a missing peer is a failure in CI.
func skipUnlessRunnable(_ number: String) throws {
    let test = try #require(TransportConformance.conformanceCase(number))
    let context = makeContext()
    let missing = test.needs.filter { !context.offers($0) }
    guard !missing.isEmpty else { return }
    let reason = "needs " + missing.map(\.description).joined(separator: ", ")
    if isCI { Issue.record("\(number) \(reason)") }
    try Test.cancel("\(number) \(reason)")
}
