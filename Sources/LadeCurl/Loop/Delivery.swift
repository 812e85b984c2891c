import LadeCore

/// A task that waits for the loop.
typealias Waiter = Resumption<Void>

/// Resumes tasks of the default executor, many at a time, from a task of that executor.
///
/// A resumed task goes into the queue of its executor, which wakes a sleeping thread of the pool. Resumed one after the
/// other from the loop thread, each of them may cost a switch to the pool's thread and back, because that thread is
/// done before the next one comes: 12 of 45 µs a request. A whole turn's tasks are therefore handed over with one
/// wake-up and put into the queue from within. Each class of priority has threads, hence a delivery, of its own. Who has
/// another executor (an actor, the main thread, the loop) is resumed by the loop itself, so that nobody waits for a pool
/// that he does not use; a task executor of the app's own is the exception, because asking for it costs as much as this
/// saves when a single call is under way.
final class Delivery: Sendable {
    /// How a waiting task is to be resumed.
    enum Lane: Int {
        case high
        case medium
        case low
        case background
        /// By the loop thread itself.
        case direct

        static let priorities: [TaskPriority] = [.high, .medium, .low, .background]

        /// The lane of the current task, given the actor it runs on and whether it runs on the loop thread.
        static func current(isolation: (any Actor)?, isOnLoop: Bool) -> Lane {
            guard isolation == nil, !isOnLoop else { return .direct }
            let priority = Task.currentPriority
            return priority >= .high ? .high : priority >= .medium ? .medium : priority >= .low ? .low : .background
        }
    }

    private struct State {
        var batch: [Waiter] = []
        var waiter: Waiter?
        var isStarted = false
        var isOver = false
    }

    private let priority: TaskPriority
    private let state = Locked(State())

    init(priority: TaskPriority) {
        self.priority = priority
    }

    private func run() async {
        var batch: [Waiter] = []
        while await next(into: &batch) {
            for continuation in batch { continuation.resume() }
            batch.removeAll(keepingCapacity: true)
        }
    }

    private func next(into batch: inout [Waiter]) async -> Bool {
        while true {
            let isOver = state.withLock { state in
                swap(&state.batch, &batch)
                return state.isOver
            }
            if !batch.isEmpty { return true }
            if isOver { return false }
            await withResumption { continuation in
                let isReady = state.withLock { state in
                    guard state.batch.isEmpty, !state.isOver else { return true }
                    state.waiter = continuation
                    return false
                }
                if isReady { continuation.resume() }
            }
        }
    }

    // MARK: - The loop's side

    /// Hands over who is to be resumed; the list is empty afterwards.
    func take(_ continuations: inout [Waiter]) {
        // A single one needs no detour.
        if continuations.count == 1 {
            continuations[0].resume()
        } else {
            let (waiter, isFirst) = state.withLock { state in
                if state.batch.isEmpty {
                    swap(&state.batch, &continuations)
                } else {
                    state.batch += continuations
                }
                defer {
                    state.waiter = nil
                    state.isStarted = true
                }
                return (state.waiter, !state.isStarted)
            }
            waiter?.resume()
            // Owned by this object, whose ``end()`` ends it.
            if isFirst { Task(priority: priority) { await run() } }
        }
        continuations.removeAll(keepingCapacity: true)
    }

    /// Ends the task once everything that was handed over is resumed.
    func end() {
        let waiter = state.withLock { state in
            state.isOver = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
