public import LadeCore

/// Somebody who knows how a kind of request is authorised.
///
/// An authoriser may be shared by several accounts' chains, though its credentials then are too. Every authoriser that
/// claims a request acts on it, in their order, each on what the one before made of it. Source: policies PL-40,
/// `service-loader.md` §12.
///
/// ```swift
/// struct Signature: Authoriser {
///     let identifier = "signature"
///     func claims(_ request: Request) -> Bool { request.url.host() == "api.example.com" && request.url.scheme == "https" }
///     func authorise(_ request: Request, in context: AuthorisationContext) async throws -> Request {
///         var request = request
///         request.headers.set("X-Signature", secret: try sign(request))
///         return request
///     }
/// }
/// ```
public protocol Authoriser: Sendable {
    /// What it is called in events and errors; unique among the authorisers of an account.
    var identifier: String { get }

    /// Whether a request is its own; asked for each exchange, so be quick.
    func claims(_ request: Request) -> Bool

    /// Adds what is needed, at any time: the exchange waits for it.
    ///
    /// - Parameters:
    ///   - request: The request, as the authorisers before this one made it.
    ///   - context: The call, and a way to the network that is not authorised.
    /// - Returns: The authorised request.
    /// - Throws: Anything. The call fails with a `LoadingError` as it is and with `LoadingError.authorisationFailed`, which
    ///   keeps the error, for any other. A cancelled task throws `LoadingError.cancelled` or `CancellationError` (see
    ///   ``observesScope``), and the call's deadline is to be observed in longer waits.
    func authorise(_ request: Request, in context: AuthorisationContext) async throws -> Request

    /// Learns that the server refused a request (401), and says whether sending it anew would help.
    ///
    /// - Parameters:
    ///   - request: The request as this authoriser's ``authorise(_:in:)`` and those after it made it.
    ///   - response: The refusal, with its challenges.
    ///   - context: The call.
    /// - Returns: Whether ``authorise(_:in:)`` would now do something else.
    func wasRefused(_ request: Request, by response: Response, in context: AuthorisationContext) -> Bool

    /// Gets new credentials before the next use, although nothing says that the present ones are bad.
    func refresh()

    /// Forgets everything that was got from the user or a server: the user signed out.
    func forget()

    /// Whether all that ``authorise(_:in:)`` waits for ends with the scope of the context's call as it does with its
    /// task; false unless said otherwise.
    ///
    /// True for an authoriser that waits for nothing, or only for ``RefreshingCredentials`` and the context. For one that
    /// does not say so ``authorise(_:in:)`` runs in a task of its own, which costs some microseconds.
    var observesScope: Bool { get }
}

extension Authoriser {
    /// Nothing else can be done: the refusal is the answer.
    public func wasRefused(_ request: Request, by response: Response, in context: AuthorisationContext) -> Bool {
        false
    }

    /// Does nothing: there is nothing to be got.
    public func refresh() {}

    /// Does nothing: there is nothing to forget.
    public func forget() {}

    /// False: only the task is looked at.
    public var observesScope: Bool { false }
}

/// What an authoriser can use: the call, and a way to the network that is not authorised.
public struct AuthorisationContext: Sendable {
    /// The call that waits for credentials; its time, randomness, deadline and events.
    public let call: Call
    private let route: @Sendable (Request, Call) async throws(LoadingError) -> Response

    /// Makes a context whose way to the network is a transport.
    public init(call: Call, transport: any Transport) {
        self.call = call
        let chain = Chain(transport: transport)
        route = { (request, call) async throws(LoadingError) in try await chain.send(request, call: call) }
    }

    /// Makes a context whose way to the network are the links below the authorisation.
    init(_ next: Next) {
        call = next.call
        var next = next
        // A refresh keeps the way for longer than the call lasts, but not what the call asks for.
        next.call.scope = nil
        route = { [next] (request, call) async throws(LoadingError) in
            var next = next
            next.call = call
            return try await next(request)
        }
    }

    /// Makes the same way to the network for another call.
    init(call: Call, like other: AuthorisationContext) {
        self.call = call
        route = other.route
    }

    /// Makes a context with a transport in place of the way to the network, when one is given.
    func using(_ transport: (any Transport)?) -> AuthorisationContext {
        transport.map { AuthorisationContext(call: call, transport: $0) } ?? self
    }

    /// Sends a request past every authoriser: to a token endpoint, for example.
    ///
    /// It carries no cookies of the account, and stores none.
    ///
    /// - Parameters:
    ///   - request: The request.
    ///   - call: The call it is counted for: one of its own when it is to outlive the present one.
    /// - Returns: The answer, whatever its status.
    /// - Throws: What the links below and the transport throw; `LoadingError.cancelled` when the task is cancelled or the
    ///   call is given up.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        var request = request
        request.leavesCookiesAlone = true
        return try await route(request, call)
    }
}

// MARK: - Versions

/// Which version of whose credentials a request carries.
private enum CredentialVersions: RequestTag {
    static let defaultValue: [String: Int] = [:]
}

extension Request {
    /// The version of the credentials that an authoriser put into the request; nil when it put in none.
    public func credentialVersion(of authoriser: String) -> Int? {
        self[CredentialVersions.self][authoriser]
    }

    /// Notes which version of its credentials an authoriser put into the request.
    public mutating func setCredentialVersion(_ version: Int, of authoriser: String) {
        self[CredentialVersions.self][authoriser] = version
    }
}
