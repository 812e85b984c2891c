public import Lade

/// The request for one page of a list, made by ``FirstPageHandle/handle(for:)``.
///
/// It runs as a ``RequestHandle`` does; from it no other pages can be derived.
public final class PageHandle<Value: Sendable>: GroupedRequest {
    private let run: PageRun<Value>

    init(_ run: PageRun<Value>) {
        self.run = run
    }

    /// The page that it asks for.
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

    /// The same request with other options in place of its own, not started.
    public func with(options: RequestOptions) -> PageHandle {
        PageHandle(run.with(options))
    }

    /// The same request without options, not started.
    public func copy() -> PageHandle {
        with(options: [])
    }
}

extension PageHandle {
    /// What it is, the page, and whether it runs.
    public var description: String {
        description("PageHandle", of: page)
    }
}
