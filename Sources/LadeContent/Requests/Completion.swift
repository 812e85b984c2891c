import Lade

/// The closure that receives an outcome, and where it runs.
enum Completion<Outcome: Sendable>: Sendable {
    case main(@MainActor @Sendable (Outcome) -> Void)
    case executor(CompletionExecutor, @Sendable (Outcome) -> Void)

    /// Delivers the outcome of a run, and then ends the run.
    ///
    /// - Parameters:
    ///   - run: The number of the run.
    ///   - control: Determines whether the run still counts.
    ///   - access: Determines whether the loader still exists.
    ///   - options: The options of the request.
    ///   - outcome: The outcome of the run; nil when nothing must be delivered.
    ///   - cancelled: The outcome of a cancelled run, if it must be delivered.
    ///   - owner: The request, which is kept alive until then.
    func conclude(
        _ run: UInt64,
        of control: RunControl,
        _ access: LoaderAccess,
        _ options: RequestOptions,
        _ outcome: Outcome?,
        cancelled: Outcome,
        keeping owner: any GroupedRequest
    ) async {
        // Evaluated where the completion runs: a run that was cancelled until then delivers nothing.
        let taken: @Sendable () -> Outcome? = {
            guard !access.isGone else { return nil }
            return switch control.claim(run) {
            case .current: outcome
            case .cancelled: options.contains(.cancellationErrors) ? cancelled : nil
            }
        }
        switch self {
        case .main(let completion):
            MainDelivery.post {
                if let outcome = taken() { completion(outcome) }
                control.finish(run)
                withExtendedLifetime(owner) {}
            }
        case .executor(let executor, let completion):
            let executor = options.contains(.backgroundCompletion) ? .anywhere : executor
            await executor.run {
                if let outcome = taken() { completion(outcome) }
                control.finish(run)
                withExtendedLifetime(owner) {}
            }
        }
    }
}
