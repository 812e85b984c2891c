#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeTesting
import SharedDoubles
import Testing

/// A suite of fluent requests on scripted transports.
///
/// A request does not hold its loader, so the suite has to.
protocol FluentSuite {
    var rigs: Locked<[Rig]> { get }
}

extension FluentSuite {
    /// A service whose transport gives this response, kept as long as the suite.
    func rig(_ answer: ScriptedResponse) -> Rig {
        let rig = Rig()
        rigs.withLock { $0.append(rig) }
        rig.transport.onAnyRequest().respond(answer)
        return rig
    }

    /// A fluent request of a service's loader.
    func request(_ rig: Rig, _ path: String = "/thing") throws -> LoadRequest {
        rig.loader.request(try rig.request(path).url, sourceIdentifier: "tests", on: .anywhere)
    }

    /// The status for which a request failed.
    func status(_ error: (any Error)?) -> Int? {
        if case .unacceptableStatus(let status) = (error as? LoadingError)?.kind { status.code } else { nil }
    }

    func isCancellation(_ error: (any Error)?) -> Bool { (error as? LoadingError)?.isCancellation == true }
}
