#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// Who is told of the calls that ``Loader/perform(_:)`` makes.
///
/// For every call exactly one of three endings is told, in whatever way it ends: loaded, failed, cancelled. Nothing comes
/// after it, nothing but *cancelled* comes after ``LoadHandle/cancel()`` has returned on the delegate's executor, and
/// nothing at all once the loader is gone. All of it is told on ``Loader/delegateExecutor``, the main actor by default, but
/// for the questions, which are asked where they arise. Source: brief `sptdataloader.txt`, `service-loader.md` §5.2.
public protocol LoaderDelegate: AnyObject, Sendable {
    /// The call has ended with an answer; of a streamed one the body was told before and is empty here.
    func loader(_ loader: Loader, didLoad response: Response, for load: LoadHandle)

    /// The call has failed.
    func loader(_ loader: Loader, didFailWith error: LoadingError, for load: LoadHandle)

    /// The call was cancelled; does nothing by default.
    func loader(_ loader: Loader, didCancel load: LoadHandle)

    /// Whether streamed bodies may be told in chunks; no by default. Asked at every `perform`, on its thread.
    func loaderSupportsChunks(_ loader: Loader) -> Bool

    /// The head of a streamed answer is there, before its first chunk; does nothing by default.
    func loader(_ loader: Loader, didReceiveHead response: Response, for load: LoadHandle)

    /// A piece of a streamed body is there; the next is not read before this returns. Does nothing by default.
    func loader(_ loader: Loader, didReceive chunk: Data, of response: Response, for load: LoadHandle)

    /// Whether ``loader(_:needsBodyFor:)`` can give bodies that can be sent only once anew; no by default.
    func loaderReopensBodies(_ loader: Loader) -> Bool

    /// A redirect, a replay or a retry needs the body again; nil, as by default, when it cannot be had.
    func loader(_ loader: Loader, needsBodyFor load: LoadHandle) async -> RequestBody?
}

extension LoaderDelegate {
    /// Does nothing.
    public func loader(_ loader: Loader, didCancel load: LoadHandle) {}

    /// No.
    public func loaderSupportsChunks(_ loader: Loader) -> Bool { false }

    /// Does nothing.
    public func loader(_ loader: Loader, didReceiveHead response: Response, for load: LoadHandle) {}

    /// Does nothing.
    public func loader(_ loader: Loader, didReceive chunk: Data, of response: Response, for load: LoadHandle) {}

    /// No.
    public func loaderReopensBodies(_ loader: Loader) -> Bool { false }

    /// None.
    public func loader(_ loader: Loader, needsBodyFor load: LoadHandle) async -> RequestBody? { nil }
}
