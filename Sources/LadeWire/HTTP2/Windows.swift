/// The window of one stream: how many of the received bytes return to the sender, and when (RFC 9113 §5.2).
///
/// The window of the connection needs no value: it returns on arrival, because each stream bounds its own bytes. Therefore
/// stopped readers never stop another stream.
struct StreamWindow: Equatable {
    /// When bytes return.
    enum Policy: Equatable {
        /// On arrival: the response is buffered up to its limit, or dropped.
        case onArrival
        /// As the reader takes them.
        case asTaken
    }

    /// The window of a connection.
    static let connection: Int32 = 16 << 20

    /// The window of each stream: half of the high-water mark, but at least one frame.
    ///
    /// So the bytes in the window and the decoded bytes stay within the mark together.
    static func size(highWater: Int) -> Int32 {
        Int32(clamping: max(highWater / 2, 16 << 10))
    }

    var policy: Policy
    /// The number of bytes that arrived and have not returned.
    private(set) var held = 0

    init(_ policy: Policy) {
        self.policy = policy
    }

    /// Records the arrival of bytes.
    ///
    /// - Returns: How many return now.
    mutating func arrived(_ count: Int) -> Int {
        guard policy == .asTaken else { return count }
        held += count
        return 0
    }

    /// Records that the reader has taken bytes.
    ///
    /// - Returns: How many return now.
    mutating func taken(_ count: Int) -> Int {
        let returned = min(count, held)
        held -= returned
        return returned
    }

    /// Records that nothing is read any more: held bytes return, and later bytes return on arrival.
    mutating func released() -> Int {
        policy = .onArrival
        return taken(held)
    }
}
