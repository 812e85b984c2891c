#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
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
    /// `timeouts.idle` guards the call while such a body moves and while the response is awaited. A limit that fits a small
    /// call would end an upload over a slow line that makes steady progress.
    public var uploading: Duration?
    /// The whole of a streamed call, its body included; nil, no limit, by default.
    public var streamed: Duration?
    /// One exchange of a buffered call; nil, no limit, by default.
    ///
    /// An explicit `timeouts.whole` of the request takes its place. Without either, `timeouts.connect` and `timeouts.idle` end
    /// an exchange that makes no progress, and the deadline of the call ends a slow exchange.
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

    /// Begins the deadline of a call, unless it has an earlier one, and the record of its times.
    ///
    /// - Returns: When that was.
    package func begin(_ call: inout Call, for request: Request) -> Instant {
        let now = call.time.now
        let given = call.deadline
        let limit = limit(for: request)
        let own = limit.map { now.advanced(by: $0.duration) }
        guard let deadline = own.map({ own in given.map { min($0, own) } ?? own }) ?? given else { return now }
        let setting = deadline == own ? limit?.setting : nil
        call.deadline = deadline
        call.recordTimes(since: now, setting: setting)
        return now
    }

    /// The error of a call with its whole duration, where a time-out ended it.
    package func timed(_ error: LoadingError, since start: Instant, _ call: Call) -> LoadingError {
        guard case .timedOut = error.kind else { return error }
        var error = error
        error.context.elapsed = start.duration(to: call.time.now)
        return error
    }

    /// Limits a request by its own limit and by the time that its call has left.
    ///
    /// The limit replaces `timeouts.whole` of the request.
    ///
    /// - Parameters:
    ///   - request: The request to send.
    ///   - now: When the exchange starts.
    ///   - call: The call.
    /// - Returns: The limit.
    /// - Throws: `LoadingError.Kind.deadlineExceeded` when no time is left.
    func bound(_ request: inout Request, at now: Instant, _ call: Call) throws(LoadingError) -> ExchangeBound {
        let remaining = call.deadline.map { now.duration(to: $0) }
        if let remaining, remaining <= .zero {
            throw LoadingError(.deadlineExceeded(call.deadlineReport(at: now)), LoadingError.Context(request))
        }
        var bound = ExchangeBound(start: now)
        bound.limit = request.timeouts.whole
        if bound.limit == nil, case .buffered = request.delivery {
            (bound.limit, bound.setting) = (attempt, "deadlines.attempt")
        }
        if let remaining, bound.limit.map({ $0 >= remaining }) ?? true {
            (bound.limit, bound.isDeadline, bound.setting) = (remaining, true, nil)
        }
        if bound.limit != request.timeouts.whole { request.timeouts.whole = bound.limit }
        if let remainingField, let remaining { request.headers[remainingField] = remaining.inThousandths }
        return bound
    }
}

/// The limit of one exchange, and whether it is the call's deadline.
struct ExchangeBound: Sendable, Hashable {
    /// When the exchange started.
    let start: Instant
    /// The date then; nil when the times of the exchange are not noted.
    var date: Date?
    /// The limit; nil for none.
    var limit: Duration?
    /// Whether the limit is the call's deadline.
    var isDeadline = false
    /// The setting that the limit comes from; nil for `timeouts.whole` and for the deadline.
    var setting: String?

    init(start: Instant) {
        self.start = start
    }

    /// The error of a reader that takes longer than the limit, with bytes that have arrived in time; nil before it.
    func expiry(_ request: Request, _ call: Call) -> LoadingError? {
        guard let limit, start.duration(to: call.time.now) >= limit else { return nil }
        return LoadingError(.timedOut(.whole), LoadingError.Context(request))
    }

    /// Converts the error of the transport at a limit to the error of that limit: the call's deadline, or the limit of
    /// the exchange.
    ///
    /// This is the one place that says where the time went and whether the address was in use. The transport may have
    /// observed the deadline itself, or the limit that was made of it. The time of the exchange is recorded before.
    func translated(_ error: LoadingError, _ call: Call) -> LoadingError {
        var error = error
        let endedExchange: Bool
        switch error.kind {
        case .timedOut(.whole):
            guard isDeadline else {
                error.context.wholeLimitSetting = setting
                return error
            }
            endedExchange = true
        case .deadlineExceeded(let report) where report.impossibleWait == nil: endedExchange = report.endedExchange
        default: return error
        }
        var report = call.deadlineReport(at: call.time.now)
        report.endedExchange = endedExchange
        error.kind = .deadlineExceeded(report)
        return error
    }
}

extension Duration {
    /// The seconds with three digits after the point; zero for a negative duration.
    fileprivate var inThousandths: String {
        let milliseconds = max(0, wholeNanoseconds / 1_000_000)
        let fraction = String(milliseconds % 1000)
        return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }
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
