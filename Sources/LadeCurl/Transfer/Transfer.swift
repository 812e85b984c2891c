#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CCurl
import LadeCore
import LadeExchange
import Synchronization

/// One exchange, from its submission to its ending.
///
/// A transfer is created in the caller's task and then owned by the loop. Only the loop thread, which also runs
/// libcurl's callbacks, accesses its variables. This justifies `@unchecked Sendable`.
final class Transfer: @unchecked Sendable {
    /// The transport's settings for an exchange: plain values, because every exchange copies them.
    struct Rules {
        let allowsLocalAddresses: Bool
        let decodesContent: Bool
        let limits: TransportSettings.ResponseLimits
        let tolerances: TransportSettings.Tolerances

        init(_ settings: TransportSettings) {
            allowsLocalAddresses = settings.allowsLocalAddresses
            decodesContent = settings.decodesContent
            limits = settings.limits
            tolerances = settings.tolerances
        }
    }

    /// The time-outs in nanoseconds; the greatest value means none.
    struct Limits {
        let connect: Int64
        let idle: Int64
        let whole: Int64
        /// The time that the call has left when the exchange is made, including the wait for a connection.
        let deadline: Int64

        /// Whether libcurl's own connect time-out could expire first.
        var connectsPatiently: Bool { min(connect, deadline, whole) >= 300_000_000_000 }

        init(_ timeouts: Request.Timeouts, _ call: Call) {
            deadline = call.deadline.map { max(0, call.time.now.duration(to: $0).wholeNanoseconds) } ?? .max
            connect = timeouts.connectNanoseconds ?? .max
            idle = timeouts.idleNanoseconds ?? .max
            whole = timeouts.wholeNanoseconds ?? .max
        }
    }

    /// The end of TLS on a connection whose end also ends the body.
    enum Ending {
        /// The framing ends the body, or the connection does not use TLS.
        case irrelevant
        /// close_notify has not been received.
        case unannounced
        /// The server has sent close_notify.
        case announced
    }

    /// The phase of the exchange.
    enum Phase {
        /// Not submitted yet.
        case new
        /// In the queue for its host.
        case waiting(Admission<Transfer>.Place)
        /// With libcurl.
        case running(EasyHandle)
        /// Ended; the transfer does not change any more.
        case finished
    }

    /// Whether libcurl has the transfer.
    var isRunning: Bool { if case .running = phase { true } else { false } }

    let request: Request
    let call: Call
    let address: String
    /// The positions of scheme, host and port in the address.
    let parts: AddressParts
    let isSecure: Bool
    let isStreamed: Bool
    let isDecoding: Bool
    let hasBody: Bool
    let limits: Limits
    /// Receives the heads as they arrive; nil when they are not recorded.
    let heads: HeadRecord?

    // One thread at a time uses these variables, and no access is open while a callback runs. Therefore the exclusivity
    // checks, which cost 4,000 instructions per call, are left out.
    @exclusivity(unchecked) var phase = Phase.new
    /// The task that waits for the outcome, which is stored before the task is resumed.
    @exclusivity(unchecked) var continuation: Waiter?
    @exclusivity(unchecked) var outcome: Result<Response, LoadingError>?
    /// Whether the outcome is stored: it orders the writes of the loop before the reads of the waiting task.
    private let isSettled = Atomic(false)
    /// How the waiting task is to be resumed.
    let lane: Delivery.Lane
    var isCancelled = false
    /// The number of the host in the admission; set on submission.
    var hostNumber = 0
    /// The unique identity of the host; set on submission.
    var hostIdentity = 0
    /// The position in the loop's list of running transfers.
    var index = 0

    /// The sockets that were opened for this sending; those that did not become its connection may be closed.
    @exclusivity(unchecked) var opened: [Int32] = []
    /// The socket that carries the exchange; nil until libcurl has chosen one.
    @exclusivity(unchecked) var socket: Poller.Use?

    // Times of the loop's clock, in nanoseconds.
    var submitted: Int64 = 0
    var waitStarted: Int64 = 0
    var started: Int64 = 0
    var connectStarted: Int64?
    /// Why the last socket could not be opened; 0 when it could.
    ///
    /// libcurl does not keep this error number.
    var socketError: Int32 = 0
    @exclusivity(unchecked) var lastActivity: Int64 = 0

    // The request.
    var pipe: UploadPipe?
    var pump: Task<Void, Never>?
    var sentBytes = 0
    var pauses: Int32 = 0
    /// How many times libcurl was about to send the request, or to connect for sending it again.
    @exclusivity(unchecked) var sendings = 0
    /// The number of bytes of the proxy's response to CONNECT that libcurl has read.
    @exclusivity(unchecked) var tunnelBytes = 0
    /// Whether libcurl resolves, connects or sends for the transfer, which is then not in libcurl's queue.
    @exclusivity(unchecked) var isMoving = false
    /// Whether the sinks were notified of the start.
    var isAnnounced = false
    /// Whether the exchange needs a new connection, because the previous one was lost.
    var needsFreshConnection = false
    var wasReused = false
    /// Whether unexpected bytes were pending on the chosen connection, so that the request was not sent.
    var needsOtherConnection = false
    /// Whether the request was sent over HTTP/2.
    var isHTTP2 = false
    /// The socket that the request was sent on; nil when it is not known.
    var sentOn: Int32?
    /// Whether libcurl reports the response as complete and the loop has not checked it; see ``CurlLoop/proveStreams()``.
    var isUnproven = false
    /// Whether the server has announced that it will end the connection.
    var wasEndingConnection = false
    var wasRepeated = false
    /// Whether the server has reset the stream because it requires HTTP/1.1 (HTTP_1_1_REQUIRED, RFC 9113 §7).
    var mustUseHTTP1 = false
    /// Whether the request is sent over HTTP/1.1 for that reason.
    var isDowngraded = false

    // The response.
    @exclusivity(unchecked) var vetting: HeadVetting
    @exclusivity(unchecked) var head: HeadVetting.Head?
    @exclusivity(unchecked) var body: PooledBytes?
    /// The whole body, when it is small and came in one piece.
    @exclusivity(unchecked) var wholeBody: Data?
    @exclusivity(unchecked) var bodyBytes: Int64 = 0
    @exclusivity(unchecked) var stream: BodyStream?
    /// The decoder of the content codings; nil for a body without codings.
    @exclusivity(unchecked) var decoder: ContentDecoder?
    /// The parser of the chunks; nil for a body without chunks.
    @exclusivity(unchecked) var chunks: ChunkParser?
    /// The number of bytes at the start of the next raw piece that are parsed already; see ``received(raw:on:)``.
    @exclusivity(unchecked) var skippedRawBytes = 0
    /// Whether the response is complete after its head, although libcurl would continue.
    @exclusivity(unchecked) var isCompleteAtHead = false
    /// The end of TLS, for a body that ends with its connection.
    @exclusivity(unchecked) var ending = Ending.irrelevant
    /// The error that a callback stopped the exchange with; takes precedence over libcurl's result.
    @exclusivity(unchecked) var failure: LoadingError?

    init(
        _ request: Request,
        call: Call,
        rules: Rules,
        lane: Delivery.Lane
    ) throws(LoadingError) {
        self.lane = lane
        let address = request.url.absoluteString
        let parts = request.parts
        try request.validate()
        guard parts.scheme == .http || parts.scheme == .https else {
            throw LoadingError(.invalidRequest(.unsupportedScheme(request.url.scheme ?? "")), ErrorContext(request))
        }
        self.request = request
        self.call = call
        self.address = address
        isSecure = parts.scheme == .https
        self.parts = parts
        hasBody = request.hasBody
        heads = request.headRecord
        limits = Limits(request.timeouts, call)
        isStreamed = request.delivery == .streamed
        // A range of coded bytes cannot be decoded. A caller that requests codings receives the coded bytes.
        isDecoding =
            rules.decodesContent && !request.headers.contains("Accept-Encoding")
            && !request.headers.contains("Range")
        vetting = HeadVetting(limits: rules.limits, tolerances: rules.tolerances)
    }

    /// The scheme, host, port and destination in lower case: transfers with the same key share connections and limits.
    var hostKey: String {
        let standardPort = parts.scheme == .https ? 443 : 80
        let isStandard = parts.port == nil || parts.port == standardPort
        let range = parts.host.lowerBound..<(isStandard ? parts.host.upperBound : parts.authorityEnd)
        var address = address
        var key = address.withUTF8 { bytes in
            String(unsafeUninitializedCapacity: range.count + 1) { buffer in
                buffer[0] = parts.scheme == .https ? UInt8(ascii: "s") : UInt8(ascii: "p")
                for offset in 0..<range.count { buffer[offset + 1] = bytes[range.lowerBound + offset].lowercasedASCII }
                return range.count + 1
            }
        }
        switch request.destination {
        case nil: break
        case .host(let host, let port): key += ">\(host):\(port ?? 0)"
        case .unixSocket(let path): key += ">\(path)"
        }
        return key
    }

    /// The host of the address in lower case, without the brackets of an IPv6 literal.
    var host: String { request.url.host(percentEncoded: true)?.lowercased() ?? "" }

    /// How much of the response has arrived, for errors.
    var progress: LoadingError.ResponseProgress {
        if head != nil { return .body(received: bodyBytes) }
        return vetting.bytes > 0 ? .head : .nothing
    }

    /// Whether the transfer uses a connection alone or shares it.
    ///
    /// A streamed response has a connection of its own.
    var kind: Admission<Transfer>.Kind { isStreamed || isUsedOnce ? .exclusive : .shared }

    /// Whether the connection carries this exchange alone: libcurl 7.88 cannot send a second request over HTTP/2 in clear
    /// with prior knowledge.
    var isUsedOnce: Bool { !isSecure && request.version == .http2PriorKnowledge }

    /// The proxy of the settings; nil when the request does not use it.
    func proxy(of handleSettings: HandleSettings) -> ProxySettings.Proxy? {
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

    private var port: Int { request.parts.port ?? (isSecure ? 443 : 80) }

    /// The error when the deadline of the call has passed.
    var deadlineExceeded: LoadingError {
        LoadingError(.deadlineExceeded(call.deadlineReport(at: call.time.now)), context)
    }

    /// The context of the exchange for errors.
    var context: ErrorContext {
        var context = ErrorContext(request)
        context.attempts = call.attempt
        if let head {
            context.status = head.status
            context.headers = head.headers
        }
        return context
    }

    /// Whether the transport may send the request again when a reused connection was lost.
    var isRepeatable: Bool {
        request.method.isIdempotent && canSendBodyAgain
    }

    private var canSendBodyAgain: Bool {
        guard hasBody else { return true }
        // A handle that has sent trailers cannot be used again, see ``CurlLoop/detach(_:_:)``.
        guard request.body?.trailers == nil else { return false }
        switch request.body?.content {
        case nil, .bytes: return true
        case .file, .stream: return false
        }
    }

    /// Whether the request can be sent over HTTP/1.1, as the server requires.
    ///
    /// The server has refused the request without a response to it (RFC 9113 §9.2.2), so the method does not matter.
    var canDowngrade: Bool {
        guard request.version == .automatic, !isDowngraded, progress == .nothing else { return false }
        return canSendBodyAgain
    }

    /// Returns the outcome to the caller's task after that was resumed.
    func takeOutcome() throws(LoadingError) -> Response {
        guard isSettled.load(ordering: .acquiring), let outcome else {
            preconditionFailure("a transfer resumed its caller without an outcome")
        }
        self.outcome = nil
        return try outcome.get()
    }

    /// Resets the state of one sending before the next.
    func prepareForSending() {
        heads?.discardUnfinished()
        sentBytes = 0
        sendings = 0
        tunnelBytes = 0
        isMoving = false
        pauses = 0
        failure = nil
        head = nil
        decoder = nil
        chunks = nil
        skippedRawBytes = 0
        isCompleteAtHead = false
        ending = .irrelevant
        needsOtherConnection = false
        mustUseHTTP1 = false
        isHTTP2 = false
        sentOn = nil
        isUnproven = false
        wasEndingConnection = false
        bodyBytes = 0
        connectStarted = nil
        if !opened.isEmpty { opened = [] }
        socketError = 0
    }
}

// MARK: - The ending

extension Transfer {
    /// The measurements of the exchange.
    func metrics(_ handle: EasyHandle) -> Response.Metrics {
        var metrics = Response.Metrics()
        metrics.queued = started > submitted ? .nanoseconds(started - submitted) : nil
        metrics.setStages(
            nameLookup: wasReused ? 0 : handle.offset(CURLINFO_NAMELOOKUP_TIME_T),
            connect: wasReused ? 0 : handle.offset(CURLINFO_CONNECT_TIME_T),
            secureConnect: wasReused ? 0 : handle.offset(CURLINFO_APPCONNECT_TIME_T),
            requestStarted: handle.offset(CURLINFO_PRETRANSFER_TIME_T),
            firstByte: handle.offset(CURLINFO_STARTTRANSFER_TIME_T),
            total: handle.offset(CURLINFO_TOTAL_TIME_T)
        )
        metrics.requestHeadBytes = Int64(handle.long(CURLINFO_REQUEST_SIZE))
        metrics.requestBodyBytes = handle.offset(CURLINFO_SIZE_UPLOAD_T)
        metrics.responseHeadBytes = Int64(vetting.bytes)
        metrics.responseBodyBytes = handle.offset(CURLINFO_SIZE_DOWNLOAD_T)
        metrics.decodedBodyBytes = bodyBytes
        metrics.contentEncoding = isDecoded ? head?.contentEncoding : nil
        metrics.version = head?.version
        metrics.isReusedConnection = sendings > 0 ? wasReused : nil
        if sendings > 0 {
            metrics.remoteAddress = handle.text(CURLINFO_PRIMARY_IP)
            metrics.remotePort = handle.long(CURLINFO_PRIMARY_PORT)
        }
        return metrics
    }

    /// Ends the exchange and delivers exactly one outcome to the waiting task.
    ///
    /// Has no effect after the end.
    func finish(_ error: LoadingError?, metrics: Response.Metrics, on loop: CurlLoop) {
        if case .finished = phase { return }
        phase = .finished
        let error = error ?? codingShortfall
        pump?.cancel()
        pump = nil
        pipe?.close()
        // The pipe holds this transfer in its closure.
        pipe = nil
        if let error {
            call.record(.exchangeFailed(error, metrics))
        } else {
            call.record(.exchangeFinished(metrics))
        }
        // Moved out, because they are not used again and copies are expensive.
        let head = head.take()
        let trailers = vetting.takeTrailers()
        if let stream = stream.take() {
            if let waiter = stream.finish(error, trailers: trailers, metrics: metrics) {
                loop.resume(waiter, .direct)
            }
        }
        let collected = body.take()
        let whole = wholeBody.take()
        guard let continuation = continuation.take() else {
            collected?.discard()
            decoder = nil
            return
        }
        if let head, error == nil {
            let body = ResponseBody(
                whole ?? collected?.finish() ?? Data(),
                trailers: trailers,
                metrics: metrics
            )
            outcome = .success(response(head, body))
        } else {
            collected?.discard()
            outcome = .failure(
                error ?? LoadingError(.malformedResponse(LoadingError.MalformedResponse(.notHTTP)), context)
            )
        }
        decoder = nil
        settle(continuation, on: loop)
    }

    /// Resumes the waiting task with the stored outcome.
    func settle(_ continuation: Waiter, on loop: CurlLoop) {
        isSettled.store(true, ordering: .releasing)
        loop.resume(continuation, lane)
    }

    /// Stores the error of a transfer that the loop does not accept.
    func refuse(_ error: LoadingError) {
        outcome = .failure(error)
        isSettled.store(true, ordering: .releasing)
    }

    /// Makes the response from a head and a body.
    func response(_ head: HeadVetting.Head, _ body: ResponseBody) -> Response {
        var headers = head.headers
        if isDecoded {
            // These fields describe the coded bytes, which are not passed on; the metrics keep their values.
            headers.remove("Content-Encoding")
            headers.remove("Content-Length")
        }
        return Response(
            status: head.status,
            headers: headers,
            body: body,
            request: request,
            version: head.version
        )
    }
}
