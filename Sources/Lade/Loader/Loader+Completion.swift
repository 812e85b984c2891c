extension Loader {
    /// Loads a response and calls back on the main actor.
    ///
    /// - Parameters:
    ///   - request: The request; the response is received whole unless the delivery is `streamed`.
    ///   - completion: Called exactly once, also with `LoadingError.Kind.cancelled`; not called when the loader is released
    ///     first.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func load(
        _ request: Request,
        completion: @escaping @MainActor @Sendable (Result<Response, LoadingError>) -> Void
    ) -> Loader.Handle {
        load(request, on: .main) { result in MainActor.assumeIsolated { completion(result) } }
    }

    /// Loads a response and calls back on an executor.
    ///
    /// - Parameters:
    ///   - request: The request; the response is received whole unless the delivery is `streamed`.
    ///   - executor: Where to call back; ``Service/CompletionExecutor/ofService`` for the executor of the settings.
    ///   - completion: Called exactly once, also with `LoadingError.Kind.cancelled`; not called when the loader is released
    ///     first.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func load(
        _ request: Request,
        on executor: Service.CompletionExecutor,
        completion: @escaping @Sendable (Result<Response, LoadingError>) -> Void
    ) -> Loader.Handle {
        core.start(request, .response, on: executor, completion)
    }

    /// Loads the value of an endpoint and calls back on the main actor.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint to load.
    ///   - completion: Called exactly once, also with `LoadingError.Kind.cancelled`; not called when the loader is released
    ///     first.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func load<Value>(
        _ endpoint: Endpoint<Value>,
        completion: @escaping @MainActor @Sendable (Result<Value, LoadingError>) -> Void
    ) -> Loader.Handle {
        load(endpoint, on: .main) { result in MainActor.assumeIsolated { completion(result) } }
    }

    /// Loads the value of an endpoint and calls back on an executor.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint to load.
    ///   - executor: Where to call back.
    ///   - completion: Called exactly once, also with `LoadingError.Kind.cancelled`; not called when the loader is released
    ///     first.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func load<Value>(
        _ endpoint: Endpoint<Value>,
        on executor: Service.CompletionExecutor,
        completion: @escaping @Sendable (Result<Value, LoadingError>) -> Void
    ) -> Loader.Handle {
        core.start(endpoint.prepared, conversion(of: endpoint), on: executor) { result in
            completion(result.map(\.value))
        }
    }

    func conversion<Value>(of endpoint: Endpoint<Value>) -> ResponseConversion<Loader.Loaded<Value>> {
        endpoint.conversion(after: account.service.settings.processors)
    }
}

extension Loader {
    /// Sends a request as a part of a call that ``start(_:on:evenWhenReleased:_:completion:)`` makes.
    package struct Sending: Sendable {
        let core: LoaderCore
        let call: Call
        let handle: Loader.Handle

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
        on executor: Service.CompletionExecutor,
        evenWhenReleased: Bool = false,
        _ work: @escaping @Sendable (Loader.Handle, Sending) async -> Result<Output, LoadingError>,
        completion: @escaping @Sendable (Loader.Handle, Result<Output, LoadingError>) -> Void
    ) -> Loader.Handle {
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
        on executor: Service.CompletionExecutor,
        completion: @escaping @Sendable (Result<Loader.Loaded<Value>, LoadingError>) -> Void
    ) -> Loader.Handle {
        core.start(endpoint.prepared, conversion(of: endpoint), on: executor, completion)
    }
}

extension Response {
    /// Throws the error of a call when the status is not among these.
    ///
    /// - Throws: ``LoadingError/Kind/unacceptableStatus(_:)`` with the headers and the beginning of the body.
    package func validateStatus(_ acceptable: Response.StatusSet) throws(LoadingError) {
        _ = try ResponseConversion.response.output(of: self, isSuccess: isSuccess(acceptable))
    }
}

extension LoaderCore {
    /// Makes a call in a task of its own, which belongs to the handle, and reports its ending.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - conversion: Makes the result from the response.
    ///   - executor: Where to report.
    ///   - completion: Receives the ending.
    /// - Returns: A handle that can cancel the call.
    func start<Output>(
        _ request: Request,
        _ conversion: ResponseConversion<Output>,
        on executor: Service.CompletionExecutor,
        _ completion: @escaping @Sendable (Result<Output, LoadingError>) -> Void
    ) -> Loader.Handle {
        start(request) { [self] handle, call in
            let result = await run(request, call, conversion) { !handle.isCancelled }
            await report(result, of: handle, on: executor, completion)
        } refused: { [self] handle, error in
            await report(.failure(error), of: handle, on: executor, completion)
        }
    }

    /// Registers a call, then starts its task.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - work: Makes the call.
    ///   - refused: Runs instead when the request is invalid or the group is closed.
    /// - Returns: A handle that can cancel the call.
    func start(
        _ request: Request,
        _ work: @escaping @Sendable (Loader.Handle, Call) async -> Void,
        refused: @escaping @Sendable (Loader.Handle, LoadingError) async -> Void
    ) -> Loader.Handle {
        var call = makeCall()
        call.stopObserving(unlessNeededFor: request)
        let handle = Loader.Handle(id: call.id, request: request, accepting: acceptableStatuses(for: request))
        call.begin(handle.counter, isScoped: false)
        handle.slot = group.join(handle)
        let isOpen = handle.slot != nil
        // Owned by the handle, and by the group until its end.
        let task = Task(executorPreference: TaskExecutors.current) { [call] in
            do throws(LoadingError) {
                try request.validate()
                if isOpen { return await work(handle, call) }
                call.recordStart(request)
                call.record(.callFailed(LoadingError(.cancelled, LoadingError.Context(request))))
                await refused(handle, LoadingError(.cancelled, LoadingError.Context(request)))
            } catch {
                await refused(handle, error)
            }
        }
        handle.attach(task)
        return handle
    }

    /// Reports the ending of a call once, unless the loader was released.
    func report<Output: Sendable>(
        _ result: Result<Output, LoadingError>,
        of handle: Loader.Handle,
        on executor: Service.CompletionExecutor,
        evenWhenReleased: Bool = false,
        _ completion: @escaping @Sendable (Result<Output, LoadingError>) -> Void
    ) async {
        await executor.resolved(for: account.service).run { [group] in
            let settled = handle.settle(result)
            group.leave(handle.slot)
            guard let settled, evenWhenReleased || !group.isSilent else { return }
            completion(settled)
        }
    }
}
