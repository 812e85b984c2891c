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
    func poolKey(_ exchange: Exchange) -> Int {
        2 * exchange.hostIdentity + (mayShare(exchange) == exchange.isSecure ? 0 : 1)
    }

    /// Places an exchange on a connection that others use or open; false when it needs one of its own.
    func share(_ exchange: Exchange) -> Bool {
        guard mayShare(exchange), !exchange.needsFreshConnection else { return false }
        let key = poolKey(exchange)
        let usable = pool.streaming(key).filter(isUsable(forStream:))
        if let connection = usable.first(where: { $0.streams?.session.life.isDoubtful == false }) ?? usable.first,
            let streams = connection.streams
        {
            exchange.wasReused = streams.wasUsed
            openStream(exchange, streams, connection)
            return true
        }
        let isKnown = negotiated.choice(key, at: now)
        guard isKnown != .http1_1, isKnown != nil || admission.awaitsSharing(host: exchange.hostNumber),
            let opening = openings[key]?.first(where: { $0.exchange != nil })
        else { return false }
        exchange.wasReused = false
        exchange.carrier = opening
        live(opening, .joined(exchange))
        return true
    }

    /// Whether a connection takes a stream.
    ///
    /// Unread bytes on a connection without streams may be its end.
    private func isUsable(forStream connection: Connection) -> Bool {
        if let streams = connection.streams, streams.carried.isEmpty {
            work.beginConnection()
            receiveStreams(streams, connection, TurnBudget(readyConnections: 1))
        }
        return connection.streams?.session.life.canOpen == true
    }

    /// Ends the wait for a connection that is open, or will not be.
    func leaveOpenings(_ connection: Connection, _ opening: Opening) {
        guard opening.wantsHTTP2, var list = openings[connection.key] else { return }
        list.removeAll { $0 === connection }
        openings[connection.key] = list.isEmpty ? nil : list
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
        negotiated.note(.http1_1, connection.key, at: now)
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

extension Exchange {
    /// Whether it has started and has not ended.
    fileprivate var isRunning: Bool { if case .running = phase { true } else { false } }
}
