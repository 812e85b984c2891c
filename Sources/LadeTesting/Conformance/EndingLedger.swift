import LadeCore

/// Counts how often the exchanges of a case began and ended, so that a second ending is noticed whenever it comes.
///
/// What a caller gets is the first ending; at that moment a second one has not happened yet. The ledger is read when the
/// case is over and its transports are shut down.
final class EndingLedger: EventSink {
    private struct Count {
        var began = 0
        var ended = 0
    }

    /// The ledger of the case that runs.
    @TaskLocal static var current: EndingLedger?

    private let counts = Locked<[Call.ID: Count]>([:])

    func record(_ event: Event, of call: Call) {
        switch event {
        case .exchangeStarted: counts.withLock { $0[call.id, default: Count()].began += 1 }
        case .exchangeFinished, .exchangeFailed: counts.withLock { $0[call.id, default: Count()].ended += 1 }
        default: break
        }
    }

    /// What is wrong with the endings.
    ///
    /// - Parameter isOver: Whether the transports are shut down, so that nothing that began may still be open.
    /// - Returns: A sentence for each exchange that ended more than once, or never.
    func findings(isOver: Bool) -> [String] {
        counts.withLock { counts in
            counts.values.compactMap { count in
                if count.ended > 1 { return "an exchange was told to have ended \(count.ended) times" }
                if isOver, count.began > 0, count.ended == 0 {
                    return "an exchange began and was never told to have ended"
                }
                return nil
            }
        }
    }
}
