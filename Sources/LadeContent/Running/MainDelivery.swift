import Dispatch
import LadeCore

/// What is to run on the main actor, in the order in which it was asked for.
///
/// One line for everything: that a queue has started is told before the completions of its requests, also when both come
/// from other threads.
enum MainDelivery {
    typealias Work = @MainActor @Sendable () -> Void

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
    static var isOnMain: Bool { DispatchQueue.getSpecific(key: mark) == true }

    /// Runs a closure on the main actor, later.
    static func post(_ work: @escaping Work) {
        let isFirst = state.withLock { state in
            state.waiting.append(work)
            defer { state.isScheduled = true }
            return !state.isScheduled
        }
        // Nobody owns the task: what it runs was promised, and says by itself when it is not wanted any more.
        if isFirst { Task { @MainActor in runWaiting() } }
    }

    /// Runs a closure on the main actor: at once when the caller is there, otherwise later.
    static func run(_ work: @escaping Work) {
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
