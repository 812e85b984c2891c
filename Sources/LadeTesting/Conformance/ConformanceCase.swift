/// One row of the transport's conformance spec: a number, what is expected, and the code that checks it.
public struct ConformanceCase: Sendable, CustomStringConvertible {
    /// What a case cannot run without.
    public enum Need: Sendable, Hashable, CustomStringConvertible {
        /// A server named in the peers' file; see ``ConformancePeers``.
        case peer(String)
        /// The process' own numbers under `/proc`.
        case procFileSystem
        /// A way to end a transport; see ``ConformanceContext/shutDown``.
        case shutDown
        /// A host name whose look-up hangs; see ``ConformanceContext/hangingName``.
        case hangingName

        /// What is needed, in words.
        public var description: String {
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
    /// What is expected, in a few words that go on from “transport TR-07”.
    public let title: String
    /// What it cannot run without; a part that needs more is left out where it is missing.
    public let needs: [Need]
    /// Whether it measures the memory, the descriptors or the processor time of the process, and so wants one of its own.
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
    /// - Parameter context: The transport to be tested and what it is tested with.
    /// - Throws: ``ConformanceFailure`` with everything that was not as expected; ``ConformanceSkip`` when something it
    ///   needs is missing and the rest was as expected.
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

/// What a transport did that it should not, or did not that it should.
public struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
    /// The number of the case.
    public let number: String
    /// What was expected and what was got, one per entry.
    public let findings: [String]

    /// The number and all findings.
    public var description: String {
        "\(number): " + findings.joined(separator: "\n\(number): ")
    }
}

/// Why a case, or a part of it, did not run.
public struct ConformanceSkip: Error, Sendable, CustomStringConvertible {
    /// The reason.
    public let reason: String

    /// Makes a reason.
    public init(_ reason: String) {
        self.reason = reason
    }

    /// The reason.
    public var description: String { reason }
}

/// What every transport must do, as cases that run against any `Transport`.
///
/// ```swift
/// let context = ConformanceContext { settings in try MyTransport(settings) }
/// for test in TransportConformance.cases { try await test.run(context) }
/// ```
///
/// The cases need no test framework; <doc:CheckingATransport> shows them under Swift Testing.
public enum TransportConformance {
    /// Every case in the order of the spec.
    public static let cases: [ConformanceCase] =
        rawAnswers + exchanges + codedBodies + bodies + protocols + [givenUp] + tls + limits + traps + patience
        + hostile

    /// The case of that number, or nil.
    public static func conformanceCase(_ number: String) -> ConformanceCase? {
        cases.first { $0.number == number }
    }
}
