public import LadeCore

/// How long calls may take.
public struct DeadlineSettings: Sendable, Hashable {
    /// The whole of a buffered call: every wait, attempt, redirect and the body; 60 s by default, nil for no limit.
    ///
    /// A call that sends much has ``uploading`` instead.
    ///
    /// It begins below the service's call interceptors and the decorators. An interceptor or authoriser of the app that
    /// waits is cancelled 100 ms after it; see `Interceptor.observesScope`.
    public var buffered: Duration? = .seconds(60)
    /// The whole of a buffered call that sends more than 64 KiB, or a body of unknown length; nil, no limit, by default.
    ///
    /// While such a body moves, `timeouts.idle` guards the call, and so it does while the response is awaited. A limit
    /// that fits a small call would end an upload over a slow line that makes steady progress.
    public var uploading: Duration?
    /// The whole of a streamed call, its body included; nil, no limit, by default.
    public var streamed: Duration?
    /// One exchange of a buffered call; nil, no limit, by default.
    ///
    /// An explicit `timeouts.whole` of the request takes its place. Without either, `timeouts.connect` and `timeouts.idle`
    /// end an exchange that makes no progress, and the deadline of the call ends one that is slow.
    public var attempt: Duration?
    /// The field with the seconds that the call has left, for the server, `12.345`; nil, not to be sent, by default.
    public var remainingField: String?

    /// Makes the default settings.
    public init() {}

    /// How long the whole call for a request may take, and the setting that says so.
    ///
    /// A limit in the request overrides the service's. The default never shortens an explicit time-out of the exchanges.
    func limit(for request: Request) -> (duration: Duration, setting: String)? {
        if request.hasTags, let limit = request.deadline { return (limit, "request.deadline") }
        switch request.delivery {
        case .streamed: return streamed.map { ($0, "deadlines.streamed") }
        case .buffered where request.isUpload: return uploading.map { ($0, "deadlines.uploading") }
        case .buffered:
            guard let buffered else { return nil }
            if let whole = request.timeouts.whole, whole > buffered { return (whole, "timeouts.whole") }
            return (buffered, "deadlines.buffered")
        }
    }

    /// The limit of one exchange.
    func bound(for request: Request, remaining: Duration?) -> ExchangeBound {
        var own = request.timeouts.whole
        var setting: String?
        if own == nil, case .buffered = request.delivery { (own, setting) = (attempt, "deadlines.attempt") }
        guard let remaining else { return ExchangeBound(limit: own, isDeadline: false, setting: setting) }
        guard let own, own < remaining else { return ExchangeBound(limit: remaining, isDeadline: true) }
        return ExchangeBound(limit: own, isDeadline: false, setting: setting)
    }
}

/// The limit of one exchange, and whether it is the call's deadline.
struct ExchangeBound: Sendable, Hashable {
    /// The limit; nil for none.
    var limit: Duration?
    /// Whether the limit is the call's deadline.
    var isDeadline: Bool
    /// The setting that the limit comes from; nil for `timeouts.whole` and for the deadline.
    var setting: String?
}

private enum DeadlineTag: Request.Tag {
    static let defaultValue: Duration? = nil
}

extension Request {
    /// Whether its body is so long that the time of sending it says nothing about the server: more than 64 KiB, or of
    /// unknown length.
    fileprivate var isUpload: Bool { hasBody && body?.length.map { $0 > 64 << 10 } ?? true }

    /// How long the whole call may take, from its start to the end of its body; nil leaves it to the service.
    ///
    /// Unlike `timeouts`, which bound one exchange, it covers every wait, attempt and redirect.
    public var deadline: Duration? {
        get { self[DeadlineTag.self] }
        set { self[DeadlineTag.self] = newValue }
    }
}
