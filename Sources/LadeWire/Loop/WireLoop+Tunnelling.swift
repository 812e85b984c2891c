import LadeCore
import LadeExchange

// The layers between a connected socket and the origin: TLS to a proxy, a tunnel through the proxy, TLS to the origin.
extension WireLoop {
    /// How often one step of a tunnel reads the socket.
    private static let mostReads = 8

    /// Begins the next layer of a connection, or gives it its exchange when it has all.
    func nextLayer(_ connection: Connection) {
        switch connection.opening?.layers.first {
        case .tls?: live(connection, .reachedTLS)
        case .tunnel?: if let tunnel = tunnel(of: connection) { live(connection, .reachedTunnel(tunnel)) }
        case nil: opened(connection)
        }
    }

    /// Begins the layer that the connection has reached.
    func beginLayer(_ connection: Connection) {
        guard let opening = connection.opening, !opening.layers.isEmpty else { return }
        switch opening.layers.removeFirst() {
        case .tls(let peer): secure(connection, opening, peer)
        case .tunnel:
            connection.meter = OverheadMeter(at: now)
            opening.withTunnel { connection.output.append(contentsOf: $0.opening) }
            updateDue(connection)
            continueTunnel(connection)
        }
    }

    /// The tunnel that the proxy is asked for.
    private func tunnel(of connection: Connection) -> Tunnel? {
        guard let proxy = connection.proxy, let opening = connection.opening, let target = opening.target else {
            return nil
        }
        guard case .socks5 = proxy.kind else {
            return .connect(connectTunnel(to: target, by: proxy, for: opening.exchange))
        }
        return .socks5(SOCKS5(to: target, credentials: proxy.credentials))
    }

    private func connectTunnel(to target: Tunnel.Target, by proxy: Proxy, for exchange: Exchange?) -> ConnectTunnel {
        let form = exchange?.request.headForm ?? HeadForm()
        let authorization = form.proxyAuthorization?.reveal() ?? proxy.authorization
        return ConnectTunnel(to: target, authorization: authorization, form: form, limits: rules.limits)
    }

    /// Sends and receives the bytes of a tunnel.
    func continueTunnel(_ connection: Connection) {
        connection.isDrained = false
        defer {
            connection.intake = 0
            settleLayer(connection)
        }
        let space = UnsafeMutableRawBufferPointer(rebasing: scratch[..<TurnBudget.headPiece])
        for _ in 0..<Self.mostReads {
            let isBlocked = sendOutput(of: connection)
            switch receive(from: connection, into: space) {
            case .bytes(let count):
                guard take(Array(space[..<count]), connection) else { return }
            case .wouldBlock where work.left <= 0: break
            case .wouldBlock: return watch(connection, reads: true, writes: isBlocked)
            case .ended, .failed: return refuse(connection, .ended)
            }
            if let overhead = connection.meter.fault(at: now, limit: overheadLimit) {
                return refuse(connection, .malformed("it sends \(overhead.name)"))
            }
            guard work.left > 0 else { break }
        }
        markBacklogged(connection)
    }

    /// Sends to the proxy; returns whether the socket takes no more.
    private func sendOutput(of connection: Connection) -> Bool {
        while !connection.output.isEmpty {
            switch connection.output.withUnsent({ send(to: connection, $0) }) {
            case .bytes(let count): connection.output.consume(count)
            case .wouldBlock: return true
            // Reading finds the end, and the bytes that the proxy sent before it.
            case .ended, .failed: return false
            }
        }
        return pushCiphertext(connection) == .wouldBlock
    }

    /// Takes bytes of the proxy; false when the tunnel needs no more.
    private func take(_ bytes: [UInt8], _ connection: Connection) -> Bool {
        var rest = bytes[...]
        while let opening = connection.opening,
            let step = opening.withTunnel({ $0.receive(&rest, opening.exchange?.heads) })
        {
            switch step {
            case .more: return true
            case .send(let bytes): connection.output.append(contentsOf: bytes)
            case .refused(let refusal):
                refuse(connection, refusal)
                return false
            case .open:
                // The next bytes would be sent behind the rest of the request.
                guard connection.output.isEmpty else {
                    refuse(connection, .malformed("its response precedes the request"))
                    return false
                }
                opening.surplus = Array(rest)
                nextLayer(connection)
                return false
            }
        }
        return false
    }

    private func refuse(_ connection: Connection, _ refusal: Tunnel.Refusal) {
        let name = connection.proxy?.name ?? ""
        fail(connection, .tunnel(refusal, proxy: name, host: connection.exchange?.host ?? ""))
    }
}
