import LadeCore

extension HostDirectory {
    /// An address at which a host can be reached: a name or a numeric address, and a port.
    public struct Address: Sendable, Hashable {
        /// The host name or numeric address in its normal form: lower case, no dot at the end, IPv6 without brackets.
        public let host: String
        /// The port; nil for the port of the request's address.
        public let port: Int?
        /// Whether it is a host of its own: requests to it use its own name, credentials and cookies.
        ///
        /// False by default: then only the connection uses this address. `Host`, the TLS name, the certificate check,
        /// cookies, cache key, authorisation and rate limit stay those of the host that the request names.
        public let isHostOfItsOwn: Bool

        /// Makes an address.
        public init(_ host: String, port: Int? = nil, isHostOfItsOwn: Bool = false) {
            let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
            self.host = Self.normal(bare)
            self.port = port
            self.isHostOfItsOwn = isHostOfItsOwn
        }

        /// The normal form of a host; a text that is not a host is only changed to lower case.
        static func normal(_ host: String) -> String { NormalHost(host)?.text ?? host.lowercased() }
    }
}

extension HostDirectory.Address: ExpressibleByStringLiteral {
    /// Makes an address from a host name or numeric address without a port.
    public init(stringLiteral value: String) { self.init(value) }
}

extension HostDirectory.Address: CustomStringConvertible {
    /// The host, with the port when one is given.
    public var description: String {
        guard let port else { return host }
        return host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
