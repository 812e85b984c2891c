import LadeCore
import LadeTesting

/// Counts the reported ends of every exchange of a case, to detect an exchange that ends twice.
///
/// The caller sees the first end; a second one may come later. So the counts are read when the case is over and its
/// transports are shut down.
final class EndingLedger: Call.Observer {
    /// The ledger of the current case.
    @TaskLocal static var current: EndingLedger?

    private let counts = Locked<[Call.ID: Int]>([:])

    func record(_ event: Call.Event, of call: Call) {
        switch event {
        case .exchangeFinished, .exchangeFailed: counts.withLock { $0[call.id, default: 0] += 1 }
        default: break
        }
    }

    /// A sentence for each exchange that was reported to end more than once.
    var findings: [String] {
        counts.withLock { counts in
            counts.values.filter { $0 > 1 }.map { "an exchange was reported to have ended \($0) times" }
        }
    }
}
