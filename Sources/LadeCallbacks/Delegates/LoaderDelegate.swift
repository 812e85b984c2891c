#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif
public import Lade

/// Receives the results of the calls that `Loader.perform(_:)` makes.
///
/// ```swift
/// @MainActor
/// final class ShowModel: LoaderDelegate {
///     private(set) var message = ""
///
///     func loader(_ loader: Loader, didLoad response: Response, for load: Loader.Handle) {
///         message = "\(response.status)"
///     }
///
///     func loader(_ loader: Loader, didFailWith error: LoadingError, for load: Loader.Handle) {
///         message = error.text()
///     }
/// }
/// ```
///
/// All methods are called on the main actor. The delegate receives exactly one ending for each call: loaded, failed or
/// cancelled. No other notification follows the ending. After `Loader.Handle.cancel()` has returned on the main
/// actor, only the cancellation follows. After the loader is released, no notification follows.
@MainActor
public protocol LoaderDelegate: AnyObject, Sendable {
    /// The call has ended with a response; the body of a streamed response was passed in chunks and is empty here.
    func loader(_ loader: Loader, didLoad response: Response, for load: Loader.Handle)

    /// The call has failed.
    func loader(_ loader: Loader, didFailWith error: LoadingError, for load: Loader.Handle)

    /// The call was cancelled; does nothing by default.
    func loader(_ loader: Loader, didCancel load: Loader.Handle)

    /// Whether the delegate accepts streamed bodies in chunks; false by default. Called during each `perform`.
    func loaderSupportsChunks(_ loader: Loader) -> Bool

    /// The head of a streamed response has arrived; called before its first chunk. Does nothing by default.
    func loader(_ loader: Loader, didReceiveHead response: Response, for load: Loader.Handle)

    /// A chunk of a streamed body has arrived; the next is not read before this returns. Does nothing by default.
    func loader(_ loader: Loader, didReceive chunk: Data, of response: Response, for load: Loader.Handle)

    /// Whether ``loader(_:needsBodyFor:)`` can supply a new body in place of a body that can be sent only once; false by
    /// default. Called during each `perform`.
    func loaderReopensBodies(_ loader: Loader) -> Bool

    /// Returns the body again for a redirect, a replay or a retry; nil, the default, when it is not available.
    func loader(_ loader: Loader, needsBodyFor load: Loader.Handle) async -> Request.Body?
}

extension LoaderDelegate {
    /// Does nothing.
    public func loader(_ loader: Loader, didCancel load: Loader.Handle) {}

    /// Returns false.
    public func loaderSupportsChunks(_ loader: Loader) -> Bool { false }

    /// Does nothing.
    public func loader(_ loader: Loader, didReceiveHead response: Response, for load: Loader.Handle) {}

    /// Does nothing.
    public func loader(_ loader: Loader, didReceive chunk: Data, of response: Response, for load: Loader.Handle) {}

    /// Returns false.
    public func loaderReopensBodies(_ loader: Loader) -> Bool { false }

    /// Returns nil.
    public func loader(_ loader: Loader, needsBodyFor load: Loader.Handle) async -> Request.Body? { nil }
}
