public import Lade

extension Loader {
    /// Sends the request of an endpoint and calls one of two closures, each of which may be nil.
    ///
    /// - Parameters:
    ///   - endpoint: The endpoint to load.
    ///   - executor: Where to call back; the main actor by default.
    ///   - success: Called with the request and the answer; nil for no call.
    ///   - failure: Called with the request and the error, cancellation included; nil for no call.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func send<Value>(
        _ endpoint: Endpoint<Value>,
        on executor: CompletionExecutor = .main,
        success: (@Sendable (Request, LoadedValue<Value>) -> Void)? = nil,
        failure: (@Sendable (Request, LoadingError) -> Void)? = nil
    ) -> LoadHandle {
        start(endpoint, on: executor) { result in
            switch result {
            case .success(let loaded): success?(endpoint.request, loaded)
            case .failure(let error): failure?(endpoint.request, error)
            }
        }
    }
}
