#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

extension TransportSettings {
    /// How servers are authenticated, and which identity the client presents.
    public struct TLS: Sendable {
        /// Where certificates come from.
        public enum CertificateSource: Sendable, Hashable {
            /// A file of one or more certificates in PEM form.
            case file(String)
            /// The bytes of one or more certificates in PEM form.
            case pem(Data)
        }

        /// The identity presented when the server asks for a client certificate.
        public struct ClientIdentity: Sendable, Hashable {
            /// The certificate chain as a file in PEM form.
            public var certificateFile: String
            /// The private key as a file in PEM form; nil when the certificate's file contains it.
            public var keyFile: String?
            /// The pass phrase of the key.
            public var passphrase: Secret?

            /// Makes an identity.
            public init(certificateFile: String, keyFile: String? = nil, passphrase: Secret? = nil) {
                self.certificateFile = certificateFile
                self.keyFile = keyFile
                self.passphrase = passphrase
            }
        }

        /// The TLS versions that can be set as the minimum.
        public enum Version: Sendable, Hashable, Comparable {
            /// TLS 1.2 (RFC 5246).
            case tls1_2
            /// TLS 1.3 (RFC 8446).
            case tls1_3
        }

        /// How certificates are checked.
        public enum Verification: Sendable, Hashable {
            /// Chain, dates, names and revocation lists are checked.
            case full
            /// Every certificate is accepted: any party between client and server can read and change the traffic.
            ///
            /// For tests only; each use is reported as ``Call/Event/certificateCheckSkipped(host:)``. `LadeWire` still
            /// compares the server's own key with ``TransportSettings/TLS/pins``; `LadeCurl` and `LadeURLSession` do not.
            case unsafelyAcceptEveryCertificate
        }

        /// The certificate that must have a pinned key.
        public enum PinScope: Sendable, Hashable {
            /// The server's own certificate.
            case leaf
            /// Any certificate of the chain of trust, including those of authorities.
            case chain
        }

        /// Whether the system's authorities are trusted; true by default.
        public var trustsSystemAuthorities = true
        /// Additional trusted authorities.
        public var authorities: [CertificateSource] = []
        /// Files of certificate revocation lists in PEM form; every certificate is checked against them.
        public var revocationLists: [String] = []
        /// The identity presented when the server asks for a client certificate.
        public var clientIdentity: ClientIdentity?
        /// Pinned keys per host; see ``TransportSettings/TLS/PinSet``.
        public var pins = TLS.PinSet()
        /// The certificate that must have a pinned key; the server's own by default.
        ///
        /// libcurl compares only the key of the server's own certificate: `LadeCurl` refuses ``PinScope/chain``.
        public var pinScope = PinScope.leaf
        /// The minimum version accepted; TLS 1.2 by default.
        public var minimumVersion = Version.tls1_2
        /// How certificates are checked; fully by default.
        public var verification = Verification.full

        /// Makes the default settings.
        public init() {}
    }
}

extension TransportSettings.TLS {
    /// Public keys that the certificates of hosts must have (SHA-256 of the SubjectPublicKeyInfo, RFC 7469 §2.4).
    ///
    /// ``TransportSettings/TLS/pinScope`` selects which certificate is compared.
    public struct PinSet: Sendable, Hashable {
        private var pinsByPattern: [String: [String]] = [:]

        /// Makes an empty set: nothing is pinned.
        public init() {}

        /// Whether nothing is pinned.
        public var isEmpty: Bool { pinsByPattern.isEmpty }

        /// Pins keys for a host, replacing the keys of the same pattern.
        ///
        /// - Parameters:
        ///   - pins: Base64 of the SHA-256 of each accepted key, with or without the prefix `sha256/`. Include a backup
        ///     key.
        ///   - pattern: A host name, or `*.` and a name for every host one label below it. An exact name takes precedence.
        ///     Case, percent escapes and a dot at the end make no difference.
        /// - Throws: ``LoadingError/Kind/invalidSetting(name:reason:)`` when a pin is not such a hash, or the pattern not a
        ///   host.
        public mutating func pin(_ pins: [String], for pattern: String) throws(LoadingError) {
            guard let key = Self.key(pattern) else {
                let shown = pattern.escapedForDisplay(limit: 64)
                throw LoadingError(.invalidSetting(name: "pin for \(shown)", reason: "“\(shown)” cannot be a host"))
            }
            var checked: [String] = []
            for pin in pins {
                let hash = pin.behind("sha256/").map(String.init) ?? pin
                guard let bytes = Data(base64Encoded: hash), bytes.count == 32 else {
                    throw LoadingError(
                        .invalidSetting(
                            name: "pin for \(pattern)",
                            reason: "“\(pin)” is not a SHA-256 in base64"
                        )
                    )
                }
                checked.append(hash)
            }
            pinsByPattern[key] = checked
        }

        /// Demands these keys of every host without pins of its own.
        ///
        /// - Parameter pins: As for ``pin(_:for:)``.
        /// - Throws: As ``pin(_:for:)``.
        package mutating func pinEveryHost(_ pins: [String]) throws(LoadingError) {
            var checked = TransportSettings.TLS.PinSet()
            // Any name: the pins are checked, and kept for every host.
            try checked.pin(pins, for: "localhost")
            pinsByPattern[Self.everyHost] = checked.pins(for: "localhost")
        }

        private static let everyHost = "*"

        /// The pins of a host, in base64; nil when it has none.
        ///
        /// For a text that cannot be a host the result is empty while anything is pinned: no key is accepted for it.
        public func pins(for host: String) -> [String]? {
            guard !pinsByPattern.isEmpty else { return nil }
            guard let host = Self.key(host) else { return [] }
            if let exact = pinsByPattern[host] { return exact }
            return host.cut(at: ".").flatMap { pinsByPattern["*." + $0.after] } ?? pinsByPattern[Self.everyHost]
        }

        /// A host or a pattern in the normal form of hosts.
        private static func key(_ pattern: String) -> String? {
            guard let name = pattern.behind("*.") else { return NormalHost(pattern)?.text }
            return NormalHost(String(name)).map { "*." + $0.text }
        }
    }
}
