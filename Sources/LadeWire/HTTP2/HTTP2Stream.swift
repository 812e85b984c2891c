import CNghttp2
import LadeCore
import LadeExchange

/// One exchange as a stream of HTTP/2: two halves, and how it ends.
///
/// A value without I/O. Its events have the terms of HTTP (RFC 9110), and name no frames.
struct HTTP2Stream {
    /// The half that sends the request.
    enum Sending: Equatable {
        /// The body waits for 100 (RFC 9110 §10.1.1).
        case awaitingContinue
        case body
        case done
        /// The rest is not sent.
        case stopped

        var hasEnded: Bool { self == .done || self == .stopped }
    }

    /// The half that receives the response.
    enum Receiving: Equatable {
        case head
        case body
        /// The peer has ended the response, as it must for a complete one.
        case ended
    }

    /// The kind of a header section.
    enum Section {
        case interim(Response.Status, Headers)
        case final(HeadVetting.Head)
        case trailers
    }

    /// How a stream ended.
    enum Ending: Equatable {
        /// The response is complete.
        case complete
        /// The peer has not processed the request: it may be sent again (RFC 9113 §8.7).
        case refused
        /// The connection ended before the peer processed the request, which may be sent on another one.
        case unprocessed
        /// The peer requires HTTP/1.1 for this request.
        case needsHTTP1
        /// The peer has ended the stream before the response was complete.
        case reset(code: UInt32)
        /// The connection ended before the response was complete.
        case lost
        /// The response breaks a rule, or a limit.
        case malformed(HeadVetting.Fault)
        /// The producer of the request's body failed.
        case uploadFailed
    }

    private(set) var sending: Sending
    private(set) var receiving = Receiving.head
    /// The checked part of the head and the trailers.
    private(set) var vetting: HeadVetting
    var window = StreamWindow(.onArrival)
    /// The size of the head of the request, before compression.
    var headBytes = 0
    /// Where the head of the request begins in all bytes of the connection; nil before it was written.
    var start: Int?
    /// Whether the sender of the body had nothing, so that it must be asked again.
    var isDeferred = false
    /// Whether the ending was reported, or is not wanted.
    var isOver = false
    /// The code by which the peer has ended the stream.
    var resetCode: UInt32?

    /// - Parameters:
    ///   - sending: The state after the head: `body`, `awaitingContinue` or `done`.
    ///   - rules: The limits of heads.
    init(sending: Sending, rules: Exchange.Rules) {
        self.sending = sending
        vetting = HeadVetting(limits: rules.limits, tolerances: rules.tolerances)
    }

    // MARK: - Receiving

    /// Takes a header section.
    ///
    /// - Parameters:
    ///   - fields: The fields of several sections.
    ///   - range: The bytes among them that belong to this stream.
    /// - Returns: The kind of the section.
    /// - Throws: The part that is malformed or too large.
    mutating func take(_ fields: HTTP2Fields, _ range: Range<Int>) throws(HeadVetting.Fault) -> Section {
        try fields.forEachJoiningCookies(in: range) { field, name throws(HeadVetting.Fault) in
            if field.first == UInt8(ascii: ":") {
                try vetting.begin(status: UnsafeBufferPointer(rebasing: field[name...]))
            } else {
                try vetting.take(field: field, name: name)
            }
        }
        switch try vetting.endFields() {
        case .more: return .trailers
        case .interim(let status, let headers):
            if status == 100, sending == .awaitingContinue { sending = .body }
            return .interim(status, headers)
        case .final(let head):
            receiving = .body
            // A response that refuses the body ends the upload; with any other, sending continues (RFC 9110 §7.5).
            if sending == .awaitingContinue || (sending == .body && head.status.code >= 300) { sending = .stopped }
            return .final(head)
        }
    }

    /// Records that the peer has ended the response.
    mutating func ended() { receiving = .ended }

    // MARK: - Sending

    /// Records that the server has not responded to the expectation for a second.
    mutating func continueAnyway() {
        if sending == .awaitingContinue { sending = .body }
    }

    mutating func bodySent() {
        if sending == .body { sending = .done }
    }

    /// Records that nothing more can or shall be sent.
    mutating func stopSending() {
        if !sending.hasEnded { sending = .stopped }
    }

    private static let flood = "frames that bring nothing"

    // MARK: - The ending

    /// Whether a head has arrived, interim ones included.
    var hasBegun: Bool { vetting.bytes > 0 }

    /// How the stream ended when it was closed.
    ///
    /// Only the end that the peer has set completes a response: a code proves nothing, NO_ERROR included.
    ///
    /// - Parameter isUnprocessed: Whether the peer has excluded the stream from processing.
    /// - Returns: The ending.
    func ending(isUnprocessed: Bool) -> Ending {
        if receiving == .ended { return .complete }
        // A peer that has sent a response has processed the request, even if it later says that it has not.
        if isUnprocessed { return receiving == .head ? .unprocessed : .reset(code: NGHTTP2_REFUSED_STREAM.rawValue) }
        switch resetCode {
        // nghttp2 has closed it for a violation.
        case nil: return .malformed(.malformed(LoadingError.MalformedResponse(.http2Framing)))
        case NGHTTP2_REFUSED_STREAM.rawValue? where receiving == .head: return .refused
        case NGHTTP2_HTTP_1_1_REQUIRED.rawValue? where receiving == .head: return .needsHTTP1
        case let code?: return .reset(code: code)
        }
    }

    /// How the stream ends with its connection.
    func ending(with fault: HTTP2Session.Fault) -> Ending {
        if receiving == .ended { return .complete }
        return switch fault {
        case .framing: .malformed(.malformed(LoadingError.MalformedResponse(.http2Framing)))
        case .flood: .malformed(.malformed(LoadingError.MalformedResponse(.http2Framing, redacted: Self.flood)))
        case .overhead(let kind): .malformed(.malformed(LoadingError.MalformedResponse(kind)))
        case .silent, .ended: .lost
        }
    }
}
