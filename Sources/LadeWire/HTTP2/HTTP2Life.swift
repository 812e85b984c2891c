/// The life of a connection of HTTP/2: a state machine that says what may be sent on it, and when it counts as lost.
struct HTTP2Life: Equatable {
    enum State: Equatable {
        /// The peer's SETTINGS have not arrived.
        case opening
        case ready
        /// Streams continue, and no new one is opened.
        case draining
        case closed
    }

    /// The action that is due.
    enum Action: Equatable {
        case none
        case ping
        /// The peer has sent nothing after a PING.
        case lost
    }

    /// The number of streams that may be open before the peer has said how many (RFC 9113 §5.1.2 recommends as many).
    private static let usualStreams = 100
    /// After this time without a stream, the first request is accompanied by a PING.
    private static let longIdle: Int64 = 30_000_000_000
    /// How long streams are silent before a PING, and how long the peer may be silent after it.
    private static let patience: Int64 = 15_000_000_000
    /// A connection whose stream identifiers reach this number takes no new stream; half of them are left.
    private static let lastIdentifier: Int32 = 1 << 30

    private(set) var state = State.opening
    /// The number of open streams.
    private(set) var streams = 0
    /// How many streams the peer allows.
    private(set) var limit: Int
    /// The last stream that the peer has processed or will process; nil without GOAWAY.
    private(set) var lastProcessed: Int32?
    /// When the latest PING was sent that no frame has followed yet.
    private(set) var pingSent: Int64?

    private var idleSince: Int64
    /// When a frame of a stream arrived last, or a stream was opened.
    private var heardStream: Int64
    /// Whether a PING may be sent for silent streams: once, until a frame of a stream arrives.
    private var mayPing = true

    /// - Parameters:
    ///   - now: The time in nanoseconds, as all times here.
    ///   - known: How many streams the peer has allowed on another connection.
    init(at now: Int64, known: Int? = nil) {
        // One at least: it tells whether streams are allowed now.
        limit = max(1, min(known ?? Self.usualStreams, Self.usualStreams))
        idleSince = now
        heardStream = now
    }

    /// Whether a stream can be opened.
    var canOpen: Bool { (state == .opening || state == .ready) && streams < limit }

    /// Whether the time for connecting still runs: no stream can be used yet.
    var isConnecting: Bool { state == .opening || (state == .ready && limit == 0) }

    /// Whether new exchanges should prefer other connections.
    var isDoubtful: Bool { pingSent != nil }

    /// When ``expired(at:)`` has something to say.
    var due: Int64 {
        guard state != .closed else { return .max }
        if let pingSent { return pingSent + Self.patience }
        return state != .opening && streams > 0 && mayPing ? heardStream + Self.patience : .max
    }

    /// Records that a stream was opened.
    ///
    /// - Returns: Whether a PING is to accompany it.
    mutating func opened(_ stream: Int32, at now: Int64) -> Action {
        let wasIdle = streams == 0 && now - idleSince >= Self.longIdle
        streams += 1
        if streams == 1 { heardStream = now }
        if stream >= Self.lastIdentifier, state == .opening || state == .ready { state = .draining }
        guard wasIdle, pingSent == nil, state != .opening else { return .none }
        pingSent = now
        mayPing = false
        return .ping
    }

    /// Records that a stream was closed.
    mutating func closedStream(at now: Int64) {
        streams = max(0, streams - 1)
        if streams == 0 { idleSince = now }
    }

    /// Records the number of streams that the peer's SETTINGS allow.
    mutating func allowed(_ streams: Int) {
        limit = streams
        if state == .opening { state = .ready }
    }

    /// Records GOAWAY (RFC 9113 §6.8): streams above `last` were not processed.
    mutating func goneAway(last: Int32) {
        lastProcessed = min(last, lastProcessed ?? last)
        if state != .closed { state = .draining }
    }

    /// Whether the peer has not processed a stream, and never will.
    func isUnprocessed(_ stream: Int32) -> Bool { lastProcessed.map { stream > $0 } ?? false }

    /// Records that bytes of the peer arrived.
    mutating func heard() { pingSent = nil }

    /// Records that a frame of a stream arrived.
    mutating func heardStream(at now: Int64) {
        heardStream = now
        mayPing = true
    }

    /// The action that is due now.
    mutating func expired(at now: Int64) -> Action {
        guard now >= due else { return .none }
        guard pingSent == nil else {
            state = .closed
            return .lost
        }
        pingSent = now
        mayPing = false
        return .ping
    }

    mutating func closed() { state = .closed }
}
