/// What is wrong with a request.
@nonexhaustive
public enum RequestFault: Sendable, Hashable {
    /// The address, and why it cannot be used.
    case url(String, reason: String)
    /// A method that is no token or not the caller's to send.
    case method(String)
    /// A header field that must not be sent.
    case header(Headers.Fault)
    /// A `Content-Length` that is not the length of the body.
    case contentLength(written: String, actual: Int64)
    /// A field that frames messages or belongs to the connection, by its name; the transport alone writes those.
    case framingField(String)
    /// A scheme the transport does not speak.
    case unsupportedScheme(String)
    /// A body that was to be sent again and cannot be.
    case bodyNotReplayable
    /// A streamed response body that was read a second time.
    case bodyReadTwice
    /// A feature that this transport does not have.
    case unsupportedFeature(String)
}

/// The stages that have a time-out.
@nonexhaustive
public enum TimeoutPhase: String, Sendable, Hashable {
    /// Resolving the name.
    case nameLookup = "name look-up"
    /// Opening the connection, TLS included.
    case connect = "connect"
    /// Nothing moved in either direction.
    case idle = "idle"
    /// The whole exchange.
    case whole = "whole exchange"
}

/// Why no connection could be opened.
@nonexhaustive
public enum ConnectFault: Sendable, Hashable {
    /// Nobody listens there.
    case refused
    /// There is no way there.
    case unreachable
    /// The TLS handshake failed for a reason other than trust.
    case handshakeFailed
    /// Anything else the system said.
    case other(errno: Int32)
}

/// What a proxy did not do.
@nonexhaustive
public enum ProxyFault: Sendable, Hashable {
    /// Its name could not be resolved.
    case nameNotResolved(proxy: String)
    /// It could not be connected to.
    case cannotConnect(proxy: String)
    /// It wants credentials, or other ones.
    case authenticationRequired(proxy: String)
    /// It refused to open the tunnel; the status is nil for SOCKS.
    case refused(proxy: String, status: Status?)
}

/// How much of the answer had arrived when the connection broke.
public enum AnswerProgress: Sendable, Hashable {
    /// Not a byte.
    case nothing
    /// A part of the head.
    case head
    /// The head and this many bytes of the body.
    case body(received: Int64)
}

/// How an answer broke the protocol.
public struct MalformedResponse: Sendable, Hashable {
    /// The rule that was broken.
    @nonexhaustive
    public enum Rule: Sendable, Hashable {
        /// The status line is not `HTTP/1.x SP 3DIGIT [SP reason]` (RFC 9112 §4).
        case statusLine
        /// A line does not end with CRLF (RFC 9112 §2.2).
        case lineEnd
        /// A field line is continued on the next one (RFC 9112 §5.2).
        case foldedField
        /// A field name is no token, or is not followed at once by a colon (RFC 9112 §5.1).
        case fieldName
        /// A field value has a forbidden character (RFC 9110 §5.5).
        case fieldValue
        /// `Content-Length` is not one decimal number, or there are several that differ (RFC 9112 §6.3).
        case contentLength
        /// `Content-Length` and `Transfer-Encoding` together (RFC 9112 §6.1).
        case lengthWithTransferCoding
        /// A transfer coding that is unknown, repeated, or not ended by chunked (RFC 9112 §6.1).
        case transferCoding
        /// The chunked framing of the body (RFC 9112 §7.1).
        case chunk
        /// A switch of protocols nobody asked for (RFC 9110 §15.2.2).
        case unaskedUpgrade
        /// The content coding of the body cannot be decoded (RFC 9110 §8.4).
        case contentCoding
        /// The framing of HTTP/2, or a head that HTTP/2 forbids (RFC 9113).
        case http2Framing
        /// Bytes that arrived before the request was sent.
        case beforeRequest
        /// The connection of a body without a length ended without the close_notify of TLS (RFC 9112 §9.8).
        case closeNotify
        /// It is not HTTP at all.
        case notHTTP
        /// One that the platform below the transport does not name.
        case unspecified
    }

    /// The rule that was broken.
    public let rule: Rule
    /// The offending line, cut and with control characters shown escaped; nil when there is none to show.
    public let excerpt: String?

    /// Makes a fault; `excerpt` is escaped and cut here, and loses what may be a secret.
    public init(_ rule: Rule, excerpt: String? = nil) {
        self.rule = rule
        let shown = excerpt.map { excerpt in
            switch rule {
            case .fieldName, .fieldValue, .foldedField,
                .lineEnd where !excerpt.begins(with: "HTTP/"):
                Redaction.malformedField(excerpt)
            default: Redaction.standard.line(excerpt)
            }
        }
        self.excerpt = shown?.escapedForDisplay(limit: 120)
    }

    /// Makes the fault with an excerpt that is redacted already.
    init(_ rule: Rule, redacted excerpt: String?) {
        self.rule = rule
        self.excerpt = excerpt
    }
}

/// The limit that a header section exceeded.
public enum HeadLimit: Sendable, Hashable {
    /// Its size, heads of interim responses included.
    case bytes(Int)
    /// The number of its fields.
    case fields(Int)
}

/// Why a server's certificate was refused.
public struct TrustFault: Sendable, Hashable {
    /// The cause.
    @nonexhaustive
    public enum Cause: Sendable, Hashable {
        /// Signed by itself.
        case selfSigned
        /// Past its end.
        case expired
        /// Before its beginning.
        case notYetValid
        /// Made for another name.
        case wrongHost
        /// Not issued by an authority that is trusted.
        case untrustedRoot
        /// Withdrawn, says a revocation list.
        case revoked
        /// Its key or signature is too weak.
        case weakKey
        /// The server speaks no version of TLS that is allowed.
        case protocolVersion
        /// The server does not speak TLS there: its answer is plain HTTP, or of another protocol.
        case notTLS
        /// Anything else the TLS library said.
        case other(String)
    }

    /// The host that was asked for.
    public let host: String
    /// The cause.
    public let cause: Cause

    /// Makes a fault.
    public init(host: String, cause: Cause) {
        self.host = host
        self.cause = cause
    }
}

/// What could not be done with a local file.
public struct FileFault: Sendable, Hashable {
    /// Whether it was to be read or written.
    public enum Operation: String, Sendable, Hashable {
        /// Reading.
        case read
        /// Writing.
        case write
    }

    /// The file.
    public let path: String
    /// What was tried.
    public let operation: Operation
    /// Why it failed.
    public let reason: String

    /// Makes a fault.
    public init(path: String, operation: Operation, reason: String) {
        self.path = path
        self.operation = operation
        self.reason = reason
    }
}
