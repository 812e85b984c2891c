/// Collects the bodies of buffered requests, so that interceptors above can retry a failure within the body.
///
/// The library's own transports collect bodies themselves, which saves a thread switch. This interceptor does it for
/// other transports.
package struct BufferingInterceptor: Interceptor {
    /// Makes the interceptor.
    package init() {}

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Empty: it only reads bodies.
    package var changedFields: [String]? { [] }

    /// Passes the request on and collects the body of the response, up to the request's limit.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        var response = try await next(request)
        guard case .buffered(let limit) = request.delivery, response.body.bytes == nil else { return response }
        let body = response.body
        let bytes = try await next.call.inTask { (_) async throws(LoadingError) in try await body.collect(limit: limit)
        }
        response.body = ResponseBody(bytes, trailers: body.trailers, metrics: body.metrics)
        return response
    }
}
