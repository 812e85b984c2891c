#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore
import LadeTesting

/// The transport under test, and its environment.
public struct ConformanceContext: Sendable {
    /// A host name whose look-up does not end until it is released.
    package struct HangingName: Sendable {
        /// The name.
        package let host: String
        /// Waits until a look-up of the name begins.
        package let lookUpBegan: @Sendable () async throws -> Void
        /// Ends every look-up of the name, current and future.
        package let release: @Sendable () -> Void

        /// Makes a name.
        package init(
            host: String,
            lookUpBegan: @escaping @Sendable () async throws -> Void,
            release: @escaping @Sendable () -> Void
        ) {
            self.host = host
            self.lookUpBegan = lookUpBegan
            self.release = release
        }
    }

    /// Makes the transport under test.
    public let makeTransport: @Sendable (TransportSettings) throws -> any Transport
    /// Shuts down a transport: every exchange, its threads and descriptors.
    ///
    /// Returns when they are closed.
    ///
    /// nil when the transport cannot be shut down; cases that need it are skipped.
    public var shutDown: (@Sendable (any Transport) async -> Void)?
    /// A name whose look-up hangs, where the tests can provide one.
    package var hangingName: (@Sendable () throws -> HangingName)?
    /// The real servers.
    public var peers: ConformancePeers
    /// The fraction of the calls of long runs that are made; 1 means all.
    ///
    /// The default is the value of `LADE_CONFORMANCE_SCALE`.
    public var scale: Double
    /// Whether limits on memory are checked; false when `LADE_CONFORMANCE_MEMORY` is `0`, because sanitizers keep
    /// memory.
    public var checksMemory: Bool
    /// How long a single exchange may take before it counts as hanging; 60 s by default.
    public var patience: Duration = .seconds(60)
    /// Parts of the texts of the hangs that the transport under test is known to have.
    ///
    /// The text of a hang names the parts of its case and what did not end, for example
    /// `connect: hang: GET / (streamed) did not end within`. Only a wait whose text contains an entry ends after
    /// ``knownHangPatience``; the others have the whole ``patience``, because the machine may be busy. Empty by default.
    public var knownHangs: [String] = []
    /// How long a wait in ``knownHangs`` may take; 1 s by default.
    public var knownHangPatience: Duration = .seconds(1)
    /// The time source for ``patience``; the system's time by default.
    public var time: any TimeSource = SystemTime()
    /// The seed of the random runs; `LADE_CONFORMANCE_SEED`, or a new one for each context.
    public var seed: UInt64

    private let findings: Findings
    private var label: String?

    /// Makes a context.
    ///
    /// - Parameters:
    ///   - peers: The real servers; by default the servers that the environment names.
    ///   - shutDown: Shuts down a transport, and returns when its threads have ended and its descriptors are closed.
    ///   - makeTransport: Makes the transport under test.
    public init(
        peers: ConformancePeers = .fromEnvironment(),
        shutDown: (@Sendable (any Transport) async -> Void)? = nil,
        makeTransport: @escaping @Sendable (TransportSettings) throws -> any Transport
    ) {
        let environment = ProcessInfo.processInfo.environment
        self.peers = peers
        self.shutDown = shutDown
        self.makeTransport = makeTransport
        findings = Findings()
        scale = environment["LADE_CONFORMANCE_SCALE"].flatMap { Double($0) } ?? 1
        checksMemory = environment["LADE_CONFORMANCE_MEMORY"] != "0"
        seed = environment["LADE_CONFORMANCE_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 1...UInt64(UInt32.max))
    }

    // MARK: - Findings

    private final class Findings: Sendable {
        let failures = Locked<[String]>([])
        let skips = Locked<[String]>([])
        /// The transports of the case that still exist; structures end with their last use.
        let transports = Locked<[WeakTransport]>([])
    }

    private struct WeakTransport {
        weak var transport: (any Transport & AnyObject)?
    }

    private init(copying other: ConformanceContext, findings: Findings) {
        makeTransport = other.makeTransport
        shutDown = other.shutDown
        hangingName = other.hangingName
        peers = other.peers
        scale = other.scale
        checksMemory = other.checksMemory
        patience = other.patience
        knownHangs = other.knownHangs
        knownHangPatience = other.knownHangPatience
        time = other.time
        seed = other.seed
        self.findings = findings
    }

    /// The same context without findings.
    func fresh() -> ConformanceContext {
        ConformanceContext(copying: self, findings: Findings())
    }

    /// Records a deviation unless the condition holds; the case continues.
    func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition { fail(message()) }
    }

    /// Records a deviation if the values differ; the case continues.
    func expectEqual<Value: Equatable>(_ got: Value, _ expected: Value, _ what: @autoclosure () -> String) {
        if got != expected { fail("\(what()): expected \(expected), got \(got)") }
    }

    /// Records a deviation; the case continues.
    func fail(_ message: String) {
        let text = labelled(message)
        findings.failures.withLock { $0.append(text) }
    }

    private func labelled(_ message: String) -> String {
        label.map { "\($0): \(message)" } ?? message
    }

    /// Runs a part of a case: an error that it throws is recorded, and the case continues.
    func part(_ name: String?, _ body: (ConformanceContext) async throws -> Void) async {
        var context = self
        if let name { context.label = label.map { "\($0): \(name)" } ?? name }
        do {
            try await body(context)
        } catch ConformanceError.skipped(let reason) {
            context.findings.skips.withLock { $0.append((name.map { "\($0): " } ?? "") + reason) }
        } catch {
            context.fail("\(error)")
        }
    }

    func conclude(_ number: String) throws {
        let failures = findings.failures.withLock { $0 }
        guard failures.isEmpty else {
            throw ConformanceError.failed(number: number, findings: Self.withoutRepetitions(failures))
        }
        let skips = findings.skips.withLock { $0 }
        guard skips.isEmpty else { throw ConformanceError.skipped(skips.joined(separator: "; ")) }
    }

    // The same deviation of a thousand calls is one finding.
    private static func withoutRepetitions(_ findings: [String]) -> [String] {
        var counts: [String: Int] = [:]
        for finding in findings { counts[finding, default: 0] += 1 }
        var result: [String] = []
        for finding in findings {
            guard let count = counts.removeValue(forKey: finding) else { continue }
            result.append(count == 1 ? finding : "\(finding) (\(count) times)")
        }
        return result
    }

    /// Whether a need of a case is met.
    package func offers(_ need: ConformanceCase.Need) -> Bool {
        switch need {
        case .peer(let name): peers.contains(name)
        case .procFileSystem: ProcessProbe.isAvailable
        case .shutDown: shutDown != nil
        case .hangingName: hangingName != nil
        }
    }

    /// Skips the case, or the part, unless a need is met.
    func require(_ need: ConformanceCase.Need) throws(ConformanceError) {
        if !offers(need) { throw ConformanceError.skipped("needs \(need)") }
    }

    /// How many of `count` calls a long run makes; at least one.
    func scaled(_ count: Int) -> Int {
        max(1, Int(Double(count) * scale))
    }

    // MARK: - Transports and calls

    /// Makes a transport with default settings except for the change, and without the environment's proxy.
    func transport(_ change: (inout TransportSettings) throws -> Void = { _ in }) throws -> any Transport {
        var settings = TransportSettings()
        settings.proxy = .direct
        try change(&settings)
        let transport = try makeTransport(settings)
        if let object = transport as? any Transport & AnyObject {
            findings.transports.withLock { transports in
                transports.removeAll { $0.transport == nil }
                transports.append(WeakTransport(transport: object))
            }
        }
        return transport
    }

    /// Shuts down the remaining transports, if they can be shut down.
    func shutDownTransports() async {
        guard let shutDown else { return }
        for transport in findings.transports.withLock({ $0 }).compactMap(\.transport) { await shutDown(transport) }
    }

    /// Makes one exchange and reads its body to the end.
    ///
    /// - Throws: ``ConformanceError`` when it does not end.
    func exchange(_ transport: any Transport, _ request: Request) async throws -> Exchange {
        try await within("\(request.method) \(request.url.path(percentEncoded: true)) (\(request.delivery))") {
            await Exchange.perform(transport, request)
        }
    }

    /// Makes one exchange twice, with a buffered and with a streamed body, each with its own server and transport.
    func eachDelivery(
        _ makeServer: () throws -> LoopbackServer,
        _ change: (inout TransportSettings) throws -> Void = { _ in },
        request change2: (inout Request) -> Void = { _ in },
        check: (ConformanceContext, Exchange, LoopbackServer) async throws -> Void
    ) async {
        for (name, delivery) in [("buffered", Request.Delivery.buffered(limit: 1 << 20)), ("streamed", .streamed)] {
            await part(name) { context in
                let server = try makeServer()
                let transport = try context.transport(change)
                var request = try server.request(.get, "/", delivery: delivery)
                change2(&request)
                try await check(context, try await context.exchange(transport, request), server)
            }
        }
    }

    /// Stops waiting for an operation after ``patience``, or ``knownHangPatience``: a hang becomes a finding.
    func within<Value: Sendable>(_ what: String, _ body: @escaping @Sendable () async throws -> Value) async throws
        -> Value
    {
        let finding = labelled("hang: \(what) did not end within")
        let patience = knownHangs.contains { finding.contains($0) } ? knownHangPatience : patience
        let outcome = Watched<Result<Value, any Error>?>(nil)
        let work = Task {
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.change { $0 = $0 ?? result }
        }
        let guardian = Task { [time] in
            // It throws only when cancelled, which happens as soon as the operation ends.
            guard (try? await time.sleep(for: patience)) != nil else { return }
            let hang = ConformanceError.failed(number: "hang", findings: ["\(what) did not end within \(patience)"])
            outcome.change { $0 = $0 ?? .failure(hang) }
            work.cancel()
        }
        defer { guardian.cancel() }
        do {
            return try await outcome.value { $0.map { Box($0) } }.value.get()
        } catch {
            // Either the operation failed, which ends it, or the case itself was cancelled.
            work.cancel()
            throw error
        }
    }

    private struct Box<Value>: @unchecked Sendable {
        // Sendable: made of a Sendable value or an error, which is thrown once.
        let value: Value
        init(_ value: Value) { self.value = value }
    }
}
