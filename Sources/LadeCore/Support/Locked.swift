#if canImport(Glibc)
    package import Glibc
#elseif canImport(Musl)
    package import Musl
#elseif canImport(Darwin)
    package import Darwin
#endif

/// A value behind a POSIX mutex: take the lock, change the state, unlock, then act.
///
/// It has reference semantics: copies share the state. `Synchronization.Mutex` is not used because the Thread Sanitizer
/// cannot see its lock on Linux. Under the lock there is no I/O, no callback, no resumed continuation and no second
/// lock. A second lock ends the process of a debug build.
package struct Locked<State>: @unchecked Sendable {
    // State and mutex share one allocation.
    @usableFromInline let storage: LockedStorage<State>

    /// Wraps an initial state.
    @inlinable
    package init(_ state: State) {
        storage = LockedStorage.make(state)
    }

    /// Runs `body` with exclusive access to the state and returns its result.
    // Always inlined: otherwise the types of the memory would be looked up at run time.
    @inlinable
    @inline(__always)
    package func withLock<Result, Failure: Error>(
        _ body: (inout State) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // Sendable: the state is reached only between lock and unlock.
        try storage.withUnsafeMutablePointers { (state, mutex) throws(Failure) in
            #if DEBUG
                HeldLock.begin()
                defer { HeldLock.end() }
            #endif
            pthread_mutex_lock(&mutex.pointee.mutex)
            defer { pthread_mutex_unlock(&mutex.pointee.mutex) }
            return try body(&state.pointee)
        }
    }
}

#if DEBUG
    /// Whether the current thread holds the lock of a ``Locked``; debug builds check that it takes no second one.
    package enum HeldLock {
        // Made once and never changed; the value of a thread is nil without a lock.
        private static let key: pthread_key_t = {
            var key = pthread_key_t()
            let status = pthread_key_create(&key, nil)
            precondition(status == 0, "no key for the held lock: \(status)")
            return key
        }()

        /// Notes that the thread takes a lock; ends the process if it holds one.
        package static func begin() {
            precondition(pthread_getspecific(key) == nil, "a second lock is taken while one is held")
            pthread_setspecific(key, UnsafeRawPointer(bitPattern: 1))
        }

        /// Notes that the thread has released its lock.
        package static func end() {
            pthread_setspecific(key, nil)
        }
    }
#endif

/// The system's mutex under a name that inlined code may use.
package struct PosixMutex {
    @usableFromInline package var mutex: pthread_mutex_t

    @inlinable
    init() { mutex = pthread_mutex_t() }
}

/// The memory of a ``Locked``.
package final class LockedStorage<State>: ManagedBuffer<State, PosixMutex> {
    // Inlined, so that the types of its memory are known to the compiler: looking them up costs more than a lock.
    @inlinable
    static func make(_ state: State) -> LockedStorage {
        let buffer = LockedStorage.create(minimumCapacity: 1) { buffer in
            buffer.withUnsafeMutablePointerToElements { mutex in
                mutex.initialize(to: PosixMutex())
                pthread_mutex_init(&mutex.pointee.mutex, nil)
            }
            return state
        }
        return unsafeDowncast(buffer, to: LockedStorage.self)
    }

    deinit {
        _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy(&$0.pointee.mutex) }
    }
}
