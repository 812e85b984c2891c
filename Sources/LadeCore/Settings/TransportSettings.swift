/// The settings that every network transport has.
///
/// A plain value; the transport takes a copy when it is made.
public struct TransportSettings: Sendable {
    /// The versions of the Internet Protocol.
    package enum AddressFamily: Sendable, Hashable {
        case v4
        case v6
    }

    /// Limits on the number and life of connections.
    public struct ConnectionLimits: Sendable, Hashable {
        /// Open connections in all; 256 by default.
        public var total = 256
        /// Open connections to one host; 6 by default.
        public var perHost = 6
        /// Concurrent exchanges over the HTTP/2 connections to one host; 100 by default.
        public var streamsPerHost = 100
        /// How long an unused connection is kept; 60 s by default.
        public var idleLife: Duration = .seconds(60)

        /// Makes the default limits.
        public init() {}
    }

    /// Limits on the size of a response; a response above a limit is refused.
    public struct ResponseLimits: Sendable, Hashable {
        /// Bytes of all heads of one exchange, interim ones included; 256 KiB by default.
        public var headBytes = 256 << 10
        /// Fields of one header section; 500 by default.
        public var headFields = 500
        /// Bytes of the certificates that a server sends; 32 KiB by default, enough for a chain of ten.
        ///
        /// Reading them costs before anything is known of the server. `CurlTransport` and `URLSessionTransport` have limits
        /// of their own.
        public var certificateBytes = 32 << 10
        /// How many times larger than the received bytes a decoded body may be; 100 by default.
        public var decompressionRatio = 100
        /// The size of a decoded body up to which the ratio is not checked; 1 MiB by default.
        public var decompressionFloor = 1 << 20
        /// Unread bytes of a streamed body at which receiving stops until they are read; 2 MiB by default.
        ///
        /// A transport may hold one more read: with `CurlTransport` as much again, but at least 16 and at most 512 KiB.
        /// `WireTransport` divides it over HTTP/2: half is the window of the stream, half are decoded bytes.
        public var streamHighWater = 2 << 20

        /// Makes the default limits.
        public init() {}
    }

    /// Violations of HTTP/1.1 that are accepted, each by name.
    ///
    /// Empty by default; use it only for servers that cannot be corrected.
    public struct Tolerances: OptionSet, Sendable, Hashable {
        /// The set as bits.
        public let rawValue: Int

        /// Makes a set from bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Lines that end with a bare LF.
        public static let bareLineFeed = Tolerances(rawValue: 1 << 0)
        /// Header fields folded over several lines.
        public static let foldedFields = Tolerances(rawValue: 1 << 1)
        /// A protocol name in another case, such as `Http/1.1`.
        public static let protocolNameCase = Tolerances(rawValue: 1 << 2)
        /// White space between a field's name and its colon.
        public static let spaceBeforeColon = Tolerances(rawValue: 1 << 3)
        /// `Content-Length` beside `Transfer-Encoding: chunked`, which then takes precedence.
        public static let lengthWithChunked = Tolerances(rawValue: 1 << 4)
        /// The end of an HTTPS connection without the close_notify of TLS, as the end of a body without a length (RFC
        /// 9112 §9.8).
        ///
        /// Any party between the server and the client may have truncated the body.
        public static let missingCloseNotify = Tolerances(rawValue: 1 << 5)
    }

    /// How servers are authenticated, and the client's identity.
    public var tls = TransportSettings.TLS()
    /// The proxy that requests use; by default the one that the environment names.
    public var proxy = TransportSettings.ProxyChoice.environment
    /// The exceptions from the environment's proxies in place of `no_proxy`; nil, the default, for those of `no_proxy`.
    package var environmentExceptions: [String]?
    /// The only version of the Internet Protocol to connect by; nil for both, and for transports without a choice.
    package var addressFamily: AddressFamily?
    /// Limits on the number and life of connections.
    public var connections = ConnectionLimits()
    /// Limits on the size of a response.
    public var limits = ResponseLimits()
    /// Violations of the protocol that are accepted; none by default.
    public var tolerances: Tolerances = []
    /// Whether gzip, deflate, brotli and zstd are requested and decoded, as far as the transport supports them; true by
    /// default.
    public var decodesContent = true
    /// Whether `file:` and `data:` addresses are supported; true by default.
    public var allowsLocalAddresses = true

    /// Makes the default settings.
    public init() {}
}
