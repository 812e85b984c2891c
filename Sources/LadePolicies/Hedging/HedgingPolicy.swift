public import LadeCore

/// When a request is sent a second time, because no head of a response has arrived.
///
/// ```swift
/// settings.hedging = .delay(.milliseconds(200))
/// settings.hedging = .percentile(95)
/// ```
///
/// The first response that ``RetryPolicy`` would not retry is the result of the attempt, and the other exchange is cancelled. A
/// failure waits for the other exchange. A buffered response counts when its body is complete, a streamed one with its head.
///
/// A request is hedged when ``RetryPolicy`` would send it again after any failure. Its body can be sent again, and its method
/// is idempotent or it has an idempotency key. Each hedge takes a slot of the rate limit that is free immediately, and
/// withdraws the cost of a retry from the ``RetryBudget``. If the slot or the tokens are missing, the hedge is not sent.
public struct HedgingPolicy: Sendable, Hashable {
    /// How long the head of a response is awaited.
    public enum Delay: Sendable, Hashable {
        /// For this time; a negative one counts as zero.
        case fixed(Duration)
        /// For the time within which this share of the recent exchanges with the service got their heads, in percent.
        ///
        /// The last ``HedgingPolicy/sampleLimit`` first exchanges of a ``ServiceKey`` count. Before there are
        /// `minimumSamples` of them, nothing is hedged.
        case percentile(Double, minimumSamples: Int)
    }

    /// How long the head of a response is awaited before a hedge is sent.
    ///
    /// The time begins when the transport begins the exchange: waits for a slot, for credentials and for a connection do not
    /// count. A transport that reports no `exchangeStarted` counts from the beginning of the attempt.
    public var delay: Delay
    /// How many hedges an attempt may have, each after a delay of its own; 1 by default.
    public var limit = 1

    /// How many exchanges of a service a percentile is taken of: 200.
    public static var sampleLimit: Int { 200 }

    /// Makes a policy.
    public init(delay: Delay) { self.delay = delay }

    /// A hedge after a fixed delay.
    ///
    /// - Parameter delay: How long the head of a response is awaited.
    /// - Returns: The policy.
    public static func delay(_ delay: Duration) -> HedgingPolicy { HedgingPolicy(delay: .fixed(delay)) }

    /// A hedge for the slowest requests of a service.
    ///
    /// - Parameters:
    ///   - percent: The share of the exchanges that are faster, from 0 to 100: with 95, one of twenty requests is sent again.
    ///   - minimumSamples: How many exchanges must be known; 20 by default.
    /// - Returns: The policy.
    public static func percentile(_ percent: Double, minimumSamples: Int = 20) -> HedgingPolicy {
        HedgingPolicy(delay: .percentile(percent, minimumSamples: minimumSamples))
    }
}

private enum HedgingTag: Request.Tag {
    static let defaultValue = true
}

extension Request {
    /// Whether the hedging policy of the service may send it a second time; true by default.
    public var allowsHedging: Bool {
        get { self[HedgingTag.self] }
        set { self[HedgingTag.self] = newValue }
    }
}

/// The hedging of a service: its policy, and how long recent exchanges took until their heads.
package final class Hedging: Sendable {
    /// The policy.
    package let policy: HedgingPolicy
    // Guarded by its lock.
    private let state = Locked(State())

    /// Makes the hedging of a service without samples.
    package init(_ policy: HedgingPolicy) { self.policy = policy }

    private struct Samples {
        /// The newest times, of which the oldest is replaced.
        var times: [Duration] = []
        var oldest = 0
        var lastUse: UInt64 = 0
    }

    private struct State {
        var services: [ServiceKey: Samples] = [:]
        var uses: UInt64 = 0
    }

    /// The most services that samples are kept of; the least recently used ones are forgotten.
    static let serviceLimit = 256

    /// How long the head of a response is awaited; nil when nothing is hedged yet.
    func delay(for key: ServiceKey) -> Duration? {
        switch policy.delay {
        case .fixed(let delay): return max(.zero, delay)
        case .percentile(let percent, let minimum):
            let times = state.withLock { $0.services[key]?.times ?? [] }
            guard times.count >= max(1, minimum) else { return nil }
            return times.sorted()[Self.rank(percent, of: times.count)]
        }
    }

    /// The position of a percentile in a sorted list.
    ///
    /// Percentile 95 of 20 values → 18, of 200 values → 189. Percentile 0 → the first, 100 → the last.
    static func rank(_ percent: Double, of count: Int) -> Int {
        let share = percent.isNaN ? 1 : min(max(percent / 100, 0), 1)
        return min(max(Int((share * Double(count)).rounded(.up)) - 1, 0), count - 1)
    }

    /// Notes how long a first exchange took until its head, or how long it had taken when it was cancelled for a hedge.
    func note(_ time: Duration, for key: ServiceKey) {
        guard case .percentile = policy.delay else { return }
        state.withLock { state in
            state.uses += 1
            var samples = state.services[key] ?? Samples()
            samples.lastUse = state.uses
            if samples.times.count < HedgingPolicy.sampleLimit {
                samples.times.append(time)
            } else {
                samples.times[samples.oldest] = time
                samples.oldest = (samples.oldest + 1) % samples.times.count
            }
            state.services[key] = samples
            guard state.services.count > Self.serviceLimit else { return }
            // Half of them are removed together, so that one sorting is paid for by as many insertions.
            let oldest = state.services.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(Self.serviceLimit / 2)
            for (key, _) in oldest { state.services[key] = nil }
        }
    }
}
