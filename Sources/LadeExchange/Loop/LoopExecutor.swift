import LadeCore

/// Runs the jobs of tasks on the loop thread, so that handling a response needs no thread switch.
package final class LoopExecutor: TaskExecutor {
    private let inbox: Inbox

    package init(inbox: Inbox) {
        self.inbox = inbox
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // A job must still run after the end of the loop; otherwise its task would never end.
        if !inbox.post(.run(job)) { job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
