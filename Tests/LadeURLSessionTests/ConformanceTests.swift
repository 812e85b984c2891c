import CHangingResolver
import Foundation
import LadeCore
import LadeConformance
import LadeTesting
import LadeURLSession
import Testing

/// Raised by the first look-up of the name that hangs.
private let lookUpBegan = Signal()

/// The conformance suite of transports against this one; ``KnownIssue/all`` has the cases that it cannot pass.
@Suite(.timeLimit(.minutes(5)))
struct ConformanceTests {
    private static let dangerous = KnownIssue.all.filter { $0.manner == .endsTheProcess }.map(\.number)
    private static let others = TransportConformance.cases.filter { !dangerous.contains($0.number) }
    /// The servers of TR-80, TR-81 and UF-1 send without end, which keeps the threads of all sessions of the process busy,
    /// and FT-3 needs bytes to be read when they arrive.
    private static let alone = ["TR-80", "TR-81", "UF-1", "FT-3"]
    private static let separate = others.filter { $0.measuresProcess || alone.contains($0.number) }
    private static let together = others.filter { !$0.measuresProcess && !alone.contains($0.number) }

    private static func makeContext(_ issue: KnownIssue? = nil) -> ConformanceContext {
        var context = ConformanceContext(shutDown: { await ($0 as? URLSessionTransport)?.shutDown() }) { settings in
            do throws(LoadingError) {
                return try URLSessionTransport(settings: settings)
            } catch {
                // The missing tolerances are documented; the other parts of the cases count.
                guard case .invalidSetting("tolerances", let reason) = error.kind else { throw error }
                throw ConformanceError.skipped(reason)
            }
        }
        #if os(Linux)
            context.hangingName = {
                let host = "urlsession.hanging.lade.test"
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
        let isLong = issue.flatMap { TransportConformance.conformanceCase($0.number) }?.measuresProcess == true
        // The machine may be busy with other tests; the time limit of the test allows several hangs of a minute.
        context.patience = issue == nil || isLong ? .seconds(240) : .seconds(60)
        context.knownHangs = issue?.hangs ?? []
        return context
    }

    @Test("transport", .timeLimit(.minutes(5)), arguments: together)
    func conforms(_ test: ConformanceCase) async throws {
        try await check(test) { await Self.record(test.number) }
    }

    @Test("transport, in a process of its own", .serialized, .timeLimit(.minutes(5)), arguments: separate)
    func conformsAlone(_ test: ConformanceCase) async throws {
        try await check(test) { await runInProcess(test.number) }
    }

    /// Runs a case, and records the findings that the table does not excuse and the excuses that it does not need.
    private func check(_ test: ConformanceCase, _ run: () async -> Void) async throws {
        let context = Self.makeContext()
        let missing = test.needs.filter { !context.offers($0) }
        guard missing.isEmpty else {
            try Test.cancel("\(test.number) needs \(missing.map(\.description).joined(separator: ", "))")
        }
        guard let issue = KnownIssue.of(test.number) else { return await run() }
        let excused = Locked<Set<String>>([])
        await withKnownIssue("\(issue.reason)", isIntermittent: issue.certain.isEmpty) {
            await run()
        } matching: { found in
            let text = found.comments.map(\.rawValue).joined(separator: " ")
            let excuses = (issue.findings + issue.occasional).filter(text.contains)
            excused.withLock { $0.formUnion(excuses) }
            return !excuses.isEmpty
        }
        for finding in issue.certain where excused.withLock({ !$0.contains(finding) }) {
            Issue.record("\(test.number) has no finding “\(finding)” any more")
        }
    }

    /// Runs a case in a separate process, which it measures.
    private func runInProcess(_ number: String) async {
        await #expect(processExitsWith: .success) { [number] in
            // Its event loop sometimes spins forever after a fault; then the system ends the process, which is a
            // finding.
            alarm(KnownIssue.of(number) == nil || KnownIssue.isSanitized ? 240 : 120)
            // FoundationNetworking permanently opens three descriptors at its first use; they are not leaks.
            let first = try URLSessionTransport()
            _ = try? await first.send(Request("http://127.0.0.1:1/"), call: Call())
            await first.shutDown()
            await Self.record(number)
        }
    }

    /// Runs a case and records its findings.
    private static func record(_ number: String) async {
        let issue = KnownIssue.of(number)
        do {
            try await TransportConformance.conformanceCase(number)?.run(makeContext(issue))
        } catch ConformanceError.skipped(let reason) {
            // A case that did not run completely says nothing about its row.
            if issue != nil { Issue.record("\(number) did not run whole: \(reason)") }
        } catch ConformanceError.failed(_, let findings) {
            for finding in findings { Issue.record("\(number): \(finding)") }
        } catch {
            Issue.record("\(error)")
        }
    }

    #if canImport(FoundationNetworking)
        @Test("a case that ends the process still does", arguments: dangerous)
        func endsTheProcess(_ number: String) async {
            await #expect(processExitsWith: .failure) { [number] in await Self.record(number) }
        }
    #endif

    @Test("only a wait that is known to hang ends early")
    func knownHangs() async throws {
        let time = VirtualTime()
        let stuck = ScriptedTransport()
        stuck.onAnyRequest().respond(.stalls)
        var context = ConformanceContext { _ in stuck }
        context.time = time
        context.patience = .seconds(60)
        context.knownHangs = ["streamed: hang: GET / "]
        let test = try #require(TransportConformance.conformanceCase("FT-6"))

        async let findings = Self.findings(of: test, context)
        let waits = [try await time.advanceToNextSleeper().remaining, try await time.advanceToNextSleeper().remaining]

        #expect(waits == [.seconds(60), .seconds(1)])
        #expect(
            await findings == [
                "buffered: hang: GET / (buffered(limit: 1073741824)) did not end within 60.0 seconds",
                "streamed: hang: GET / (streamed) did not end within 1.0 seconds",
            ]
        )
    }

    private static func findings(of test: ConformanceCase, _ context: ConformanceContext) async -> [String] {
        do {
            try await test.run(context)
            return []
        } catch ConformanceError.failed(_, let findings) {
            return findings
        } catch {
            return ["\(error)"]
        }
    }

    @Test("every row of the table has a case, and one only")
    func rows() {
        let numbers = KnownIssue.all.map(\.number)
        #expect(Set(numbers).count == numbers.count)
        for number in numbers { #expect(TransportConformance.conformanceCase(number) != nil, "\(number)") }
    }

    @Test("the documentation shows the same table")
    func documentation() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/LadeURLSession/LadeURLSession.docc/WhatURLSessionCannotDo.md")
        let rows = try String(contentsOf: page, encoding: .utf8)
            .split(separator: "\n").filter { $0.hasPrefix("| TR-") || $0.hasPrefix("| F") }
        #expect(rows.map(String.init) == KnownIssue.all.map(\.documentation))
    }
}
