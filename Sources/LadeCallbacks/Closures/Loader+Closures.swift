public import Lade

extension Loader {
    /// Sends the request of an endpoint and calls one of two closures on the main actor; each may be nil.
    ///
    /// ```swift
    /// loader.send(Endpoint(showURL).decoding(Show.self)) { request, loaded in
    ///     show = loaded.value
    /// } failure: { request, error in
    ///     message = error.text()
    /// }
    /// ```
    ///
    /// No closure is called when the loader is released first.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint to load.
    ///   - success: Called with the request, and the value with its response; nil for no call.
    ///   - failure: Called with the request and the error, cancellation included; nil for no call.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func send<Value>(
        _ endpoint: Endpoint<Value>,
        success: (@MainActor @Sendable (Request, Loader.Loaded<Value>) -> Void)? = nil,
        failure: (@MainActor @Sendable (Request, LoadingError) -> Void)? = nil
    ) -> Loader.Handle {
        start(endpoint, on: .main) { result in
            MainActor.assumeIsolated {
                switch result {
                case .success(let loaded): success?(endpoint.request, loaded)
                case .failure(let error): failure?(endpoint.request, error)
                }
            }
        }
    }

    /// Sends the request of an endpoint and calls one of two closures on an executor; each may be nil.
    ///
    /// No closure is called when the loader is released first.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint to load.
    ///   - executor: Where to call back; `.ofService` for the executor of the settings.
    ///   - success: Called with the request, and the value with its response; nil for no call.
    ///   - failure: Called with the request and the error, cancellation included; nil for no call.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func send<Value>(
        _ endpoint: Endpoint<Value>,
        on executor: Service.CompletionExecutor,
        success: (@Sendable (Request, Loader.Loaded<Value>) -> Void)? = nil,
        failure: (@Sendable (Request, LoadingError) -> Void)? = nil
    ) -> Loader.Handle {
        start(endpoint, on: executor) { result in
            switch result {
            case .success(let loaded): success?(endpoint.request, loaded)
            case .failure(let error): failure?(endpoint.request, error)
            }
        }
    }
}
