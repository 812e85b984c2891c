/// Makes of an app's request what its service sends.
///
/// First it adds user agent, languages and the identity of the trace, then what the decorators change. For a service
/// without a cache it adds the field of the cache mode. It runs once per call.
package struct PreparationInterceptor: Interceptor {
    private static let agentName = "User-Agent"
    private static let languageName = "Accept-Language"

    private let languages: PreferredLanguages
    private let isTraced: Bool
    private let isCached: Bool
    private let decorators: [any RequestDecorator]
    // Made and validated once; an invalid text becomes a fault of each request that it is added to.
    private let agent: Headers
    /// Both fields, when they are the same for every request.
    private let both: Headers?

    /// Makes the interceptor.
    ///
    /// - Parameters:
    ///   - userAgent: The `User-Agent` of requests without their own; nil for none.
    ///   - languages: The `Accept-Language` of requests without their own.
    ///   - isTraced: Whether the exchanges of a call belong to one trace.
    ///   - isCached: Whether a cache below acts on the cache mode.
    ///   - decorators: The decorators of service and account, in order; those of the endpoint follow.
    package init(
        userAgent: UserAgent?,
        languages: PreferredLanguages,
        isTraced: Bool = false,
        isCached: Bool = false,
        decorators: [any RequestDecorator] = []
    ) {
        self.languages = languages
        self.isTraced = isTraced
        self.isCached = isCached
        self.decorators = decorators
        let text = userAgent?.text ?? ""
        let agent = text.isEmpty ? Headers() : Headers([(Self.agentName, text)])
        self.agent = agent
        both = languages.constantTags.map { tags in
            var both = agent
            if let value = PreferredLanguages.headerValue(for: tags) { both.add(Self.languageName, value) }
            return both
        }
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    package var observesScope: Bool { true }

    /// Passes the prepared request on.
    ///
    /// - Throws: The error of a decorator; one that is not a `LoadingError` becomes `LoadingError.Kind.decorationFailed`.
    ///   `LoadingError.Kind.notStored` for a request that accepts only a stored response, if the service has no cache.
    package func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        var prepared = request
        if request.isHTTP {
            addFields(to: &prepared.headers)
            if isTraced { prepared[TraceID.self] = TraceID(next.call.random) }
        }
        if request.hasTags || !decorators.isEmpty { prepared = try await decorated(prepared, next.call) }
        prepared.headers.joinCookies()
        if !isCached, prepared.cacheMode != .standard { try prepared.addCacheDirective() }
        return try await next(prepared)
    }

    private func addFields(to headers: inout Headers) {
        let hasLanguage = headers.contains(Self.languageName)
        if !headers.contains(Self.agentName) {
            if !hasLanguage, let both { return headers.add(contentsOf: both) }
            headers.add(contentsOf: agent)
        }
        if !hasLanguage, let value = languages.headerValue { headers.add(Self.languageName, value) }
    }

    private func decorated(_ request: Request, _ call: Call) async throws(LoadingError) -> Request {
        var acting = decorators + request[EndpointDecorators.self]
        // A server chose this address, and it has another origin than the app's.
        if request[LeadsToOtherOrigin.self] { acting.removeAll(where: \.addsCredentials) }
        guard !acting.isEmpty else { return request }
        let decorated = try await call.inTask { [acting] (_) async throws(LoadingError) in
            var decorated = request
            for decorator in acting {
                do {
                    decorated = try await decorator.decorate(decorated)
                } catch {
                    throw LoadingError.wrapping(error, request, as: .decorationFailed)
                }
            }
            return decorated
        }
        try decorated.validate()
        return decorated
    }
}

extension Request {
    /// Adds the field for the cache mode (RFC 9111 §5.2.1), unless the request has its own `Cache-Control`.
    fileprivate mutating func addCacheDirective() throws(LoadingError) {
        let directive: String
        switch cacheMode {
        case .standard: return
        case .storedOnly: throw LoadingError(.notStored, ErrorContext(self))
        case .bypass: directive = "no-store"
        case .revalidate: directive = "no-cache"
        case .preferStored: directive = "max-stale"
        }
        guard isHTTP, !headers.contains("Cache-Control") else { return }
        headers.add("Cache-Control", directive)
    }
}
