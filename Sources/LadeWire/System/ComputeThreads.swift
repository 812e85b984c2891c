import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// Threads for work that takes milliseconds, such as the steps of handshakes, so that the loop serves others meanwhile.
///
/// Work of one key is done by one thread at a time: a host whose handshakes are dear delays its own. The threads start
/// with the first work and end with ``stop()``.
final class ComputeThreads: Sendable {
    private struct State {
        var waiting: [(key: Int, work: @Sendable () -> Void)] = []
        var busy: Set<Int> = []
        var threads = 0
        var isStopped = false

        /// The first work whose key has none in progress.
        mutating func take() -> (key: Int, work: @Sendable () -> Void)? {
            guard let index = waiting.firstIndex(where: { !busy.contains($0.key) }) else { return nil }
            busy.insert(waiting[index].key)
            return waiting.remove(at: index)
        }
    }

    /// The memory of the threads' semaphore, at one address for its whole life.
    private final class Bell: @unchecked Sendable {
        private let raw: UnsafeMutablePointer<sem_t>

        init() {
            raw = .allocate(capacity: 1)
            raw.initialize(to: sem_t())
            sem_init(raw, 0, 0)
        }

        deinit {
            sem_destroy(raw)
            raw.deallocate()
        }

        func ring() { sem_post(raw) }

        func wait() { while sem_wait(raw) != 0 {} }
    }

    private static let most = 2

    private let state = Locked(State())
    private let bell = Bell()
    /// Called by a thread that ends.
    private let atEnd: @Sendable () -> Void

    init(atEnd: @escaping @Sendable () -> Void) { self.atEnd = atEnd }

    /// Does work on one of the threads; without any, on this one.
    func run(_ key: Int, _ work: @escaping @Sendable () -> Void) {
        let startsThread = state.withLock { state in
            state.waiting.append((key, work))
            let starts = state.threads < Self.most && state.threads < state.waiting.count + state.busy.count
            if starts { state.threads += 1 }
            return starts
        }
        if startsThread, SystemThread.start({ self.serve() }) != 0 {
            let isAlone = state.withLock { state in
                state.threads -= 1
                return state.threads == 0
            }
            if isAlone { while doNext() {} }
        }
        bell.ring()
    }

    /// Ends the threads after their current work.
    func stop() {
        let threads = state.withLock { state in
            state.isStopped = true
            state.waiting = []
            return state.threads
        }
        for _ in 0..<threads { bell.ring() }
    }

    private func serve() {
        while !state.withLock({ $0.isStopped }) {
            if !doNext() { bell.wait() }
        }
        atEnd()
    }

    /// Does the next work; false when there is none now.
    private func doNext() -> Bool {
        guard let (key, work) = state.withLock({ $0.take() }) else { return false }
        work()
        // Another thread may have passed over work of this key.
        let isLeft = state.withLock { state in
            state.busy.remove(key)
            return !state.waiting.isEmpty
        }
        if isLeft { bell.ring() }
        return true
    }
}
