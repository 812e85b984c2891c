public import LadeCore
import LadePolicies

extension Service {
    /// The time of a call, divided into stages without gap or overlap, and its events.
    ///
    /// The durations of its rows add up to ``elapsed``. Each moment belongs to the innermost activity, so that an exchange
    /// with a token endpoint does not count as waiting for credentials too. Time that is neither a wait nor an exchange is
    /// the program's own.
    public struct CallTimeline: Sendable, Hashable {
        /// The activity of a call during a period of time.
        @nonexhaustive
        public enum Stage: Sendable, Hashable {
            /// A wait, for the reason given.
            case wait(Call.WaitReason)
            /// Resolving the host name.
            case nameLookup
            /// Opening a connection.
            case connect
            /// The TLS handshake.
            case secureConnect
            /// Sending a request with a body, where the transport reports when that ended.
            case sending
            /// Sending any other request, and waiting for the first byte of the response.
            case firstByte
            /// Receiving the response.
            case body
            /// Reading and writing what the cache stores.
            case store
            /// The program itself: interceptors, scheduling, and the code that reads the response.
            case program
        }

        /// A period of time, or an event at its start.
        public struct Row: Sendable, Hashable {
            /// When it began, counted from the start of the call.
            public let start: Duration
            /// How long it took; zero for an event.
            public let duration: Duration
            /// The activity of the call; nil for an event.
            public let stage: Stage?
            /// A short description without secrets.
            public let text: String
        }

        /// The request; empty when the start of the call is not known.
        public let title: String
        /// All rows in order.
        public let rows: [Row]
        /// The time from the first event to the last.
        public let elapsed: Duration

        /// The sum of the times of each stage, the longest first; together they are ``elapsed``.
        public var totals: [(stage: Stage, duration: Duration)] {
            var totals: [(stage: Stage, duration: Duration)] = []
            for row in rows {
                guard let stage = row.stage else { continue }
                if let index = totals.firstIndex(where: { $0.stage == stage }) {
                    totals[index].duration += row.duration
                } else {
                    totals.append((stage, row.duration))
                }
            }
            // Stages of equal time stay in the order of their first occurrence: the sort is stable.
            return totals.sorted { $0.duration > $1.duration }
        }

        // MARK: - Making

        struct Record {
            var instant: Instant
            var event: Call.Event
            /// The number of the hedge that the event belongs to; 0 for none.
            var hedge = 0
        }

        init(_ records: [Record], omitted: Int = 0) {
            var builder = TimelineBuilder()
            for record in records { builder.add(record) }
            title = builder.title
            rows = builder.finish(omitted: omitted)
            elapsed = builder.elapsed
        }
    }
}

extension Service.CallTimeline.Stage: CustomStringConvertible {
    /// A short description.
    public var description: String {
        switch self {
        case .wait(let reason): "waiting for \(reason)"
        case .nameLookup: "name look-up"
        case .connect: "connecting"
        case .secureConnect: "TLS handshake"
        case .sending: "sending the request"
        case .firstByte: "request sent, first byte awaited"
        case .body: "receiving the response"
        case .store: "the store of the cache"
        case .program: "the program itself"
        }
    }
}

/// Divides the time of a call among its activities, event by event.
private struct TimelineBuilder {
    private typealias Stage = Service.CallTimeline.Stage

    private enum Activity {
        case wait(Call.WaitReason)
        /// The exchange with this index.
        case exchange(Int)
        /// A use of the store of the cache, which is reported when it is over.
        case store
    }

    private enum Piece {
        case time(Int64, Int64, Activity?)
        case mark(Int64, String)
    }

    fileprivate struct Exchange {
        var start: Int64
        var isSecure: Bool
        /// The number of the hedge; the exchanges of a hedged attempt overlap.
        var hedge: Int
        /// When the first head of the response was reported.
        var head: Int64?
        var metrics = Response.Metrics()
    }

    private(set) var title = ""
    private var origin: Int64?
    /// The end of the time that is divided already, in nanoseconds since the origin.
    private var cursor: Int64 = 0
    /// The current activities, the innermost last.
    private var activities: [Activity] = []
    private var exchanges: [Exchange] = []
    private var pieces: [Piece] = []

    var elapsed: Duration { .nanoseconds(cursor) }

    mutating func add(_ record: Service.CallTimeline.Record) {
        if origin == nil { origin = record.instant.nanoseconds }
        // Events from several threads may be slightly out of order; time must not go backwards.
        let now = max(cursor, record.instant.nanoseconds - (origin ?? 0))
        if case .cacheStoreUsed(let duration) = record.event {
            let start = min(max(cursor, now - duration.wholeNanoseconds), now)
            if start > cursor { pieces.append(.time(cursor, start, activities.last)) }
            if now > start { pieces.append(.time(start, now, .store)) }
        } else if now > cursor {
            pieces.append(.time(cursor, now, activities.last))
        }
        cursor = now
        switch record.event {
        case .callStarted(let method, let url): title = "\(method) \(url)"
        case .waitStarted(let reason): activities.append(.wait(reason))
        case .waitEnded(let reason, _): endWait(reason)
        case .exchangeStarted(_, let url):
            activities.append(.exchange(exchanges.count))
            exchanges.append(Exchange(start: now, isSecure: url.hasPrefix("https"), hedge: record.hedge))
        case .interimResponse, .headReceived:
            if let (number, _) = current(record.hedge), exchanges[number].head == nil { exchanges[number].head = now }
        case .exchangeFinished(let metrics), .exchangeFailed(_, let metrics): endExchange(metrics, record.hedge)
        default: break
        }
        guard Self.isMarked(record.event) else { return }
        let hedge = record.hedge > 0 ? "hedge \(record.hedge): " : ""
        pieces.append(.mark(now, hedge + EventFacts(record.event).words))
    }

    /// Whether an event has a line of its own; the title, the rows of time and the end show the others.
    private static func isMarked(_ event: Call.Event) -> Bool {
        switch event {
        case .callStarted, .waitStarted, .waitEnded, .cacheStoreUsed: false
        // No retry was allowed, so its refusal is not shown.
        case .retryRefused(let record): record.rule != .limitReached(0)
        case .bodyFinished(let record): if case .whole = record.ending { false } else { true }
        default: true
        }
    }

    private mutating func endWait(_ reason: Call.WaitReason) {
        let index = activities.lastIndex { if case .wait(reason) = $0 { true } else { false } }
        if let index { activities.remove(at: index) }
    }

    private mutating func endExchange(_ metrics: Response.Metrics, _ hedge: Int) {
        guard let (number, index) = current(hedge) else { return }
        exchanges[number].metrics = metrics
        activities.remove(at: index)
    }

    /// The innermost exchange in progress, of a hedge or of the attempt itself, and its position among the activities.
    private func current(_ hedge: Int) -> (number: Int, index: Int)? {
        for index in activities.indices.reversed() {
            if case .exchange(let number) = activities[index], exchanges[number].hedge == hedge {
                return (number, index)
            }
        }
        return nil
    }

    // MARK: - Rows

    mutating func finish(omitted: Int) -> [Service.CallTimeline.Row] {
        var rows: [Service.CallTimeline.Row] = []
        for piece in pieces {
            switch piece {
            case .mark(let at, let text):
                rows.append(Service.CallTimeline.Row(start: .nanoseconds(at), duration: .zero, stage: nil, text: text))
            case .time(let start, let end, nil): Self.append(.program, start, end, to: &rows)
            case .time(let start, let end, .wait(let reason)): Self.append(.wait(reason), start, end, to: &rows)
            case .time(let start, let end, .store): Self.append(.store, start, end, to: &rows)
            case .time(let start, let end, .exchange(let number)):
                var from = start
                for (stage, limit) in exchanges[number].ends {
                    let to = min(end, max(from, limit))
                    if to > from { Self.append(stage, from, to, to: &rows) }
                    from = to
                }
            }
        }
        if omitted > 0 {
            let text = "\(omitted) further events are not shown"
            rows.append(Service.CallTimeline.Row(start: elapsed, duration: .zero, stage: nil, text: text))
        }
        return rows
    }

    /// Adds a period of time; extends the last row when it is of the same kind and no event is in between.
    private static func append(_ stage: Stage, _ start: Int64, _ end: Int64, to rows: inout [Service.CallTimeline.Row])
    {
        var start = start
        if let last = rows.last, last.stage == stage {
            start = last.start.wholeNanoseconds
            rows.removeLast()
        }
        let duration = Duration.nanoseconds(end - start)
        rows.append(
            Service.CallTimeline.Row(
                start: .nanoseconds(start),
                duration: duration,
                stage: stage,
                text: stage.description
            )
        )
    }
}

extension TimelineBuilder.Exchange {
    /// The stages of the exchange and the end of each; the last one has no end.
    fileprivate var ends: [(Service.CallTimeline.Stage, Int64)] {
        let stages: [(Service.CallTimeline.Stage, Duration?)] = [
            (.nameLookup, metrics.nameLookup), (.connect, metrics.connect), (.secureConnect, metrics.secureConnect),
        ]
        var ends = stages.compactMap { stage, time in time.map { (stage, start + $0.wholeNanoseconds) } }
        if metrics.requestBodyBytes > 0, let sent = metrics.requestSent {
            ends.append((.sending, start + sent.wholeNanoseconds))
        }
        if let firstByte = metrics.firstByte {
            // For a request with a body libcurl counts the first byte in either direction; the head is more precise.
            let headAfterBody = metrics.requestBodyBytes > 0 ? head : nil
            ends.append((.firstByte, headAfterBody ?? start + firstByte.wholeNanoseconds))
        }
        ends.append((lastStage, .max))
        return ends
    }

    /// The stage in which the exchange ended: receiving, or the stage that it did not complete.
    private var lastStage: Service.CallTimeline.Stage {
        if metrics.requestBodyBytes > 0, metrics.requestStarted != nil, metrics.requestSent == nil { return .sending }
        if metrics.firstByte != nil { return .body }
        if metrics.isReusedConnection == true || metrics.secureConnect != nil { return .firstByte }
        guard metrics.connect != nil else { return .connect }
        return isSecure && metrics.requestStarted == nil ? .secureConnect : .firstByte
    }
}
