#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeExchange

/// A proxy that connections go through.
struct Proxy: Hashable, Sendable {
    /// The protocol of the proxy.
    enum Kind: Hashable, Sendable {
        case http
        /// HTTP within TLS.
        case https
        /// SOCKS 5: the proxy resolves names, or this machine does.
        case socks5(resolvesNames: Bool)
    }

    let kind: Kind
    /// Its name or address in the normal form, an IPv6 address without brackets.
    let host: String
    let port: UInt16
    let credentials: TransportSettings.ProxyChoice.Proxy.Credentials?
    /// Whether `http` addresses go through a tunnel too.
    let tunnels: Bool
    /// Host and port for errors, without credentials.
    let name: String

    /// The port of a proxy whose address has none, as with curl.
    private static let port: UInt16 = 1_080
    private static let securePort: UInt16 = 443

    /// The proxy of the settings.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting`.
    init(_ settings: TransportSettings.ProxyChoice.Proxy) throws(LoadingError) {
        try SettingsCheck.proxy(settings)
        guard let host = NormalHost(settings.host) else {
            let shown = settings.host.escapedForDisplay(limit: 80)
            throw LoadingError(.invalidSetting(name: "proxy", reason: "“\(shown)” is no host"))
        }
        kind =
            switch settings.kind {
            case .http: .http
            case .socks5: .socks5(resolvesNames: settings.resolvesNames)
            }
        self.host = host.text
        port = UInt16(clamping: settings.port)
        credentials = settings.credentials
        tunnels = settings.tunnels
        name = "\(settings.host):\(settings.port)"
        try checkCredentials(setting: "proxy")
    }

    /// The proxy that a variable of the environment names: `[SCHEME://][USER[:PASSWORD]@]HOST[:PORT]`.
    ///
    /// User and password may be percent-encoded. No error shows the value, which may have a password.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` with the name of the variable.
    init(_ found: EnvironmentProxies.Found) throws(LoadingError) {
        let variable = found.variable
        func fail(_ reason: String) -> LoadingError {
            LoadingError(.invalidSetting(name: variable, reason: reason))
        }
        var rest = Array(found.address.reveal().utf8)[...]
        var scheme = "http"
        if let mark = rest.firstRange(of: Array("://".utf8)) {
            scheme = String(decoding: rest[..<mark.lowerBound], as: UTF8.self).asciiLowercased
            rest = rest[mark.upperBound...]
        }
        switch scheme {
        case "http": kind = .http
        case "https": kind = .https
        case "socks5": kind = .socks5(resolvesNames: false)
        case "socks5h": kind = .socks5(resolvesNames: true)
        default:
            let shown = scheme.escapedForDisplay(limit: 40)
            throw fail("“\(shown)” is no protocol of a proxy; http, https, socks5 and socks5h are")
        }
        rest = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        if let at = rest.lastIndex(of: UInt8(ascii: "@")) {
            credentials = Self.credentials(rest[..<at])
            rest = rest[(at + 1)...]
        } else {
            credentials = nil
        }
        var port = kind == .https ? Self.securePort : Self.port
        // The colons of an address of IPv6 stand within brackets.
        let end = rest.lastIndex(of: UInt8(ascii: "]")) ?? rest.startIndex
        if let colon = rest[end...].lastIndex(of: UInt8(ascii: ":")) {
            guard let number = Whole.count(String(decoding: rest[(colon + 1)...], as: UTF8.self)),
                (1...65_535).contains(number)
            else { throw fail("its port is not within 1 to 65535") }
            port = UInt16(clamping: number)
            rest = rest[..<colon]
        }
        guard let host = NormalHost(bytes: rest) else { throw fail("it has no host") }
        self.host = host.text
        self.port = port
        tunnels = false
        name = found.name
        try checkCredentials(setting: variable)
    }

    private static func credentials(_ bytes: ArraySlice<UInt8>) -> TransportSettings.ProxyChoice.Proxy.Credentials {
        func decoded(_ bytes: ArraySlice<UInt8>) -> String {
            String(decoding: String(decoding: bytes, as: UTF8.self).percentDecodedBytes, as: UTF8.self)
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            return .init(user: decoded(bytes), password: Secret(""))
        }
        return .init(user: decoded(bytes[..<colon]), password: Secret(decoded(bytes[(colon + 1)...])))
    }

    /// SOCKS 5 has one byte for the length of each (RFC 1929 §2).
    private func checkCredentials(setting: String) throws(LoadingError) {
        guard case .socks5 = kind, let credentials else { return }
        guard credentials.user.utf8.count > 255 || credentials.password.reveal().utf8.count > 255 else { return }
        let reason = "SOCKS 5 has no user name and no password of more than 255 bytes"
        throw LoadingError(.invalidSetting(name: setting, reason: reason))
    }

    /// Whether requests for an exchange go through a tunnel, or in the absolute form to the proxy itself.
    func tunnels(for exchange: Exchange) -> Bool {
        if case .socks5 = kind { return true }
        // The absolute form names neither another destination nor a protocol.
        return tunnels || exchange.isSecure || exchange.request.destination != nil
            || exchange.request.version == .http2PriorKnowledge
    }

    /// Where a connection to the proxy leads.
    var route: Route { .host(host, port: port) }

    /// The peer that its certificate must be for; nil for a proxy without TLS.
    var peer: TLSPeer? {
        guard kind == .https, let normal = NormalHost(host) else { return nil }
        return TLSPeer(
            host: String(normal.text.prefix { $0 != "%" }),
            isAddress: normal.isAddress,
            sessionKey: "x\(host):\(port)",
            isProxy: true
        )
    }

    /// The value of `Proxy-Authorization` (RFC 7617 §2); nil without credentials.
    var authorization: String? {
        credentials.map { "Basic " + Data("\($0.user):\($0.password.reveal())".utf8).base64EncodedString() }
    }
}
