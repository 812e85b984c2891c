@testable import LadeCore
@testable import LadeExchange
@testable import LadeWire

/// What `LadeWire` reads from proxies, and from the environment about them.
extension Target {
    /// The response of an HTTP proxy to CONNECT: the same whole and in pieces of the size that the first byte chooses.
    static let connectTunnel = Target(name: "connect-tunnel") { bytes in
        guard let first = bytes.first else { return }
        let target = Tunnel.Target(host: "a.test", port: 443)
        var limits = TransportSettings.ResponseLimits()
        limits.headBytes = 256
        limits.headFields = 8
        compare(bytes, limits.headBytes) {
            .connect(
                ConnectTunnel(to: target, authorization: first & 0x80 == 0 ? nil : "Basic bWU6cHc=", limits: limits)
            )
        }
    }

    /// The dialogue with a SOCKS 5 proxy, with and without credentials: the same whole and in pieces.
    static let socks5 = Target(name: "socks5") { bytes in
        guard let first = bytes.first else { return }
        let target = Tunnel.Target(host: "a.test", port: 443)
        let credentials = TransportSettings.ProxyChoice.Proxy.Credentials(user: "me", password: "pw")
        // A method, the response about credentials, and one about the connection with a name of 255 bytes.
        compare(bytes, 2 + 2 + 262) {
            .socks5(SOCKS5(to: target, credentials: first & 0x80 == 0 ? nil : credentials))
        }
    }

    /// A proxy's variable, the exceptions and a host, one a line.
    static let proxyEnvironment = Target(name: "proxy-environment") { bytes in
        let texts = lines(bytes).map { String(decoding: $0, as: UTF8.self) }
        guard texts.count >= 3 else { return }
        let (exceptions, ignored) = ProxyExceptions.reading(texts[1])
        expect(exceptions.isEmpty == (ProxyExceptions.list(texts[1]).count == ignored.count), "an entry is lost")
        for entry in ProxyExceptions.list(texts[1]) where !ignored.contains(entry) {
            if let host = NormalHost(entry), !entry.contains(where: { "*./:[%".contains($0) }) {
                expect(exceptions.covers(host.text, port: 80), "“\(entry)” does not except itself")
            }
        }
        if ProxyExceptions.list(texts[1]).contains("*"), NormalHost(texts[2]) != nil {
            expect(exceptions.covers(texts[2], port: 80), "* does not except “\(texts[2])”")
        }
        let environment = EnvironmentProxies(["all_proxy": texts[0], "no_proxy": texts[1]])
        guard let found = environment.proxy(isSecure: true, host: texts[2], port: 443) else { return }
        expect(!exceptions.covers(texts[2], port: 443), "an excepted host has a proxy")
        // What is refused says why; only the claims about what is accepted are checked.
        guard let proxy = try? Proxy(found) else { return }
        expect(NormalHost(proxy.host)?.text == proxy.host, "“\(proxy.host)” is no normal host")
        expect(proxy.port > 0, "a port of 0")
        if case .socks5 = proxy.kind, let credentials = proxy.credentials {
            expect(credentials.user.utf8.count <= 255, "SOCKS 5 has no room for the user name")
        }
    }
}

/// What came of the bytes of a proxy.
private struct TunnelOutcome: Equatable {
    var steps: [Tunnel.Step] = []
    /// The number of bytes that were taken.
    var taken = 0

    init(_ tunnel: Tunnel, _ bytes: [UInt8], piece: Int) {
        var tunnel = tunnel
        var start = 0
        while start < bytes.count {
            let end = min(start + piece, bytes.count)
            var rest = bytes[start..<end]
            var step: Tunnel.Step
            repeat {
                step = tunnel.receive(&rest)
                if step != .more { steps.append(step) }
                if case .send = step { continue }
                break
            } while true
            taken += end - start - rest.count
            guard step == .more else { return }
            expect(rest.isEmpty, "bytes are left although more are wanted")
            start = end
        }
    }
}

/// Compares what comes of a proxy's bytes in one piece and in pieces of the size that the first byte chooses.
private func compare(_ bytes: [UInt8], _ limit: Int, _ make: () -> Tunnel) {
    let piece = Int(bytes[0] & 0x3F) + 1
    let response = Array(bytes.dropFirst())
    let whole = TunnelOutcome(make(), response, piece: max(response.count, 1))
    let parts = TunnelOutcome(make(), response, piece: piece)
    expect(whole.steps == parts.steps, "other steps in pieces: \(whole.steps), \(parts.steps)")
    if whole.steps.last == .open {
        expect(whole.taken == parts.taken, "bytes of the tunnel were taken")
        expect(whole.taken <= limit, "more than the limit was taken")
    }
}
