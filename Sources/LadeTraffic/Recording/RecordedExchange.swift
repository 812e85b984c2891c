#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// One exchange while it is recorded: what is sent and received passes through it.
final class RecordedExchange: Sendable {
    private struct Capture {
        var bytes = Data()
        var size: Int64 = 0

        mutating func add(_ chunk: Data, limit: Int) {
            size += Int64(chunk.count)
            if bytes.count < limit { bytes.append(chunk.prefix(limit - bytes.count)) }
        }
    }

    /// Beyond the limit a secret may continue that begins before it; a longer one is cut.
    static let margin = 4_096

    /// The request to pass on; its body is copied while it is sent.
    let sent: Request
    private let request: Request
    private let call: Call
    private let tap: TrafficTap
    private let number: UInt64
    private let start: Instant
    private let date: Date
    // Guarded by its lock: written by the task that sends the body. Nil for a body that is not captured.
    private let upload: Locked<Capture>?

    init(_ request: Request, _ call: Call, _ tap: TrafficTap) {
        self.request = request
        self.call = call
        self.tap = tap
        number = tap.begin(call)
        (start, date) = (call.time.now, call.time.date)
        let limit = tap.recorder.settings.bodyLimit + Self.margin
        guard let body = request.body, case .stream(let write) = body.content, tap.recorder.settings.bodyLimit > 0
        else {
            (sent, upload) = (request, nil)
            return
        }
        let upload = Locked(Capture())
        self.upload = upload
        var copied = Request.Body.writer(
            length: body.length,
            isReplayable: body.isReplayable,
            contentType: body.contentType
        ) { send in
            // The transport may send the body again, on a fresh connection.
            upload.withLock { $0 = Capture() }
            try await write { chunk throws(LoadingError) in
                upload.withLock { $0.add(chunk, limit: limit) }
                try await send(chunk)
            }
        }
        copied.trailers = body.trailers
        var copy = request
        copy.body = copied
        sent = copy
    }

    /// Records the exchange when the body of its response has ended, which may be now.
    func observe(_ response: Response) -> Response {
        if let bytes = response.body.bytes {
            end(response: response, body: (bytes, Int64(bytes.count)), nil)
            return response
        }
        var observed = response
        observed.body = response.body.wrapped { source in
            RecordedBody(source, limit: self.tap.recorder.settings.bodyLimit + Self.margin) { bytes, size, error in
                self.end(response: response, body: (bytes, size), error, metrics: source.metrics)
            }
        }
        if sent.body != nil { observed.request.body = request.body }
        return observed
    }

    func end(
        response: Response?,
        body: (bytes: Data, size: Int64)?,
        _ error: LoadingError?,
        metrics: Response.Metrics? = nil
    ) {
        let draft = tap.end(number, of: call)
        let settings = tap.recorder.settings
        var entry = TrafficEntry(
            request: request,
            requestBody: sentBody(settings),
            response: response,
            metrics: metrics ?? draft.metrics ?? response?.metrics ?? Response.Metrics(),
            call: call,
            date: date,
            elapsed: start.duration(to: call.time.now)
        )
        entry.facts = draft.facts
        entry.connectionWait = draft.connectionWait
        entry.error = error
        if let body {
            entry.responseBody = body.bytes
            entry.responseSize = body.size
        }
        tap.recorder.receive(entry.entry(settings))
    }

    private func sentBody(_ settings: TrafficRecorder.Settings) -> HAREntry.Content? {
        guard let body = request.body else { return nil }
        let type = request.headers["Content-Type"] ?? body.contentType ?? ""
        let limit = settings.bodyLimit + Self.margin
        switch body.content {
        case .bytes(let bytes): return HAREntry.Content(bytes, type: type)
        case .file(let path, let offset):
            // The body is recorded as the file has it now; a file that cannot be read has no content here.
            let handle = settings.bodyLimit > 0 ? FileBytes(path, offset: offset, limit: limit).bytes : nil
            return HAREntry.Content(handle, type: type, size: body.length)
        case .stream:
            let capture = upload?.withLock(\.self) ?? Capture()
            return HAREntry.Content(capture.bytes, type: type, size: max(capture.size, Int64(capture.bytes.count)))
        }
    }
}

/// A body whose chunks are copied on their way to the reader.
private final class RecordedBody: Response.Body.Source {
    private struct State {
        var bytes = Data()
        var size: Int64 = 0
        var hasEnded = false
    }

    private let source: any Response.Body.Source
    private let limit: Int
    private let onEnd: @Sendable (Data, Int64, LoadingError?) -> Void
    // Guarded by its lock: the reader and what cancels the body use it.
    private let state = Locked(State())

    init(
        _ source: any Response.Body.Source,
        limit: Int,
        onEnd: @escaping @Sendable (Data, Int64, LoadingError?) -> Void
    ) {
        self.source = source
        self.limit = limit
        self.onEnd = onEnd
    }

    deinit { end(LoadingError(.cancelled)) }

    func next() async throws(LoadingError) -> Data? {
        do throws(LoadingError) {
            guard let chunk = try await source.next() else {
                end(nil)
                return nil
            }
            state.withLock { state in
                state.size += Int64(chunk.count)
                if state.bytes.count < limit { state.bytes.append(chunk.prefix(limit - state.bytes.count)) }
            }
            return chunk
        } catch {
            end(error)
            throw error
        }
    }

    func cancel() {
        source.cancel()
        end(LoadingError(.cancelled))
    }

    func abandon() {
        source.abandon()
        end(LoadingError(.cancelled))
    }

    var trailers: Headers { source.trailers }
    var metrics: Response.Metrics { source.metrics }

    private func end(_ error: LoadingError?) {
        let captured = state.withLock { state -> (Data, Int64)? in
            guard !state.hasEnded else { return nil }
            state.hasEnded = true
            defer { state.bytes = Data() }
            return (state.bytes, state.size)
        }
        if let (bytes, size) = captured { onEnd(bytes, size, error) }
    }
}
