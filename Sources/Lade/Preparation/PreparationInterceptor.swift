/// Gives each request what every request of the service has: user agent and languages, and the identity of its trace.
public struct PreparationInterceptor: Interceptor {
    private let userAgent: UserAgent?
    private let languages: PreferredLanguages
    private let isTraced: Bool

    /// Makes the link.
    ///
    /// - Parameters:
    ///   - userAgent: What requests without a `User-Agent` of their own get; nil for none.
    ///   - languages: What requests without an `Accept-Language` of their own get.
    ///   - isTraced: Whether the exchanges of a call belong to one trace.
    public init(userAgent: UserAgent?, languages: PreferredLanguages, isTraced: Bool = false) {
        self.userAgent = userAgent
        self.languages = languages
        self.isTraced = isTraced
    }

    /// Adds the fields that the request does not have itself.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard request.url.isHTTP else { return try await next(request) }
        var prepared = request
        if let userAgent, !userAgent.text.isEmpty, !request.headers.contains("User-Agent") {
            prepared.headers.add("User-Agent", userAgent.text)
        }
        if !request.headers.contains("Accept-Language"), let value = languages.headerValue {
            prepared.headers.add("Accept-Language", value)
        }
        if isTraced { prepared[TraceID.self] = TraceID(next.call.random) }
        return try await next(prepared)
    }
}
