public import Lade

/// The request for the first page of a list, from which those for the others are derived.
///
/// ```swift
/// let first = FirstPageHandle(loader, shows) { outcome in
///     list += outcome.value?.shows ?? []
///     nextPage = outcome.next
/// }
/// first.with(pageSize: 20).resume()
/// // Later, when the user has scrolled to the end:
/// if let nextPage { first.handle(for: nextPage).resume() }
/// ```
///
/// Everything derived shares loader, endpoint, sizer, paginator and completion; the completion tells the pages apart by
/// `outcome.page`. Apart from that it is as a ``RequestHandle``. Source: brief `srg-network.txt`,
/// `requests-pages-queues.md` §3.
public final class FirstPageHandle<Value: Sendable>: GroupedRequest {
    private let run: PageRun<Value>

    private init(_ run: PageRun<Value>) {
        self.run = run
    }

    /// Makes the request for the first page, whose size is left to the service.
    ///
    /// - Parameters:
    ///   - loader: Who loads the pages; not kept.
    ///   - paged: The list.
    ///   - options: How what is not plain success is dealt with.
    ///   - activity: Where its running is counted.
    ///   - completion: Called on the main actor with each page, unless its request is cancelled.
    public convenience init(
        _ loader: Loader,
        _ paged: PagedEndpoint<Value>,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        completion: @escaping @MainActor @Sendable (PageOutcome<Value>) -> Void
    ) {
        self.init(LoaderAccess(loader), paged, options, activity, .main(completion))
    }

    /// Makes the request for the first page, to be told of where the caller wants.
    ///
    /// - Parameters:
    ///   - loader: Who loads the pages; not kept.
    ///   - paged: The list.
    ///   - options: How what is not plain success is dealt with; ``RequestOptions/backgroundCompletion`` goes before the
    ///     executor.
    ///   - activity: Where its running is counted.
    ///   - executor: Where to call back.
    ///   - completion: Called with each page, unless its request is cancelled.
    public convenience init(
        _ loader: Loader,
        _ paged: PagedEndpoint<Value>,
        options: RequestOptions = [],
        activity: NetworkActivity = .shared,
        on executor: CompletionExecutor,
        completion: @escaping @Sendable (PageOutcome<Value>) -> Void
    ) {
        self.init(LoaderAccess(loader), paged, options, activity, .executor(executor, completion))
    }

    private convenience init(
        _ access: LoaderAccess,
        _ paged: PagedEndpoint<Value>,
        _ options: RequestOptions,
        _ activity: NetworkActivity,
        _ completion: Completion<PageOutcome<Value>>
    ) {
        let source = PageSource(access: access, paged: paged, activity: activity, completion: completion)
        self.init(PageRun(source, paged.firstPage(), options))
    }

    /// The first page, with the size that it asks for.
    public var page: Page { run.page }

    /// What is sent for that page.
    public var request: Request { run.page.request }

    /// How what is not plain success is dealt with.
    public var options: RequestOptions { run.options }

    /// Whether a run is under way; see ``RequestHandle/isRunning``.
    public var isRunning: Bool { run.control.isRunning }

    /// Starts a run; see ``RequestHandle/resume()``.
    public func resume() {
        run.resume(keeping: self)
    }

    /// Ends the run; see ``RequestHandle/cancel()``.
    public func cancel() {
        run.control.cancel()
    }

    /// Tells every change of ``isRunning``, in order, where it is made.
    public func observeRunning(_ handler: @escaping @Sendable (_ isRunning: Bool) -> Void) -> RunningObservation {
        run.control.observe(handler)
    }

    /// The first page with another size, with the same options, not started.
    ///
    /// - Parameter size: How many items to ask for; 0 leaves it to the service. The sizer always gets the original
    ///   request, so the last size counts.
    /// - Returns: Another request.
    public func with(pageSize size: Int) -> FirstPageHandle {
        FirstPageHandle(run.turned(to: run.source.paged.firstPage(size: size)))
    }

    /// The request for a page, with the same options, not started.
    ///
    /// - Parameter page: One that this request, or one derived with it, was told; nil for its own.
    /// - Returns: A request for that page alone.
    public func handle(for page: Page?) -> PageHandle<Value> {
        PageHandle(run.turned(to: page ?? self.page))
    }

    /// The same request with other options in place of its own, not started.
    public func with(options: RequestOptions) -> FirstPageHandle {
        FirstPageHandle(run.with(options))
    }

    /// The same request without options, not started.
    public func copy() -> FirstPageHandle {
        with(options: [])
    }
}

extension FirstPageHandle {
    /// What it is, the page, and whether it runs.
    public var description: String {
        description("FirstPageHandle", of: page)
    }
}
