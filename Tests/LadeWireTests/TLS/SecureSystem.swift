import COpenSSL
import Foundation
import LadeCore
import Testing

@testable import LadeWire

/// A system without threads, sockets and real time, in which each connection meets a server of OpenSSL in memory.
final class SecureSystem: WireSystem {
    /// What a server does.
    enum Step {
        case text(String)
        case closeNotify
        case ticket
        case keyUpdate
        /// It ends the connection once all of its bytes have arrived.
        case end
        /// It resets the connection once all of its bytes have arrived.
        case reset
    }

    /// A proxy before a server.
    struct Proxy {
        /// Its own TLS; nil in clear text.
        var server: TLSServer?
        /// Its response to CONNECT; nil when it answers requests itself.
        var response: String? = "HTTP/1.1 200 OK\r\n\r\n"
        /// Whether it ends the connection after its response.
        var ends = false
    }

    /// What one connection meets.
    struct Plan {
        var server: TLSServer
        /// The proxy before it; nil without one.
        var proxy: Proxy?
        /// What the server does as soon as its handshake is complete.
        var before: [Step] = []
        /// What it does for each request.
        var responses: [[Step]] = []
        /// After how many of its bytes the connection ends; nil for never.
        var cut: Int?
        /// How it ends there: by a reset, or by nothing more; nil for an orderly end.
        var isReset: Bool? = false
        /// How many bytes arrive at once.
        var piece = Int.max
    }

    /// A server with the bytes on their way to the client.
    final class Peer {
        let plan: Plan
        private let ssl: OpaquePointer
        private let layer: TLSLayer
        /// The layer of the proxy before the server.
        private let outer: TLSLayer?
        private var hasTunnel: Bool
        /// What was sent to the proxy itself.
        private(set) var seenByProxy = ""
        /// The heads of requests that the server has received.
        private(set) var seen = ""
        fileprivate var number = 0
        fileprivate var reads = false
        fileprivate var writes = false
        /// Bytes that have not arrived, and those that have.
        fileprivate var outbound: [UInt8] = []
        fileprivate var inbound: [UInt8] = []
        private var arrived = 0
        private var ending: Step?
        fileprivate(set) var isOver = false
        fileprivate var wasReset = false
        private var outcome: TLSLayer.Handshake?
        private var plaintext = ""
        /// The number of requests.
        private(set) var requests = 0
        /// Whether the client has announced its end.
        private(set) var wasEndAnnounced = false
        /// How many bytes complete the client's handshake.
        private(set) var handshakeBytes = 0
        private(set) var sent = 0

        init(_ plan: Plan) throws {
            self.plan = plan
            ssl = try #require(SSL_new(plan.server.context))
            SSL_set_accept_state(ssl)
            outer = try plan.proxy?.server?.makeLayer()
            layer = try #require(TLSLayer(ssl, within: outer))
            hasTunnel = plan.proxy == nil
        }

        var isResumed: Bool { layer.isResumed }
        fileprivate var isReadable: Bool { !inbound.isEmpty || isOver }

        /// Takes bytes of the client.
        fileprivate func take(_ bytes: UnsafeRawBufferPointer) {
            guard hasTunnel else { return takeForProxy(bytes) }
            layer.feed(bytes)
            if outcome != .done {
                let before = sent
                outcome = layer.handshake()
                collect()
                if outcome == .done {
                    // Before TLS 1.3, the server's last message completes the handshake.
                    handshakeBytes = layer.version == "TLSv1.3" ? before : sent
                    for step in plan.before { carryOut(step) }
                }
            }
            var buffer = [UInt8](repeating: 0, count: 16 << 10)
            loop: while outcome == .done {
                switch buffer.withUnsafeMutableBytes({ layer.read(into: $0) }) {
                case .bytes(let count): plaintext += String(decoding: buffer[..<count], as: UTF8.self)
                case .ended:
                    wasEndAnnounced = true
                    break loop
                case .wantsInput, .failed: break loop
                }
            }
            layer.keepInput()
            while let end = plaintext.range(of: "\r\n\r\n") {
                seen += plaintext[..<end.upperBound]
                plaintext.removeSubrange(..<end.upperBound)
                let steps = requests < plan.responses.count ? plan.responses[requests] : []
                requests += 1
                for step in steps { carryOut(step) }
            }
            collect()
        }

        /// Takes bytes that are meant for the proxy.
        private func takeForProxy(_ bytes: UnsafeRawBufferPointer) {
            if let outer {
                outer.feed(bytes)
                _ = outer.handshake()
                var buffer = [UInt8](repeating: 0, count: 16 << 10)
                while case .bytes(let count) = buffer.withUnsafeMutableBytes({ outer.read(into: $0) }) {
                    seenByProxy += String(decoding: buffer[..<count], as: UTF8.self)
                }
                outer.keepInput()
            } else {
                seenByProxy += String(decoding: bytes, as: UTF8.self)
            }
            if seenByProxy.hasSuffix("\r\n\r\n") {
                let isTunnel = plan.proxy?.response != nil
                hasTunnel = isTunnel
                let own = plan.responses.first?.compactMap { if case .text(let text) = $0 { text } else { nil } }
                    .joined()
                let response = Array((plan.proxy?.response ?? own ?? "").utf8)
                if let outer {
                    #expect(response.withUnsafeBytes { outer.write($0) })
                } else {
                    outbound += response
                }
                if plan.proxy?.ends == true { ending = .end }
            }
            guard let outer else { return }
            outbound += outer.withOutput { Array($0) }
            outer.consumeOutput(outer.outputCount)
        }

        private func carryOut(_ step: Step) {
            switch step {
            case .text(let text): #expect(Array(text.utf8).withUnsafeBytes { layer.write($0) })
            case .closeNotify: layer.close()
            case .ticket:
                SSL_new_session_ticket(ssl)
                SSL_do_handshake(ssl)
            case .keyUpdate:
                SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED)
                SSL_do_handshake(ssl)
            case .end, .reset: ending = step
            }
            collect()
        }

        private func collect() {
            let bytes = layer.withOutput { Array($0) }
            layer.consumeOutput(bytes.count)
            outbound += bytes
            sent += bytes.count
        }

        /// Lets the next bytes arrive; false when nothing changes.
        fileprivate func deliver() -> Bool {
            guard !isOver else { return false }
            let count = min(plan.piece, outbound.count, plan.cut.map { $0 - arrived } ?? .max)
            inbound += outbound[..<count]
            outbound.removeFirst(count)
            arrived += count
            if let cut = plan.cut, arrived == cut {
                outbound = []
                guard let isReset = plan.isReset else { return count > 0 }
                isOver = true
                wasReset = isReset
            } else if let ending, outbound.isEmpty {
                isOver = true
                if case .reset = ending { wasReset = true }
            }
            return count > 0 || isOver
        }
    }

    private(set) var time: Int64 = 1
    private var sockets: [Int32: Peer] = [:]
    private var plans: [Plan]
    /// All peers, in the order in which they were connected to.
    private(set) var peers: [Peer] = []
    let wakeUpDescriptor: Int32 = -1
    /// Whether the clock moves to the time that the loop waits for when nothing is on its way.
    var letsTimePass = true

    init(_ plans: [Plan]) {
        self.plans = plans
    }

    var openSockets: Int { sockets.count }

    /// Whether nothing is on its way to the client, or has arrived and was not read.
    var isQuiet: Bool { sockets.values.allSatisfy { $0.outbound.isEmpty && $0.inbound.isEmpty } }

    func now() -> Int64 { time }

    func timeAsleep() -> Int64 { 0 }

    func connect(to endpoint: Endpoint) -> Result<Int32, SystemError> {
        guard !plans.isEmpty, let peer = try? Peer(plans.removeFirst()) else {
            return .failure(SystemError(errno: 111))
        }
        peers.append(peer)
        let socket = Int32(1_000 + peers.count)
        sockets[socket] = peer
        return .success(socket)
    }

    func connectError(_ socket: Int32) -> Int32 { 0 }

    func receive(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        guard let peer = sockets[socket] else {
            Issue.record("a closed socket was read")
            return .failed(9)
        }
        guard peer.inbound.isEmpty else {
            let count = min(buffer.count, peer.inbound.count)
            buffer.copyBytes(from: peer.inbound[..<count])
            peer.inbound.removeFirst(count)
            return .bytes(count)
        }
        return !peer.isOver ? .wouldBlock : peer.wasReset ? .failed(104) : .ended
    }

    func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult {
        guard let peer = sockets[socket] else {
            Issue.record("a closed socket was written")
            return .failed(9)
        }
        if peer.isOver, peer.wasReset { return .failed(32) }
        peer.take(bytes)
        return .bytes(bytes.count)
    }

    func peek(_ socket: Int32) -> Arrivals {
        guard let peer = sockets[socket] else { return .end }
        return !peer.inbound.isEmpty ? .bytes : peer.isOver ? .end : .nothing
    }

    func close(_ socket: Int32) {
        if sockets.removeValue(forKey: socket) == nil { Issue.record("a socket was closed twice") }
    }

    func watch(_ socket: Int32, number: Int, reads: Bool, writes: Bool, isNew: Bool) {
        sockets[socket]?.number = number
        sockets[socket]?.reads = reads
        sockets[socket]?.writes = writes
    }

    func ignore(_ socket: Int32) { sockets[socket]?.reads = false }

    func compute(_: Int, _ work: @escaping @Sendable () -> Void) { work() }

    func wait(until moment: Int64?, into ready: inout [ReadySocket]) {
        var isStirring = false
        for peer in sockets.values where peer.deliver() { isStirring = true }
        for peer in sockets.values.sorted(by: { $0.number < $1.number }) {
            let isReadable = peer.reads && peer.isReadable
            guard isReadable || peer.writes else { continue }
            ready.append(
                ReadySocket(number: peer.number, isReadable: isReadable, isWritable: peer.writes, isBroken: false)
            )
        }
        time += 1_000
        guard let moment, letsTimePass, ready.isEmpty, !isStirring, moment < .max else { return }
        time = max(time, moment)
    }

    func shutDown() {}
}

/// An authority, its server, and the settings that trust it alone.
final class Realm {
    let authority: Identity
    /// The identity of the server at 127.0.0.1.
    let identity: Identity
    var settings = TransportSettings()

    init() throws {
        authority = try Identity("Root", isAuthority: true)
        identity = try Identity("server", names: "IP:127.0.0.1", issuer: authority)
        settings.tls.trustsSystemAuthorities = false
        settings.tls.authorities = [.pem(authority.pem)]
    }

    func server(_ version: CInt? = TLS1_3_VERSION) throws -> TLSServer { try TLSServer(identity, version: version) }
}
