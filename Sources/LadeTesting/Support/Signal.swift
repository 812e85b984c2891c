public import LadeCore

/// A signal that a test raises to let a script continue.
///
/// Scripted responses and server scripts wait for signals instead of sleeping. ``raise()`` ends every wait, including
/// future ones; ``step(_:)`` ends a number of waits.
public final class Signal: Sendable {
    private struct State {
        var isRaised = false
        var steps = 0
        var arrivals = 0

        mutating func pass() -> Bool {
            if isRaised { return true }
            guard steps > 0 else { return false }
            steps -= 1
            return true
        }
    }

    private let state = Watched(State())

    /// Makes a signal that is not raised.
    public init() {}

    /// Ends every wait from now on.
    public func raise() {
        state.change { $0.isRaised = true }
    }

    /// Ends the next `count` waits, in order of arrival.
    public func step(_ count: Int = 1) {
        state.change { $0.steps += count }
    }

    /// Whether it was raised.
    public var isRaised: Bool { state.read(\.isRaised) }

    /// Blocks the calling thread until the signal ends the wait; never call it from a task.
    ///
    /// For handlers of a ``LoopbackServer``, which have their own threads. A handler that waits this way keeps the
    /// server from stopping until the signal is raised; the wait of a connection does not.
    public func waitOnThread() {
        _ = block { false }
    }

    /// The number of waits that have begun so far, including ended ones.
    public var arrivals: Int { state.read { $0.arrivals } }

    /// Suspends the task until the signal ends the wait.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func wait() async throws(LoadingError) {
        state.change { $0.arrivals += 1 }
        try await state.value { $0.pass() ? () : nil }
    }

    /// Waits until this many waits have begun.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func arrivals(atLeast count: Int) async throws(LoadingError) {
        try await state.value { $0.arrivals >= count ? () : nil }
    }

    /// Blocks a thread until the signal ends the wait (true) or `isStopped` returns true (false).
    func block(unless isStopped: () -> Bool) -> Bool {
        state.change { $0.arrivals += 1 }
        return state.block { state in
            if isStopped() { return false }
            return state.pass() ? true : nil
        }
    }

    /// Makes blocked threads evaluate `isStopped` again.
    func poke() {
        state.change { _ in }
    }
}
