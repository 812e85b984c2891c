#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif
public import LadeCore

/// An HTTP server on the loopback interface that follows the script of a test, byte for byte.
///
/// Either every connection follows a script of ``ServerStep``s, for malformed responses, stalls and resets:
///
/// ```swift
/// let server = try LoopbackServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
/// let broken = try LoopbackServer(script: [.readRequest, .send("HTTP/1.1 200 OK\r\n"), .reset])
/// ```
///
/// or a handler responds to every request, with keep-alive, as a well-behaved server does:
///
/// ```swift
/// let server = try LoopbackServer { request in
///     request.path == "/shows" ? .json(#"{"shows": []}"#) : .status(404)
/// }
/// let request = try server.request(.get, "/shows")
/// ```
///
/// Each connection has its own thread, so scripts and handlers may block. The server records what it received, and
/// counts connections. When it is released, or with ``stop()``, it closes every connection and ends every thread. It is
/// for tests: it trusts its clients and does not support TLS.
public final class LoopbackServer: Sendable {
    /// The address that a server listens on.
    public enum Address: Sendable, Hashable {
        /// 127.0.0.1; port 0 selects a free one.
        case ipv4(port: UInt16 = 0)
        /// ::1; port 0 selects a free one.
        case ipv6(port: UInt16 = 0)
        /// A Unix-domain socket, created at this path, replacing an existing file, and removed at the end.
        case unixSocket(path: String)

        var isInternet: Bool {
            if case .unixSocket = self { false } else { true }
        }
    }

    /// How a server listens and how much it records.
    public struct Options: Sendable {
        /// The address; a free port of 127.0.0.1 by default.
        public var address = Address.ipv4()
        /// How many connections may wait to be accepted; 1,024 by default.
        public var backlog = 1024
        /// The size of the send buffer of each connection in bytes; the system's default if nil.
        public var sendBuffer: Int?
        /// How many requests are recorded; 100,000 by default.
        ///
        /// Later requests and connections are only counted.
        public var keptRequests = 100_000
        /// How many connections are recorded; 100,000 by default.
        ///
        /// Later requests and connections are only counted.
        public var keptConnections = 100_000
        /// How many bytes of each request's body are kept, besides its digest; 2 MiB by default.
        public var keptBodyBytes = 2 << 20
        /// How many bytes of what each connection received are kept; 64 KiB by default.
        public var keptConnectionBytes = 64 << 10

        /// Starts the thread of a connection; false when there is none.
        package var startThread: @Sendable (@escaping @Sendable () -> Void) -> Bool = { Threads.tryStart($0) }

        /// Makes the default options.
        public init() {}
    }

    /// The record of one connection.
    package struct Connection: Sendable {
        /// The first received bytes, including framing.
        package internal(set) var received = Data()
        /// How many bytes were received.
        package internal(set) var bytesReceived: Int64 = 0
        /// How many bytes the system accepted for sending.
        package internal(set) var bytesSent: Int64 = 0
        /// How it ended; nil while it is open.
        package internal(set) var ended: ServerConnection.Ended?
    }

    /// The port it listens on; 0 for a Unix-domain socket.
    public let port: UInt16
    private let core: ServerCore

    /// Starts a server that runs `serve` on the thread of each connection; when it returns, the connection is closed.
    ///
    /// - Throws: ``SystemCallError`` when it cannot listen on the address.
    package init(
        _ options: Options = Options(),
        serving serve: @escaping @Sendable (ServerConnection) throws -> Void
    ) throws(SystemCallError) {
        let (listener, port) = try Sockets.listen(on: options.address, backlog: Int32(clamping: options.backlog))
        self.port = port
        do throws(SystemCallError) {
            core = try ServerCore(listener: listener, options: options, serve: serve)
        } catch {
            Sockets.closeDescriptor(listener)
            throw error
        }
        core.start()
    }

    /// Starts a server whose every connection follows the same script.
    ///
    /// - Throws: ``SystemCallError`` when it cannot listen on the address.
    public convenience init(_ options: Options = Options(), script: [ServerStep]) throws(SystemCallError) {
        try self.init(options, scripts: { _ in script })
    }

    /// Starts a server whose connections follow one script each, by their number from 0.
    ///
    /// Further connections follow the last script.
    ///
    /// - Throws: ``SystemCallError`` when it cannot listen on the address.
    public convenience init(_ options: Options = Options(), scripts: [[ServerStep]]) throws(SystemCallError) {
        try self.init(options, scripts: { index in index < scripts.count ? scripts[index] : scripts.last ?? [] })
    }

    /// Starts a server whose connections follow the script that a closure returns for their number from 0.
    ///
    /// - Throws: ``SystemCallError`` when it cannot listen on the address.
    public convenience init(
        _ options: Options = Options(),
        scripts: @escaping @Sendable (Int) -> [ServerStep]
    ) throws(SystemCallError) {
        try self.init(options) { connection in
            for step in scripts(connection.index) { try step.run(connection) }
        }
    }

    /// Starts a server that reads one request on each connection and responds with exactly these bytes.
    ///
    /// - Parameters:
    ///   - response: The response, including its head.
    ///   - last: The step after it; ``ServerStep/close`` by default.
    /// - Throws: ``SystemCallError`` when it cannot listen on the address.
    public convenience init(answering response: String, then last: ServerStep = .close) throws(SystemCallError) {
        try self.init(script: [.readRequest, .send(response), last])
    }

    /// Starts a server that responds to every request through a handler and keeps connections open.
    ///
    /// - Parameters:
    ///   - options: How it listens.
    ///   - onHead: Called when only the head of a request has arrived. A response that it returns is sent before the
    ///     body is read, for refused expectations and for duplex exchanges. nil leaves the request to `handler`.
    ///   - handler: Responds to a request that has arrived completely. It runs on the connection's thread; an error that it
    ///     throws resets the connection.
    /// - Throws: ``SystemCallError`` when it cannot listen on the address.
    public convenience init(
        _ options: Options = Options(),
        onHead: @escaping @Sendable (ServerRequest) throws -> ServerResponse? = { _ in nil },
        handler: @escaping @Sendable (ServerRequest) throws -> ServerResponse
    ) throws(SystemCallError) {
        try self.init(
            options,
            serving: { connection in
                try connection.serveRequests(onHead: onHead) { try connection.respond(try handler($0)) }
            }
        )
    }

    deinit {
        core.stop()
    }

    /// Closes every connection and ends every thread.
    ///
    /// It waits for the connections' threads, which takes no time unless a handler blocks elsewhere. It must not be
    /// called from a script or handler.
    public func stop() {
        core.stop()
    }

    /// Stops listening; open connections continue.
    ///
    /// Returns once new connections are refused. The port refuses connections until the server stops; no other
    /// program gets it before.
    public func stopAccepting() {
        core.stopAccepting()
    }

    // MARK: - Addressing

    /// The host and port as in an address, `127.0.0.1:8080`; `localhost` for a Unix-domain socket.
    public var authority: String {
        switch core.options.address {
        case .ipv4: "127.0.0.1:\(port)"
        case .ipv6: "[::1]:\(port)"
        case .unixSocket: "localhost"
        }
    }

    /// The address of a path on this server.
    public func address(_ target: String = "/") -> String {
        "http://\(authority)\(target)"
    }

    /// A request to this server.
    ///
    /// - Throws: `LoadingError.Kind.invalidRequest` when the target is not valid in an address.
    public func request(
        _ method: Request.Method = .get,
        _ target: String = "/",
        headers: Headers = Headers(),
        body: Request.Body? = nil,
        delivery: Request.Delivery = .buffered(limit: Request.defaultBufferLimit)
    ) throws(LoadingError) -> Request {
        var request = try Request(method, address(target), headers: headers, body: body, delivery: delivery)
        if case .unixSocket(let path) = core.options.address { request.destination = .unixSocket(path: path) }
        return request
    }

    // MARK: - Inspecting

    /// Every request whose head has arrived, in order of arrival.
    public var requests: [ServerRequest] { core.watched.read(\.requests) }

    /// How many request heads have arrived.
    public var requestCount: Int { core.watched.read(\.requestCount) }

    /// Every connection so far, in order.
    package var connections: [Connection] { core.watched.read(\.connections) }

    /// How many connections were accepted.
    public var acceptedCount: Int { core.watched.read(\.accepted) }

    /// How many connections are open.
    public var openCount: Int { core.watched.read(\.open.count) }

    /// The most connections that were open at the same time.
    public var maximumOpenCount: Int { core.watched.read(\.maximumOpen) }

    // MARK: - Waiting

    /// Waits until the request with the given number (from 0) has arrived with its body.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func request(at index: Int) async throws(LoadingError) -> ServerRequest {
        try await core.watched.value { state in
            index < state.requests.count && state.requests[index].isComplete ? state.requests[index] : nil
        }
    }

    /// Waits until the head of the request with the given number (from 0) has arrived.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func head(at index: Int) async throws(LoadingError) -> ServerRequest {
        try await core.watched.value { index < $0.requests.count ? $0.requests[index] : nil }
    }

    /// Waits until a number of request heads have arrived.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func requests(atLeast count: Int) async throws(LoadingError) {
        try await core.watched.value { $0.requestCount >= count ? () : nil }
    }

    /// Waits until a number of connections were accepted.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func connections(atLeast count: Int) async throws(LoadingError) {
        try await core.watched.value { $0.accepted >= count ? () : nil }
    }

    /// Waits until the connection with the given number (from 0) has ended.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    @discardableResult
    package func connectionClosed(at index: Int) async throws(LoadingError) -> ServerConnection.Ended {
        try await core.watched.value { index < $0.connections.count ? $0.connections[index].ended : nil }
    }

    /// Waits until at most this many connections are open.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func open(atMost count: Int) async throws(LoadingError) {
        try await core.watched.value { $0.open.count <= count ? () : nil }
    }

    /// Waits until a connection has passed this many bytes to the system.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func sent(atLeast count: Int64, on index: Int = 0) async throws(LoadingError) {
        try await core.watched.value { state in
            index < state.connections.count && state.connections[index].bytesSent >= count ? () : nil
        }
    }
}
