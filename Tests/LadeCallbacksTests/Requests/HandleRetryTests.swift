import Foundation
import LadeCallbacks
import LadeCore
import LadeTesting
import Testing

/// Handles, against a service that refuses twice and then answers.
@Suite("Retries of request handles", .timeLimit(.minutes(5)))
struct HandleRetryTests {
    private let transport = ScriptedTransport()
    private let loader: Loader

    init() {
        var settings = Service.Settings()
        settings.time = VirtualTime()
        settings.retries.limit = 2
        settings.retries.backoff = .none
        loader = Service(settings, transport: transport).anonymous.makeLoader()
        transport.onAnyRequest().respond(.status(503)).then(.status(503)).then(.json(#"{"list": [1]}"#))
    }

    @Test("finding FP-1 a request handle's call is sent again as a loader's is")
    func requestHandle() async throws {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()

        RequestHandle(loader, Endpoint(try HandleRig.request("/thing")), on: .anywhere) { delivered.add($0) }.resume()
        let outcome = try await delivered.wait(for: 1)[0]

        #expect(outcome.response?.status == 200)
        #expect(outcome.error == nil)
        #expect(transport.received.map(\.call.attempt) == [1, 2, 3])
    }

    @Test("finding FP-1 the call of a page's handle is sent again as a loader's is", arguments: [true, false])
    func pageHandles(isFirst: Bool) async throws {
        let delivered = Deliveries<Pages.Page<Outcome<Data, NetworkError>>>()
        let paged = PagedEndpoint(
            Endpoint(try HandleRig.request("/list")),
            sizer: Pages.Sizer { request, _ in request },
            paginator: .rule(.body(["next"]))
        )
        let first = FirstPageHandle(loader, paged, on: .anywhere) { delivered.add($0) }

        if isFirst { first.resume() } else { first.handle(for: nil).resume() }
        let outcome = try await delivered.wait(for: 1)[0]

        #expect(outcome.response?.status == 200)
        #expect(transport.received.map(\.call.attempt) == [1, 2, 3])
    }
}
