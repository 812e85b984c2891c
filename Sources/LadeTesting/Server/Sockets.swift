#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A system call that failed.
public struct SystemCallError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operation, such as `bind 127.0.0.1:80`.
    public let operation: String
    /// The error code of the system.
    public let errno: Int32

    /// The operation and the error message of the system.
    public var description: String {
        "\(operation): \(String(cString: strerror(errno)))"
    }
}

/// The few socket calls that the server needs, the same on every system.
enum Sockets {
    #if canImport(Glibc)
        static let stream = Int32(SOCK_STREAM.rawValue)
        static let sendFlags = Int32(MSG_NOSIGNAL)
        static let dontWait = Int32(MSG_DONTWAIT)
        static let shutWrite = Int32(SHUT_WR)
        static let shutBoth = Int32(SHUT_RDWR)
    #elseif canImport(Musl)
        static let stream = SOCK_STREAM
        static let sendFlags = Int32(MSG_NOSIGNAL)
        static let dontWait = Int32(MSG_DONTWAIT)
        static let shutWrite = SHUT_WR
        static let shutBoth = SHUT_RDWR
    #else
        static let stream = SOCK_STREAM
        static let sendFlags: Int32 = 0
        static let dontWait = MSG_DONTWAIT
        static let shutWrite = SHUT_WR
        static let shutBoth = SHUT_RDWR
    #endif

    /// Opens a listening socket; returns it with its port.
    static func listen(on endpoint: LoopbackServer.Address, backlog: Int32) throws(SystemCallError) -> (
        Int32, UInt16
    ) {
        let descriptor = socket(endpoint.family, stream, 0)
        guard descriptor >= 0 else { throw failure("socket") }
        do throws(SystemCallError) {
            try prepare(descriptor)
            setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
            try bind(descriptor, endpoint)
            guard systemListen(descriptor, backlog) == 0 else { throw failure("listen") }
            return (descriptor, port(of: descriptor))
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// A socket that keeps the port of a listener and refuses connections, once the listener is closed.
    ///
    /// Without it the system gives a closed port to the next socket that asks for any port. A Unix-domain socket
    /// needs none; nil also when the system does not let two sockets have one port.
    static func hold(_ listener: Int32, at address: LoopbackServer.Address) -> Int32? {
        let port = port(of: listener)
        let held: LoopbackServer.Address
        switch address {
        case .ipv4: held = .ipv4(port: port)
        case .ipv6: held = .ipv6(port: port)
        case .unixSocket: return nil
        }
        let descriptor = socket(address.family, stream, 0)
        guard descriptor >= 0 else { return nil }
        // Only now, so that no server shares a port with another one while it listens.
        setOption(listener, SOL_SOCKET, SO_REUSEPORT, 1)
        setOption(descriptor, SOL_SOCKET, SO_REUSEPORT, 1)
        guard (try? prepare(descriptor)) != nil, (try? bind(descriptor, held)) != nil else {
            // The port is free then, as it is for any server that has ended.
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Keeps the descriptor out of child processes, and prevents SIGPIPE.
    static func prepare(_ descriptor: Int32) throws(SystemCallError) {
        guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else { throw failure("fcntl") }
        #if canImport(Darwin)
            setOption(descriptor, SOL_SOCKET, SO_NOSIGPIPE, 1)
        #endif
    }

    static func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32) {
        var value = value
        // A refused option only reduces speed, and the caller cannot do anything about it.
        _ = setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
    }

    /// Makes the next `close` reset the connection.
    static func resetOnClose(_ descriptor: Int32) {
        var value = linger(l_onoff: 1, l_linger: 0)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &value, socklen_t(MemoryLayout<linger>.size))
    }

    static func makePipe() throws(SystemCallError) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw failure("pipe") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    /// Blocks until one of the descriptors can be read or has failed.
    ///
    /// - Parameters:
    ///   - descriptors: The descriptors.
    ///   - milliseconds: The maximum time; -1 for no maximum.
    /// - Returns: The ready sockets; none when the time has passed.
    @discardableResult
    static func waitUntilReadable(_ descriptors: [Int32], milliseconds: Int32 = -1) -> [Bool] {
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            let count = poll(&entries, nfds_t(entries.count), milliseconds)
            if count >= 0 { return entries.map { $0.revents != 0 } }
            guard count < 0, currentErrno == EINTR else { return entries.map { _ in true } }
        }
    }

    /// A socket that has begun to connect and may never finish; nil when the system refused immediately.
    static func beginConnecting(to endpoint: LoopbackServer.Address, port: UInt16) -> Int32? {
        let isSix = if case .ipv6 = endpoint { true } else { false }
        let descriptor = socket(isSix ? AF_INET6 : AF_INET, stream, 0)
        guard descriptor >= 0 else { return nil }
        guard (try? prepare(descriptor)) != nil else {
            // The socket is not usable, as if it could not be created.
            close(descriptor)
            return nil
        }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        if isSix {
            var address = ipv6(port)
            connect(descriptor, &address)
        } else {
            var address = ipv4(port)
            connect(descriptor, &address)
        }
        return descriptor
    }

    private static func connect<Address>(_ descriptor: Int32, _ address: inout Address) {
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                _ = systemConnect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
    }

    private static func systemConnect(
        _ descriptor: Int32,
        _ address: UnsafePointer<sockaddr>,
        _ size: socklen_t
    ) -> Int32 {
        #if canImport(Glibc)
            Glibc.connect(descriptor, address, size)
        #elseif canImport(Musl)
            Musl.connect(descriptor, address, size)
        #else
            Darwin.connect(descriptor, address, size)
        #endif
    }

    /// Whether the other side has closed its sending direction, even if unread bytes remain.
    static func isClosedByPeer(_ descriptor: Int32) -> Bool {
        #if os(Linux)
            // POLLRDHUP of Linux, which not all modules define.
            let hungUp: Int16 = 0x2000
        #else
            let hungUp = Int16(POLLHUP)
        #endif
        var event = pollfd(fd: descriptor, events: hungUp, revents: 0)
        return poll(&event, 1, 0) == 1 && event.revents & (hungUp | Int16(POLLHUP)) != 0
    }

    static func closeDescriptor(_ descriptor: Int32) {
        close(descriptor)
    }

    static var currentErrno: Int32 { errno }

    static func failure(_ operation: String) -> SystemCallError {
        SystemCallError(operation: operation, errno: errno)
    }

    // MARK: - Addresses

    private static func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 {
        #if canImport(Glibc)
            Glibc.listen(descriptor, backlog)
        #elseif canImport(Musl)
            Musl.listen(descriptor, backlog)
        #else
            Darwin.listen(descriptor, backlog)
        #endif
    }

    private static func ipv4(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return address
    }

    private static func ipv6(_ port: UInt16) -> sockaddr_in6 {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        address.sin6_port = port.bigEndian
        address.sin6_addr = in6addr_loopback
        return address
    }

    private static func bind(_ descriptor: Int32, _ endpoint: LoopbackServer.Address) throws(SystemCallError) {
        switch endpoint {
        case .ipv4(let port):
            var address = ipv4(port)
            try bind(descriptor, &address, "127.0.0.1:\(port)")
        case .ipv6(let port):
            setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1)
            var address = ipv6(port)
            try bind(descriptor, &address, "[::1]:\(port)")
        case .unixSocket(let path):
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let bytes = Array(path.utf8)
            guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else {
                throw SystemCallError(operation: "bind \(path)", errno: ENAMETOOLONG)
            }
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            unlink(path)
            try bind(descriptor, &address, path)
        }
    }

    private static func bind<Address>(
        _ descriptor: Int32,
        _ address: inout Address,
        _ name: String
    ) throws(SystemCallError) {
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                systemBind(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        guard result == 0 else { throw failure("bind \(name)") }
    }

    private static func systemBind(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t) -> Int32
    {
        #if canImport(Glibc)
            Glibc.bind(descriptor, address, size)
        #elseif canImport(Musl)
            Musl.bind(descriptor, address, size)
        #else
            Darwin.bind(descriptor, address, size)
        #endif
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
        }
        guard result == 0, storage.ss_family != sa_family_t(AF_UNIX) else { return 0 }
        // The port is at the same offset for both families.
        return withUnsafeBytes(of: &storage) { UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self)) }
    }
}

extension LoopbackServer.Address {
    fileprivate var family: Int32 {
        switch self {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        case .unixSocket: AF_UNIX
        }
    }
}

extension SystemCallError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
