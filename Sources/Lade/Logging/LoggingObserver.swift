#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes the events of calls as lines, without secrets.
///
/// By default it writes one line per call, when the call and its body have ended:
///
/// ```text
/// #12 GET https://api.example.com/shows: 200, 4820 bytes, 132 ms, 1 attempt
/// #13 GET https://api.example.com/news: failed, 0 bytes, 30 s, 3 attempts: Nothing was received …
/// ```
///
/// ``Detail/events`` writes a line for every event, the fields of heads included. Cancellation is reported as an outcome, not as an error.
public final class LoggingObserver: Call.Observer {
    /// How much the observer writes.
    public enum Detail: Sendable, Hashable {
        /// One line per call: method, address, status, bytes received, duration, attempts.
        case calls
        /// One line per event, of all events.
        case events
    }

    private struct CallRecord {
        let name: String
        let start: Instant
        var outcome: String?
        var error: String?
        var attempts = 1
        var bytes: Int64 = 0
        var openExchanges = 0
        /// When the call and its body had ended.
        var end: Instant?
    }

    /// The text that replaces the values of fields with credentials.
    public static let redaction = "<redacted>"

    private let detail: Detail
    private let secretFields: Set<String>
    private let write: @Sendable (String) -> Void
    // Guarded by its lock: the calls that have started and not ended.
    private let calls = Locked<[Call.ID: CallRecord]>([:])

    /// Makes an observer.
    ///
    /// - Parameters:
    ///   - detail: How much is written; one line per call by default.
    ///   - secretFields: Names of further fields whose values are hidden; the values of fields that commonly carry
    ///     credentials always are.
    ///   - write: Receives one line without its line end, on any thread; must not block.
    public init(
        _ detail: Detail = .calls,
        secretFields: Set<String> = [],
        write: @escaping @Sendable (String) -> Void
    ) {
        self.detail = detail
        self.secretFields = Set(secretFields.map { $0.lowercased() })
        self.write = write
    }

    /// Records one event.
    public func record(_ event: Call.Event, of call: Call) {
        switch detail {
        case .events:
            write("\(call.id) \(text(of: event))")
        case .calls:
            let now = call.time.now
            guard let line = calls.withLock({ Self.take(event, of: call.id, at: now, &$0) }) else { return }
            write("\(call.id) \(line)")
        }
    }

    // MARK: - One line per call

    /// Records an event; returns the line of the call when the call and all of its exchanges have ended.
    private static func take(
        _ event: Call.Event,
        of id: Call.ID,
        at now: Instant,
        _ calls: inout [Call.ID: CallRecord]
    ) -> String? {
        switch event {
        case .callStarted(let method, let url): calls[id] = CallRecord(name: "\(method) \(url)", start: now)
        case .attemptStarted(let number): calls[id]?.attempts = number
        case .exchangeStarted: calls[id]?.openExchanges += 1
        case .exchangeFinished(let metrics): endExchange(metrics, of: id, &calls)
        case .exchangeFailed(_, let metrics): endExchange(metrics, of: id, &calls)
        case .callFinished(let status): calls[id]?.outcome = "\(status)"
        case .bodyFinished(let record): endBody(record, of: id, at: now, &calls)
        case .callFailed(let error):
            calls[id]?.end = now
            calls[id]?.outcome = error.context.status.map { "\($0)" } ?? (error.isCancellation ? "cancelled" : "failed")
            if !error.isCancellation { calls[id]?.error = error.reason }
        default: break
        }
        guard let call = calls[id], let outcome = call.outcome, let end = call.end, call.openExchanges <= 0 else {
            return nil
        }
        calls[id] = nil
        let attempts = call.attempts == 1 ? "1 attempt" : "\(call.attempts) attempts"
        let duration = call.start.duration(to: end).shortText
        return "\(call.name): \(outcome), \(call.bytes) bytes, \(duration), \(attempts)"
            + (call.error.map { ": \($0)" } ?? "")
    }

    private static func endExchange(
        _ metrics: Response.Metrics,
        of id: Call.ID,
        _ calls: inout [Call.ID: CallRecord]
    ) {
        calls[id]?.bytes += metrics.bytesReceived
        calls[id]?.openExchanges -= 1
    }

    private static func endBody(
        _ record: Call.Event.Body,
        of id: Call.ID,
        at now: Instant,
        _ calls: inout [Call.ID: CallRecord]
    ) {
        guard var call = calls[id] else { return }
        call.end = now
        call.attempts = max(call.attempts, record.attempts)
        switch record.ending {
        case .failed(let error):
            call.outcome?.append(", body failed")
            call.error = error.reason
        case .cancelled: call.outcome?.append(", body cancelled")
        case .abandoned: call.outcome?.append(", body abandoned")
        default: break
        }
        calls[id] = call
    }

    // MARK: - One line per event

    private func text(of event: Call.Event) -> String {
        let words = EventFacts(event).words
        switch event {
        case .headReceived(_, let headers, _), .interimResponse(_, let headers):
            return ([words] + lines(headers)).joined(separator: "; ")
        default: return words
        }
    }

    private func lines(_ headers: Headers) -> [String] {
        headers.map { field in
            let isSecret = secretFields.contains(field.name.lowercased())
            return "\(field.name): \(isSecret ? Self.redaction : field.redactedValue.escapedForDisplay(limit: 200))"
        }
    }
}
