public import Lade

/// The request for one page of a list, made by ``FirstPageHandle/handle(for:)``.
///
/// It behaves as a ``RequestHandle``; no requests for other pages can be derived from it.
public final class PageHandle<Value: Sendable>: GroupedRequest {
    private let run: PageRun<Value>

    init(_ run: PageRun<Value>) {
        self.run = run
    }

    /// The page that it requests.
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

    /// The same request with other options, not started.
    public func with(options: RequestOptions) -> PageHandle {
        PageHandle(run.with(options))
    }

    /// The same request without options, not started.
    public func copy() -> PageHandle {
        with(options: [])
    }
}

extension PageHandle {
    /// The type, the page, and whether it is running.
    public var description: String {
        description("PageHandle", of: page)
    }
}
