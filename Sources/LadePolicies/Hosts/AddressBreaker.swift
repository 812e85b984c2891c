import LadeCore

extension HostDirectory {
    /// How addresses are marked, and for how long.
    public struct Marking: Sendable, Hashable {
        /// The choice when every address of a list is marked.
        public enum Fallback: Sendable, Hashable {
            /// The address that was marked longest ago.
            case markedLongestAgo
            /// The host itself, as SPTDataLoader's resolver does.
            case hostItself
        }

        /// How long the first mark lasts; 30 s by default.
        public var interval = Duration.seconds(30)
        /// The longest duration of a mark, after any number of failures; 5 min by default.
        public var maximumInterval = Duration.seconds(300)
        /// How many suspicious failures in a row mark an address; 5 by default.
        public var failuresInRow = 5
        /// The choice when every address is marked.
        public var fallback = Fallback.markedLongestAgo

        /// Makes the default settings.
        public init() {}
    }
}

/// The state of one address: a circuit breaker.
///
/// | state | event | next state |
/// | --- | --- | --- |
/// | closed | evidence that it is down, or a row of suspicious failures | open |
/// | open | its time is over and a call picks the address | half-open, that call is the probe |
/// | half-open | the probe says that it works | closed |
/// | half-open | the probe fails | open, for twice as long |
/// | half-open | the probe is cancelled | open, the next call is the probe |
struct AddressBreaker: Equatable {
    enum State: Equatable {
        case closed(failuresInRow: Int)
        case open(since: Instant, until: Instant)
        case halfOpen(since: Instant, probe: Int)
    }

    /// A pick of the address.
    ///
    /// It determines later whether the result is still relevant.
    struct Ticket: Equatable, Sendable {
        var generation: Int
        var isProbe: Bool
    }

    enum Change: Equatable {
        case none
        case marked(reason: String, for: Duration)
        case recovered
    }

    private(set) var state = State.closed(failuresInRow: 0)
    /// The number of marks in a row.
    private(set) var marks = 0
    /// Counts the changes of state.
    private var generation = 0

    /// Whether calls avoid the address.
    ///
    /// A mark that begins in the future does not count: the clock was set back.
    func isMarked(at now: Instant) -> Bool {
        switch state {
        case .closed: false
        case .open(let since, let until): since <= now && now < until
        case .halfOpen(let since, _): since <= now
        }
    }

    /// When the mark began; nil without one.
    var markedSince: Instant? {
        switch state {
        case .closed: nil
        case .open(let since, _), .halfOpen(let since, _): since
        }
    }

    /// Whether a pick now becomes the probe.
    private func isDue(at now: Instant) -> Bool {
        guard case .open = state else { return false }
        return !isMarked(at: now)
    }

    /// Picks the address for one exchange.
    mutating func pick(at now: Instant) -> Ticket {
        guard isDue(at: now) else { return Ticket(generation: generation, isProbe: false) }
        generation += 1
        state = .halfOpen(since: min(markedSince ?? now, now), probe: generation)
        return Ticket(generation: generation, isProbe: true)
    }

    /// Receives the result of an exchange.
    ///
    /// - Parameters:
    ///   - evidence: The result's statement about the address.
    ///   - ticket: The value that the pick returned.
    ///   - now: When it ended.
    ///   - settings: How addresses are marked.
    ///   - jitter: A number in 0 ..< 1.
    /// - Returns: The change that it caused.
    mutating func note(
        _ evidence: HostEvidence,
        of ticket: Ticket,
        at now: Instant,
        _ settings: HostDirectory.Marking,
        jitter: Double
    ) -> Change {
        // An exchange that began before the last change of state says nothing about the address since.
        guard ticket.generation == generation else { return .none }
        switch (state, evidence) {
        case (.closed, .works):
            state = .closed(failuresInRow: 0)
            return .none
        case (_, .works):
            return clear() ? .recovered : .none
        case (_, .down(let reason)):
            return mark(reason, at: now, settings, jitter)
        case (.closed(let failures), .suspicious(let reason)):
            guard failures + 1 >= settings.failuresInRow else {
                state = .closed(failuresInRow: failures + 1)
                return .none
            }
            return mark(reason, at: now, settings, jitter)
        case (.open, .suspicious(let reason)), (.halfOpen, .suspicious(let reason)):
            return mark(reason, at: now, settings, jitter)
        case (.halfOpen(let since, let probe), .none):
            if ticket.isProbe, probe == ticket.generation { state = .open(since: since, until: now) }
            return .none
        case (_, .none):
            return .none
        }
    }

    /// Marks the address, by hand or by evidence.
    ///
    /// The mark lasts for 30 s, 1 min, 2 min, 4 min, 5 min …, less jitter of at most a quarter.
    private mutating func mark(
        _ reason: String,
        at now: Instant,
        _ settings: HostDirectory.Marking,
        _ jitter: Double
    ) -> Change {
        let doublings = min(marks, 20)
        let (doubled, isTooLong) = settings.interval.wholeNanoseconds.multipliedReportingOverflow(by: 1 << doublings)
        let whole = min(isTooLong ? .max : doubled, settings.maximumInterval.wholeNanoseconds)
        // A floating-point number just below the greatest integer may be rounded to one above it.
        let nanoseconds = Double(whole) * (1 - jitter / 4)
        let duration = Duration.nanoseconds(nanoseconds < 0x1p63 ? Int64(nanoseconds) : .max)
        mark(at: now, for: duration)
        return .marked(reason: reason, for: duration)
    }

    /// Takes back the mark that the result of a pick made; returns whether it was the last change.
    ///
    /// After a probe the address is due for another probe.
    mutating func retract(_ ticket: Ticket, at now: Instant) -> Bool {
        guard case .open(let since, _) = state, generation == ticket.generation + 1 else { return false }
        marks -= 1
        generation += 1
        state = ticket.isProbe ? .open(since: since, until: now) : .closed(failuresInRow: 0)
        return true
    }

    mutating func mark(at now: Instant, for duration: Duration) {
        marks += 1
        generation += 1
        state = .open(since: now, until: now.advanced(by: duration))
    }

    /// Forgets everything; returns whether there was a mark.
    mutating func clear() -> Bool {
        let wasMarked = markedSince != nil
        if wasMarked { generation += 1 }
        marks = 0
        state = .closed(failuresInRow: 0)
        return wasMarked
    }
}
