import LadeCore
import LadeExchange

/// The facts of one exchange that a connection carries, over HTTP/1.1 and over HTTP/2 alike.
struct Carriage {
    /// Received bytes that the reader was too far behind to take.
    var held: [UInt8] = []
    /// How many of them the decoder has taken already; they are kept so that the body is not complete before its output.
    ///
    /// Over HTTP/2 the end of the stream completes the body, and none are kept.
    var decoded = 0
    /// Whether the reader asks for more when it has room.
    var isPaused = false
    /// Whether held bytes must be offered again when the connection has its next share of a turn.
    var isYielded = false
    /// Whether the response is complete, and only the reader or the decoder is behind.
    var isComplete = false
    /// Whether the producer of the request's body has no bytes; over HTTP/2 the session knows.
    var awaitsProducer = false
    /// Whether a part of the request may have reached the peer.
    var hasSent = false
    /// The numbers of bytes of the request's head, of the body that was sent, and of the body that arrived.
    var headBytes = 0
    var sent: Int64 = 0
    private(set) var received: Int64 = 0
    // Times of the loop's clock, in nanoseconds; 0 when it has not happened.
    private(set) var requestStarted: Int64 = 0
    private(set) var firstByte: Int64 = 0
    /// When a body is sent although 100 has not arrived.
    var continueDue: Int64 = .max

    /// How long a body waits for 100, in nanoseconds (RFC 9110 §10.1.1).
    private static let continuePatience: Int64 = 1_000_000_000

    /// Whether bytes that arrive are held, because others before them are.
    var isBehind: Bool { isPaused || isYielded }

    /// Whether nothing of the exchange has moved.
    var isUntouched: Bool { !hasSent && firstByte == 0 }

    /// Records that the request begins to be sent.
    ///
    /// - Parameters:
    ///   - bytes: The size of its head.
    ///   - now: The time.
    mutating func started(head bytes: Int, at now: Int64) {
        headBytes = bytes
        requestStarted = now
    }

    /// Records that something of the response has arrived.
    mutating func heard(at now: Int64) { if firstByte == 0 { firstByte = now } }

    /// Records that content has arrived.
    mutating func took(_ count: Int) { received += Int64(count) }

    /// Begins to wait for 100.
    mutating func awaitContinue(from now: Int64) { continueDue = now + Self.continuePatience }
}

/// An exchange that a connection carries over HTTP/1.1, alone.
///
/// Used by the loop thread alone.
final class CarriedExchange {
    let exchange: Exchange
    @exclusivity(unchecked) var http: HTTP1Exchange
    @exclusivity(unchecked) var carriage = Carriage()
    /// How many bytes may still be decoded in this turn.
    @exclusivity(unchecked) var decodable = 0

    init(_ exchange: Exchange) {
        self.exchange = exchange
        http = HTTP1Exchange(
            framing: RequestFraming(exchange.request),
            isToHead: exchange.request.method == .head,
            rules: exchange.rules
        )
    }

    /// Whether nothing of the exchange has moved.
    var isUntouched: Bool { carriage.isUntouched && http.receiving == .head }
}

/// An exchange that a connection carries over HTTP/2, beside others.
///
/// Used by the loop thread alone.
final class CarriedStream {
    let exchange: Exchange
    let number: Int32
    @exclusivity(unchecked) var carriage = Carriage()

    init(_ exchange: Exchange, number: Int32) {
        self.exchange = exchange
        self.number = number
    }
}

/// The parts of a connection that speaks HTTP/2.
///
/// Used by the loop thread alone.
final class Streams {
    let session: HTTP2Session
    /// The exchanges that waited for the connection, until they have their streams.
    @exclusivity(unchecked) var waiting: [Exchange]
    /// The exchanges that it carries, by the numbers of their streams.
    @exclusivity(unchecked) var carried: [Int32: CarriedStream] = [:]
    /// The streams whose held bytes are offered again in the connection's next share of a turn, in this order.
    @exclusivity(unchecked) var yielded: [Int32] = []
    /// Received bytes that wait for the connection's next share of a turn.
    @exclusivity(unchecked) var frames: [UInt8]
    /// How many bytes may still be decoded in this turn.
    @exclusivity(unchecked) var decodable = 0
    /// How many bytes the socket has accepted.
    @exclusivity(unchecked) var accepted = 0
    /// Since when it carries no stream.
    @exclusivity(unchecked) var idleSince: Int64
    /// Whether the exchanges that waited for it have their streams.
    @exclusivity(unchecked) var wasUsed = false

    /// - Parameters:
    ///   - session: The session.
    ///   - opening: The rest of the opening: bytes behind the consent of a proxy, and waiting exchanges.
    ///   - now: The time.
    init(_ session: HTTP2Session, after opening: Opening, at now: Int64) {
        self.session = session
        waiting = [opening.exchange].compactMap(\.self) + opening.joining
        frames = opening.surplus
        idleSince = now
    }
}
