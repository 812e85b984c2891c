public import LadeCore

#if canImport(FoundationNetworking)
    import Foundation
    public import FoundationNetworking
#else
    public import Foundation
#endif

/// A transport on `URLSession`: the default on Apple platforms, an alternative on Linux.
///
/// It delivers every status, follows no redirect, stores no cookies, responses or credentials, and sends nothing again:
/// interceptors do these things. It refuses what the platform does not support before anything is sent, with an error that
/// names the setting or feature. <doc:WhatURLSessionCannotDo> lists where the platform's behaviour differs.
///
/// ```swift
/// let transport = try URLSessionTransport()
/// let response = try await transport.send(Request("https://api.example.com/shows"), call: Call())
/// ```
///
/// The connections live as long as the transport: when it is released, exchanges in flight are cancelled.
///
/// - Important: On Linux, a chunked body with trailers terminates the process: FoundationNetworking stops with a fatal
///   error. Use `LadeWire` there for servers that you do not control.
public final class URLSessionTransport: Transport {
    private let settings: TransportSettings
    private let environment: EnvironmentProxy
    private let driver: SessionDriver
    private let gate: HostGate

    /// Makes a transport with its own session.
    ///
    /// - Parameter settings: The settings; <doc:WhatURLSessionCannotDo> lists the settings that a platform refuses.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a setting that the platform does not support.
    public convenience init(settings: TransportSettings = TransportSettings()) throws(LoadingError) {
        try self.init(configuration: .ephemeral, settings: settings)
    }

    /// Makes a transport from a session configuration, for features that the settings do not have: cellular access,
    /// service type, multipath connections.
    ///
    /// - Parameters:
    ///   - configuration: Copied. Its cache, cookie and credential stores are removed; the settings and each request
    ///     replace its time-outs, connection limit, proxies and minimum TLS version. One for background tasks is refused.
    ///   - settings: The settings of the transport.
    /// - Throws: `LoadingError.Kind.invalidSetting` for a setting that the platform does not support.
    public init(
        configuration: URLSessionConfiguration,
        settings: TransportSettings = TransportSettings()
    ) throws(LoadingError) {
        environment = EnvironmentProxy(ProcessInfo.processInfo.environment)
        try settings.checkSupport(environment: environment)
        // The platform carries out background tasks of two kinds only, and ends the process for all others.
        guard configuration.identifier == nil else {
            throw LoadingError(.invalidSetting(name: "configuration", reason: "it is one for background tasks"))
        }
        guard let configuration = configuration.copy() as? URLSessionConfiguration else {
            throw LoadingError(.invalidSetting(name: "configuration", reason: "it cannot be copied"))
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
    /// The connect time-out is not enforced separately, because the platform does not report when it has connected.
    /// Idle and whole time-outs are, and the call's deadline, which includes every wait.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        try request.validate()
        switch request.url.scheme?.lowercased() {
        case "http", "https": break
        case "data" where settings.allowsLocalAddresses, "file" where settings.allowsLocalAddresses:
            return try await LocalTransport().send(request, call: call)
        case let other:
            throw LoadingError(.invalidRequest(.unsupportedScheme(other ?? "")), LoadingError.Context(request))
        }
        #if canImport(FoundationNetworking)
            if case .environment = settings.proxy, environment.capturesLoopback(request.url) {
                let feature = "way past the environment's proxy to this machine; name the host in no_proxy"
                throw LoadingError(.invalidRequest(.unsupportedFeature(feature)), LoadingError.Context(request))
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
    /// True: the body of a buffered response is complete when it is returned.
    public var collectsBodies: Bool { true }

    /// Cancels every exchange, and returns when the platform has invalidated its sessions.
    ///
    /// Later calls are cancelled too. Releasing the transport does the same without waiting.
    public func shutDown() async {
        driver.shutDown()
        await driver.ended()
    }
}
