/// Adds what every request of the service has: user agent, languages, and the identity of its trace.
public struct PreparationInterceptor: Interceptor {
    private static let agentName = "User-Agent"
    private static let languageName = "Accept-Language"

    private let languages: PreferredLanguages
    private let isTraced: Bool
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
    public init(userAgent: UserAgent?, languages: PreferredLanguages, isTraced: Bool = false) {
        self.languages = languages
        self.isTraced = isTraced
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
    public var observesScope: Bool { true }

    /// Adds the fields that the request lacks.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        guard request.isHTTP else { return try await next(request) }
        var prepared = request
        add(to: &prepared.headers)
        if isTraced { prepared[TraceID.self] = TraceID(next.call.random) }
        return try await next(prepared)
    }

    private func add(to headers: inout Headers) {
        let hasLanguage = headers.contains(Self.languageName)
        if !headers.contains(Self.agentName) {
            if !hasLanguage, let both { return headers.add(contentsOf: both) }
            headers.add(contentsOf: agent)
        }
        if !hasLanguage, let value = languages.headerValue { headers.add(Self.languageName, value) }
    }
}
