package import LadeCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif
import CWire

/// A connection of bytes with the sockets and the TLS of this module, for protocols other than HTTP.
///
/// It has no loop: its owner waits for ``socket`` with `poll`, and calls it from one thread at a time. There is no proxy and
/// no application protocol.
package final class WireStream {
    /// A numeric address with its port, or a socket in the file system.
    package struct Address: Sendable, Hashable {
        private enum Kind: Hashable {
            case host(SocketAddress, UInt16)
            case path(String)
        }

        private let kind: Kind

        fileprivate init(_ address: SocketAddress, _ port: UInt16) { kind = .host(address, port) }

        /// A socket in the file system.
        package init(path: String) { kind = .path(path) }

        fileprivate var endpoint: Endpoint {
            switch kind {
            case .host(let address, let port): .address(address, port: port)
            case .path(let path): .unix(path: path)
            }
        }
    }

    /// The settings of TLS, checked.
    package struct Security: Sendable {
        fileprivate let context: TLSContext

        /// Checks settings.
        ///
        /// - Throws: `LoadingError.Kind.invalidSetting` naming the setting.
        package init(_ settings: TransportSettings.TLS) throws(LoadingError) {
            context = try TLSContext(settings, now: SystemTime().now.nanoseconds)
            context.load()
        }
    }

    /// How far a connection is.
    package enum Progress: Equatable {
        case pending
        case open
        case failed(String)
    }

    /// The result of a read.
    package enum Read: Equatable {
        case nothing
        case bytes
        case ended
        case failed(String)
    }

    private enum Stage {
        case connecting
        case securing
        case open
        case failed(String)
    }

    /// The descriptor to wait for.
    package let socket: Int32
    private let tls: TLSLayer?
    private let host: String
    private var stage = Stage.connecting
    private var output: [UInt8] = []

    /// Begins to connect.
    ///
    /// - Parameters:
    ///   - address: Where it leads.
    ///   - security: The settings of TLS; nil for none.
    ///   - host: The name that the certificate must have.
    ///   - isAddress: Whether that is a numeric address.
    /// - Throws: The system's reason as `LoadingError.Kind.transport`.
    package init(
        _ address: Address,
        security: Security?,
        host: String,
        isAddress: Bool
    ) throws(LoadingError) {
        let descriptor: Int32
        let code: Int32
        switch address.endpoint {
        case .address(let address, let port):
            descriptor = lade_wire_socket(address.isV6 ? 1 : 0)
            var raw = address.raw
            code = descriptor < 0 ? errno : lade_wire_connect(descriptor, &raw, port)
        case .unix(let path):
            descriptor = lade_wire_unix_socket()
            code = descriptor < 0 ? errno : lade_wire_connect_unix(descriptor, path)
        }
        guard descriptor >= 0, code == 0 || code == EINPROGRESS else {
            if descriptor >= 0 { closeSocket(descriptor) }
            throw LoadingError(.transport(code: Int(code), message: String(cString: strerror(code))))
        }
        socket = descriptor
        self.host = host
        guard let security else {
            tls = nil
            return
        }
        let peer = TLSPeer(host: host, isAddress: isAddress, sessionKey: host)
        let now = SystemTime().now.nanoseconds
        guard let layer = security.context.makeLayer(peer, protocols: [], session: nil, now: now) else {
            closeSocket(descriptor)
            throw LoadingError(.transport(code: 0, message: "no memory for TLS"))
        }
        tls = layer
    }

    deinit {
        tls?.close()
        flushOutput()
        closeSocket(socket)
    }

    /// The addresses that a text writes as numbers, or those of `localhost`; nil when the name must be looked up.
    package static func addresses(of host: String, port: UInt16) -> [Address]? {
        if host == "localhost" { return SocketAddress.loopback.map { Address($0, port) } }
        guard case .address(let address) = SocketAddress.parse(host) else { return nil }
        return [Address(address, port)]
    }

    /// Looks a name up in a thread of its own; no addresses mean failure.
    package static func lookUp(_ name: String, port: UInt16, _ done: @escaping @Sendable ([Address]) -> Void) {
        Resolver.systemLookUp(name) { found in done(found.map { Address($0, port) }) }
    }

    /// Starts a thread that no signal of the program interrupts; 0, or the number of the error.
    package static func startThread(_ body: @escaping @Sendable () -> Void) -> Int32 {
        SystemThread.start {
            body()
            TLSContext.endThread()
        }
    }

    /// A descriptor that ends a wait when 8 bytes are written to it; its owner closes it.
    package static func makeWakeUp() -> Int32 { eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK)) }

    /// How long the system has slept since its start, in nanoseconds.
    package static var timeAsleep: Int64 { lade_wire_time_asleep() }

    /// Whether output waits for the socket.
    package var wantsWrite: Bool {
        if case .connecting = stage { return true }
        return !output.isEmpty || (tls?.outputCount ?? 0) > 0
    }

    /// Continues connecting and the handshake.
    ///
    /// - Parameter isReady: Whether the socket was reported as ready.
    /// - Returns: How far the connection is.
    package func advance(isReady: Bool) -> Progress {
        if case .connecting = stage {
            guard isReady else { return .pending }
            let code = lade_wire_connect_error(socket)
            if code != 0 { return fail(String(cString: strerror(code))) }
            stage = tls == nil ? .open : .securing
        }
        if case .securing = stage, let tls {
            while true {
                switch tls.handshake() {
                case .done: stage = .open
                case .failed(let fault): return fail(fault.detail)
                case .wantsInput:
                    flushOutput()
                    switch receive(tls) {
                    case .bytes: continue
                    case .nothing: return .pending
                    case .ended: return fail("the connection ended within the handshake")
                    case .failed(let reason): return fail(reason)
                    }
                }
                break
            }
            flushOutput()
        }
        if case .failed(let reason) = stage { return .failed(reason) }
        return .open
    }

    /// Appends what has arrived, until the socket would block or much was read.
    package func read(into bytes: inout [UInt8]) -> Read {
        var hasRead = false
        var rest = 64
        while rest > 0 {
            rest -= 1
            switch readOnce(into: &bytes) {
            case .bytes: hasRead = true
            case .nothing: return hasRead ? .bytes : .nothing
            case let end: return hasRead ? .bytes : end
            }
        }
        return .bytes
    }

    /// Sends bytes, or keeps what the socket does not take now.
    package func write(_ bytes: [UInt8]) {
        if let tls {
            _ = bytes.withUnsafeBytes { tls.write($0) }
        } else {
            output += bytes
        }
        flushOutput()
    }

    /// Sends what was kept.
    package func flush() { flushOutput() }

    private func fail(_ reason: String) -> Progress {
        stage = .failed(reason)
        return .failed(reason)
    }

    private func readOnce(into bytes: inout [UInt8]) -> Read {
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
            guard let tls else { return receive(buffer) { bytes.append(contentsOf: $0) } }
            var units = Int.max
            while true {
                switch tls.read(into: buffer, units: &units) {
                case .bytes(let count):
                    bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    return .bytes
                case .ended: return .ended
                case .failed(let fault): return .failed(fault.detail)
                case .wantsInput:
                    let result = receive(tls)
                    guard result == .bytes else { return result }
                }
            }
        }
    }

    private func receive(_ tls: TLSLayer) -> Read {
        withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 16) { buffer in
            receive(buffer) { received in
                tls.feed(received)
                tls.keepInput()
            }
        }
    }

    private func receive(_ buffer: UnsafeMutableRawBufferPointer, _ take: (UnsafeRawBufferPointer) -> Void) -> Read {
        let count = recv(socket, buffer.baseAddress, buffer.count, 0)
        if count > 0 {
            take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            return .bytes
        }
        if count == 0 { return .ended }
        let code = errno
        return code == EAGAIN || code == EINTR ? .nothing : .failed(String(cString: strerror(code)))
    }

    private func flushOutput() {
        if let tls {
            while tls.outputCount > 0 {
                let sent = tls.withOutput { lade_wire_send(socket, $0.baseAddress, $0.count) }
                guard sent > 0 else { return }
                tls.consumeOutput(Int(sent))
            }
            return
        }
        while !output.isEmpty {
            let sent = output.withUnsafeBytes { lade_wire_send(socket, $0.baseAddress, $0.count) }
            guard sent > 0 else { return }
            output.removeFirst(Int(sent))
        }
    }
}

/// Closes a descriptor; a free function, so that no method hides the system's.
private func closeSocket(_ descriptor: Int32) {
    close(descriptor)
}
