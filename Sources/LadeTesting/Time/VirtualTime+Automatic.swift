import LadeCore

extension VirtualTime {
    /// Runs `body` to its end, and advances the time to the next deadline whenever no job is left to run.
    ///
    /// The body and its child tasks run on a dedicated thread, one job after the other. So it is known when no job is
    /// left, and the order of events is reproducible. Hours of virtual time take milliseconds.
    ///
    /// ```swift
    /// let waited = try await time.runAutomatically {
    ///     let start = time.now
    ///     _ = try await loader.load(request)  // fails, waits, tries again …
    ///     return start.duration(to: time.now)
    /// }
    /// ```
    ///
    /// Work outside that thread is not waited for: an unstructured `Task`, the main actor, a real network. Time
    /// advances as soon as a task sleeps while the body is idle. So a simulation with several tasks of that kind may
    /// resume them in a wrong order. Create them with `Task(executorPreference:)` and the body's executor, or advance
    /// the time manually.
    ///
    /// - Parameter body: The code to run; it is not isolated to any actor.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body.
    @concurrent
    public func runAutomatically<Result: Sendable, Failure: Error>(
        _ body: @Sendable () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await runAutomatically(beforeEachStep: { _ in }, body)
    }

    /// Runs `body` to its end like ``runAutomatically(_:)``, and calls a closure before each step.
    ///
    /// A step is one job of one task, from its resumption to its next suspension, or an advance of the time. To test
    /// every suspension point, run the body once per step number and cancel something in the closure before that step.
    ///
    /// - Parameters:
    ///   - observe: Called on the body's thread with the number of the step, from 0.
    ///   - body: The code to run; it is not isolated to any actor.
    /// - Returns: The result of the body.
    /// - Throws: The error of the body.
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
            // A task is enqueued on its preferred executor only when it is resumed. Without this the body would begin
            // on the caller's thread, concurrently with the tasks that it starts.
            await Task.yield()
            return try await body()
        }
    }
}

/// Runs jobs one by one on its own thread, and advances a virtual time when there are none.
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
        // A task that outlives the run keeps its preference; each of its remaining jobs gets a new thread.
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
                // Jobs that the step's observer has caused run before the time advances.
                if state.read({ !$0.jobs.isEmpty }) {
                    mayAdvance = true
                    continue
                }
                // Without a sleeper, wait until one arrives, or a job.
                mayAdvance = time.advanceIfAnybodySleeps()
            case .end:
                return
            }
        }
    }
}
