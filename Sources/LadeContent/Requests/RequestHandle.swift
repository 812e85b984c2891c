#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// A request that is made first and started when wanted, any number of times.
///
/// ```swift
/// let request = RequestHandle(loader, Endpoint(showURL).decoding(Show.self)) { outcome in
///     show = outcome.value
/// }
/// request.resume()
/// ```
///
/// Nothing is sent before ``resume()``. While it runs it keeps itself alive: no reference is needed, and a weak one is
/// enough to cancel it. Never started, it goes with its last reference. It never keeps its loader: when that goes away, the
/// run ends and nothing calls back. Everything may be called from any thread. Source: brief `srg-network.txt`,
/// `requests-pages-queues.md` §1.
///
/// Statuses from 400 on are errors, unless the request or the endpoint names the acceptable ones; those of the service do
/// not count here.
public final class RequestHandle<Value: Sendable>: GroupedRequest {
    /// What is asked for.
    public let request: Request
    /// How what is not plain success is dealt with; nothing special by default.
    public let options: RequestOptions

    private let pipeline: ResponsePipeline<Value>
    private let completion: Completion<RequestOutcome<Value>>
    private let activity: NetworkActivity
    private let control: RunControl

    private init(
        _ pipeline: ResponsePipeline<Value>,
        _ options: RequestOptions,
        _ activity: NetworkActivity,
        _ completion: Completion<RequestOutcome<Value>>
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
    ///   - loader: Who loads it; not kept.
    ///   - endpoint: What to ask for: bytes, `jsonObject()`, `jsonArray()`, `decoding(_:)`, anything.
    ///   - options: How what is not plain success is dealt with.
    ///   - activity: Where its running is counted.
    ///   - completion: Called on the main actor once a run, unless it is cancelled; ``isRunning`` is true until it returns.
    public convenience init(
        _ loader: Loader,
        _ endpoint: Endpoint<Value>,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        completion: @escaping @MainActor @Sendable (RequestOutcome<Value>) -> Void
    ) {
        self.init(ResponsePipeline(LoaderAccess(loader), endpoint), options, activity, .main(completion))
    }

    /// Makes a request for the value of an endpoint that calls back where the caller wants.
    ///
    /// - Parameters:
    ///   - loader: Who loads it; not kept.
    ///   - endpoint: What to ask for.
    ///   - options: How what is not plain success is dealt with; ``RequestOptions/backgroundCompletion`` goes before the
    ///     executor.
    ///   - activity: Where its running is counted.
    ///   - executor: Where to call back.
    ///   - completion: Called once a run, unless it is cancelled; ``isRunning`` is true until it returns.
    public convenience init(
        _ loader: Loader,
        _ endpoint: Endpoint<Value>,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        on executor: CompletionExecutor,
        completion: @escaping @Sendable (RequestOutcome<Value>) -> Void
    ) {
        self.init(
            ResponsePipeline(LoaderAccess(loader), endpoint),
            options,
            activity,
            .executor(executor, completion)
        )
    }

    /// Makes a request for what a parser makes of the body.
    ///
    /// - Parameters:
    ///   - loader: Who loads it; not kept.
    ///   - request: What to ask for.
    ///   - options: How what is not plain success is dealt with.
    ///   - activity: Where its running is counted.
    ///   - parser: Makes the value, never on the main actor; nil for none, which is no error; what it throws comes as
    ///     ``NetworkError/invalidData(_:url:)``.
    ///   - completion: Called on the main actor once a run, unless it is cancelled; ``isRunning`` is true until it returns.
    public convenience init(
        _ loader: Loader,
        _ request: Request,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        parser: @escaping @Sendable (Data) throws -> Value?,
        completion: @escaping @MainActor @Sendable (RequestOutcome<Value>) -> Void
    ) {
        let pipeline = ResponsePipeline(LoaderAccess(loader), request, parser: parser)
        self.init(pipeline, options, activity, .main(completion))
    }

    /// Whether a run is under way: from ``resume()`` until its completion has returned, or until ``cancel()``.
    public var isRunning: Bool { control.isRunning }

    /// Starts a run; does nothing while there is one.
    ///
    /// ``isRunning`` is true when it returns. After success, failure or cancellation alike a new run begins.
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

    /// Ends the run; its completion is not called, unless ``RequestOptions/cancellationErrors`` is set.
    ///
    /// ``isRunning`` is false when it returns. Does nothing without a run.
    public func cancel() {
        control.cancel()
    }

    /// Tells every change of ``isRunning``, in order, where it is made.
    public func observeRunning(_ handler: @escaping @Sendable (_ isRunning: Bool) -> Void) -> RunningObservation {
        control.observe(handler)
    }

    /// The same request with other options in place of its own, not started.
    public func with(options: RequestOptions) -> RequestHandle {
        RequestHandle(pipeline, options, activity, completion)
    }

    /// The same request without options, not started.
    public func copy() -> RequestHandle {
        with(options: [])
    }
}

extension RequestHandle {
    /// What it is, the request without secrets, and whether it runs.
    public var description: String {
        description("RequestHandle", of: request)
    }
}
