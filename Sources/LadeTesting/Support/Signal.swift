public import LadeCore

/// What a test raises to let a script go on.
///
/// Scripted answers and server scripts wait for signals instead of sleeping. ``raise()`` lets every wait pass, those of
/// the future too; ``step(_:)`` lets so many waits pass, one each.
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

    /// Lets every wait pass from now on.
    public func raise() {
        state.change { $0.isRaised = true }
    }

    /// Lets the next `count` waits pass, in order of arrival.
    public func step(_ count: Int = 1) {
        state.change { $0.steps += count }
    }

    /// Whether it lets every wait pass.
    public var isRaised: Bool { state.read(\.isRaised) }

    /// Blocks the calling thread until the signal lets it pass; never call it from a task.
    ///
    /// For handlers of a ``LoopbackServer``, whose threads are their own. A handler that waits keeps the server from
    /// stopping until the signal is raised; ``ServerConnection/wait(for:)`` does not.
    public func waitOnThread() {
        _ = block { false }
    }

    /// How many waits have begun so far, passed or not.
    public var arrivals: Int { state.read { $0.arrivals } }

    /// Waits until the signal lets the task pass.
    ///
    /// - Throws: `LoadingError.cancelled` when the task is cancelled.
    public func wait() async throws(LoadingError) {
        state.change { $0.arrivals += 1 }
        try await state.value { $0.pass() ? () : nil }
    }

    /// Waits until so many waits have begun: somebody stands before the signal.
    ///
    /// - Throws: `LoadingError.cancelled` when the task is cancelled.
    public func arrivals(atLeast count: Int) async throws(LoadingError) {
        try await state.value { $0.arrivals >= count ? () : nil }
    }

    /// Blocks a thread of ours until the signal lets it pass (true) or `isStopped` says to give up (false).
    func block(unless isStopped: () -> Bool) -> Bool {
        state.change { $0.arrivals += 1 }
        return state.block { state in
            if isStopped() { return false }
            return state.pass() ? true : nil
        }
    }

    /// Makes blocked threads look at `isStopped` again.
    func poke() {
        state.change { _ in }
    }
}
