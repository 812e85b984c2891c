import LadeCore

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
