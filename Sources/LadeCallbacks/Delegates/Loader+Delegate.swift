#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
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
    public func perform(_ request: Request) -> Loader.Handle {
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

/// The reference by which a loader keeps its delegate.
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

    /// Notifies the delegate; called on the main actor, where `Service.CompletionExecutor.main` runs its closures.
    func notify(_ event: @MainActor (Loader, any LoaderDelegate) -> Void) {
        guard let loader, let delegate else { return }
        MainActor.assumeIsolated { event(loader, delegate) }
    }

    func notifyEnding(_ result: Result<Response, LoadingError>, of handle: Loader.Handle) {
        notify { loader, delegate in
            switch result {
            case .success(let response): delegate.loader(loader, didLoad: response, for: handle)
            case .failure(let error) where error.isCancellation: delegate.loader(loader, didCancel: handle)
            case .failure(let error): delegate.loader(loader, didFailWith: error, for: handle)
            }
        }
    }

    @MainActor
    func newBody(for handle: Loader.Handle) async -> Request.Body? {
        guard let loader, let delegate else { return nil }
        return await delegate.loader(loader, needsBodyFor: handle)
    }
}

/// The closures that receive what one performed call reports, from its head to its ending.
package struct CallReports: Sendable {
    /// Receives the head of a streamed response.
    package var head: @Sendable (Response, Loader.Handle) -> Void
    /// Receives a chunk of a streamed body, with the head.
    package var chunk: @Sendable (Data, Response, Loader.Handle) -> Void
    /// Returns the body again for another sending; nil when bodies are sent only once.
    package var newBody: (@Sendable (Loader.Handle) async -> Request.Body?)?
    /// Receives the ending.
    package var ending: @Sendable (Result<Response, LoadingError>, Loader.Handle) -> Void

    /// Makes reports from their closures.
    package init(
        head: @escaping @Sendable (Response, Loader.Handle) -> Void,
        chunk: @escaping @Sendable (Data, Response, Loader.Handle) -> Void,
        newBody: (@Sendable (Loader.Handle) async -> Request.Body?)?,
        ending: @escaping @Sendable (Result<Response, LoadingError>, Loader.Handle) -> Void
    ) {
        self.head = head
        self.chunk = chunk
        self.newBody = newBody
        self.ending = ending
    }

    /// Reports the head and the chunks of a streamed response, unless the call is cancelled.
    ///
    /// - Returns: The response with an empty body, or the error that ended the body.
    fileprivate func stream(
        _ response: Response,
        of handle: Loader.Handle,
        on executor: Service.CompletionExecutor
    ) async -> Result<Response, LoadingError> {
        var ended = response
        ended.body = Response.Body()
        let head = ended
        await executor.run { if handle.isExpected { self.head(head, handle) } }
        do throws(LoadingError) {
            var iterator = response.body.makeAsyncIterator()
            while let bytes = try await iterator.next(isolation: #isolation) {
                await executor.run { if handle.isExpected { chunk(bytes, head, handle) } }
            }
        } catch {
            return .failure(error)
        }
        ended.body = Response.Body(Data(), trailers: response.trailers, metrics: response.metrics)
        return .success(ended)
    }
}

extension Loader {
    /// Makes a call that reports its course and its ending on an executor, until the loader is released.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - executor: Where to report.
    ///   - acceptsChunks: Whether a streamed body can be reported; otherwise the call fails and nothing is sent.
    ///   - reports: The closures to call.
    /// - Returns: A handle that can cancel the call.
    package func perform(
        _ request: Request,
        on executor: Service.CompletionExecutor,
        acceptsChunks: Bool,
        _ reports: CallReports
    ) -> Loader.Handle {
        start(request, on: executor) { handle, sending in
            guard request.delivery != .streamed || acceptsChunks else { return .failure(.chunksRefused(request)) }
            var request = request
            if let newBody = reports.newBody, let body = request.body, !body.isReplayable {
                request.body = body.reopened { handle.isExpected ? await newBody(handle) : nil }
            }
            let result = await sending.response(to: request)
            guard case .success(let response) = result, response.body.bytes == nil else { return result }
            return await reports.stream(response, of: handle, on: executor)
        } completion: { handle, result in
            reports.ending(result, handle)
        }
    }
}

extension LoadingError {
    fileprivate static func chunksRefused(_ request: Request) -> LoadingError {
        let clause =
            "The request is streamed, and the delegate does not accept chunks: return true from "
            + "loaderSupportsChunks(_:), or leave the delivery buffered"
        return LoadingError(.invalidRequest(.streamedBody(clause)), LoadingError.Context(request))
    }
}
