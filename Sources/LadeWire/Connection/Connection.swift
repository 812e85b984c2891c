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
    /// The length of its idle life, in nanoseconds.
    @exclusivity(unchecked) var idleLife: Int64

    @exclusivity(unchecked) private(set) var life = ConnectionLife.resolving
    /// The exchange that it carries, or is being opened for.
    @exclusivity(unchecked) var exchange: Exchange?
    /// Whether it has carried an exchange before.
    @exclusivity(unchecked) var wasUsed = false

    // Opening.
    /// The name that is looked up.
    @exclusivity(unchecked) var lookUp: String?
    /// The end of the tunnel through the proxy; nil without one.
    @exclusivity(unchecked) var target: Tunnel.Target?
    /// The layers that the connected socket needs before it can carry an exchange, the next first.
    @exclusivity(unchecked) var layers: [Layer] = []
    /// The tunnel while the proxy is asked for it.
    @exclusivity(unchecked) var tunnel: Tunnel?
    /// The bytes that arrived through the tunnel before it was used.
    @exclusivity(unchecked) var surplus: [UInt8] = []
    @exclusivity(unchecked) var race: AddressRace?
    /// The sockets of the attempts that have not ended, by the index of their address.
    @exclusivity(unchecked) var attempts: [(index: Int, socket: Int32, number: Int)] = []
    /// When a Unix socket whose backlog was full is tried again, and after which delay.
    @exclusivity(unchecked) var retryDue: Int64 = .max
    @exclusivity(unchecked) var backlogDelay: Int64 = 0

    // Open.
    @exclusivity(unchecked) var socket: Int32 = -1
    /// The TLS layer that the connection's bytes pass; nil in clear text.
    @exclusivity(unchecked) var tls: TLSLayer?
    /// The peer of that layer.
    @exclusivity(unchecked) var layerPeer: TLSPeer?
    /// Why the layer failed.
    @exclusivity(unchecked) var tlsFault: TLSFault?
    /// Whether a step of the handshake runs on another thread, which has the layer meanwhile.
    @exclusivity(unchecked) var isComputing = false
    /// The work that the peer may still cause while the connection is idle, in units.
    @exclusivity(unchecked) var idleUnits = Connection.unitsOfRest
    /// The meter of the bytes that the peer sends beside content.
    @exclusivity(unchecked) var meter = OverheadMeter(at: 0)
    /// Whether the peer has announced its end by close_notify.
    @exclusivity(unchecked) var wasEndAnnounced = false
    /// Whether the socket had no more bytes at the last read.
    @exclusivity(unchecked) var isDrained = false
    /// The bytes that the socket has given since they were last counted.
    @exclusivity(unchecked) var intake = 0
    @exclusivity(unchecked) var endpoint: Endpoint?
    @exclusivity(unchecked) var http: HTTP1Exchange
    /// The session of a connection that speaks HTTP/2.
    @exclusivity(unchecked) var http2: HTTP2Session?
    /// The exchanges that it carries over HTTP/2, by the numbers of their streams.
    @exclusivity(unchecked) var carried: [Int32: CarriedStream] = [:]
    /// The streams whose held bytes are offered again in the connection's next share of a turn, in this order.
    @exclusivity(unchecked) var yielded: [Int32] = []
    /// Received bytes of HTTP/2 that wait for the connection's next share of a turn.
    @exclusivity(unchecked) var frames: [UInt8] = []
    /// How many bytes may still be decoded in this turn.
    @exclusivity(unchecked) var decodable = 0
    /// How many bytes of HTTP/2 the socket has accepted.
    @exclusivity(unchecked) var accepted = 0
    /// Whether it speaks HTTP/2 if its peer does.
    @exclusivity(unchecked) var wantsHTTP2 = false
    /// The exchanges that wait to learn whether they can share it, beside the exchange that it is being opened for.
    @exclusivity(unchecked) var joining: [Exchange] = []
    @exclusivity(unchecked) var output = OutputBuffer()
    /// The facts of the exchange that it carries over HTTP/1.1.
    @exclusivity(unchecked) var carriage = Carriage()
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
    @exclusivity(unchecked) var idleSince: Int64 = 0

    @exclusivity(unchecked) var due = Int64.max
    /// The due time for which the socket was looked at once more before it was judged.
    @exclusivity(unchecked) var judgedDue = Int64.max
    @exclusivity(unchecked) var queuedDue = Int64.max

    /// Enough for a dozen session tickets.
    static let unitsOfRest = 256

    /// A step by which a connected socket becomes able to carry an exchange.
    enum Layer {
        case tls(TLSPeer)
        case tunnel
    }

    init(
        number: Int,
        key: Int,
        route: Route,
        proxy: Proxy?,
        peer: TLSPeer?,
        idleLife: Int64,
        rules: Exchange.Rules
    ) {
        http = HTTP1Exchange(framing: .none, isToHead: false, rules: rules)
        self.number = number
        self.key = key
        self.route = route
        self.proxy = proxy
        self.peer = peer
        self.idleLife = idleLife
    }

    /// Changes the life, as nothing else does, and returns what the loop must do.
    func live(_ event: ConnectionLife.Event) -> ConnectionLife.Action { life.transition(event) }

    /// Whether bytes were prepared that the socket has not accepted.
    var hasUnsent: Bool { !output.isEmpty || (tls?.outputCount ?? 0) > 0 }

    /// The proxy that requests are sent to in the absolute form; nil when they are sent to their origin.
    var forwarder: Proxy? { target == nil ? proxy : nil }

    /// Whether it speaks HTTP/2 once it is open: by negotiation over TLS, by prior knowledge in clear text.
    var speaksHTTP2: Bool { wantsHTTP2 && (peer == nil || applicationProtocol == .http2) }

    /// The protocol that its peer has chosen; HTTP/1.1 in clear text.
    var applicationProtocol: ApplicationProtocol { tls?.applicationProtocol ?? .http1_1 }

    /// Resets what belongs to one exchange, before the next.
    func begin(_ exchange: Exchange, at now: Int64) {
        meter = OverheadMeter(at: now)
        self.exchange = exchange
        exchange.carrier = self
        http = HTTP1Exchange(
            framing: RequestFraming(exchange.request),
            isToHead: exchange.request.method == .head,
            rules: exchange.rules
        )
        carriage = Carriage()
    }
}
