public import Dispatch

extension Service {
    /// Where a loader runs the closures of its callers.
    public struct CompletionExecutor: Sendable {
        /// Runs a closure and returns when it has run.
        package let run: @Sendable (@escaping @Sendable () -> Void) async -> Void
        /// Schedules a closure and returns without waiting for it.
        package let schedule: @Sendable (@escaping @Sendable () -> Void) -> Void

        /// Whether the service that makes the call names the executor.
        private var isOfService = false

        /// The executor of the service that makes the call: ``Service/Settings/completionExecutor``, the main actor by default.
        public static let ofService: Service.CompletionExecutor = {
            var executor = main
            executor.isOfService = true
            return executor
        }()

        /// The main actor; closures never run before the method that schedules them returns.
        public static let main = Service.CompletionExecutor { work in
            await MainActor.run { work() }
        } schedule: { work in
            // The task ends after one closure and needs no owner.
            Task { @MainActor in work() }
        }

        /// The task that the call runs in, on any thread.
        ///
        /// For closures that are quick and never block.
        public static let anywhere = Service.CompletionExecutor { work in
            work()
        } schedule: { work in
            work()
        }

        /// A dispatch queue; on a concurrent queue, the closures of different calls may run concurrently.
        public static func queue(_ queue: DispatchQueue) -> Service.CompletionExecutor {
            Service.CompletionExecutor(scheduling: { work in queue.async(execute: work) })
        }

        /// An actor.
        public static func actor(_ actor: any Actor) -> Service.CompletionExecutor {
            Service.CompletionExecutor { work in
                await run(work, isolatedTo: actor)
            } schedule: { work in
                // The task ends after one closure and needs no owner.
                Task { await run(work, isolatedTo: actor) }
            }
        }

        /// Any function that runs closures.
        ///
        /// - Parameter schedule: Receives a closure and must run it exactly once, at any time and on any thread. The
        ///   closures of one call are scheduled one after the other.
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

        /// The executor for a call of a service.
        package func resolved(for service: Service) -> Service.CompletionExecutor {
            isOfService ? service.settings.completionExecutor : self
        }

        private static func run(_ work: @Sendable () -> Void, isolatedTo actor: isolated any Actor) {
            work()
        }
    }
}
