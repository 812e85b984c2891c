#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// A request that is created first and started later, any number of times.
///
/// ```swift
/// let request = RequestHandle(loader, Endpoint(showURL).decoding(Show.self)) { outcome in
///     show = outcome.value
/// }
/// request.resume()
/// ```
///
/// Nothing is sent before ``resume()``. While it runs it keeps itself alive: no reference is needed, and a weak one
/// suffices to cancel it. A request that was never started is released with its last reference. It keeps its loader, so
/// `RequestHandle(try Loader(), …) { … }.resume()` calls back. All methods may be called from any thread.
///
/// Each run calls the completion once, with two exceptions. A cancelled run does so only with
/// ``RequestOptions/cancellationErrors``. A request of a released ``RequestQueue``, or of a released provider of a
/// catalogue, does not.
///
/// Statuses from 400 are errors, unless the request or the endpoint names the acceptable ones; the service's acceptable
/// statuses have no effect here.
public final class RequestHandle<Value: Sendable>: GroupedRequest {
    /// The request to send.
    public let request: Request
    /// How outcomes other than success are handled; no options by default.
    public let options: RequestOptions

    private let pipeline: ResponsePipeline<Value>
    private let completion: Completion<Outcome<Value, NetworkError>>
    private let activity: NetworkActivity
    private let control: RunControl

    private init(
        _ pipeline: ResponsePipeline<Value>,
        _ options: RequestOptions,
        _ activity: NetworkActivity,
        _ completion: Completion<Outcome<Value, NetworkError>>
    ) {
        self.pipeline = pipeline
        self.options = options
        self.activity = activity
        self.completion = completion
        request = pipeline.request
        control = RunControl(countedIn: activity)
    }

    /// Makes a request for the value of an endpoint.
    ///
    /// - Parameters:
    ///   - loader: The loader of the request, which is kept as long as the request.
    ///   - endpoint: The endpoint to load: bytes, `jsonObject()`, `jsonArray()`, `decoding(_:)`, or any other.
    ///   - options: How outcomes other than success are handled.
    ///   - activity: The activity that counts the request.
    ///   - completion: Called on the main actor once per run, unless it is cancelled; ``isRunning`` is true until it
    ///     returns.
    public convenience init(
        _ loader: Loader,
        _ endpoint: Endpoint<Value>,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        completion: @escaping @MainActor @Sendable (Outcome<Value, NetworkError>) -> Void
    ) {
        self.init(ResponsePipeline(LoaderAccess(loader), endpoint), options, activity, .main(completion))
    }

    /// Makes a request for the value of an endpoint, with a completion on a given executor.
    ///
    /// - Parameters:
    ///   - loader: The loader of the request, which is kept as long as the request.
    ///   - endpoint: The endpoint to load.
    ///   - options: How outcomes other than success are handled; ``RequestOptions/backgroundCompletion`` takes
    ///     precedence over the executor.
    ///   - activity: The activity that counts the request.
    ///   - executor: Where the completion runs.
    ///   - completion: Called once per run, unless it is cancelled; ``isRunning`` is true until it returns.
    public convenience init(
        _ loader: Loader,
        _ endpoint: Endpoint<Value>,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        on executor: Service.CompletionExecutor,
        completion: @escaping @Sendable (Outcome<Value, NetworkError>) -> Void
    ) {
        self.init(
            ResponsePipeline(LoaderAccess(loader), endpoint),
            options,
            activity,
            .executor(executor.resolved(for: loader.account.service), completion)
        )
    }

    /// Makes a request whose body is parsed by a closure.
    ///
    /// - Parameters:
    ///   - loader: The loader of the request, which is kept as long as the request.
    ///   - request: The request to send.
    ///   - options: How outcomes other than success are handled.
    ///   - activity: The activity that counts the request.
    ///   - parser: Parses the body, never on the main actor. Nil means that there is no value, which is not an error.
    ///     An error that it throws is reported as ``NetworkError/invalidData(_:url:)``.
    ///   - completion: Called on the main actor once per run, unless it is cancelled; ``isRunning`` is true until it
    ///     returns.
    public convenience init(
        _ loader: Loader,
        _ request: Request,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        parser: @escaping @Sendable (Data) throws -> Value?,
        completion: @escaping @MainActor @Sendable (Outcome<Value, NetworkError>) -> Void
    ) {
        let pipeline = ResponsePipeline(LoaderAccess(loader), request, parser: parser)
        self.init(pipeline, options, activity, .main(completion))
    }

    /// Whether a run is in progress: from ``resume()`` until its completion has returned, or until ``cancel()``.
    public var isRunning: Bool { control.isRunning }

    /// Starts a run; has no effect while one is in progress.
    ///
    /// ``isRunning`` is true when it returns. After success, failure or cancellation it starts a new run.
    public func resume() {
        control.start(
            pipeline.access,
            options,
            notifying: completion,
            cancelled: .cancelled(request),
            keeping: self
        ) { [pipeline, options] in
            await pipeline.outcome(options)
        }
    }

    /// Cancels the run; its completion is not called, unless ``RequestOptions/cancellationErrors`` is set.
    ///
    /// ``isRunning`` is false when it returns. Has no effect without a run.
    public func cancel() {
        control.cancel()
    }

    /// Reports every change of ``isRunning``, in order, on the thread that makes the change.
    public func observeRunning(_ handler: @escaping @Sendable (_ isRunning: Bool) -> Void) -> RunningObservation {
        control.observe(handler)
    }

    /// The same request with other options, not started.
    public func with(options: RequestOptions) -> RequestHandle {
        RequestHandle(pipeline, options, activity, completion)
    }

    /// The same request without options, not started.
    public func copy() -> RequestHandle {
        with(options: [])
    }
}

extension RequestHandle {
    /// The type, the request without secrets, and whether it is running.
    public var description: String {
        description("RequestHandle", of: request)
    }
}
