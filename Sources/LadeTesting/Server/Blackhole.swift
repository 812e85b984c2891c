#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A port of the loopback interface on which connecting hangs: no connection is accepted, and the queue is full.
///
/// ```swift
/// let hole = try Blackhole()
/// var request = try Request(.get, "http://127.0.0.1:\(hole.port)/")
/// request.timeouts.connect = .milliseconds(100)
/// ```
///
/// Pending connections continue when the value is released.
package final class Blackhole: Sendable {
    /// The port.
    package let port: UInt16
    private let descriptors: [Int32]

    /// Opens a port.
    ///
    /// - Parameter endpoint: The address; a free port of 127.0.0.1 by default.
    /// - Throws: ``SystemCallError`` when it cannot listen there.
    package init(_ endpoint: LoopbackServer.Address = .ipv4()) throws(SystemCallError) {
        let (listener, port) = try Sockets.listen(on: endpoint, backlog: 0)
        self.port = port
        // Linux accepts one more than the backlog, other systems a few more.
        let fillers = (0..<8).compactMap { _ in Sockets.beginConnecting(to: endpoint, port: port) }
        descriptors = fillers + [listener]
    }

    deinit {
        for descriptor in descriptors { Sockets.closeDescriptor(descriptor) }
    }

    /// A server on one address family, and a blackhole on the same port of the other.
    package static func beside(
        isSixDead: Bool,
        handler: @escaping @Sendable (ServerRequest) throws -> ServerResponse
    ) throws -> (LoopbackServer, Blackhole) {
        // A port that is free in one family may be in use in the other.
        for _ in 0..<20 {
            var options = LoopbackServer.Options()
            options.address = isSixDead ? .ipv4() : .ipv6()
            let server = try LoopbackServer(options, handler: handler)
            let endpoint = isSixDead ? LoopbackServer.Address.ipv6(port: server.port) : .ipv4(port: server.port)
            if let hole = try? Blackhole(endpoint) { return (server, hole) }
        }
        throw SystemCallError(operation: "bind the same port in both families", errno: EADDRINUSE)
    }
}
