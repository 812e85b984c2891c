#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import Testing

/// A service on a scripted transport, in virtual time, with its events.
struct Rig {
    let transport = ScriptedTransport()
    let time = VirtualTime()
    let events = EventRecorder()
    let service: Service
    let loader: Loader

    init(_ change: (inout Service.Settings) -> Void = { _ in }) {
        var settings = Service.Settings()
        settings.time = time
        settings.random = SeededRandom(seed: 1)
        settings.observers = [events]
        // Retries have separate tests; here the first response counts.
        settings.retries.limit = 0
        change(&settings)
        service = Service(settings, transport: transport)
        loader = service.anonymous.makeLoader()
    }

    /// A request for a path of the host that all tests use.
    func request(_ path: String = "/thing") throws(LoadingError) -> Request {
        try Request("https://svc.example.com" + path)
    }

    /// An endpoint for a path of the host that all tests use.
    func endpoint(_ path: String = "/thing") throws(LoadingError) -> Endpoint<Data> {
        Endpoint(try request(path))
    }
}

extension Service.Settings {
    /// In virtual time that does not advance, so that no deadline passes on a busy machine, and without retries, which
    /// would wait.
    static var still: Service.Settings {
        var settings = Service.Settings()
        settings.time = VirtualTime()
        settings.retries.limit = 0
        return settings
    }
}

/// The `LoadingError` that an operation throws.
func failure<Value>(_ operation: () async throws(LoadingError) -> Value) async -> LoadingError? {
    do throws(LoadingError) {
        _ = try await operation()
        return nil
    } catch {
        return error
    }
}
