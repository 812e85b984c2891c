import Foundation
import LadeCore

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One exchange: carries out what its ``TransferState`` decides, for the sender, the reader and the platform's
/// callbacks.
final class Transfer: Response.Body.Source {
    private struct Guarded {
        var state: TransferState
        var sender: CheckedContinuation<Result<TransferState.Delivered, LoadingError>, Never>?
        /// The outcome for a sender that starts to wait only after the end.
        var earlyOutcome: Result<TransferState.Delivered, LoadingError>?
        var reader: CheckedContinuation<Result<Data?, LoadingError>, Never>?
        var task: URLSessionTask?
        /// Ends the exchange when a time-out passes; cancelled at the end.
        var watchdog: Task<Void, Never>?
        /// Obtains the slot and prepares the body; cancelled at the end.
        var preparation: Task<Void, Never>?
        /// Objects that live as long as the exchange: a host slot, a spooled body.
        var holdings: [any Sendable] = []
    }

    private let call: Call
    private let guarded: Locked<Guarded>
    private let driver: SessionDriver
    let request: Request
    let platform: PlatformRequest

    init(
        _ request: Request,
        platform: PlatformRequest,
        limits: TransportSettings.ResponseLimits,
        driver: SessionDriver,
        call: Call
    ) {
        self.request = request
        self.platform = platform
        self.driver = driver
        self.call = call
        let state = TransferState(
            request: request,
            limits: limits,
            canPause: SessionDriver.canPause,
            now: call.time.now
        )
        guarded = Locked(Guarded(state: state))
    }

    // MARK: - The sender

    /// Carries out the exchange, up to the head or, for buffered delivery, to the end.
    func run(through gate: HostGate) async throws(LoadingError) -> Response {
        let outcome = await call.withCancellationHandler {
            await withCheckedContinuation { continuation in
                let early = guarded.withLock { guarded in
                    if guarded.earlyOutcome == nil { guarded.sender = continuation }
                    return guarded.earlyOutcome
                }
                if let early { return continuation.resume(returning: early) }
                begin(through: gate)
            }
        } onCancel: { [self] in
            cancel()
        }
        switch try outcome.get() {
        case .complete(let head, let bytes): return response(head, Response.Body(bytes, metrics: metrics))
        case .streaming(let head): return response(head, Response.Body(streaming: self))
        }
    }

    private func response(_ head: TransferState.Head, _ body: Response.Body) -> Response {
        var headers = head.headers
        request.headRecord?.append(head.status, headers, nil)
        if head.decodedCoding != nil {
            // They describe the coded bytes, which are not delivered; the metrics keep them.
            headers.remove("Content-Encoding")
            headers.remove("Content-Length")
        }
        return Response(status: head.status, headers: headers, body: body, request: request)
    }

    private func begin(through gate: HostGate) {
        if request.timeouts.idle != nil || request.timeouts.whole != nil || call.deadline != nil {
            let watchdog = Task { await watch() }
            keep(watchdog, in: \.watchdog)
        }
        if !platform.needsFreshConnection, let upload = Upload(immediately: platform.body) {
            act { $0.start(at: $1) }
            driver.start(self, upload: upload)
        } else {
            let preparation = Task { await prepare(through: gate) }
            keep(preparation, in: \.preparation)
        }
    }

    private func prepare(through gate: HostGate) async {
        do throws(LoadingError) {
            if platform.needsFreshConnection {
                hold(try await gate.enter(request.url.authority, context: LoadingError.Context(request)))
            }
            act { $0.start(at: $1) }
            let upload = try await makeUpload()
            driver.start(self, upload: upload)
            #if canImport(Darwin)
                if case .stream(let stream) = upload, let body = platform.body { try await stream.send(body) }
            #endif
        } catch {
            act { $0.fail(error, at: $1) }
        }
    }

    private func makeUpload() async throws(LoadingError) -> Upload {
        if let upload = Upload(immediately: platform.body) { return upload }
        guard let body = platform.body else { return .none }
        #if canImport(Darwin)
            if case .stream = body.content { return .stream(try BoundStreamUpload(LoadingError.Context(request))) }
        #endif
        let file = try await SpooledFile.make(from: body, of: request) { [weak self] in self?.noteActivity() }
        hold(file)
        return .spooled(file)
    }

    // MARK: - The reader

    func next() async throws(LoadingError) -> Data? {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let now = call.time.now
                let reading = guarded.withLock { guarded in
                    let reading = guarded.state.read(at: now)
                    if case .wait = reading { guarded.reader = continuation }
                    return reading
                }
                guard case .now(let result, let actions) = reading else { return }
                continuation.resume(returning: result)
                for action in actions { perform(action) }
            }
        } onCancel: {
            cancel()
        }
        return try result.get()
    }

    func cancel() {
        act { $0.cancel(at: $1) }
    }

    /// Always empty: the platform does not deliver trailers.
    var trailers: Headers { Headers() }

    var metrics: Response.Metrics { guarded.withLock { $0.state.metrics } }

    // MARK: - The platform

    /// Attaches the platform's task; false when the exchange has ended meanwhile.
    func attach(_ task: URLSessionTask) -> Bool {
        guarded.withLock { guarded in
            guard !guarded.state.isEnded else { return false }
            guarded.task = task
            return true
        }
    }

    func headArrived(_ head: PlatformHead) {
        act { $0.headArrived(head, at: $1) }
    }

    func waitsForConnectivity() {
        act { $0.waitsForConnectivity(at: $1) }
    }

    func bytesArrived(_ bytes: Data) {
        act { $0.bytesArrived(bytes, at: $1) }
    }

    func bytesSent(_ count: Int64) {
        act { state, now in
            state.bytesSent(count, at: now)
            return state.reached(at: now)
        }
    }

    private func noteActivity() {
        act { state, now in
            state.noteActivity(at: now)
            return []
        }
    }

    func finished(_ failure: PlatformFailure?, lateHead: PlatformHead?) {
        act { $0.finished(failure, lateHead: lateHead, at: $1) }
    }

    func fail(_ error: LoadingError) {
        act { $0.fail(error, at: $1) }
    }

    func measured(_ update: (inout Response.Metrics) -> Void) {
        guarded.withLock { $0.state.measured(update) }
    }

    func record(_ event: Call.Event) {
        call.record(event)
    }

    // MARK: - Acting

    private func act(_ change: (inout TransferState, Instant) -> [TransferState.Action]) {
        let now = call.time.now
        let (actions, isEnd) = guarded.withLock { guarded in
            let wasEnded = guarded.state.isEnded
            let actions = change(&guarded.state, now)
            return (actions, !wasEnded && guarded.state.isEnded)
        }
        for action in actions { perform(action) }
        // Only the caller that ended the exchange does this: any other would release the task before it is cancelled.
        if isEnd { letGo() }
    }

    private func perform(_ action: TransferState.Action) {
        switch action {
        case .deliver(let delivered): serveSender(.success(delivered))
        case .failSender(let error): serveSender(.failure(error))
        case .giveReader(let result):
            let reader = guarded.withLock { guarded in
                defer { guarded.reader = nil }
                return guarded.reader
            }
            reader?.resume(returning: result)
        case .adjustPausing: adjustPausing()
        case .cancelTask:
            guard let task = guarded.withLock({ $0.task }) else { return }
            driver.control(of: self).async { task.cancel() }
        case .abandonConnections: driver.abandonConnections()
        case .report(let event): call.record(event)
        case .publish:
            for action in guarded.withLock({ $0.state.publish() }) { perform(action) }
        }
    }

    private func serveSender(_ outcome: Result<TransferState.Delivered, LoadingError>) {
        let sender = guarded.withLock { guarded in
            defer { guarded.sender = nil }
            if guarded.sender == nil { guarded.earlyOutcome = outcome }
            return guarded.sender
        }
        sender?.resume(returning: outcome)
    }

    /// Releases what only a running exchange needs, and with it every reference that leads back here.
    private func letGo() {
        let (watchdog, preparation) = guarded.withLock { guarded in
            defer {
                guarded.task = nil
                guarded.watchdog = nil
                guarded.preparation = nil
            }
            return (guarded.watchdog, guarded.preparation)
        }
        watchdog?.cancel()
        preparation?.cancel()
        // Outside the lock: releasing a permit resumes the next waiter, and releasing a spooled body removes its file.
        _ = guarded.withLock { guarded in
            defer { guarded.holdings = [] }
            return guarded.holdings
        }
    }

    private func hold(_ thing: some Sendable) {
        guarded.withLock { guarded in
            guard !guarded.state.isEnded else { return }
            guarded.holdings.append(thing)
        }
    }

    private func keep(_ task: Task<Void, Never>, in place: WritableKeyPath<Guarded, Task<Void, Never>?>) {
        let isEnded = guarded.withLock { guarded in
            guarded[keyPath: place] = guarded.state.isEnded ? nil : task
            return guarded.state.isEnded
        }
        if isEnded { task.cancel() }
    }

    private func watch() async {
        while true {
            let now = call.time.now
            let (isEnded, timeout) = guarded.withLock { ($0.state.isEnded, $0.state.nextDeadline(at: now)) }
            guard !isEnded, let deadline = [timeout, call.deadline].compactMap(\.self).min() else { return }
            do {
                try await call.time.sleep(until: deadline)
            } catch {
                // Cancelled: the exchange has ended.
                return
            }
            act { $0.timePassed($1) }
            // Time-outs go first: they are about this exchange.
            guard let last = call.deadline, last <= call.time.now else { continue }
            act { state, now in
                var report = call.deadlineReport(at: now)
                report.endedExchange = true
                return state.fail(LoadingError(.deadlineExceeded(report), LoadingError.Context(request)), at: now)
            }
        }
    }

    private func adjustPausing() {
        guard let task = guarded.withLock({ $0.task }) else { return }
        driver.control(of: self).async {
            // Requested in any order from two threads, and carried out on one: the latest request counts.
            let isPaused = self.guarded.withLock { $0.state.isPaused }
            switch (isPaused, task.state) {
            case (true, .running): task.suspend()
            case (false, .suspended): task.resume()
            default: break
            }
        }
    }
}

extension URL {
    /// Host and port, to distinguish the destinations of connections.
    var authority: String {
        "\(host(percentEncoded: true)?.lowercased() ?? ""):\(port ?? (scheme?.lowercased() == "https" ? 443 : 80))"
    }
}
