#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#elseif canImport(Darwin)
    package import Darwin
#endif

/// A value behind a POSIX mutex: take the lock, change the state, unlock, then act.
///
/// `Synchronization.Mutex` is not used because the Thread Sanitizer cannot see its lock on Linux. Under the lock there
/// is no I/O, no callback, no resumed continuation and no second lock.
package final class Locked<State>: @unchecked Sendable {
    // Sendable: `state` is reached only between lock and unlock of `mutex`.
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    // The lock already gives exclusive access, so the run-time check of it would only cost.
    @exclusivity(unchecked) @usableFromInline var state: State

    /// Wraps an initial state.
    package init(_ state: State) {
        mutex = .allocate(capacity: 1)
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
        self.state = state
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Runs `body` with exclusive access to the state and returns what it returns.
    @inlinable
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
