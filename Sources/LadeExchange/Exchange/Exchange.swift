#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
package import LadeCore
import Synchronization

/// One exchange, from its submission to its ending.
///
/// An exchange is created in the caller's task and then owned by a loop. Only the loop thread accesses its variables.
/// This justifies `@unchecked Sendable`.
package final class Exchange: @unchecked Sendable {
    /// The transport's settings for an exchange: plain values, because every exchange copies them.
    package struct Rules: Sendable {
        package let allowsLocalAddresses: Bool
        package let decodesContent: Bool
        package let limits: TransportSettings.ResponseLimits
        package let tolerances: TransportSettings.Tolerances

        package init(_ settings: TransportSettings) {
            allowsLocalAddresses = settings.allowsLocalAddresses
            decodesContent = settings.decodesContent
            limits = settings.limits
            tolerances = settings.tolerances
        }
    }

    /// The time-outs in nanoseconds; the greatest value means none.
    package struct Limits: Sendable {
        package let connect: Int64
        package let idle: Int64
        package let whole: Int64
        /// The time that the call has left when the exchange is made, including the wait for a connection.
        package let deadline: Int64

        init(_ timeouts: Request.Timeouts, _ call: Call) {
            deadline = call.deadline.map { max(0, call.time.now.duration(to: $0).wholeNanoseconds) } ?? .max
            connect = timeouts.connectNanoseconds ?? .max
            idle = timeouts.idleNanoseconds ?? .max
            whole = timeouts.wholeNanoseconds ?? .max
        }
    }

    /// The phase of the exchange.
    package enum Phase: Sendable {
        /// Not submitted yet.
        case new
        /// In the queue for its host.
        case waiting(Admission.Place)
        /// With the transport, whose part is the ``Exchange/carrier``.
        case running
        /// Ended; the exchange does not change any more.
        case finished
    }

    package let request: Request
    package let call: Call
    package let address: String
    /// The positions of scheme, host and port in the address.
    package let parts: AddressParts
    package let isSecure: Bool
    package let isStreamed: Bool
    package let isDecoding: Bool
    package let hasBody: Bool
    package let limits: Limits
    package let rules: Rules
    /// Receives the heads as they arrive; nil when they are not recorded.
    package let heads: HeadRecord?
    /// How the waiting task is to be resumed.
    package let lane: Delivery.Lane

    // One thread at a time uses these variables, and no access is open while a callback runs. Therefore the exclusivity
    // checks, which cost 4,000 instructions per call, are left out. The compiler leaves them out within this module only,
    // so other modules use the functions and the computed properties below.
    @exclusivity(unchecked) var state = State()
    /// The transport's own part of a running exchange, which carries its bytes.
    @exclusivity(unchecked) private var part: AnyObject?
    /// The task that waits for the outcome, which is stored before the task is resumed.
    @exclusivity(unchecked) private var waiter: LoopWaiter?
    @exclusivity(unchecked) private var outcome: Result<Response, LoadingError>?
    /// Whether the outcome is stored: it orders the writes of the loop before the reads of the waiting task.
    private let isSettled = Atomic(false)

    // The request.
    @exclusivity(unchecked) private var upload: UploadPipe?
    @exclusivity(unchecked) private var pump: Task<Void, Never>?

    // The response.
    @exclusivity(unchecked) var vetting: HeadVetting
    @exclusivity(unchecked) var finalHead: HeadVetting.Head?
    @exclusivity(unchecked) var body: PooledBytes?
    /// The whole body, when it is small and came in one piece.
    @exclusivity(unchecked) var wholeBody: Data?
    @exclusivity(unchecked) var bodyStream: BodyStream?
    /// The decoder of the content codings; nil for a body without codings.
    @exclusivity(unchecked) var decoder: ContentDecoder?
    @exclusivity(unchecked) private var stop: LoadingError?

    /// The plain values of an exchange.
    struct State {
        var phase = Phase.new
        var isCancelled = false
        var hostNumber = 0
        var hostIdentity = 0
        var index = 0
        var submitted: Int64 = 0
        var waitStarted: Int64 = 0
        var started: Int64 = 0
        var lastActivity: Int64 = 0
        var sentBytes = 0
        var requestSent: Int64 = 0
        var isAnnounced = false
        var needsFreshConnection = false
        var wasReused = false
        var isHTTP2 = false
        var wasRepeated = false
        var isDowngraded = false
        var streamNumber: Int32 = 0
        var moves = 0
        var bodyBytes: Int64 = 0
    }

    /// Makes an exchange for a request.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` for a request that cannot be sent.
    package init(
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
            throw LoadingError(
                .invalidRequest(.unsupportedScheme(request.url.scheme ?? "")),
                LoadingError.Context(request)
            )
        }
        self.request = request
        self.call = call
        self.address = address
        self.rules = rules
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

    /// The scheme, host, port and destination in lower case: exchanges with the same key share connections and limits.
    package var hostKey: String {
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
    package var host: String { request.url.host(percentEncoded: true)?.lowercased() ?? "" }

    /// The port of the address, or the default of its scheme.
    package var port: Int { request.parts.port ?? (isSecure ? 443 : 80) }

    /// How much of the response has arrived, for errors.
    package var progress: LoadingError.ResponseProgress {
        if finalHead != nil { return .body(received: state.bodyBytes) }
        return vetting.bytes > 0 ? .head : .nothing
    }

    /// The error when the deadline of the call has passed.
    package var deadlineExceeded: LoadingError {
        var report = call.deadlineReport(at: call.time.now)
        if case .running = state.phase { report.endedExchange = true }
        return LoadingError(.deadlineExceeded(report), context)
    }

    /// The context of the exchange for errors.
    package var context: LoadingError.Context {
        var context = LoadingError.Context(request)
        context.attempts = call.attempt
        if let head = finalHead {
            context.status = head.status
            context.headers = head.headers
        }
        return context
    }

    /// Whether the body, if there is one, can be sent a second time.
    package var canSendBodyAgain: Bool {
        guard hasBody else { return true }
        guard request.body?.trailers == nil else { return false }
        switch request.body?.content {
        case nil, .bytes: return true
        case .file, .stream: return false
        }
    }

    /// Whether the transport may send the request again when a reused connection was lost.
    package var isRepeatable: Bool { request.method.isIdempotent && canSendBodyAgain }

    /// Resets the state of one sending before the next.
    ///
    /// No transport sends a request again once a part of the response has arrived, interim heads included (RFC 9110 §9.2.2,
    /// RFC 9113 §8.7). The server has begun to process the request, and the caller may have read that part.
    ///
    /// - Returns: Whether the request may be sent; if not, the exchange must end.
    package func prepareForSending() -> Bool {
        guard progress == .nothing else { return false }
        heads?.discardUnfinished()
        state.sentBytes = 0
        state.requestSent = 0
        stop = nil
        finalHead = nil
        decoder = nil
        state.isHTTP2 = false
        state.bodyBytes = 0
        return true
    }

    /// Notifies the sinks that the exchange has started, once.
    ///
    /// - Parameter skipsCertificates: Whether certificates are not checked.
    package func announce(skipsCertificates: Bool) {
        guard !state.isAnnounced else { return }
        state.isAnnounced = true
        call.record(
            .exchangeStarted(
                method: request.method,
                url: request.url.redacted(secretQueryNames: request.secretQueryNames)
            )
        )
        if isSecure, skipsCertificates { call.record(.certificateCheckSkipped(host: host)) }
    }

    // MARK: - The upload

    /// Starts the task that produces the body of the request, unless the body is bytes or the task runs already.
    package func startPump(inbox: Inbox) {
        guard hasBody, upload == nil, let body = request.body, !body.isEmptyStream else { return }
        let write: @Sendable (Request.Body.ChunkWriter) async throws -> Void
        switch body.content {
        case .bytes: return
        case .file(let path, let offset):
            // Read in a task and not on the loop, so that a slow disk delays no other exchange.
            let context = context
            write = { write in
                let source = try FileSource(path: path, offset: offset, context: context)
                // If the file has grown since, no more than the announced length may be sent.
                var remaining = body.length ?? .max
                while remaining > 0, let chunk = try await source.next() {
                    try await write(chunk.prefix(Int(clamping: remaining)))
                    remaining -= Int64(chunk.count)
                }
            }
        case .stream(let writer): write = writer
        }
        let pipe = UploadPipe(declaredLength: body.length, context: context) { [inbox] in
            inbox.post(.resume(self, .upload))
        }
        upload = pipe
        // Owned by the exchange, which cancels the task when it ends.
        pump = Task {
            do {
                try await write { chunk throws(LoadingError) in try await pipe.write(chunk) }
                pipe.end(nil)
            } catch {
                pipe.end(error)
            }
        }
    }

    private func endPump() {
        pump?.cancel()
        pump = nil
        upload?.close()
        // The pipe holds this exchange in its closure.
        upload = nil
    }

    // MARK: - The ending

    /// The tasks that are resumed when an exchange has ended.
    package struct Wakening {
        /// The reader of the stream, which the loop resumes itself.
        package var reader: LoopWaiter?
        /// The caller, which is resumed by its lane.
        package var caller: LoopWaiter?
    }

    /// Ends the exchange and stores exactly one outcome for the waiting task.
    ///
    /// Has no effect after the end.
    ///
    /// - Returns: The tasks to resume.
    package func finish(_ error: LoadingError?, metrics: Response.Metrics) -> Wakening {
        if case .finished = state.phase { return Wakening() }
        state.phase = .finished
        var error = error ?? codingShortfall
        // The stages of the time that the caller waits for: the deadline of a call names the stage.
        error?.context.exchangeStages = metrics.stages
        endPump()
        // An exchange that has not begun has no end either.
        if state.isAnnounced {
            call.record(error.map { Call.Event.exchangeFailed($0, metrics) } ?? .exchangeFinished(metrics))
        }
        // Moved out, because they are not used again and copies are expensive.
        let head = finalHead.take()
        let trailers = vetting.takeTrailers()
        var wakening = Wakening()
        if let stream = bodyStream.take() {
            wakening.reader = stream.finish(error, trailers: trailers, metrics: metrics)
        }
        let collected = body.take()
        let whole = wholeBody.take()
        guard let continuation = waiter.take() else {
            collected?.discard()
            decoder = nil
            return wakening
        }
        if let head, error == nil {
            let body = Response.Body(
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
        isSettled.store(true, ordering: .releasing)
        wakening.caller = continuation
        return wakening
    }

    /// Whether the caller still waits for the response.
    var isAwaited: Bool { waiter != nil }

    /// Stores the response of a stream, whose body follows.
    ///
    /// - Returns: The caller to resume.
    func settle(_ response: Response) -> LoopWaiter? {
        outcome = .success(response)
        isSettled.store(true, ordering: .releasing)
        return waiter.take()
    }

    /// Stores the error of an exchange that the loop does not accept.
    package func refuse(_ error: LoadingError) {
        outcome = .failure(error)
        isSettled.store(true, ordering: .releasing)
    }

    /// Returns the outcome to the caller's task after that was resumed.
    package func takeOutcome() throws(LoadingError) -> Response {
        guard isSettled.load(ordering: .acquiring), let outcome else {
            preconditionFailure("an exchange resumed its caller without an outcome")
        }
        self.outcome = nil
        return try outcome.get()
    }
}

// MARK: - What other modules read and write

extension Exchange {
    /// The phase of the exchange.
    package var phase: Phase {
        get { state.phase }
        set { state.phase = newValue }
    }

    /// Whether its end was asked for.
    package var isCancelled: Bool {
        get { state.isCancelled }
        set { state.isCancelled = newValue }
    }

    /// The number of the host in the admission; set on submission.
    package var hostNumber: Int {
        get { state.hostNumber }
        set { state.hostNumber = newValue }
    }

    /// The unique identity of the host; set on submission.
    package var hostIdentity: Int {
        get { state.hostIdentity }
        set { state.hostIdentity = newValue }
    }

    /// The position in the loop's list of running exchanges.
    package var index: Int {
        get { state.index }
        set { state.index = newValue }
    }

    /// When it was submitted; as all times of an exchange in nanoseconds of the loop's clock.
    package var submitted: Int64 {
        get { state.submitted }
        set { state.submitted = newValue }
    }

    /// When it began to wait for a connection.
    package var waitStarted: Int64 {
        get { state.waitStarted }
        set { state.waitStarted = newValue }
    }

    /// When the transport received it.
    package var started: Int64 {
        get { state.started }
        set { state.started = newValue }
    }

    /// When bytes moved last.
    package var lastActivity: Int64 {
        get { state.lastActivity }
        set { state.lastActivity = newValue }
    }

    /// The number of body bytes that were sent.
    package var sentBytes: Int {
        get { state.sentBytes }
        set { state.sentBytes = newValue }
    }

    /// When the sending of the request ended, whole or stopped by the response; 0 before.
    package var requestSent: Int64 { state.requestSent }

    /// Records that the sending of the request has ended, once.
    package func noteRequestSent(at now: Int64) {
        if state.requestSent == 0 { state.requestSent = now }
    }

    /// Whether it needs a new connection, because the previous one was lost.
    package var needsFreshConnection: Bool {
        get { state.needsFreshConnection }
        set { state.needsFreshConnection = newValue }
    }

    /// Whether its connection has carried another exchange before.
    package var wasReused: Bool {
        get { state.wasReused }
        set { state.wasReused = newValue }
    }

    /// Whether the request was sent over HTTP/2.
    package var isHTTP2: Bool {
        get { state.isHTTP2 }
        set { state.isHTTP2 = newValue }
    }

    /// Whether the request was sent again on a fresh connection.
    package var wasRepeated: Bool {
        get { state.wasRepeated }
        set { state.wasRepeated = newValue }
    }

    /// Whether the request is sent over HTTP/1.1 because the server requires it.
    package var isDowngraded: Bool {
        get { state.isDowngraded }
        set { state.isDowngraded = newValue }
    }

    /// The number of its stream on a connection that multiplexes; 0 without one.
    package var streamNumber: Int32 {
        get { state.streamNumber }
        set { state.streamNumber = newValue }
    }

    /// How many connections have excluded it from processing.
    package var moves: Int {
        get { state.moves }
        set { state.moves = newValue }
    }

    /// The number of bytes of the body, after decoding.
    package var bodyBytes: Int64 { state.bodyBytes }

    /// The transport's own part of a running exchange, which carries its bytes.
    package var carrier: AnyObject? {
        get { part }
        set { part = newValue }
    }

    /// Whether the transport has the exchange.
    package var isCarried: Bool { part != nil }

    /// The task that waits for the outcome.
    package var continuation: LoopWaiter? {
        get { waiter }
        set { waiter = newValue }
    }

    /// The source of the request's body; nil when the body is bytes, and before ``startPump(inbox:)``.
    package var pipe: UploadPipe? { upload }

    /// The size of the memory that is ready for the body of a buffered response.
    package var bufferedCapacity: Int { body?.capacity ?? 0 }

    /// The final head; nil before it has arrived.
    package var head: HeadVetting.Head? { finalHead }

    /// The version of the final head; nil before it has arrived.
    package var version: Response.Version? { finalHead?.version }

    /// The codings of the body, when it is passed on decoded.
    package var decodedCodings: String? { isDecoded ? finalHead?.contentEncoding : nil }

    /// Whether the final head has arrived.
    package var hasHead: Bool { finalHead != nil }

    /// The body as its reader receives it; nil for a buffered response.
    package var stream: BodyStream? { bodyStream }

    /// Whether the body has a content coding, which is decoded or refused.
    package var isCoded: Bool { decoder != nil }

    /// The error that stopped the exchange on its way; takes precedence over the error that the transport reports.
    package var failure: LoadingError? {
        get { stop }
        set { stop = newValue }
    }

    /// The number of bytes of all heads and trailers so far.
    package var headBytes: Int { vetting.bytes }

    /// The number of lines of the present head so far.
    package var headLines: Int { vetting.lines }
}
