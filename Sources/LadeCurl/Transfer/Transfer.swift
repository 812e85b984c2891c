#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import CCurl
import LadeCore
import Synchronization

/// One exchange, from its submission to its single ending.
///
/// Created in the caller's task, then owned by the loop: nothing but its thread, on which libcurl's callbacks run too,
/// touches the variables. That is the proof behind `@unchecked Sendable`.
final class Transfer: @unchecked Sendable {
    /// What of the transport's settings an exchange goes by: plain numbers, for every exchange copies them.
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

    /// The time-outs in nanoseconds, the greatest value for none.
    struct Limits {
        let connect: Int64
        let idle: Int64
        let whole: Int64
        /// What the call has left when the exchange is made, the wait for a connection included.
        let deadline: Int64

        /// Whether libcurl's own connect time-out could come first.
        var connectsPatiently: Bool { min(connect, deadline, whole) >= 300_000_000_000 }

        init(_ timeouts: Request.Timeouts, _ call: Call) {
            deadline = call.deadline.map { max(0, call.time.now.duration(to: $0).wholeNanoseconds) } ?? .max
            connect = timeouts.connectNanoseconds ?? .max
            idle = timeouts.idleNanoseconds ?? .max
            whole = timeouts.wholeNanoseconds ?? .max
        }
    }

    /// What is known about the end of a connection that ends a body.
    enum Ending {
        /// The body has an end of its own, or TLS has no part in it.
        case irrelevant
        /// No close_notify has come.
        case unannounced
        /// The server has sent close_notify.
        case announced
    }

    /// Where the exchange stands.
    enum Phase {
        /// Not submitted yet.
        case new
        /// In the queue for its host.
        case waiting(Admission<Transfer>.Place)
        /// With libcurl.
        case running(EasyHandle)
        /// Over; nothing more happens to it.
        case finished
    }

    let request: Request
    let call: Call
    let address: String
    /// Where in the address scheme, host and port stand.
    let parts: AddressParts
    let isSecure: Bool
    let isStreamed: Bool
    let isDecoding: Bool
    let hasBody: Bool
    let limits: Limits

    // One thread at a time uses these, and no access is open while a callback runs: the run-time exclusivity checks, 4,000
    // instructions a call, are left out.
    @exclusivity(unchecked) var phase = Phase.new
    /// Who waits for the outcome, which is stored before it is resumed.
    @exclusivity(unchecked) var continuation: Waiter?
    @exclusivity(unchecked) var outcome: Result<Response, LoadingError>?
    /// Whether the outcome is stored: what the loop wrote before is the waiting task's to read, on whatever way it was
    /// resumed.
    private let isSettled = Atomic(false)
    /// How the waiting task is to be resumed.
    let lane: Delivery.Lane
    var isCancelled = false
    /// The number of its host in the admission; set when it is submitted.
    var hostNumber = 0
    /// What tells its host from every other one; set when it is submitted.
    var hostIdentity = 0
    /// Position in the loop's list of running transfers.
    var index = 0

    /// The socket over which it is sent; nil before libcurl has chosen one.
    @exclusivity(unchecked) var socket: Poller.Use?

    // Clocks, in nanoseconds of the loop.
    var submitted: Int64 = 0
    var waitStarted: Int64 = 0
    var started: Int64 = 0
    var connectStarted: Int64?
    @exclusivity(unchecked) var lastActivity: Int64 = 0

    // The sending.
    var pipe: UploadPipe?
    var pump: Task<Void, Never>?
    var sentBytes = 0
    var pauses: Int32 = 0
    /// How often libcurl was about to send the request.
    @exclusivity(unchecked) var sendings = 0
    /// How many bytes of the proxy's answer to CONNECT libcurl has read.
    @exclusivity(unchecked) var tunnelBytes = 0
    /// Whether libcurl resolves, connects or sends for it: it is not in libcurl's queue.
    @exclusivity(unchecked) var isMoving = false
    /// Whether the sinks were notified of its start.
    var isAnnounced = false
    /// Whether it needs a new connection, as the one before was lost.
    var needsFreshConnection = false
    var wasReused = false
    /// Whether bytes waited on the connection that was chosen for the request, which then was not sent.
    var needsOtherConnection = false
    /// Whether the request went out over HTTP/2.
    var isHTTP2 = false
    /// The socket that it went out on, when that is known.
    var sentOn: Int32?
    /// Whether libcurl takes the answer for complete and the loop does not yet; see ``CurlLoop/proveStreams()``.
    var isUnproven = false
    /// Whether the server has said that it will end the connection.
    var wasEndingConnection = false
    var wasRepeated = false

    // The answer.
    @exclusivity(unchecked) var vetting: HeadVetting
    @exclusivity(unchecked) var head: HeadVetting.Head?
    @exclusivity(unchecked) var body: PooledBytes?
    /// The whole body, when it is small and came in one piece.
    @exclusivity(unchecked) var wholeBody: Data?
    @exclusivity(unchecked) var bodyBytes: Int64 = 0
    @exclusivity(unchecked) var stream: BodyStream?
    /// What takes the codings off the body, when it has some.
    @exclusivity(unchecked) var decoder: ContentDecoder?
    /// What takes the chunks off the body, when it has some.
    @exclusivity(unchecked) var chunks: ChunkParser?
    /// Bytes at the start of the next raw piece of the body that are parsed already; see ``received(raw:on:)``.
    @exclusivity(unchecked) var skippedRawBytes = 0
    /// Whether the answer is complete, although the exchange is broken off.
    @exclusivity(unchecked) var isCompleteAtHead = false
    /// How TLS ended, for a body that ends with its connection.
    @exclusivity(unchecked) var ending = Ending.irrelevant
    /// Why a callback broke the exchange off; goes before what libcurl says.
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
            throw .invalidRequest(.unsupportedScheme(request.url.scheme ?? ""), ErrorContext(request))
        }
        self.request = request
        self.call = call
        self.address = address
        isSecure = parts.scheme == .https
        self.parts = parts
        hasBody = request.hasBody
        limits = Limits(request.timeouts, call)
        isStreamed = request.delivery == .streamed
        // A range of coded bytes cannot be decoded, and who asks for codings wants to see them.
        isDecoding =
            rules.decodesContent && !request.headers.contains("Accept-Encoding")
            && !request.headers.contains("Range")
        vetting = HeadVetting(limits: rules.limits, tolerances: rules.tolerances)
    }

    /// Scheme, host, port and what is dialled instead, in lower case: what shares connections and limits.
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

    /// The host of the address, in lower case and without the brackets of an IPv6 literal.
    var host: String { request.url.host(percentEncoded: true)?.lowercased() ?? "" }

    /// How much of the answer arrived, for errors.
    var progress: AnswerProgress {
        if head != nil { return .body(received: bodyBytes) }
        return vetting.bytes > 0 ? .head : .nothing
    }

    /// Whether it is streamed over a connection of its own.
    ///
    /// An answer over HTTP/1.1 has one in any case; one over HTTP/2 without TLS shares its connection.
    var kind: Admission<Transfer>.Kind {
        isStreamed && (isSecure || request.version != .http2PriorKnowledge) ? .exclusive : .shared
    }

    /// The proxy of the settings, unless the request goes past it.
    func proxy(of settings: TransportSettings) -> ProxySettings.Proxy? {
        guard case .proxy(let proxy) = settings.proxy else { return nil }
        if case .unixSocket = request.destination { return nil }
        let host = host
        let isExcepted = proxy.exceptions.contains { exception in
            let name = exception.drop { $0 == "." }.lowercased()
            return exception == "*" || host == name || host.hasSuffix("." + name)
        }
        return isExcepted ? nil : proxy
    }

    /// That the deadline of the call has passed.
    var deadlineExceeded: LoadingError {
        .deadlineExceeded(call.deadlineReport(at: call.time.now), context)
    }

    /// What is known about the exchange, for errors.
    var context: ErrorContext {
        var context = ErrorContext(request)
        context.attempts = call.attempt
        if let head {
            context.status = head.status
            context.headers = head.headers
        }
        return context
    }

    /// Whether the transport may send the request again when a reused connection turned out to be dead.
    var isRepeatable: Bool {
        guard request.method.isIdempotent else { return false }
        guard hasBody else { return true }
        switch request.body?.content {
        case nil, .bytes: return true
        case .file, .stream: return false
        }
    }

    /// The outcome, taken by the caller's task after it was resumed.
    func takeOutcome() throws(LoadingError) -> Response {
        guard isSettled.load(ordering: .acquiring), let outcome else {
            preconditionFailure("a transfer resumed its caller without an outcome")
        }
        self.outcome = nil
        return try outcome.get()
    }

    /// Forgets what one sending left behind, so that the next can start.
    func prepareForSending() {
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
        isHTTP2 = false
        sentOn = nil
        isUnproven = false
        wasEndingConnection = false
        bodyBytes = 0
        connectStarted = nil
    }
}

// MARK: - The ending

extension Transfer {
    /// What the exchange cost.
    func metrics(_ handle: EasyHandle) -> Metrics {
        var metrics = Metrics()
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

    /// Ends the exchange: exactly one answer goes to whoever waits.
    ///
    /// Harmless after the end.
    func finish(_ error: LoadingError?, metrics: Metrics, on loop: CurlLoop) {
        if case .finished = phase { return }
        phase = .finished
        let error = error ?? codingShortfall
        pump?.cancel()
        pump = nil
        pipe?.close()
        // It holds this transfer, to have it go on.
        pipe = nil
        if let error {
            call.record(.exchangeFailed(error, metrics))
        } else {
            call.record(.exchangeFinished(metrics))
        }
        // Taken out, for they are of no use after this, and copies cost.
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
            outcome = .failure(error ?? .malformedResponse(MalformedResponse(.notHTTP), context))
        }
        decoder = nil
        settle(continuation, on: loop)
    }

    /// Has whoever waits resumed with the outcome that is stored.
    func settle(_ continuation: Waiter, on loop: CurlLoop) {
        isSettled.store(true, ordering: .releasing)
        loop.resume(continuation, lane)
    }

    /// Settles a transfer that the loop takes no more.
    func refuse(_ error: LoadingError) {
        outcome = .failure(error)
        isSettled.store(true, ordering: .releasing)
    }

    /// The answer with a head and a body.
    func response(_ head: HeadVetting.Head, _ body: ResponseBody) -> Response {
        var headers = head.headers
        if isDecoded {
            // They describe the coded bytes, which are not handed on; the metrics keep what they said.
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
