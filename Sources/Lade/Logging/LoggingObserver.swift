#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Writes what happens to calls as lines, without secrets.
///
/// One line each for the start of a call, every exchange, every head with its fields, waits, repetitions, and the end.
/// Cancellation is told as an outcome, not as an error. Source: `client-decorators-processors.md` §11, D-07, D-20.
public final class LoggingObserver: EventSink {
    /// What is written of fields that carry credentials.
    public static let redaction = "<redacted>"

    private let secretFields: Set<String>
    private let write: @Sendable (String) -> Void

    /// Makes an observer.
    ///
    /// - Parameters:
    ///   - secretFields: Names of further fields whose values are not to be seen; those that commonly carry credentials
    ///     never are.
    ///   - write: Takes one line without its end, on any thread; must be quick.
    public init(secretFields: Set<String> = [], write: @escaping @Sendable (String) -> Void) {
        self.secretFields = Set(secretFields.map { $0.lowercased() })
        self.write = write
    }

    /// Takes one event.
    public func record(_ event: Event, of call: Call) {
        guard let text = text(of: event) else { return }
        write("\(call.id) \(text)")
    }

    private func text(of event: Event) -> String? {
        switch event {
        case .callStarted(let method, let url): "asks \(method) \(url)"
        case .exchangeStarted(let method, let url): "sends \(method) \(url)"
        case .headReceived(let status, let headers, _): (["gets \(status)"] + lines(headers)).joined(separator: "; ")
        case .exchangeFinished(let metrics): "moved \(metrics.bytesSent) bytes up, \(metrics.bytesReceived) down"
        case .exchangeFailed(let error, _): error.isCancellation ? nil : "failed to exchange: \(error)"
        case .waitStarted(let reason): "waits for \(reason)"
        case .retryScheduled(let record): "tries again after attempt \(record.attempt) (\(record.rule))"
        case .redirectFollowed(let status, _, let target, _): "follows \(status) to \(target)"
        case .callFinished(let status): "is done with \(status)"
        case .callFailed(let error): error.isCancellation ? "was cancelled" : "failed: \(error)"
        default: nil
        }
    }

    private func lines(_ headers: Headers) -> [String] {
        headers.map { field in
            let isSecret = secretFields.contains(field.name.lowercased())
            return "\(field.name): \(isSecret ? Self.redaction : field.redactedValue.escapedForDisplay(limit: 200))"
        }
    }
}
