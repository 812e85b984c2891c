import LadeCore
import LadeExchange

@testable import LadeCurl

/// A clock for loops, which a test moves forward.
final class AheadClock: Sendable {
    private let lead = Locked(Int64(0))

    /// The clock that a transport is given.
    var clock: LoopClock { LoopClock(lead: { [self] in lead.withLock { $0 } }) }

    /// Puts the clock ahead; a loop that sleeps sees it when it wakes.
    func advance(by duration: Duration) {
        lead.withLock { $0 += duration.wholeNanoseconds }
    }
}
