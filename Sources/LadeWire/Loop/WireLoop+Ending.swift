#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore
import LadeExchange

// How an exchange ends, and what becomes of its connection.
extension WireLoop {
    /// Ends the exchange when both halves have ended.
    func complete(_ carried: CarriedExchange, _ connection: Connection) {
        let exchange = carried.exchange
        guard let head = exchange.head else { return }
        // A response to a part of a head is complete, and the connection cannot be used again.
        if carried.http.sending == .head, connection.hasUnsent { stopUpload(carried, connection) }
        let isSent = carried.http.sending.hasEnded && !connection.hasUnsent
        guard isSent || carried.http.sending == .stopped else {
            updateDue(connection)
            return markDirty(connection)
        }
        let isWhole = !carried.http.hasSurplus && carried.http.sending == .done && !connection.wasReset
        let reuse = Reuse(head, request: exchange.request.headers, isWhole: isWhole)
        if let life = reuse.life { connection.idleLife = min(idleLife, life) }
        end(exchange, nil, keepsConnection: reuse.isPossible)
    }

    /// Ends an exchange that has a connection.
    ///
    /// - Parameters:
    ///   - exchange: The exchange.
    ///   - error: Its error; nil when the response is complete.
    ///   - keepsConnection: Whether the connection can be used again; nil lets its state decide.
    func end(_ exchange: Exchange, _ error: LoadingError?, keepsConnection: Bool? = nil) {
        guard case .running = exchange.phase else { return }
        let connection = exchange.connection
        let metrics = metrics(exchange, connection)
        if exchange.streamNumber > 0 {
            leaveStream(exchange)
            removeRunning(exchange)
        } else {
            exchange.carrier = nil
            removeRunning(exchange)
            if let connection { release(connection, exchange, keepsConnection) }
        }
        finish(exchange, error, metrics)
        admitted += admission.end(host: exchange.hostNumber, kind: kind(exchange))
        hasFreed = true
    }

    func removeRunning(_ exchange: Exchange) {
        let last = running.removeLast()
        guard last !== exchange else { return }
        running[exchange.index] = last
        last.index = exchange.index
    }

    private func release(_ connection: Connection, _ exchange: Exchange, _ keeps: Bool?) {
        let departure = ConnectionStage.Departure(
            keeps: keeps,
            needsFresh: exchange.needsFreshConnection,
            mayRest: connection.idleLife > 0
        )
        live(connection, .left(exchange, departure))
    }

    // MARK: - The life of a connection

    /// Changes the stage of a connection, and does what follows from it.
    func live(_ connection: Connection, _ event: ConnectionStage.Event) {
        switch connection.live(event, at: now) {
        case .none: break
        case .race: beginRace(connection)
        case .secure, .tunnel: beginLayer(connection)
        case .share: if let streams = connection.streams { beginStreams(streams, connection) }
        case .send: if let carried = connection.carried { send(carried, connection) }
        case .rest: keep(connection)
        case .stay: updateDue(connection)
        case .handOver:
            connection.meter = OverheadMeter(at: now)
            updateDue(connection)
        case .orphan:
            pool.orphans(key: connection.key)
            updateDue(connection)
        case .close: close(connection)
        }
    }

    /// Sends a request again on another connection.
    func sendAgain(_ exchange: Exchange, _ connection: Connection, isFresh: Bool) {
        exchange.carrier = nil
        close(connection)
        exchange.needsFreshConnection = isFresh
        place(exchange)
    }

    /// Keeps an open connection for the next exchange.
    private func keep(_ connection: Connection) {
        connection.output.removeAll()
        watch(connection, reads: true, writes: false)
        pool.rests(connection, key: connection.key)
        updateDue(connection)
        guard let tls = connection.tls else { return }
        if tls.hasInput { rest(connection) } else { tls.rest() }
    }

    /// Closes a connection, whatever it does; its exchange must have left it.
    func close(_ connection: Connection) {
        let stage = connection.stage
        // Before the stage ends, because exchanges find their streams in it.
        if case .streaming(let streams) = stage { endStreams(streams, connection) }
        guard connection.live(.ended, at: now) == .close else { return }
        if case .opening(let opening) = stage { abandon(opening, connection) }
        endLayer(connection, stage)
        connection.due = .max
        hasFreed = true
        if connection.socket >= 0 {
            watched[connection.number] = nil
            system.close(connection.socket)
            connection.socket = -1
        }
        pool.closes(connection, key: connection.key)
    }

    /// Ends the look-up and the attempts of a connection that is closed before it is open.
    private func abandon(_ opening: Opening, _ connection: Connection) {
        switch opening.step {
        case .resolving(let name):
            guard resolving.removeValue(forKey: connection.number) != nil, let name else { return }
            resolver.leave(name, connection.number)
        case .racing(let racing): closeAttempts(of: racing)
        case .tunnelling, .securing: break
        }
    }

    /// Ends an exchange with an outcome, and resumes its tasks at the end of this turn.
    func finish(_ exchange: Exchange, _ error: LoadingError?, _ metrics: Response.Metrics) {
        let wakening = exchange.finish(error, metrics: metrics)
        if let reader = wakening.reader { resume(reader, .direct) }
        if let caller = wakening.caller { resume(caller, exchange.lane) }
    }

    /// The measurements of an exchange.
    private func metrics(_ exchange: Exchange, _ connection: Connection?) -> Response.Metrics {
        var metrics = Response.Metrics()
        metrics.queued =
            exchange.started > exchange.submitted ? .nanoseconds(exchange.started - exchange.submitted) : nil
        guard let connection else { return metrics }
        let carriage = carriage(of: exchange, connection)
        func offset(_ moment: Int64) -> Int64 { moment == 0 ? 0 : max(1, (moment - exchange.started) / 1_000) }
        metrics.setStages(
            nameLookup: exchange.wasReused ? 0 : offset(connection.resolvedAt),
            connect: exchange.wasReused ? 0 : offset(connection.connectedAt),
            secureConnect: exchange.wasReused ? 0 : offset(connection.securedAt),
            requestStarted: offset(carriage.requestStarted),
            requestSent: offset(exchange.requestSent),
            firstByte: offset(carriage.firstByte),
            total: offset(now)
        )
        metrics.responseHeadBytes = Int64(exchange.headBytes)
        metrics.responseBodyBytes = carriage.received
        metrics.decodedBodyBytes = exchange.bodyBytes
        metrics.contentEncoding = exchange.decodedCodings
        metrics.version = exchange.version
        guard carriage.hasSent else { return metrics }
        metrics.requestHeadBytes = Int64(carriage.headBytes)
        metrics.requestBodyBytes = carriage.sent
        metrics.isReusedConnection = exchange.wasReused
        if case .address(let address, let port) = connection.endpoint {
            metrics.remoteAddress = address.text
            metrics.remotePort = Int(port)
        }
        return metrics
    }

    private func carriage(of exchange: Exchange, _ connection: Connection) -> Carriage {
        switch connection.stage {
        case .busy(let carried): carried.carriage
        case .streaming(let streams): streams.carried[exchange.streamNumber]?.carriage ?? Carriage()
        case .opening, .idle, .closed: Carriage()
        }
    }
}
