/// Turns an app's request into the request that its service sends.
///
/// First it adds user agent, languages and the identity of the trace. Then the decorators change the request. For a service
/// without a cache it adds the field of the cache mode. It acts once per call.
struct Preparation: Sendable {
    private static let agentName = "User-Agent"
    private static let languageName = "Accept-Language"

    private let languages: Service.PreferredLanguages
    private let isTraced: Bool
    private let isCached: Bool
    private let decorators: [any Service.Decorator]
    // Made and validated once; an invalid text becomes a fault of each request that it is added to.
    private let agent: Headers
    /// Both fields, when they are the same for every request.
    private let both: Headers?

    /// Makes the preparation of an account.
    ///
    /// - Parameters:
    ///   - userAgent: The `User-Agent` of requests without their own; nil for none.
    ///   - languages: The `Accept-Language` of requests without their own.
    ///   - isTraced: Whether the exchanges of a call belong to one trace.
    ///   - isCached: Whether a cache below acts on the cache mode.
    ///   - decorators: The decorators of service and account, in order; those of the endpoint follow.
    init(
        userAgent: UserAgent?,
        languages: Service.PreferredLanguages,
        isTraced: Bool = false,
        isCached: Bool = false,
        decorators: [any Service.Decorator] = []
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
            if let value = Service.PreferredLanguages.headerValue(for: tags) { both.add(Self.languageName, value) }
            return both
        }
    }

    /// The request with its fields; decorators have not acted yet.
    func prepared(_ request: Request, _ call: Call) -> Request {
        guard request.isHTTP else { return request }
        var prepared = request
        addFields(to: &prepared.headers)
        if isTraced { prepared[CallTrace.self] = CallTrace(call.random, continuing: request.continuedTrace) }
        return prepared
    }

    /// Whether decorators of service, account or endpoint act on a request.
    func decorates(_ request: Request) -> Bool { request.hasTags || !decorators.isEmpty }

    /// Completes a request on which the decorators have acted.
    ///
    /// - Throws: `LoadingError.Kind.notStored` for a request that accepts only a stored response, if the service has no cache.
    func complete(_ request: inout Request) throws(LoadingError) {
        request.headers.joinCookies()
        if !isCached, request.cacheMode != .standard { try request.addCacheDirective() }
    }

    private func addFields(to headers: inout Headers) {
        let hasLanguage = headers.contains(Self.languageName)
        if !headers.contains(Self.agentName) {
            if !hasLanguage, let both { return headers.add(contentsOf: both) }
            headers.add(contentsOf: agent)
        }
        if !hasLanguage, let value = languages.headerValue { headers.add(Self.languageName, value) }
    }

    /// The request as the decorators change it.
    ///
    /// - Throws: The error of a decorator; one that is not a `LoadingError` becomes `LoadingError.Kind.decorationFailed`.
    func decorated(_ request: Request, _ call: Call) async throws(LoadingError) -> Request {
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
        case .storedOnly: throw LoadingError(.notStored, LoadingError.Context(self))
        case .bypass: directive = "no-store"
        case .revalidate: directive = "no-cache"
        case .preferStored: directive = "max-stale"
        }
        guard isHTTP, !headers.contains("Cache-Control") else { return }
        headers.add("Cache-Control", directive)
    }
}
