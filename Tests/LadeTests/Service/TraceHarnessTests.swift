#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import SharedDoubles
import Testing

/// The public harness of W3C Trace Context, against a service that calls out through a loader.
///
/// It runs when `LADE_TRACE_HARNESS` names the folder `test` of a checkout of w3c/trace-context. `LADE_TRACE_PYTHON` names a
/// Python that has aiohttp.
@Suite("The harness of W3C Trace Context", .timeLimit(.minutes(5)))
struct TraceHarnessTests {
    private static let environment = ProcessInfo.processInfo.environment

    /// A call that the harness asks the service for.
    private struct Step: Codable, Sendable {
        var url: String
        var arguments: [Step]
    }

    @Test(
        "policies PL-63 a service that was given a trace continues it as the harness asks",
        .enabled(if: environment["LADE_TRACE_HARNESS"] != nil, "the harness is not here: set LADE_TRACE_HARNESS")
    )
    func harness() async throws {
        var settings = Service.Settings()
        settings.tracing = Tracing()
        let loader = try Loader(settings)
        let server = try LoopbackServer { request in
            let context = TraceContext(parents: request.all("traceparent"), states: request.all("tracestate"))
            let steps = try JSONDecoder().decode([Step].self, from: request.body)
            let isOver = Signal()
            // Its end is awaited below.
            Task {
                defer { isOver.raise() }
                try await TraceContext.$current.withValue(context) {
                    for step in steps {
                        let arguments = try JSONEncoder().encode(step.arguments)
                        _ = try await loader.load(
                            Request(.post, step.url, body: .bytes(arguments, contentType: "application/json"))
                        )
                    }
                }
            }
            isOver.waitOnThread()
            return .json("[]")
        }
        let levels = ["SPEC_LEVEL": "2", "STRICT_LEVEL": "2"]

        let harness = try ChildProcess(
            "/usr/bin/env",
            [Self.environment["LADE_TRACE_PYTHON"] ?? "python3", "test.py", server.address("/test")],
            environment: Self.environment.merging(levels) { $1 },
            in: Self.environment["LADE_TRACE_HARNESS"]
        )

        // The exit code is the number of the tests that failed.
        #expect(try await harness.ended() == 0)
    }
}
