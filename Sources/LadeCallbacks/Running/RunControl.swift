import Lade
import Observation

/// The runs of a request: one at a time, any number in succession.
///
/// Each has a number, so that a late result of an earlier run is not taken for one of the current run.
final class RunControl: Observable, Sendable {
    /// The status of a run when its outcome arrives.
    enum Claim {
        /// It is the current run: its outcome counts.
        case current
        /// It was cancelled: its outcome is ignored.
        case cancelled
    }

    private struct State: ObservedState {
        var isRunning = false
        var observers = ObserverTable()
        /// The number of the latest run.
        var run: UInt64 = 0
        var task: Task<Void, Never>?
    }

    private let state = Locked(State())
    private let registrar = ObservationRegistrar()
    private let activity: NetworkActivity

    init(countedIn activity: NetworkActivity) {
        self.activity = activity
    }

    var isRunning: Bool {
        registrar.access(self, keyPath: \.isRunning)
        return state.withLock { $0.isRunning }
    }

    /// Starts a run unless one is in progress.
    ///
    /// - Parameter work: The run; it calls ``claim(_:)`` and ``finish(_:)`` with its number.
    func start(_ work: @escaping @Sendable (_ run: UInt64) async -> Void) {
        let begun = state.withLock { state -> UInt64? in
            guard !state.isRunning else { return nil }
            state.isRunning = true
            state.run += 1
            state.observers.note(true)
            return state.run
        }
        guard let run = begun else { return }
        changed(to: true)
        // The state owns the task until the run ends.
        let task = Task { await work(run) }
        let isWanted = state.withLock { state in
            guard state.isRunning, state.run == run else { return false }
            state.task = task
            return true
        }
        // An observer of the start has cancelled the run already.
        if !isWanted { task.cancel() }
    }

    /// The status of a run.
    func claim(_ run: UInt64) -> Claim {
        state.withLock { $0.isRunning && $0.run == run } ? .current : .cancelled
    }

    /// Ends a run, unless it was cancelled.
    func finish(_ run: UInt64) {
        stop { $0.run == run }
    }

    /// Cancels the current run.
    func cancel() {
        stop { _ in true }?.cancel()
    }

    /// Reports changes from now on.
    func observe(_ handler: @escaping @Sendable (Bool) -> Void) -> RunningObservation {
        let (id, wasRunning) = state.withLock { ($0.observers.add(handler), $0.isRunning) }
        return RunningObservation(wasRunning: wasRunning) { [weak self] in
            _ = self?.state.withLock { $0.observers.remove(id) }
        }
    }

    @discardableResult
    private func stop(if isMeant: (State) -> Bool) -> Task<Void, Never>? {
        let (hasStopped, task) = state.withLock { state -> (Bool, Task<Void, Never>?) in
            guard state.isRunning, isMeant(state) else { return (false, nil) }
            state.isRunning = false
            state.observers.note(false)
            defer { state.task = nil }
            return (true, state.task)
        }
        if hasStopped { changed(to: false) }
        return task
    }

    private func changed(to isRunning: Bool) {
        if isRunning { activity.increase() } else { activity.decrease() }
        registrar.withMutation(of: self, keyPath: \.isRunning) {}
        state.notify()
    }
}
