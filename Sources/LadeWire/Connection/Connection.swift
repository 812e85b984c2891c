import LadeCore
import LadeExchange

/// One connection, from the look-up of its host to its close.
///
/// It owns its socket and the machines that say what bytes mean; the loop carries out. Used by the loop thread alone.
final class Connection: Due {
    /// The number by which events of the connection are reported; unique during the life of the loop.
    let number: Int
    /// The host and destination that it serves, as the admission names it.
    let key: Int
    let route: Route
    /// The origin within TLS; nil in clear text.
    let peer: TLSPeer?
    /// The proxy that it leads to; nil when it leads to the origin itself.
    let proxy: Proxy?
    /// Whether that proxy is asked for a tunnel.
    let isTunnelled: Bool
    /// The length of its idle life, in nanoseconds.
    @exclusivity(unchecked) var idleLife: Int64

    /// The stage of the connection, with everything that exists in it.
    @exclusivity(unchecked) private(set) var stage: ConnectionStage

    // The socket, once there is one.
    @exclusivity(unchecked) var socket: Int32 = -1
    /// The TLS layer that the connection's bytes pass; nil in clear text.
    @exclusivity(unchecked) var tls: TLSLayer?
    /// The peer of that layer.
    @exclusivity(unchecked) var layerPeer: TLSPeer?
    /// Why the layer failed.
    @exclusivity(unchecked) var tlsFault: TLSFault?
    /// The meter of the bytes that the peer sends beside content.
    @exclusivity(unchecked) var meter = OverheadMeter(at: 0)
    /// Whether the peer has announced its end by close_notify.
    @exclusivity(unchecked) var wasEndAnnounced = false
    /// Whether the socket had no more bytes at the last read.
    @exclusivity(unchecked) var isDrained = false
    /// The bytes that the socket has given since they were last counted.
    @exclusivity(unchecked) var intake = 0
    @exclusivity(unchecked) var endpoint: Endpoint?
    @exclusivity(unchecked) var output = OutputBuffer()
    /// Whether the poller reports nothing of the socket, because it failed or ended while a reader was behind.
    @exclusivity(unchecked) var isIgnored = false
    /// Whether sending failed, so that the end of the connection completes no body.
    @exclusivity(unchecked) var wasReset = false
    /// Whether the poller reports that the socket can be read, and below, written.
    @exclusivity(unchecked) var reads = true
    @exclusivity(unchecked) var writes = false
    /// Whether the loop has it in a list of this turn.
    @exclusivity(unchecked) var isDirty = false
    @exclusivity(unchecked) var isBacklogged = false
    /// The number of the turn that served it last.
    @exclusivity(unchecked) var servedIn = 0

    // Times of the loop's clock, in nanoseconds; 0 when it has not happened.
    @exclusivity(unchecked) var resolvedAt: Int64 = 0
    @exclusivity(unchecked) var connectedAt: Int64 = 0
    @exclusivity(unchecked) var securedAt: Int64 = 0

    @exclusivity(unchecked) var due = Int64.max
    /// The due time for which the socket was looked at once more before it was judged.
    @exclusivity(unchecked) var judgedDue = Int64.max
    @exclusivity(unchecked) var queuedDue = Int64.max

    init(
        number: Int,
        key: Int,
        route: Route,
        proxy: Proxy?,
        peer: TLSPeer?,
        idleLife: Int64,
        opening: Opening
    ) {
        self.number = number
        self.key = key
        self.route = route
        self.proxy = proxy
        self.peer = peer
        self.idleLife = idleLife
        isTunnelled = opening.target != nil
        stage = .opening(opening)
    }

    /// Changes the stage, as nothing else does, and returns what the loop must do.
    func live(_ event: ConnectionStage.Event, at now: Int64) -> ConnectionStage.Action {
        stage.transition(event, at: now)
    }

    /// Withdraws units for the messages of the peer while there is no exchange; false when none are left.
    func withdraw(_ units: Int) -> Bool { stage.withdraw(units) }

    var life: ConnectionLife { stage.life }
    var opening: Opening? { if case .opening(let opening) = stage { opening } else { nil } }
    var racing: Racing? { if case .racing(let racing)? = opening?.step { racing } else { nil } }
    var streams: Streams? { if case .streaming(let streams) = stage { streams } else { nil } }
    /// The exchange that it carries over HTTP/1.1.
    var carried: CarriedExchange? { if case .busy(let carried) = stage { carried } else { nil } }
    var isOpening: Bool { if case .opening = stage { true } else { false } }
    var isBusy: Bool { if case .busy = stage { true } else { false } }
    var isStreaming: Bool { if case .streaming = stage { true } else { false } }
    var isIdle: Bool { if case .idle = stage { true } else { false } }

    /// The exchange that it carries over HTTP/1.1, or is being opened for.
    var exchange: Exchange? {
        switch stage {
        case .opening(let opening): opening.exchange
        case .busy(let carried): carried.exchange
        case .idle, .streaming, .closed: nil
        }
    }

    /// Whether bytes were prepared that the socket has not accepted.
    var hasUnsent: Bool { !output.isEmpty || (tls?.outputCount ?? 0) > 0 }

    /// The proxy that requests are sent to in the absolute form; nil when they are sent to their origin.
    var forwarder: Proxy? { isTunnelled ? nil : proxy }

    /// The protocol that its peer has chosen; HTTP/1.1 in clear text.
    var applicationProtocol: ApplicationProtocol { tls?.applicationProtocol ?? .http1_1 }
}
