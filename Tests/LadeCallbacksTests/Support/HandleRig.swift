import Foundation
import LadeCallbacks
import LadeCore
import LadeTesting

/// A loader on a scripted transport with a separate activity, for concurrent tests.
struct HandleRig: Sendable {
    let transport = ScriptedTransport()
    let activity = NetworkActivity()
    let loader: Loader
    /// What `/slow` waits for.
    let go = Signal()

    init() {
        loader = Self.loader(on: transport)
        transport.on(.get, "/ok").respond(.bytes(Data(repeating: 7, count: 100)))
        transport.on(.get, "/empty").respond(.status(204))
        transport.on(.get, "/missing").respond(.json(#"{"why": "gone"}"#, status: 404))
        transport.on(.get, "/json").respond(.json(#"{"name": "x"}"#))
        transport.on(.get, "/garbage").respond(.text("<html>"))
        transport.on(.get, "/stall").respond(.stalls)
        transport.on(.get, "/slow").respond(.text("late").after(go))
        let fault = LoadingError.TrustCause(host: "svc.example.com", cause: .untrustedRoot)
        transport.on(.get, "/untrusted").respond(.fails(LoadingError(.untrustedServer(fault))))
    }

    /// A loader in virtual time that does not advance, so that no deadline passes on a busy machine, and without
    /// retries.
    static func loader(on transport: ScriptedTransport) -> Loader {
        var settings = Service.Settings()
        settings.time = VirtualTime()
        settings.retries.limit = 0
        return Service(settings, transport: transport).anonymous.makeLoader()
    }

    static func request(_ path: String) throws -> Request {
        try Request("https://svc.example.com" + path)
    }

    func endpoint(_ path: String) throws -> Endpoint<Data> {
        Endpoint(try Self.request(path))
    }

    /// A data request whose outcomes are collected, and whose completion keeps the trace alive.
    func data(
        _ path: String,
        _ delivered: Deliveries<Outcome<Data, NetworkError>> = Deliveries(),
        options: RequestOptions = [],
        trace: Trace? = nil
    ) throws -> RequestHandle<Data> {
        RequestHandle(loader, try endpoint(path), options: options, activity: activity) { outcome in
            withExtendedLifetime(trace) { delivered.add(outcome) }
        }
    }

    /// Runs a data request to its end.
    func run(_ path: String, options: RequestOptions = []) async throws -> Outcome<Data, NetworkError> {
        let delivered = Deliveries<Outcome<Data, NetworkError>>()
        try data(path, delivered, options: options).resume()
        return try await delivered.wait(for: 1)[0]
    }
}

/// Identifies the request of a completion without keeping it alive.
final class WeakHandle {
    weak var weakRequest: RequestHandle<Data>?
}

/// Raises a signal when it is released: its owners can do nothing any more.
final class Trace: Sendable {
    private let gone: Signal

    init(_ gone: Signal) {
        self.gone = gone
    }

    deinit {
        gone.raise()
    }
}

/// Collects reports from any thread, and lets a test wait for a number of them.
final class Deliveries<Value: Sendable>: Sendable {
    // A wait ends with its task, so that the time limit of a suite ends the test that hangs.
    private let values = Watched<[Value]>([])

    var all: [Value] { values.read(\.self) }

    func add(_ value: Value) {
        values.change { $0.append(value) }
    }

    /// Waits for a number of values, and returns all.
    ///
    /// - Throws: `LoadingError.cancelled` when the task is cancelled, as by the time limit of the suite.
    func wait(for count: Int) async throws -> [Value] {
        try await values.value { $0.count >= count ? $0 : nil }
    }
}

/// Runs a closure on another thread than the main one.
@concurrent
func offMain<Value: Sendable>(_ body: @Sendable () throws -> Value) async rethrows -> Value {
    try body()
}

/// Waits until a running request has ended.
@MainActor
func end(of request: any GroupedRequest) async throws {
    let delivered = Deliveries<Bool>()
    let observation = request.observeRunning { delivered.add($0) }
    if observation.wasRunning { _ = try await delivered.wait(for: 1) }
    observation.cancel()
}
