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
/// Created in the caller's task, then owned by the loop: nothing but the holder of its ``Baton`` and libcurl's callbacks,
/// which it runs, touches the variables. That is the proof behind `@unchecked Sendable`.
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

        init(_ timeouts: Request.Timeouts) {
            connect = timeouts.connectNanoseconds ?? .max
            idle = timeouts.idleNanoseconds ?? .max
            whole = timeouts.wholeNanoseconds ?? .max
        }
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

    // Clocks, in nanoseconds of the loop.
    var submitted: Int64 = 0
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
    var wasReused = false
    var wasRepeated = false

    // The answer.
    @exclusivity(unchecked) var vetting: HeadVetting
    @exclusivity(unchecked) var head: HeadVetting.Head?
    @exclusivity(unchecked) var body: PooledBytes?
    /// The whole body, when it is small and came in one piece.
    @exclusivity(unchecked) var wholeBody: Data?
    @exclusivity(unchecked) var bodyBytes: Int64 = 0
    @exclusivity(unchecked) var stream: BodyStream?
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
        let parts = AddressParts(address)
        try request.validate(parts)
        guard parts.scheme == .http || parts.scheme == .https else {
            throw .invalidRequest(.unsupportedScheme(request.url.scheme ?? ""), ErrorContext(request))
        }
        self.request = request
        self.call = call
        self.address = address
        isSecure = parts.scheme == .https
        self.parts = parts
        hasBody = request.hasBody
        limits = Limits(request.timeouts)
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
        pauses = 0
        failure = nil
        head = nil
        bodyBytes = 0
        connectStarted = nil
    }
}

// MARK: - What libcurl reports

extension Transfer {
    /// One line of a head or trailer section.
    ///
    /// Returns whether the exchange goes on.
    func received(line: UnsafeBufferPointer<UInt8>, on loop: CurlLoop) -> Bool {
        lastActivity = loop.now
        let finding: HeadVetting.Finding
        do {
            finding = try vetting.take(line)
        } catch {
            switch error {
            case .malformed(let fault): failure = .malformedResponse(fault, context)
            case .tooLarge(let limit): failure = .headTooLarge(limit, context)
            }
            return false
        }
        switch finding {
        case .more: return true
        case .interim(let status, let headers):
            call.record(.interimResponse(status: status, headers: headers))
            return true
        case .final(let head): return received(head: head, on: loop)
        }
    }

    private func received(head: HeadVetting.Head, on loop: CurlLoop) -> Bool {
        self.head = head
        for fault in vetting.tolerated { call.record(.malformationTolerated(fault)) }
        call.record(.headReceived(status: head.status, headers: head.headers, version: head.version))
        loop.learned(head.version, transfer: self)
        if head.isChunked, case .running(let handle) = phase { handle.watchForSurplus() }
        if head.status == 407, case .proxy(let proxy) = loop.handleSettings.settings.proxy, !isSecure {
            failure = .proxy(.authenticationRequired(proxy: "\(proxy.host):\(proxy.port)"), context)
            return false
        }
        let hasBody = request.method != .head && head.status != 204 && head.status != 304
        switch request.delivery {
        case .buffered(let limit):
            // A coded length says nothing about the decoded one.
            let announced = head.contentEncoding == nil || !isDecoding ? head.contentLength : nil
            if hasBody, let announced, announced > Int64(limit) {
                failure = .bodyTooLarge(limit: limit, announced: announced, context)
                return false
            }
        case .streamed: startStream(head, on: loop)
        }
        return true
    }

    private func startStream(_ head: HeadVetting.Head, on loop: CurlLoop) {
        guard let continuation else { return }
        self.continuation = nil
        let stream = BodyStream(
            highWater: loop.handleSettings.settings.limits.streamHighWater,
            pool: loop.pool,
            cancellation: .cancelled(context),
            cancel: { [inbox = loop.inbox] in inbox.post(.cancel(self)) },
            resume: { [inbox = loop.inbox] in inbox.post(.resume(self, .download)) }
        )
        self.stream = stream
        outcome = .success(response(head, ResponseBody(streaming: stream)))
        settle(continuation, on: loop)
    }

    private func settle(_ continuation: Waiter, on loop: CurlLoop) {
        isSettled.store(true, ordering: .releasing)
        loop.resume(continuation, lane)
    }

    /// Settles a transfer that the loop takes no more.
    func refuse(_ error: LoadingError) {
        outcome = .failure(error)
        isSettled.store(true, ordering: .releasing)
    }

    private func response(_ head: HeadVetting.Head, _ body: ResponseBody) -> Response {
        var headers = head.headers
        if isDecoding, head.contentEncoding != nil {
            // They describe the coded bytes, which nobody sees any more; the metrics have them.
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

    /// A piece of the body.
    ///
    /// Returns what libcurl is to be told.
    func received(body bytes: UnsafeRawBufferPointer, on loop: CurlLoop) -> Int {
        lastActivity = loop.now
        guard failure == nil, !isCancelled else { return 0 }
        bodyBytes += Int64(bytes.count)
        if isDecoding, head?.contentEncoding != nil, isBomb(loop.handleSettings.settings.limits) { return 0 }
        guard case .buffered(let limit) = request.delivery else { return received(streamed: bytes, on: loop) }
        guard bodyBytes <= Int64(limit) else {
            failure = .bodyTooLarge(limit: limit, announced: nil, context)
            return 0
        }
        if body == nil, isWholeBody(bytes) {
            wholeBody = Data(bytes)
            return bytes.count
        }
        if body == nil {
            if let whole = wholeBody {
                // Not whole after all, whatever its length said.
                body = PooledBytes(pool: loop.pool, capacity: whole.count + bytes.count)
                whole.withUnsafeBytes { body?.append($0) }
                wholeBody = nil
                body?.append(bytes)
                return bytes.count
            }
            // What a server announces is believed up to 1 MiB; beyond that the buffer grows with what really comes.
            let announced = Int(min(head?.contentLength ?? 0, 1 << 20))
            body = PooledBytes(pool: loop.pool, capacity: max(announced, bytes.count))
        }
        body?.append(bytes)
        return bytes.count
    }

    private func isWholeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.count <= BufferPool.smallest && bodyBytes == Int64(bytes.count) && head?.contentLength == bodyBytes
            && head?.contentEncoding == nil
    }

    private func received(streamed bytes: UnsafeRawBufferPointer, on loop: CurlLoop) -> Int {
        guard let stream else { return 0 }
        guard stream.append(bytes) else {
            bodyBytes -= Int64(bytes.count)
            pauses |= CURLPAUSE_RECV
            return Int(LADE_WRITE_PAUSE)
        }
        loop.markUnpublished(self)
        return bytes.count
    }

    private func isBomb(_ limits: TransportSettings.ResponseLimits) -> Bool {
        guard bodyBytes > Int64(limits.decompressionFloor), case .running(let handle) = phase else { return false }
        let coded = max(handle.offset(CURLINFO_SIZE_DOWNLOAD_T), head?.contentLength ?? 0, 1)
        guard bodyBytes / coded >= Int64(limits.decompressionRatio) else { return false }
        failure = .decompressionRatioExceeded(limit: limits.decompressionRatio, context)
        return true
    }

    /// libcurl wants bytes of the request's body.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, on loop: CurlLoop) -> Int {
        lastActivity = loop.now
        if case .bytes(let data) = request.body?.content {
            let count = min(buffer.count, data.count - sentBytes)
            data.withUnsafeBytes { source in
                buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: source[sentBytes..<(sentBytes + count)]))
            }
            sentBytes += count
            return count
        }
        guard let pipe else { return 0 }
        switch pipe.read(into: buffer) {
        case .bytes(let count):
            sentBytes += count
            return count
        case .end: return 0
        case .nothingYet:
            pauses |= CURLPAUSE_SEND
            return Int(LADE_READ_PAUSE)
        case .failed:
            failure = pipe.failure
            return Int(LADE_READ_ABORT)
        }
    }

    /// libcurl is about to send the request over a connection.
    ///
    /// Returns whether it may.
    ///
    /// libcurl repeats a request by itself, POST included, when a reused connection dies before any byte of the answer,
    /// and after a 417. Only the first sending is let through; what happens next is decided by the loop.
    func mayBeSent() -> Bool {
        sendings += 1
        guard sendings == 1, case .running(let handle) = phase else { return false }
        wasReused = handle.long(CURLINFO_NUM_CONNECTS) == 0
        return true
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
        metrics.contentEncoding = isDecoding ? head?.contentEncoding : nil
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
        settle(continuation, on: loop)
    }
}
