import Lade

/// Bounds how long the head of an answer may take, where no option bounds the whole.
///
/// A server that sends a line now and then moves enough for the idle time-out, and could keep a single call for hours. A
/// request with a body is left alone: sending it takes as long as it takes.
struct HeadTimeout: Interceptor {
    /// How long a head may take: two minutes, or twice the idle time-out if that is longer.
    let limit: Duration

    init(idle: Duration?) {
        limit = max(.seconds(120), (idle ?? .zero) * 2)
    }

    /// Passes the request on, and ends it when its head does not come in time.
    ///
    /// - Throws: `LoadingError.timedOut` of the whole exchange.
    func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard !request.hasBody, request.timeouts.whole == nil else { return try await next(request) }
        let time = next.call.time
        let end = time.now.advanced(by: limit)
        let result = await withTaskGroup(of: Result<Response, LoadingError>?.self) { tasks in
            tasks.addTask {
                do throws(LoadingError) { return .success(try await next(request)) } catch { return .failure(error) }
            }
            tasks.addTask {
                // Only cancelling ends it early, and then the other task has ended.
                try? await time.sleep(until: end)
                return nil
            }
            var first = await tasks.next() ?? nil
            // A call that is cancelled ends both, in any order; what counts is how the exchange ended.
            if first == nil, Task.isCancelled { first = await tasks.next() ?? nil }
            tasks.cancelAll()
            return first
        }
        guard let result else { throw .timedOut(.whole, ErrorContext(request)) }
        return try result.get()
    }
}
