public import LadeCore

#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// A transport on the platform's `URLSession`: the default on Apple platforms, a second opinion on Linux.
///
/// It delivers every status, follows no redirect, keeps no cookie, no cache and no credential, and repeats nothing:
/// those are links of the chain. What the platform cannot do it refuses, before anything is sent, with an error that
/// names the setting or feature; what the platform does differently than the library promises is listed in
/// <doc:WhatURLSessionCannotDo>.
///
/// ```swift
/// let transport = try URLSessionTransport()
/// let response = try await transport.send(Request("https://api.example.com/shows"), call: Call())
/// ```
///
/// The connections live as long as the transport: when it goes, exchanges under way end as cancelled.
///
/// - Important: On Linux a server that ends a chunked body with trailers ends the process: FoundationNetworking stops
///   with a fatal error. Use `LadeCurl` there for servers that are not your own.
public final class URLSessionTransport: Transport {
    private let settings: TransportSettings
    private let environment: EnvironmentProxy
    private let driver: SessionDriver
    private let gate: HostGate

    /// Makes a transport with a session of its own.
    ///
    /// - Parameter settings: What the transport is to do; see <doc:WhatURLSessionCannotDo> for what a platform refuses.
    /// - Throws: `LoadingError.invalidSetting` for a setting the platform cannot carry out.
    public convenience init(settings: TransportSettings = TransportSettings()) throws(LoadingError) {
        try self.init(configuration: .ephemeral, settings: settings)
    }

    /// Makes a transport with a session that has more to it than the settings can say: cellular access, service type,
    /// connection by several paths.
    ///
    /// - Parameters:
    ///   - configuration: Copied. Its cache, cookie and credential stores are taken out, its time-outs, connection
    ///     limit, proxies and least TLS version replaced by what the settings and each request say.
    ///   - settings: What the transport is to do.
    /// - Throws: `LoadingError.invalidSetting` for a setting the platform cannot carry out.
    public init(
        configuration: URLSessionConfiguration,
        settings: TransportSettings = TransportSettings()
    ) throws(LoadingError) {
        environment = EnvironmentProxy(ProcessInfo.processInfo.environment)
        try settings.checkSupport(environment: environment)
        guard let configuration = configuration.copy() as? URLSessionConfiguration else {
            throw .invalidSetting(name: "configuration", reason: "it cannot be copied", ErrorContext())
        }
        settings.apply(to: configuration)
        self.settings = settings
        driver = try SessionDriver(configuration, settings: settings)
        gate = HostGate(limit: settings.connections.perHost)
    }

    deinit {
        driver.shutDown()
    }

    /// Carries out one exchange; see `Transport`.
    ///
    /// A connect time-out cannot be told from an idle one here and is not kept: the platform does not say when it has
    /// connected. Idle and whole time-outs are.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try request.validate()
        switch request.url.scheme?.lowercased() {
        case "http", "https": break
        case "data" where settings.allowsLocalAddresses, "file" where settings.allowsLocalAddresses:
            return try await LocalTransport().send(request, call: call)
        case let other: throw .invalidRequest(.unsupportedScheme(other ?? ""), ErrorContext(request))
        }
        #if canImport(FoundationNetworking)
            if case .environment = settings.proxy, environment.capturesLoopback(request.url) {
                let feature = "way past the environment's proxy to this machine; name the host in no_proxy"
                throw .invalidRequest(.unsupportedFeature(feature), ErrorContext(request))
            }
        #endif
        return try await Transfer(
            request,
            platform: try PlatformRequest(request),
            limits: settings.limits,
            driver: driver,
            call: call
        ).run(through: gate)
    }

    /// True: an exchange ends with its call's scope.
    public var observesScope: Bool { true }

    /// Ends every exchange as cancelled and returns when the platform has let go of its sessions.
    ///
    /// Calls that come later end as cancelled too. Dropping the transport does the same without waiting.
    public func shutDown() async {
        driver.shutDown()
        await driver.ended()
    }
}
