import Lade

extension RunControl {
    /// Starts a run, unless there is one, that loads once and reports what came of it.
    ///
    /// - Parameters:
    ///   - access: The loader that is used.
    ///   - options: Those of the handle.
    ///   - completion: What is notified.
    ///   - cancelled: What a run that was cancelled here ends with.
    ///   - handle: The handle of the run; it lives until the end of the run.
    ///   - load: Loads once; nil when nothing is to be notified.
    func start<Outcome>(
        _ access: LoaderAccess,
        _ options: RequestOptions,
        notifying completion: Completion<Outcome>,
        cancelled: Outcome,
        keeping handle: any GroupedRequest,
        _ load: @escaping @Sendable () async -> Outcome?
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
