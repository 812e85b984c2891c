#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The errors that a call can fail with.
///
/// The case says what the caller can do about it; its values are facts.
///
/// Every case ends with an ``ErrorContext``: the request without secrets, the number of attempts, and what had arrived.
/// The context is a single reference, because each function between caller and transport reserves room for one error.
@nonexhaustive
public indirect enum LoadingError: Error, Sendable {
    /// The call was cancelled.
    ///
    /// Never retried, and not an error to show to a user.
    case cancelled(ErrorContext)
    /// The request cannot be sent as it is; nothing was sent. Change the request.
    case invalidRequest(RequestFault, ErrorContext)
    /// The settings of the transport cannot be used; nothing was sent. Change the settings.
    case invalidSetting(name: String, reason: String, ErrorContext)
    /// A stage took longer than its limit.
    case timedOut(TimeoutPhase, ErrorContext)
    /// The name of a host could not be resolved. Check the name and the network.
    case nameNotResolved(host: String, ErrorContext)
    /// No connection could be opened. The host may be down.
    case cannotConnect(host: String, reason: ConnectFault, ErrorContext)
    /// The proxy failed or refused.
    case proxy(ProxyFault, ErrorContext)
    /// The connection was lost.
    ///
    /// `isSafeToRepeat` says whether the server certainly did not process the request.
    case connectionLost(AnswerProgress, isSafeToRepeat: Bool, ErrorContext)
    /// The server violated the protocol; no part of the answer can be trusted.
    case malformedResponse(MalformedResponse, ErrorContext)
    /// The header section of the answer is larger than allowed.
    case headTooLarge(HeadLimit, ErrorContext)
    /// The body ended before it was complete.
    case incompleteBody(received: Int64, expected: Int64?, ErrorContext)
    /// The body is larger than allowed; `announced` is its length where the server sent one.
    case bodyTooLarge(limit: Int, announced: Int64?, ErrorContext)
    /// The body grew too much while it was decoded: a decompression bomb.
    case decompressionRatioExceeded(limit: Int, ErrorContext)
    /// The server's identity could not be verified.
    ///
    /// Never retried.
    case untrustedServer(TrustFault, ErrorContext)
    /// The server's key is none of those pinned for it. Never retried.
    case pinMismatch(host: String, ErrorContext)
    /// The server requires a client certificate, and received none that it accepts.
    case clientCertificateRequired(ErrorContext)
    /// One of the app's own decorators failed; nothing was sent.
    case decorationFailed(any Error, ErrorContext)
    /// An interceptor of the app's own threw an error that is no `LoadingError`; see ``ClosureInterceptor``.
    case interceptionFailed(any Error, ErrorContext)
    /// The request's own body could not be made.
    case requestBodyFailed(any Error, ErrorContext)
    /// A local file could not be read or written.
    case file(FileFault, ErrorContext)
    /// The call did not end, or could not have ended, before its deadline; the report says where the time went.
    case deadlineExceeded(DeadlineReport, ErrorContext)
    /// The rate limit of the service requires a longer wait than the caller accepts; `wait` is its length.
    case rateLimited(key: String, wait: Duration, ErrorContext)
    /// A redirect was not followed.
    case redirectRefused(RedirectFault, ErrorContext)
    /// No credentials could be had, or the server refuses them; the fault says which. Renew them, or sign in again.
    case authorisationFailed(AuthorisationFault, ErrorContext)
    /// Only a stored answer was requested, and there is none.
    case notStored(ErrorContext)
    /// The status is not among those that count as success.
    case unacceptableStatus(Status, ErrorContext)
    /// The body could not be decoded into the requested value.
    case decoding(any Error, ErrorContext)
    /// The transport failed in a way that has no other case.
    case transport(code: Int, message: String, ErrorContext)

    /// What is known about the call that failed.
    public var context: ErrorContext {
        get {
            switch self {
            case .cancelled(let context), .invalidRequest(_, let context), .invalidSetting(_, _, let context),
                .timedOut(_, let context), .nameNotResolved(_, let context), .cannotConnect(_, _, let context),
                .proxy(_, let context), .connectionLost(_, _, let context), .malformedResponse(_, let context),
                .headTooLarge(_, let context), .incompleteBody(_, _, let context), .bodyTooLarge(_, _, let context),
                .decompressionRatioExceeded(_, let context), .untrustedServer(_, let context),
                .pinMismatch(_, let context), .clientCertificateRequired(let context),
                .requestBodyFailed(_, let context), .interceptionFailed(_, let context), .file(_, let context),
                .unacceptableStatus(_, let context),
                .decorationFailed(_, let context),
                .deadlineExceeded(_, let context), .rateLimited(_, _, let context), .redirectRefused(_, let context),
                .authorisationFailed(_, let context), .notStored(let context),
                .decoding(_, let context), .transport(_, _, let context):
                context
            }
        }
        set { self = replacingContext(newValue) }
    }

    /// The error with the number of attempts, unless it has one.
    package func counted(_ attempts: Int) -> LoadingError {
        guard context.attempts == 0, attempts > 0 else { return self }
        var counted = self
        counted.context.attempts = attempts
        return counted
    }

    /// Whether the call was cancelled, which is an outcome and not a failure.
    public var isCancellation: Bool {
        if case .cancelled = self { true } else { false }
    }

    /// The error of the app, the decoder or the system that is behind this one; nil when there is none.
    public var underlyingError: (any Error)? {
        switch self {
        case .decoding(let error, _), .requestBodyFailed(let error, _), .decorationFailed(let error, _),
            .interceptionFailed(let error, _):
            error
        case .authorisationFailed(let fault, _): fault.underlyingError
        default: nil
        }
    }

    /// The error that a closure or a conformance of the app threw, as the chain reports it.
    ///
    /// - Parameters:
    ///   - error: What was thrown. A `LoadingError` stays as it is; `CancellationError` becomes ``cancelled(_:)``.
    ///   - request: What it was thrown for.
    ///   - wrap: Makes the error of any other.
    /// - Returns: The error of the call.
    package static func wrapping(
        _ error: any Error,
        _ request: Request,
        _ wrap: (any Error, ErrorContext) -> LoadingError
    ) -> LoadingError {
        switch error {
        case let error as LoadingError: error
        case is CancellationError: .cancelled(ErrorContext(request))
        default: wrap(error, ErrorContext(request))
        }
    }

    private func replacingContext(_ new: ErrorContext) -> LoadingError {
        switch self {
        case .cancelled: .cancelled(new)
        case .invalidRequest(let fault, _): .invalidRequest(fault, new)
        case .invalidSetting(let name, let reason, _): .invalidSetting(name: name, reason: reason, new)
        case .timedOut(let phase, _): .timedOut(phase, new)
        case .nameNotResolved(let host, _): .nameNotResolved(host: host, new)
        case .cannotConnect(let host, let reason, _): .cannotConnect(host: host, reason: reason, new)
        case .proxy(let fault, _): .proxy(fault, new)
        case .connectionLost(let progress, let isSafe, _): .connectionLost(progress, isSafeToRepeat: isSafe, new)
        case .malformedResponse(let fault, _): .malformedResponse(fault, new)
        case .headTooLarge(let limit, _): .headTooLarge(limit, new)
        case .incompleteBody(let received, let expected, _):
            .incompleteBody(received: received, expected: expected, new)
        case .bodyTooLarge(let limit, let announced, _): .bodyTooLarge(limit: limit, announced: announced, new)
        case .decompressionRatioExceeded(let limit, _): .decompressionRatioExceeded(limit: limit, new)
        case .untrustedServer(let fault, _): .untrustedServer(fault, new)
        case .pinMismatch(let host, _): .pinMismatch(host: host, new)
        case .clientCertificateRequired: .clientCertificateRequired(new)
        case .decorationFailed(let error, _): .decorationFailed(error, new)
        case .interceptionFailed(let error, _): .interceptionFailed(error, new)
        case .requestBodyFailed(let error, _): .requestBodyFailed(error, new)
        case .file(let fault, _): .file(fault, new)
        case .deadlineExceeded(let report, _): .deadlineExceeded(report, new)
        case .rateLimited(let key, let wait, _): .rateLimited(key: key, wait: wait, new)
        case .redirectRefused(let fault, _): .redirectRefused(fault, new)
        case .authorisationFailed(let fault, _): .authorisationFailed(fault, new)
        case .notStored: .notStored(new)
        case .unacceptableStatus(let status, _): .unacceptableStatus(status, new)
        case .decoding(let error, _): .decoding(error, new)
        case .transport(let code, let message, _): .transport(code: code, message: message, new)
        }
    }
}

/// What is known about a call that failed.
///
/// Holds no secret, so it can be logged.
public struct ErrorContext: Sendable {
    // One reference: errors travel through every interceptor, and most contexts hold nothing but a request.
    private var storage: Storage

    /// Makes an empty context.
    public init() {
        storage = .empty
    }

    /// Makes a context for a request: its method and its address without secrets.
    public init(_ request: Request) {
        storage = Storage()
        storage.method = request.method
        // Without the body, which may be large.
        storage.asked = (request.url, request.headers, request.secretQueryNames, request.secretValues)
        storage.timeouts = request.timeouts
    }

    /// The method of the request.
    public var method: HTTPMethod? {
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

    /// The status of the answer; nil when none had arrived.
    public var status: Status? {
        get { storage.status }
        set { change { $0.status = newValue } }
    }

    /// The headers of the answer; empty when none had arrived.
    ///
    /// See ``redactedHeaders`` for what may be logged.
    public var headers: Headers {
        get { storage.headers }
        set { change { $0.headers = newValue } }
    }

    /// The headers of the answer without secrets.
    ///
    /// Secrets of the request that the server repeated are removed too.
    public var redactedHeaders: Headers { redaction.headers(storage.headers) }

    /// The kept beginning of the answer's body; nil when nothing was kept.
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

    /// What a lower layer said, for the log.
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

        var method: HTTPMethod?
        var asked: (url: URL, headers: Headers, secretQueryNames: Set<String>, secretValues: [Secret])?
        var status: Status?
        var headers = Headers()
        var body: Data?
        var processedBody: (any Sendable)?
        var processingError: (any Error)?
        var attempts = 0
        var elapsed: Duration?
        var timeouts: Request.Timeouts?
        var wholeLimitSetting: String?
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
            elapsed = other.elapsed
            timeouts = other.timeouts
            wholeLimitSetting = other.wholeLimitSetting
            detail = other.detail
        }
    }
}

extension ErrorContext: CustomStringConvertible, CustomReflectable {
    /// The request; a placeholder when it is not known.
    public var description: String {
        [method?.rawValue, url].compactMap(\.self).joined(separator: " ")
    }

    /// A mirror of what ``description`` shows.
    public var customMirror: Mirror { Mirror(self, children: ["request": description]) }
}

extension LoadingError {
    /// The error with a context of the request, unless it has one.
    package func filled(with request: Request) -> LoadingError {
        guard context.method == nil else { return self }
        var context = ErrorContext(request)
        let old = self.context
        context.status = old.status
        context.headers = old.headers
        context.body = old.body
        context.attempts = old.attempts
        context.detail = old.detail
        var copy = self
        copy.context = context
        return copy
    }
}
