#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The stack of the current thread, and a larger one for deeply nested values.
///
/// Decoding and encoding recurse through the initialisers and methods of the program's types, whose frames have any
/// size. In debug builds a level of a small class takes 1 to 2 KB. So 511 levels do not fit into the 512 KB that
/// secondary threads have on Apple platforms.
enum StackSpace {
    /// The nesting that any thread must have space for; 64 levels of 4 KB are half of 512 KB.
    static let shallow = 64
    /// The bytes that are enough for the nesting limit: 512 levels of 8 KB.
    private static let enough = 4 << 20
    private static let large = 16 << 20

    /// Runs a closure here, or on a thread with a large stack while this one waits.
    ///
    /// The other thread is used where the stack that is left may not be enough for the nesting limit.
    static func withEnough<Value>(_ body: () throws -> Value) throws -> Value {
        if let left, left >= enough { return try body() }
        return try onLargeStack(body)
    }

    /// The bytes between the current frame and the end of the stack; nil when the system does not say.
    private static var left: Int? {
        var marker: UInt8 = 0
        let here = withUnsafeMutablePointer(to: &marker) { UInt(bitPattern: $0) }
        #if canImport(Darwin)
            let thread = pthread_self()
            let top = UInt(bitPattern: pthread_get_stackaddr_np(thread))
            let bottom = top - UInt(pthread_get_stacksize_np(thread))
        #else
            var attributes = pthread_attr_t()
            guard let attributesOfThread, attributesOfThread(pthread_self(), &attributes) == 0 else { return nil }
            defer { pthread_attr_destroy(&attributes) }
            var base: UnsafeMutableRawPointer?
            var size = 0
            guard pthread_attr_getstack(&attributes, &base, &size) == 0, let base else { return nil }
            let bottom = UInt(bitPattern: base)
        #endif
        return here > bottom ? Int(here - bottom) : nil
    }

    #if !canImport(Darwin)
        private typealias AttributesOfThread = @convention(c) (pthread_t, UnsafeMutablePointer<pthread_attr_t>) -> Int32

        /// `pthread_getattr_np`, which the headers declare only for GNU sources; a static program may lack it.
        private static let attributesOfThread: AttributesOfThread? =
            dlsym(nil, "pthread_getattr_np").map { unsafeBitCast($0, to: AttributesOfThread.self) }
    #endif

    /// A closure of an unknown caller, and its result.
    ///
    /// Both stay valid, and in the use of one thread at a time: the thread that made the closure waits for the other
    /// one.
    private final class Job {
        let run: () -> Void

        init(_ run: @escaping () -> Void) { self.run = run }
    }

    private static func onLargeStack<Value>(_ body: () throws -> Value) throws -> Value {
        try withoutActuallyEscaping(body) { body in
            var result: Result<Value, any Error>?
            let job = Job { result = Result { try body() } }
            var attributes = pthread_attr_t()
            pthread_attr_init(&attributes)
            defer { pthread_attr_destroy(&attributes) }
            pthread_attr_setstacksize(&attributes, large)
            #if canImport(Darwin)
                var thread: pthread_t?
            #else
                var thread = pthread_t()
            #endif
            let status = withExtendedLifetime(job) { () -> Int32 in
                let status = pthread_create(
                    &thread,
                    &attributes,
                    { argument in
                        #if canImport(Darwin)
                            let job = argument
                        #else
                            guard let job = argument else { return nil }
                        #endif
                        Unmanaged<Job>.fromOpaque(job).takeUnretainedValue().run()
                        return nil
                    },
                    Unmanaged.passUnretained(job).toOpaque()
                )
                guard status == 0 else { return status }
                #if canImport(Darwin)
                    if let thread { pthread_join(thread, nil) }
                #else
                    pthread_join(thread, nil)
                #endif
                return status
            }
            // Without a further thread, this one is all there is.
            guard status == 0, let result else { return try body() }
            return try result.get()
        }
    }
}
