import CNghttp2
import COpenSSL
import LadeCore

@testable import LadeWire

/// A server of HTTP/2, which nghttp2 speaks.
///
/// Used by one thread at a time.
final class HTTP2Peer: SimulatedPeer, @unchecked Sendable {
    /// What the server sends on the stream of one target.
    struct Answer {
        /// An interim status, when the head of the request has arrived.
        var interim: Int?
        /// Whether the final head is sent when the head of the request has arrived.
        var isEarly = false
        var status = 200
        var fields: [(String, String)] = []
        /// Nil when the head ends the stream.
        var body: [UInt8]?
        var trailers: [(String, String)] = []
        /// Whether the body has no end.
        var isEndless = false
        /// The code by which the server ends the stream in place of the response.
        var reset: nghttp2_error_code?
        /// The code by which the server ends the stream after the response.
        var resetAfter: nghttp2_error_code?
        /// Whether GOAWAY comes with the response.
        var leaves = false
        /// Whether GOAWAY excludes the stream after its response has begun.
        var excludes = false
    }

    private let server: HTTP2Server
    private let answers: [String: Answer]
    private var begun: Set<Int32> = []
    private var answered: Set<Int32> = []

    init(_ answers: [String: Answer], settings: [(nghttp2_settings_id, UInt32)] = []) {
        self.answers = answers
        server = HTTP2Server(settings: settings)
    }

    let hasEnded = false

    var requests: [SimulatedServer.Seen] {
        server.order.compactMap { number in
            server.streams[number].map {
                SimulatedServer.Seen(head: "", target: Self.target($0), body: $0.body, isWhole: $0.isComplete)
            }
        }
    }

    private static func target(_ stream: HTTP2Server.Received) -> String {
        String(stream.fields.first { $0.hasPrefix(":path: ") }?.dropFirst(7) ?? "")
    }

    func receive(_ bytes: [UInt8]) -> [UInt8] {
        server.receive(bytes)
        for number in server.order {
            guard let stream = server.streams[number], stream.hasHead else { continue }
            let answer = answers[Self.target(stream)] ?? Answer(status: 404)
            if begun.insert(number).inserted {
                if let interim = answer.interim { server.inform(number, interim) }
                if answer.isEarly { respond(number, answer) }
            }
            if stream.isComplete, !answer.isEarly, answered.insert(number).inserted { respond(number, answer) }
        }
        let early = unsent
        unsent = []
        return early + server.send()
    }

    private func respond(_ number: Int32, _ answer: Answer) {
        if let reset = answer.reset { return server.reset(number, reset) }
        if answer.leaves { server.goAway(last: number) }
        server.respond(
            number,
            answer.status,
            answer.fields,
            body: answer.body,
            trailers: answer.trailers,
            ends: !answer.isEndless
        )
        guard answer.resetAfter != nil || answer.excludes else { return }
        unsent += server.send()
        if let code = answer.resetAfter { server.reset(number, code) }
        if answer.excludes { server.goAway(last: max(0, number - 2)) }
    }

    private var unsent: [UInt8] = []
}

/// A server of OpenSSL around another one.
///
/// Used by one thread at a time.
final class SecurePeer: SimulatedPeer, @unchecked Sendable {
    private var inner: any SimulatedPeer
    private let ssl: OpaquePointer
    private let layer: TLSLayer
    private var isOpen = false
    private(set) var hasEnded = false

    /// What it sends for ever once its peer has begun.
    enum Flood {
        case keyUpdates(isAsked: Bool)
        case tickets
        /// Records of one byte of content.
        case bytes
    }

    private let flood: Flood?

    init?(_ inner: any SimulatedPeer, _ server: TLSServer, _ flood: Flood? = nil) {
        self.flood = flood
        guard let ssl = SSL_new(server.context) else { return nil }
        SSL_set_accept_state(ssl)
        guard let layer = TLSLayer(ssl) else { return nil }
        self.inner = inner
        self.ssl = ssl
        self.layer = layer
    }

    var requests: [SimulatedServer.Seen] { inner.requests }

    func receive(_ bytes: [UInt8]) -> [UInt8] {
        bytes.withUnsafeBytes { layer.feed($0) }
        if !isOpen { isOpen = layer.handshake() == .done }
        if isOpen { converse() }
        layer.keepInput()
        let output = layer.withOutput { Array($0) }
        layer.consumeOutput(output.count)
        return output
    }

    func more() -> [UInt8] {
        guard isOpen, !hasEnded else { return [] }
        if let flood {
            guard (inner as? EndlessPeer)?.hasBegun == true else { return [] }
            for _ in 0..<400 { send(flood) }
        } else {
            write(inner.more())
        }
        let output = layer.withOutput { Array($0) }
        layer.consumeOutput(output.count)
        return output
    }

    private func send(_ flood: Flood) {
        switch flood {
        case .keyUpdates(let isAsked):
            SSL_key_update(ssl, isAsked ? SSL_KEY_UPDATE_REQUESTED : SSL_KEY_UPDATE_NOT_REQUESTED)
            SSL_do_handshake(ssl)
        case .tickets:
            SSL_new_session_ticket(ssl)
            SSL_do_handshake(ssl)
        case .bytes: write([0x78])
        }
    }

    private func converse() {
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        // A server of HTTP/2 speaks first.
        write(inner.receive([]))
        while case .bytes(let count) = buffer.withUnsafeMutableBytes({ layer.read(into: $0) }) {
            write(inner.receive(Array(buffer[..<count])))
        }
        guard inner.hasEnded, !hasEnded else { return }
        layer.close()
        hasEnded = true
    }

    private func write(_ bytes: [UInt8]) {
        for start in stride(from: 0, to: bytes.count, by: 16 << 10) {
            _ = bytes[start..<min(bytes.count, start + 16 << 10)].withUnsafeBytes { layer.write($0) }
        }
    }
}

/// The authority, the servers and the client's settings of simulations over TLS.
enum SimulatedRealm {
    // Sendable: they are made once, and OpenSSL guards what servers share.
    nonisolated(unsafe) private static let authority = try? Identity("Root", isAuthority: true)
    nonisolated(unsafe) private static let intermediate = try? Identity(
        "Intermediate",
        issuer: authority,
        isAuthority: true
    )
    nonisolated(unsafe) private static let identity = try? Identity(
        "server",
        names: "IP:10.0.0.1,IP:10.0.0.2,IP:127.0.0.1,IP:::1,DNS:localhost",
        issuer: intermediate
    )
    nonisolated(unsafe) private static let server = make(speaksHTTP2: false)
    nonisolated(unsafe) private static let serverOfHTTP2 = make(speaksHTTP2: true)

    private static func make(speaksHTTP2: Bool) -> TLSServer? {
        guard let identity, let intermediate else { return nil }
        return try? TLSServer(identity, chain: [intermediate], speaksHTTP2: speaksHTTP2)
    }

    /// A server of TLS around another one.
    static func secure(_ inner: any SimulatedPeer) -> any SimulatedPeer {
        secure(inner, speaksHTTP2: inner is HTTP2Peer)
    }

    static func secure(
        _ inner: any SimulatedPeer,
        speaksHTTP2: Bool,
        _ flood: SecurePeer.Flood? = nil
    ) -> any SimulatedPeer {
        let server = speaksHTTP2 ? serverOfHTTP2 : server
        guard let server, let peer = SecurePeer(inner, server, flood) else {
            preconditionFailure("OpenSSL makes no server")
        }
        return peer
    }

    /// A server that sends two hundred certificates of its issuer's name beside its own.
    static func withLongChain(_ inner: any SimulatedPeer) -> any SimulatedPeer {
        guard let serverOfLongChain, let peer = SecurePeer(inner, serverOfLongChain) else {
            preconditionFailure("OpenSSL makes no server")
        }
        return peer
    }

    nonisolated(unsafe) private static let serverOfLongChain: TLSServer? = {
        guard let identity, let intermediate else { return nil }
        let others = (0..<200).compactMap { _ in try? Identity("Intermediate", issuer: intermediate) }
        return try? TLSServer(identity, chain: others + [intermediate])
    }()

    static var authorities: [TransportSettings.TLS.CertificateSource] { authority.map { [.pem($0.pem)] } ?? [] }
}
