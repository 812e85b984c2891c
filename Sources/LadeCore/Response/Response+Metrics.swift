extension Response {
    /// The costs of one exchange: when its stages ended and how many bytes it moved.
    ///
    /// Stages count from the moment the transport started the exchange, after any wait for a connection slot. A stage that did
    /// not happen is nil, such as name look-up on a reused connection. The values are final once the body has ended; until then
    /// they are the ones known so far.
    public struct Metrics: Sendable, Hashable {
        /// How long the exchange waited for a connection slot before it started.
        public var queued: Duration? {
            get { queuedTime.duration }
            set { queuedTime = StoredDuration(newValue) }
        }
        /// When the name was resolved.
        public var nameLookup: Duration? {
            get { nameLookupTime.duration }
            set { nameLookupTime = StoredDuration(newValue) }
        }
        /// When the connection to the server or proxy was open.
        public var connect: Duration? {
            get { connectTime.duration }
            set { connectTime = StoredDuration(newValue) }
        }
        /// When the TLS handshake was done.
        public var secureConnect: Duration? {
            get { secureConnectTime.duration }
            set { secureConnectTime = StoredDuration(newValue) }
        }
        /// When the request began to be sent.
        public var requestStarted: Duration? {
            get { requestStartedTime.duration }
            set { requestStartedTime = StoredDuration(newValue) }
        }
        /// When the sending of the request ended: with its last byte, or because the response had ended the upload before.
        ///
        /// nil while it is sent, and with transports that do not report it.
        public var requestSent: Duration? {
            get { requestSentTime.duration }
            set { requestSentTime = StoredDuration(newValue) }
        }
        /// When the first byte of the response arrived.
        public var firstByte: Duration? {
            get { firstByteTime.duration }
            set { firstByteTime = StoredDuration(newValue) }
        }
        /// When the exchange ended.
        public var total: Duration? {
            get { totalTime.duration }
            set { totalTime = StoredDuration(newValue) }
        }

        /// Bytes of the request's head on the wire, as far as the transport knows them.
        public var requestHeadBytes: Int64 = 0
        /// Bytes of the request's body on the wire.
        public var requestBodyBytes: Int64 = 0
        /// Bytes of every response head on the wire, interim ones included.
        public var responseHeadBytes: Int64 = 0
        /// Bytes of the response's body on the wire, before decoding.
        public var responseBodyBytes: Int64 = 0
        /// Bytes of the response's body delivered to the reader, after decoding.
        public var decodedBodyBytes: Int64 = 0

        /// The codings that the transport decoded, as the server named them; nil when the body was not coded.
        public var contentEncoding: String?
        /// The protocol version of the response.
        public var version: Response.Version?
        /// Whether an open connection was used again; nil when the exchange got no connection.
        public var isReusedConnection: Bool?
        /// The peer's numeric address (the proxy's, when one is used).
        public var remoteAddress: String?
        /// The peer's port.
        public var remotePort: Int?

        /// How the cache handled the request; nil for a response that is only the server's.
        public var cacheUse: Response.CacheUse? {
            get { if case .use(let use)? = boxedUse { use } else { nil } }
            set { boxedUse = newValue.map(BoxedUse.use) }
        }

        // Behind a reference: few responses have one.
        private indirect enum BoxedUse: Sendable, Hashable { case use(Response.CacheUse) }

        private var boxedUse: BoxedUse?
        private var queuedTime = StoredDuration()
        private var nameLookupTime = StoredDuration()
        private var connectTime = StoredDuration()
        private var secureConnectTime = StoredDuration()
        private var requestStartedTime = StoredDuration()
        private var requestSentTime = StoredDuration()
        private var firstByteTime = StoredDuration()
        private var totalTime = StoredDuration()

        /// Sets the stages that a wire library counts in microseconds; zero stands for a stage that did not happen.
        package mutating func setStages(
            nameLookup: Int64,
            connect: Int64,
            secureConnect: Int64,
            requestStarted: Int64,
            requestSent: Int64,
            firstByte: Int64,
            total: Int64
        ) {
            nameLookupTime = Self.span(microseconds: nameLookup)
            connectTime = Self.span(microseconds: connect)
            secureConnectTime = Self.span(microseconds: secureConnect)
            requestStartedTime = Self.span(microseconds: requestStarted)
            requestSentTime = Self.span(microseconds: requestSent)
            firstByteTime = Self.span(microseconds: firstByte)
            totalTime = Self.span(microseconds: total)
        }

        private static func span(microseconds: Int64) -> StoredDuration {
            microseconds > 0 ? StoredDuration(nanoseconds: microseconds &* 1_000) : StoredDuration()
        }

        /// How long each stage of the exchange took; nil where the transport does not tell them apart.
        ///
        /// A response may begin before the request is whole. The time until the end of the request then counts as sending.
        package var stages: Call.StageTimes.Exchange? {
            guard let end = totalTime.nanoseconds else { return nil }
            guard let start = requestStartedTime.nanoseconds else {
                return firstByteTime.nanoseconds == nil ? Call.StageTimes.Exchange(connecting: end) : nil
            }
            let sent = max(start, min(requestSentTime.nanoseconds ?? end, end))
            let firstByte = max(sent, min(firstByteTime.nanoseconds ?? end, end))
            return Call.StageTimes.Exchange(
                connecting: start,
                sending: sent - start,
                awaiting: firstByte - sent,
                receiving: end - firstByte
            )
        }

        /// Makes metrics of an exchange that has moved nothing yet.
        public init() {}

        /// All bytes sent, heads included.
        public var bytesSent: Int64 { requestHeadBytes + requestBodyBytes }

        /// All bytes received, heads included.
        public var bytesReceived: Int64 { responseHeadBytes + responseBodyBytes }
    }
}

extension Response {
    /// A version of the protocol.
    public enum Version: String, Sendable, Hashable, Comparable {
        /// HTTP/1.0.
        case http1_0 = "HTTP/1.0"
        /// HTTP/1.1 (RFC 9112).
        case http1_1 = "HTTP/1.1"
        /// HTTP/2 (RFC 9113).
        case http2 = "HTTP/2"
        /// HTTP/3 (RFC 9114).
        case http3 = "HTTP/3"

        /// Older before newer.
        public static func < (lhs: Version, rhs: Version) -> Bool { lhs.rawValue < rhs.rawValue }
    }
}
