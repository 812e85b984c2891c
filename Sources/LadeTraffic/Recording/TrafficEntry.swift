#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The facts of an exchange that has ended, and the entry that is made of them.
struct TrafficEntry {
    var request: Request
    var requestBody: HAREntry.Content?
    var response: Response?
    var responseBody: Data?
    var responseSize: Int64 = 0
    var metrics: Response.Metrics
    var call: Call
    var date: Date
    var elapsed: Duration
    var facts = TrafficTap.CallFacts()
    var connectionWait: HAREntry.Wait?
    var error: LoadingError?
    var isFromStore = false

    init(
        request: Request,
        requestBody: HAREntry.Content?,
        response: Response?,
        metrics: Response.Metrics,
        call: Call,
        date: Date,
        elapsed: Duration
    ) {
        self.request = request
        self.requestBody = requestBody
        self.response = response
        self.metrics = metrics
        self.call = call
        self.date = date
        self.elapsed = elapsed
    }

    /// The entry, without secrets unless the settings ask for them.
    func entry(_ settings: TrafficRecorder.Settings) -> HAREntry {
        let redaction = settings.showsSecrets ? nil : TrafficRedaction(request, response)
        let (timings, waits) = self.timings
        let address = redaction?.address(request.url.absoluteString) ?? Self.withoutFragment(request.url.absoluteString)
        var sent = HAREntry.Request(method: request.method.rawValue, url: address)
        let version = (response?.version ?? metrics.version)?.rawValue ?? ""
        sent.version = version
        sent.headers = Self.fields(request.headers, redaction)
        sent.content = requestBody.map { content in
            Self.content(content, settings, redaction, isRequest: true)
        }
        sent.headBytes = metrics.requestHeadBytes > 0 ? metrics.requestHeadBytes : nil
        sent.bodyBytes = isFromStore ? nil : metrics.requestBodyBytes
        var received = HAREntry.Response(status: response?.status.code ?? error?.context.status?.code ?? 0)
        received.version = version
        let headers = response?.headers ?? error?.context.headers ?? Headers()
        if received.status > 0 { received.reason = Response.Status(received.status).reasonPhrase ?? "" }
        received.headers = Self.fields(headers, redaction)
        let content = HAREntry.Content(
            settings.bodyLimit > 0 ? responseBody : nil,
            type: headers["Content-Type"] ?? "",
            size: responseSize
        )
        received.content = Self.content(content, settings, redaction, isRequest: false)
        received.headBytes = metrics.responseHeadBytes > 0 ? metrics.responseHeadBytes : nil
        received.bodyBytes = isFromStore ? 0 : metrics.responseBodyBytes
        let blocked = timings.blocked ?? .zero
        var entry = HAREntry(
            started: date.addingTimeInterval(-waits.reduce(0) { $0 + $1.duration.inSeconds }),
            request: sent,
            response: received
        )
        entry.timings = timings
        entry.timings.blocked = blocked
        entry.time = entry.timings.sum
        entry.serverAddress = metrics.remoteAddress
        entry.connection = metrics.remotePort.map(String.init)
        entry.facts = facts(waits, isRedacted: redaction?.hasSecrets ?? false)
        return entry
    }

    private func facts(_ waits: [HAREntry.Wait], isRedacted: Bool) -> HAREntry.Facts {
        var known = HAREntry.Facts()
        known.call = Int(clamping: call.id.number)
        known.attempt = call.attempt
        known.hedge = call.hedge > 0 ? call.hedge : nil
        known.waits = waits + [connectionWait].compactMap(\.self)
        known.rule = facts.rule
        known.delay = facts.delay
        known.limit = request.timeouts.whole
        known.cache = facts.cache
        known.isReused = metrics.isReusedConnection
        known.fault = error.map { HAREntry.Fault($0) }
        known.isRedacted = isRedacted
        return known
    }

    /// The phases, which add up, and the waits of policies before the exchange.
    private var timings: (HAREntry.Timings, [HAREntry.Wait]) {
        var timings = HAREntry.Timings()
        // The file has microseconds, in which the sums must be right.
        func whole(_ duration: Duration) -> Duration { .nanoseconds(duration.microseconds * 1_000) }
        let waits = facts.waits.map { HAREntry.Wait($0.reason, whole($0.duration)) }
        let queued = metrics.queued ?? connectionWait?.duration ?? .zero
        var blocked = waits.reduce(whole(queued)) { $0 + $1.duration }
        // The transport counts from the moment after the wait for a connection.
        let total = whole(max(metrics.total ?? max(.zero, elapsed - queued), .zero))
        var position = Duration.zero
        func phase(to end: Duration?) -> Duration? {
            guard let end else { return nil }
            let limit = min(max(whole(end), position), total)
            defer { position = limit }
            return limit - position
        }
        if metrics.isReusedConnection != true {
            timings.nameLookup = phase(to: metrics.nameLookup)
            let connect = phase(to: metrics.connect)
            timings.secureConnect = phase(to: metrics.secureConnect)
            if connect != nil || timings.secureConnect != nil {
                timings.connect = (connect ?? .zero) + (timings.secureConnect ?? .zero)
            }
        }
        if let idle = phase(to: metrics.requestStarted) { blocked += idle }
        timings.send = phase(to: metrics.requestSent) ?? .zero
        timings.wait =
            phase(to: metrics.firstByte) ?? (metrics.total == nil && response != nil ? .zero : total - position)
        if metrics.firstByte == nil { position = min(total, position + timings.wait) }
        timings.receive = total - position
        timings.blocked = blocked
        return (timings, waits)
    }

    private static func fields(_ headers: Headers, _ redaction: TrafficRedaction?) -> [HAREntry.Field] {
        headers.map { HAREntry.Field($0.name, redaction?.value(of: $0) ?? $0.value) }
    }

    private static func content(
        _ content: HAREntry.Content,
        _ settings: TrafficRecorder.Settings,
        _ redaction: TrafficRedaction?,
        isRequest: Bool
    ) -> HAREntry.Content {
        guard let bytes = content.bytes, settings.bodyLimit > 0 else {
            return HAREntry.Content(nil, type: content.type, size: content.size)
        }
        // A margin behind the limit is redacted too, so that the beginning of a secret does not remain there.
        let known = bytes.prefix(settings.bodyLimit + RecordedExchange.margin)
        let shown = redaction?.body(Data(known), type: content.type, isRequest: isRequest) ?? Data(known)
        let isWhole = content.size <= settings.bodyLimit
        let kept = isWhole ? shown : Data(shown.prefix(settings.bodyLimit))
        // A whole body has the length that is written, which secrets change.
        return HAREntry.Content(kept, type: content.type, size: isWhole ? Int64(kept.count) : content.size)
    }

    private static func withoutFragment(_ address: String) -> String {
        String(Substring(address.utf8.prefix { $0 != UInt8(ascii: "#") }))
    }
}

extension HAREntry.Fault {
    /// The fault for an error.
    init(_ error: LoadingError) {
        let kind: String
        var detail = ""
        switch error.kind {
        case .cancelled: kind = "cancelled"
        case .timedOut(let phase): (kind, detail) = ("timedOut", phase.rawValue)
        case .nameNotResolved(let host): (kind, detail) = ("nameNotResolved", host)
        case .cannotConnect(let host, _): (kind, detail) = ("cannotConnect", host)
        case .connectionLost(.nothing, let isSafe): (kind, detail) = ("connectionLost", isSafe ? "safe" : "")
        case .connectionLost: kind = "connectionLost"
        case .incompleteBody: kind = "incompleteBody"
        case .untrustedServer(let cause): (kind, detail) = ("untrustedServer", cause.host)
        case .malformedResponse: kind = "malformedResponse"
        case .deadlineExceeded: kind = "deadlineExceeded"
        case .proxy(let cause): (kind, detail) = ("proxy", Self.detail(of: cause))
        default: kind = "transport"
        }
        self.init(kind: kind, detail: detail, sentence: error.description)
    }

    /// The cause in one word, the status that the proxy sent, and the proxy.
    private static func detail(of cause: LoadingError.ProxyCause) -> String {
        switch cause {
        case .nameNotResolved(let proxy): "nameNotResolved \(proxy)"
        case .cannotConnect(let proxy): "cannotConnect \(proxy)"
        case .authenticationRequired(let proxy): "authenticationRequired \(proxy)"
        case .refused(let proxy, let status?): "\(status.code) \(proxy)"
        case .refused(let proxy, nil): "refused \(proxy)"
        }
    }
}
