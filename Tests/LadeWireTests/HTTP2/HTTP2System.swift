import CNghttp2
import Testing

@testable import LadeWire

/// A system without threads, sockets and real time, in which each connection meets a server of HTTP/2 in clear text.
final class HTTP2System: WireSystem {
    /// A connection with the bytes on their way to the client.
    final class Peer {
        let server: HTTP2Server
        fileprivate var number = 0
        fileprivate var reads = false
        fileprivate var writes = false
        fileprivate var outbound: [UInt8] = []
        fileprivate var inbound: [UInt8] = []
        fileprivate var answered: Set<Int32> = []
        /// How many bytes have arrived at the client.
        fileprivate(set) var arrived = 0
        fileprivate(set) var isOver = false

        fileprivate init(_ server: HTTP2Server) { self.server = server }

        /// Sends what the server has made so far before anything that it makes later.
        func flush() { outbound += server.send() }

        /// Ends the connection after what has been sent.
        func end() { isOver = true }
    }

    private(set) var time: Int64 = 1
    private var sockets: [Int32: Peer] = [:]
    private(set) var peers: [Peer] = []
    private let makeServer: () -> HTTP2Server
    /// Called for each request that a server has received whole.
    private let respond: (HTTP2System, Peer, Int32) -> Void
    /// After how many bytes of the server each connection ends.
    var cut: Int?
    /// How many bytes arrive at once.
    var piece = Int.max
    /// Whether the clock moves to the time that the loop waits for when nothing is on its way.
    var letsTimePass = false
    /// Whether the sockets take no bytes.
    var isFull = false
    /// The most calls on one socket between two waits.
    private(set) var mostSends = 0
    private(set) var mostReceives = 0
    private var sends: [Int32: Int] = [:]
    private var receives: [Int32: Int] = [:]
    let wakeUpDescriptor: Int32 = -1

    init(
        server: @escaping () -> HTTP2Server = { HTTP2Server() },
        respond: @escaping (HTTP2System, Peer, Int32) -> Void
    ) {
        makeServer = server
        self.respond = respond
    }

    var openSockets: Int { sockets.count }

    func now() -> Int64 { time }

    func timeAsleep() -> Int64 { 0 }

    func connect(to endpoint: Endpoint) -> Result<Int32, SystemError> {
        let peer = Peer(makeServer())
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
        receives[socket, default: 0] += 1
        guard peer.inbound.isEmpty else {
            let count = min(buffer.count, peer.inbound.count)
            buffer.copyBytes(from: peer.inbound[..<count])
            peer.inbound.removeFirst(count)
            return .bytes(count)
        }
        return peer.isOver && peer.outbound.isEmpty ? .ended : .wouldBlock
    }

    func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult {
        guard let peer = sockets[socket] else {
            Issue.record("a closed socket was written")
            return .failed(9)
        }
        sends[socket, default: 0] += 1
        guard !isFull else { return .wouldBlock }
        peer.server.receive(Array(bytes))
        for stream in peer.server.order where peer.server.streams[stream]?.isComplete == true {
            if peer.answered.insert(stream).inserted { respond(self, peer, stream) }
        }
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
        mostSends = max(mostSends, sends.values.max() ?? 0)
        mostReceives = max(mostReceives, receives.values.max() ?? 0)
        sends = [:]
        receives = [:]
        var isStirring = false
        for peer in sockets.values {
            peer.outbound += peer.server.send()
            let count = min(piece, peer.outbound.count, cut.map { $0 - peer.arrived } ?? .max)
            peer.inbound += peer.outbound[..<count]
            peer.outbound.removeFirst(count)
            peer.arrived += count
            if let cut, peer.arrived == cut {
                peer.outbound = []
                peer.isOver = true
            }
            if count > 0 { isStirring = true }
        }
        for peer in sockets.values.sorted(by: { $0.number < $1.number }) {
            let isReadable = peer.reads && (!peer.inbound.isEmpty || (peer.isOver && peer.outbound.isEmpty))
            let isWritable = peer.writes && !isFull
            guard isReadable || isWritable else { continue }
            ready.append(
                ReadySocket(number: peer.number, isReadable: isReadable, isWritable: isWritable, isBroken: false)
            )
        }
        time += 1_000
        guard let moment, letsTimePass, ready.isEmpty, !isStirring, moment < .max else { return }
        time = max(time, moment)
    }

    func shutDown() {}
}
