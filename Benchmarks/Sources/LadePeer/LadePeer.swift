import Foundation
import Lade
import LadeCurl
import LadeTraffic
import LadeWire
import Measuring

/// Lade as a peer of the comparison.
///
/// LADE_PEER in the environment says how it is called: `policies` as apps do, through the whole chain, with tasks on
/// Swift's default executor; `loader` (the default) for the same without the interceptors that decide, which is what the C
/// program does; `recorded` is `policies` with a recorder that writes to the file of BENCH_HAR, without bodies; `intercepted` is `policies` with an interceptor of the app that does not observe the scope of its calls;
/// `transport` for the transport alone; `fields` for that with the header fields that the whole chain adds,
/// which is what the policies are measured against; `executor` for the transport alone with the calling tasks on its own
/// thread, without a switch between threads. LADE_ENGINE is the transport: `wire` (the default) or `curl`.
@main
enum LadePeer {
    struct Refused: Error {
        var status: Response.Status
    }

    static func main() throws {
        let arguments = Arguments()
        let environment = ProcessInfo.processInfo.environment
        guard let url = URL(string: arguments.url) else { fatalError("not a URL: \(arguments.url)") }
        let transport = try transport(settings(arguments, authority: environment["BENCH_CA"]))
        // Never released: it would be chance whether its thread frees three million instructions' worth of authorities
        // before the process ends.
        _ = Unmanaged.passRetained(transport as AnyObject)
        let delivery: Request.Delivery =
            arguments.counting ? .streamed : .buffered(limit: Request.defaultBufferLimit)

        let mode = environment["LADE_PEER"] ?? "loader"
        switch mode {
        case "loader", "policies", "recorded", "intercepted":
            var settings = Service.Settings()
            if mode == "loader" { settings.adjustChain = { $0.removeAll() } }
            if mode == "intercepted" {
                settings.attemptInterceptors = [Chain.interceptor { request, next in try await next(request) }]
            }
            if mode == "recorded" {
                var recorded = TrafficRecorder.Settings()
                recorded.bodyLimit = 0
                try TrafficRecorder(writingTo: environment["BENCH_HAR"] ?? "", recorded).attach(to: &settings)
            }
            let loader = Service(settings, transport: transport).anonymous.makeLoader()
            measure(mode == "loader" ? "lade" : "lade-\(mode)", arguments) { _ in
                try await count(try await loader.load(Request(.get, url, delivery: delivery)))
            }
        case "transport", "fields", "executor":
            let call = Call()
            var headers = Headers()
            if mode == "fields" {
                headers["User-Agent"] = UserAgent.application.text
                headers["Accept-Language"] = Service.PreferredLanguages.system.headerValue
            }
            measure("lade-\(mode)", arguments, on: mode == "executor" ? executor(transport) : nil) { [headers] _ in
                let request = Request(.get, url, headers: headers, delivery: delivery)
                return try await count(try await transport.send(request, call: call))
            }
        default:
            fatalError("LADE_PEER is policies, recorded, loader, transport, fields or executor, not \(mode)")
        }
    }

    private static func transport(_ settings: TransportSettings) throws -> any Transport {
        switch ProcessInfo.processInfo.environment["LADE_ENGINE"] ?? "wire" {
        case "curl": try CurlTransport(settings: settings)
        case "wire": try WireTransport(settings: settings)
        case let engine: fatalError("LADE_ENGINE is wire or curl, not \(engine)")
        }
    }

    private static func executor(_ transport: any Transport) -> (any TaskExecutor)? {
        (transport as? CurlTransport)?.executor ?? (transport as? WireTransport)?.executor
    }

    private static func settings(_ arguments: Arguments, authority: String?) -> TransportSettings {
        var settings = TransportSettings()
        settings.connections.perHost = arguments.concurrency
        settings.connections.total = max(arguments.concurrency, settings.connections.total)
        settings.connections.streamsPerHost = max(arguments.concurrency, settings.connections.streamsPerHost)
        settings.proxy = .direct
        if let authority { settings.tls.authorities = [.file(authority)] }
        return settings
    }

    /// The number of bytes of the response, read to its end.
    @Sendable private static func count(_ response: Response) async throws -> Int {
        guard response.status == 200 else { throw Refused(status: response.status) }
        if let bytes = response.body.bytes { return bytes.count }
        var count = 0
        for try await chunk in response.body { count += chunk.count }
        return count
    }
}
