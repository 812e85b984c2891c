import Foundation
import LadeCore
import LadeCurl
import LadeTesting
import Testing

/// Runs one case of the transport's conformance suite on `CurlTransport`.
func conform(_ number: String) async throws {
    let test = try #require(TransportConformance.conformanceCase(number))
    let context = ConformanceContext(shutDown: { await ($0 as? CurlTransport)?.shutDown() }) { settings in
        try CurlTransport(settings: settings)
    }
    do {
        try await test.run(context)
    } catch let skip as ConformanceSkip {
        guard ProcessInfo.processInfo.environment["CI"] != "true" else {
            Issue.record("\(number) did not run whole: \(skip)")
            return
        }
        try Test.cancel("\(number) did not run whole: \(skip)")
    }
}
