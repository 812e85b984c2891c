public import LadeCore

/// An event sink that stores all events, so that a test can assert the whole sequence of a call.
///
/// ```swift
/// let events = EventRecorder()
/// _ = try await chain.send(request, call: Call(events: [events]))
/// #expect(events.story == [
///     "exchange started GET http://127.0.0.1/shows",
///     "head 200 HTTP/1.1",
///     "exchange finished",
/// ])
/// ```
public final class EventRecorder: Call.Observer {
    /// One event with its call.
    public struct Record: Sendable {
        /// The call that the event belongs to.
        public let call: Call.ID
        /// The attempt of the call that the event belongs to.
        public let attempt: Int
        /// When it happened, by the call's time source.
        public let instant: Instant
        /// The event.
        public let event: Call.Event
    }

    private struct State {
        var records: [Record] = []
        /// How many records were removed before these.
        var forgotten = 0

        var total: Int { forgotten + records.count }
    }

    private let state = Watched(State())

    /// Makes an empty recorder.
    public init() {}

    /// Stores an event.
    public func record(_ event: Call.Event, of call: Call) {
        let record = Record(call: call.id, attempt: call.attempt, instant: call.time.now, event: event)
        state.change { $0.records.append(record) }
    }

    /// All records so far, in the order of recording.
    public var records: [Record] { state.read(\.records) }

    /// Every event so far.
    public var events: [Call.Event] { records.map(\.event) }

    /// Every event so far as one line each; see ``line(for:)``.
    public var story: [String] { records.map { Self.line(for: $0.event) } }

    /// The events of one call.
    public func events(of call: Call.ID) -> [Call.Event] {
        records.compactMap { $0.call == call ? $0.event : nil }
    }

    /// The events of one call as one line each; see ``line(for:)``.
    public func story(of call: Call.ID) -> [String] {
        events(of: call).map(Self.line)
    }

    /// Removes all records.
    public func clear() {
        state.change { state in
            state.forgotten = state.total
            state.records.removeAll()
        }
    }

    /// Waits until an event that satisfies `predicate` was recorded, and returns the first one.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    @discardableResult
    public func event(where predicate: @Sendable (Call.Event) -> Bool) async throws(LoadingError) -> Call.Event {
        var seen = 0
        while true {
            let position = seen
            // The predicate is the caller's code: it must not run under the lock.
            let (records, total) = try await state.value { state in
                state.total > position ? (state.records.suffix(state.total - position), state.total) : nil
            }
            for record in records where predicate(record.event) { return record.event }
            seen = total
        }
    }

    /// Waits until an event with the given ``line(for:)`` was recorded.
    ///
    /// - Throws: `LoadingError.Kind.cancelled` when the task is cancelled.
    public func line(_ text: String) async throws(LoadingError) {
        try await event { Self.line(for: $0) == text }
    }

    /// The event in one short line, without values that differ from run to run.
    ///
    /// `exchange started GET http://…`, `head 200 HTTP/1.1`, `exchange failed: timedOut(idle)`. Events without a
    /// specific form are shown as Swift prints their case.
    public static func line(for event: Call.Event) -> String {
        switch event {
        case .callStarted(let method, let url): "call started \(method) \(url)"
        case .exchangeStarted(let method, let url): "exchange started \(method) \(url)"
        case .waitStarted(let reason): "wait started: \(reason)"
        case .waitEnded(let reason, _): "wait ended: \(reason)"
        case .interimResponse(let status, _): "interim \(status)"
        case .headReceived(let status, _, let version): "head \(status) \(version?.rawValue ?? "HTTP")"
        case .exchangeFinished: "exchange finished"
        case .exchangeFailed(let error, _): "exchange failed: \(label(of: error))"
        case .callFinished(let status): "call finished \(status)"
        case .bodyFinished(let record):
            switch record.ending {
            case .failed(let error): "body failed: \(label(of: error))"
            default: "body \(record.ending)"
            }
        case .callFailed(let error): "call failed: \(label(of: error))"
        default: String(describing: event)
        }
    }

    /// The name of the error's kind, with the phase of a time-out and the status of a refusal.
    static func label(of error: LoadingError) -> String {
        switch error.kind {
        case .cancelled: "cancelled"
        case .timedOut(let phase): "timedOut(\(phase.rawValue))"
        case .unacceptableStatus(let status): "unacceptableStatus(\(status))"
        default: Mirror(reflecting: error.kind).children.first?.label ?? String(describing: error.kind)
        }
    }
}
