import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The two ends of the connection on which a request is about to be sent, as libcurl reports them.
struct ConnectionEnds {
    let remote: UnsafePointer<CChar>
    let local: UnsafePointer<CChar>
    let remotePort: CInt
    let localPort: CInt

    /// One number for both ends; connections that are open at the same time have different numbers.
    fileprivate var key: UInt64 {
        // FNV-1a. A peer cannot choose both addresses and both ports.
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        func add(_ byte: UInt8) { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        for text in [remote, local] {
            var next = text
            while next.pointee != 0 {
                add(UInt8(bitPattern: next.pointee))
                next += 1
            }
            add(0)
        }
        for port in [remotePort, localPort] {
            add(UInt8(truncatingIfNeeded: port))
            add(UInt8(truncatingIfNeeded: port >> 8))
        }
        return hash
    }
}

/// The sockets of libcurl's connections, by their two ends.
///
/// libcurl 7.88 reports the addresses and ports that it has chosen for a request, but not the socket. Unix-domain
/// sockets have neither, so they are handled as one group.
struct ConnectionTable {
    private var sockets: [UInt64: Int32] = [:]
    private var keys: [Int32: UInt64] = [:]
    private var unixSockets: Set<Int32> = []

    /// Records a Unix-domain socket that is about to carry its first request.
    mutating func addUnix(_ socket: Int32) { unixSockets.insert(socket) }

    /// Removes a socket that is about to be closed.
    mutating func closing(_ socket: Int32) {
        unixSockets.remove(socket)
        if let key = keys.removeValue(forKey: socket), sockets[key] == socket { sockets[key] = nil }
    }

    /// Finds the new socket with these ends among the sockets that were opened for an exchange, and records it as used.
    ///
    /// - Returns: The socket; nil when none has.
    mutating func name(_ ends: ConnectionEnds, among opened: [Int32]) -> Int32? {
        guard let socket = opened.last(where: { Self.isLocal($0, ends) }) else { return nil }
        let key = ends.key
        sockets[key] = socket
        keys[socket] = key
        return socket
    }

    /// The socket of the connection between these ends, when it has carried a request before.
    func socket(_ ends: ConnectionEnds) -> Int32? { sockets[ends.key] }

    /// Whether the socket's connection has carried a request.
    func isOpen(_ socket: Int32) -> Bool { keys[socket] != nil }

    /// The pending input of Unix-domain sockets: bytes on any of them count for all.
    var unixArrivals: Arrivals { unixSockets.allSatisfy { Arrivals($0) == .nothing } ? .nothing : .unknown }

    private static func isLocal(_ socket: Int32, _ ends: ConnectionEnds) -> Bool {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let isFound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) == 0 }
        }
        guard isFound else { return false }
        return withUnsafePointer(to: &address) { address in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { text in
                let port: in_port_t
                let shown: UnsafePointer<CChar>?
                switch Int32(address.pointee.ss_family) {
                case AF_INET:
                    (port, shown) = address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) { address in
                        var bytes = address.pointee.sin_addr
                        return (
                            address.pointee.sin_port,
                            inet_ntop(AF_INET, &bytes, text.baseAddress, socklen_t(text.count))
                        )
                    }
                case AF_INET6:
                    (port, shown) = address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) { address in
                        var bytes = address.pointee.sin6_addr
                        return (
                            address.pointee.sin6_port,
                            inet_ntop(AF_INET6, &bytes, text.baseAddress, socklen_t(text.count))
                        )
                    }
                default: return false
                }
                guard let shown else { return false }
                return CInt(port.bigEndian) == ends.localPort && strcmp(shown, ends.local) == 0
            }
        }
    }
}

/// The pending input of a socket.
enum Arrivals {
    /// Nothing; the connection is open.
    case nothing
    /// Bytes.
    case bytes
    /// The end of the connection, or an error.
    case end
    /// The state of the socket cannot be read.
    case unknown

    init(_ socket: Int32) {
        var byte: UInt8 = 0
        switch recv(socket, &byte, 1, Int32(truncatingIfNeeded: Int(MSG_PEEK) | Int(MSG_DONTWAIT))) {
        case 0: self = .end
        case 1...: self = .bytes
        default: self = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? .nothing : .end
        }
    }
}
