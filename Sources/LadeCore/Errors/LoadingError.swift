#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The error of a call: what kind of failure it is, and what is known about the call.
///
/// ```swift
/// do throws(LoadingError) {
///     show = try await loader.load(endpoint)
/// } catch {
///     guard error.kind == .unacceptableStatus(404) else { throw error }
///     show = nil
/// }
/// ```
///
/// A plain `do` would not do in a task or a group, where its error is `any Error`; the article *Errors* has the reasons. To tell
/// several kinds apart, switch over ``kind``. The underlying error of a decoder, an authoriser or the app is
/// ``underlyingError``.
public struct LoadingError: Error, Sendable {
    // One reference: each function between caller and transport reserves room for one error.
    private var content: Content

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - kind: The kind of failure.
    ///   - context: The facts that are known about the call; those about the request are added at the top of the chain.
    ///   - underlyingError: The error that caused this one, if there is one.
    public init(
        _ kind: Kind,
        _ context: LoadingError.Context = LoadingError.Context(),
        underlyingError: (any Error)? = nil
    ) {
        content = Content(kind, context, underlyingError)
    }

    /// The kind of failure, which says what the caller can do about it.
    public var kind: Kind {
        get { content.kind }
        set { content = Content(newValue, content.context, content.underlyingError) }
    }

    /// The facts that are known about the call.
    public var context: LoadingError.Context {
        get { content.context }
        set { content = Content(content.kind, newValue, content.underlyingError) }
    }

    /// The error of the app, the decoder or the system that is behind this one; nil when there is none.
    public var underlyingError: (any Error)? {
        if case .authorisationFailed(let fault) = kind { fault.underlyingError } else { content.underlyingError }
    }

    /// Whether the call was cancelled, which is an outcome and not a failure.
    public var isCancellation: Bool { kind == .cancelled }

    /// The kinds of failures; the values are facts.
    @nonexhaustive
    public enum Kind: Sendable, Hashable {
        /// The call was cancelled.
        ///
        /// Never retried, and not an error to show to a user.
        case cancelled
        /// The request cannot be sent as it is; nothing was sent. Change the request.
        case invalidRequest(LoadingError.RequestCause)
        /// The settings of the transport cannot be used; nothing was sent. Change the settings.
        case invalidSetting(name: String, reason: String)
        /// A stage took longer than its limit.
        case timedOut(LoadingError.TimeoutPhase)
        /// The name of a host could not be resolved. Check the name and the network.
        case nameNotResolved(host: String)
        /// No connection could be opened. The host may be down.
        case cannotConnect(host: String, reason: LoadingError.ConnectCause)
        /// The proxy failed or refused.
        case proxy(LoadingError.ProxyCause)
        /// The connection was lost.
        ///
        /// `isSafeToRepeat` says whether the server certainly did not process the request.
        case connectionLost(LoadingError.ResponseProgress, isSafeToRepeat: Bool)
        /// The server violated the protocol; no part of the response can be trusted.
        case malformedResponse(LoadingError.MalformedResponse)
        /// The header section of the response is larger than allowed.
        case headTooLarge(LoadingError.HeadLimit)
        /// The body ended before it was complete.
        case incompleteBody(received: Int64, expected: Int64?)
        /// The body is larger than allowed; `announced` is its length where the server sent one.
        case bodyTooLarge(limit: Int, announced: Int64?)
        /// The body grew too much while it was decoded: a decompression bomb.
        case decompressionRatioExceeded(limit: Int)
        /// The server's identity could not be verified.
        ///
        /// Never retried.
        case untrustedServer(LoadingError.TrustCause)
        /// The server's key is none of those pinned for it. Never retried.
        case pinMismatch(host: String)
        /// The server requires a client certificate, and received none that it accepts.
        case clientCertificateRequired
        /// One of the app's own decorators failed; nothing was sent.
        case decorationFailed
        /// An interceptor of the app's own threw an error that is no `LoadingError`; see ``Chain/interceptor(observesScope:changedFields:_:)``.
        case interceptionFailed
        /// The request's own body could not be made.
        case requestBodyFailed
        /// A local file could not be read or written.
        case file(LoadingError.FileCause)
        /// The call did not end, or could not have ended, before its deadline; the report says where the time went.
        ///
        /// When an attempt has failed and the delay of its retry would end after the deadline, ``LoadingError/underlyingError`` is
        /// the failure of that attempt.
        case deadlineExceeded(LoadingError.DeadlineReport)
        /// The rate limit of the service requires a longer wait than the caller accepts; `wait` is its length.
        case rateLimited(key: String, wait: Duration)
        /// A redirect was not followed.
        case redirectRefused(LoadingError.RedirectCause)
        /// No credentials could be had, or the server refuses them; the fault says which. Renew them, or sign in again.
        case authorisationFailed(LoadingError.AuthorisationCause)
        /// Only a stored response was requested, and there is none.
        case notStored
        /// The status is not among those that count as success.
        case unacceptableStatus(Response.Status)
        /// The body could not be decoded into the requested value.
        case decoding
        /// The transport failed in a way that has no other case.
        case transport(code: Int, message: String)
    }

    private final class Content: Sendable {
        let kind: Kind
        let context: LoadingError.Context
        let underlyingError: (any Error)?

        init(_ kind: Kind, _ context: LoadingError.Context, _ underlyingError: (any Error)?) {
            (self.kind, self.context, self.underlyingError) = (kind, context, underlyingError)
        }
    }
}

extension LoadingError {
    /// The error that a closure or a conformance of the app threw, as the chain reports it.
    ///
    /// - Parameters:
    ///   - error: The error that was thrown. A `LoadingError` stays as it is; `CancellationError` becomes ``Kind/cancelled``.
    ///   - request: The request that it was thrown for.
    ///   - kind: The kind of any other error.
    /// - Returns: The error of the call.
    package static func wrapping(_ error: any Error, _ request: Request, as kind: Kind) -> LoadingError {
        switch error {
        case let error as LoadingError: error
        case is CancellationError: LoadingError(.cancelled, LoadingError.Context(request))
        default: LoadingError(kind, LoadingError.Context(request), underlyingError: error)
        }
    }

    /// The error with its request and the number of attempts, where it lacks them.
    ///
    /// Code below the top of the chain need not know either.
    package func completed(with request: Request, attempts: Int = 0) -> LoadingError {
        let isCounted = context.attempts > 0 || attempts <= 0
        guard context.method == nil || !isCounted else { return self }
        var completed = self
        if !isCounted { completed.context.attempts = attempts }
        if context.method == nil { completed.context.describe(request) }
        return completed
    }

    /// The error with the number of attempts, unless it has one.
    package func counted(_ attempts: Int) -> LoadingError {
        guard context.attempts == 0, attempts > 0 else { return self }
        var counted = self
        counted.context.attempts = attempts
        return counted
    }
}

extension LoadingError {
    /// The facts that are known about a call that failed.
    ///
    /// Holds no secret, so it can be logged.
    public struct Context: Sendable {
        // One reference: errors travel through every interceptor, and most contexts hold nothing but a request.
        private var storage: Storage

        /// Makes an empty context.
        public init() {
            storage = .empty
        }

        /// Makes a context for a request: its method and its address without secrets.
        public init(_ request: Request) {
            storage = Storage()
            describe(request)
        }

        /// Sets the known facts of the request.
        mutating func describe(_ request: Request) {
            change { storage in
                storage.method = request.method
                // Without the body, which may be large.
                storage.asked = (request.url, request.headers, request.secretQueryNames, request.secretValues)
                storage.timeouts = request.timeouts
            }
        }

        /// The method of the request.
        public var method: Request.Method? {
            get { storage.method }
            set { change { $0.method = newValue } }
        }

        /// The address of the request, without secrets.
        public var url: String? {
            storage.asked.map { redaction.address($0.url.absoluteString) }
        }

        /// Whether the request had credentials of its own, which the server refused if the status is 401.
        package var hadAuthorization: Bool { storage.asked?.headers.contains("Authorization") ?? false }

        /// The address of the request as it was sent, with secrets.
        package var address: URL? { storage.asked?.url }

        /// The values that must not be shown of the call.
        package var redaction: Redaction {
            guard let (url, headers, names, values) = storage.asked else { return .standard }
            var request = Request(url, headers: headers)
            request.secretQueryNames = names
            request.secretValues = values
            return Redaction(request)
        }

        /// The status of the response; nil when none had arrived.
        public var status: Response.Status? {
            get { storage.status }
            set { change { $0.status = newValue } }
        }

        /// The headers of the response; empty when none had arrived.
        ///
        /// See ``redactedHeaders`` for what may be logged.
        public var headers: Headers {
            get { storage.headers }
            set { change { $0.headers = newValue } }
        }

        /// The headers of the response without secrets.
        ///
        /// Secrets of the request that the server repeated are removed too.
        public var redactedHeaders: Headers { redaction.headers(storage.headers) }

        /// The kept beginning of the response's body; nil when nothing was kept.
        public var body: Data? {
            get { storage.body }
            set { change { $0.body = newValue } }
        }

        /// The value that the endpoint's processors made of the body when the status was refused; nil when there were none.
        public var processedBody: (any Sendable)? {
            get { storage.processedBody }
            set { change { $0.processedBody = newValue } }
        }

        /// The error that the endpoint's processors threw for the body when the status was refused.
        public var processingError: (any Error)? {
            get { storage.processingError }
            set { change { $0.processingError = newValue } }
        }

        /// How many attempts were made; 0 when unknown.
        public var attempts: Int {
            get { storage.attempts }
            set { change { $0.attempts = newValue } }
        }

        /// Why no further attempt was made, although the settings allow some; nil when they do not, and where the error itself
        /// says it.
        public var retryRefusal: String? {
            get { storage.retryRefusal }
            set { change { $0.retryRefusal = newValue } }
        }

        /// How long the call had taken when it failed; nil when that is not known.
        public var elapsed: Duration? {
            get { storage.elapsed }
            set { change { $0.elapsed = newValue } }
        }

        /// The time-outs that the exchange had; nil without a request.
        package var timeouts: Request.Timeouts? { storage.timeouts }

        /// The setting that `timeouts.whole` of the exchange came from; nil when the request has one of its own.
        package var wholeLimitSetting: String? {
            get { storage.wholeLimitSetting }
            set { change { $0.wholeLimitSetting = newValue } }
        }

        /// How long each stage of the exchange took that failed; nil without an exchange, and where they are not told apart.
        package var exchangeStages: Call.StageTimes.Exchange? {
            get { storage.exchangeStages }
            set { change { $0.exchangeStages = newValue } }
        }

        /// The words of a lower layer, for the log.
        public var detail: String? {
            get { storage.detail.map(redaction.text) }
            set { change { $0.detail = newValue } }
        }

        private mutating func change(_ body: (Storage) -> Void) {
            if !isKnownUniquelyReferenced(&storage) { storage = Storage(copying: storage) }
            body(storage)
        }

        // Sendable: written only by `change` while this context holds the only reference.
        private final class Storage: @unchecked Sendable {
            static let empty = Storage()

            var method: Request.Method?
            var asked: (url: URL, headers: Headers, secretQueryNames: Set<String>, secretValues: [Secret])?
            var status: Response.Status?
            var headers = Headers()
            var body: Data?
            var processedBody: (any Sendable)?
            var processingError: (any Error)?
            var attempts = 0
            var retryRefusal: String?
            var elapsed: Duration?
            var timeouts: Request.Timeouts?
            var wholeLimitSetting: String?
            var exchangeStages: Call.StageTimes.Exchange?
            var detail: String?

            init() {}

            init(copying other: Storage) {
                method = other.method
                asked = other.asked
                status = other.status
                headers = other.headers
                body = other.body
                processedBody = other.processedBody
                processingError = other.processingError
                attempts = other.attempts
                retryRefusal = other.retryRefusal
                elapsed = other.elapsed
                timeouts = other.timeouts
                wholeLimitSetting = other.wholeLimitSetting
                exchangeStages = other.exchangeStages
                detail = other.detail
            }
        }
    }
}

extension LoadingError.Context: CustomStringConvertible, CustomReflectable {
    /// The request; a placeholder when it is not known.
    public var description: String {
        [method?.rawValue, url].compactMap(\.self).joined(separator: " ")
    }

    /// A mirror of what ``description`` shows.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}
