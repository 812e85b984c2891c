/// The network: sends one request and returns one response, with no policy of its own.
///
/// What every transport must do is checked by `TransportConformance` of `LadeTesting`. A transport delivers any status,
/// follows no redirect, keeps no cookies and repeats nothing that is not safe to repeat.
public protocol Transport: Sendable {
    /// Carries out one exchange.
    ///
    /// - Parameters:
    ///   - request: What to send. A transport validates it before any traffic.
    ///   - call: The call it belongs to: time, randomness, events.
    /// - Returns: The head, with a complete body for `buffered` delivery and a streaming one for `streamed`.
    /// - Throws: What kept the head (or the buffered body) from arriving. Cancelling the task ends the exchange, closes
    ///   what cannot be used again and throws ``LoadingError/cancelled(_:)``.
    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response

    /// Whether an exchange ends with ``Call/scope`` as it does with its task; false unless said otherwise.
    ///
    /// A call through a transport that does not runs in a task of its own, which costs some microseconds.
    var observesScope: Bool { get }
}

extension Transport {
    /// False: only the task is looked at.
    public var observesScope: Bool { false }
}
