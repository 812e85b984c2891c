import LadeConformance
import LadeCore
import LadeTesting

// The code of the article about the conformance suite. It is compiled and never run; a test compares it with the article.

private struct MyTransport: Transport {
    let transport: any Transport = LocalTransport()

    init(settings: TransportSettings) throws(LoadingError) {}

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try await transport.send(request, call: call)
    }
}

private func conformance() async throws {
    let context = ConformanceContext { settings in try MyTransport(settings: settings) }
    for conformanceCase in TransportConformance.cases {
        do {
            try await conformanceCase.run(context)
        } catch ConformanceError.skipped(let reason) {
            print(conformanceCase.number, "was skipped:", reason)
        }
    }
}
