#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadeCore

/// The remaining quota that a server announces.
///
/// | fields | source |
/// | --- | --- |
/// | `RateLimit: "default";r=50;t=30`, `RateLimit-Policy: "default";q=100;w=60` | IETF draft, structured fields |
/// | `RateLimit: limit=100, remaining=50, reset=30` | earlier IETF draft |
/// | `RateLimit-Limit`, `RateLimit-Remaining`, `RateLimit-Reset` | earlier IETF drafts |
/// | `X-RateLimit-…`, with the seconds or the date of the reset | many services |
struct QuotaReading: Sendable, Hashable {
    /// The number of calls left.
    var remaining: Int
    /// The time until the quota is renewed.
    var reset: Duration
    /// The time per call over a whole window, when the server announced both its length and its quota.
    var windowInterval: Duration?

    /// Reads the fields of an answer; nil when there are no usable ones.
    init?(_ headers: Headers, now: Date) {
        // Most answers have none of them.
        guard headers.containsName(startingWith: "ratelimit") || headers.containsName(startingWith: "x-ratelimit")
        else {
            return nil
        }
        if headers.contains("RateLimit"), let reading = Self.structured(headers) ?? Self.dictionary(headers) {
            self = reading
        } else if headers.contains("RateLimit-Remaining"), let reading = Self.three("RateLimit", headers, now) {
            self = reading
        } else if headers.contains("X-RateLimit-Remaining"), let reading = Self.three("X-RateLimit", headers, now) {
            self = reading
        } else {
            return nil
        }
    }

    private init?(remaining: Double, reset: Double, limit: Double? = nil, window: Double? = nil) {
        guard remaining.isFinite, remaining >= 0, reset.isFinite else { return nil }
        self.remaining = Int(min(remaining, 1e12))
        // A month is the longest window in use; a longer one is a misread date.
        self.reset = .seconds(min(max(0, reset), 31 * 86_400))
        if let limit, let window, limit >= 1, window > 0 { windowInterval = .seconds(min(window, 1e9) / limit) }
    }

    /// The reading with its times limited.
    func bounded(by limit: Duration) -> QuotaReading {
        var copy = self
        copy.reset = min(reset, limit)
        copy.windowInterval = windowInterval.map { min($0, limit) }
        return copy
    }

    /// Of several policies the one that allows the least.
    private static func structured(_ headers: Headers) -> QuotaReading? {
        guard let limits = try? StructuredField.List(parsing: headers.all("RateLimit")) else { return nil }
        let policies = try? StructuredField.List(parsing: headers.all("RateLimit-Policy"))
        var strictest: QuotaReading?
        for member in limits.members {
            guard let name = member.item?.value.text, let remaining = member.parameters["r"]?.number else { continue }
            let policy = policies?.members.first { $0.item?.value.text == name }?.parameters
            let window = policy?["w"]?.number
            // Without a time, the whole window is the cautious guess.
            guard let reset = member.parameters["t"]?.number ?? window else { continue }
            let quota = policy?["q"]?.number
            guard let reading = QuotaReading(remaining: remaining, reset: reset, limit: quota, window: window) else {
                continue
            }
            if strictest.map({ reading.secondsPerCall > $0.secondsPerCall }) ?? true { strictest = reading }
        }
        return strictest
    }

    private var secondsPerCall: Double { remaining > 0 ? reset.inSeconds / Double(remaining) : .infinity }

    private static func dictionary(_ headers: Headers) -> QuotaReading? {
        guard let fields = try? StructuredField.Dictionary(parsing: headers.all("RateLimit")),
            let remaining = fields["remaining"]?.item?.value.number, let reset = fields["reset"]?.item?.value.number
        else { return nil }
        return QuotaReading(remaining: remaining, reset: reset, limit: fields["limit"]?.item?.value.number)
    }

    private static func three(_ prefix: String, _ headers: Headers, _ now: Date) -> QuotaReading? {
        guard let remaining = number(headers[prefix + "-Remaining"]), var reset = number(headers[prefix + "-Reset"])
        else { return nil }
        if reset >= 1e9 {
            // A date: since 2001 its seconds exceed 10⁹, and its milliseconds 10¹².
            let date = reset >= 1e12 ? reset / 1000 : reset
            let server = headers["Date"].flatMap { try? HTTPDate($0, now: now) }?.date ?? now
            reset = date - server.timeIntervalSince1970
        }
        return QuotaReading(remaining: remaining, reset: reset)
    }

    /// The number at the beginning of a value; `100, 100;w=60` is 100.
    private static func number(_ text: String?) -> Double? {
        guard let text else { return nil }
        return Double(text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") })
    }
}

/// How an announced quota is spent: the remaining calls, evenly over the remaining window.
///
/// The last call comes before the reset, not on it, where it would belong to the next window. Example: with 3 calls
/// left and 12 s to go, calls start after 3, 6 and 9 s; with none left, nothing starts until the reset.
struct QuotaPace: Sendable {
    /// The interval after a reset, until the first answer of the new window.
    private static let unknownInterval: Int64 = 1_000_000_000

    /// When the next call may start.
    private(set) var next: Instant
    /// The time from one call to the next.
    private var interval: Int64 = 0
    /// The earliest reset that was announced in this window.
    ///
    /// Servers announce whole seconds, rounded up or down. The real reset is therefore at most one second after the
    /// earliest announced one. Calls are spread up to the announced reset, so that all remaining calls are used. When
    /// none is left, calls wait for the latest possible reset.
    private var earliest: Instant
    /// The latest possible reset.
    private(set) var high: Instant
    /// The calls that may start before the next reading; nil when unknown.
    private var allowance: Int?
    /// The interval at the beginning of a window, before its first reading.
    private var resting: Int64?
    private var lastStart: Instant?
    /// The pace that was last reported to the event sinks.
    private var announced: Double?

    init(_ now: Instant) {
        (next, earliest, high) = (now, now, now)
    }

    /// When a call may start that has `ahead` others before it in the queue.
    func start(after ahead: Int) -> Instant {
        let (steps, overflow) = interval.multipliedReportingOverflow(by: Int64(ahead))
        return overflow ? Instant(nanoseconds: .max) : next.advanced(nanoseconds: steps)
    }

    mutating func start(at now: Instant) {
        lastStart = now
        if now >= high { allowance = nil }
        next = max(next, now).advanced(nanoseconds: interval)
        guard let left = allowance else { return }
        allowance = left - 1
        if left <= 1 { exhaust(now) }
    }

    /// Returns a start that was not used.
    mutating func giveBack() {
        next = next.advanced(nanoseconds: -interval)
        if let left = allowance { allowance = left + 1 }
    }

    /// Applies a reading; `inFlight` calls that the server may not have counted yet count as spent.
    ///
    /// - Returns: The new pace in calls per second when it differs from the last reported one by a tenth.
    mutating func observe(_ reading: QuotaReading, inFlight: Int, now: Instant) -> Double? {
        let observed = now.advanced(by: reading.reset)
        let difference = earliest.duration(to: observed)
        let isSameWindow = now < high && difference < .milliseconds(1500) && difference > .milliseconds(-1500)
        earliest = isSameWindow ? min(earliest, observed) : observed
        high = earliest.advanced(by: .seconds(1))
        if let whole = reading.windowInterval { resting = whole.wholeNanoseconds }
        let available = reading.remaining - inFlight
        var rate = 0.0
        if available > 0 {
            allowance = available
            interval = max(0, now.duration(to: earliest).wholeNanoseconds) / Int64(min(available, 1 << 40) + 1)
            if reading.windowInterval == nil, !isSameWindow || interval > resting ?? 0, interval > 0 {
                resting = interval
            }
            // Never later than the reset, which renews the quota.
            next = min((lastStart ?? now).advanced(nanoseconds: interval), max(high, now))
            rate = interval > 0 ? 1e9 / Double(interval) : .infinity
        } else {
            exhaust(now)
        }
        if let announced, abs(rate - announced) <= announced * 0.1 { return nil }
        announced = rate
        return rate
    }

    /// No call is left before the reset.
    private mutating func exhaust(_ now: Instant) {
        allowance = nil
        interval = resting ?? Self.unknownInterval
        next = max(now, high)
    }
}

extension Instant {
    /// The instant this many nanoseconds later; saturates.
    func advanced(nanoseconds count: Int64) -> Instant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(count)
        return Instant(nanoseconds: overflow ? (count < 0 ? .min : .max) : sum)
    }
}
