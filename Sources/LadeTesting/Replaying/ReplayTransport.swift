#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
public import LadeCore
public import LadeTraffic

/// A transport that gives the responses of a recording: no request leaves the test.
///
/// ```swift
/// let transport = try ReplayTransport("shows.har")
/// let service = Service(settings, transport: transport)
/// // … the calls of the test …
/// try transport.checkUnused()
/// ```
///
/// `ReplayBook.Rules` say how requests are compared with the entries of the recording. A request without an entry fails with an
/// error that names the nearest entry and what differs. The times of the recording pass in the call's time. A test in virtual
/// time advances it, as `VirtualTime.runAutomatically(_:)` does. Failures that were recorded happen again, as do bodies that
/// ended too early.
public final class ReplayTransport: Transport {
    /// Where the responses come from.
    private enum Mode: Sendable {
        case replay
        /// A transport records, below the replay, until ``finishRecording()``.
        case record(TrafficRecorder, any Transport)
    }

    private let script = ScriptedTransport()
    private let mode: Mode
    private let keepsTimes: Bool
    // Guarded by its lock.
    private let book: Locked<ReplayBook>

    /// Replays entries.
    ///
    /// - Parameters:
    ///   - entries: The recording.
    ///   - rules: How requests are compared.
    ///   - keepsTimes: Whether responses take as long as in the recording, in the call's time; true by default.
    public init(_ entries: [HAREntry], rules: ReplayBook.Rules = .init(), keepsTimes: Bool = true) {
        book = Locked(ReplayBook(entries, rules: rules))
        mode = .replay
        self.keepsTimes = keepsTimes
        play()
    }

    /// Replays a file.
    ///
    /// - Parameters:
    ///   - path: A recording in the HTTP Archive format, of any program.
    ///   - rules: How requests are compared.
    ///   - keepsTimes: Whether responses take as long as in the recording, in the call's time; true by default.
    ///   - isLenient: Whether entries that cannot be read are left out; false by default.
    /// - Throws: The fault with entry and member.
    public convenience init(
        _ path: String,
        rules: ReplayBook.Rules = .init(),
        keepsTimes: Bool = true,
        isLenient: Bool = false
    ) throws(HARFault) {
        self.init(try HARReader(isLenient: isLenient).entries(of: path), rules: rules, keepsTimes: keepsTimes)
    }

    /// Replays a file, or records it once.
    ///
    /// The file is recorded when it does not exist, and when the variable `LADE_RECORD` of the environment is `1`: each request
    /// then goes to `transport`. Secrets are redacted in the file.
    ///
    /// - Parameters:
    ///   - path: The recording.
    ///   - transport: The transport whose exchanges are recorded.
    ///   - rules: How requests are compared.
    ///   - isRecording: Whether the file is recorded; nil, the default, decides by file and environment.
    /// - Throws: The fault of the file.
    public init(
        _ path: String,
        recordingWith transport: any Transport,
        rules: ReplayBook.Rules = .init(),
        isRecording: Bool? = nil
    ) throws(HARFault) {
        let isAsked = ProcessInfo.processInfo.environment["LADE_RECORD"] == "1"
        keepsTimes = true
        if isRecording ?? (isAsked || !FileManager.default.fileExists(atPath: path)) {
            mode = .record(try TrafficRecorder(writingTo: path), transport)
            book = Locked(ReplayBook([], rules: rules))
        } else {
            mode = .replay
            book = Locked(ReplayBook(try HARReader().entries(of: path), rules: rules))
        }
        play()
    }

    /// Gives the response of the recording.
    ///
    /// - Throws: The failure that was recorded; `LoadingError.Kind.transport` for a request without an entry.
    public func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        if case .record(let recorder, let transport) = mode {
            return try await recorder.send(request, call: call, over: transport)
        }
        try request.validate()
        // The body is compared, so it is read before the script sees the request.
        var sent = request
        if let body = request.body {
            let (bytes, trailers) = try await ScriptedTransport.collect(request)
            sent.body = .bytes(bytes, contentType: body.contentType)
            if body.trailers != nil { sent.body?.trailers = { trailers } }
        }
        var response = try await script.send(sent, call: call)
        response.request = request
        return response
    }

    /// True, as with the library's own transports.
    public var observesScope: Bool {
        if case .record(_, let transport) = mode { transport.observesScope } else { true }
    }

    /// True, as with the library's own transports.
    public var collectsBodies: Bool {
        if case .record(_, let transport) = mode { transport.collectsBodies } else { true }
    }

    /// The requests that were answered or refused, in order.
    public var received: [ScriptedTransport.Received] { script.received }

    /// The entries that no request has used, by their numbers in the recording, from 1.
    public var unused: [Int] { book.withLock { $0.unused.map { $0 + 1 } } }

    /// Checks that every entry was used, or that the recording is in its file.
    ///
    /// - Throws: A fault that names the first entry that was not used, or that of the file.
    public func checkUnused() throws(HARFault) {
        if case .record(let recorder, _) = mode { return try recorder.flush() }
        let (unused, entries) = book.withLock { ($0.unused, $0.entries) }
        guard let first = unused.first else { return }
        let request = entries[first].request
        throw HARFault(
            entry: first + 1,
            reason: "no request used \(request.method) \(request.url)"
                + (unused.count > 1 ? ", and \(unused.count - 1) more were not used" : "")
        )
    }

    private func play() {
        // The script is a part of this object, which therefore lives as long.
        script.onAnyRequest().respond(
            .computed { [weak self] request, _ throws(LoadingError) in
                guard let self else { throw LoadingError(.cancelled, LoadingError.Context(request)) }
                return try response(to: request)
            }
        )
    }

    private func response(to request: Request) throws(LoadingError) -> ScriptedResponse {
        var asked = ReplayBook.Asked(method: request.method.rawValue, url: request.url.absoluteString)
        asked.headers = request.headers.map { HAREntry.Field($0.name, $0.value) }
        if case .bytes(let bytes) = request.body?.content { asked.body = bytes }
        let (found, entries) = book.withLock { book in (book.take(asked), book.entries) }
        switch found {
        case .entry(let index): return ScriptedResponse(entries[index], keepsTimes: keepsTimes)
        case .nothing(let sentence):
            throw LoadingError(.transport(code: 0, message: sentence), LoadingError.Context(request))
        }
    }
}

extension ScriptedResponse {
    /// The response or the failure of an entry.
    ///
    /// The content of a recording is decoded already, so the response has no `Content-Encoding`, and the length is that of the
    /// content. A content that the recording has in part ends with an error after that part.
    ///
    /// - Parameters:
    ///   - entry: The entry.
    ///   - keepsTimes: Whether it takes as long as in the recording; true by default.
    public init(_ entry: HAREntry, keepsTimes: Bool = true) {
        let fault = entry.facts.fault.map { LoadingError($0, of: entry) }
        let timings = entry.timings
        let delay =
            (timings.nameLookup ?? .zero) + (timings.connect ?? .zero) + timings.send + timings.wait
        guard entry.response.status > 0 else {
            let error = fault ?? LoadingError(.connectionLost(.nothing, isSafeToRepeat: false))
            self = error.isCancellation ? .stalls : .fails(error)
            if keepsTimes, !error.isCancellation { self = after(delay + timings.receive) }
            return
        }
        let bytes = entry.response.content.bytes ?? Data()
        let isOfEvents = entry.responseValue("Content-Type")?.utf8.starts(with: "text/event-stream".utf8) ?? false
        var headers = Headers()
        for field in entry.response.headers where !Self.isOfTheWire(field.name) { headers.add(field.name, field.value) }
        let isBodyless = entry.request.method == "HEAD" || [204, 304].contains(entry.response.status)
        self = .bytes(isBodyless ? Data() : bytes, status: Response.Status(entry.response.status), headers: headers)
        if isBodyless { self.headers["Content-Length"] = entry.responseValue("Content-Length") }
        if isOfEvents { steps = steps.isEmpty ? [] : Self.events(in: bytes).map { .bytes($0) } }
        version = Response.Version(recorded: entry.response.version)
        // Nothing was missing of a body that its reader cancelled.
        if let fault, !fault.isCancellation {
            self = breaking(after: bytes.count, with: fault)
        } else if entry.response.content.isTruncated, !isBodyless {
            self.headers["Content-Length"] = String(entry.response.content.size)
            let size = entry.response.content.size
            self = breaking(
                after: bytes.count,
                with: LoadingError(.incompleteBody(received: Int64(bytes.count), expected: size))
            )
        }
        guard keepsTimes else { return }
        if timings.receive > .zero, !steps.isEmpty { spread(timings.receive) }
        if delay > .zero { self = after(delay) }
    }

    /// Spreads the time of receiving over the steps: a recording does not say when each part arrived.
    private mutating func spread(_ time: Duration) {
        let gaps = max(1, steps.count - 1)
        let spread = steps.enumerated().flatMap { index, step in
            index > 0 || steps.count == 1 ? [.wait(time / gaps), step] : [step]
        }
        steps = spread
    }

    /// The events of an event stream, each with the empty line at its end.
    private static func events(in bytes: Data) -> [Data] {
        var events: [Data] = []
        var start = bytes.startIndex
        var isEmptyLine = false
        for index in bytes.indices {
            let byte = bytes[index]
            if byte == 0x0D, bytes[index...].dropFirst().first == 0x0A { continue }
            let endsLine = byte == 0x0A || byte == 0x0D
            if endsLine, isEmptyLine {
                events.append(Data(bytes[start...index]))
                start = index + 1
            }
            isEmptyLine = endsLine
        }
        return start < bytes.endIndex ? events + [Data(bytes[start...])] : events
    }

    /// Whether a field describes the bytes on the wire, which a replay does not have, or is a pseudo field of HTTP/2.
    static func isOfTheWire(_ name: String) -> Bool {
        name.utf8.first == UInt8(ascii: ":")
            || [
                "Content-Encoding", "Content-Length", "Transfer-Encoding", "Connection", "Keep-Alive", "Trailer",
                "Upgrade",
            ]
            .contains { name.equalsIgnoringASCIICase($0) }
    }
}

extension HAREntry {
    /// The value of a field of the response.
    fileprivate func responseValue(_ name: String) -> String? {
        response.headers.first { $0.name.equalsIgnoringASCIICase(name) }?.value
    }
}

extension Response.Version {
    /// The version of a recording: browsers write `h2` and `http/2.0`; HTTP/1.1 for what is not known.
    fileprivate init(recorded text: String) {
        self =
            switch text.asciiLowercased {
            case "h2", "http/2", "http/2.0": .http2
            case "h3", "http/3", "http/3.0": .http3
            case "http/1.0": .http1_0
            default: .http1_1
            }
    }
}

extension LoadingError {
    /// The error of a recorded fault.
    fileprivate init(_ fault: HAREntry.Fault, of entry: HAREntry) {
        let received = Int64(entry.response.content.bytes?.count ?? 0)
        let kind: Kind
        switch fault.kind {
        case "cancelled": kind = .cancelled
        case "timedOut": kind = .timedOut(TimeoutPhase(rawValue: fault.detail) ?? .idle)
        case "nameNotResolved": kind = .nameNotResolved(host: fault.detail)
        case "cannotConnect": kind = .cannotConnect(host: fault.detail, reason: .refused)
        case "connectionLost" where received > 0:
            kind = .connectionLost(.body(received: received), isSafeToRepeat: false)
        case "connectionLost" where entry.response.status > 0: kind = .connectionLost(.head, isSafeToRepeat: false)
        case "connectionLost": kind = .connectionLost(.nothing, isSafeToRepeat: fault.detail == "safe")
        case "incompleteBody":
            let expected = entry.responseValue("Content-Length").flatMap { Int64($0) }
            kind = .incompleteBody(received: received, expected: expected)
        case "untrustedServer": kind = .untrustedServer(TrustCause(host: fault.detail, cause: .other(fault.sentence)))
        case "malformedResponse": kind = .malformedResponse(MalformedResponse(.unspecified))
        case "deadlineExceeded": kind = .timedOut(.whole)
        case "proxy": kind = .proxy(ProxyCause(detail: fault.detail))
        default: kind = .transport(code: 0, message: fault.sentence)
        }
        self.init(kind)
    }
}

extension LoadingError.ProxyCause {
    /// The cause that a recording has as a word or a status, and the proxy.
    fileprivate init(detail: String) {
        let parts = detail.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1).map { String(Substring($0)) }
        let proxy = parts.count > 1 ? parts[1] : ""
        self =
            switch parts.first {
            case "nameNotResolved": .nameNotResolved(proxy: proxy)
            case "cannotConnect": .cannotConnect(proxy: proxy)
            case "authenticationRequired": .authenticationRequired(proxy: proxy)
            case let word: .refused(proxy: proxy, status: word.flatMap { Int($0) }.map { Response.Status($0) })
            }
    }
}
