extension LoadingError {
    /// The fault of a request.
    @nonexhaustive
    public enum RequestCause: Sendable, Hashable {
        /// The address, and why it cannot be used.
        case url(String, reason: String)
        /// A method that is not a token, or that callers must not use.
        case method(String)
        /// A header field that must not be sent.
        case header(Headers.FieldError)
        /// A `Content-Length` that differs from the length of the body.
        case contentLength(written: String, actual: Int64)
        /// A field that frames messages or belongs to the connection, by name; only the transport writes such fields.
        case framingField(String)
        /// A scheme that the transport does not support.
        case unsupportedScheme(String)
        /// A body that would have to be sent again, but can be sent only once.
        case bodyNotReplayable
        /// A streamed response body that was read a second time.
        case bodyReadTwice
        /// A feature that this transport does not have.
        case unsupportedFeature(String)
        /// A streamed body where only a whole one can be used; the text is a clause that says where, and what to do.
        case streamedBody(String)
    }
}

extension LoadingError {
    /// The stages that have a time-out.
    @nonexhaustive
    public enum TimeoutPhase: String, Sendable, Hashable {
        /// Resolving the name.
        case nameLookup = "name look-up"
        /// Opening the connection, TLS included.
        case connect = "connect"
        /// No byte arrived or left for too long.
        case idle = "idle"
        /// The whole exchange.
        case whole = "whole exchange"
    }
}

extension LoadingError {
    /// Why no connection could be opened.
    @nonexhaustive
    public enum ConnectCause: Sendable, Hashable {
        /// The host refused the connection: no process listens on the port.
        case refused
        /// There is no route to the host.
        case unreachable
        /// The TLS handshake failed for a reason other than trust.
        case handshakeFailed
        /// Any other system error.
        case other(errno: Int32)
    }
}

extension LoadingError {
    /// How a proxy failed.
    @nonexhaustive
    public enum ProxyCause: Sendable, Hashable {
        /// Its name could not be resolved.
        case nameNotResolved(proxy: String)
        /// It could not be connected to.
        case cannotConnect(proxy: String)
        /// The proxy requires credentials, or other credentials.
        case authenticationRequired(proxy: String)
        /// It refused to open the tunnel; the status is nil for SOCKS.
        case refused(proxy: String, status: Response.Status?)
    }
}

extension LoadingError {
    /// How much of the response had arrived when the connection was lost.
    public enum ResponseProgress: Sendable, Hashable {
        /// No byte.
        case nothing
        /// A part of the head.
        case head
        /// The head and this many bytes of the body.
        case body(received: Int64)
    }
}

extension LoadingError {
    /// How a response violated the protocol.
    public struct MalformedResponse: Sendable, Hashable {
        /// The rule that was violated.
        @nonexhaustive
        public enum Rule: Sendable, Hashable {
            /// The status line is not `HTTP/1.x SP 3DIGIT [SP reason]` (RFC 9112 §4).
            case statusLine
            /// A line does not end with CRLF (RFC 9112 §2.2).
            case lineEnd
            /// A field line is continued on the next one (RFC 9112 §5.2).
            case foldedField
            /// A field name is not a token, or is not followed immediately by a colon (RFC 9112 §5.1).
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
            /// A switch of protocols that the request did not allow (RFC 9110 §15.2.2).
            case unaskedUpgrade
            /// The content coding of the body cannot be decoded (RFC 9110 §8.4).
            case contentCoding
            /// The framing of HTTP/2, or a head that HTTP/2 forbids (RFC 9113).
            case http2Framing
            /// Bytes that arrived before the request was sent.
            case beforeRequest
            /// Far more overhead than content, such as key updates, empty frames or chunks of one byte; the excerpt
            /// names it.
            case overhead
            /// The connection of a body without a length ended without the close_notify of TLS (RFC 9112 §9.8).
            case closeNotify
            /// The response is not HTTP.
            case notHTTP
            /// A rule that the platform below the transport does not name.
            case unspecified
        }

        /// The rule that was violated.
        public let rule: Rule
        /// The offending line, truncated, with control characters escaped; nil when there is none to show.
        public let excerpt: String?
        /// Where the offending line or byte begins, in bytes from the beginning of the response.
        ///
        /// Interim heads and framing count. It is nil when the transport does not know, as over libcurl and
        /// `URLSession`.
        public private(set) var offset: Int64?

        /// Makes a fault.
        ///
        /// The initialiser escapes and truncates `excerpt`, and removes what may be a secret.
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
        package init(_ rule: Rule, redacted excerpt: String?) {
            self.rule = rule
            self.excerpt = excerpt
        }

        /// The fault at a position in the response.
        package func at(_ offset: Int64) -> Self {
            var fault = self
            fault.offset = offset
            return fault
        }
    }
}

extension LoadingError {
    /// The limit that a header section exceeded.
    public enum HeadLimit: Sendable, Hashable {
        /// Its size, heads of interim responses included.
        case bytes(Int)
        /// The number of its fields.
        case fields(Int)
    }
}

extension LoadingError {
    /// Why a certificate was refused.
    public struct TrustCause: Sendable, Hashable {
        /// The cause.
        @nonexhaustive
        public enum Cause: Sendable, Hashable {
            /// The certificate is self-signed.
            case selfSigned
            /// The certificate has expired.
            case expired
            /// The certificate is not valid yet.
            case notYetValid
            /// The certificate is for another name.
            case wrongHost
            /// No trusted authority has issued the certificate.
            case untrustedRoot
            /// A revocation list names the certificate as revoked.
            case revoked
            /// The key or signature of the certificate is too weak.
            case weakKey
            /// The server supports no TLS version that the settings allow.
            case protocolVersion
            /// The server does not speak TLS there: its response is plain HTTP, or of another protocol.
            case notTLS
            /// Anything else the TLS library said.
            case other(String)
        }

        /// The host of the request.
        public let host: String
        /// The cause.
        public let cause: Cause

        /// Makes a fault.
        public init(host: String, cause: Cause) {
            self.host = host
            self.cause = cause
        }
    }
}

extension LoadingError {
    /// Why an operation on a local file failed.
    public struct FileCause: Sendable, Hashable {
        /// The operation that failed.
        public enum Operation: String, Sendable, Hashable {
            /// Reading.
            case read
            /// Writing.
            case write
        }

        /// The file.
        public let path: String
        /// The operation that failed.
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
}
