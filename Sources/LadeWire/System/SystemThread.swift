#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A thread of the transport, which no signal of the program interrupts.
enum SystemThread {
    private final class Job: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Runs a closure in a new thread, which ends with it.
    ///
    /// - Returns: 0, or the number of the error; then the closure does not run.
    static func start(_ body: @escaping @Sendable () -> Void) -> Int32 {
        let job = Unmanaged.passRetained(Job(body))
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            nil,
            { context in
                guard let context else { return nil }
                var signals = sigset_t()
                sigfillset(&signals)
                pthread_sigmask(SIG_BLOCK, &signals, nil)
                Unmanaged<Job>.fromOpaque(context).takeRetainedValue().body()
                return nil
            },
            job.toOpaque()
        )
        if result == 0 { pthread_detach(thread) } else { job.release() }
        return result
    }
}
