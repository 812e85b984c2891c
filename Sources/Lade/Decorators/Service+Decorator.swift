extension Service {
    /// Changes requests before they are sent: adds credentials, signatures, timestamps.
    ///
    /// A service has a list of decorators, and so has an endpoint. They run in that order, once per call; each receives the
    /// request from the one before. The first receives a request that already has the user agent and languages. Decorators
    /// do not run again for redirects and retries. To change each exchange, use an interceptor in
    /// ``Service/Settings/attemptInterceptors``, or an authoriser.
    public protocol Decorator: Sendable {
        /// Returns the request to send instead of the given one.
        ///
        /// - Throws: Any error; nothing is sent then. The call fails with the error if it is a `LoadingError`, and with
        ///   `LoadingError.Kind.decorationFailed` otherwise.
        func decorate(_ request: Request) async throws -> Request

        /// Whether the decorator may add credentials; true by default.
        ///
        /// If true, the decorator does not run for a next page on another origin than the first page's. The server chose
        /// that address, and not the app.
        var addsCredentials: Bool { get }
    }
}

extension Service.Decorator {
    /// True: unless a decorator is known to be harmless, it runs only for origins that the app chose.
    public var addsCredentials: Bool { true }
}

/// Whether a request goes to an origin that a server chose.
enum LeadsToOtherOrigin: Request.Tag {
    static let defaultValue = false
}

/// The decorators of the endpoint that a request comes from.
enum EndpointDecorators: Request.Tag {
    static var defaultValue: [any Service.Decorator] { [] }
}

extension Service {
    /// Makes a decorator from a closure.
    ///
    /// - Parameters:
    ///   - addsCredentials: Whether the closure may add credentials; if true, it does not run for origins that servers
    ///     choose. True by default.
    ///   - body: Returns the request to send instead of the given one; see ``Service/Decorator/decorate(_:)``.
    /// - Returns: The decorator.
    public static func decorator(
        addsCredentials: Bool = true,
        _ body: @escaping @Sendable (Request) async throws -> Request
    ) -> some Service.Decorator {
        ClosureDecorator(addsCredentials: addsCredentials, body: body)
    }
}

/// A decorator that runs a closure.
private struct ClosureDecorator: Service.Decorator {
    let addsCredentials: Bool
    let body: @Sendable (Request) async throws -> Request

    func decorate(_ request: Request) async throws -> Request {
        try await body(request)
    }
}
