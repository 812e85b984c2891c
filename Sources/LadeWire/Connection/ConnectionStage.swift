import LadeCore
import LadeExchange

/// The stage of a connection, with what exists in it and in no other: a state machine that says what may happen next.
///
/// Every change is in ``transition(_:at:)``; the loop carries out the action. An event that a stage does not know changes
/// nothing. The payloads that change with each exchange are objects, so that a change copies nothing.
enum ConnectionStage {
    /// It is not open yet.
    case opening(Opening)
    /// It is open and carries no exchange.
    case idle(Rest)
    /// It carries an exchange over HTTP/1.1.
    case busy(CarriedExchange)
    /// It carries any number of exchanges over HTTP/2.
    case streaming(Streams)
    case closed

    /// The life of a connection without an exchange.
    struct Rest {
        /// The work that the peer may still cause, in units: enough for a dozen session tickets.
        static let units = 256

        let since: Int64
        fileprivate(set) var units = Rest.units
    }

    /// Something that happens to a connection.
    enum Event {
        /// The addresses of its host are known.
        case resolved(Racing)
        /// A socket is connected, or a layer is done, and TLS follows.
        case reachedTLS
        /// A socket is connected, or a layer is done, and a tunnel follows.
        case reachedTunnel(Tunnel)
        /// A socket is connected, or a layer is done, and nothing lies between it and an origin that speaks HTTP/1.1.
        case reachedEnd(mayRest: Bool)
        /// The same, and the origin speaks HTTP/2.
        case reachedStreams(HTTP2Session)
        /// An exchange takes the idle connection, or one that is being opened for none.
        case taken(Exchange)
        /// An exchange waits to learn whether it can share the connection, which another one opens.
        case joined(Exchange)
        /// An exchange has ended or left it.
        case left(Exchange, Departure)
        /// It is closed for any reason.
        case ended
    }

    /// How an exchange left its connection.
    struct Departure {
        /// Whether the connection can be used again, where the end of the exchange says so; nil leaves it to the stage.
        var keeps: Bool?
        /// Whether the exchange must not be sent on a connection that was made for it.
        var needsFresh = false
        /// Whether a connection may be idle.
        var mayRest = true
    }

    /// The step of the loop after an event.
    enum Action: Equatable {
        case none
        /// Attempt to connect to the addresses.
        case race
        /// Begin a handshake.
        case secure
        /// Ask the proxy for a tunnel.
        case tunnel
        /// Speak HTTP/2, with all exchanges that wait for the connection.
        case share
        /// Send the request of the exchange.
        case send
        /// Keep the connection for the next exchange.
        case rest
        /// Continue to open the connection, for the exchange that it is opened for.
        case stay
        /// Continue to open the connection, for the first of those that waited to share it.
        case handOver
        /// Continue to open the connection, for the next exchange of its host in this turn.
        case orphan
        /// Close the connection.
        case close
    }

    /// Changes the stage by an event.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - now: The time.
    /// - Returns: The work of the loop; ``Action/close`` comes before ``Event/ended``, unless it is the action of that.
    mutating func transition(_ event: Event, at now: Int64) -> Action {
        switch event {
        case .taken(let exchange):
            switch self {
            case .idle:
                self = .busy(CarriedExchange(exchange))
                return .send
            case .opening(let opening): return opening.take(exchange)
            case .busy, .streaming, .closed: return .none
            }
        case .left(let exchange, let departure):
            switch self {
            case .busy(let carried):
                // A connection on which nothing was sent is as it was.
                guard departure.keeps ?? carried.isUntouched, departure.mayRest else { return .close }
                self = .idle(Rest(since: now))
                return .rest
            case .opening(let opening): return opening.lose(exchange, departure)
            case .idle, .streaming, .closed: return .none
            }
        case .ended:
            if case .closed = self { return .none }
            self = .closed
            return .close
        case .resolved, .reachedTLS, .reachedTunnel, .reachedEnd, .reachedStreams, .joined:
            guard case .opening(let opening) = self else { return .none }
            return open(event, opening, at: now)
        }
    }

    /// Changes the stage of a connection that is being opened.
    private mutating func open(_ event: Event, _ opening: Opening, at now: Int64) -> Action {
        switch (opening.step, event) {
        case (_, .joined(let exchange)): return opening.join(exchange)
        case (.resolving, .resolved(let racing)):
            opening.step = .racing(racing)
            return .race
        case (.racing, .reachedTLS), (.tunnelling, .reachedTLS), (.securing, .reachedTLS):
            opening.step = .securing(isComputing: false)
            return .secure
        case (.racing, .reachedTunnel(let tunnel)), (.securing, .reachedTunnel(let tunnel)):
            opening.step = .tunnelling(tunnel)
            return .tunnel
        case (.racing, .reachedEnd(let mayRest)), (.tunnelling, .reachedEnd(let mayRest)),
            (.securing, .reachedEnd(let mayRest)):
            if let exchange = opening.exchange {
                self = .busy(CarriedExchange(exchange))
                return .send
            }
            guard mayRest else { return .close }
            self = .idle(Rest(since: now))
            return .rest
        case (.racing, .reachedStreams(let session)), (.tunnelling, .reachedStreams(let session)),
            (.securing, .reachedStreams(let session)):
            self = .streaming(Streams(session, after: opening, at: now))
            return .share
        case (.resolving, _), (.racing, _), (.tunnelling, _), (.securing, _): return .none
        }
    }

    /// Withdraws units of a connection without an exchange, for the messages of its peer.
    ///
    /// - Returns: Whether any are left.
    mutating func withdraw(_ units: Int) -> Bool {
        guard case .idle(var rest) = self else { return units < Rest.units }
        rest.units -= units
        self = .idle(rest)
        return rest.units > 0
    }

    /// The stage without what exists in it.
    var life: ConnectionLife {
        switch self {
        case .opening(let opening):
            switch opening.step {
            case .resolving: .resolving
            case .racing: .racing
            case .tunnelling: .tunnelling
            case .securing: .securing
            }
        case .idle: .idle
        case .busy: .busy
        case .streaming: .streaming
        case .closed: .closed
        }
    }
}

/// The names of the stages of a connection, with the steps of its opening.
enum ConnectionLife: CaseIterable {
    /// The name of the host is looked up.
    case resolving
    /// Connections to the host's addresses are attempted.
    case racing
    /// A proxy is asked for a tunnel.
    case tunnelling
    /// The TLS handshake runs.
    case securing
    case idle
    case busy
    case streaming
    case closed
}

/// The parts of a connection that is being opened.
///
/// Used by the loop thread alone.
final class Opening {
    /// A step of the opening.
    enum Step {
        /// The name, once it is looked up.
        case resolving(name: String?)
        case racing(Racing)
        case tunnelling(Tunnel)
        /// Whether a step of the handshake runs on another thread, which has the layer meanwhile.
        case securing(isComputing: Bool)
    }

    /// A step from a connected socket to one that can carry an exchange.
    enum Layer {
        case tls(TLSPeer)
        case tunnel
    }

    @exclusivity(unchecked) fileprivate(set) var step = Step.resolving(name: nil)
    /// The exchange that the connection is opened for; nil when that has left.
    @exclusivity(unchecked) fileprivate(set) var exchange: Exchange?
    /// The exchanges that wait to learn whether they can share it, beside that one.
    @exclusivity(unchecked) fileprivate(set) var joining: [Exchange] = []
    /// Whether it speaks HTTP/2 if its peer does.
    let wantsHTTP2: Bool
    /// The end of the tunnel through the proxy; nil without one.
    @exclusivity(unchecked) var target: Tunnel.Target?
    /// The layers that the connected socket needs before it can carry an exchange, the next first.
    @exclusivity(unchecked) var layers: [Layer]
    /// The bytes that arrived through the tunnel before it was used.
    @exclusivity(unchecked) var surplus: [UInt8] = []

    init(for exchange: Exchange?, through target: Tunnel.Target?, _ layers: [Layer], wantsHTTP2: Bool) {
        self.exchange = exchange
        self.target = target
        self.layers = layers
        self.wantsHTTP2 = wantsHTTP2
    }

    /// Records the name that is looked up.
    func looksUp(_ name: String) { if case .resolving = step { step = .resolving(name: name) } }

    var isComputing: Bool {
        get { if case .securing(let isComputing) = step { isComputing } else { false } }
        set { if case .securing = step { step = .securing(isComputing: newValue) } }
    }

    /// Calls a closure with the tunnel that the proxy is asked for; nil when it is asked for none.
    @discardableResult
    func withTunnel<Result>(_ body: (inout Tunnel) -> Result) -> Result? {
        guard case .tunnelling(var tunnel) = step else { return nil }
        // The only reference meanwhile, so that its bytes are not copied.
        step = .resolving(name: nil)
        defer { step = .tunnelling(tunnel) }
        return body(&tunnel)
    }

    /// Removes and returns the exchanges that wait to share the connection.
    func takeJoining() -> [Exchange] {
        defer { joining = [] }
        return joining
    }

    fileprivate func take(_ exchange: Exchange) -> ConnectionStage.Action {
        guard self.exchange == nil else { return .none }
        self.exchange = exchange
        return .stay
    }

    fileprivate func join(_ exchange: Exchange) -> ConnectionStage.Action {
        joining.append(exchange)
        return .stay
    }

    fileprivate func lose(_ exchange: Exchange, _ departure: ConnectionStage.Departure) -> ConnectionStage.Action {
        guard self.exchange === exchange else {
            joining.removeAll { $0 === exchange }
            return .stay
        }
        self.exchange = nil
        if departure.keeps == nil, !joining.isEmpty {
            self.exchange = joining.removeFirst()
            return .handOver
        }
        return departure.keeps ?? !departure.needsFresh ? .orphan : .close
    }
}

/// The attempts to connect to the addresses of a host, or to a Unix socket.
///
/// Used by the loop thread alone.
final class Racing {
    /// The race of the addresses; nil for a Unix socket.
    @exclusivity(unchecked) var race: AddressRace?
    /// The sockets of the attempts that have not ended, by the index of their address.
    @exclusivity(unchecked) var attempts: [(index: Int, socket: Int32, number: Int)] = []
    /// When a Unix socket whose backlog was full is tried again, and after which delay.
    @exclusivity(unchecked) var retryDue: Int64 = .max
    @exclusivity(unchecked) var backlogDelay: Int64 = 0

    init(_ race: AddressRace?) { self.race = race }

    /// When the loop must look at the attempts.
    var due: Int64 { min(retryDue, race?.due ?? .max) }
}

/// Whether a connection can carry another exchange after this one (RFC 9112 §9.3), and for how long it may be idle.
struct Reuse: Equatable {
    var isPossible: Bool
    /// The idle time that the server announced, in nanoseconds, a second less than it said; nil without.
    var life: Int64?

    /// - Parameters:
    ///   - head: The final head.
    ///   - request: The fields of the request.
    ///   - isWhole: Whether the response was complete by its framing, without surplus, and the request completely sent.
    init(_ head: HeadVetting.Head, request: Headers, isWhole: Bool) {
        isPossible =
            isWhole && head.version == .http1_1 && !Self.hasClose(head.headers) && !Self.hasClose(request)
        life = isPossible ? head.headers.all("Keep-Alive").compactMap(Self.announcedLife).min() : nil
    }

    /// Whether `close` is among the options of any `Connection` field.
    private static func hasClose(_ headers: Headers) -> Bool {
        headers.all("Connection").contains { value in
            value.utf8.split(separator: 0x2C).contains { option in
                let name = option.filter { $0 != 0x20 && $0 != 0x09 }
                return name.count == 5 && zip(name, "close".utf8).allSatisfy { $0.lowercasedASCII == $1 }
            }
        }
    }

    /// `timeout=n`: the connection is closed a second before the server closes it.
    private static func announcedLife(_ value: String) -> Int64? {
        for part in value.utf8.split(separator: 0x2C) {
            let text = part.filter { $0 != 0x20 && $0 != 0x09 }
            let name = "timeout=".utf8
            guard text.count > name.count, zip(text, name).allSatisfy({ $0.lowercasedASCII == $1 }),
                let digits = Optional(String(decoding: text.dropFirst(name.count), as: UTF8.self)),
                let seconds = Int64(digits)
            else { continue }
            return max(0, min(seconds, 86_400) - 1) * 1_000_000_000
        }
        return nil
    }
}
