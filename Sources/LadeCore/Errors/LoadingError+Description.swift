#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

extension LoadingError: CustomStringConvertible {
    /// One plain sentence: what happened, to which request.
    public var description: String {
        let request = context.description
        let sentence = context.redaction.text(sentence)
        return (request.isEmpty ? sentence : "\(request): \(sentence)").endedByFullStop
    }

    /// The failure in words, without the request and without a full stop.
    package var reason: String { context.redaction.text(sentence) }

    private var sentence: String {
        fault + (context.retryRefusal.map { "; it was not sent again, because \($0)" } ?? "")
    }

    private var fault: String {
        switch kind {
        case .cancelled: "The call was cancelled" + context.reason
        case .invalidRequest(let fault): fault.description
        case .invalidSetting(let name, let reason): "The setting \(name) cannot be used: \(reason)"
        case .timedOut(let phase): phase.sentence(context)
        case .nameNotResolved(let host): "The name \(host.hostInBothForms) could not be resolved"
        case .cannotConnect(let host, let reason): "No connection to \(host.hostInBothForms): \(reason)"
        case .proxy(let fault): fault.description
        case .connectionLost(let progress, _): "The connection was lost \(progress)"
        case .malformedResponse(let fault): fault.description
        case .headTooLarge(.bytes(let limit)): "The header section is larger than \(limit) bytes"
        case .headTooLarge(.fields(let limit)): "The header section has more than \(limit) fields"
        case .incompleteBody(let received, let expected):
            "The body ended after \(received) bytes" + (expected.map { " of \($0)" } ?? "")
        case .bodyTooLarge(let limit, let announced):
            "The body" + (announced.map { " of \($0) bytes" } ?? "") + " is larger than \(limit) bytes"
        case .decompressionRatioExceeded(let limit): "The body grew more than \(limit) times when decoded"
        case .untrustedServer(let fault): fault.description
        case .pinMismatch(let host): "The key of \(host.hostInBothForms) is none of those pinned for it"
        case .clientCertificateRequired: "The server requires a client certificate and got none it accepts"
        case .decorationFailed: "A decorator of the request failed" + cause
        case .interceptionFailed: "An interceptor of the app failed" + cause
        case .requestBodyFailed: "The request's body could not be made" + cause
        case .file(let fault):
            "The file \(fault.path) cannot be \(fault.operation == .read ? "read" : "written"): \(fault.reason)"
        case .deadlineExceeded(let report): report.sentence(attempts: context.attempts) + lastFailure
        case .rateLimited(let key, let wait):
            "\(key) must not be called for another \(wait.shortText)" + context.reason
        case .redirectRefused(let fault): fault.description
        case .authorisationFailed(let fault): fault.description
        case .notStored: "Only a stored response was requested, and there is none"
        case .unacceptableStatus(let status): "The server responded with \(status)" + context.reason
        case .decoding: "The response could not be decoded" + cause
        case .transport(0, let message): "The transport failed: \(message)"
        case .transport(let code, let message): "The transport failed: \(message) (\(code))"
        }
    }
    /// The failure of the attempt before a retry that has no time.
    private var lastFailure: String {
        (underlyingError as? LoadingError).map { "; the last attempt failed: \($0.reason)" } ?? ""
    }

    /// The underlying error, after a colon.
    private var cause: String { underlyingError.map { ": \($0)" } ?? "" }
}

extension LoadingError.TimeoutPhase {
    /// One plain clause: the limit, the setting that it comes from, the attempts that were made and the time they took.
    fileprivate func sentence(_ context: LoadingError.Context) -> String {
        let (limit, setting, event) =
            switch self {
            case .nameLookup: (context.timeouts?.connect, "timeouts.connect", "The name was not resolved")
            case .connect: (context.timeouts?.connect, "timeouts.connect", "No connection was opened")
            case .idle: (context.timeouts?.idle, "timeouts.idle", "Nothing was sent or received")
            case .whole:
                (context.timeouts?.whole, context.wholeLimitSetting ?? "timeouts.whole", "No complete response")
            }
        guard let limit else { return "It took too long (\(rawValue))" + context.effort }
        return "\(event) within \(limit.shortText) (\(setting))\(context.effort)"
    }
}

extension LoadingError.Context {
    /// The words of a lower layer, after a colon.
    fileprivate var reason: String { detail.map { ": \($0)" } ?? "" }

    /// `, 3 attempts, 46 s`, as far as both are known.
    fileprivate var effort: String { Self.effort(attempts: attempts, elapsed) }

    static func effort(attempts: Int, _ elapsed: Duration?) -> String {
        (attempts == 0 ? "" : attempts == 1 ? ", 1 attempt" : ", \(attempts) attempts")
            + (elapsed.map { ", \($0.shortText)" } ?? "")
    }
}

extension String {
    /// The text with an upper-case letter at its beginning and a full stop at its end.
    package var asSentence: String { (prefix(1).uppercased() + dropFirst()).endedByFullStop }

    /// The sentence with one full stop at its end, whatever ends the text that it quotes last.
    package var endedByFullStop: String {
        guard let last, ".!?".contains(last) else { return self + "." }
        return self
    }
}

extension LoadingError.RequestCause: CustomStringConvertible {
    /// One plain clause naming the part at fault.
    public var description: String {
        switch self {
        case .url(let url, let reason): "“\(url)” cannot be used as an address: \(reason)"
        case .method(let token): "“\(token)” cannot be used as a method"
        case .header(let fault): fault.clause
        case .contentLength(let written, let actual): "Content-Length is “\(written)” but the body has \(actual) bytes"
        case .framingField(let name): "The header field “\(name)” is the transport's to write"
        case .unsupportedScheme(let scheme): "The scheme “\(scheme)” is not supported: write http:// or https://"
        case .bodyNotReplayable: "The body cannot be sent a second time"
        case .bodyReadTwice:
            "A streamed body was read a second time; it can be read once, or be loaded with buffered delivery"
        case .unsupportedFeature(let feature): "This transport has no \(feature)"
        case .streamedBody(let clause): clause
        }
    }
}

extension LoadingError.ConnectCause: CustomStringConvertible {
    /// A few words.
    public var description: String {
        switch self {
        case .refused: "it was refused"
        case .unreachable: "there is no route"
        case .handshakeFailed: "the TLS handshake failed"
        case .other(0): "the system does not say why"
        case .other(let errno): String(cString: strerror(errno))
        }
    }
}

extension LoadingError.ProxyCause: CustomStringConvertible {
    /// One plain clause naming the proxy.
    public var description: String {
        switch self {
        case .nameNotResolved(let proxy): "The name of the proxy \(proxy) could not be resolved"
        case .cannotConnect(let proxy): "No connection to the proxy \(proxy)"
        case .authenticationRequired(let proxy): "The proxy \(proxy) requires other credentials"
        case .refused(let proxy, let status):
            "The proxy \(proxy) refused" + (status.map { " with \($0)" } ?? "")
        }
    }
}

extension LoadingError.ResponseProgress: CustomStringConvertible {
    /// A few words.
    public var description: String {
        switch self {
        case .nothing: "before any byte of the response"
        case .head: "within the head of the response"
        case .body(let received): "after \(received) bytes of the body"
        }
    }
}

extension LoadingError.MalformedResponse: CustomStringConvertible {
    /// One plain clause with the offending line and its position.
    public var description: String {
        let rule =
            switch rule {
            case .statusLine: "its status line is malformed"
            case .lineEnd: "a line does not end with CRLF"
            case .foldedField: "a header field is folded over two lines"
            case .fieldName: "a header field's name is malformed"
            case .fieldValue: "a header field's value has a forbidden character"
            case .contentLength: "its Content-Length is malformed or contradictory"
            case .lengthWithTransferCoding: "it has both Content-Length and Transfer-Encoding"
            case .transferCoding: "its transfer coding is not supported"
            case .chunk: "its chunked framing is malformed"
            case .unaskedUpgrade: "it switches protocols unasked"
            case .contentCoding: "its content coding cannot be decoded"
            case .http2Framing: "its HTTP/2 framing is malformed"
            case .beforeRequest: "it began before the request was sent"
            case .overhead: "its server sends little else than what surrounds content"
            case .closeNotify: "its connection ended without the close_notify of TLS"
            case .notHTTP: "it is not HTTP; a port that expects TLS responds so, too"
            case .unspecified: "the platform does not say how"
            }
        return "The response is malformed: \(rule)" + (excerpt.map { " (“\($0)”)" } ?? "")
            + (offset.map { ", at byte \($0)" } ?? "")
    }
}

extension LoadingError.TrustCause: CustomStringConvertible {
    /// One plain clause naming host and cause.
    public var description: String {
        let cause =
            switch cause {
            case .selfSigned: "it is self-signed"
            case .expired: "it has expired"
            case .notYetValid: "it is not yet valid"
            case .wrongHost: "it is made for another name"
            case .untrustedRoot: "its issuer is not trusted"
            case .revoked: "it was revoked"
            case .weakKey: "its key is too weak"
            case .protocolVersion: "the server speaks no TLS version that is allowed"
            case .notTLS: "there was none"
            case .other(let message): message
            }
        if self.cause == .notTLS {
            return "\(host.hostInBothForms) does not speak TLS on this port, which may be one for plain HTTP"
        }
        return "The certificate of \(host.hostInBothForms) was refused: \(cause)"
    }
}
