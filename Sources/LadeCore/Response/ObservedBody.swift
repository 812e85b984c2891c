#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
import Synchronization

/// A streamed body that reads another one for whoever waits for its end: to return a slot, to record a time, to leave a group.
///
/// The end is reported once, also when the body is released unread; before the reader receives it.
package final class ObservedBody: Response.Body.Source {
    /// How a body ended.
    package enum End: Sendable {
        /// It was read to its end.
        case whole
        /// Reading it threw this error, as the source threw it.
        case failed(LoadingError)
        /// Its reader cancelled it.
        case cancelled
        /// It was released before its end.
        case abandoned
    }

    private let source: any Response.Body.Source
    private let onChunk: (@Sendable (_ length: Int) -> Void)?
    private let translate: (@Sendable (LoadingError) -> LoadingError)?
    private let expiry: (@Sendable () -> LoadingError?)?
    private let onEnd: @Sendable (End) -> Void
    private let hasEnded = Atomic(false)
    private let wasCancelled = Atomic(false)

    /// Makes a body.
    ///
    /// - Parameters:
    ///   - source: The source that is read.
    ///   - onChunk: Called with the length of each chunk.
    ///   - translate: Makes the error that the reader receives, after `onEnd`.
    ///   - expiry: Asked before each chunk: the error that ends the body now, however much of it has arrived; nil while
    ///     there is time. Nil for a body without a limit.
    ///   - onEnd: Called once.
    package init(
        _ source: any Response.Body.Source,
        onChunk: (@Sendable (_ length: Int) -> Void)? = nil,
        translate: (@Sendable (LoadingError) -> LoadingError)? = nil,
        expiry: (@Sendable () -> LoadingError?)? = nil,
        onEnd: @escaping @Sendable (End) -> Void
    ) {
        self.source = source
        self.onChunk = onChunk
        self.translate = translate
        self.expiry = expiry
        self.onEnd = onEnd
    }

    deinit { end(.abandoned) }

    package func next() async throws(LoadingError) -> Data? {
        do throws(LoadingError) {
            if let fault = expiry?(), !hasEnded.load(ordering: .acquiring) {
                source.cancel()
                throw fault
            }
            let chunk = try await source.next()
            // A source that was cancelled may still have a chunk.
            guard !wasCancelled.load(ordering: .acquiring) else { throw LoadingError(.cancelled) }
            if let chunk { onChunk?(chunk.count) } else { end(.whole) }
            return chunk
        } catch {
            end(.failed(error))
            throw translate?(error) ?? error
        }
    }

    /// An error as the reader receives it.
    func described(_ error: LoadingError) -> LoadingError { translate?(error) ?? error }

    package func cancel() {
        source.cancel()
        if end(.cancelled) { wasCancelled.store(true, ordering: .releasing) }
    }

    package func abandon() {
        source.abandon()
        end(.abandoned)
    }

    package var trailers: Headers { source.trailers }
    package var metrics: Response.Metrics { source.metrics }

    /// Reports the end, unless it was reported; returns whether it was reported now.
    @discardableResult
    private func end(_ end: End) -> Bool {
        guard !hasEnded.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        onEnd(end)
        return true
    }
}
