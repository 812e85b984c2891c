import Foundation
import LadeCallbacks
import LadeTesting
import Testing

@MainActor
@Suite("Delegates of loaders", .timeLimit(.minutes(5)))
struct LoaderDelegateTests {
    /// A view model as an app writes it, which notes whether each notification arrives on the main actor.
    @MainActor
    private final class ViewModel: LoaderDelegate {
        private(set) var lines: [String] = []
        private(set) var consents = 0
        nonisolated let reports = Deliveries<Bool>()

        private func note(_ line: String) {
            lines.append(line)
            reports.add(MainDelivery.isOnMain)
        }

        func loader(_ loader: Loader, didLoad response: Response, for load: Loader.Handle) { note("loaded") }

        func loader(_ loader: Loader, didFailWith error: LoadingError, for load: Loader.Handle) { note("failed") }

        func loader(_ loader: Loader, didCancel load: Loader.Handle) { note("cancelled") }

        func loaderSupportsChunks(_ loader: Loader) -> Bool {
            consents += 1
            return true
        }

        func loader(_ loader: Loader, didReceiveHead response: Response, for load: Loader.Handle) { note("head") }

        func loader(_ loader: Loader, didReceive chunk: Data, of response: Response, for load: Loader.Handle) {
            note(String(decoding: chunk, as: UTF8.self))
        }

        func loaderReopensBodies(_ loader: Loader) -> Bool { true }

        func loader(_ loader: Loader, needsBodyFor load: Loader.Handle) async -> Request.Body? {
            note("body")
            return .text("again")
        }
    }

    private let rig = HandleRig()
    private let model = ViewModel()

    init() {
        rig.loader.delegate = model
    }

    @Test("finding SF-7 a view model is a delegate: every notification arrives on the main actor, in order")
    func viewModel() async throws {
        rig.transport.on(.get, "/chunks").respond(.chunks(["one", "two"]))
        var request = try HandleRig.request("/chunks")
        request.delivery = .streamed

        rig.loader.perform(request)

        #expect(try await model.reports.wait(for: 4) == [true, true, true, true])
        #expect(model.lines == ["head", "one", "two", "loaded"])
    }

    @Test("finding SF-7 consent to chunks is asked while a request is performed")
    func consent() throws {
        let load = rig.loader.perform(try HandleRig.request("/stall"))

        #expect(model.consents == 1)
        load.cancel()
    }

    @Test("finding SF-7 a load that is cancelled on the main actor reports its cancellation and nothing else")
    func cancelled() async throws {
        rig.loader.perform(try HandleRig.request("/ok")).cancel()

        #expect(try await model.reports.wait(for: 1) == [true])
        #expect(model.lines == ["cancelled"])
    }

    @Test("finding SF-7 a body that is needed again is asked for on the main actor")
    func newBody() async throws {
        struct SendingTwice: Interceptor {
            func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
                _ = try await next(request)
                return try await next(request)
            }
        }
        var settings = Service.Settings()
        settings.time = VirtualTime()
        settings.attemptInterceptors = [SendingTwice()]
        let transport = ScriptedTransport(answering: .text("ok"))
        let loader = Service(settings, transport: transport).anonymous.makeLoader()
        loader.delegate = model
        var request = try HandleRig.request("/in")
        request.method = .post
        request.body = .writer { try await $0(Data("first".utf8)) }

        loader.perform(request)

        #expect(try await model.reports.wait(for: 2) == [true, true])
        #expect(model.lines == ["body", "loaded"])
        #expect(transport.received.map(\.text) == ["first", "again"])
    }

    @Test("finding SF-6 service D-01 a delegate that is released, or whose loader is, receives nothing more")
    func released() async throws {
        let ended = Deliveries<Bool>()
        do {
            let gone = ViewModel()
            rig.loader.delegate = gone
            rig.loader.perform(try HandleRig.request("/slow"))
        }
        #expect(rig.loader.delegate == nil)
        rig.loader.delegate = model
        var other: Loader? = rig.loader.account.makeLoader()
        other?.delegate = model
        other?.perform(try HandleRig.request("/stall"))
        _ = try await rig.transport.request(at: 1)

        other = nil
        rig.go.raise()
        try await rig.transport.cancellations(atLeast: 1)
        rig.loader.load(try HandleRig.request("/ok")) { _ in ended.add(true) }
        _ = try await ended.wait(for: 1)

        #expect(model.lines.isEmpty)
    }
}
