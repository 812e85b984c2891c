public import Lade

/// The request for the first page of a list, from which requests for other pages are derived.
///
/// ```swift
/// let first = FirstPageHandle(loader, shows) { outcome in
///     list += outcome.value?.showList ?? []
///     nextPage = outcome.next
/// }
/// first.with(pageSize: 20).resume()
/// // Later, when the user has scrolled to the end:
/// if let nextPage { first.handle(for: nextPage).resume() }
/// ```
///
/// Derived requests share loader, endpoint, sizer, paginator and completion; the completion distinguishes the pages by
/// `outcome.page`. In all other respects it behaves as a ``RequestHandle``.
public final class FirstPageHandle<Value: Sendable>: GroupedRequest {
    private let run: PageRun<Value>

    private init(_ run: PageRun<Value>) {
        self.run = run
    }

    /// Makes the request for the first page; the service chooses the page size.
    ///
    /// - Parameters:
    ///   - loader: The loader of the pages, which is kept as long as their requests.
    ///   - paged: The list.
    ///   - options: How outcomes other than success are handled.
    ///   - activity: The activity that counts the request.
    ///   - completion: Called on the main actor with each page, unless its request is cancelled.
    public convenience init(
        _ loader: Loader,
        _ paged: PagedEndpoint<Value>,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        completion: @escaping @MainActor @Sendable (Pages.Page<Outcome<Value, NetworkError>>) -> Void
    ) {
        self.init(LoaderAccess(loader), paged, options, activity, .main(completion))
    }

    /// Makes the request for the first page, with a completion on a given executor.
    ///
    /// - Parameters:
    ///   - loader: The loader of the pages, which is kept as long as their requests.
    ///   - paged: The list.
    ///   - options: How outcomes other than success are handled; ``RequestOptions/backgroundCompletion`` takes
    ///     precedence over the executor.
    ///   - activity: The activity that counts the request.
    ///   - executor: Where the completion runs.
    ///   - completion: Called with each page, unless its request is cancelled.
    public convenience init(
        _ loader: Loader,
        _ paged: PagedEndpoint<Value>,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        on executor: Service.CompletionExecutor,
        completion: @escaping @Sendable (Pages.Page<Outcome<Value, NetworkError>>) -> Void
    ) {
        let executor = executor.resolved(for: loader.account.service)
        self.init(LoaderAccess(loader), paged, options, activity, .executor(executor, completion))
    }

    private convenience init(
        _ access: LoaderAccess,
        _ paged: PagedEndpoint<Value>,
        _ options: RequestOptions,
        _ activity: NetworkActivity,
        _ completion: Completion<Pages.Page<Outcome<Value, NetworkError>>>
    ) {
        let source = PageSource(access: access, paged: paged, activity: activity, completion: completion)
        self.init(PageRun(source, paged.firstPage(), options))
    }

    /// The first page, with its requested size.
    public var page: PageRequest { run.page }

    /// The request for that page.
    public var request: Request { run.page.request }

    /// How outcomes other than success are handled.
    public var options: RequestOptions { run.options }

    /// Whether a run is in progress; see ``RequestHandle/isRunning``.
    public var isRunning: Bool { run.control.isRunning }

    /// Starts a run; see ``RequestHandle/resume()``.
    public func resume() {
        run.resume(keeping: self)
    }

    /// Cancels the run; see ``RequestHandle/cancel()``.
    public func cancel() {
        run.control.cancel()
    }

    /// Reports every change of ``isRunning``, in order, on the thread that makes the change.
    public func observeRunning(_ handler: @escaping @Sendable (_ isRunning: Bool) -> Void) -> RunningObservation {
        run.control.observe(handler)
    }

    /// A request for the first page with another size and the same options, not started.
    ///
    /// - Parameter size: The number of items to request; 0 leaves it to the service. If the endpoint has `PagedEndpoint.sizes`,
    ///   the nearest of them is requested. The sizer always receives the original request, so the last size counts.
    /// - Returns: The new request.
    public func with(pageSize size: Int) -> FirstPageHandle {
        FirstPageHandle(run.turned(to: run.source.paged.firstPage(requesting: size)))
    }

    /// A request for a page, with the same options, not started.
    ///
    /// - Parameter page: A page that the completion of this request, or of a derived one, received; nil for the first
    ///   page.
    /// - Returns: The request for that page.
    public func handle(for page: PageRequest?) -> PageHandle<Value> {
        PageHandle(run.turned(to: page ?? self.page))
    }

    /// The same request with other options, not started.
    public func with(options: RequestOptions) -> FirstPageHandle {
        FirstPageHandle(run.with(options))
    }

    /// The same request without options, not started.
    public func copy() -> FirstPageHandle {
        with(options: [])
    }
}

extension FirstPageHandle {
    /// The type, the page, and whether it is running.
    public var description: String {
        description("FirstPageHandle", of: page)
    }
}
