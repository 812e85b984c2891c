extension TransportSettings {
    /// Which proxy requests use.
    public enum ProxyChoice: Sendable, Hashable {
        /// The proxies of `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy`, read when the transport is made.
        ///
        /// Loopback hosts are connected to directly. The entries of `no_proxy` are those of ``Proxy/exceptions``, separated
        /// by commas or spaces. An entry that is not understood is skipped, and is the event `valueIgnored`.
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
            /// The hosts that are connected to directly.
            ///
            /// | entry | excepts |
            /// | --- | --- |
            /// | `*` | every host |
            /// | `example.com`, `.example.com` | this name and all names below it |
            /// | `*.example.com` | all names below it |
            /// | `192.0.2.7`, `2001:db8::7`, `[2001:db8::7]` | this address, in any notation |
            /// | `192.0.2.0/24`, `2001:db8::/32` | these addresses |
            /// | `192.0.2.` | the addresses that begin so |
            /// | `example.com:8080`, `[2001:db8::7]:8080` | the same, at this port only |
            ///
            /// Names are not resolved. Another entry is `LoadingError.Kind.invalidSetting` when the transport is made.
            public var exceptions: [String]
            /// Whether `http` addresses go through a tunnel too; for transports that ask for tunnels themselves.
            package var tunnels = false
            /// Whether a proxy of SOCKS 5 resolves names; otherwise this machine does.
            package var resolvesNames = true

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
}
