/// Runs the decorators of the service, then those of the endpoint that the request comes from, once per call.
public struct DecorationInterceptor: Interceptor {
    /// The decorators of the service, in order.
    public let decorators: [any RequestDecorator]

    /// Makes the interceptor.
    public init(_ decorators: [any RequestDecorator]) {
        self.decorators = decorators
    }

    /// True: cancelling the scope ends a call here as cancelling its task does.
    public var observesScope: Bool { true }

    /// Passes the decorated request on.
    ///
    /// - Throws: The error of a decorator; one that is not a `LoadingError` becomes `LoadingError.Kind.decorationFailed`.
    public func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        let own = request[EndpointDecorators.self]
        guard !decorators.isEmpty || !own.isEmpty else {
            var request = request
            request.headers.joinCookies()
            return try await next(request)
        }
        var acting = decorators + own
        // A server chose this address, and it has another origin than the app's.
        if request[LeadsToOtherOrigin.self] { acting.removeAll(where: \.addsCredentials) }
        var decorated = try await next.call.inTask { [acting] (_) async throws(LoadingError) in
            try await Self.decorated(request, by: acting)
        }
        decorated.headers.joinCookies()
        try decorated.validate()
        return try await next(decorated)
    }

    private static func decorated(
        _ request: Request,
        by decorators: [any RequestDecorator]
    ) async throws(LoadingError) -> Request {
        var decorated = request
        for decorator in decorators {
            do {
                decorated = try await decorator.decorate(decorated)
            } catch {
                throw .wrapping(error, request, as: .decorationFailed)
            }
        }
        return decorated
    }
}
