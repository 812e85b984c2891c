extension Loader {
    /// Sends a request as a part of a call that ``start(_:on:evenWhenReleased:_:completion:)`` makes.
    package struct Sending: Sendable {
        let core: LoaderCore
        let call: Call
        let handle: LoadHandle

        /// Sends the request and returns its response, or its error.
        package func response(to request: Request) async -> Result<Response, LoadingError> {
            await core.run(request, call, .response) { !handle.isCancelled }
        }
    }

    /// Makes a call in a task of its own, which belongs to the handle, and reports its ending.
    ///
    /// The call holds the core of the loader and not the loader, so it ends when the loader is released.
    ///
    /// - Parameters:
    ///   - request: The request of the call.
    ///   - executor: Where to report.
    ///   - evenWhenReleased: Whether the cancellation by the release of the loader is reported, too.
    ///   - work: Makes the call; not called for an invalid request.
    ///   - completion: Receives the ending.
    /// - Returns: A handle that can cancel the call.
    package func start<Output: Sendable>(
        _ request: Request,
        on executor: CompletionExecutor,
        evenWhenReleased: Bool = false,
        _ work: @escaping @Sendable (LoadHandle, Sending) async -> Result<Output, LoadingError>,
        completion: @escaping @Sendable (LoadHandle, Result<Output, LoadingError>) -> Void
    ) -> LoadHandle {
        core.start(request) { [core] handle, call in
            let result = await work(handle, Sending(core: core, call: call, handle: handle))
            await core.report(result, of: handle, on: executor, evenWhenReleased: evenWhenReleased) {
                completion(handle, $0)
            }
        } refused: { [core] handle, error in
            await core.report(.failure(error), of: handle, on: executor, evenWhenReleased: evenWhenReleased) {
                completion(handle, $0)
            }
        }
    }

    /// Loads an endpoint in a task that belongs to the handle, and reports the value with its response.
    package func start<Value>(
        _ endpoint: Endpoint<Value>,
        on executor: CompletionExecutor,
        completion: @escaping @Sendable (Result<LoadedValue<Value>, LoadingError>) -> Void
    ) -> LoadHandle {
        core.start(endpoint.prepared, ending(of: endpoint), on: executor, completion)
    }
}

extension Response {
    /// Throws when the status is not among these, as a call does.
    ///
    /// - Throws: ``LoadingError/Kind/unacceptableStatus(_:)`` with the headers and the beginning of the body.
    package func validateStatus(_ acceptable: StatusSet) throws(LoadingError) {
        _ = try Ending.response.output(of: self, isSuccess: isSuccess(acceptable))
    }
}
