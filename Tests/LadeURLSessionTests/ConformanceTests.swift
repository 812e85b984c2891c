import Foundation
import LadeCore
import LadeTesting
import LadeURLSession
import Testing

/// The conformance suite of transports against this one; what it cannot pass stands in ``KnownIssue/all``.
@Suite(.serialized)
struct ConformanceTests {
    private static let dangerous = KnownIssue.all.filter { $0.manner == .endsTheProcess }

    private static var context: ConformanceContext {
        var context = ConformanceContext { settings in
            do throws(LoadingError) {
                return try URLSessionTransport(settings: settings)
            } catch {
                // That there are no tolerances is documented; what the cases check besides still counts.
                guard case .invalidSetting("tolerances", let reason, _) = error else { throw error }
                throw ConformanceSkip(reason)
            }
        }
        // Some known issues are hangs; everything else takes moments.
        context.patience = .seconds(15)
        return context
    }

    @Test(
        "transport",
        arguments: TransportConformance.cases.filter { test in !dangerous.contains { $0.number == test.number } && (ProcessInfo.processInfo.environment["LADE_CASE"]?.contains(test.number) ?? true) }
    )
    func conforms(_ test: ConformanceCase) async throws {
        let issue = KnownIssue.of(test.number)
        var failure: ConformanceFailure?
        do {
            try await test.run(Self.context)
        } catch let finding as ConformanceFailure {
            failure = finding
        } catch let skip as ConformanceSkip {
            // What could be checked was; a row says nothing about the rest.
            if issue != nil { return }
            print("skipped in part: \(test.number): \(skip)")
        }
        guard let issue else {
            if let failure { Issue.record(failure) }
            return
        }
        withKnownIssue("\(issue.reason)", isIntermittent: issue.manner == .sometimes) {
            if let failure { throw failure }
        }
    }

    #if canImport(FoundationNetworking)
        @Test("a case that ends the process still does", arguments: dangerous.map(\.number))
        func endsTheProcess(_ number: String) async {
            await #expect(processExitsWith: .failure) { [number] in
                try await TransportConformance.conformanceCase(number)?.run(Self.context)
            }
        }
    #endif

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
            .split(separator: "\n").filter { $0.hasPrefix("| TR-") }
        #expect(rows.map(String.init) == KnownIssue.all.map(\.documentation))
    }
}
