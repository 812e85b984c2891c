public import Dispatch

/// Where a loader calls back.
public struct CompletionExecutor: Sendable {
    /// Runs a closure there and returns when it has run.
    package let run: @Sendable (@escaping @Sendable () -> Void) async -> Void
    /// Runs a closure there some time after.
    let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

    /// The main actor; never within the call that asked.
    public static let main = CompletionExecutor { work in
        await MainActor.run { work() }
    } schedule: { work in
        // Ends by itself after one closure, so nobody needs to own it.
        Task { @MainActor in work() }
    }

    /// The task that the call runs in: any thread.
    ///
    /// For closures that are quick and never block.
    public static let anywhere = CompletionExecutor { work in
        work()
    } schedule: { work in
        work()
    }

    /// A dispatch queue; on a concurrent one the closures of different calls may run at once.
    public static func queue(_ queue: DispatchQueue) -> CompletionExecutor {
        CompletionExecutor(scheduling: { work in queue.async(execute: work) })
    }

    /// An actor.
    public static func actor(_ actor: any Actor) -> CompletionExecutor {
        CompletionExecutor { work in
            await run(work, isolatedTo: actor)
        } schedule: { work in
            // Ends by itself after one closure, so nobody needs to own it.
            Task { await run(work, isolatedTo: actor) }
        }
    }

    /// Anything that runs closures.
    ///
    /// - Parameter schedule: Takes a closure that it must run exactly once, at any time and on any thread. The closures of
    ///   one call come one after the other.
    public init(scheduling schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void) {
        self.schedule = schedule
        run = { work in
            await withCheckedContinuation { continuation in
                schedule {
                    work()
                    continuation.resume()
                }
            }
        }
    }

    private init(
        _ run: @escaping @Sendable (@escaping @Sendable () -> Void) async -> Void,
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        self.run = run
        self.schedule = schedule
    }

    private static func run(_ work: @Sendable () -> Void, isolatedTo actor: isolated any Actor) {
        work()
    }
}
