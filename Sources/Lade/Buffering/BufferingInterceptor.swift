/// Collects the bodies of buffered requests, so that links above can repeat a failure within the body.
///
/// The library's own transports collect by themselves, which saves a thread switch; this link stands in for those that
/// do not.
public struct BufferingInterceptor: Interceptor {
    /// Makes the link.
    public init() {}

    /// True: a call that is given up ends here as a cancelled task does.
    public var observesScope: Bool { true }

    /// Passes the request on and collects what comes back, up to the request's limit.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        var response = try await next(request)
        guard case .buffered(let limit) = request.delivery, response.body.bytes == nil else { return response }
        let body = response.body
        let bytes = try await next.call.inTask { (_) async throws(LoadingError) in try await body.collect(limit: limit)
        }
        response.body = ResponseBody(bytes, trailers: body.trailers, metrics: body.metrics)
        return response
    }
}
