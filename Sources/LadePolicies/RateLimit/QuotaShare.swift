import LadeCore

/// The part of a quota that a process has when a store counts the calls of all processes.
///
/// A slot is one call of a window. It may be used late, as long as the window lasts: a server counts calls, and not their times.
struct QuotaShare: Sendable {
    /// The reserved calls, and when they may start.
    var slots = RateShare()
    /// The newest reading that the store does not know.
    var reading: (remaining: Int, inFlight: Int, reset: Instant)?
    /// Whether the store must learn of the reading now: it begins a window, or no call is left.
    var isUrgent = false
    /// Whether the ask in progress wants slots.
    var hasAsked = false
    /// The number of the window that the slots are from, and its earliest end.
    private(set) var window = 0.0
    private var end: Instant?
    /// The delay of the next ask after one that was granted nothing.
    private static let emptyDelay: Int64 = 250_000_000
    private static let second: Int64 = 1_000_000_000

    /// How late a slot may be used: until a second before the end of the window, and by a second then.
    ///
    /// A slot of the last second may belong to the next window for the server. The store counts it in both.
    func lateness(_ now: Instant) -> Int64 {
        guard let end, now < end.advanced(nanoseconds: -Self.second) else { return Self.second }
        return .max / 2
    }

    /// Notes a reading for the next ask.
    mutating func note(_ remaining: Int, inFlight: Int, reset: Instant, isUrgent: Bool) {
        reading = (remaining, inFlight, reset)
        self.isUrgent = self.isUrgent || isUrgent
    }

    /// Takes granted slots.
    mutating func grant(_ granted: [Instant], lead: Duration, window: Double, end: Instant?, now: Instant) {
        // Slots of a window that has ended are worth nothing in the next.
        if window != self.window { _ = slots.drop(before: now.advanced(nanoseconds: -Self.second)) }
        (self.window, self.end) = (window, end)
        slots.grant(granted, lead: lead.wholeNanoseconds, interval: .max / 2, now: now)
        guard granted.isEmpty, slots.slots.isEmpty else { return }
        slots.delay(until: hasAsked ? now.advanced(nanoseconds: Self.emptyDelay) : now)
    }

    /// When the store must be asked; nil when no call needs a slot that is not held or requested.
    func askInstant(calls: Int, waiting: Int, now: Instant) -> Instant? {
        guard !slots.isAsking else { return nil }
        let held = slots.held(from: now.advanced(nanoseconds: -lateness(now)))
        if isUrgent || held > waiting { return Instant(nanoseconds: .min) }
        return calls > held ? slots.askAt : nil
    }
}
