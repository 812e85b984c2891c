#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
import LadeTesting

/// One numbered case of the transport conformance suite: what is expected, and the code that checks it.
public struct ConformanceCase: Sendable, CustomStringConvertible {
    /// The needs of a case.
    package enum Need: Sendable, Hashable, CustomStringConvertible {
        /// A server named in the peers' file; see ``ConformancePeers``.
        case peer(String)
        /// The process' own numbers under `/proc`.
        case procFileSystem
        /// A way to shut down a transport; see ``ConformanceContext/shutDown``.
        case shutDown
        /// A host name whose look-up hangs; see ``ConformanceContext/hangingName``.
        case hangingName

        /// The need in words.
        package var description: String {
            switch self {
            case .peer(let name): "the peer \(name) (start the peers and set LADE_PEERS)"
            case .procFileSystem: "/proc"
            case .shutDown: "a way to end the transport"
            case .hangingName: "a host name whose look-up hangs"
            }
        }
    }

    /// Its number, `TR-07`.
    public let number: String
    /// The expected behaviour, in a few words that continue “transport TR-07”.
    public let title: String
    /// The needs of the case; a part that needs more is skipped where that is missing.
    package let needs: [Need]
    /// Whether it measures the memory, the descriptors or the processor time of the process, and so needs its own
    /// process.
    public let measuresProcess: Bool
    private let body: @Sendable (ConformanceContext) async throws -> Void

    init(
        _ number: String,
        _ title: String,
        needs: [Need] = [],
        measuresProcess: Bool = false,
        _ body: @escaping @Sendable (ConformanceContext) async throws -> Void
    ) {
        self.number = number
        self.title = title
        self.needs = needs
        self.measuresProcess = measuresProcess
        self.body = body
    }

    /// Runs the case.
    ///
    /// - Parameter context: The transport under test, and its environment.
    /// - Throws: ``ConformanceError/failed(number:findings:)`` with all deviations; ``ConformanceError/skipped(_:)`` when a
    ///   need is missing and everything else was as expected.
    public func run(_ context: ConformanceContext) async throws {
        let context = context.fresh()
        let endings = EndingLedger()
        await EndingLedger.$current.withValue(endings) {
            await context.part(nil) { context in
                for need in needs { try context.require(need) }
                try await body(context)
            }
        }
        await context.shutDownTransports()
        for finding in endings.findings { context.fail(finding) }
        try context.conclude(number)
    }

    /// The number and the title.
    public var description: String { "\(number) \(title)" }
}

/// Why a case did not pass.
public enum ConformanceError: Error, Sendable, CustomStringConvertible {
    /// The transport deviates from the case of this number: expected and actual results, one deviation per entry.
    case failed(number: String, findings: [String])
    /// The case, or a part of it, did not run, for this reason.
    case skipped(String)

    /// The number and the first findings, or the reason.
    public var description: String {
        switch self {
        case .failed(let number, let findings):
            let left = findings.count - 20
            let lines = findings.prefix(20) + (left > 0 ? ["and \(left) more"] : [])
            return lines.map { "\(number): \($0)" }.joined(separator: "\n")
        case .skipped(let reason): return reason
        }
    }
}

/// The required behaviour of every transport, as cases that run against any `Transport`.
///
/// ```swift
/// let context = ConformanceContext { settings in try MyTransport(settings) }
/// for test in TransportConformance.cases { try await test.run(context) }
/// ```
///
/// The cases need no test framework; <doc:CheckingATransport> shows them under Swift Testing.
public enum TransportConformance {
    /// Every case, in order.
    public static let cases: [ConformanceCase] =
        rawResponses + exchanges + codedBodies + bodies + protocols + [givenUp] + tls + limits + traps + patience
        + hostile

    /// The case of that number, or nil.
    public static func conformanceCase(_ number: String) -> ConformanceCase? {
        cases.first { $0.number == number }
    }
}

extension ConformanceError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
