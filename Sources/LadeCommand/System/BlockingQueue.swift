import Dispatch
import Lade

/// Runs work that may block for long on a separate thread, in order.
///
/// The concurrency runtime has only as many threads as there are processors; a pipe with a slow reader must not occupy
/// one of them.
final class BlockingQueue: Sendable {
    private let queue: DispatchQueue

    /// Makes a queue with a label for debuggers.
    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    /// Runs `work` after all work added before, and waits for its result.
    ///
    /// - Returns: The result; nil as soon as the task is cancelled. A blocked system call cannot be cancelled: it
    ///   completes in the background and its result is discarded.
    func run<Value: Sendable>(_ work: @escaping @Sendable () -> Value) async -> Value? {
        guard !Task.isCancelled else { return nil }
        let waiter = Locked(Waiter<Value?>())
        queue.async { waiter.end(work()) }
        return await waiter.outcome(whenCancelled: nil)
    }

    /// Adds `work` to the queue without waiting.
    func enqueue(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }

    /// Waits for all work added before.
    func drain() {
        queue.sync {}
    }

    /// Waits for all work added before, but not longer than some seconds.
    func drain(atMostSeconds limit: Int) {
        let end = DispatchSemaphore(value: 0)
        queue.async { end.signal() }
        _ = end.wait(timeout: .now() + .seconds(limit))
    }
}
