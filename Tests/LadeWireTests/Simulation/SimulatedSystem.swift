@testable import LadeExchange
@testable import LadeWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A sequence of random numbers for sizes and orders.
struct Weather: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A system without threads, sockets and real time: each connection meets a server that is a value.
///
/// The test calls `turn()` of the loop. A wait delivers what servers sent, and when nothing moves any more the clock
/// advances to the time that the loop waits for.
final class SimulatedSystem: WireSystem, @unchecked Sendable {
    /// The direction of bytes, from the view of the client.
    enum Direction: CaseIterable {
        case inward
        case outward
    }

    /// What happens at one place.
    enum Fault: CaseIterable {
        /// The server ends its direction.
        case end
        /// The server resets the connection.
        case reset
        /// Nothing moves any more in this direction.
        case stall
        /// The bytes from here on come in a later turn.
        case split
        /// From here on, each byte comes alone.
        case crumble
        /// The call is cancelled.
        case cancel
        /// The transport is shut down.
        case shutDown
    }

    /// A fault at a byte of one connection.
    struct Place {
        var connection: Int
        var direction: Direction
        var offset: Int
        var fault: Fault
    }

    /// A call of the system whose outcome is replaced.
    enum SystemCall: Hashable, CaseIterable {
        case connect
        case connectError
        case receive
        case send
        case peek
        case lookUp
    }

    /// The replaced outcome of one call of the system.
    struct Replacement {
        var call: SystemCall
        /// Counted from 0.
        var number: Int
        /// The error number; `EAGAIN` also stands for an interrupted call.
        var errno: Int32
    }

    /// What a client that connects to an endpoint meets.
    enum Welcome {
        case server([String: SimulatedServer.Answer])
        /// A proxy before a server.
        case proxy(SimulatedProxy, [String: SimulatedServer.Answer])
        case peer(any SimulatedPeer)
        /// Connecting fails after a turn.
        case refusal(Int32)
        /// Connecting does not end.
        case silence
    }

    private struct Socket {
        /// The number of the connection in the order of opening.
        let connection: Int
        var server: any SimulatedPeer
        var isSilent = false
        var connectError: Int32 = 0
        var isConnected = false
        var number = 0
        var reads = false
        var writes = false
        var isWatched = false
        /// What the server has sent and the client cannot receive yet.
        var pending: [UInt8] = []
        var inbound: [UInt8] = []
        /// The number of bytes that the client could receive, and of those that the server has received.
        var delivered = 0
        var accepted = 0
        var ends = false
        var isReset = false
        var isStalledInward = false
        var isStalledOutward = false
        /// No byte is accepted before the next wait.
        var isFull = false
        var hasPassedFault = false
        var isBroken: Int32?
        /// The number of waits since it is ready and was not looked at.
        var neglected = 0

        var isReadable: Bool { !inbound.isEmpty || isReset || isBroken != nil || (ends && pending.isEmpty) }
        var isMoving: Bool {
            (!isConnected && !isSilent) || (!pending.isEmpty && !isStalledInward) || isFull
        }
    }

    private(set) var time: Int64 = 1
    /// What a look at the clock takes, in nanoseconds: two readings are never equal, as in reality.
    private static let tick: Int64 = 40
    /// How many calls a turn may make, far above what any does.
    private static let mostSteps = 5_000
    /// The number of calls of this turn.
    private var steps = 0
    /// The largest number of calls of a turn.
    private(set) var longestTurn = 0
    /// The number of calls that have moved bytes or opened something.
    private(set) var moves = 0
    var asleep: Int64 = 0
    private var sockets: [Int32: Socket] = [:]
    private let welcome: (Endpoint) -> Welcome
    private let place: Place?
    private let replacement: Replacement?
    private var random: Weather?
    private var nextSocket: Int32 = 1_000
    private(set) var calls: [SystemCall: Int] = [:]
    private(set) var waits = 0
    /// All closed and open connections: what their servers have seen, and how many bytes moved.
    private(set) var servers: [any SimulatedPeer] = []
    private(set) var delivered: [Int] = []
    private(set) var accepted: [Int] = []
    private(set) var endpoints: [Endpoint] = []
    private(set) var mostOpen = 0
    /// How many bytes each receive returned.
    private(set) var receipts: [Int] = []
    /// The connection of each receive.
    private(set) var receivers: [Int] = []
    /// Called when the place of a cancellation or of the shutdown is reached.
    var onPlace: () -> Void = {}
    /// Called at the beginning of a wait with the time that the loop waits for.
    var onWait: (Int64?) -> Void = { _ in }
    /// Called with what a loop must not do.
    var onFinding: (String) -> Void = { _ in }
    /// Whether a task outside of the loop will post a message.
    var awaitsMessage: () -> Bool = { false }
    /// Whether the clock advances to the time that the loop waits for, when nothing moves.
    var leaps = true
    /// Whether the poller reports nothing.
    var isDeaf = false
    /// Whether what has arrived can be received from a socket whose other direction failed.
    var keepsInboundOfBroken = false
    /// How often the poller was told what to report.
    private(set) var watches = 0
    /// How many sockets the process may have.
    var descriptors = Int.max
    /// The error of every send from now on.
    var sendError: Int32?
    /// What a receive costs, and each byte of it, in nanoseconds.
    var cost: Int64 = 0
    var costOfByte: Int64 = 0
    let wakeUpDescriptor: Int32

    init(
        place: Place? = nil,
        replacement: Replacement? = nil,
        random: Weather? = nil,
        wakeUpDescriptor: Int32 = -1,
        welcome: @escaping (Endpoint) -> Welcome
    ) {
        self.place = place
        self.replacement = replacement
        self.random = random
        self.wakeUpDescriptor = wakeUpDescriptor
        self.welcome = welcome
    }

    convenience init(_ answers: [String: SimulatedServer.Answer]) {
        self.init { _ in .server(answers) }
    }

    /// The number of sockets that are open.
    var openSockets: Int { sockets.count }

    /// Everything that a server has seen of requests, in order of the connections.
    var requests: [SimulatedServer.Seen] { servers.flatMap(\.requests) }

    /// Notes the beginning of a turn.
    func beginTurn() { steps = 0 }

    /// Counts a call of the loop; true in a turn without an end, which the outcome of the call must end.
    private func isEndless() -> Bool {
        steps += 1
        longestTurn = max(longestTurn, steps)
        if steps == Self.mostSteps { onFinding("wire WR-6: a turn has no end") }
        return steps >= Self.mostSteps
    }

    func advance(_ nanoseconds: Int64) { time += nanoseconds }

    /// Ends what a connection receives, as by an idle time-out of the server.
    func endIdle(_ connection: Int) {
        for (socket, state) in sockets where state.connection == connection { sockets[socket]?.ends = true }
    }

    /// Delivers bytes that belong to no request.
    func deliver(_ bytes: [UInt8], on connection: Int) {
        for (socket, state) in sockets where state.connection == connection { sockets[socket]?.inbound += bytes }
    }

    private func replaced(_ call: SystemCall) -> Int32? {
        let number = calls[call, default: 0]
        calls[call] = number + 1
        guard let replacement, replacement.call == call, replacement.number == number else { return nil }
        return replacement.errno
    }

    /// How many bytes are moved of a number that could be.
    private func most(_ count: Int) -> Int {
        guard var random else { return count }
        defer { self.random = random }
        return Int.random(in: 1...count, using: &random)
    }

    private func at(_ direction: Direction, _ state: Socket) -> Place? {
        guard let place, place.direction == direction, place.connection == state.connection else { return nil }
        return place
    }

    // MARK: - The calls of the loop

    func now() -> Int64 {
        time += Self.tick
        return time
    }

    func timeAsleep() -> Int64 { asleep }

    func connect(to endpoint: Endpoint) -> Result<Int32, SystemError> {
        guard !isEndless() else { return .failure(SystemError(errno: ECONNREFUSED)) }
        moves += 1
        if let errno = replaced(.connect) { return .failure(SystemError(errno: errno)) }
        guard sockets.count < descriptors else { return .failure(SystemError(errno: EMFILE)) }
        endpoints.append(endpoint)
        var state: Socket
        switch welcome(endpoint) {
        case .peer(let peer): state = Socket(connection: servers.count, server: peer)
        case .server(let answers): state = Socket(connection: servers.count, server: SimulatedServer(answers))
        case .proxy(let proxy, let answers):
            state = Socket(connection: servers.count, server: SimulatedServer(answers, behind: proxy))
        case .refusal(EAGAIN): return .failure(SystemError(errno: EAGAIN))
        case .refusal(let errno):
            state = Socket(connection: servers.count, server: SimulatedServer([:]))
            state.connectError = errno
        case .silence:
            state = Socket(connection: servers.count, server: SimulatedServer([:]))
            state.isSilent = true
        }
        nextSocket += 1
        servers.append(state.server)
        delivered.append(0)
        accepted.append(0)
        sockets[nextSocket] = state
        mostOpen = max(mostOpen, sockets.count)
        return .success(nextSocket)
    }

    func connectError(_ socket: Int32) -> Int32 {
        if let errno = replaced(.connectError) {
            sockets[socket]?.isBroken = errno
            return errno
        }
        return sockets[socket]?.connectError ?? EBADF
    }

    func receive(_ socket: Int32, into buffer: UnsafeMutableRawBufferPointer) -> IOResult {
        time += cost
        guard !isEndless() else { return .failed(ECONNRESET) }
        guard var state = sockets[socket] else {
            onFinding("a closed socket was read")
            return .failed(EBADF)
        }
        defer { sockets[socket] = state }
        state.neglected = 0
        if let errno = replaced(.receive) {
            if errno == EAGAIN { return .wouldBlock }
            state.isBroken = errno
            return .failed(errno)
        }
        if let errno = state.isBroken, state.inbound.isEmpty || !keepsInboundOfBroken { return .failed(errno) }
        guard state.inbound.isEmpty else {
            var count = min(buffer.count, state.inbound.count)
            count = most(count)
            buffer.copyBytes(from: state.inbound[..<count])
            state.inbound.removeFirst(count)
            receipts.append(count)
            time += costOfByte * Int64(count)
            receivers.append(state.connection)
            moves += 1
            return .bytes(count)
        }
        if state.isReset { return .failed(ECONNRESET) }
        return state.ends && state.pending.isEmpty ? .ended : .wouldBlock
    }

    func send(_ socket: Int32, _ bytes: UnsafeRawBufferPointer) -> IOResult {
        guard !isEndless() else { return .bytes(bytes.count) }
        guard var state = sockets[socket] else {
            onFinding("a closed socket was written")
            return .failed(EBADF)
        }
        defer { sockets[socket] = state }
        if let errno = replaced(.send) {
            if errno == EAGAIN { return .wouldBlock }
            state.isBroken = errno
            return .failed(errno)
        }
        if let sendError { state.isBroken = sendError }
        if let errno = state.isBroken { return .failed(errno) }
        if state.isReset { return .failed(EPIPE) }
        guard !state.isStalledOutward, !state.isFull else { return .wouldBlock }
        var count = bytes.count
        count = most(count)
        if let place = at(.outward, state), !state.hasPassedFault {
            count = min(count, place.offset - state.accepted)
            if count <= 0 { return reachOutward(place, &state, bytes) }
        } else if let place = at(.outward, state), place.fault == .crumble {
            count = 1
            state.isFull = true
        }
        return accept(UnsafeRawBufferPointer(rebasing: bytes[..<count]), &state)
    }

    private func accept(_ bytes: UnsafeRawBufferPointer, _ state: inout Socket) -> IOResult {
        if let proxy = state.server.proxy, proxy.isOpen, state.delivered < proxy.sent {
            onFinding("bytes for the origin were sent before the consent of the proxy")
        }
        state.accepted += bytes.count
        moves += 1
        accepted[state.connection] = state.accepted
        if !state.ends { state.pending += state.server.receive(Array(bytes)) }
        if state.server.hasEnded { state.ends = true }
        servers[state.connection] = state.server
        return .bytes(bytes.count)
    }

    private func reachOutward(_ place: Place, _ state: inout Socket, _ bytes: UnsafeRawBufferPointer) -> IOResult {
        state.hasPassedFault = true
        switch place.fault {
        case .end:
            state.ends = true
            return accept(bytes, &state)
        case .reset:
            state.isReset = true
            return .failed(ECONNRESET)
        case .stall:
            state.isStalledOutward = true
            return .wouldBlock
        case .split, .crumble:
            state.isFull = true
            return .wouldBlock
        case .cancel, .shutDown:
            onPlace()
            state.isFull = true
            return .wouldBlock
        }
    }

    func peek(_ socket: Int32) -> Arrivals {
        if let errno = replaced(.peek) { return errno == EAGAIN ? .nothing : errno == 0 ? .bytes : .end }
        guard let state = sockets[socket] else { return .end }
        sockets[socket]?.neglected = 0
        return !state.inbound.isEmpty ? .bytes : state.isReadable ? .end : .nothing
    }

    func close(_ socket: Int32) {
        if sockets.removeValue(forKey: socket) == nil { onFinding("a socket was closed twice") }
    }

    func watch(_ socket: Int32, number: Int, reads: Bool, writes: Bool, isNew: Bool) {
        if sockets[socket]?.isWatched == isNew { onFinding("a registration does not fit what is registered") }
        watches += 1
        sockets[socket]?.number = number
        sockets[socket]?.reads = reads
        sockets[socket]?.writes = writes
        sockets[socket]?.isWatched = true
    }

    func ignore(_ socket: Int32) { sockets[socket]?.isWatched = false }

    /// Work for another thread; it is done at once unless it is kept.
    private(set) var computations: [@Sendable () -> Void] = []
    var keepsComputations = false

    func compute(_: Int, _ work: @escaping @Sendable () -> Void) {
        if keepsComputations { computations.append(work) } else { work() }
    }

    /// Does the work that was kept.
    func doComputations() {
        let all = computations
        computations = []
        for work in all { work() }
    }

    // MARK: - Names

    /// What the look-up of a name finds, and after how many nanoseconds; nil for never.
    struct Name {
        var addresses: [String]
        var delay: Int64?
    }

    /// The names that are known; others have no addresses.
    var names: [String: Name] = [:]
    /// The look-ups that have not ended.
    private var lookUps: [(due: Int64, addresses: [SocketAddress], done: @Sendable ([SocketAddress]) -> Void)] = []

    func lookUp(_ name: String, _ done: @escaping @Sendable ([SocketAddress]) -> Void) {
        var found = names[name] ?? Name(addresses: [], delay: 0)
        switch replaced(.lookUp) {
        case nil: break
        case ECANCELED: onPlace()
        case ENOENT: found.addresses = []
        default: found.delay = nil
        }
        guard var delay = found.delay else { return }
        if delay > 0, var random {
            delay = Int64.random(in: 0...2 * delay, using: &random)
            self.random = random
        }
        let addresses = found.addresses.compactMap { text -> SocketAddress? in
            if case .address(let address) = SocketAddress.parse(text) { address } else { nil }
        }
        lookUps.append((time + delay, addresses, done))
    }

    /// Forgets the look-ups that never end, each of which holds its loop.
    func forgetLookUps() { lookUps = [] }

    /// Ends the look-ups whose time has come.
    private func endLookUps() {
        let over = lookUps.filter { $0.due <= time }
        lookUps.removeAll { $0.due <= time }
        for lookUp in over { lookUp.done(lookUp.addresses) }
    }

    // MARK: - Waiting

    func wait(until moment: Int64?, into ready: inout [ReadySocket]) {
        waits += 1
        onWait(moment)
        time += 1_000
        defer { endLookUps() }
        let order = sockets.keys.sorted()
        var isMoving = false
        for socket in order {
            guard var state = sockets[socket] else { continue }
            move(&state)
            isMoving = isMoving || state.isMoving
            if state.isWatched, state.reads, state.isConnected, state.isReadable {
                state.neglected += 1
                if state.neglected > 3 { onFinding("a ready connection was not served within two turns") }
            }
            sockets[socket] = state
            if let report = report(state) { ready.append(report) }
        }
        if var random {
            ready.shuffle(using: &random)
            self.random = random
        }
        guard let moment, ready.isEmpty, !isMoving else { return }
        if awaitsMessage() {
            var descriptor = pollfd(fd: wakeUpDescriptor, events: Int16(POLLIN), revents: 0)
            poll(&descriptor, 1, 10_000)
            var count: UInt64 = 0
            read(wakeUpDescriptor, &count, 8)
        } else if leaps {
            let next = min(moment, lookUps.map(\.due).min() ?? .max)
            if next < .max { time = max(time, next) }
        }
    }

    private func report(_ state: Socket) -> ReadySocket? {
        guard state.isWatched, state.isConnected, !isDeaf else { return nil }
        let isBroken = state.isReset || state.isBroken != nil
        let isReadable = state.isReadable && (state.reads || isBroken)
        let isWritable = isBroken || (state.writes && !state.isStalledOutward && !state.isFull)
        guard isReadable || isWritable else { return nil }
        return ReadySocket(
            number: state.number,
            isReadable: isReadable || isBroken,
            isWritable: isWritable,
            isBroken: isBroken
        )
    }

    /// Moves what the server has sent to the client, up to the place of the fault.
    private func move(_ state: inout Socket) {
        state.isFull = false
        guard !state.isSilent else { return }
        guard state.isConnected else {
            state.isConnected = true
            return
        }
        if state.pending.isEmpty, !state.ends, !state.isReset { state.pending = state.server.more() }
        guard let place = at(.inward, state) else { return deliver(state.pending.count, &state) }
        guard state.hasPassedFault else {
            let left = place.offset - state.delivered
            guard left <= state.pending.count, left > 0 || state.accepted > 0 else {
                return deliver(state.pending.count, &state)
            }
            deliver(left, &state)
            state.hasPassedFault = true
            return reachInward(place, &state)
        }
        deliver(place.fault == .crumble ? min(1, state.pending.count) : state.pending.count, &state)
    }

    private func reachInward(_ place: Place, _ state: inout Socket) {
        switch place.fault {
        case .end:
            state.pending = []
            state.ends = true
        case .reset:
            state.pending = []
            state.isReset = true
        case .stall: state.isStalledInward = true
        case .split, .crumble: break
        case .cancel, .shutDown: onPlace()
        }
    }

    private func deliver(_ count: Int, _ state: inout Socket) {
        guard !state.isStalledInward, count > 0 else { return }
        state.inbound += state.pending[..<count]
        state.pending.removeFirst(count)
        state.delivered += count
        delivered[state.connection] = state.delivered
    }

    func shutDown() {}
}
