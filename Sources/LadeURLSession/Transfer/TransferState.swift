import Foundation
import LadeCore

/// The state machine of one exchange: receives events of the platform's callbacks, returns actions.
///
/// It has no task, lock, clock or session. Its owner carries out the actions in order after unlocking.
struct TransferState {
    /// The head of the response.
    struct Head: Sendable {
        var status: Response.Status
        var headers: Headers
        /// The codings that the platform decodes; nil when the body is delivered as it was sent.
        var decodedCoding: String?
        /// The length of the body before decoding, where the server announced it and a body follows.
        var announcedLength: Int64?
        /// Whether a body may follow.
        var hasBody: Bool
    }

    /// The result that the sender receives.
    enum Delivered {
        case complete(Head, Data)
        case streaming(Head)
    }

    /// The actions to carry out, in order.
    enum Action {
        case deliver(Delivered)
        case failSender(LoadingError)
        case giveReader(Result<Data?, LoadingError>)
        /// Suspend or resume the platform's task according to ``isPaused``.
        case adjustPausing
        /// Cancel the platform's task.
        case cancelTask
        /// Do not reuse any connection that is open now: one of them carried a response that violated the protocol.
        case abandonConnections
        case report(Call.Event)
        /// Deliver the end to the sender or the reader, after everything else was notified: call
        /// ``TransferState/publish()``.
        case publish
    }

    /// The result of a reader's request for bytes.
    enum Reading {
        case now(Result<Data?, LoadingError>, [Action])
        case wait
    }

    private enum Ending {
        case complete
        case failed(LoadingError)

        /// The result that a reader receives from then on.
        var result: Result<Data?, LoadingError> {
            switch self {
            case .complete: .success(nil)
            case .failed(let error): .failure(error)
            }
        }
    }

    let request: Request
    let limits: TransportSettings.ResponseLimits
    /// Whether the platform stops receiving when the task is suspended.
    let canPause: Bool
    private(set) var metrics = Response.Metrics()
    private(set) var isPaused = false
    private var context: LoadingError.Context
    private let created: Instant
    private var started: Instant?
    private var lastActivity: Instant
    /// The start of a wait for a network; nil while there is none.
    private var offlineSince: Instant?
    private var head: Head?
    /// The size of all heads so far, interim ones included.
    private var headBytes = 0
    private var collected = Data()
    private var waiting: ArraySlice<Data> = []
    private var waitingBytes = 0
    private(set) var received: Int64 = 0
    private var isSenderServed = false
    private var isReaderWaiting = false
    private var ending: Ending?
    private var isPublished = false

    init(request: Request, limits: TransportSettings.ResponseLimits, canPause: Bool, now: Instant) {
        self.request = request
        self.limits = limits
        self.canPause = canPause
        context = LoadingError.Context(request)
        created = now
        lastActivity = now
    }

    /// Whether the exchange has ended.
    var isEnded: Bool { ending != nil }

    /// How much of the response is known to have arrived.
    var progress: LoadingError.ResponseProgress { head == nil ? .nothing : .body(received: received) }

    /// The length of the body on the wire, where the server announced it.
    var announcedLength: Int64? { head?.announcedLength }

    // MARK: - Events of the platform

    /// The exchange begins, after any wait for a host slot.
    mutating func start(at now: Instant) -> [Action] {
        guard ending == nil else { return [] }
        started = now
        lastActivity = now
        if now > created { metrics.queued = created.duration(to: now) }
        return [
            .report(
                .exchangeStarted(
                    method: request.method,
                    url: request.url.redacted(secretQueryNames: request.secretQueryNames)
                )
            )
        ]
    }

    /// There is no network, and the platform waits for one.
    mutating func waitsForConnectivity(at now: Instant) -> [Action] {
        guard ending == nil, head == nil, offlineSince == nil else { return [] }
        offlineSince = now
        return [.report(.waitStarted(.connectivity))]
    }

    /// Bytes move: there is a network.
    mutating func reached(at now: Instant) -> [Action] {
        guard let since = offlineSince else { return [] }
        offlineSince = nil
        lastActivity = now
        return [.report(.waitEnded(.connectivity, after: since.duration(to: now)))]
    }

    /// A part of the request's body was sent.
    mutating func bytesSent(_ count: Int64, at now: Instant) {
        lastActivity = now
        metrics.requestBodyBytes += count
    }

    /// There was activity that is not counted.
    mutating func noteActivity(at now: Instant) {
        lastActivity = now
    }

    /// A head arrived, interim ones included.
    mutating func headArrived(_ arrived: PlatformHead, at now: Instant) -> [Action] {
        guard ending == nil, head == nil else { return [] }
        return reached(at: now) + take(arrived, at: now)
    }

    private mutating func take(_ arrived: PlatformHead, at now: Instant) -> [Action] {
        lastActivity = now
        metrics.firstByte = metrics.firstByte ?? elapsed(at: now)
        headBytes += arrived.size
        guard headBytes <= limits.headBytes else {
            return end(LoadingError(.headTooLarge(.bytes(limits.headBytes)), context), at: now)
        }
        guard arrived.code >= 200 else {
            guard arrived.code != 101 else {
                return end(LoadingError(.malformedResponse(.init(.unaskedUpgrade)), context), at: now)
            }
            return [.report(.interimResponse(status: Response.Status(arrived.code), headers: Headers(arrived.fields)))]
        }
        context.status = Response.Status(arrived.code)
        let checked: Head
        switch arrived.checked(for: request, limits: limits, context: context) {
        case .failure(let error): return end(error, at: now)
        case .success(let head): checked = head
        }
        head = checked
        context.headers = checked.headers
        metrics.contentEncoding = checked.decodedCoding
        let news = Action.report(.headReceived(status: checked.status, headers: checked.headers, version: nil))
        switch request.delivery {
        case .buffered(let limit):
            // The length on the wire says nothing about the length after decoding.
            if checked.decodedCoding == nil, let announced = checked.announcedLength, announced > limit {
                return [news] + end(LoadingError(.bodyTooLarge(limit: limit, announced: announced), context), at: now)
            }
            return [news]
        case .streamed:
            isSenderServed = true
            return [news, .deliver(.streaming(checked))]
        }
    }

    /// A part of the body arrived, decoded by the platform.
    mutating func bytesArrived(_ bytes: Data, at now: Instant) -> [Action] {
        guard ending == nil, !bytes.isEmpty else { return [] }
        guard let head else { return end(LoadingError(.malformedResponse(.init(.notHTTP)), context), at: now) }
        lastActivity = now
        received += Int64(bytes.count)
        metrics.decodedBodyBytes = received
        metrics.responseBodyBytes = head.decodedCoding == nil ? received : head.announcedLength ?? 0
        if let error = ratioFault(head) { return end(error, at: now) }
        switch request.delivery {
        case .buffered(let limit):
            guard received <= Int64(limit) else {
                return end(LoadingError(.bodyTooLarge(limit: limit, announced: nil), context), at: now)
            }
            collected.append(bytes)
            return []
        case .streamed:
            if isReaderWaiting {
                isReaderWaiting = false
                return [.giveReader(.success(bytes))]
            }
            waiting.append(bytes)
            waitingBytes += bytes.count
            guard canPause, !isPaused, waitingBytes >= limits.streamHighWater else { return [] }
            isPaused = true
            return [.adjustPausing]
        }
    }

    /// The platform has finished.
    ///
    /// - Parameters:
    ///   - failure: The error that it reports.
    ///   - lateHead: The head of a redirect with an unusable target. The platform delivers it only here, and drops its
    ///     body.
    ///   - now: The current instant.
    /// - Returns: The actions to carry out.
    mutating func finished(_ failure: PlatformFailure?, lateHead: PlatformHead?, at now: Instant) -> [Action] {
        guard ending == nil else { return [] }
        if let failure {
            // A server may respond and close before it has read the whole request: a complete response counts.
            if failure.meaning == .connectionLost, let head, isComplete(head) { return complete(at: now) }
            return end(failure.error(in: self, context: context), at: now)
        }
        var actions: [Action] = []
        let isLate = head == nil
        if isLate, let lateHead { actions = headArrived(lateHead, at: now) }
        guard ending == nil else { return actions }
        guard let head else {
            return end(LoadingError(.connectionLost(.nothing, isSafeToRepeat: false), context), at: now)
        }
        let isShort = head.decodedCoding == nil && head.announcedLength.map { received < $0 } ?? false
        let isSwallowed = isLate && head.hasBody && head.headers.contains("Transfer-Encoding")
        if isShort || isSwallowed {
            let fault = LoadingError(.incompleteBody(received: received, expected: head.announcedLength), context)
            return actions + end(fault, at: now)
        }
        return actions + complete(at: now)
    }

    /// Takes over the platform's measurements; values that it does not know are kept.
    mutating func measured(_ update: (inout Response.Metrics) -> Void) {
        update(&metrics)
    }

    // MARK: - Calls of the sender and the reader

    /// The next chunk for the one reader.
    mutating func read(at now: Instant) -> Reading {
        if let chunk = waiting.popFirst() {
            waitingBytes -= chunk.count
            guard isPaused, waitingBytes <= limits.streamHighWater / 2 else { return .now(.success(chunk), []) }
            isPaused = false
            lastActivity = now
            return .now(.success(chunk), [.adjustPausing])
        }
        guard isPublished, let ending else {
            isReaderWaiting = true
            return .wait
        }
        return .now(ending.result, [])
    }

    /// The call was cancelled.
    mutating func cancel(at now: Instant) -> [Action] {
        // The end of a body whose rest was discarded is not its end.
        if ending != nil, !waiting.isEmpty { ending = .failed(LoadingError(.cancelled, context)) }
        waiting = []
        waitingBytes = 0
        return fail(LoadingError(.cancelled, context), at: now)
    }

    /// The exchange failed outside the platform: a time-out, or an error of the request's body.
    mutating func fail(_ error: LoadingError, at now: Instant) -> [Action] {
        guard ending == nil else { return [] }
        return end(error, at: now)
    }

    // MARK: - Time

    /// When time-outs must be checked again; nil when none is set.
    func nextDeadline(at now: Instant) -> Instant? {
        var deadlines: [Instant] = []
        // The wait for a host slot comes before the exchange: only the call's deadline limits it.
        if let whole = request.timeouts.whole { deadlines.append((started ?? now).advanced(by: whole)) }
        if let idle = request.timeouts.idle {
            // The idle time-out does not run while the exchange waits for a slot, for a network or for a slow reader.
            let isWaiting = isPaused || started == nil || offlineSince != nil
            deadlines.append((isWaiting ? now : lastActivity).advanced(by: idle))
        }
        return deadlines.min()
    }

    /// Ends the exchange when a time-out has passed.
    mutating func timePassed(_ now: Instant) -> [Action] {
        guard ending == nil, let deadline = nextDeadline(at: now), deadline <= now else { return [] }
        let end = request.timeouts.whole.flatMap { whole in started?.advanced(by: whole) }
        let isWhole = end.map { $0 <= now } ?? false
        return self.end(LoadingError(.timedOut(isWhole ? .whole : .idle), context), at: now)
    }

    // MARK: - Endings

    private mutating func complete(at now: Instant) -> [Action] {
        ending = .complete
        metrics.total = elapsed(at: now)
        return [.report(.exchangeFinished(metrics)), .publish]
    }

    private mutating func end(_ error: LoadingError, at now: Instant) -> [Action] {
        let reached = reached(at: now)
        ending = .failed(error)
        metrics.total = elapsed(at: now)
        var actions = reached + [Action.cancelTask]
        if case .malformedResponse = error.kind { actions.append(.abandonConnections) }
        return actions + [.report(.exchangeFailed(error, metrics)), .publish]
    }

    /// Delivers the end to the waiters.
    mutating func publish() -> [Action] {
        guard let ending else { return [] }
        isPublished = true
        if !isSenderServed {
            isSenderServed = true
            defer { collected = Data() }
            switch (ending, head) {
            case (.failed(let error), _): return [.failSender(error)]
            case (.complete, let head?): return [.deliver(.complete(head, collected))]
            case (.complete, nil): preconditionFailure("An exchange was complete without a head")
            }
        }
        guard isReaderWaiting else { return [] }
        isReaderWaiting = false
        return [.giveReader(ending.result)]
    }

    /// Whether the framing says that the response is complete.
    private func isComplete(_ head: Head) -> Bool {
        !head.hasBody || (head.decodedCoding == nil && head.announcedLength == received)
    }

    private func ratioFault(_ head: Head) -> LoadingError? {
        // Without an announced length the platform does not report how many bytes it received.
        guard head.decodedCoding != nil, let coded = head.announcedLength, received > Int64(limits.decompressionFloor),
            received / Int64(max(limits.decompressionRatio, 1)) >= max(coded, 1)
        else { return nil }
        return LoadingError(.decompressionRatioExceeded(limit: limits.decompressionRatio), context)
    }

    private func elapsed(at now: Instant) -> Duration {
        (started ?? created).duration(to: now)
    }
}
