extension Download {
    /// How much of a download or an upload is done.
    public struct Progress: Sendable, Hashable {
        /// The bytes so far.
        public var completed: Int64
        /// The bytes in all; nil when that is not known.
        public var total: Int64?

        /// Makes a progress.
        public init(completed: Int64, total: Int64? = nil) {
            self.completed = completed
            self.total = total
        }

        /// The part that is done, from 0 to 1; nil when the total is not known.
        public var fraction: Double? {
            total.map { $0 <= 0 ? 1 : min(1, max(0, Double(completed) / Double($0))) }
        }
    }
}

/// Passes on at most ten reports a second: the first, the last, and every report at least 100 ms after the previous one.
struct ProgressThrottle: Sendable {
    /// The shortest time from one report to the next.
    static let interval = Duration.milliseconds(100)

    private let time: any TimeSource
    private let report: @Sendable (Download.Progress) -> Void
    private var last: Instant?
    private var pending: Download.Progress?

    init(_ time: any TimeSource, _ report: @escaping @Sendable (Download.Progress) -> Void) {
        self.time = time
        self.report = report
    }

    /// Takes the progress after a piece.
    mutating func take(_ progress: Download.Progress) {
        let now = time.now
        if let last, last.duration(to: now) < Self.interval {
            pending = progress
            return
        }
        last = now
        pending = nil
        report(progress)
    }

    /// Reports the end of the transfer, unless that was reported: bytes that were held back, or a transfer without a byte.
    mutating func finish(at end: Download.Progress? = nil) {
        if let last = pending ?? (last == nil ? end : nil) { report(last) }
        pending = nil
    }
}
