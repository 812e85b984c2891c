import CNghttp2
import LadeCore
import LadeExchange

/// A connection of HTTP/2 without I/O: received bytes go in, findings and bytes to send come out.
///
/// nghttp2 does the framing. Its callbacks only append to a list of events. When no callback is active, ``next()`` makes
/// findings of the events, by ``HTTP2Life`` and the ``HTTP2Stream`` of each stream. One thread at a time uses the session.
final class HTTP2Session {
    /// An occurrence that the caller must know.
    enum Finding {
        /// The peer allows this number of streams; with the first of these the connection is open.
        case allowed(Int)
        /// The peer takes no new stream.
        case draining
        case interim(Int32, Response.Status, Headers)
        /// The final head; ``stream(_:)`` says whether the body of the request is still sent.
        case final(Int32, HeadVetting.Head)
        /// Content, at a range of the received bytes. ``taken(_:by:at:)`` returns its window where the reader does.
        case content(Int32, Range<Int>)
        /// Trailers, which the ``HTTP2Stream/vetting`` of the stream has.
        case trailers(Int32)
        /// The one ending of a stream.
        case ended(Int32, HTTP2Stream.Ending)
        /// The connection cannot be used any more; the endings of its streams came before.
        case failed(Fault)
    }

    /// Why a connection failed.
    enum Fault: Equatable {
        /// The peer breaks a rule of framing or compression; the code comes from GOAWAY or nghttp2.
        case framing(code: Int32)
        /// The peer sends frames that bring nothing.
        case flood
        /// The peer sends far more than content.
        case overhead(OverheadMeter.Kind)
        /// The peer does not respond to a PING.
        case silent
        /// The connection has ended.
        case ended
    }

    /// Bytes of a request's body.
    enum Portion {
        case bytes(Int, isLast: Bool)
        /// The sender has none now, and calls ``resume(_:)`` when it has.
        case nothingYet
        /// The body has ended, and these fields follow it.
        case end(trailers: Headers)
        case failed
    }

    /// An event that a callback reports.
    enum Event {
        /// SETTINGS, with the number of streams where the frame has it.
        case settings(streams: UInt32?)
        case goAway(last: Int32)
        case section(Int32, Range<Int>, isLast: Bool)
        case data(Int32, Range<Int>)
        case endOfData(Int32)
        case reset(Int32, code: UInt32)
        /// A field or a section of the stream is refused.
        case refused(Int32, HeadVetting.Fault)
        case closed(Int32)
        case notSent(Int32)
        case headWritten(Int32, at: Int)
        case bodyEnded(Int32)
        case uploadFailed(Int32)
        case failed(Fault)
        case ending(Int32, HTTP2Stream.Ending)
        case over(Fault)
    }

    // Each is accessed by one function at a time: callbacks only append, and nothing is called while one is active.
    private let session: OpaquePointer
    let rules: Exchange.Rules
    private let windowSize: Int32
    @exclusivity(unchecked) private(set) var life: HTTP2Life
    @exclusivity(unchecked) private var meter: FrameMeter
    @exclusivity(unchecked) private var streams: [Int32: OpenStream] = [:]
    /// The fields of the latest request, whose memory the next one takes over.
    @exclusivity(unchecked) private var request = HTTP2Fields()

    // Written by callbacks.
    @exclusivity(unchecked) var events: [Event] = []
    @exclusivity(unchecked) var fields = HTTP2Fields()
    @exclusivity(unchecked) var section = HTTP2Section()
    /// The bytes that nghttp2 handles, within the call that gives them to it.
    @exclusivity(unchecked) var input = UnsafeRawBufferPointer(start: nil, count: 0)
    @exclusivity(unchecked) var source: ((Int32, UnsafeMutableRawBufferPointer) -> Portion)?
    /// Whether a frame of a stream has arrived.
    @exclusivity(unchecked) var hasHeardStream = false
    /// Whether a callback of nghttp2 is active, in which nothing of nghttp2 may be called.
    @exclusivity(unchecked) var isCallingBack = false

    /// How many bytes were given out to be sent.
    @exclusivity(unchecked) private(set) var written = 0
    /// The time of the latest call that gave one.
    @exclusivity(unchecked) private var now: Int64
    @exclusivity(unchecked) private var hasFailed = false
    /// How many streams the peer's settings allow; without a limit before they name one (RFC 9113 §6.5.2).
    @exclusivity(unchecked) private var allowedStreams = UInt32.max

    /// Makes a connection, whose first bytes are the preface and the settings.
    ///
    /// - Parameters:
    ///   - rules: The limits of responses.
    ///   - known: How many streams the peer has allowed on another connection.
    ///   - now: The time in nanoseconds, as all times here.
    init?(rules: Exchange.Rules, known: Int? = nil, at now: Int64) {
        self.rules = rules
        windowSize = StreamWindow.size(highWater: rules.limits.streamHighWater)
        self.now = now
        life = HTTP2Life(at: now, known: known)
        meter = FrameMeter(at: now, headBytes: rules.limits.headBytes)
        var made: OpaquePointer?
        guard nghttp2_session_client_new2(&made, Self.callbacks, nil, Self.options) == 0, let made else { return nil }
        session = made
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
        let settings = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
                value: UInt32(windowSize)
            ),
        ]
        call { nghttp2_submit_settings($0, 0, settings, settings.count) }
        call { nghttp2_session_set_local_window_size($0, 0, 0, StreamWindow.connection) }
    }

    deinit { nghttp2_session_del(session) }

    /// The stream, while it is open.
    func stream(_ stream: Int32) -> HTTP2Stream? { streams[stream]?.state }

    /// The open streams whose ending was not reported.
    var openStreams: [Int32] { streams.filter { !$0.value.state.isOver }.keys.sorted() }

    // MARK: - Requests

    /// Opens a stream for a request; nil when the connection takes none now.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - framing: How the end of its body is marked.
    ///   - awaitsContinue: Whether the body waits for 100.
    ///   - now: The time.
    /// - Returns: The number of the stream.
    func open(_ exchange: Exchange, framing: RequestFraming, awaitsContinue: Bool, at now: Int64) -> Int32? {
        guard life.canOpen, !hasFailed else { return nil }
        self.now = now
        let hasBody =
            switch framing {
            case .none: false
            case .length(let length): length > 0
            case .chunked: true
            }
        request.removeAll()
        request.append(headOf: exchange, framing: framing)
        var provider = nghttp2_data_provider()
        provider.read_callback = Self.read
        let number = call { session in
            request.withPairs { pairs, count in
                withUnsafePointer(to: &provider) { provider in
                    nghttp2_submit_request(session, nil, pairs, count, hasBody ? provider : nil, nil)
                }
            }
        }
        guard number > 0 else { return nil }
        var stream = HTTP2Stream(sending: hasBody ? (awaitsContinue ? .awaitingContinue : .body) : .done, rules: rules)
        stream.headBytes = request.lineBytes
        stream.window.policy = exchange.isStreamed ? .asTaken : .onArrival
        streams[number] = OpenStream(stream)
        meter.opened(number)
        if life.opened(number, at: now) == .ping { ping() }
        return number
    }

    /// Continues the body of a request, whose sender has bytes again.
    func resume(_ stream: Int32) {
        guard streams[stream]?.state.isDeferred == true else { return }
        streams[stream]?.state.isDeferred = false
        call { nghttp2_session_resume_data($0, stream) }
    }

    /// Sends the body of a request although the server has not responded to its expectation.
    func continueAnyway(_ stream: Int32) {
        streams[stream]?.state.continueAnyway()
        resume(stream)
    }

    /// Ends a stream whose exchange has ended; nothing of it is reported afterwards.
    func cancel(_ stream: Int32) {
        guard streams[stream]?.state.isOver == false else { return }
        streams[stream]?.state.isOver = true
        streams[stream]?.state.stopSending()
        reset(stream, NGHTTP2_CANCEL)
    }

    /// Records that a reader has taken content, which returns the stream's window.
    func taken(_ count: Int, by stream: Int32) {
        let returned = streams[stream]?.state.window.taken(count) ?? 0
        if returned > 0 { call { nghttp2_session_consume_stream($0, stream, returned) } }
    }

    // MARK: - Bytes

    /// Takes received bytes, whose findings ``next()`` returns; they must stay valid until it returns nil.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - now: The time.
    ///   - units: The units of work that handling the bytes may cost.
    /// - Returns: How many were taken, and how many of these are content; the rest must be offered again.
    @discardableResult
    func receive(_ bytes: UnsafeRawBufferPointer, at now: Int64, units: inout Int) -> (count: Int, content: Int) {
        assert(events.isEmpty, "the findings of earlier bytes were not taken")
        guard !hasFailed, !bytes.isEmpty else { return (bytes.count, 0) }
        life.heard()
        self.now = now
        let share = meter.take(bytes, at: now, units: &units)
        input = UnsafeRawBufferPointer(rebasing: bytes[..<share.count])
        defer { input = UnsafeRawBufferPointer(start: nil, count: 0) }
        let count = call { nghttp2_session_mem_recv($0, input.baseAddress, input.count) }
        if hasHeardStream { life.heardStream(at: now) }
        hasHeardStream = false
        if count == NGHTTP2_ERR_FLOODED.rawValue {
            events.append(.failed(.flood))
        } else if count < 0 {
            events.append(.failed(.framing(code: Int32(count))))
        } else if share.isFlood {
            events.append(.failed(.flood))
        } else {
            return (share.count, share.content)
        }
        return (bytes.count, share.content)
    }

    /// Ends a connection whose peer sends far more than content.
    func refuse(_ overhead: OverheadMeter.Kind) { events.append(.failed(.overhead(overhead))) }

    /// Appends bytes to send to a buffer, up to about a number of unsent bytes in it.
    ///
    /// - Parameters:
    ///   - output: Receives the bytes.
    ///   - most: No frame is begun beyond this number of bytes in it.
    ///   - now: The time.
    ///   - source: Writes bytes of the body of a stream. It calls nothing of this session.
    func produce(
        into output: inout OutputBuffer,
        upTo most: Int,
        at now: Int64,
        _ source: (Int32, UnsafeMutableRawBufferPointer) -> Portion
    ) {
        self.now = now
        withoutActuallyEscaping(source) { source in
            self.source = source
            defer { self.source = nil }
            while output.count < most {
                var data: UnsafePointer<UInt8>?
                let count = call { nghttp2_session_mem_send($0, &data) }
                if count < 0 { events.append(.failed(.framing(code: Int32(count)))) }
                guard count > 0 else { break }
                output.append(contentsOf: UnsafeBufferPointer(start: data, count: count))
                written += count
                submitTrailers()
            }
            submitTrailers()
        }
    }

    /// Records the end of the connection; ``next()`` returns the endings of its streams.
    func ended() {
        if !hasFailed { events.append(.failed(.ended)) }
    }

    /// Does the work that is due; see ``HTTP2Life/due``.
    func expire(at now: Int64) {
        switch life.expired(at: now) {
        case .none: break
        case .ping: ping()
        case .lost: events.append(.failed(.silent))
        }
    }

    // MARK: - Findings

    private var nextEvent = 0

    /// The next finding; nil when there is none left.
    func next() -> Finding? {
        while nextEvent < events.count {
            let event = events[nextEvent]
            nextEvent += 1
            if let finding = finding(event) { return finding }
        }
        events.removeAll(keepingCapacity: true)
        nextEvent = 0
        // The beginning of a section whose end has not arrived stays.
        fields.removeFirst(section.isOpen ? section.start : fields.count)
        section.start = 0
        return nil
    }

    private func finding(_ event: Event) -> Finding? {
        switch event {
        case .settings(let streams):
            if let streams { allowedStreams = streams }
            life.allowed(Int(clamping: allowedStreams))
            // After GOAWAY no stream is opened, whatever the peer allows.
            return life.state == .ready ? .allowed(life.limit) : nil
        case .goAway(let last):
            let wasOpen = life.state != .draining
            life.goneAway(last: last)
            return wasOpen ? .draining : nil
        case .section(let number, let range, let isLast): return take(number, range, isLast: isLast)
        case .data(let number, let range): return arrived(number, range)
        case .endOfData(let number):
            responseEnded(number)
            return nil
        case .reset(let number, let code):
            streams[number]?.state.resetCode = code
            return nil
        case .refused(let number, let fault): return refuse(number, fault)
        case .closed(let number): return closed(number)
        case .notSent(let number): return end(number, .unprocessed)
        case .headWritten(let number, let position):
            streams[number]?.state.start = position
            return nil
        case .bodyEnded(let number):
            streams[number]?.state.bodySent()
            return nil
        case .uploadFailed(let number):
            streams[number]?.state.stopSending()
            return end(number, .uploadFailed)
        case .failed(let fault):
            fail(fault)
            return nil
        case .ending(let number, let ending): return end(number, ending)
        case .over(let fault): return .failed(fault)
        }
    }

    private func take(_ number: Int32, _ range: Range<Int>, isLast: Bool) -> Finding? {
        guard streams[number]?.state.isOver == false else { return nil }
        do throws(HeadVetting.Fault) {
            let section = try streams[number]?.state.take(fields, range)
            if isLast { responseEnded(number) }
            switch section {
            case nil: return nil
            case .trailers: return .trailers(number)
            case .interim(let status, let headers):
                if streams[number]?.state.sending == .body { resume(number) }
                return .interim(number, status, headers)
            case .final(let head): return .final(number, head)
            }
        } catch {
            reset(number, NGHTTP2_PROTOCOL_ERROR)
            return refuse(number, error)
        }
    }

    private func arrived(_ number: Int32, _ range: Range<Int>) -> Finding? {
        call { nghttp2_session_consume_connection($0, range.count) }
        guard let stream = streams[number] else { return nil }
        let returned = stream.state.window.arrived(range.count)
        if returned > 0 { call { nghttp2_session_consume_stream($0, number, returned) } }
        return stream.state.isOver ? nil : .content(number, range)
    }

    private func responseEnded(_ number: Int32) {
        streams[number]?.state.ended()
        // The rest of the body must not look like the whole body.
        if streams[number]?.state.sending == .stopped { reset(number, NGHTTP2_CANCEL) }
    }

    private func refuse(_ number: Int32, _ fault: HeadVetting.Fault) -> Finding? {
        streams[number]?.state.stopSending()
        return end(number, .malformed(fault))
    }

    private func closed(_ number: Int32) -> Finding? {
        guard let stream = streams[number]?.state else { return nil }
        let finding = end(number, stream.ending(isUnprocessed: life.isUnprocessed(number)))
        streams[number] = nil
        meter.ended(number, window: Int(windowSize))
        life.closedStream(at: now)
        return finding
    }

    /// The finding that a stream has ended, once.
    private func end(_ number: Int32, _ ending: HTTP2Stream.Ending) -> Finding? {
        guard streams[number]?.state.isOver == false else { return nil }
        streams[number]?.state.isOver = true
        meter.ended(number, window: Int(windowSize))
        let returned = streams[number]?.state.window.released() ?? 0
        if returned > 0 { call { nghttp2_session_consume_stream($0, number, returned) } }
        return .ended(number, ending)
    }

    private func fail(_ fault: Fault) {
        guard !hasFailed else { return }
        hasFailed = true
        life.closed()
        // Events behind the fault in the same bytes are dropped, as later bytes would be.
        events.removeSubrange(nextEvent...)
        switch fault {
        case .flood, .overhead: call { nghttp2_session_terminate_session($0, NGHTTP2_ENHANCE_YOUR_CALM.rawValue) }
        case .framing, .silent: call { nghttp2_session_terminate_session($0, NGHTTP2_PROTOCOL_ERROR.rawValue) }
        case .ended: break
        }
        for number in openStreams {
            guard let stream = streams[number]?.state else { continue }
            events.append(.ending(number, stream.ending(with: fault)))
        }
        events.append(.over(fault))
    }

    // MARK: - nghttp2

    /// Calls nghttp2, which no callback of it may do.
    @discardableResult
    private func call<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        assert(!isCallingBack, "a callback of nghttp2 calls nghttp2")
        return body(session)
    }

    private func ping() { call { nghttp2_submit_ping($0, 0, nil) } }

    private func reset(_ stream: Int32, _ code: nghttp2_error_code) {
        meter.ended(stream, window: Int(windowSize))
        let returned = streams[stream]?.state.window.released() ?? 0
        if returned > 0 { call { nghttp2_session_consume_stream($0, stream, returned) } }
        call { nghttp2_submit_rst_stream($0, 0, stream, code.rawValue) }
    }

    /// Sends the trailers of bodies that have just ended.
    private func submitTrailers() {
        guard !unsentTrailers.isEmpty else { return }
        for (stream, trailers) in unsentTrailers {
            let fields = HTTP2Fields(trailers: trailers)
            call { session in fields.withPairs { nghttp2_submit_trailer(session, stream, $0, $1) } }
        }
        unsentTrailers = []
    }

    /// The trailers of bodies that have ended; written by a callback.
    var unsentTrailers: [(stream: Int32, fields: Headers)] = []

    /// Asks the sender of a body for bytes, in a callback.
    func portion(_ number: Int32, _ space: UnsafeMutableRawBufferPointer) -> Portion {
        guard streams[number]?.state.sending == .body, let source else { return .nothingYet }
        return source(number, space)
    }

    /// Records in a callback that a body waits for its sender.
    func markDeferred(_ number: Int32) { streams[number]?.state.isDeferred = true }

    func sentData() { meter.sentData() }
}

/// The state of an open stream, in one place, so that a change copies nothing.
private final class OpenStream {
    var state: HTTP2Stream

    init(_ state: HTTP2Stream) { self.state = state }
}

/// The header section that nghttp2 is delivering.
struct HTTP2Section {
    /// The index of its first field.
    var start = 0
    /// The bytes that its fields would take as lines of HTTP/1.1.
    var bytes = 0
    /// Whether its end has not arrived.
    var isOpen = false
}
