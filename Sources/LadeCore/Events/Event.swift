/// Something that happened to a call.
///
/// Events carry facts, never secrets.
@nonexhaustive
public enum Event: Sendable {
    /// The app asked for something.
    case callStarted(method: Method, url: String)
    /// The transport began an exchange, after any wait for a connection slot.
    case exchangeStarted(method: Method, url: String)
    /// A wait began, for the reason given.
    case waitStarted(WaitReason)
    /// A wait ended after the time given.
    case waitEnded(WaitReason, after: Duration)
    /// An interim response arrived (1xx, RFC 9110 §15.2).
    case interimResponse(status: Status, headers: Headers)
    /// The head of the answer arrived; the version is nil when the transport cannot tell.
    case headReceived(status: Status, headers: Headers, version: HTTPVersion?)
    /// The exchange ended well.
    case exchangeFinished(Metrics)
    /// The exchange ended badly, after moving what the metrics say.
    case exchangeFailed(LoadingError, Metrics)
    /// A reused connection was found dead before any byte of the answer, and the request went out again on a fresh one.
    case exchangeRepeated(onFreshConnection: Bool)
    /// A server's certificate was not checked because the service was told not to.
    case certificateCheckSkipped(host: String)
    /// A malformed answer was tolerated because the service was told to.
    case malformationTolerated(MalformedResponse)
    /// The call ended with an answer.
    case callFinished(status: Status)
    /// The call ended with an error.
    case callFailed(LoadingError)
}

/// What a call can wait for.
@nonexhaustive
public enum WaitReason: Sendable, Hashable {
    /// A free connection to the host.
    case connection(host: String)
}

/// Somebody who is told what happens to calls: a log, metrics, an activity indicator, a test.
public protocol EventSink: Sendable {
    /// Takes one event. Called from any thread, sometimes the transport's own: be quick and never block.
    func record(_ event: Event, of call: Call)
}
