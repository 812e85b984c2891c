public import Lade

extension Loader {
    /// The delegate that is notified of performed calls; held weakly.
    ///
    /// A call notifies the delegate that was set when the call was performed.
    public var delegate: (any LoaderDelegate)? {
        get { (attachment.withLock { $0 } as? WeakDelegate)?.delegate }
        set { attachment.withLock { [newValue] in $0 = WeakDelegate(delegate: newValue) } }
    }

    /// Loads a request and notifies the delegate.
    ///
    /// A body with `streamed` delivery is passed to the delegate in chunks when
    /// ``LoaderDelegate/loaderSupportsChunks(_:)`` returns true. Otherwise the call fails with
    /// `LoadingError.Kind.invalidRequest`, and nothing is sent.
    ///
    /// - Parameter request: The request; later changes of the caller's copy have no effect.
    /// - Returns: A handle that can cancel the call.
    @MainActor
    @discardableResult
    public func perform(_ request: Request) -> LoadHandle {
        let delegate = delegate
        let audience = Audience(loader: self, delegate: delegate)
        var reports = CallReports(
            head: { head, handle in audience.notify { $1.loader($0, didReceiveHead: head, for: handle) } },
            chunk: { chunk, head, handle in
                audience.notify { $1.loader($0, didReceive: chunk, of: head, for: handle) }
            },
            newBody: nil,
            ending: { result, handle in audience.notifyEnding(result, of: handle) }
        )
        if delegate?.loaderReopensBodies(self) == true { reports.newBody = { await audience.newBody(for: $0) } }
        return perform(
            request,
            on: .main,
            acceptsChunks: delegate?.loaderSupportsChunks(self) == true,
            reports
        )
    }
}

/// What a loader keeps of its delegate.
private struct WeakDelegate: Sendable {
    weak var delegate: (any LoaderDelegate)?
}

/// The delegate of one call, which is notified until it or the loader is released.
private final class Audience: Sendable {
    private weak let loader: Loader?
    private weak let delegate: (any LoaderDelegate)?

    init(loader: Loader, delegate: (any LoaderDelegate)?) {
        self.loader = loader
        self.delegate = delegate
    }

    /// Notifies the delegate; called on the main actor, where `CompletionExecutor.main` runs its closures.
    func notify(_ event: @MainActor (Loader, any LoaderDelegate) -> Void) {
        guard let loader, let delegate else { return }
        MainActor.assumeIsolated { event(loader, delegate) }
    }

    func notifyEnding(_ result: Result<Response, LoadingError>, of handle: LoadHandle) {
        notify { loader, delegate in
            switch result {
            case .success(let response): delegate.loader(loader, didLoad: response, for: handle)
            case .failure(let error) where error.isCancellation: delegate.loader(loader, didCancel: handle)
            case .failure(let error): delegate.loader(loader, didFailWith: error, for: handle)
            }
        }
    }

    @MainActor
    func newBody(for handle: LoadHandle) async -> RequestBody? {
        guard let loader, let delegate else { return nil }
        return await delegate.loader(loader, needsBodyFor: handle)
    }
}
