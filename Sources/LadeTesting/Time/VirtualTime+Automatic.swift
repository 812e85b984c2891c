import LadeCore

extension VirtualTime {
    /// Runs `body` to its end, moving the time to the next deadline whenever nothing else is left to do.
    ///
    /// The body and its child tasks run on one thread of their own, one job after the other, so that "nothing left to
    /// do" is known and the order of events repeats. Hours of virtual time take milliseconds.
    ///
    /// ```swift
    /// let waited = try await time.runAutomatically {
    ///     let start = time.now
    ///     _ = try await service.load(request)  // fails, waits, tries again …
    ///     return start.duration(to: time.now)
    /// }
    /// ```
    ///
    /// Work outside that thread is not waited for: an unstructured `Task`, the main actor, a real network. Time moves on
    /// as soon as one of them sleeps while the body is idle, so a simulation with several such tasks at once may wake
    /// them out of step. Make them with `Task(executorPreference:)` of the body's executor, or step by hand.
    ///
    /// - Parameter body: What to run; it is not isolated to any actor.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    @concurrent
    public func runAutomatically<Result: Sendable, Failure: Error>(
        _ body: @Sendable () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await runAutomatically(beforeEachStep: { _ in }, body)
    }

    /// Runs `body` to its end as ``runAutomatically(_:)`` does, and calls a closure before each step.
    ///
    /// A step is one job of one task, from where it was resumed to where it suspends again, or a move of the time. A
    /// closure that cancels something before a given step, in one run for each number, tries every suspension point.
    ///
    /// - Parameters:
    ///   - observe: Called on the body's thread with the number of the step, from 0 on.
    ///   - body: What to run; it is not isolated to any actor.
    /// - Returns: What the body returns.
    /// - Throws: What the body throws.
    @concurrent
    public func runAutomatically<Result: Sendable, Failure: Error>(
        beforeEachStep observe: @escaping @Sendable (Int) -> Void,
        _ body: @Sendable () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let executor = AutomaticExecutor(moving: self, observe)
        state.change { $0.drivers[ObjectIdentifier(executor)] = executor }
        executor.start()
        defer {
            state.change { $0.drivers[ObjectIdentifier(executor)] = nil }
            executor.finish()
        }
        return try await withTaskExecutorPreference(executor) { () async throws(Failure) -> Result in
            // Only a task that is resumed is enqueued on the executor it prefers. Without this the body would begin on
            // the caller's thread, next to what it has started.
            await Task.yield()
            return try await body()
        }
    }
}

/// Runs jobs one by one on its own thread and moves a virtual time whenever it has none.
final class AutomaticExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var hasNewSleeper = false
        var isFinished = false
    }

    private enum Work {
        case run([UnownedJob])
        case advance
        case end
    }

    private let state = Watched(State())
    private let time: VirtualTime
    private let observe: @Sendable (Int) -> Void

    init(moving time: VirtualTime, _ observe: @escaping @Sendable (Int) -> Void) {
        self.time = time
        self.observe = observe
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isLate = state.change { state in
            if !state.isFinished { state.jobs.append(job) }
            return state.isFinished
        }
        // A task that outlives the run keeps its preference; it gets a thread for each of its last steps.
        if isLate { Threads.start("lade-late-job") { job.runSynchronously(on: self.asUnownedTaskExecutor()) } }
    }

    func noticeSleeper() {
        state.change { $0.hasNewSleeper = true }
    }

    func start() {
        Threads.start("lade-virtual-time") { self.run() }
    }

    func finish() {
        state.change { $0.isFinished = true }
    }

    private func run() {
        let executor = asUnownedTaskExecutor()
        var mayAdvance = true
        var steps = 0
        func step() {
            observe(steps)
            steps += 1
        }
        while true {
            let work = state.block { state -> Work? in
                if !state.jobs.isEmpty {
                    defer { state.jobs.removeAll() }
                    return .run(state.jobs)
                }
                if state.isFinished { return .end }
                guard mayAdvance || state.hasNewSleeper else { return nil }
                state.hasNewSleeper = false
                return .advance
            }
            switch work {
            case .run(let jobs):
                for job in jobs {
                    step()
                    job.runSynchronously(on: executor)
                }
                mayAdvance = true
            case .advance:
                step()
                // What the step's observer has set going comes before the time moves.
                if state.read({ !$0.jobs.isEmpty }) {
                    mayAdvance = true
                    continue
                }
                // Without a sleeper there is nothing to do until one comes, or a job.
                mayAdvance = time.advanceIfAnybodySleeps()
            case .end:
                return
            }
        }
    }
}
