import Dispatch
import LadeCore

/// Closures to run on the main actor, in the order in which they were submitted.
///
/// There is one queue for all of them. So the start of a request queue is reported before the completions of its
/// requests, even when both come from other threads.
package enum MainDelivery {
    package typealias Work = @MainActor @Sendable () -> Void

    private struct State {
        var waiting: [Work] = []
        var isScheduled = false
    }

    private static let state = Locked(State())

    private static let mark: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the caller runs on the main actor's executor.
    package static var isOnMain: Bool { DispatchQueue.getSpecific(key: mark) == true }

    /// Submits a closure to run on the main actor later.
    package static func post(_ work: @escaping Work) {
        let isFirst = state.withLock { state in
            state.waiting.append(work)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        // The task has no owner: everything that it runs must run, and each closure checks itself whether it is still
        // needed.
        if isFirst { Task { @MainActor in runWaiting() } }
    }

    /// Runs a closure on the main actor: immediately when the caller is on it, otherwise later.
    package static func run(_ work: @escaping Work) {
        if isOnMain {
            MainActor.assumeIsolated { work() }
        } else {
            post(work)
        }
    }

    @MainActor
    private static func runWaiting() {
        let batch = state.withLock { state in
            defer {
                state.waiting = []
                state.isScheduled = false
            }
            return state.waiting
        }
        for work in batch { work() }
    }
}
