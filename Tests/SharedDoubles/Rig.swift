#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
package import Lade
package import LadeTesting

/// A service on a scripted transport, in virtual time, with its events.
package struct Rig: Sendable {
    package let transport = ScriptedTransport()
    package let time = VirtualTime()
    package let events = EventRecorder()
    package let service: Service
    package let loader: Loader

    package init(_ change: (inout Service.Settings) -> Void = { _ in }) {
        var settings = Service.Settings.still(in: time)
        settings.random = SeededRandom(seed: 1)
        settings.observers = [events]
        change(&settings)
        service = Service(settings, transport: transport)
        loader = service.anonymous.makeLoader()
    }

    /// A request for a path of the host that all tests use.
    package func request(_ path: String = "/thing") throws(LoadingError) -> Request {
        try Request("https://svc.example.com" + path)
    }

    /// An endpoint for a path of the host that all tests use.
    package func endpoint(_ path: String = "/thing") throws(LoadingError) -> Endpoint<Data> {
        Endpoint(try request(path))
    }
}
