/// Sends the cache mode of a request to servers, for a service without a cache.
///
/// Nothing is stored, so a call that must not reach the server fails immediately.
public struct CacheModeInterceptor: Interceptor {
    /// Makes the interceptor.
    public init() {}

    /// True: cancelling the scope ends a call here as cancelling its task does.
    public var observesScope: Bool { true }

    /// Adds the field for the mode (RFC 9111 §5.2.1), unless the request has its own `Cache-Control`.
    ///
    /// - Throws: `LoadingError.Kind.notStored` for a request that accepts only a stored response.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        let directive: String
        switch request.cacheMode {
        case .standard: return try await next(request)
        case .storedOnly: throw LoadingError(.notStored, ErrorContext(request))
        case .bypass: directive = "no-store"
        case .revalidate: directive = "no-cache"
        case .preferStored: directive = "max-stale"
        }
        guard request.isHTTP, !request.headers.contains("Cache-Control") else { return try await next(request) }
        var changed = request
        changed.headers.add("Cache-Control", directive)
        return try await next(changed)
    }
}
