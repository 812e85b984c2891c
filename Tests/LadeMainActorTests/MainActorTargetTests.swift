import Foundation
import Lade
import LadeCallbacks
import LadeContent
import LadeTesting
import Testing

// The target's default isolation is the main actor, as in a new app.

nonisolated struct Programme: Codable, Sendable, Equatable {
    var title: String
}

@Suite("A target with default main-actor isolation", .timeLimit(.minutes(5)))
struct MainActorTargetTests {
    private let transport = ScriptedTransport(answering: .json(#"{"title": "Sea"}"#))

    private var loader: Loader { Service(transport: transport).anonymous.makeLoader() }

    @Test("finding SF-12 a nonisolated type is decoded, in every form")
    func decodes() async throws {
        let api = try API("https://api.example.com")
        let inferred: Programme = try await loader.load(api.get("programme"))
        let named = try await loader.load(api.get("programme").decoding(Programme.self))
        let created: Programme = try await loader.load(api.post("programme", json: inferred))

        #expect([inferred, named, created].allSatisfy { $0 == Programme(title: "Sea") })
    }

    @Test("finding SF-12 a model loads it for a view")
    func model() async throws {
        let loader = loader
        let model = ContentModel<Void, Programme> { _ in
            try await loader.load(Endpoint("https://api.example.com/programme"))
        }

        #expect(await model.load() == .success(Programme(title: "Sea")))
    }

    private final class Listener: LoaderDelegate {
        private(set) var statuses: [Int] = []
        let hasEnded = Signal()

        func loader(_ loader: Loader, didLoad response: Response, for load: Loader.Handle) {
            statuses.append(response.status.code)
            hasEnded.raise()
        }

        func loader(_ loader: Loader, didFailWith error: LoadingError, for load: Loader.Handle) { hasEnded.raise() }
    }

    @Test("finding SF-7 a class is a delegate as it is written")
    func delegate() async throws {
        let (loader, listener) = (loader, Listener())
        loader.delegate = listener

        loader.perform(try Request("https://api.example.com/programme"))
        try await listener.hasEnded.wait()

        #expect(listener.statuses == [200])
    }
}
