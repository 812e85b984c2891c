import Lade

/// Who is told of an outcome, and where.
enum Completion<Outcome: Sendable>: Sendable {
    case main(@MainActor @Sendable (Outcome) -> Void)
    case executor(CompletionExecutor, @Sendable (Outcome) -> Void)

    /// Tells the outcome of a run, and ends the run after that.
    ///
    /// - Parameters:
    ///   - run: The number of the run.
    ///   - control: Who knows whether the run still counts.
    ///   - access: Who knows whether the loader is still there.
    ///   - options: Those of the request.
    ///   - outcome: What the run has brought; nil when nobody is to be told.
    ///   - cancelled: What is told of a run that was cancelled, when that is wanted.
    ///   - owner: The request, which lives until then.
    func conclude(
        _ run: UInt64,
        of control: RunControl,
        _ access: LoaderAccess,
        _ options: RequestOptions,
        _ outcome: Outcome?,
        cancelled: Outcome,
        keeping owner: any GroupedRequest
    ) async {
        // Judged where the completion runs: what was cancelled until then is not told (RQ-D2).
        let told: @Sendable () -> Outcome? = {
            guard !access.isGone else { return nil }
            return switch control.claim(run) {
            case .current: outcome
            case .cancelled: options.contains(.cancellationErrors) ? cancelled : nil
            }
        }
        switch self {
        case .main(let completion):
            MainDelivery.post {
                if let outcome = told() { completion(outcome) }
                control.finish(run)
                withExtendedLifetime(owner) {}
            }
        case .executor(let executor, let completion):
            let executor = options.contains(.backgroundCompletion) ? .anywhere : executor
            await executor.run {
                if let outcome = told() { completion(outcome) }
                control.finish(run)
                withExtendedLifetime(owner) {}
            }
        }
    }
}
