import Lade

/// Counts the faults and waits of a harvest, and reports each as a line.
final class DemoTally: Call.Observer {
    /// The counts so far.
    struct Counts: Sendable, Equatable {
        /// Faults by kind, in the order of their first occurrence.
        var faults: [(kind: String, count: Int)] = []
        var retries = 0
        var refreshes = 0
        var replays = 0
        /// Completed waits by kind, in the order of their first occurrence.
        var waits: [(kind: String, count: Int, time: Duration)] = []

        mutating func add(fault kind: String) {
            if let index = faults.firstIndex(where: { $0.kind == kind }) {
                faults[index].count += 1
            } else {
                faults.append((kind, 1))
            }
        }

        mutating func add(wait kind: String, _ time: Duration) {
            if let index = waits.firstIndex(where: { $0.kind == kind }) {
                waits[index].count += 1
                waits[index].time += time
            } else {
                waits.append((kind, 1, time))
            }
        }

        static func == (lhs: Counts, rhs: Counts) -> Bool {
            lhs.retries == rhs.retries && lhs.refreshes == rhs.refreshes && lhs.replays == rhs.replays
                && lhs.faults.elementsEqual(rhs.faults, by: ==) && lhs.waits.elementsEqual(rhs.waits, by: ==)
        }
    }

    private let state = Locked(Counts())
    private let show: @Sendable (String) -> Void

    /// Makes a tally.
    ///
    /// - Parameter show: Receives the lines, on the thread of each event; it must not block.
    init(_ show: @escaping @Sendable (String) -> Void) {
        self.show = show
    }

    /// The counts so far.
    var counts: Counts { state.withLock { $0 } }

    func record(_ event: Call.Event, of call: Call) {
        let line = state.withLock { Self.count(event, &$0) }
        if let line { show(line) }
    }

    private static func count(_ event: Call.Event, _ counts: inout Counts) -> String? {
        switch event {
        case .headReceived(let status, let headers, _): return note(status, headers, &counts)
        case .exchangeFailed(let error, _):
            guard let kind = kind(of: error) else { return nil }
            counts.add(fault: kind)
            return kind
        case .exchangeRepeated:
            counts.add(fault: "connections reset")
            return "connection reset; sent again on a fresh one"
        case .hostMarked(_, let address, let reason, let duration):
            return "\(address) is left alone for \(duration.shortText): \(reason)"
        case .hostRecovered(_, let address): return "\(address) is back"
        case .retryScheduled(let record):
            counts.retries += 1
            return "  try \(record.attempt + 1) in \(record.delay.shortText)"
        case .refreshFinished:
            counts.refreshes += 1
            return counts.refreshes == 1 ? "signed in: the first token" : "a new token"
        case .requestReplayed:
            counts.replays += 1
            return "  sent again with it"
        case .waitEnded(let reason, let duration):
            counts.add(wait: kind(of: reason), duration)
            return nil
        default: return nil
        }
    }

    private static func note(_ status: Response.Status, _ headers: Headers, _ counts: inout Counts) -> String? {
        let delay =
            headers.joined("Retry-After").map { ", to come back after \($0.escapedForDisplay(limit: 20)) s" } ?? ""
        switch status.code {
        case 401:
            counts.add(fault: "401 token expired")
            return "401: the token has expired"
        case 429:
            counts.add(fault: "429 too many requests")
            return "429: too many requests\(delay)"
        case 500...:
            counts.add(fault: "\(status) unavailable")
            return "\(status): unavailable\(delay)"
        default: return nil
        }
    }

    /// The name of the kind of a failed exchange; nil for a failure that the server did not cause.
    private static func kind(of error: LoadingError) -> String? {
        switch error.kind {
        case .cancelled: nil
        case .cannotConnect, .nameNotResolved: "dead host"
        case .timedOut, .deadlineExceeded: "responses that stalled"
        case .incompleteBody: "responses cut short"
        case .connectionLost(.nothing, _): "connections reset"
        case .connectionLost: "responses cut short"
        default: "other failures"
        }
    }

    private static func kind(of reason: Call.WaitReason) -> String {
        switch reason {
        case .connection: "for a connection"
        case .connectivity: "for a network"
        case .rateLimit, .fleet: "to keep to the rate"
        case .gate: "because the server requested it"
        case .concurrency: "for other calls"
        case .backoff: "before trying again"
        case .authorisation: "for a token"
        case .coalescing, .anotherProcess: "for the response to an equal call"
        case .probe: "for news of a host"
        }
    }
}
