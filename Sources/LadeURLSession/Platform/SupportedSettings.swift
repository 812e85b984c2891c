import Foundation
import LadeCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

extension TransportSettings {
    /// Refuses settings that the platform would ignore.
    ///
    /// - Throws: ``LoadingError/Kind/invalidSetting(name:reason:)`` for the first of them.
    func checkSupport(environment: EnvironmentProxy) throws(LoadingError) {
        let standard = TransportSettings()
        var refusals: [(isUsed: Bool, name: String, reason: String)] = [
            (tls.clientIdentity != nil, "tls.clientIdentity", "URLSession takes no identity from PEM files"),
            (!tls.revocationLists.isEmpty, "tls.revocationLists", "URLSession takes no revocation lists"),
            (connections.total != standard.connections.total, "connections.total", "URLSession has no such limit"),
            (
                connections.streamsPerHost != standard.connections.streamsPerHost, "connections.streamsPerHost",
                "URLSession has no such limit"
            ),
            (
                connections.idleLife != standard.connections.idleLife, "connections.idleLife",
                "URLSession decides for itself how long it keeps a connection"
            ),
            (!tolerances.isEmpty, "tolerances", "URLSession's parser has no switches"),
            (!decodesContent, "decodesContent", "URLSession always decodes"),
        ]
        #if !canImport(Security)
            refusals += [
                (!tls.trustsSystemAuthorities, "tls.trustsSystemAuthorities", Self.noTrustOnLinux),
                (!tls.authorities.isEmpty, "tls.authorities", Self.noTrustOnLinux),
                (!tls.pins.isEmpty, "tls.pins", Self.noTrustOnLinux),
                (tls.pinScope != .leaf, "tls.pinScope", Self.noTrustOnLinux),
                (tls.verification != .full, "tls.verification", Self.noTrustOnLinux),
                (tls.minimumVersion != .tls1_2, "tls.minimumVersion", Self.noTrustOnLinux),
            ]
            switch proxy {
            case .environment: break
            case .direct:
                refusals.append(
                    (
                        !environment.isEmpty, "proxy",
                        "URLSession on Linux always obeys the environment, which names a proxy"
                    )
                )
            case .proxy:
                refusals.append((true, "proxy", "URLSession on Linux takes a proxy from the environment only"))
            }
        #endif
        guard let refusal = refusals.first(where: \.isUsed) else { return }
        throw LoadingError(.invalidSetting(name: refusal.name, reason: refusal.reason))
    }

    private static var noTrustOnLinux: String { "URLSession on Linux does not allow changing how it trusts" }

    /// Configures what the platform supports, and turns off what the chain does itself.
    func apply(to configuration: URLSessionConfiguration) {
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.httpCookieAcceptPolicy = .never
        configuration.httpShouldSetCookies = false
        configuration.urlCredentialStorage = nil
        configuration.httpMaximumConnectionsPerHost = connections.perHost
        // Time-outs are enforced here: the platform's are whole seconds on Linux and do not identify the phase.
        configuration.timeoutIntervalForRequest = Self.never
        configuration.timeoutIntervalForResource = Self.never
        #if canImport(Security)
            configuration.waitsForConnectivity = false
            configuration.tlsMinimumSupportedProtocolVersion = tls.minimumVersion == .tls1_3 ? .TLSv13 : .TLSv12
            configuration.connectionProxyDictionary = proxy.dictionary
        #endif
    }

    /// A year in seconds; larger numbers are not accepted by both platforms.
    static var never: TimeInterval { 365 * 24 * 3_600 }
}

#if canImport(Security)
    extension TransportSettings.ProxyChoice {
        /// The proxy in the form of `CFNetwork`; nil leaves it to the system's settings.
        fileprivate var dictionary: [AnyHashable: Any]? {
            switch self {
            case .environment: return nil
            case .direct: return ["HTTPEnable": 0, "HTTPSEnable": 0, "SOCKSEnable": 0]
            case .proxy(let proxy):
                var dictionary: [AnyHashable: Any] = ["ExceptionsList": proxy.exceptions]
                let prefixes = proxy.kind == .http ? ["HTTP", "HTTPS"] : ["SOCKS"]
                for prefix in prefixes {
                    dictionary["\(prefix)Enable"] = 1
                    dictionary["\(prefix)Proxy"] = proxy.host
                    dictionary["\(prefix)Port"] = proxy.port
                }
                return dictionary
            }
        }
    }
#endif

/// The proxy variables of the environment, as far as they must be known before the platform uses them.
struct EnvironmentProxy: Sendable {
    private let variables: [String: String]

    init(_ environment: [String: String]) {
        let names = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"]
        variables = environment.filter { names.contains($0.key) && !$0.value.isEmpty }
    }

    /// Whether no proxy is set.
    var isEmpty: Bool { variables.keys.allSatisfy { $0.lowercased() == "no_proxy" } }

    /// Whether a request to this machine would be sent to a proxy, which cannot reach this machine and should not see the
    /// request.
    func capturesLoopback(_ url: URL) -> Bool {
        guard let host = url.host(percentEncoded: false)?.lowercased(), let normal = NormalHost(host),
            normal.isLoopback
        else { return false }
        // libcurl ignores HTTP_PROXY, which a CGI client can set with a header named Proxy.
        let names = url.scheme?.lowercased() == "https" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"]
        guard (names + ["all_proxy", "ALL_PROXY"]).contains(where: { variables[$0] != nil }) else { return false }
        let exceptions = (variables["no_proxy"] ?? variables["NO_PROXY"] ?? "").lowercased()
        // libcurl takes a star for every host only where it stands alone.
        if exceptions == "*" { return false }
        return !exceptions.split { $0 == "," || $0 == " " }.contains { entry in
            normal.isAddress ? entry == host : Self.covers(entry, host)
        }
    }

    /// Whether an entry of `no_proxy` names the host or a domain above it; libcurl ignores one leading dot.
    private static func covers(_ entry: Substring, _ host: String) -> Bool {
        let name = entry.first == "." ? entry.dropFirst() : entry
        return name == host || host.hasSuffix(".\(name)")
    }
}
