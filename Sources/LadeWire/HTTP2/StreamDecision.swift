import LadeCore
import LadeExchange

/// The decision about an exchange whose stream has ended.
///
/// This is the one place that decides which requests over HTTP/2 are sent again without the caller (RFC 9113 §8.7, RFC 9110
/// §9.2.2). A request that the peer has certainly not processed is sent again. A request that a reused connection has lost is
/// sent again once. After a head, interim heads included, no request is sent again.
enum StreamDecision: Equatable {
    case complete
    case fail(WireFault)
    /// A head or a trailer section was refused.
    case refuse(HeadVetting.Fault)
    /// With the error of the producer of the request's body.
    case failUpload
    /// The request is sent on another connection, and nothing counts as sent.
    case move
    /// The request is sent once more, on a new connection.
    case sendAgain
    /// The request is sent over HTTP/1.1.
    case downgrade

    /// The known facts of the exchange.
    struct Facts: Equatable {
        /// How much of the response has arrived; a body with the number of its bytes before decoding.
        var progress = LoadingError.ResponseProgress.nothing
        /// How many bytes of content were announced.
        var expected: Int64?
        /// Whether a byte of the request may have reached the peer.
        var wasSent = true
        /// Whether the connection has carried another exchange before.
        var wasReused = false
        /// Whether the request may be processed twice, and its body can be sent again.
        var isRepeatable = true
        /// Whether the body can be sent again, or nothing of it was asked for yet.
        var canSendBodyAgain = true
        /// How many connections have excluded the request.
        var moves = 0
        /// Whether it was sent again on a new connection.
        var wasRepeated = false
        /// Whether it was sent over HTTP/1.1 because the server requires it.
        var isDowngraded = false
    }

    /// How many connections may exclude a request before its caller hears of it.
    private static let mostMoves = 3

    init(_ ending: HTTP2Stream.Ending, _ facts: Facts) {
        let progress = facts.progress
        switch ending {
        case .complete: self = .complete
        case .malformed(let fault): self = .refuse(fault)
        case .uploadFailed: self = .failUpload
        case .lost where progress != .nothing:
            if case .body(let received) = progress {
                self = .fail(.incomplete(received: received, expected: facts.expected))
            } else {
                self = .fail(.lost(progress, wasSent: true))
            }
        case _ where progress != .nothing: self = .fail(.lost(progress, wasSent: true))
        // The peer may be overloaded: the retry policy decides when the request is sent again.
        case .refused: self = .fail(.lost(.nothing, wasSent: false))
        case .unprocessed: self = Self.moved(facts)
        case .needsHTTP1:
            self = facts.canSendBodyAgain && !facts.isDowngraded ? .downgrade : .fail(.lost(.nothing, wasSent: true))
        case .reset: self = .fail(.lost(.nothing, wasSent: true))
        case .lost where !facts.wasSent: self = Self.moved(facts)
        case .lost where facts.wasReused && facts.isRepeatable && !facts.wasRepeated: self = .sendAgain
        case .lost: self = .fail(.lost(.nothing, wasSent: true))
        }
    }

    private static func moved(_ facts: Facts) -> StreamDecision {
        facts.canSendBodyAgain && facts.moves < mostMoves ? .move : .fail(.lost(.nothing, wasSent: false))
    }
}
