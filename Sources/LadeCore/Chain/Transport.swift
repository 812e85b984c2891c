/// Sends one request over the network and returns one response, with no policy of its own.
///
/// `TransportConformance` of `LadeConformance` checks what every transport must do. A transport delivers any status,
/// follows no redirect, keeps no cookies, and sends a request again only when that is safe.
public protocol Transport: Sendable {
    /// Carries out one exchange.
    ///
    /// - Parameters:
    ///   - request: The request to send. A transport validates it before any traffic.
    ///   - call: The call that the request belongs to: its time, randomness and events.
    /// - Returns: The head, with a complete body for `buffered` delivery and a streaming body for `streamed`.
    /// - Throws: The error that kept the head (or the buffered body) from arriving. Cancelling the task ends the
    ///   exchange, closes connections that cannot be reused, and throws ``LoadingError/Kind/cancelled``.
    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response

    /// Whether an exchange ends when ``Call/scope`` is cancelled, as it does with its task, and within
    /// `Request.timeouts.whole`; false by default.
    ///
    /// If a transport returns false, its calls run in a child task, which costs some microseconds. The task is
    /// cancelled 100 ms after the deadline of a call.
    var observesScope: Bool { get }

    /// Whether the body of a `buffered` response is complete when ``send(_:call:)`` returns; false by default.
    ///
    /// If a transport returns false, the chain collects such bodies above it, which costs a change of threads for each.
    var collectsBodies: Bool { get }
}

extension Transport {
    /// False: the transport observes only its task.
    public var observesScope: Bool { false }
    /// False: the chain collects bodies.
    public var collectsBodies: Bool { false }
}
