#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// A port of the loopback interface where connecting hangs: nobody accepts, and the queue is full.
///
/// ```swift
/// let hole = try Blackhole()
/// var request = try Request(.get, "http://127.0.0.1:\(hole.port)/")
/// request.timeouts.connect = .milliseconds(100)
/// ```
///
/// Connecting goes on as soon as the value goes away.
public final class Blackhole: Sendable {
    /// The port.
    public let port: UInt16
    private let descriptors: [Int32]

    /// Opens a port.
    ///
    /// - Parameter endpoint: Where; a free port of 127.0.0.1 by default.
    /// - Throws: ``SystemCallFailure`` when it cannot listen there.
    public init(_ endpoint: LoopbackServer.Endpoint = .ipv4()) throws(SystemCallFailure) {
        let (listener, port) = try Sockets.listen(on: endpoint, backlog: 0)
        self.port = port
        // Linux lets one more than the backlog in, other systems some more.
        let fillers = (0..<8).compactMap { _ in Sockets.beginConnecting(to: endpoint, port: port) }
        descriptors = fillers + [listener]
    }

    deinit {
        for descriptor in descriptors { Sockets.closeDescriptor(descriptor) }
    }

    /// A server on one family of addresses and a hole on the same port of the other.
    static func beside(
        isSixDead: Bool,
        handler: @escaping @Sendable (ServerRequest) throws -> ServerResponse
    ) throws -> (LoopbackServer, Blackhole) {
        // The port that is free in one family need not be in the other.
        for _ in 0..<20 {
            var options = LoopbackServer.Options()
            options.endpoint = isSixDead ? .ipv4() : .ipv6()
            let server = try LoopbackServer(options, handler: handler)
            let endpoint = isSixDead ? LoopbackServer.Endpoint.ipv6(port: server.port) : .ipv4(port: server.port)
            if let hole = try? Blackhole(endpoint) { return (server, hole) }
        }
        throw SystemCallFailure(operation: "bind the same port in both families", errno: EADDRINUSE)
    }
}
