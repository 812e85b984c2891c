#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Limits how fast a body is received, on average since its beginning.
struct BodyThrottle: Interceptor {
    let bytesPerSecond: Int

    /// Empty: it only reads bodies.
    var changedFields: [String]? { [] }

    /// Sends the request, and delays the chunks of its response.
    func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        var response = try await next(request)
        response.body = response.body.wrapped {
            ThrottledSource($0, bytesPerSecond: bytesPerSecond, time: next.call.time)
        }
        return response
    }
}

/// A body whose next chunk is read only when the average allows it.
private final class ThrottledSource: ResponseBody.Source {
    private let source: any ResponseBody.Source
    private let bytesPerSecond: Int
    private let time: any TimeSource
    private let start: Instant
    private let received = Locked(0)

    init(_ source: any ResponseBody.Source, bytesPerSecond: Int, time: any TimeSource) {
        self.source = source
        self.bytesPerSecond = bytesPerSecond
        self.time = time
        start = time.now
    }

    func next() async throws(LoadingError) -> Data? {
        let earliest = start.advanced(by: .seconds(Double(received.withLock(\.self)) / Double(bytesPerSecond)))
        try await time.sleep(until: earliest)
        let chunk = try await source.next()
        if let chunk { received.withLock { $0 += chunk.count } }
        return chunk
    }

    func cancel() { source.cancel() }

    var trailers: Headers { source.trailers }

    var metrics: Response.Metrics { source.metrics }
}
