import Lade

/// One line on the terminal that says how far a download is (CM-02).
struct ProgressLine {
    private let talk: LineLog
    private let time: any TimeSource
    private var start: Instant
    private var lastShown: Instant
    private var isShown = false
    private var total: Int64?
    private var received: Int64 = 0

    // Quicker downloads never show a line, and no line changes faster than it can be read.
    private static let delay = Duration.milliseconds(500)
    private static let interval = Duration.milliseconds(100)

    /// Starts the line of a body whose length is perhaps known.
    init(_ talk: LineLog, total: Int64?, time: any TimeSource = SystemTime()) {
        self.talk = talk
        self.time = time
        self.total = total
        start = time.now
        lastShown = start.advanced(by: Self.delay - Self.interval)
    }

    /// Counts what arrived, and shows it now and then.
    mutating func add(_ count: Int) {
        received += Int64(count)
        let now = time.now
        guard lastShown.duration(to: now) >= Self.interval else { return }
        lastShown = now
        isShown = true
        talk.write("\r\(text(at: now))\u{1B}[K")
    }

    /// Counts from nothing again, because the body begins anew.
    mutating func beginAnew(total: Int64?) {
        received = 0
        start = time.now
        self.total = total
    }

    /// Removes the line.
    mutating func end() {
        if isShown { talk.write("\r\u{1B}[K") }
        isShown = false
    }

    /// What the line says.
    func text(at now: Instant) -> String {
        let seconds = start.duration(to: now).inSeconds
        let rate = seconds > 0 ? Int64(Double(received) / seconds) : 0
        var text = Self.bytes(received)
        if let total, total > 0 { text += " of \(Self.bytes(total)), \(min(100, received * 100 / total)) %" }
        return text + ", \(Self.bytes(rate))/s"
    }

    /// A number of bytes in the unit that leaves few digits: 999 B, 1.5 kB, 20 MB.
    static func bytes(_ count: Int64) -> String {
        let units = ["B", "kB", "MB", "GB", "TB"]
        var unit = 0
        // In tenths, so that no rounding of floating point shows.
        var tenths = count.multipliedReportingOverflow(by: 10).overflow ? Int64.max : count * 10
        while tenths >= 10_000, unit + 1 < units.count {
            tenths /= 1_000
            unit += 1
        }
        let isWhole = unit == 0 || tenths >= 100
        return (isWhole ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)") + " " + units[unit]
    }
}
