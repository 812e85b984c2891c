import LadeCore

/// A server-requested delay: no call starts before its end, and the calls that waited for it are spread out.
struct RateGate: Sendable {
    /// The end of the delay.
    private(set) var end: Instant?
    /// The first start after the delay, with jitter.
    var notBefore: Instant?
    /// The mean time between the starts of the calls that waited for the end, where no rate spaces them.
    private var releaseInterval: Int64?
    /// How many of the calls that waited have not started yet; later calls are not held for them.
    private var releasesLeft = 0
    private var awaitsRelease = false

    /// Whether the delay has not ended.
    func isClosed(at now: Instant) -> Bool { end.map { $0 > now } ?? false }

    /// No call starts before this instant; nil without a delay.
    var hold: Instant? {
        guard let notBefore else { return end }
        return end.map { max($0, notBefore) } ?? notBefore
    }

    /// When a call may start that has `ahead` others before it in the queue.
    func start(after ahead: Int, now: Instant, isSpaced: Bool) -> Instant {
        let start = max(now, hold ?? now)
        guard !isSpaced, let releaseInterval else { return start }
        return start.advanced(nanoseconds: releaseInterval * Int64(min(ahead, releasesLeft)))
    }

    /// Starts a delay; a longer one stays.
    ///
    /// - Returns: Whether anything changed.
    mutating func close(until end: Instant) -> Bool {
        guard self.end.map({ end > $0 }) ?? true else { return false }
        self.end = end
        awaitsRelease = true
        return true
    }

    /// Spreads the starts of the calls that waited, after the end of the delay.
    ///
    /// - Parameters:
    ///   - now: The time.
    ///   - waiting: How many wait; nil where a rate spaces them.
    ///   - spread: The time over which they are spread.
    ///   - blur: A number in `0 ..< 1` that places the first start.
    mutating func open(now: Instant, waiting: Int?, spread: Duration, blur: Double) {
        guard awaitsRelease, let end, end <= now else { return }
        awaitsRelease = false
        guard let waiting, waiting > 1 else { return }
        let interval = spread.wholeNanoseconds / Int64(waiting)
        releaseInterval = interval
        releasesLeft = waiting
        notBefore = now.advanced(nanoseconds: Int64(Double(interval) * blur))
    }

    /// Records a start.
    mutating func started(now: Instant, waiting: Int, blur: Double) {
        if let end, end <= now { self.end = nil }
        notBefore = nil
        guard let interval = releaseInterval else { return }
        releasesLeft -= 1
        if waiting == 0 || releasesLeft <= 0 {
            releaseInterval = nil
        } else {
            notBefore = now.advanced(nanoseconds: Int64(Double(2 * interval) * blur))
        }
    }
}
