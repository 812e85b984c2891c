package import LadeCore

/// A task that waits for the loop.
package typealias LoopWaiter = Resumption<Void>

/// Resumes tasks of the default executor, many at a time, from a task of that executor.
///
/// A resumed task enters the queue of its executor, which wakes a sleeping thread of the pool. When the loop thread resumes
/// tasks one after the other, each may cost a switch to the pool's thread and back. The pool's thread finishes before the next
/// task comes: 12 of 45 µs per request. Therefore one wake-up hands over all tasks of a turn, and a task of the pool resumes
/// them. Each priority class has its own threads, and therefore its own delivery.
///
/// The loop itself resumes tasks with another executor: an actor, the main thread, or the loop. So they do not wait for a pool
/// that they do not use. A custom task executor is the exception: detecting it costs as much as the delivery saves for a single
/// call in flight.
package final class Delivery: Sendable {
    /// How a waiting task is resumed.
    package enum Lane: Int {
        case high
        case medium
        case low
        case background
        /// By the loop thread itself.
        case direct

        package static let priorities: [TaskPriority] = [.high, .medium, .low, .background]

        /// The lane of the current task, given the actor it runs on and whether it runs on the loop thread.
        package static func current(isolation: (any Actor)?, isOnLoop: Bool) -> Lane {
            guard isolation == nil, !isOnLoop else { return .direct }
            let priority = Task.currentPriority
            return priority >= .high ? .high : priority >= .medium ? .medium : priority >= .low ? .low : .background
        }
    }

    private struct State {
        var batch: [LoopWaiter] = []
        var waiter: LoopWaiter?
        var isStarted = false
        var isOver = false
    }

    private let priority: TaskPriority
    private let state = Locked(State())

    package init(priority: TaskPriority) {
        self.priority = priority
    }

    private func run() async {
        var batch: [LoopWaiter] = []
        while await next(into: &batch) {
            for continuation in batch { continuation.resume() }
            batch.removeAll(keepingCapacity: true)
        }
    }

    private func next(into batch: inout [LoopWaiter]) async -> Bool {
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

    /// Takes the tasks to resume; the list is empty afterwards.
    package func take(_ continuations: inout [LoopWaiter]) {
        // A single task is resumed directly.
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
            // Owned by this object; ``end()`` ends the task.
            if isFirst { Task(priority: priority) { await run() } }
        }
        continuations.removeAll(keepingCapacity: true)
    }

    /// Ends the delivery's task after all tasks it has taken are resumed.
    package func end() {
        let waiter = state.withLock { state in
            state.isOver = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume()
    }
}
