#if SwiftLog
    public import Lade
    public import Logging

    /// Writes calls to a `Logger` of swift-log: one line per call, when the call and its body have ended.
    ///
    /// ```swift
    /// var settings = Service.Settings()
    /// settings.observers = [LoggerObserver(Logger(label: "http"))]
    /// ```
    ///
    /// The metadata has the keys of the OpenTelemetry conventions (`http.request.method`, `url.full`,
    /// `http.response.status_code`, `error.type`, …), and nothing secret. One observer is for one service.
    public final class LoggerObserver: Call.Observer {
        /// The level of a line by the outcome of its call.
        public struct Levels: Sendable, Hashable {
            /// The call ended with a response; info by default.
            public var success = Logger.Level.info
            /// The call or its body was cancelled, or the body was released before its end; debug by default.
            public var cancellation = Logger.Level.debug
            /// The status was refused; warning by default.
            public var refusal = Logger.Level.warning
            /// The call or its body failed in another way; error by default.
            public var failure = Logger.Level.error

            /// Makes the default levels.
            public init() {}

            var highest: Logger.Level { [success, cancellation, refusal, failure].max() ?? failure }
        }

        /// The logger of the calls that the current task starts; nil, the default, for that of the observer.
        @TaskLocal public static var current: Logger?

        private struct Record {
            let logger: Logger
            let method: Request.Method
            let url: String
            let operation: String?
            let start: Instant
            var attempts = 1
            var exchanges = 0
            var bytesSent: Int64 = 0
            var status: Response.Status?
            var version: Response.Version?
        }

        private enum Outcome {
            case success, cancelled, refused, failed
        }

        private let logger: Logger
        private let levels: Levels
        // Guarded by its lock: the calls that have started and not ended.
        private let records = Locked<[Call.ID: Record]>([:])

        /// Makes an observer.
        ///
        /// - Parameters:
        ///   - logger: The logger of calls whose request and task have none of their own.
        ///   - levels: The levels of the lines.
        public init(_ logger: Logger, levels: Levels = Levels()) {
            self.logger = logger
            self.levels = levels
        }

        /// Whether the logger of the request's call writes any of the levels.
        public func observes(_ request: Request) -> Bool {
            (request.logger ?? Self.current ?? logger).logLevel <= levels.highest
        }

        /// Records one event.
        public func record(_ event: Call.Event, of call: Call) {
            switch event {
            case .callStarted(let method, let url):
                let record = Record(
                    logger: call[LoggerTag.self] ?? Self.current ?? logger,
                    method: method,
                    url: url,
                    operation: call.operationID,
                    start: call.time.now
                )
                records.withLock { $0[call.id] = record }
            case .attemptStarted(let number): change(call) { $0.attempts = number }
            case .exchangeStarted: change(call) { $0.exchanges += 1 }
            case .headReceived(let status, _, let version): change(call) { ($0.status, $0.version) = (status, version) }
            case .exchangeFinished(let metrics), .exchangeFailed(_, let metrics):
                change(call) { $0.bytesSent += metrics.requestBodyBytes }
            case .callFinished(let status): change(call) { $0.status = status }
            case .bodyFinished(let body): end(body, call)
            case .callFailed(let error): end(error, call)
            default: break
            }
        }

        private func change(_ call: Call, _ body: (inout Record) -> Void) {
            records.withLock { records in
                if let index = records.index(forKey: call.id) { body(&records.values[index]) }
            }
        }

        private func end(_ body: Call.Event.Body, _ call: Call) {
            guard var record = records.withLock({ $0.removeValue(forKey: call.id) }) else { return }
            record.attempts = max(record.attempts, body.attempts)
            let status = record.status.map { "\($0)" } ?? "ended"
            switch body.ending {
            case .whole: write(record, .success, status, body.duration, body.bytes)
            case .failed(let error):
                write(record, .failed, "\(status), body failed", body.duration, body.bytes, error)
            case .cancelled: write(record, .cancelled, "\(status), body cancelled", body.duration, body.bytes)
            case .abandoned: write(record, .cancelled, "\(status), body released", body.duration, body.bytes)
            }
        }

        private func end(_ error: LoadingError, _ call: Call) {
            guard var record = records.withLock({ $0.removeValue(forKey: call.id) }) else { return }
            record.status = error.context.status ?? record.status
            let duration = record.start.duration(to: call.time.now)
            switch error.kind {
            case .cancelled: write(record, .cancelled, "cancelled", duration)
            case .unacceptableStatus(let status): write(record, .refused, "\(status)", duration, nil, error)
            default: write(record, .failed, "failed", duration, nil, error)
            }
        }

        private func write(
            _ record: Record,
            _ outcome: Outcome,
            _ words: String,
            _ duration: Duration,
            _ bytes: Int64? = nil,
            _ error: LoadingError? = nil
        ) {
            let level: Logger.Level =
                switch outcome {
                case .success: levels.success
                case .cancelled: levels.cancellation
                case .refused: levels.refusal
                case .failed: levels.failure
                }
            // Nothing is built for a line that is not written.
            record.logger.log(
                level: level,
                "\(record.method) \(record.url): \(words)\(error.map { ": \($0)" } ?? "")",
                metadata: Self.metadata(record, duration, bytes, error)
            )
        }

        private static func metadata(
            _ record: Record,
            _ duration: Duration,
            _ bytes: Int64?,
            _ error: LoadingError?
        ) -> Logger.Metadata {
            var metadata: Logger.Metadata = [:]
            func set(_ key: Conventions.Key, _ value: (some CustomStringConvertible)?) {
                if let value { metadata[key.rawValue] = .string(value.description) }
            }
            set(.method, record.method)
            set(.fullURL, record.url)
            set(.status, record.status)
            set(.protocolVersion, record.version.map(Conventions.number))
            set(.errorType, error?.typeName)
            set(.responseBodySize, bytes)
            set(.requestBodySize, record.bytesSent > 0 ? record.bytesSent : nil)
            set(.resendCount, record.exchanges > 1 ? record.exchanges - 1 : nil)
            set(.attempts, record.attempts)
            set(.operation, record.operation)
            set(.duration, duration.inSeconds)
            return metadata
        }
    }

    private enum LoggerTag: Request.Tag {
        static let defaultValue: Logger? = nil
    }

    extension Request {
        /// The logger of the request's call; nil, the default, for that of ``LoggerObserver/current`` or of the observer.
        public var logger: Logger? {
            get { self[LoggerTag.self] }
            set { self[LoggerTag.self] = newValue }
        }
    }
#else
    /// Writes calls to a `Logger` of swift-log; exists with the trait `SwiftLog` alone.
    @available(
        *,
        unavailable,
        message: "Add traits: [\"SwiftLog\"] to the dependency on the package lade, which is off by default."
    )
    public enum LoggerObserver {}
#endif
