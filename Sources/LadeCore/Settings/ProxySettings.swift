/// Which proxy requests use.
public enum ProxySettings: Sendable, Hashable {
    /// What `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say.
    ///
    /// Loopback hosts are connected to directly.
    case environment
    /// No proxy.
    case direct
    /// The proxy given.
    case proxy(Proxy)

    /// One proxy.
    public struct Proxy: Sendable, Hashable {
        /// The protocol of a proxy.
        public enum Kind: Sendable, Hashable {
            /// HTTP; `https` addresses go through a tunnel (CONNECT).
            case http
            /// SOCKS 5; the proxy resolves names.
            case socks5
        }

        /// A user name and a password for the proxy; they are never sent to a server.
        public struct Credentials: Sendable, Hashable {
            /// The user name.
            public var user: String
            /// The password.
            public var password: Secret

            /// Makes credentials.
            public init(user: String, password: Secret) {
                self.user = user
                self.password = password
            }
        }

        /// The protocol of the proxy.
        public var kind: Kind
        /// Its host name or address.
        public var host: String
        /// Its port.
        public var port: Int
        /// The credentials for the proxy, if it needs any.
        public var credentials: Credentials?
        /// Hosts that are connected to directly: names, names with a leading dot for all names below, addresses, or
        /// `*`.
        public var exceptions: [String]
        /// Whether `http` addresses go through a tunnel too; for transports that ask for tunnels themselves.
        package var tunnels = false

        /// Makes a proxy.
        public init(
            _ kind: Kind,
            host: String,
            port: Int,
            credentials: Credentials? = nil,
            exceptions: [String] = []
        ) {
            self.kind = kind
            self.host = host
            self.port = port
            self.credentials = credentials
            self.exceptions = exceptions
        }
    }
}
