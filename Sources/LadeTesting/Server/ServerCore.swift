#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif
import LadeCore

/// The state that the threads of a ``LoopbackServer`` share.
///
/// The server object only owns it, so that its `deinit` can end the threads.
final class ServerCore: Sendable {
    struct State {
        var isStopped = false
        var hasAcceptThread = false
        var accepted = 0
        var maximumOpen = 0
        /// The open descriptors, by connection.
        var open: [Int: Int32] = [:]
        var connections: [LoopbackServer.Connection] = []
        var requests: [ServerRequest] = []
        var requestCount = 0
        var isAccepting = true
        var isListening = true
    }

    let options: LoopbackServer.Options
    let watched = Watched(State())
    // A leaf lock: it is taken while a signal's lock is held, never the other way round.
    private let stopFlag = Locked(false)
    private let waitedFor = Locked<[ObjectIdentifier: (signal: Signal, count: Int)]>([:])
    private let listener: Int32
    private let wake: (read: Int32, write: Int32)
    private let serve: @Sendable (ServerConnection) throws -> Void

    init(
        listener: Int32,
        options: LoopbackServer.Options,
        serve: @escaping @Sendable (ServerConnection) throws -> Void
    ) throws(SystemCallError) {
        self.listener = listener
        self.options = options
        self.serve = serve
        wake = try Sockets.makePipe()
    }

    var isStopped: Bool { stopFlag.withLock { $0 } }

    // MARK: - Threads

    func start() {
        watched.change { $0.hasAcceptThread = true }
        Threads.start("lade-accept") { self.acceptConnections() }
    }

    /// The faults that `accept` reports while the process or the system lacks descriptors or memory.
    private static let shortages: Set<Int32> = [EMFILE, ENFILE, ENOBUFS, ENOMEM]
    /// The time between two attempts then, in milliseconds.
    private static let shortagePause: Int32 = 10

    private func acceptConnections() {
        var isListening = true
        var held: Int32?
        while true {
            let ready = Sockets.waitUntilReadable(isListening ? [wake.read, listener] : [wake.read])
            if isStopped { break }
            if ready[0] {
                // Otherwise the thread wakes only to stop listening.
                var byte: UInt8 = 0
                _ = read(wake.read, &byte, 1)
                isListening = watched.read(\.isAccepting)
                if !isListening {
                    held = Sockets.hold(listener, at: options.address)
                    stopListening()
                }
                continue
            }
            let descriptor = accept(listener, nil, nil)
            guard descriptor >= 0 else {
                // A connection that cannot be accepted now keeps the listener readable.
                if Self.shortages.contains(Sockets.currentErrno) {
                    Sockets.waitUntilReadable([wake.read], milliseconds: Self.shortagePause)
                }
                continue
            }
            guard (try? Sockets.prepare(descriptor)) != nil else {
                // A descriptor that cannot be prepared is not used; the client sees the connection closed.
                close(descriptor)
                continue
            }
            if options.address.isInternet { Sockets.setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1) }
            if let size = options.sendBuffer { Sockets.setOption(descriptor, SOL_SOCKET, SO_SNDBUF, Int32(size)) }
            begin(descriptor)
        }
        if isListening { stopListening() }
        if let held { close(held) }
        watched.change { $0.hasAcceptThread = false }
    }

    private func stopListening() {
        close(listener)
        watched.change { $0.isListening = false }
    }

    private func begin(_ descriptor: Int32) {
        let index = watched.change { state -> Int? in
            guard !state.isStopped else { return nil }
            let index = state.accepted
            state.accepted += 1
            state.open[index] = descriptor
            // A connection that the client has closed may still be counted when the next one is accepted.
            if state.open.count > state.maximumOpen {
                let count = state.open.values.count { !Sockets.isClosedByPeer($0) }
                state.maximumOpen = max(state.maximumOpen, count)
            }
            if index < options.keptConnections { state.connections.append(LoopbackServer.Connection()) }
            return index
        }
        guard let index else {
            close(descriptor)
            return
        }
        // Without a thread for it the connection is refused, and the server goes on with the next one.
        if !options.startThread({ self.run(index, descriptor) }) {
            end(index, descriptor, ServerConnection(index: index, descriptor: descriptor, core: self)) {
                try $0.reset()
            }
        }
    }

    private func run(_ index: Int, _ descriptor: Int32) {
        let connection = ServerConnection(index: index, descriptor: descriptor, core: self)
        end(index, descriptor, connection) { connection in
            do {
                try serve(connection)
                // The connection ends with its script.
                try connection.close()
            } catch is ServerConnection.Ended {
                // Scripts end with this error.
            } catch {
                // A handler that throws resets its connection; tests use that on purpose.
                try connection.reset()
            }
        }
    }

    /// Ends a connection by its last step, and records how it ended.
    private func end(
        _ index: Int,
        _ descriptor: Int32,
        _ connection: ServerConnection,
        _ last: (ServerConnection) throws -> Void
    ) {
        // A connection that was closed already cannot be reset.
        try? last(connection)
        let ending = connection.ending
        watched.change { state in
            // Closed under the lock: `stop` must not shut down a descriptor number that is in use again.
            close(descriptor)
            state.open[index] = nil
            if index < state.connections.count { state.connections[index].ended = ending }
        }
    }

    // MARK: - Ending

    func stopAccepting() {
        guard !isStopped else { return }
        watched.change { $0.isAccepting = false }
        wakeUp()
        watched.block { $0.isListening ? nil : () }
    }

    func stop() {
        let isFirst = stopFlag.withLock { flag in
            defer { flag = true }
            return !flag
        }
        if isFirst {
            watched.change { state in
                state.isStopped = true
                // Under the lock, so that no descriptor is closed and its number reused meanwhile.
                for descriptor in state.open.values { shutdown(descriptor, Sockets.shutBoth) }
            }
            wakeUp()
            for (signal, _) in waitedFor.withLock({ $0.values.map { ($0.signal, $0.count) } }) { signal.poke() }
        }
        watched.block { !$0.hasAcceptThread && $0.open.isEmpty ? () : nil }
        if isFirst {
            close(wake.read)
            close(wake.write)
            if case .unixSocket(let path) = options.address { unlink(path) }
        }
    }

    private func wakeUp() {
        var byte: UInt8 = 0
        _ = write(wake.write, &byte, 1)
    }

    /// Blocks a connection's thread until the signal is raised; false when the server was stopped.
    func wait(for signal: Signal) -> Bool {
        let key = ObjectIdentifier(signal)
        waitedFor.withLock { $0[key] = (signal, ($0[key]?.count ?? 0) + 1) }
        defer {
            waitedFor.withLock { waited in
                let count = (waited[key]?.count ?? 1) - 1
                waited[key] = count > 0 ? (signal, count) : nil
            }
        }
        return signal.block { isStopped }
    }

    // MARK: - Recording

    func recordHead(_ request: ServerRequest) -> Int? {
        watched.change { state in
            state.requestCount += 1
            guard state.requests.count < options.keptRequests else { return nil }
            state.requests.append(request)
            return state.requests.count - 1
        }
    }

    func completeRecord(_ index: Int, _ request: ServerRequest) {
        watched.change { $0.requests[index] = request }
    }

    func recordReceived(_ bytes: UnsafeRawBufferPointer, _ index: Int) {
        watched.change { state in
            if index < state.connections.count {
                state.connections[index].bytesReceived += Int64(bytes.count)
                let room = options.keptConnectionBytes - state.connections[index].received.count
                if room > 0 { state.connections[index].received.append(contentsOf: bytes.prefix(room)) }
            }
        }
    }

    func recordSent(_ count: Int, _ index: Int) {
        watched.change { state in
            if index < state.connections.count { state.connections[index].bytesSent += Int64(count) }
        }
    }
}
