/// What changes requests before they are sent: adds credentials, signs, stamps.
///
/// A service has a list and an endpoint has one; they run in that order, once per call, each getting what the one before
/// made. The first gets the request with user agent and language already in it. Redirects and retries do not run them
/// again; a link among ``Service/Settings/attemptInterceptors`` or an authoriser sees each exchange. Source: brief
/// `bbc-httpclient.txt`, `client-decorators-processors.md` §6.
public protocol RequestDecorator: Sendable {
    /// Makes the request that is sent in place of the one given.
    ///
    /// - Throws: Anything, and nothing is sent: the call fails with a `LoadingError` as it is, and with
    ///   `LoadingError.decorationFailed` for any other error.
    func decorate(_ request: Request) async throws -> Request

    /// Whether what it adds may be a credential; true unless said otherwise.
    ///
    /// A next page on another origin than the first is not decorated by it: its address is the server's choice, not the app's.
    var addsCredentials: Bool { get }
}

extension RequestDecorator {
    /// True: what is not known to be harmless stays on the origin that the app chose.
    public var addsCredentials: Bool { true }
}

/// Whether a request goes to an origin that a server chose, and not the app.
enum LeadsToOtherOrigin: RequestTag {
    static let defaultValue = false
}

/// The decorators of the endpoint that a request comes from.
enum EndpointDecorators: RequestTag {
    static var defaultValue: [any RequestDecorator] { [] }
}

/// A decorator made of a closure.
public struct ClosureDecorator: RequestDecorator {
    private let body: @Sendable (Request) async throws -> Request
    /// Whether what it adds may be a credential.
    public let addsCredentials: Bool

    /// Makes a decorator of a closure.
    ///
    /// - Parameters:
    ///   - addsCredentials: Whether what it adds may be a credential, and stays away from origins that servers choose; true
    ///     by default.
    ///   - body: Makes the request that is sent in place of the one given.
    public init(
        addsCredentials: Bool = true,
        _ body: @escaping @Sendable (Request) async throws -> Request
    ) {
        self.addsCredentials = addsCredentials
        self.body = body
    }

    /// Runs the closure.
    public func decorate(_ request: Request) async throws -> Request {
        try await body(request)
    }
}
