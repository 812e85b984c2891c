import LadeCore
import LadeCurl
import LadeConformance
import LadeTesting
import Testing

@Suite("Transport conformance of a transport without support for scopes", .timeLimit(.minutes(5)))
struct UnscopedConformanceTests {
    @Test(
        "transport TR-62 ends a call with its scope although the transport does not support scopes",
        .timeLimit(.minutes(5))
    )
    func tr62() async throws {
        let context = ConformanceContext { settings in Unscoped(base: try CurlTransport(settings: settings)) }
        try await #require(TransportConformance.conformanceCase("TR-62")).run(context)
    }
}

/// A transport that does not support scopes.
private struct Unscoped: Transport {
    let base: CurlTransport

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        #expect(call.scope == nil)
        return try await base.send(request, call: call)
    }
}
