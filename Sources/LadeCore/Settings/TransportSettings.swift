/// The settings every network transport has.
///
/// A plain value; the transport takes a copy when it is made.
public struct TransportSettings: Sendable {
    /// How many connections there may be.
    public struct ConnectionLimits: Sendable, Hashable {
        /// Open connections in all; 256 by default.
        public var total = 256
        /// Open connections to one host; 6 by default.
        public var perHost = 6
        /// Calls at once over the HTTP/2 connections to one host; 100 by default.
        public var streamsPerHost = 100
        /// How long an unused connection is kept; 60 s by default.
        public var idleLife: Duration = .seconds(60)

        /// Makes the default limits.
        public init() {}
    }

    /// How much of an answer is taken before it is refused.
    public struct ResponseLimits: Sendable, Hashable {
        /// Bytes of all heads of one exchange, interim ones included; 256 KiB by default.
        public var headBytes = 256 << 10
        /// Fields of one header section; 500 by default.
        public var headFields = 500
        /// How many times larger than what came over the wire a decoded body may be; 100 by default.
        public var decompressionRatio = 100
        /// Decoded bytes up to which the ratio does not matter; 1 MiB by default.
        public var decompressionFloor = 1 << 20
        /// Bytes of a streamed body that may wait to be read before the server is held back; 512 KiB by default.
        public var streamHighWater = 512 << 10

        /// Makes the default limits.
        public init() {}
    }

    /// Breaches of HTTP/1.1 that are overlooked, each by name.
    ///
    /// Empty by default; only for servers that cannot be mended.
    public struct Tolerances: OptionSet, Sendable, Hashable {
        /// The set as bits.
        public let rawValue: Int

        /// Makes a set from bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// Lines that end with a bare LF (TR-11).
        public static let bareLineFeed = Tolerances(rawValue: 1 << 0)
        /// Header fields folded over several lines (TR-12).
        public static let foldedFields = Tolerances(rawValue: 1 << 1)
        /// A protocol name in another case, as `Http/1.1` (TR-02).
        public static let protocolNameCase = Tolerances(rawValue: 1 << 2)
        /// White space between a field's name and its colon (TR-13).
        public static let spaceBeforeColon = Tolerances(rawValue: 1 << 3)
        /// `Content-Length` beside `Transfer-Encoding: chunked`, which then wins (TR-10).
        public static let lengthWithChunked = Tolerances(rawValue: 1 << 4)
        /// The end of an HTTPS connection without the close_notify of TLS, as the end of a body without a length (RFC 9112
        /// §9.8): such a body may have been cut by anyone between the server and here.
        public static let missingCloseNotify = Tolerances(rawValue: 1 << 5)
    }

    /// Trust and identity.
    public var tls = TLSSettings()
    /// Through whom requests go out; what the environment says by default.
    public var proxy = ProxySettings.environment
    /// How many connections there may be.
    public var connections = ConnectionLimits()
    /// How much of an answer is taken.
    public var limits = ResponseLimits()
    /// Breaches of the protocol that are overlooked; none by default.
    public var tolerances: Tolerances = []
    /// Whether gzip, deflate, brotli and zstd are asked for and decoded, as far as the transport can; true by default.
    public var decodesContent = true
    /// Whether `file:` and `data:` addresses are answered; true by default.
    public var allowsLocalAddresses = true

    /// Makes the default settings.
    public init() {}
}
