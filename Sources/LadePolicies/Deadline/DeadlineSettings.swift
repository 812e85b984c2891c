public import LadeCore

/// How long calls may take.
///
/// Source: policies PL-01 to PL-04.
public struct DeadlineSettings: Sendable, Hashable {
    /// The whole of a buffered call: every wait, attempt, redirect and the body; 60 s by default, nil for no limit.
    public var buffered: Duration? = .seconds(60)
    /// The whole of a streamed call, its body included; nil, no limit, by default.
    public var streamed: Duration?
    /// One exchange of a buffered call; 15 s by default, nil for no limit.
    ///
    /// An explicit `timeouts.whole` of the request takes its place.
    public var attempt: Duration? = .seconds(15)
    /// The field that tells the server how many seconds the call has left, `12.345`; nil, not to be sent, by default.
    public var remainingField: String?

    /// Makes the default settings.
    public init() {}

    /// What SPTDataLoader documents: no limit on a whole call unless the request has one, and 20 s for one attempt.
    public static var dataLoader: DeadlineSettings {
        var settings = DeadlineSettings()
        settings.buffered = nil
        settings.attempt = .seconds(20)
        return settings
    }

    /// How long the whole call for a request may take.
    ///
    /// What the request says comes first. An explicit time-out of its exchanges is never cut short by the default.
    func limit(for request: Request) -> Duration? {
        if let limit = request.deadline { return limit }
        switch request.delivery {
        case .streamed: return streamed
        case .buffered:
            guard let buffered else { return nil }
            guard let whole = request.timeouts.whole else { return buffered }
            return max(buffered, whole)
        }
    }

    /// What bounds one exchange.
    func bound(for request: Request, remaining: Duration?) -> ExchangeBound {
        var own = request.timeouts.whole
        if own == nil, case .buffered = request.delivery { own = attempt }
        guard let remaining else { return ExchangeBound(limit: own, isDeadline: false) }
        guard let own, own < remaining else { return ExchangeBound(limit: remaining, isDeadline: true) }
        return ExchangeBound(limit: own, isDeadline: false)
    }
}

/// How long one exchange may take, and on whose account.
struct ExchangeBound: Sendable, Hashable {
    /// The limit; nil for none.
    var limit: Duration?
    /// Whether passing it means that the call has passed its deadline.
    var isDeadline: Bool
}

private enum DeadlineTag: RequestTag {
    static let defaultValue: Duration? = nil
}

extension Request {
    /// How long the whole call may take, from its start to the end of its body; nil leaves it to the service.
    ///
    /// Unlike `timeouts`, which bound one exchange, it covers every wait, attempt and redirect.
    public var deadline: Duration? {
        get { self[DeadlineTag.self] }
        set { self[DeadlineTag.self] = newValue }
    }
}
