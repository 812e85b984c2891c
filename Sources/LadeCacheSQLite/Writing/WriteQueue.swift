import CSQLite
import LadeCache
import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Something for the writing thread to do.
struct WriteJob: Sendable {
    enum Work: Sendable {
        /// Writes to a file of a body, before all changes.
        case file(@Sendable () -> Void)
        /// Changes entries, in one transaction with others.
        case change(@Sendable (WriteSession) throws(StoreFault) -> Void)
        /// Opens transactions itself, or none.
        case alone(@Sendable () throws(StoreFault) -> Void)
        /// Only waits for everything before it.
        case barrier
    }

    let work: Work
    /// The bytes that are held in memory until then.
    var bytes = 0
    /// How long another process is waited for.
    var patience = Duration.milliseconds(100)
    /// Whether no call waits for it, so that it is joined with later ones in one transaction.
    var mayWait = false
    /// Called once, with the reason where it was not done.
    let finish: @Sendable (StoreFault?) -> Void
}

/// The queue of the writing thread.
///
/// Sendable: the mutex guards everything.
final class WriteQueue: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var files: [WriteJob] = []
    private var changes: [WriteJob] = []
    private var bytes = 0
    /// Whether the queue has a job that must not wait for later jobs.
    private var isUrgent = false
    /// Whether the thread waits for a first job.
    private var isIdle = false
    private var isEnding = false
    private var isRunning = false

    /// One transaction has no more than these bytes and jobs.
    private static let batchBytes = 1 << 20
    private static let batchCount = 256
    /// How long jobs that no call waits for are joined with later ones, in milliseconds.
    private static let batchTime: Int32 = 20

    init() {
        mutex.initialize(to: pthread_mutex_t())
        condition.initialize(to: pthread_cond_t())
        pthread_mutex_init(mutex, nil)
        lade_make_condition(condition)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    private func locked<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    /// The bytes that wait.
    var queuedBytes: Int { locked { bytes } }

    /// Adds a job; false once the queue has ended.
    ///
    /// The closure carries out the jobs on the thread, which is started for the first one.
    func post(_ job: WriteJob, _ process: @escaping @Sendable () -> Void) -> Bool {
        let (isPosted, mustStart) = locked { () -> (Bool, Bool) in
            guard !isEnding else { return (false, false) }
            if case .file = job.work { files.append(job) } else { changes.append(job) }
            bytes += job.bytes
            defer { isRunning = true }
            if !job.mayWait { isUrgent = true }
            // A thread that joins jobs is not woken for each of them.
            if isIdle || isUrgent || isFull {
                isIdle = false
                pthread_cond_signal(condition)
            }
            return (true, !isRunning)
        }
        if mustStart, !startThread(process) {
            // Without a thread nothing is written.
            let jobs = locked { () -> [WriteJob] in
                defer { (files, changes, isEnding, isRunning) = ([], [], true, false) }
                return files + changes
            }
            for job in jobs { job.finish(StoreFault(.other, "The system has no thread for the cache store")) }
        }
        return isPosted
    }

    /// Refuses further jobs; the thread ends after the jobs in the queue.
    func end() {
        locked {
            isEnding = true
            pthread_cond_signal(condition)
        }
    }

    /// Whether one more transaction would not hold all jobs.
    private var isFull: Bool { changes.count >= Self.batchCount || bytes >= Self.batchBytes }

    /// Waits for jobs on the writing thread; jobs that no call waits for are joined with later jobs.
    ///
    /// - Returns: The writes to files, and changes for one transaction or one job that is alone; nil at the end.
    func next() -> (files: [WriteJob], changes: [WriteJob])? {
        locked {
            while files.isEmpty, changes.isEmpty, !isEnding {
                isIdle = true
                pthread_cond_wait(condition, mutex)
            }
            isIdle = false
            let deadline = lade_deadline(Self.batchTime)
            while !isUrgent, !isFull, !isEnding, lade_wait(condition, mutex, deadline) == 0 {}
            guard !files.isEmpty || !changes.isEmpty else { return nil }
            defer { files = [] }
            var count = 0
            var size = 0
            for job in changes {
                if case .alone = job.work {
                    if count == 0 { count = 1 }
                    break
                }
                guard count == 0 || size + job.bytes <= Self.batchBytes && count < Self.batchCount else { break }
                count += 1
                size += job.bytes
            }
            defer {
                changes.removeFirst(count)
                isUrgent = changes.contains { !$0.mayWait }
            }
            return (files, Array(changes.prefix(count)))
        }
    }

    /// Puts jobs that another process was in the way of back to the front.
    func putBack(_ jobs: [WriteJob]) {
        locked {
            changes.insert(contentsOf: jobs, at: 0)
            if jobs.contains(where: { !$0.mayWait }) { isUrgent = true }
        }
    }

    /// Calls the end of a job, whose bytes are released.
    func finish(_ job: WriteJob, _ fault: StoreFault?) {
        locked { bytes -= job.bytes }
        job.finish(fault)
    }
}

private final class ThreadBody {
    let run: @Sendable () -> Void
    init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Starts a detached thread; false when the system has none.
private func startThread(_ run: @escaping @Sendable () -> Void) -> Bool {
    let body = Unmanaged.passRetained(ThreadBody(run))
    #if canImport(Darwin)
        var thread: pthread_t?
        let result = pthread_create(&thread, nil, { enter($0) }, body.toOpaque())
        if result == 0, let thread { pthread_detach(thread) }
    #else
        var thread = pthread_t()
        let result = pthread_create(&thread, nil, { $0.flatMap(enter) }, body.toOpaque())
        if result == 0 { pthread_detach(thread) }
    #endif
    if result != 0 { body.release() }
    return result == 0
}

private func enter(_ body: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<ThreadBody>.fromOpaque(body).takeRetainedValue().run()
    return nil
}
