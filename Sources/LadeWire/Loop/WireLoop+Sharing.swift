import LadeCore
import LadeExchange

// The exchanges that share an HTTP/2 connection, and the wait for a connection that is being opened.
extension WireLoop {
    /// Whether an exchange may share a connection with others: by negotiation over TLS, by prior knowledge in clear text.
    func mayShare(_ exchange: Exchange) -> Bool {
        exchange.isSecure
            ? exchange.request.version != .http1_1 && !exchange.isDowngraded
            : exchange.request.version == .http2PriorKnowledge
    }

    /// The key of the pool: exchanges of a host that demand different protocols never share a connection.
    func poolKey(_ exchange: Exchange, mayShare: Bool) -> Int {
        2 * exchange.hostIdentity + (mayShare == exchange.isSecure ? 0 : 1)
    }

    /// Whether a connection takes a stream.
    ///
    /// Unread bytes on a connection without streams may be its end.
    func isUsable(forStream connection: Connection) -> Bool {
        if let streams = connection.streams, streams.carried.isEmpty {
            work.beginConnection()
            receiveStreams(streams, connection, TurnBudget(readyConnections: 1))
        }
        return connection.room != .none
    }

    /// Removes and returns the exchanges that wait to share a connection.
    func takeJoining(of opening: Opening) -> [Exchange] {
        let joining = opening.takeJoining()
        for exchange in joining { exchange.carrier = nil }
        return joining
    }

    /// Places exchanges anew that cannot share a connection.
    func reopen(_ exchanges: [Exchange]) {
        for exchange in exchanges where exchange.isRunning { place(exchange) }
    }

    /// Records that a connection that might have been shared speaks HTTP/1.1.
    func sharesNothing(_ connection: Connection, _ opening: Opening) {
        pool.negotiated.note(.http1_1, connection.key, at: now)
        let joining = takeJoining(of: opening)
        if let exchange = opening.exchange ?? joining.first { noteConnection(of: exchange, .none) }
        reopen(joining)
    }

    /// Reports the properties of a host's connection to the admission.
    func noteConnection(of exchange: Exchange, _ multiplexing: Admission.Multiplexing) {
        admitted += admission.noteConnection(isMade: true, host: exchange.hostNumber)
        admitted += admission.learn(multiplexing, host: exchange.hostNumber)
    }
}

extension Connection: Pooled {
    var isAwaited: Bool { opening?.exchange != nil }
    var isShareable: Bool { opening?.wantsHTTP2 == true }

    var room: StreamRoom {
        guard let life = streams?.session.life, life.canOpen else { return .none }
        return life.isDoubtful ? .doubtful : .free
    }

    var idleSince: Int64? {
        switch stage {
        case .idle(let rest): rest.since
        case .streaming(let streams): streams.carried.isEmpty ? streams.idleSince : nil
        case .opening, .busy, .closed: nil
        }
    }
}

extension Exchange {
    /// Whether it has started and has not ended.
    fileprivate var isRunning: Bool { if case .running = phase { true } else { false } }
}
