import LadeCore
import LadeExchange

// The bytes of a connection pass its TLS layer here, if it has one. No other code knows the difference.
extension WireLoop {
    /// How many bytes are encrypted before the socket takes some, at most.
    private static let mostEncrypted = 48 << 10
    /// How much ciphertext may be unsent when more is made.
    private static let mostUnsent = 16 << 10
    /// The units of the first step of a handshake.
    private static let firstUnits = 128
    /// How often one step of a handshake reads the socket.
    private static let mostReads = 8

    // MARK: - Receiving and sending

    /// Receives the bytes that the peer has sent for an exchange, like a socket.
    func receive(from connection: Connection, into space: UnsafeMutableRawBufferPointer) -> IOResult {
        guard let tls = connection.tls else {
            let result = receive(connection, into: space)
            if case .bytes(let count) = result { connection.meter.add(count, .framing) }
            return result
        }
        // Ciphertext without content ends the call after one read of the socket, so that no peer can hold the loop.
        for attempt in 0..<2 {
            var units = work.left
            let result = tls.read(into: space, units: &units)
            work.use(work.left - units)
            noteMessages(tls, connection)
            switch result {
            case .bytes(let count):
                connection.meter.add(-count, .records)
                connection.meter.add(count, .framing)
                return .bytes(count)
            case .ended:
                connection.wasEndAnnounced = true
                return .ended
            case .failed(let fault):
                connection.tlsFault = fault
                return .failed(0)
            case .wantsInput:
                guard work.left > 0 else { return .wouldBlock }
                if attempt == 0, let stop = feed(tls, connection, for: space.count) { return stop }
            }
        }
        return .wouldBlock
    }

    /// Counts the bytes that the peer has sent in TLS beside content.
    private func noteMessages(_ tls: TLSLayer, _ connection: Connection) {
        let messages = tls.takeMessages()
        guard messages.keyUpdates > 0 || messages.others > 0 else { return }
        connection.meter.add(messages.keyUpdates * OverheadMeter.keyUpdate, .keyUpdates)
        connection.meter.add(messages.others * OverheadMeter.ticket, .tickets)
    }

    /// Reads the socket unless it is known to be empty.
    private func receive(_ connection: Connection, into space: UnsafeMutableRawBufferPointer) -> IOResult {
        // The poller reports what follows.
        guard !connection.isDrained else { return .wouldBlock }
        let result = system.receive(connection.socket, into: space)
        if case .bytes(let count) = result {
            connection.isDrained = count < space.count
            connection.intake += count
        }
        return result
    }

    /// Gives a layer the bytes of the socket, about as many as there is room for; the result when there are none.
    private func feed(_ tls: TLSLayer, _ connection: Connection, for room: Int) -> IOResult? {
        // The layer keeps its unread bytes: the memory in which they lie is used again.
        tls.keepInput()
        // A whole record at least, whose padding and tags take room too.
        let most = min(max(room + room / 64, 17 << 10), ciphertext.count)
        let result = receive(connection, into: UnsafeMutableRawBufferPointer(rebasing: ciphertext[..<most]))
        guard case .bytes(let count) = result else { return result }
        connection.meter.add(count, .records)
        tls.feed(UnsafeRawBufferPointer(rebasing: ciphertext[..<count]))
        return nil
    }

    /// Ends the use of the memory that ciphertext was received into, and stores new sessions.
    func settleLayer(_ connection: Connection) {
        guard let tls = connection.tls else { return }
        tls.keepInput()
        if connection.wasReset {
            tls.dropOutput()
        } else if tls.outputCount > 0, connection.isBusy, !connection.writes {
            // The reply to a key update; sent with the next bytes of the exchange, if it has any.
            markDirty(connection)
        }
        guard let peer = connection.layerPeer else { return }
        for session in tls.takeSessions() {
            sessions.store(session, for: peer.sessionKey, isSingleUse: session.isSingleUse)
        }
    }

    /// Records that the socket takes nothing more, and drops the bytes that were prepared for it.
    func noteReset(_ connection: Connection) {
        connection.wasReset = true
        connection.output.removeAll()
        connection.tls?.dropOutput()
    }

    /// Sends bytes of an exchange, like a socket.
    ///
    /// Bytes that are encrypted count as sent; ``pushCiphertext(_:)`` sends those that the socket has not accepted.
    func send(to connection: Connection, _ bytes: UnsafeRawBufferPointer) -> IOResult {
        guard let tls = connection.tls else { return system.send(connection.socket, bytes) }
        if tls.outputCount > Self.mostUnsent, let stop = pushCiphertext(connection) { return stop }
        let count = min(bytes.count, Self.mostEncrypted)
        guard tls.write(UnsafeRawBufferPointer(rebasing: bytes[..<count])) else { return .failed(0) }
        if case .failed(let code) = pushCiphertext(connection) { return .failed(code) }
        return .bytes(count)
    }

    /// Sends ciphertext; nil when none is left.
    func pushCiphertext(_ connection: Connection) -> IOResult? {
        guard let tls = connection.tls else { return nil }
        while tls.outputCount > 0 {
            let result = tls.withOutput { system.send(connection.socket, $0) }
            guard case .bytes(let count) = result else { return result }
            connection.carried?.carriage.hasSent = true
            tls.consumeOutput(count)
        }
        return nil
    }

    // MARK: - The handshake

    /// Begins the handshake on a connected socket, or within the layer that it has.
    func secure(_ connection: Connection, _ opening: Opening, _ peer: TLSPeer) {
        let layer = tls.makeLayer(
            peer,
            // The choice of the peer is `Connection.applicationProtocol`.
            protocols: opening.wantsHTTP2 && !peer.isProxy ? [.http2, .http1_1] : [.http1_1],
            session: sessions.take(for: peer.sessionKey),
            within: connection.tls,
            now: now
        )
        connection.layerPeer = peer
        connection.tls = layer
        let isFirst = opening.surplus.isEmpty && layer?.hasPendingInput != true
        layer?.hold(opening.surplus)
        opening.surplus = []
        guard let layer else { return failSecuring(connection, .refused(0)) }
        // The first step costs little: nothing of the peer is computed with.
        work.use(Self.firstUnits)
        if isFirst { note(layer.handshake(), layer, connection) } else { compute(layer, connection) }
    }

    /// Continues the handshake with the bytes that have arrived.
    func noteSecuring(_ ready: ReadySocket, on connection: Connection) {
        guard let tls = connection.tls else { return failSecuring(connection, .refused(0)) }
        guard connection.opening?.isComputing != true else {
            // The bytes that have arrived wait in the socket.
            guard ready.isBroken else { return watch(connection, reads: false, writes: false) }
            system.ignore(connection.socket)
            connection.isIgnored = true
            return
        }
        connection.isDrained = false
        var hasFed = false
        reading: for _ in 0..<Self.mostReads {
            switch feed(tls, connection, for: TurnBudget.headPiece) {
            case nil: hasFed = true
            case .wouldBlock: break reading
            default:
                // The end is found again, after the bytes before it.
                guard hasFed else { return failSecuring(connection, .ended) }
                break reading
            }
        }
        if hasFed { compute(tls, connection) } else { flushLayer(connection) }
    }

    /// Continues the handshake with what waits in the socket, before a time-out is judged.
    func lookAtHandshake(_ connection: Connection) {
        let number = connection.number
        noteSecuring(ReadySocket(number: number, isReadable: true, isWritable: false, isBroken: false), on: connection)
    }

    /// Takes the next step of a handshake on another thread, because the peer determines its cost.
    private func compute(_ tls: TLSLayer, _ connection: Connection) {
        tls.keepInput()
        connection.opening?.isComputing = true
        let number = connection.number
        system.compute(connection.key) { [inbox] in
            tls.advance()
            inbox.post(.computed(number))
        }
    }

    /// Takes the outcome of a step.
    func computed(_ connection: Connection) {
        guard let opening = connection.opening, opening.isComputing, let tls = connection.tls else { return }
        opening.isComputing = false
        watch(connection, reads: true, writes: false)
        note(tls.advanced, tls, connection)
    }

    private func note(_ step: TLSLayer.Handshake, _ tls: TLSLayer, _ connection: Connection) {
        switch step {
        case .done: secured(connection, tls)
        case .failed(let fault): failSecuring(connection, fault)
        case .wantsInput: flushLayer(connection)
        }
    }

    private func secured(_ connection: Connection, _ tls: TLSLayer) {
        connection.securedAt = now
        if tls.wasSessionRefused, let peer = connection.layerPeer { sessions.removeAll(for: peer.sessionKey) }
        settleLayer(connection)
        nextLayer(connection)
    }

    private func failSecuring(_ connection: Connection, _ fault: TLSFault) {
        connection.tlsFault = fault
        guard connection.layerPeer?.isProxy == true, let proxy = connection.proxy else {
            return fail(connection, .tls(fault, host: connection.exchange?.host ?? ""))
        }
        fail(connection, .proxyTLS(fault, proxy: proxy.name, host: proxy.host))
    }

    /// Sends the ciphertext of a connection that has no exchange in progress.
    func flushLayer(_ connection: Connection) {
        let life = connection.life
        guard life == .securing || life == .idle else { return }
        var isBlocked = false
        switch pushCiphertext(connection) {
        case nil: break
        case .wouldBlock: isBlocked = true
        case _ where life == .idle: return close(connection)
        // Reading finds the end, and the bytes that the peer sent before it.
        default: noteReset(connection)
        }
        watch(connection, reads: true, writes: isBlocked)
    }

    // MARK: - Without a request

    /// The arrivals on an open connection before its first request.
    func bytesBeforeRequest(_ connection: Connection) -> Arrivals {
        guard connection.tls != nil else { return system.peek(connection.socket) }
        connection.isDrained = false
        work.beginConnection()
        let before = work.left
        let result = receive(from: connection, into: scratch)
        let hasUnits = connection.withdraw(before - work.left)
        connection.intake = 0
        settleLayer(connection)
        // A few tickets, and no more.
        guard hasUnits else { return .end }
        return switch result {
        case .bytes: .bytes
        case .wouldBlock: .nothing
        case .ended, .failed: .end
        }
    }

    /// Handles the bytes that have arrived on an idle connection: nothing but messages of TLS itself leaves it open.
    func rest(_ connection: Connection) {
        // A report may be older than the end of the exchange: the bytes that it announced were read since.
        guard bytesBeforeRequest(connection) == .nothing else { return close(connection) }
        flushLayer(connection)
        connection.tls?.rest()
    }

    /// Whether an idle connection can carry another exchange.
    func isUsable(_ connection: Connection) -> Bool {
        var arrivals = system.peek(connection.socket)
        if arrivals == .bytes, connection.tls != nil {
            rest(connection)
            guard connection.isIdle else { return false }
            arrivals = system.peek(connection.socket)
        }
        // The content of a partial record is not known yet.
        return arrivals == .nothing && connection.tls?.hasPartialRecord != true
    }

    // MARK: - The end

    /// Ends the layer of a connection that is closed, with one attempt to send its last message to the peer.
    ///
    /// - Parameters:
    ///   - connection: The connection.
    ///   - stage: Its last stage.
    func endLayer(_ connection: Connection, _ stage: ConnectionStage) {
        guard let tls = connection.tls else { return }
        var isEstablished = true
        if case .opening(let opening) = stage {
            isEstablished = false
            // Another thread has the layer, and releases it.
            guard !opening.isComputing else { return connection.tls = nil }
        }
        settleLayer(connection)
        // An alert of OpenSSL, or the end; never a part of a request.
        let isSpeakable = !isEstablished || connection.tlsFault != nil || !connection.hasUnsent
        if isSpeakable {
            tls.close()
            _ = tls.withOutput { $0.isEmpty ? .wouldBlock : system.send(connection.socket, $0) }
        }
        connection.tls = nil
    }
}

extension TLSPeer {
    /// The peer of an exchange: the host of its address, wherever the connection leads.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` for a host that no certificate can have.
    init(_ exchange: Exchange) throws(LoadingError) {
        guard let normal = NormalHost(exchange.host) else {
            throw LoadingError(
                .invalidRequest(.url(exchange.context.url ?? "", reason: "its host is none")),
                exchange.context
            )
        }
        // The zone of an address is no part of its name.
        let host = normal.text.prefix { $0 != "%" }
        self.init(host: String(host), isAddress: normal.isAddress, sessionKey: exchange.hostKey)
    }
}
