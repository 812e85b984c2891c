#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// A streamed body that is read from the store, with the bytes of another one after it where the server sent the rest.
final class StoredBody: Response.Body.Source {
    private struct State {
        var isCancelled = false
        var isOver = false
        var hasReadStored = false
    }

    private let reader: any CacheReader
    private let rest: (any Response.Body.Source)?
    private let stored: (trailers: Headers, metrics: Response.Metrics)
    private let onFault: @Sendable (CacheError) -> Void
    // Guarded by its lock.
    private let state = Locked(State())

    init(
        _ reader: any CacheReader,
        then rest: (any Response.Body.Source)? = nil,
        trailers: Headers = Headers(),
        metrics: Response.Metrics,
        onFault: @escaping @Sendable (CacheError) -> Void
    ) {
        self.reader = reader
        self.rest = rest
        stored = (trailers, metrics)
        self.onFault = onFault
    }

    func next() async throws(LoadingError) -> Data? {
        let state = state.withLock { $0 }
        guard !state.isCancelled else { throw LoadingError(.cancelled) }
        guard !state.isOver else { return nil }
        if !state.hasReadStored, let chunk = try await readStored() { return chunk }
        guard let rest else {
            self.state.withLock { $0.isOver = true }
            return nil
        }
        return try await rest.next()
    }

    private func readStored() async throws(LoadingError) -> Data? {
        do throws(CacheError) {
            let chunk = try await reader.next()
            if chunk == nil { state.withLock { $0.hasReadStored = true } }
            return chunk
        } catch {
            rest?.cancel()
            // The account of the response has signed out.
            if case .signedOut = error.reason { throw LoadingError(.cancelled) }
            onFault(error)
            throw LoadingError(.incompleteBody(received: metrics.decodedBodyBytes, expected: nil))
        }
    }

    func cancel() {
        rest?.cancel()
        state.withLock { if !$0.isOver { $0.isCancelled = true } }
    }

    func abandon() {
        rest?.abandon()
    }

    var trailers: Headers { rest?.trailers ?? stored.trailers }
    var metrics: Response.Metrics { rest?.metrics ?? stored.metrics }
}
