#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The view level: loads things for a screen, a job, a scope.
///
/// It owns the work it has started. When the last reference to it is released, all of that is cancelled: bytes stop, slots
/// are released, and nothing calls back. An awaited call is a reference, too: `await loader.load(…)` holds the loader until
/// it returns, so it ends with its task or by ``cancelAllLoads()``, and not by releasing the loader. Hold a loader where
/// what it loads is shown, and let nothing else hold it. It keeps its account, and that its service.
///
/// ```swift
/// let show = try await loader.load(Endpoint(showURL).decoding(Show.self))
/// ```
public final class Loader: Sendable {
    /// The most bytes of a refused answer's body that its error keeps: 64 KiB.
    public static let errorBodyLimit = ErrorContext.bodyLimit

    let core: LoaderCore
    let delegation = Locked(Delegation())

    init(account: Account) {
        core = LoaderCore(account: account)
    }

    /// Makes a loader of a service of its own, for a program that needs one account and no second loader.
    ///
    /// Several loaders share a pool of connections, rate limits and cookies by ``Account/makeLoader()``.
    ///
    /// - Parameter settings: The settings of the service.
    /// - Throws: `LoadingError.invalidSetting` for a setting that cannot be used.
    public convenience init(_ settings: Service.Settings = Service.Settings()) throws(LoadingError) {
        self.init(account: try Service(settings).anonymous)
    }

    deinit {
        core.group.dissolve()
    }

    /// Who the calls are made for.
    public var account: Account { core.account }

    /// What is asked for now, in the order it was asked: calls that are awaited, calls that will call back, and bodies being streamed.
    public var currentRequests: [Request] { core.group.requests }

    /// Ends everything that is under way as cancelled; the loader stays usable.
    public func cancelAllLoads() {
        core.group.cancelMembers()
    }

    /// Loads a response through the whole chain.
    ///
    /// - Parameter request: What to ask for. With `streamed` delivery the head is returned as soon as it is there, and the
    ///   body ends as cancelled with the loader; ``withResponse(to:_:)`` bounds it to a scope.
    /// - Returns: A response whose status is acceptable.
    /// - Throws: `LoadingError.unacceptableStatus` with headers and the beginning of the body for a status
    ///   outside the acceptable ones; otherwise what the chain throws. Cancelling the task ends the call.
    @concurrent
    public func load(_ request: Request) async throws(LoadingError) -> Response {
        try await core.perform(request, .response)
    }

    /// Loads the value of an endpoint.
    ///
    /// - Throws: `LoadingError.unacceptableStatus` for a status outside the acceptable ones, with what the processors
    ///   made of the body in its context; `LoadingError.decoding` when a processor fails; otherwise what the chain
    ///   throws. Cancelling the task ends the call.
    @concurrent
    public func load<Value>(_ endpoint: Endpoint<Value>) async throws(LoadingError) -> Value {
        try await loadValue(of: endpoint).value
    }

    /// Loads an endpoint and decodes the body to the type that the caller expects.
    ///
    /// ```swift
    /// let show: Show = try await loader.load(api.get("shows", id))
    /// ```
    ///
    /// The decoder is that of the ``API`` which made the endpoint, otherwise JSON. An empty body is an error.
    ///
    /// - Throws: The same as `load(_:)` of an endpoint that decodes.
    @_disfavoredOverload
    @concurrent
    public func load<Value: Decodable & Sendable>(_ endpoint: Endpoint<Data>) async throws(LoadingError) -> Value {
        try await loadValue(of: endpoint.decoding(Value.self)).value
    }

    /// Loads the value of an endpoint, and gives the response with it.
    ///
    /// - Throws: The same as `load(_:)` of an endpoint.
    @concurrent
    public func loadValue<Value>(of endpoint: Endpoint<Value>) async throws(LoadingError) -> LoadedValue<Value> {
        try await core.perform(endpoint.prepared, ending(of: endpoint))
    }

    /// Streams a response within a scope: when the scope is left, however that happens, the exchange is over.
    ///
    /// ```swift
    /// let size = try await loader.withResponse(to: request) { response in
    ///     var size = 0
    ///     for try await chunk in response.body { size += chunk.count }
    ///     return size
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - request: What to ask for; its delivery is taken for `streamed`.
    ///   - body: Reads as much of the response as it wants.
    /// - Returns: What the closure returns.
    /// - Throws: The same as `load(_:)` of a request, and what the closure throws.
    public func withResponse<Output>(
        to request: Request,
        _ body: (Response) async throws -> Output
    ) async throws -> Output {
        var request = request
        request.delivery = .streamed
        let response = try await load(request)
        defer { response.body.cancel() }
        return try await body(response)
    }
}
