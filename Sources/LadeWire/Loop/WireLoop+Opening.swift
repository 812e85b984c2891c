import LadeCore
import LadeExchange

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

// From an admitted exchange to an open connection: the pool's choice, the look-up, the race.
extension WireLoop {
    /// The delays between attempts to connect to a Unix socket whose backlog is full, in nanoseconds: 10 ms, and twice as
    /// much each time.
    private static let firstBacklogDelay: Int64 = 10_000_000
    private static let longestBacklogDelay: Int64 = 1_280_000_000

    /// Gives an admitted exchange a connection.
    func start(_ exchange: Exchange) {
        if case .finished = exchange.phase {
            // It was cancelled in the turn in which it was admitted: the next exchange takes its turn.
            admitted += admission.end(host: exchange.hostNumber, kind: kind(exchange))
            return
        }
        if case .waiting = exchange.phase { endWait(exchange) }
        exchange.phase = .running
        exchange.started = now
        exchange.lastActivity = now
        exchange.index = running.count
        running.append(exchange)
        exchange.announce(skipsCertificates: settings.tls.verification == .unsafelyAcceptEveryCertificate)
        place(exchange)
    }

    /// Places a running exchange on a connection, for its first sending or another one.
    ///
    /// Every request that is sent again comes through here, whatever ended its sending.
    func place(_ exchange: Exchange) {
        guard exchange.prepareForSending() else {
            return end(exchange, exchange.error(.lost(exchange.progress, wasSent: true)))
        }
        let mayShare = mayShare(exchange)
        let key = poolKey(exchange, mayShare: mayShare)
        let demand = ConnectionPool<Connection>.Demand(
            mayShare: mayShare,
            needsFresh: exchange.needsFreshConnection,
            awaitsSharing: mayShare && admission.awaitsSharing(host: exchange.hostNumber)
        )
        while true {
            switch pool.place(key, demand, at: now) {
            case .stream(let connection):
                guard isUsable(forStream: connection), let streams = connection.streams else { continue }
                exchange.wasReused = streams.wasUsed
                return openStream(exchange, streams, connection)
            case .wait(let connection):
                exchange.wasReused = false
                exchange.carrier = connection
                return live(connection, .joined(exchange))
            case .reuse(let connection):
                guard isUsable(connection) else {
                    // Bytes that belong to no request, or the end: nothing was sent, and another connection is taken.
                    close(connection)
                    continue
                }
                exchange.wasReused = true
                return begin(exchange, on: connection)
            case .join(let connection):
                exchange.wasReused = false
                return begin(exchange, on: connection)
            case .open(let closing):
                if let closing { close(closing) }
                exchange.wasReused = false
                return open(for: exchange, key, mayShare: mayShare)
            }
        }
    }

    private func begin(_ exchange: Exchange, on connection: Connection) {
        exchange.carrier = connection
        connection.meter = OverheadMeter(at: now)
        live(connection, .taken(exchange))
    }

    private func open(for exchange: Exchange, _ key: Int, mayShare: Bool) {
        let route: Route
        let proxy: Proxy?
        let target: Tunnel.Target?
        let peer: TLSPeer?
        do throws(LoadingError) {
            route = try Route(exchange)
            proxy = try proxies.proxy(for: exchange)
            target = try proxy?.tunnels(for: exchange) == true ? route.target(exchange) : nil
            peer = try exchange.isSecure ? TLSPeer(exchange) : nil
        } catch {
            return end(exchange, error)
        }
        var layers: [Opening.Layer] = []
        if let peer = proxy?.peer { layers.append(.tls(peer)) }
        if target != nil { layers.append(.tunnel) }
        if let peer { layers.append(.tls(peer)) }
        let opening = Opening(for: exchange, through: target, layers, wantsHTTP2: mayShare)
        let connection = Connection(
            number: nextNumber(),
            key: key,
            route: proxy?.route ?? route,
            proxy: proxy,
            peer: peer,
            idleLife: idleLife,
            opening: opening
        )
        pool.opens(connection, key: key)
        exchange.carrier = connection
        connection.meter = OverheadMeter(at: now)
        switch connection.route {
        case .unix: race(connection, [])
        case .host(let host, _):
            // Without the proxy, if that does not look names up.
            let isOwn = proxy?.kind == .socks5(resolvesNames: false) && target?.address == nil
            lookUp(isOwn ? target?.host ?? host : host, for: connection)
        }
    }

    /// Finds the addresses of a host or of a proxy.
    private func lookUp(_ host: String, for connection: Connection) {
        switch Route.known(host) {
        case .addresses(let addresses): found(addresses, for: connection)
        case .unknownZone:
            let origin = connection.exchange?.host ?? ""
            let proxy = connection.proxy.map {
                WireFault.cannotConnect(host: origin, errno: EHOSTUNREACH, proxy: $0.name)
            }
            fail(connection, proxy ?? .unknownZone(host: origin))
        case .nothing:
            connection.opening?.looksUp(host)
            resolving[connection.number] = connection
            guard let addresses = resolver.ask(host, for: connection.number, at: now) else {
                return updateDue(connection)
            }
            resolving[connection.number] = nil
            found(addresses, for: connection)
        }
    }

    /// Takes the outcome of a look-up.
    func resolved(_ connection: Connection) {
        guard let addresses = resolver.take(connection.number) else { return }
        resolving[connection.number] = nil
        found(addresses, for: connection)
    }

    /// Uses the addresses of a host or of a proxy.
    private func found(_ addresses: [SocketAddress], for connection: Connection) {
        guard let opening = connection.opening else { return }
        let isOfTarget = connection.proxy?.kind == .socks5(resolvesNames: false) && opening.target?.address == nil
        let usable =
            settings.addressFamily.map { family in addresses.filter { $0.isV6 == (family == .v6) } } ?? addresses
        guard let first = usable.first else {
            let proxy = isOfTarget ? nil : connection.proxy
            let fault = proxy.map { WireFault.proxyNotResolved(proxy: $0.name) }
            return fail(connection, fault ?? .nameNotResolved(host: opening.exchange?.host ?? ""))
        }
        guard isOfTarget, case .host(let host, _) = connection.route else { return race(connection, usable) }
        opening.target?.address = first
        lookUp(host, for: connection)
    }

    private func race(_ connection: Connection, _ addresses: [SocketAddress]) {
        var race: AddressRace?
        if case .host = connection.route {
            race = AddressRace(addresses, known: routes.known(connection.route, at: now))
        }
        live(connection, .resolved(Racing(race)))
    }

    /// Begins to attempt connections; a Unix socket has no other address.
    func beginRace(_ connection: Connection) {
        connection.resolvedAt = now
        guard let action = connection.racing?.race?.start(at: now) else { return attempt(connection, 0) }
        carryOut(action, connection)
    }

    /// Carries out the actions of a race.
    func carryOut(_ action: AddressRace.Action, _ connection: Connection) {
        switch action {
        case .wait: updateDue(connection)
        case .connect(let index): attempt(connection, index)
        case .lost(let code):
            if case .host(let host, _) = connection.route { resolver.forget(host) }
            fail(connection, connection.cannotConnect(code))
        }
    }

    private func endpoint(_ connection: Connection, _ index: Int) -> Endpoint? {
        switch connection.route {
        case .unix(let path): .unix(path: path)
        case .host(_, let port): connection.racing?.race.map { .address($0.addresses[index], port: port) }
        }
    }

    private func attempt(_ connection: Connection, _ index: Int) {
        guard let racing = connection.racing, let endpoint = endpoint(connection, index) else { return }
        switch system.connect(to: endpoint) {
        case .success(let socket):
            let number = nextNumber()
            racing.attempts.append((index, socket, number))
            watched[number] = connection
            system.watch(socket, number: number, reads: false, writes: true, isNew: true)
            updateDue(connection)
        case .failure(let error) where error.errno == EMFILE || error.errno == ENFILE:
            withoutDescriptor(connection, index, error.errno)
        case .failure(let error) where error.errno == EAGAIN && racing.race == nil:
            // The backlog of the Unix socket is full.
            let delay = max(2 * racing.backlogDelay, Self.firstBacklogDelay)
            racing.backlogDelay = min(delay, Self.longestBacklogDelay)
            racing.retryDue = now + racing.backlogDelay
            updateDue(connection)
        case .failure(let error): attemptFailed(connection, index, error.errno)
        }
    }

    /// Tries again to connect to a Unix socket whose backlog was full.
    func retryAttempt(_ connection: Connection) {
        connection.racing?.retryDue = .max
        attempt(connection, 0)
    }

    /// Makes room when the process or the system has no descriptor left, or waits for the end of another connection's use.
    private func withoutDescriptor(_ connection: Connection, _ index: Int, _ code: Int32) {
        let superfluous = pool.makeRoom()
        guard superfluous.isEmpty else {
            for connection in superfluous { close(connection) }
            return attempt(connection, index)
        }
        // Those that are open, over HTTP/2 too, will end or become idle.
        let isAlone = !watched.values.contains { $0 !== connection }
        guard let opening = connection.opening, let exchange = opening.exchange,
            connection.racing?.attempts.isEmpty == true, !isAlone
        else {
            return attemptFailed(connection, index, code)
        }
        exchange.carrier = nil
        starving.append(exchange)
        let joining = takeJoining(of: opening)
        let hadFreed = hasFreed
        close(connection)
        // It had no descriptor.
        hasFreed = hadFreed
        reopen(joining)
    }

    private func attemptFailed(_ connection: Connection, _ index: Int, _ code: Int32) {
        guard let racing = connection.racing, let action = racing.race?.failed(code, at: now) else {
            return fail(connection, connection.cannotConnect(code))
        }
        if let address = racing.race?.addresses[index] { routes.failed(address, for: connection.route, at: now) }
        carryOut(action, connection)
    }

    /// Handles the end of an attempt to connect.
    func attemptEnded(_ number: Int, _ connection: Connection) {
        guard let racing = connection.racing, let position = racing.attempts.firstIndex(where: { $0.number == number })
        else { return }
        let attempt = racing.attempts.remove(at: position)
        let code = system.connectError(attempt.socket)
        guard code == 0 else {
            watched[number] = nil
            system.close(attempt.socket)
            return attemptFailed(connection, attempt.index, code)
        }
        if let address = racing.race?.addresses[attempt.index] {
            routes.worked(address, for: connection.route, at: now)
        }
        connection.socket = attempt.socket
        connection.endpoint = endpoint(connection, attempt.index)
        closeAttempts(of: racing)
        connection.connectedAt = now
        if let record = connection.exchange?.heads, let end = system.localEnd(attempt.socket) { record.localEnd = end }
        watched[number] = nil
        watched[connection.number] = connection
        system.watch(attempt.socket, number: connection.number, reads: true, writes: false, isNew: false)
        nextLayer(connection)
    }

    /// Gives an open connection its exchange, or keeps it when that has left.
    func opened(_ connection: Connection) {
        guard let opening = connection.opening else { return }
        // By negotiation over TLS, by prior knowledge in clear text.
        if opening.wantsHTTP2, connection.peer == nil || connection.applicationProtocol == .http2 {
            guard let session = HTTP2Session(rules: rules, known: pool.negotiated.streams(connection.key), at: now)
            else {
                return fail(connection, .lost(.nothing, wasSent: false))
            }
            return live(connection, .reachedStreams(session))
        }
        if opening.wantsHTTP2 { sharesNothing(connection, opening) }
        guard opening.surplus.isEmpty else { return fail(connection, .bytesBeforeRequest) }
        let end = ConnectionStage.Event.reachedEnd(mayRest: connection.idleLife > 0)
        guard opening.exchange != nil else { return live(connection, end) }
        switch bytesBeforeRequest(connection) {
        case .bytes: return fail(connection, .bytesBeforeRequest)
        // Sending finds the end of a connection in clear text, as it always must.
        case .end where connection.tls != nil: return fail(connection, .lost(.nothing, wasSent: false))
        case .end, .nothing: break
        }
        pool.carries(connection, key: connection.key)
        live(connection, end)
    }

    func closeAttempts(of racing: Racing) {
        if !racing.attempts.isEmpty { hasFreed = true }
        for attempt in racing.attempts {
            watched[attempt.number] = nil
            system.close(attempt.socket)
        }
        racing.attempts = []
    }

    /// Closes the connections that are being opened and that no exchange has joined in this turn.
    func closeOrphans() {
        for connection in pool.takeOrphans() { close(connection) }
    }

    /// Fails a connection that could not be opened, with its exchange.
    func fail(_ connection: Connection, _ fault: WireFault) {
        let joining = connection.opening.map(takeJoining(of:)) ?? []
        defer { reopen(joining) }
        if let exchange = connection.opening?.exchange {
            admitted += admission.noteConnection(isMade: false, host: exchange.hostNumber)
        }
        guard let exchange = connection.exchange else { return close(connection) }
        end(exchange, exchange.error(fault), keepsConnection: false)
    }
}

extension Connection {
    /// The fault when no socket could be connected.
    fileprivate func cannotConnect(_ code: Int32) -> WireFault {
        .cannotConnect(host: exchange?.host ?? "", errno: code, proxy: proxy?.name)
    }
}
