import LadeCore
import LadeExchange

/// The proxy that an exchange uses: from the settings, or from the environment when the transport was made.
struct ProxyRules: Sendable {
    private enum Source: Sendable {
        case direct
        case settings(Proxy, exceptions: ProxyExceptions)
        case environment(EnvironmentProxies)
    }

    private let source: Source

    /// Reads the settings, and the environment if they say so.
    ///
    /// - Parameters:
    ///   - settings: The settings of the transport.
    ///   - environment: The variables of the environment; nil for those of the process.
    /// - Throws: `LoadingError.Kind.invalidSetting`.
    init(_ settings: TransportSettings, environment: [String: String]? = nil) throws(LoadingError) {
        switch settings.proxy {
        case .direct: source = .direct
        case .proxy(let proxy):
            source = .settings(try Proxy(proxy), exceptions: try ProxyExceptions(proxy.exceptions))
        case .environment:
            let found = try SettingsCheck.environmentProxies(settings, environment)
            source = found.map { .environment($0) } ?? .direct
        }
    }

    /// The proxies of the environment; nil when they are not used.
    var environment: EnvironmentProxies? { if case .environment(let found) = source { found } else { nil } }

    /// The proxy for an exchange; nil when it connects directly, as to every Unix socket.
    ///
    /// Exchanges with the same scheme, host, port and destination have the same proxy. Therefore the keys of connections
    /// and sessions need not name it.
    ///
    /// - Throws: `LoadingError.Kind.invalidSetting` for a variable of the environment that names no proxy.
    func proxy(for exchange: Exchange) throws(LoadingError) -> Proxy? {
        if case .unixSocket = exchange.request.destination { return nil }
        switch source {
        case .direct: return nil
        case .settings(let proxy, let exceptions):
            return exceptions.covers(exchange.host, port: exchange.port) ? nil : proxy
        case .environment(let proxies):
            let found = proxies.proxy(isSecure: exchange.isSecure, host: exchange.host, port: exchange.port)
            do {
                return try found.map { found throws(LoadingError) in try Proxy(found) }
            } catch {
                throw LoadingError(error.kind, exchange.context)
            }
        }
    }
}
