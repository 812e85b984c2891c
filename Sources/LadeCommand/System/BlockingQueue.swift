import Dispatch
import Lade

/// Does what may block for long on a thread of its own, in order.
///
/// The threads of the concurrency runtime are as few as the processors; a pipe whose reader pauses must not take one
/// away from the transport.
final class BlockingQueue: Sendable {
    private let queue: DispatchQueue

    /// Makes a queue; the label is what a debugger shows.
    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    /// Runs `work` after everything that was given before, and waits for what it returns.
    ///
    /// - Returns: The result; nil as soon as the task is cancelled. What blocks then goes on alone, and its result is
    ///   dropped: a system call cannot be taken back, but the program need not wait for it.
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

    /// Runs `work` after everything that was given before, without waiting.
    func enqueue(_ work: @escaping @Sendable () -> Void) {
        queue.async(execute: work)
    }

    /// Waits for everything that was given before.
    func drain() {
        queue.sync {}
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
