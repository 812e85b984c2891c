#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// What a thread holds while it calls libcurl: a POSIX mutex that is held for whole turns.
///
/// Who cannot get it at once does something else; only the loop thread waits for it.
final class Baton: @unchecked Sendable {
    // At one address for life, which is all that `@unchecked Sendable` takes.
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

    init() {
        mutex.initialize(to: pthread_mutex_t())
        pthread_mutex_init(mutex, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
    }

    /// Waits until it is free, and takes it.
    func take() { pthread_mutex_lock(mutex) }

    /// Takes it if nobody has it.
    ///
    /// Returns false when somebody has it, be it the calling thread itself.
    func takeIfFree() -> Bool { pthread_mutex_trylock(mutex) == 0 }

    /// Gives it up.
    func pass() { pthread_mutex_unlock(mutex) }
}
