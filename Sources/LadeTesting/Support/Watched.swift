#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
package import LadeCore

/// A value behind a POSIX mutex, with conditions that tasks and threads can wait for.
///
/// It extends `Locked` by two kinds of waiters: tasks suspend in ``value(_:)``, threads block in ``block(_:)``. A
/// waiter has a *probe*: a function of the state that returns a value once its condition holds. A probe that returns a
/// value may change the state. Probes run under the lock, in order of arrival, after each change.
package final class Watched<State>: @unchecked Sendable {
    // Sendable: everything behind the two pointers is accessed only between lock and unlock of `mutex`.
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var state: State
    private var waiters: [Waiter] = []
    private var blockedThreads = 0
    private var lastWaiter: UInt64 = 0

    private struct Waiter {
        let id: UInt64
        /// Returns the closure that resumes the task when the state satisfies the condition.
        let probe: (inout State) -> (() -> Void)?
        let cancel: () -> Void
    }

    package init(_ state: State) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        condition = .allocate(capacity: 1)
        condition.initialize(to: pthread_cond_t())
        pthread_cond_init(condition, nil)
        self.state = state
    }

    deinit {
        pthread_cond_destroy(condition)
        condition.deallocate()
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Reads the state.
    package func read<Result>(_ body: (State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(state)
    }

    /// Changes the state, then resumes the waiters that it now satisfies.
    @discardableResult
    package func change<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        let result = body(&state)
        let resumed = takeSatisfied()
        if blockedThreads > 0 { pthread_cond_broadcast(condition) }
        pthread_mutex_unlock(mutex)
        // Resumed outside the lock: the task may run on this thread.
        for resume in resumed { resume() }
        return result
    }

    /// Suspends the task until the probe returns a value.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` as soon as the task is cancelled.
    package func value<Value: Sendable>(
        _ probe: @escaping @Sendable (inout State) -> Value?
    ) async throws(LoadingError) -> Value {
        let id = makeWaiterID()
        let outcome: Result<Value, LoadingError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enrol(id, probe, continuation)
            }
        } onCancel: {
            withdraw(id)
        }
        return try outcome.get()
    }

    /// Blocks the calling thread, which must be a dedicated one, until the probe returns a value.
    package func block<Value>(_ probe: (inout State) -> Value?) -> Value {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let value = probe(&state) { return value }
            blockedThreads += 1
            pthread_cond_wait(condition, mutex)
            blockedThreads -= 1
        }
    }

    private func makeWaiterID() -> UInt64 {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        lastWaiter += 1
        return lastWaiter
    }

    private func enrol<Value: Sendable>(
        _ id: UInt64,
        _ probe: @escaping @Sendable (inout State) -> Value?,
        _ continuation: CheckedContinuation<Result<Value, LoadingError>, Never>
    ) {
        pthread_mutex_lock(mutex)
        // A task is marked as cancelled before its handlers run, so a handler that ran too early is detected here.
        if Task.isCancelled {
            pthread_mutex_unlock(mutex)
            continuation.resume(returning: .failure(LoadingError(.cancelled)))
            return
        }
        if let value = probe(&state) {
            // The probe may have changed something that other waiters depend on.
            let resumed = takeSatisfied()
            if blockedThreads > 0 { pthread_cond_broadcast(condition) }
            pthread_mutex_unlock(mutex)
            continuation.resume(returning: .success(value))
            for resume in resumed { resume() }
            return
        }
        waiters.append(
            Waiter(
                id: id,
                probe: { state in
                    probe(&state).map { value in { continuation.resume(returning: .success(value)) } }
                },
                cancel: { continuation.resume(returning: .failure(LoadingError(.cancelled))) }
            )
        )
        pthread_mutex_unlock(mutex)
    }

    private func withdraw(_ id: UInt64) {
        pthread_mutex_lock(mutex)
        let waiter = waiters.firstIndex { $0.id == id }.map { waiters.remove(at: $0) }
        pthread_mutex_unlock(mutex)
        waiter?.cancel()
    }

    private func takeSatisfied() -> [() -> Void] {
        guard !waiters.isEmpty else { return [] }
        var resumed: [() -> Void] = []
        waiters.removeAll { waiter in
            guard let resume = waiter.probe(&state) else { return false }
            resumed.append(resume)
            return true
        }
        return resumed
    }
}
