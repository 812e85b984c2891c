import COpenSSL
import Foundation
import LadeCore
import Testing

@testable import LadeWire

/// A server of OpenSSL in memory.
final class TLSServer {
    let context: OpaquePointer

    /// Makes a server.
    ///
    /// - Parameters:
    ///   - identity: Its key and certificate.
    ///   - chain: The certificates that it sends besides.
    ///   - version: Its only version; nil for 1.2 and 1.3.
    ///   - clients: The authority of the client certificates that it requires; nil when it asks for none.
    ///   - speaksHTTP2: Whether it chooses HTTP/2.
    /// - Throws: When OpenSSL refuses a part.
    init(
        _ identity: Identity,
        chain: [Identity] = [],
        version: CInt? = nil,
        clients: Identity? = nil,
        speaksHTTP2: Bool = false
    ) throws {
        context = try #require(SSL_CTX_new(TLS_server_method()))
        // The servers of tests may have weak keys.
        SSL_CTX_set_security_level(context, 0)
        lade_tls_set_mode(context)
        _ = lade_tls_set_versions(context, version ?? TLS1_2_VERSION, version ?? 0)
        try #require(SSL_CTX_use_certificate(context, identity.certificate) == 1)
        try #require(SSL_CTX_use_PrivateKey(context, identity.key) == 1)
        for other in chain {
            X509_up_ref(other.certificate)
            SSL_CTX_ctrl(context, SSL_CTRL_EXTRA_CHAIN_CERT, 0, UnsafeMutableRawPointer(other.certificate))
        }
        SSL_CTX_set_session_id_context(context, [1], 1)
        if speaksHTTP2 {
            SSL_CTX_set_alpn_select_cb(
                context,
                { _, chosen, length, offered, count, _ in
                    // The first that the client offers.
                    guard let offered, count > 0 else { return SSL_TLSEXT_ERR_NOACK }
                    chosen?.pointee = offered + 1
                    length?.pointee = offered.pointee
                    return SSL_TLSEXT_ERR_OK
                },
                nil
            )
        }
        if let clients {
            SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
            X509_STORE_add_cert(SSL_CTX_get_cert_store(context), clients.certificate)
        }
    }

    deinit {
        SSL_CTX_free(context)
    }

    func makeLayer(within lower: TLSLayer? = nil) throws -> TLSLayer {
        let ssl = try #require(SSL_new(context))
        SSL_set_accept_state(ssl)
        return try #require(TLSLayer(ssl, within: lower))
    }
}

/// A client and a server that exchange their ciphertext in memory.
final class TLSPair {
    let client: TLSLayer
    /// Keeps the store of authorities, so that other pairs share it.
    private var context: TLSContext?
    let server: TLSLayer
    /// What the client's handshake gave; nil while it lasts.
    private(set) var outcome: TLSLayer.Handshake?
    private(set) var serverOutcome: TLSLayer.Handshake?
    private(set) var received: [UInt8] = []
    /// How the client's last read ended.
    private(set) var lastRead = TLSLayer.Read.wantsInput
    private(set) var serverReceived: [UInt8] = []
    /// The number of bytes that the server has sent.
    private(set) var serverBytes = 0

    init(client: TLSLayer, server: TLSLayer) {
        self.client = client
        self.server = server
    }

    convenience init(
        _ server: TLSServer,
        _ settings: TransportSettings.TLS,
        limits: TransportSettings.ResponseLimits = TransportSettings.ResponseLimits(),
        host: String = "example.com",
        session: TLSSession? = nil
    ) throws {
        let context = try TLSContext(settings, limits: limits, now: 0)
        context.load()
        let isAddress = NormalHost(host)?.isAddress ?? false
        let peer = TLSPeer(host: host, isAddress: isAddress, sessionKey: host)
        let layer = context.makeLayer(peer, protocols: [.http1_1], session: session, now: 0)
        self.init(client: try #require(layer), server: try server.makeLayer())
        self.context = context
    }

    /// Moves all bytes in both directions until neither side has any.
    ///
    /// - Parameters:
    ///   - size: The largest piece of what the client receives.
    ///   - cut: Where else a piece of the server's bytes ends, counted from its first.
    ///   - room: The size of the client's reads.
    func run(pieces size: Int = .max, cut: Int? = nil, room: Int = 64 << 10) {
        advanceClient([], room)
        for _ in 0..<10_000 {
            let toServer = take(client)
            if !toServer.isEmpty { advanceServer(toServer) }
            var toClient = take(server)[...]
            while !toClient.isEmpty {
                var count = min(size, toClient.count)
                if let cut, cut > serverBytes { count = min(count, cut - serverBytes) }
                serverBytes += count
                advanceClient(Array(toClient.prefix(count)), room)
                toClient = toClient.dropFirst(count)
            }
            if toServer.isEmpty, client.outputCount == 0, server.outputCount == 0 { return }
        }
        Issue.record("the pair does not come to rest")
    }

    private func take(_ layer: TLSLayer) -> [UInt8] {
        let bytes = layer.withOutput { Array($0) }
        layer.consumeOutput(bytes.count)
        return bytes
    }

    func advanceClient(_ bytes: [UInt8], _ room: Int = 64 << 10) {
        bytes.withUnsafeBytes { bytes in
            client.feed(bytes)
            if outcome == nil || outcome == .wantsInput { outcome = client.handshake() }
            if outcome == .done { readClient(room) }
            client.keepInput()
        }
    }

    private func readClient(_ room: Int) {
        var buffer = [UInt8](repeating: 0, count: room)
        while true {
            lastRead = buffer.withUnsafeMutableBytes { client.read(into: $0) }
            guard case .bytes(let count) = lastRead else { return }
            received += buffer[..<count]
        }
    }

    private func advanceServer(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { bytes in
            server.feed(bytes)
            if serverOutcome != .done { serverOutcome = server.handshake() }
            var buffer = [UInt8](repeating: 0, count: 64 << 10)
            while serverOutcome == .done {
                guard case .bytes(let count) = buffer.withUnsafeMutableBytes({ server.read(into: $0) }) else { break }
                serverReceived += buffer[..<count]
            }
            server.keepInput()
        }
    }

    /// Lets one side send a text.
    func write(_ text: String, from layer: TLSLayer) {
        let bytes = Array(text.utf8)
        #expect(bytes.withUnsafeBytes { layer.write($0) })
    }

    var text: String { String(decoding: received, as: UTF8.self) }
}

extension TLSLayer {
    /// Reads whatever it costs.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Read {
        var units = Int.max
        return read(into: buffer, units: &units)
    }
}
