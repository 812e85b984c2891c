#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore

/// The transport that is tested, and what it is tested with.
public struct ConformanceContext: Sendable {
    /// A host name whose look-up does not end until it is let go.
    public struct HangingName: Sendable {
        /// The name.
        public let host: String
        /// Waits until somebody looks the name up.
        public let lookUpBegan: @Sendable () async throws -> Void
        /// Lets every look-up of the name end, now and later.
        public let release: @Sendable () -> Void

        /// Makes a name.
        public init(
            host: String,
            lookUpBegan: @escaping @Sendable () async throws -> Void,
            release: @escaping @Sendable () -> Void
        ) {
            self.host = host
            self.lookUpBegan = lookUpBegan
            self.release = release
        }
    }

    /// Makes the transport to be tested.
    public let makeTransport: @Sendable (TransportSettings) throws -> any Transport
    /// Ends a transport: every exchange, its threads and descriptors; returns when they are gone.
    ///
    /// nil when the transport has no such way; cases that need one are skipped.
    public var shutDown: (@Sendable (any Transport) async -> Void)?
    /// A name whose look-up hangs, where the tests can bring one about.
    public var hangingName: (@Sendable () throws -> HangingName)?
    /// The real servers.
    public var peers: ConformancePeers
    /// The part of their number of calls that long runs make; 1 is all, and what `LADE_CONFORMANCE_SCALE` says is the
    /// default.
    public var scale: Double
    /// Whether limits on memory are checked; false where `LADE_CONFORMANCE_MEMORY` is `0`, for sanitizers keep memory.
    public var checksMemory: Bool
    /// How long a single exchange may take before it counts as hanging; 60 s by default.
    public var patience: Duration = .seconds(60)
    /// What patience is measured by; the system's time by default.
    public var time: any TimeSource = SystemTime()
    /// The seed of the random runs; a new one each time unless `LADE_CONFORMANCE_SEED` gives it.
    public var seed: UInt64

    private let findings: Findings
    private var label: String?

    /// Makes a context.
    ///
    /// - Parameters:
    ///   - peers: The real servers; those of the environment by default.
    ///   - shutDown: Ends a transport and returns when its threads and descriptors are gone.
    ///   - makeTransport: Makes the transport to be tested.
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
        /// The transports of the case that are still there; structures end with their last use.
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
        time = other.time
        seed = other.seed
        self.findings = findings
    }

    /// The same context with nothing found yet.
    func fresh() -> ConformanceContext {
        ConformanceContext(copying: self, findings: Findings())
    }

    /// Notes what is not as expected; the case goes on.
    func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
        if !condition { fail(message()) }
    }

    /// Notes a value that is not the one expected; the case goes on.
    func expectEqual<Value: Equatable>(_ got: Value, _ expected: Value, _ what: @autoclosure () -> String) {
        if got != expected { fail("\(what()): expected \(expected), got \(got)") }
    }

    /// Notes something that is not as expected; the case goes on.
    func fail(_ message: String) {
        let text = label.map { "\($0): \(message)" } ?? message
        findings.failures.withLock { $0.append(text) }
    }

    /// Runs a part of a case: what it throws is noted, and the case goes on.
    func part(_ name: String?, _ body: (ConformanceContext) async throws -> Void) async {
        var context = self
        if let name { context.label = label.map { "\($0): \(name)" } ?? name }
        do {
            try await body(context)
        } catch let skip as ConformanceSkip {
            context.findings.skips.withLock { $0.append((name.map { "\($0): " } ?? "") + skip.reason) }
        } catch {
            context.fail("\(error)")
        }
    }

    func conclude(_ number: String) throws {
        let failures = findings.failures.withLock { $0 }
        guard failures.isEmpty else {
            throw ConformanceFailure(number: number, findings: Self.withoutRepetitions(failures))
        }
        let skips = findings.skips.withLock { $0 }
        guard skips.isEmpty else { throw ConformanceSkip(skips.joined(separator: "; ")) }
    }

    // What a thousand calls do wrong is one finding.
    private static func withoutRepetitions(_ findings: [String]) -> [String] {
        var counts: [String: Int] = [:]
        for finding in findings { counts[finding, default: 0] += 1 }
        var result: [String] = []
        for finding in findings {
            guard let count = counts.removeValue(forKey: finding) else { continue }
            result.append(count == 1 ? finding : "\(finding) (\(count) times)")
        }
        guard result.count > 20 else { return result }
        return result.prefix(20) + ["and \(result.count - 20) more"]
    }

    /// Whether something that a case needs is there.
    public func offers(_ need: ConformanceCase.Need) -> Bool {
        switch need {
        case .peer(let name): peers.contains(name)
        case .procFileSystem: ProcessProbe.isAvailable
        case .shutDown: shutDown != nil
        case .hangingName: hangingName != nil
        }
    }

    /// Skips the case, or the part, unless something is there.
    func require(_ need: ConformanceCase.Need) throws(ConformanceSkip) {
        if !offers(need) { throw ConformanceSkip("needs \(need)") }
    }

    /// How many of `count` calls a long run makes; at least one.
    func scaled(_ count: Int) -> Int {
        max(1, Int(Double(count) * scale))
    }

    // MARK: - Transports and calls

    /// Makes a transport with the default settings but for the change; no proxy of the environment interferes.
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

    /// Shuts down what is left of the transports that were made, where there is a way to.
    func shutDownTransports() async {
        guard let shutDown else { return }
        for transport in findings.transports.withLock({ $0 }).compactMap(\.transport) { await shutDown(transport) }
    }

    /// Makes one exchange and reads its body to the end, whatever happens.
    ///
    /// - Throws: ``ConformanceFailure`` when it does not end.
    func exchange(_ transport: any Transport, _ request: Request) async throws -> Exchange {
        try await within("\(request.method) \(request.url.path(percentEncoded: true)) (\(request.delivery))") {
            await Exchange.perform(transport, request)
        }
    }

    /// Makes one exchange twice, with a buffered and with a streamed body, each on a server and a transport of its own.
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

    /// Gives up waiting when something takes longer than ``patience``: a hang becomes a finding.
    func within<Value: Sendable>(_ what: String, _ body: @escaping @Sendable () async throws -> Value) async throws
        -> Value
    {
        let outcome = Watched<Result<Value, any Error>?>(nil)
        let work = Task {
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.change { $0 = $0 ?? result }
        }
        let guardian = Task { [patience, time] in
            // Cancelled, which is all it throws, as soon as the work is done.
            guard (try? await time.sleep(for: patience)) != nil else { return }
            let hang = ConformanceFailure(number: "hang", findings: ["\(what) did not end within \(patience)"])
            outcome.change { $0 = $0 ?? .failure(hang) }
            work.cancel()
        }
        defer { guardian.cancel() }
        do {
            return try await outcome.value { $0.map { Box($0) } }.value.get()
        } catch {
            // Either it failed, which ends it, or the case itself was cancelled.
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
