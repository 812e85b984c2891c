import Lade

/// Limits the time until the head of a response arrives, when no option limits the whole call.
///
/// A server that sends a header line from time to time never triggers the idle time-out, and could delay a call for
/// hours. A request with a body has no such limit, because sending the body may take any time.
struct HeadTimeout: Interceptor {
    /// The maximum time for a head: two minutes, or twice the idle time-out if that is longer.
    let limit: Duration

    init(idle: Duration?) {
        limit = max(.seconds(120), (idle ?? .zero) * 2)
    }

    /// Passes the request on, and cancels it when its head does not arrive in time.
    ///
    /// - Throws: `LoadingError.timedOut` for the whole exchange.
    func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard !request.hasBody, request.timeouts.whole == nil else { return try await next(request) }
        let time = next.call.time
        let end = time.now.advanced(by: limit)
        let result = await withTaskGroup(of: Result<Response, LoadingError>?.self) { tasks in
            tasks.addTask {
                do throws(LoadingError) { return .success(try await next(request)) } catch { return .failure(error) }
            }
            tasks.addTask {
                // Only cancellation ends the sleep early, and then the other task has ended.
                try? await time.sleep(until: end)
                return nil
            }
            var first = await tasks.next() ?? nil
            // Cancelling the call ends both tasks, in either order; the result of the exchange counts.
            if first == nil, Task.isCancelled { first = await tasks.next() ?? nil }
            tasks.cancelAll()
            return first
        }
        guard let result else { throw .timedOut(.whole, ErrorContext(request)) }
        return try result.get()
    }
}
