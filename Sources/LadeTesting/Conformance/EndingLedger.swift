import LadeCore

/// Counts the endings of every exchange of a case, so that a second ending is noticed whenever it comes.
///
/// What a caller gets is the first ending; at that moment a second one has not happened yet. The ledger is read when the
/// case is over and its transports are shut down.
final class EndingLedger: EventSink {
    /// The ledger of the case that runs.
    @TaskLocal static var current: EndingLedger?

    private let counts = Locked<[Call.ID: Int]>([:])

    func record(_ event: Event, of call: Call) {
        switch event {
        case .exchangeFinished, .exchangeFailed: counts.withLock { $0[call.id, default: 0] += 1 }
        default: break
        }
    }

    /// A sentence for each exchange that ended more than once.
    var findings: [String] {
        counts.withLock { counts in
            counts.values.filter { $0 > 1 }.map { "an exchange was told to have ended \($0) times" }
        }
    }
}
