import LadeCore

/// Decides when a hedged attempt sends another exchange, and which of its exchanges is its result.
///
/// The exchanges have numbers: 0 is the first, the hedges follow. Nothing is decided after the result.
///
/// | event | action |
/// | --- | --- |
/// | the delay after the newest exchange is over, none has ended, and the limit is not reached | another hedge |
/// | an exchange settled the attempt, or was cancelled | it is the result |
/// | an exchange failed, and another one is in progress | wait |
/// | the last exchange in progress failed | the first that has a response is the result, otherwise the first |
struct HedgeRace {
    /// How an exchange ended.
    enum Ending: Hashable, CaseIterable {
        /// With a response that ends the attempts.
        case settled
        /// With another response.
        case unsettled
        /// With an error.
        case failed
        /// A hedge was not sent: budget or limit was short.
        case unsent
        /// With a cancellation, which is an outcome and no failure.
        case cancelled
    }

    enum Action: Hashable {
        case wait
        case hedge(Int)
        case deliver(Int)
    }

    private let limit: Int
    private var count = 1
    private var endings: [Int: Ending] = [:]
    /// The exchange that is the result; nil before it is known.
    private(set) var result: Int?

    init(limit: Int) {
        self.limit = max(0, limit)
    }

    /// How many hedges were sent.
    var sent: Int { (1..<count).count { endings[$0] != .unsent } }

    /// The delay after an exchange is over.
    mutating func due(after exchange: Int) -> Action {
        guard result == nil, endings.isEmpty, exchange == count - 1, count <= limit else { return .wait }
        count += 1
        return .hedge(count - 1)
    }

    /// An exchange has ended.
    mutating func ended(_ exchange: Int, _ ending: Ending) -> Action {
        endings[exchange] = ending
        guard result == nil else { return .wait }
        switch ending {
        case .settled, .cancelled: result = exchange
        case .unsettled, .failed, .unsent:
            guard endings.count == count else { return .wait }
            result = (0..<count).first { endings[$0] == .unsettled } ?? 0
        }
        return result.map { .deliver($0) } ?? .wait
    }
}

/// When the wait for the newest exchange's head began: the delay before a hedge is measured from then.
struct HeadWait {
    /// The newest beginning of an exchange, or end of a wait.
    private var start: Instant
    private var waits = 0
    /// How long the newest head took; nil while it is awaited.
    private var arrival: (status: Response.Status, after: Duration)?

    init(since start: Instant) {
        self.start = start
    }

    /// Follows an event of the exchange; returns whether it changes anything.
    mutating func note(_ event: Call.Event, at now: Instant) -> Bool {
        switch event {
        case .exchangeStarted: (start, arrival) = (now, nil)
        case .waitStarted: waits += 1
        case .waitEnded: (start, arrival, waits) = (now, nil, waits - 1)
        case .headReceived(let status, _, _): arrival = (status, start.duration(to: now))
        default: return false
        }
        return true
    }

    /// When the delay is over; nil while a wait is in progress, and when the head is here.
    func end(of delay: Duration) -> Instant? {
        waits > 0 || arrival != nil ? nil : start.advanced(by: delay)
    }

    /// How long the head took, or the whole exchange where the transport does not report heads; nil when the service failed.
    ///
    /// - Parameters:
    ///   - status: The status of the response; nil when there is none yet.
    ///   - now: The present time.
    /// - Returns: The time.
    func sample(_ status: Response.Status?, at now: Instant) -> Duration? {
        guard (arrival?.status ?? status).map({ $0.code < 500 }) ?? true else { return nil }
        return arrival?.after ?? start.duration(to: now)
    }
}
