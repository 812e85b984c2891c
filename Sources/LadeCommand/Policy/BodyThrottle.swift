#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Limits how fast a body is sent and received, on average since its beginning.
struct BodyThrottle: Interceptor {
    let bytesPerSecond: Int

    /// Empty: it only delays bodies.
    var changedFields: [String] { [] }

    /// Sends the request, and delays the chunks of its body and of its response.
    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        var request = request
        request.body = request.body.map { limited($0, next.call.time) }
        // The limit of the exchange holds for a body that waits here too.
        let end = request.timeouts.whole.map(next.call.time.now.advanced(by:))
        var response = try await next(request)
        response.body = response.body.wrapped {
            ThrottledSource($0, bytesPerSecond: bytesPerSecond, time: next.call.time, end: end)
        }
        return response
    }

    /// A body whose chunks are sent only when the average allows it.
    func limited(_ body: Request.Body, _ time: any TimeSource) -> Request.Body {
        // Ten pieces a second, so that a long chunk does not leave at once.
        let (rate, piece) = (bytesPerSecond, max(1, bytesPerSecond / 10))
        var limited = Request.Body.writer(
            length: body.length,
            isReplayable: body.isReplayable,
            contentType: body.contentType
        ) { write in
            let start = time.now
            var sent = 0
            try await body.write(to: { (chunk) throws(LoadingError) in
                var rest = chunk[...]
                while !rest.isEmpty {
                    try await time.sleep(until: start.advanced(by: .seconds(Double(sent) / Double(rate))))
                    try await write(Data(rest.prefix(piece)))
                    sent += min(piece, rest.count)
                    rest = rest.dropFirst(piece)
                }
            })
        }
        limited.trailers = body.trailers
        return limited
    }
}

/// A body whose next chunk is read only when the average allows it.
private final class ThrottledSource: Response.Body.Source {
    private let source: any Response.Body.Source
    private let bytesPerSecond: Int
    private let time: any TimeSource
    private let start: Instant
    private let end: Instant?
    private let received = Locked(0)

    init(_ source: any Response.Body.Source, bytesPerSecond: Int, time: any TimeSource, end: Instant?) {
        self.source = source
        self.bytesPerSecond = bytesPerSecond
        self.time = time
        self.end = end
        start = time.now
    }

    func next() async throws(LoadingError) -> Data? {
        let earliest = start.advanced(by: .seconds(Double(received.withLock(\.self)) / Double(bytesPerSecond)))
        try await time.sleep(until: end.map { min($0, earliest) } ?? earliest)
        if let end, end < earliest {
            source.cancel()
            throw LoadingError(.timedOut(.whole))
        }
        let chunk = try await source.next()
        if let chunk { received.withLock { $0 += chunk.count } }
        return chunk
    }

    func cancel() { source.cancel() }

    var trailers: Headers { source.trailers }

    var metrics: Response.Metrics { source.metrics }
}
