import Lade

extension RunControl {
    /// Starts a run, unless there is one, that asks once and tells what became of it.
    ///
    /// - Parameters:
    ///   - pipeline: What is asked.
    ///   - options: Those of the handle.
    ///   - completion: Who is told.
    ///   - handle: Whose run it is; it lives until the end of the run.
    ///   - complete: Makes what is told of what came back.
    func start<Value, Outcome>(
        asking pipeline: ResponsePipeline<Value>,
        _ options: RequestOptions,
        telling completion: Completion<Outcome>,
        keeping handle: any GroupedRequest,
        _ complete: @escaping @Sendable (RequestOutcome<Value>) -> Outcome
    ) {
        start { [self] run in
            let outcome = await pipeline.outcome(options).map(complete)
            await completion.conclude(
                run,
                of: self,
                pipeline.access,
                options,
                outcome,
                cancelled: complete(pipeline.cancelled),
                keeping: handle
            )
        }
    }
}
