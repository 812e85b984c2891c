import LadeExchange

/// An exchange that a connection carries over HTTP/2: what the connection knows of it beside its stream.
///
/// Used by the loop thread alone.
final class CarriedStream {
    let exchange: Exchange
    let number: Int32
    /// Received bytes that the reader was too far behind to take.
    @exclusivity(unchecked) var held: [UInt8] = []
    @exclusivity(unchecked) var isPaused = false
    /// Whether what is held must be offered again when the connection has its next share of a turn.
    @exclusivity(unchecked) var isYielded = false
    /// Whether the response is complete, and only the reader or the decoder is behind.
    @exclusivity(unchecked) var isComplete = false
    /// The number of bytes of the head of the request, of the body that was sent, and of the one that arrived.
    @exclusivity(unchecked) var headBytes = 0
    @exclusivity(unchecked) var sent: Int64 = 0
    @exclusivity(unchecked) var received: Int64 = 0
    // Times of the loop's clock, in nanoseconds; 0 when it has not happened.
    @exclusivity(unchecked) var requestStarted: Int64
    @exclusivity(unchecked) var firstByte: Int64 = 0
    @exclusivity(unchecked) var continueDue: Int64 = .max

    /// Whether bytes that arrive are held, because others before them are.
    var isBehind: Bool { isPaused || isYielded }

    init(_ exchange: Exchange, number: Int32, at now: Int64) {
        self.exchange = exchange
        self.number = number
        requestStarted = now
    }
}
