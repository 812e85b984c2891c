import Foundation
import Dispatch
import Foundation
import LadeCallbacks
import LadeTesting
import Testing

@MainActor
@Suite("Closures of calls", .timeLimit(.minutes(5)))
struct ClosureTests {
    @MainActor
    private final class Screen {
        var lines: [String] = []
    }

    private nonisolated static let key = DispatchSpecificKey<Bool>()
    private let transport = ScriptedTransport()
    private let queue = DispatchQueue(label: "lade.closures")

    init() {
        queue.setSpecific(key: Self.key, value: true)
        transport.on(.get, "/ok").respond(.text("ok"))
        transport.on(.get, "/missing").respond(.status(404))
    }

    /// A loader whose settings name an executor.
    private func loader(_ executor: Service.CompletionExecutor? = nil) -> Loader {
        var settings = Service.Settings()
        settings.time = VirtualTime()
        settings.retries.limit = 0
        if let executor { settings.completionExecutor = executor }
        return Service(settings, transport: transport).anonymous.makeLoader()
    }

    private func endpoint(_ path: String) throws -> Endpoint<String> {
        try Endpoint("https://svc.example.com" + path).text()
    }

    @Test("finding SF-9 closures change the main actor's state, and run there whatever the settings name")
    func mainActor() async throws {
        let loader = loader(.queue(queue))
        let (screen, places) = (Screen(), Deliveries<Bool>())

        loader.send(try endpoint("/ok")) { _, loaded in
            screen.lines.append(loaded.value)
            places.add(MainDelivery.isOnMain)
        } failure: { _, _ in
            screen.lines.append("failed")
            places.add(false)
        }
        _ = try await places.wait(for: 1)
        loader.send(try endpoint("/missing")) { _, _ in
            screen.lines.append("loaded")
            places.add(false)
        } failure: { request, error in
            screen.lines.append("\(request.url.lastPathComponent) \(error.context.status?.code ?? 0)")
            places.add(MainDelivery.isOnMain)
        }

        #expect(try await places.wait(for: 2) == [true, true])
        #expect(screen.lines == ["ok", "missing 404"])
    }

    @Test("finding SF-9 client CD-34 closures that are given an executor run there")
    func executor() async throws {
        let loader = loader()
        let places = Deliveries<Bool>()

        loader.send(try endpoint("/ok"), on: .queue(queue)) { _, _ in places.add(Self.isOnQueueNow()) }
        loader.send(try endpoint("/missing"), on: .queue(queue), failure: { _, _ in places.add(Self.isOnQueueNow()) })

        #expect(try await places.wait(for: 2) == [true, true])
    }

    @Test("finding SF-14 client CD-34 the settings name the executor of every form that asks for it")
    func ofService() async throws {
        let loader = loader(.queue(queue))
        let places = Deliveries<Bool>()
        let url = try endpoint("/ok").request.url

        loader.send(try endpoint("/ok"), on: .ofService) { _, _ in places.add(Self.isOnQueueNow()) }
        loader.load(try endpoint("/ok"), on: .ofService) { _ in places.add(Self.isOnQueueNow()) }
        RequestHandle(loader, try endpoint("/ok"), on: .ofService) { _ in places.add(Self.isOnQueueNow()) }.resume()
        let request = loader.request(url).response { _ in places.add(Self.isOnQueueNow()) }

        #expect(try await places.wait(for: 4) == [true, true, true, true])
        withExtendedLifetime(request) {}
    }

    @Test("finding SF-14 the executor of the settings is the main actor by default")
    func mainByDefault() async throws {
        let places = Deliveries<Bool>()
        let loader = loader()

        loader.send(try endpoint("/ok"), on: .ofService) { _, _ in places.add(MainDelivery.isOnMain) }
        let request = loader.request(try endpoint("/ok").request).response { _ in places.add(MainDelivery.isOnMain) }

        #expect(try await places.wait(for: 2) == [true, true])
        withExtendedLifetime(request) {}
    }

    private nonisolated static func isOnQueueNow() -> Bool { DispatchQueue.getSpecific(key: key) == true }
}
