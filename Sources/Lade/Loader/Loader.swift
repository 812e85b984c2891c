#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Loads data for one screen, job or scope, and owns the calls it makes.
///
/// When the last reference to a loader is released, its calls are cancelled: transfers end and slots are released. The
/// form of the call decides what the caller receives:
///
/// | form | when the loader is released |
/// | --- | --- |
/// | awaited, its streamed body, and a sequence that is iterated | keeps the loader, so it ends by itself, or with its task |
/// | a handle of `LadeCallbacks` | keeps the loader, so it calls back |
/// | a `LoadRequest` of `LadeCallbacks` | its handlers receive `LoadingError.Kind.cancelled`, once |
/// | a closure, a delegate | nothing; reading a streamed body that a closure has received throws |
///
/// Keep the only reference to a loader where its results are shown. A loader keeps its account, and the account keeps
/// its service.
///
/// ```swift
/// let show = try await loader.load(Endpoint(showURL).decoding(Show.self))
/// ```
public final class Loader: Sendable {
    /// The largest number of bytes of a refused response's body that its error keeps: 64 KiB.
    public static let errorBodyLimit = LoadingError.Context.bodyLimit

    let core: LoaderCore
    /// The object that a module above keeps for the loader: `LadeCallbacks` its delegate.
    package let attachment = Locked<(any Sendable)?>(nil)

    init(account: Account) {
        core = LoaderCore(account: account)
    }

    /// Makes a loader with a service of its own, for a program that needs one account and no second loader.
    ///
    /// To share connections, rate limits and cookies between loaders, use ``Account/makeLoader()``.
    ///
    /// - Parameter settings: The settings of the service.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a setting that cannot be used.
    public convenience init(_ settings: Service.Settings = Service.Settings()) throws(LoadingError) {
        self.init(account: try Service(settings).anonymous)
    }

    deinit {
        dissolve()
    }

    /// Ends the work of the loader for good, as its release does, when the only owner that it works for is released.
    package func dissolve() {
        core.group.dissolve()
    }

    /// The account that the calls are made for.
    public var account: Account { core.account }

    /// The requests in flight, in the order in which they were made.
    ///
    /// They belong to awaited calls, to calls that report to a closure or a delegate, and to streamed bodies.
    public var currentRequests: [Request] { core.group.requests }

    /// Cancels everything in flight; the loader stays usable.
    public func cancelAllLoads() {
        core.group.cancelMembers()
    }

    /// Loads a response through the interceptor chain.
    ///
    /// - Parameter request: The request. With `streamed` delivery this method returns when the head has arrived. The body
    ///   keeps the loader until it is read, cancelled or released. To bound the body to a scope, use
    ///   ``withResponse(to:_:)``.
    /// - Returns: A response whose status is acceptable.
    /// - Throws: `LoadingError.Kind.unacceptableStatus` with the headers and the beginning of the body for an unacceptable
    ///   status; otherwise the error of the chain. Cancelling the task cancels the call.
    @concurrent
    public func load(_ request: Request) async throws(LoadingError) -> Response {
        try await core.perform(request, .response, by: self)
    }

    /// Loads the value of an endpoint.
    ///
    /// - Throws: `LoadingError.Kind.unacceptableStatus` for an unacceptable status, with the processed body in its context;
    ///   `LoadingError.Kind.decoding` when a processor fails; otherwise the error of the chain. Cancelling the task cancels
    ///   the call.
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
    /// The ``API`` that made the endpoint sets the decoder; without an API it is JSON. An empty body is an error.
    ///
    /// - Throws: The same as `load(_:)` of an endpoint that decodes.
    @_disfavoredOverload
    @concurrent
    public func load<Value: Decodable & Sendable>(_ endpoint: Endpoint<Data>) async throws(LoadingError) -> Value {
        try await loadValue(of: endpoint.decoding(Value.self)).value
    }

    /// Loads the value of an endpoint, and returns the response with it.
    ///
    /// - Throws: The same as `load(_:)` of an endpoint.
    @concurrent
    public func loadValue<Value>(of endpoint: Endpoint<Value>) async throws(LoadingError) -> Loader.Loaded<Value> {
        try await core.perform(endpoint.prepared, conversion(of: endpoint), by: self)
    }

    /// Streams a response within a scope.
    ///
    /// The exchange ends when the closure returns or throws.
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
    ///   - request: The request; its delivery is treated as `streamed`.
    ///   - body: Reads the response, in whole or in part.
    /// - Returns: The result of the closure.
    /// - Throws: The errors of `load(_:)` for a request, and the error that the closure throws.
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
