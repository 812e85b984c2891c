import CCurl
import LadeCore
import LadeExchange

// The parts that libcurl adds to an exchange: how it uses connections and proxies, and its measurements.
extension Exchange {
    /// Whether the exchange uses a connection alone or shares it.
    ///
    /// A streamed response has a connection of its own.
    var kind: Admission.Kind { isStreamed || isUsedOnce ? .exclusive : .shared }

    /// Whether the connection carries this exchange alone: libcurl 7.88 cannot send a second request over HTTP/2 in clear
    /// with prior knowledge.
    var isUsedOnce: Bool { !isSecure && request.version == .http2PriorKnowledge }

    /// Whether libcurl's own connect time-out could expire first.
    var connectsPatiently: Bool { min(limits.connect, limits.deadline, limits.whole) >= 300_000_000_000 }

    /// The proxy of the settings; nil when the request does not use it.
    func proxy(of handleSettings: HandleSettings) -> TransportSettings.ProxyChoice.Proxy? {
        guard case .proxy(let proxy) = handleSettings.settings.proxy else { return nil }
        if case .unixSocket = request.destination { return nil }
        return handleSettings.exceptions.covers(host, port: port) ? nil : proxy
    }

    /// The proxy of the environment; nil when the request uses none.
    func environmentProxy(of handleSettings: HandleSettings) -> EnvironmentProxies.Found? {
        guard let environment = handleSettings.environment, !environment.isEmpty else { return nil }
        if case .unixSocket = request.destination { return nil }
        return environment.proxy(isSecure: isSecure, host: host, port: port)
    }

    /// The proxy that the request uses, with its origin, for messages; nil without one.
    func proxyName(of handleSettings: HandleSettings) -> String? {
        if let proxy = proxy(of: handleSettings) { return "\(proxy.host):\(proxy.port)" }
        return environmentProxy(of: handleSettings)?.name
    }

    /// Whether the request can be sent over HTTP/1.1, as the server requires.
    ///
    /// The server has refused the request without a response to it (RFC 9113 §9.2.2), so the method does not matter.
    var canDowngrade: Bool {
        guard request.version == .automatic, !isDowngraded, progress == .nothing else { return false }
        return canSendBodyAgain
    }

    /// When the request was sent, in microseconds: libcurl 7.88 measures it only where there is no body.
    private func requestSentOffset(_ handle: EasyHandle) -> Int64 {
        let began = handle.offset(CURLINFO_PRETRANSFER_TIME_T)
        guard hasBody else { return began }
        // The loop's time is the start of its turn.
        return requestSent == 0 ? 0 : max(began, (requestSent - started) / 1_000)
    }

    /// The measurements of the exchange.
    func metrics(_ handle: EasyHandle) -> Response.Metrics {
        var metrics = Response.Metrics()
        metrics.queued = started > submitted ? .nanoseconds(started - submitted) : nil
        metrics.setStages(
            nameLookup: wasReused ? 0 : handle.offset(CURLINFO_NAMELOOKUP_TIME_T),
            connect: wasReused ? 0 : handle.offset(CURLINFO_CONNECT_TIME_T),
            secureConnect: wasReused ? 0 : handle.offset(CURLINFO_APPCONNECT_TIME_T),
            requestStarted: handle.offset(CURLINFO_PRETRANSFER_TIME_T),
            requestSent: requestSentOffset(handle),
            // libcurl counts the first byte of the request's body too.
            firstByte: hasBody && progress == .nothing ? 0 : handle.offset(CURLINFO_STARTTRANSFER_TIME_T),
            total: handle.offset(CURLINFO_TOTAL_TIME_T)
        )
        metrics.requestHeadBytes = Int64(handle.long(CURLINFO_REQUEST_SIZE))
        metrics.requestBodyBytes = handle.offset(CURLINFO_SIZE_UPLOAD_T)
        metrics.responseHeadBytes = Int64(headBytes)
        metrics.responseBodyBytes = handle.offset(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.decodedBodyBytes = bodyBytes
        metrics.contentEncoding = decodedCodings
        metrics.version = version
        let wasSent = handle.sending.sendings > 0
        metrics.isReusedConnection = wasSent ? wasReused : nil
        if wasSent {
            metrics.remoteAddress = handle.text(CURLINFO_PRIMARY_IP)
            metrics.remotePort = handle.long(CURLINFO_PRIMARY_PORT)
        }
        return metrics
    }
}
