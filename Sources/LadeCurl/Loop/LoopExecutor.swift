#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The monotonic clock, by which the loop goes, whose waits are the system's own.
enum Monotonic {
    static func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// Runs the jobs of tasks on the loop thread, so that an answer needs no thread switch to be handled.
final class LoopExecutor: TaskExecutor {
    private let inbox: Inbox

    init(inbox: Inbox) {
        self.inbox = inbox
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // After the end of the loop a job still has to run, or its task would never end.
        if !inbox.post(.run(job)) { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
