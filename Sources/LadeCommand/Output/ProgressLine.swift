import Lade

/// A line on the terminal with the progress of a download.
struct ProgressLine {
    private let talk: LineLog
    private let time: any TimeSource
    private var start: Instant
    private var lastShown: Instant
    private var isShown = false
    private var total: Int64?
    private var received: Int64 = 0
    /// The bytes received before the line began, which do not count towards the rate.
    private var resumed: Int64 = 0
    /// The verb before the number.
    private let verb: String

    // A short download shows no line, and the line never changes faster than it can be read.
    private static let delay = Duration.milliseconds(500)
    private static let interval = Duration.milliseconds(100)

    /// Starts the line for a body, whose length may be unknown.
    init(_ talk: LineLog, total: Int64?, time: any TimeSource = SystemTime(), verb: String = "") {
        self.verb = verb
        self.talk = talk
        self.time = time
        self.total = total
        start = time.now
        lastShown = start.advanced(by: Self.delay - Self.interval)
    }

    /// Counts from the bytes that an earlier download received.
    mutating func resume(at received: Int64) {
        (resumed, self.received) = (received, received)
    }

    /// Updates the line at intervals; a smaller number than before means that the body starts again.
    mutating func show(_ received: Int64, of total: Int64?) {
        if received < self.received { (start, resumed) = (time.now, 0) }
        (self.received, self.total) = (received, total)
        let now = time.now
        guard lastShown.duration(to: now) >= Self.interval else { return }
        lastShown = now
        isShown = true
        talk.show(text(at: now))
    }

    /// Removes the line.
    mutating func end() {
        if isShown { talk.show("") }
        isShown = false
    }

    /// The text of the line.
    func text(at now: Instant) -> String {
        let rate = Self.rate(received - resumed, in: start.duration(to: now))
        var text = verb + Self.bytes(received)
        if let total, total > 0 {
            text += " of \(Self.bytes(total)), \(Int(min(100, Double(received) / Double(total) * 100))) %"
        }
        return text + ", \(Self.bytes(rate))/s"
    }

    /// The bytes per second; never traps, whatever the values are.
    static func rate(_ count: Int64, in time: Duration) -> Int64 {
        let rate = time > .zero ? Double(count) / time.inSeconds : 0
        return rate < 1e18 ? Int64(rate) : .max
    }

    /// A number of bytes in a unit that leaves few digits: 999 B, 1.5 kB, 20 MB.
    static func bytes(_ count: Int64) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var unit = 0
        // The value is in tenths, to avoid floating-point rounding.
        var tenths = count.multipliedReportingOverflow(by: 10).overflow ? Int64.max : count * 10
        while tenths >= 10_000, unit + 1 < units.count {
            tenths /= 1_000
            unit += 1
        }
        let isWhole = unit == 0 || tenths >= 100
        return (isWhole ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)") + " " + units[unit]
    }
}
