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
        let waiter = Locked(Waiter<Value>.notYet)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isCancelled = waiter.withLock { waiter in
                    if case .gone = waiter { return true }
                    waiter = .waiting(continuation)
                    return false
                }
                guard !isCancelled else { return continuation.resume(returning: nil) }
                queue.async {
                    let value = work()
                    waiter.withLock { $0.take() }?.resume(returning: value)
                }
            }
        } onCancel: {
            waiter.withLock { $0.take() }?.resume(returning: nil)
        }
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

    private enum Waiter<Value: Sendable> {
        case notYet
        case waiting(CheckedContinuation<Value?, Never>)
        case gone

        mutating func take() -> CheckedContinuation<Value?, Never>? {
            defer { self = .gone }
            guard case .waiting(let continuation) = self else { return nil }
            return continuation
        }
    }
}
