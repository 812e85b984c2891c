#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Dedicated threads, for code that may block.
package enum Threads {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new detached thread with a small stack; a program that cannot have one ends.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) {
        precondition(tryStart(body), "No thread for \(name)")
    }

    /// Runs `body` on a new detached thread with a small stack; false when the system has no thread for it.
    package static func tryStart(_ body: @escaping @Sendable () -> Void) -> Bool {
        // No initialiser: by the order of files, the compiler finds the type in a module that is not imported here.
        let attributes = UnsafeMutablePointer<pthread_attr_t>.allocate(capacity: 1)
        pthread_attr_init(attributes)
        pthread_attr_setdetachstate(attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(attributes, 512 << 10)
        defer {
            pthread_attr_destroy(attributes)
            attributes.deallocate()
        }
        let body = Unmanaged.passRetained(Body(body))
        let argument = body.toOpaque()
        #if canImport(Darwin)
            var thread: pthread_t?
            let result = pthread_create(&thread, attributes, { Threads.enter($0) }, argument)
        #else
            var thread = pthread_t()
            let result = pthread_create(&thread, attributes, { Threads.enter($0) }, argument)
        #endif
        if result != 0 { body.release() }
        return result == 0
    }

    /// Lets other threads run first.
    package static func yield() {
        sched_yield()
    }

    #if canImport(Darwin)
        private static func enter(_ argument: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
            Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
            return nil
        }
    #else
        private static func enter(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
            guard let argument else { return nil }
            Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
            return nil
        }
    #endif
}
