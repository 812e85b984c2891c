#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import Lade

/// The delegate of a loader, and the executor on which it is notified.
private struct Delegation: Sendable {
    weak var delegate: (any LoaderDelegate)?
    var executor = CompletionExecutor.main
}

extension Loader {
    /// The delegate that is notified of performed calls; held weakly.
    ///
    /// A call notifies the delegate that was set when the call was performed.
    public var delegate: (any LoaderDelegate)? {
        get { delegation.delegate }
        set { delegation.delegate = newValue }
    }

    /// Where the delegate is notified; the main actor by default.
    public var delegateExecutor: CompletionExecutor {
        get { delegation.executor }
        set { delegation.executor = newValue }
    }

    private var delegation: Delegation {
        get { attachment.withLock { $0 as? Delegation } ?? Delegation() }
        set { attachment.withLock { $0 = newValue } }
    }

    /// Loads a request and notifies the delegate.
    ///
    /// A body with `streamed` delivery is passed to the delegate in chunks when
    /// ``LoaderDelegate/loaderSupportsChunks(_:)`` returns true. Otherwise the call fails with
    /// `LoadingError.Kind.invalidRequest`, and nothing is sent.
    ///
    /// - Parameter request: The request; later changes of the caller's copy have no effect.
    /// - Returns: A handle that can cancel the call.
    @discardableResult
    public func perform(_ request: Request) -> LoadHandle {
        let delegation = delegation
        let (delegate, executor) = (delegation.delegate, delegation.executor)
        let announcer = Announcer(loader: self, delegate: delegate, executor: executor)
        guard request.delivery != .streamed || delegate?.loaderSupportsChunks(self) == true else {
            let fault = LoadingError(
                .invalidRequest(
                    .streamedBody(
                        "The request is streamed, and the delegate does not accept chunks: return true from "
                            + "loaderSupportsChunks(_:), or leave the delivery buffered"
                    )
                ),
                ErrorContext(request)
            )
            return start(request, on: executor) { _, _ in
                .failure(fault)
            } completion: { handle, result in
                announcer.report(result, of: handle)
            }
        }
        let reopens = delegate?.loaderReopensBodies(self) == true
        return start(request, on: executor) { handle, sending in
            var request = request
            if reopens, let body = request.body, !body.isReplayable {
                request.body = body.reopened { await announcer.newBody(for: handle) }
            }
            return await announcer.streamed(await sending.response(to: request), of: handle)
        } completion: { handle, result in
            announcer.report(result, of: handle)
        }
    }
}

/// Notifies a delegate of one call, until the loader or the delegate is released.
private final class Announcer: Sendable {
    private weak let loader: Loader?
    private weak let delegate: (any LoaderDelegate)?
    private let executor: CompletionExecutor

    init(loader: Loader, delegate: (any LoaderDelegate)?, executor: CompletionExecutor) {
        self.loader = loader
        self.delegate = delegate
        self.executor = executor
    }

    /// Reports the head and the chunks of a streamed answer.
    ///
    /// - Returns: The result with an empty body, or the error that ended the body.
    func streamed(
        _ result: Result<Response, LoadingError>,
        of handle: LoadHandle
    ) async -> Result<Response, LoadingError> {
        guard case .success(let response) = result, response.body.bytes == nil else { return result }
        var head = response
        head.body = ResponseBody()
        await tellIfExpected(handle) { [head] in $1.loader($0, didReceiveHead: head, for: handle) }
        do throws(LoadingError) {
            var iterator = response.body.makeAsyncIterator()
            while let chunk = try await iterator.next(isolation: #isolation) {
                await tellIfExpected(handle) { [head] in $1.loader($0, didReceive: chunk, of: head, for: handle) }
            }
        } catch {
            return .failure(error)
        }
        head.body = ResponseBody(Data(), trailers: response.trailers, metrics: response.metrics)
        return .success(head)
    }

    /// Reports the ending of the call.
    func report(_ settled: Result<Response, LoadingError>, of handle: LoadHandle) {
        guard let loader, let delegate else { return }
        switch settled {
        case .success(let response): delegate.loader(loader, didLoad: response, for: handle)
        case .failure(let error) where error.isCancellation: delegate.loader(loader, didCancel: handle)
        case .failure(let error): delegate.loader(loader, didFailWith: error, for: handle)
        }
    }

    func newBody(for handle: LoadHandle) async -> RequestBody? {
        guard handle.isExpected, let loader, let delegate else { return nil }
        return await delegate.loader(loader, needsBodyFor: handle)
    }

    private func tellIfExpected(
        _ handle: LoadHandle,
        _ event: @escaping @Sendable (Loader, any LoaderDelegate) -> Void
    ) async {
        await executor.run { [self] in
            guard handle.isExpected, let loader, let delegate else { return }
            event(loader, delegate)
        }
    }
}
