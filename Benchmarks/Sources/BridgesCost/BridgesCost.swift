import CoreMetrics
import Foundation
import Lade
import LadeLogging
import LadeMetrics
import LadeTracing
import LadeWire
import Logging
import Measuring

/// The cost of the observers of Swift's ecosystem with back ends that do nothing; Benchmarks/bridges runs it.
///
/// LADE_BRIDGE is `none`, `observer` for an observer that does nothing, or the trait to measure.
@main
enum BridgesCost {
    struct Refused: Error {
        var status: Response.Status
    }

    private struct Nothing: Call.Observer {
        func record(_ event: Call.Event, of call: Call) {}
    }

    static func main() throws {
        let arguments = Arguments()
        guard let url = URL(string: arguments.url) else { fatalError("not a URL: \(arguments.url)") }
        let mode = ProcessInfo.processInfo.environment["LADE_BRIDGE"] ?? "none"
        var settings = Service.Settings()
        switch mode {
        case "none": break
        case "observer": settings.observers = [Nothing()]
        case "SwiftLog": settings.observers = [LoggerObserver(Logger(label: "http") { _ in SwiftLogNoOpLogHandler() })]
        case "SwiftMetrics": settings.observers = [MetricsObserver(factory: NOOPMetricsHandler.instance)]
        case "SwiftTracing": settings.addSpans()
        default: fatalError("LADE_BRIDGE is none, observer or a trait, not \(mode)")
        }
        var limits = TransportSettings()
        limits.connections.perHost = arguments.concurrency
        limits.proxy = .direct
        let transport = try WireTransport(settings: limits)
        // Never released: its end is no part of the calls.
        _ = Unmanaged.passRetained(transport as AnyObject)
        let loader = Service(settings, transport: transport).anonymous.makeLoader()
        measure("bridge-\(mode)", arguments) { _ in
            let response = try await loader.load(Request(.get, url))
            guard response.status == 200, let bytes = response.body.bytes else {
                throw Refused(status: response.status)
            }
            return bytes.count
        }
    }
}
