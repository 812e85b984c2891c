package import LadeCore

/// Runs tasks only in a call of `run()`, on the calling thread.
///
/// After ``run()`` every task of it has ended or is suspended, so that a test need not wait.
package final class HeldExecutor: TaskExecutor {
    private let jobs = Locked<[UnownedJob]>([])

    package init() {}

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    /// Runs its tasks until none of them can continue.
    package func run() {
        while let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) {
            job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }

    /// Starts a task and runs it up to its first wait.
    package func start<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) -> HeldTask<Value> {
        defer { run() }
        return prepare(body)
    }

    /// Makes a task, for the next ``run()`` to begin with.
    package func prepare<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) -> HeldTask<Value> {
        let outcome = Locked<Result<Value, any Error>?>(nil)
        let task = Task(executorPreference: self) {
            let result: Result<Value, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            outcome.withLock { $0 = result }
        }
        return HeldTask(task: task, outcome: outcome)
    }
}

/// A task of a ``HeldExecutor``.
package struct HeldTask<Value: Sendable> {
    fileprivate let task: Task<Void, Never>
    fileprivate let outcome: Locked<Result<Value, any Error>?>

    /// What it ended with; nil while it waits.
    package var result: Result<Value, any Error>? { outcome.withLock { $0 } }

    /// What it returned; nil while it waits and when it threw.
    package var value: Value? { try? result?.get() }

    /// What it threw.
    package var error: LoadingError? {
        guard case .failure(let error) = result else { return nil }
        return error as? LoadingError
    }

    package func cancel() { task.cancel() }
}

/// Counts how often something was asked for.
package final class Tally: Sendable {
    private let calls = Locked(0)

    package init() {}

    package var count: Int { calls.withLock { $0 } }

    package func add() { calls.withLock { $0 += 1 } }
}
