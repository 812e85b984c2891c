import Lade

/// The closure that receives an outcome, and where it runs.
enum Completion<Output: Sendable>: Sendable {
    case main(@MainActor @Sendable (Output) -> Void)
    case executor(Service.CompletionExecutor, @Sendable (Output) -> Void)

    /// Delivers the outcome of a run, and then ends the run.
    ///
    /// - Parameters:
    ///   - run: The number of the run.
    ///   - control: Determines whether the run still counts.
    ///   - access: Determines whether the owner of the loader, such as a catalogue's provider, was released.
    ///   - options: The options of the request.
    ///   - outcome: The outcome of the run; nil when nothing must be delivered.
    ///   - cancelled: The outcome of a cancelled run, if it must be delivered.
    ///   - owner: The request, which is kept alive until then.
    func conclude(
        _ run: UInt64,
        of control: RunControl,
        _ access: LoaderAccess,
        _ options: RequestOptions,
        _ outcome: Output?,
        cancelled: Output,
        keeping owner: any GroupedRequest
    ) async {
        // Evaluated where the completion runs: a run that was cancelled until then delivers nothing.
        let taken: @Sendable () -> Output? = {
            guard !access.isGone else { return nil }
            return switch control.claim(run) {
            case .current: outcome
            case .cancelled: options.contains(.cancellationErrors) ? cancelled : nil
            }
        }
        let executor: Service.CompletionExecutor
        let completion: @Sendable (Output) -> Void
        switch self {
        case .main(let bound) where !options.contains(.backgroundCompletion):
            return MainDelivery.post {
                if let outcome = taken() { bound(outcome) }
                control.finish(run)
                withExtendedLifetime(owner) {}
            }
        case .main(let bound):
            (executor, completion) = (.anywhere, Self.unbound(bound))
        case .executor(let chosen, let free):
            (executor, completion) = (options.contains(.backgroundCompletion) ? .anywhere : chosen, free)
        }
        await executor.run {
            if let outcome = taken() { completion(outcome) }
            control.finish(run)
            withExtendedLifetime(owner) {}
        }
    }

    /// The closure without its bond to the main actor.
    ///
    /// Isolation is a matter of types alone: both have the same representation. The caller has asked for it with
    /// ``RequestOptions/backgroundCompletion``, which says what the closure must not do.
    private static func unbound(
        _ completion: @escaping @MainActor @Sendable (Output) -> Void
    ) -> @Sendable (Output) -> Void {
        unsafeBitCast(completion, to: (@Sendable (Output) -> Void).self)
    }
}

extension RunControl {
    /// Starts a run that loads once and delivers its outcome; has no effect while one is in progress.
    ///
    /// - Parameters:
    ///   - access: The access to the loader.
    ///   - options: The options of the handle.
    ///   - completion: The closure that receives the outcome.
    ///   - cancelled: The outcome of a run that was cancelled through the handle.
    ///   - handle: The handle of the run, which is kept alive until the end of the run.
    ///   - load: Loads once; nil when nothing must be delivered.
    func start<Output>(
        _ access: LoaderAccess,
        _ options: RequestOptions,
        notifying completion: Completion<Output>,
        cancelled: Output,
        keeping handle: any GroupedRequest,
        _ load: @escaping @Sendable () async -> Output?
    ) {
        start { [self] run in
            let outcome = await load()
            await completion.conclude(
                run,
                of: self,
                access,
                options,
                outcome,
                cancelled: cancelled,
                keeping: handle
            )
        }
    }
}
