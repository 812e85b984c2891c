public import LadeCore

/// Adds credentials of one kind to requests.
///
/// An authoriser may be shared by the chains of several accounts, which then share its credentials. Every authoriser
/// that claims a request acts on it, in their order; each receives the request from the one before.
///
/// ```swift
/// struct Signature: Authoriser {
///     let identifier = "signature"
///     func claims(_ request: Request) -> Bool { request.url.host() == "api.example.com" && request.url.scheme == "https" }
///     func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request {
///         var request = request
///         request.headers.set("X-Signature", secret: try sign(request))
///         return request
///     }
/// }
/// ```
public protocol Authoriser: Sendable {
    /// The name in events and errors; unique among the authorisers of an account.
    var identifier: String { get }

    /// Whether the authoriser handles a request.
    ///
    /// Called for each exchange, so return quickly.
    func claims(_ request: Request) -> Bool

    /// Adds credentials to a request.
    ///
    /// It may take any time until the call's deadline: the exchange waits for it. 100 ms after the deadline its task is
    /// cancelled. An authoriser that ignores this delays the end of its call until it returns.
    ///
    /// - Parameters:
    ///   - request: The request, as changed by the authorisers before this one.
    ///   - context: The call, and access to the network without authorisation.
    /// - Returns: The authorised request.
    /// - Throws: Anything. A `LoadingError` becomes the error of the call, unchanged. For any other error, the call fails with
    ///   `LoadingError.Kind.authorisationFailed`, which keeps the error. A cancelled task throws `LoadingError.Kind.cancelled`
    ///   or `CancellationError` (see ``observesScope``).
    func authorise(_ request: Request, in context: Authorisation.Context) async throws -> Request

    /// Checks credentials that ``authorise(_:in:)`` added, when the request is about to be sent; by default they are kept.
    ///
    /// Between the two the call may have waited for a rate limit or for another authoriser. Implement it when credentials can be
    /// replaced or depend on the time, for example a signature with a date. Do not wait here.
    ///
    /// - Parameters:
    ///   - request: The request with the credentials.
    ///   - context: The call.
    /// - Returns: The request as it is to be sent, with newer credentials in place of the old ones where there are any. Nil when
    ///   the old ones cannot be used any more: ``authorise(_:in:)`` is called again with this request, once, and may wait.
    func renewed(_ request: Request, in context: Authorisation.Context) -> Request?

    /// Receives a refusal (401) by the server, and returns whether sending the request again would help.
    ///
    /// - Parameters:
    ///   - request: The request as it was sent, authorised by this and all other authorisers.
    ///   - response: The refusal, with its challenges.
    ///   - context: The call.
    /// - Returns: Whether ``authorise(_:in:)`` would now produce another request.
    func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool

    /// Obtains new credentials before the next use, even if the current ones are still valid.
    func refresh()

    /// Forgets everything that came from the user or a server: the user signed out.
    func forget()

    /// Whether everything that ``authorise(_:in:)`` waits for ends when the scope of the context's call is cancelled;
    /// false by default.
    ///
    /// Return true when the authoriser waits for nothing, or only for ``Authorisation/RefreshingCredentials`` and the context.
    /// Otherwise ``authorise(_:in:)`` runs in a child task, which costs some microseconds.
    var observesScope: Bool { get }

    /// The owner of these credentials, as apart from every other user; nil, the default, where that is not known.
    ///
    /// Stored responses are kept apart by it. An account with an authoriser that returns nil needs an identifier for its
    /// responses to be found by a later run of the program.
    var owner: Authorisation.Owner? { get }

    /// The names of the fields that the authoriser may set; `*`, the default, stands for any.
    ///
    /// An authoriser may set a field, and not always set it as a credential. A stored response whose `Vary` names a
    /// field of this kind is validated before each use.
    var changedFields: [String] { get }
}

/// The authorisers of this module, and what they share: where credentials may go, when they expire, how they are renewed.
///
/// An authoriser of an app conforms to ``Authoriser``.
public enum Authorisation {}

extension Authorisation {
    /// The identity of the user to whom credentials belong, which tells the user from all others.
    public struct Owner: Sendable, Hashable {
        /// A secret that no other user has, such as a user name with its password; only a keyed digest of it is stored.
        public var secret: Secret
        /// Whether the secret is replaced from time to time, as a token is.
        ///
        /// Stored responses of an account with an identifier of its own do not depend on such a secret.
        public var isRenewed: Bool

        /// Makes an owner.
        public init(_ secret: Secret, isRenewed: Bool = false) {
            self.secret = secret
            self.isRenewed = isRenewed
        }

        /// Makes the owner that several texts distinguish, in this order.
        init(_ parts: [Secret?], isRenewed: Bool = false) {
            // Written with their lengths, so that no two lists are the same text.
            let text = parts.map { part in part.map { "\($0.reveal().utf8.count):\($0.reveal())" } ?? "-" }.joined()
            self.init(Secret(text), isRenewed: isRenewed)
        }
    }
}

extension Authoriser {
    /// The same request: the credentials are right for as long as the call waits.
    public func renewed(_ request: Request, in context: Authorisation.Context) -> Request? { request }

    /// False: sending the request again would not help, and the refusal is the response.
    public func wasRefused(_ request: Request, by response: Response, in context: Authorisation.Context) -> Bool {
        false
    }

    /// Does nothing: there are no credentials to obtain.
    public func refresh() {}

    /// Does nothing: there is nothing to forget.
    public func forget() {}

    /// False: the authoriser observes only its task.
    public var observesScope: Bool { false }

    /// Nil: the user is not known.
    public var owner: Authorisation.Owner? { nil }

    /// `*`: the authoriser may set any field.
    public var changedFields: [String] { ["*"] }
}

/// An authoriser that proves its credentials by responding to challenges of the server, to each of them once.
///
/// It adds the nonce that it used to ``LadeCore/Request/answeredNonces``, and refuses to use one of them again. It also
/// responds to a second challenge to the same exchange, such as one whose nonce had expired (RFC 7616 §3.3).
package protocol ChallengeAnswering: Authoriser {}

private enum AnsweredNonces: Request.Tag {
    static let defaultValue: Set<String> = []
}

extension Request {
    /// The nonces of the challenges to which this exchange has responded.
    var answeredNonces: Set<String> {
        get { self[AnsweredNonces.self] }
        set { self[AnsweredNonces.self] = newValue }
    }
}

extension Authorisation {
    /// The means of an authoriser: the call, and access to the network without authorisation.
    public struct Context: Sendable {
        /// The call that waits for credentials: its time, randomness, deadline and events.
        public let call: Call
        private let route: @Sendable (Request, Call) async throws(LoadingError) -> Response

        /// Makes a context that sends through a transport.
        public init(call: Call, transport: any Transport) {
            self.call = call
            let chain = Chain(transport: transport)
            route = { (request, call) async throws(LoadingError) in try await chain.send(request, call: call) }
        }

        /// Makes a context that sends through the interceptors below the authorisation.
        init(_ next: Chain.Next) {
            var next = next
            // The choices for the call's request are not for the requests of an authoriser.
            if !next.call.lateChoices.isEmpty { next.call.lateChoices = [] }
            call = next.call
            // A refresh may outlive the call, so it keeps the chain but not the call's scope.
            next.call.scope = nil
            route = { [next] (request, call) async throws(LoadingError) in
                var next = next
                next.call = call
                if !call.lateChoices.isEmpty { next.call.lateChoices = [] }
                return try await next(request)
            }
        }

        /// Makes a context with the same access to the network for another call.
        init(call: Call, like other: Context) {
            self.call = call
            route = other.route
        }

        /// Returns the context with a transport in place of the chain, when one is given.
        func using(_ transport: (any Transport)?) -> Context {
            transport.map { Context(call: call, transport: $0) } ?? self
        }

        /// Sends a request without authorisation, for example to a token endpoint.
        ///
        /// It carries no cookies of the account, and stores none.
        ///
        /// - Parameters:
        ///   - request: The request.
        ///   - call: The call that the request belongs to. A request that must outlive the present call needs a call of its own.
        /// - Returns: The response, with any status.
        /// - Throws: The errors of the interceptors below and the transport; `LoadingError.Kind.cancelled` when the task or the
        ///   call's scope is cancelled.
        public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
            var request = request
            request.leavesCookiesAlone = true
            return try await route(request, call)
        }
    }
}

// MARK: - Versions

/// The versions of the credentials that a request carries, by authoriser.
private enum CredentialVersions: Request.Tag {
    static let defaultValue: [String: Int] = [:]
}

extension Request {
    /// The version of the credentials that an authoriser added to the request; nil when it added none.
    public func credentialVersion(of authoriser: String) -> Int? {
        self[CredentialVersions.self][authoriser]
    }

    /// Records which version of its credentials an authoriser added to the request.
    public mutating func setCredentialVersion(_ version: Int, of authoriser: String) {
        self[CredentialVersions.self][authoriser] = version
    }
}
