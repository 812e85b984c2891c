import Testing

@testable import LadeWire

/// A system without threads, sockets and real time: each connection meets a peer that plays a script.
///
/// The test calls `turn()` of the loop. A wait delivers the next piece of every script, and when none is left the clock
/// moves to the time that the loop waits for.
final class SimulatedSystem: WireSystem {
    /// How the peer's script ends.
    enum Ending: CaseIterable {
        /// The peer ends its direction.
        case end
        /// The peer resets the connection.
        case reset
        /// Nothing follows, and the connection stays.
        case stall
    }

    /// What a peer does once the request has arrived.
    struct Script {
        /// What the peer sends, a piece per wait of the loop.
        var pieces: [[UInt8]]
        var ending: Ending
    }

    private struct Socket {
        var script: Script
        var number = 0
        var reads = false
        var writes = false
        var isWatched = false
        var request: [UInt8] = []
        var inbound: [UInt8] = []
        /// Whether the script's pieces are all in `inbound` or read.
        var isOver = false

        /// Whether the head of the request has arrived.
        var isRequested: Bool { String(decoding: request, as: UTF8.self).contains("\r\n\r\n") }
        var isReadable: Bool { !inbound.isEmpty || (isOver && script.ending != .stall) }
    }

    private(set) var time: Int64 = 1
    private var sockets: [Int32: Socket] = [:]
    private var scripts: [Script]
    private var nextSocket: Int32 = 1_000
    /// The number of requests that peers have received.
    private(set) var requests = 0
    /// The times that the loop waited for; the greatest value is for ever.
    private(set) var waits: [Int64] = []
    let wakeUpDescriptor: Int32 = -1

    init(_ scripts: [Script]) {
        self.scripts = scripts
    }

    /// The number of sockets that are open.
    var openSockets: Int { sockets.count }

    func now() -> Int64 { time }

    func connect(to endpoint: Endpoint) -> Result<Int32, SystemError> {
        guard !scripts.isEmpty else { return .failure(SystemError(errno: 111)) }
        nextSocket += 1
        sockets[nextSocket] = Socket(script: scripts.removeFirst())
        return .success(nextSocket)
    }

    func connectError(_ socket: Int32) -> Int32 { 0 }

    func receive(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        guard var state = sockets[socket] else {
            Issue.record("a closed socket was read")
            return .failed(9)
        }
        guard state.inbound.isEmpty else {
            let count = min(buffer.count, state.inbound.count)
            buffer.copyBytes(from: state.inbound[..<count])
            state.inbound.removeFirst(count)
            sockets[socket] = state
            return .bytes(count)
        }
        guard state.isOver else { return .wouldBlock }
        switch state.script.ending {
        case .end: return .ended
        case .reset: return .failed(104)
        case .stall: return .wouldBlock
        }
    }

    func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult {
        guard let wasRequested = sockets[socket]?.isRequested else {
            Issue.record("a closed socket was written")
            return .failed(9)
        }
        sockets[socket]?.request += Array(bytes)
        if !wasRequested, sockets[socket]?.isRequested == true { requests += 1 }
        return .bytes(bytes.count)
    }

    func peek(_ socket: Int32) -> Arrivals {
        guard let state = sockets[socket] else { return .end }
        return !state.inbound.isEmpty ? .bytes : state.isReadable ? .end : .nothing
    }

    func close(_ socket: Int32) {
        if sockets.removeValue(forKey: socket) == nil { Issue.record("a socket was closed twice") }
    }

    func watch(_ socket: Int32, number: Int, reads: Bool, writes: Bool, isNew: Bool) {
        if sockets[socket]?.isWatched == isNew { Issue.record("a registration does not fit what is registered") }
        sockets[socket]?.number = number
        sockets[socket]?.reads = reads
        sockets[socket]?.writes = writes
        sockets[socket]?.isWatched = true
    }

    func ignore(_ socket: Int32) { sockets[socket]?.isWatched = false }

    func wait(until moment: Int64?, into ready: inout [ReadySocket]) {
        for (socket, var state) in sockets where state.isRequested && !state.isOver {
            if state.script.pieces.isEmpty {
                state.isOver = true
            } else {
                state.inbound += state.script.pieces.removeFirst()
            }
            sockets[socket] = state
        }
        for state in sockets.values.sorted(by: { $0.number < $1.number }) where state.isWatched {
            let isReadable = state.reads && state.isReadable
            guard isReadable || state.writes else { continue }
            ready.append(
                ReadySocket(number: state.number, isReadable: isReadable, isWritable: state.writes, isBroken: false)
            )
        }
        time += 1_000
        guard let moment, ready.isEmpty else { return }
        waits.append(moment)
        let isStirring = sockets.values.contains { $0.isRequested && !$0.isOver }
        if !isStirring, moment < .max { time = max(time, moment) }
    }

    func shutDown() {}
}
