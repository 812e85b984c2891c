import LadeCore

/// The opening of a tunnel through a proxy: bytes of the proxy go in, what to do comes out.
///
/// Bytes after the proxy's consent are not taken: they come from the other end of the tunnel.
enum Tunnel {
    case connect(ConnectTunnel)
    case socks5(SOCKS5)

    /// The step that follows from received bytes.
    enum Step: Equatable {
        /// More bytes are needed; all were taken.
        case more
        case send([UInt8])
        case open
        case refused(Refusal)
    }

    /// Why there is no tunnel.
    enum Refusal: Equatable {
        /// The proxy requires credentials, or refuses the given ones.
        case credentials
        case status(Response.Status)
        /// The reply of SOCKS 5 (RFC 1928 §6).
        case reply(UInt8)
        /// The proxy ended the connection.
        case ended
        /// The response has more bytes than a head may have.
        case tooLarge
        /// The proxy sent something other than a response; the text describes it.
        case malformed(String)
    }

    /// The end of a tunnel.
    struct Target: Equatable {
        /// A name or an address in the normal form, without a zone.
        let host: String
        let port: UInt16
        /// The address of the host; nil when the proxy looks it up.
        var address: SocketAddress?

        /// Host and port, an IPv6 address in brackets (RFC 9110 §7.2).
        var authority: String { host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)" }
    }

    /// The bytes that are sent first.
    var opening: [UInt8] {
        switch self {
        case .connect(let tunnel): tunnel.request
        case .socks5(let tunnel): tunnel.greeting
        }
    }

    /// Takes bytes of the proxy from the front.
    ///
    /// - Parameters:
    ///   - bytes: The received bytes.
    ///   - heads: Receives the lines of heads; nil when they are not recorded.
    /// - Returns: The next step.
    mutating func receive(_ bytes: inout ArraySlice<UInt8>, _ heads: HeadRecord? = nil) -> Step {
        switch self {
        case .connect(var tunnel):
            defer { self = .connect(tunnel) }
            return tunnel.receive(&bytes, heads)
        case .socks5(var tunnel):
            defer { self = .socks5(tunnel) }
            return tunnel.receive(&bytes)
        }
    }
}
