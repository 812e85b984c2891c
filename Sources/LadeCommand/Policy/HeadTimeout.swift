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

    /// Empty: it only limits the time.
    var changedFields: [String] { [] }

    /// Passes the request on, and cancels it when its head does not arrive in time.
    ///
    /// - Throws: `LoadingError.Kind.timedOut` for the whole exchange.
    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        guard !request.hasBody, request.timeouts.whole == nil, request.deadline == nil else {
            return try await next(request)
        }
        let call = next.call
        return try await call.run(until: call.time.now.advanced(by: limit)) {
            LoadingError(.timedOut(.whole), LoadingError.Context(request))
        } _: { () async throws(LoadingError) in
            try await next(request)
        }
    }
}
