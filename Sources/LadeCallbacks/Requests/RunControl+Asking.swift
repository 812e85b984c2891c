import Lade

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
