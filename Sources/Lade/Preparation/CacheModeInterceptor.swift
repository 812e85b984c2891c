/// Tells servers how the cache is to be used, where there is no cache of our own.
///
/// Nothing is stored, so a call that must not ask the server fails at once.
public struct CacheModeInterceptor: Interceptor {
    /// Makes the link.
    public init() {}

    /// True: a call that is given up ends here as a cancelled task does.
    public var observesScope: Bool { true }

    /// Adds the field that belongs to the mode (RFC 9111 §5.2.1), unless the request has `Cache-Control` itself.
    ///
    /// - Throws: `LoadingError.notStored` for a request that wants only what is stored.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        let directive: String
        switch request.cacheMode {
        case .standard: return try await next(request)
        case .storedOnly: throw .notStored(ErrorContext(request))
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
