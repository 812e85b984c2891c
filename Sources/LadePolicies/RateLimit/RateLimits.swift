public import LadeCore

extension RateLimits {
    /// How many exchanges a service may start: per second, and together after a time without calls.
    public struct Rate: Sendable, Hashable {
        /// Starts per second in the long run; zero holds every call until the rate is changed.
        public var perSecond: Double
        /// How many may start together after a time without calls; 1, evenly spaced, by default.
        public var burst: Int

        /// Makes a rate.
        public init(perSecond: Double, burst: Int = 1) {
            self.perSecond = perSecond
            self.burst = burst
        }

        /// This many starts per second.
        public static func perSecond(_ count: Double, burst: Int = 1) -> RateLimits.Rate {
            RateLimits.Rate(perSecond: count, burst: burst)
        }

        /// This many starts per minute.
        public static func perMinute(_ count: Double, burst: Int = 1) -> RateLimits.Rate {
            RateLimits.Rate(perSecond: count / 60, burst: burst)
        }

        /// No starts until the rate is changed.
        public static var held: RateLimits.Rate { RateLimits.Rate(perSecond: 0) }

        /// Rejects impossible values.
        func validate() throws(LoadingError) {
            guard perSecond >= 0, perSecond.isFinite else {
                throw LoadingError(
                    .invalidSetting(
                        name: "rate",
                        reason: "\(perSecond) per second is no rate; zero holds every call"
                    )
                )
            }
            guard burst >= 1 else {
                throw LoadingError(.invalidSetting(name: "burst", reason: "\(burst) is less than one"))
            }
        }

        /// The time from one start to the next in nanoseconds, at most twelve years; nil for a rate of zero.
        package var interval: Int64? {
            perSecond > 0 ? Int64(min(1e9 / perSecond, 4e17)) : nil
        }
    }
}

/// The initial limits of a ``RateLimiter``.
public struct RateLimits: Sendable {
    /// The rate of each service without a specific one; nil, no limit, by default.
    ///
    /// The ``keyRule`` makes the key of a service from a request: by default host, port and first path component. With 5 a
    /// second, `/shows` and `/search` of one host together start 10 a second; with `keyRule = ServiceKey.perHost`, 5.
    public var `default`: RateLimits.Rate?
    /// The specific rates of services.
    public var rates: [ServiceKey: RateLimits.Rate] = [:]
    /// How many exchanges with one service may run at the same time, without a specific number; nil, no limit, by
    /// default.
    public var concurrency: Int?
    /// How many exchanges may run at the same time in total; nil, no limit, by default.
    public var totalConcurrency: Int?
    /// Which requests share a rate: those with the same host, port and first path component by default.
    ///
    /// ``ServiceKey/perHost(_:)`` is the rule for one rate per host.
    public var keyRule: ServiceKey.Rule = { ServiceKey($0) }
    /// Further keys whose limits a request has to keep as well; nil, the default, for none.
    ///
    /// A request starts when each of its keys has a slot for it. Until then it holds no slot, and its order of arrival counts
    /// in every queue. With ``ServiceKey/perHost(_:)`` as the only further key, and rates for both keys, the calls to a path
    /// keep the path's rate and the host's rate.
    ///
    /// Rates, numbers of exchanges and the gates that the program closes apply to every key. Limits that a server
    /// announces apply to the key of ``keyRule``.
    public var furtherKeys: (@Sendable (Request) -> [ServiceKey])?
    /// The statuses whose `Retry-After` closes the gate of a service; 429 and 503 by default.
    public var gateStatuses: Response.StatusSet = [429, 503]
    /// The longest time for which a server can close a gate; one hour by default.
    public var gateLimit = Duration.seconds(3600)
    /// The longest time that a call waits at a gate.
    ///
    /// 60 s by default. A call that would have to wait longer fails immediately.
    public var delayLimit = Duration.seconds(60)
    /// How many calls may wait for one service; 100,000 by default, nil for any number.
    ///
    /// A further one fails immediately, so that a service that has stopped responding cannot fill the memory.
    public var waitingLimit: Int? = 100_000
    /// The time over which the calls that waited at a gate are spread when the service has no rate; 2 s by default.
    public var releaseSpread = Duration.seconds(2)
    /// Whether quotas that servers announce are respected; true by default.
    ///
    /// Calls start immediately while much of a quota is left. The last calls (``quotaReserve``) are spread over the
    /// rest of the window. A call waits no longer for that than half of the time that it has left. When no call is
    /// left, calls wait for the reset.
    public var respectsQuotas = true
    /// The share of an announced quota that is spread over the rest of its window; a tenth by default.
    ///
    /// 0 with ``quotaReserveCalls`` 0 sends all calls at once until the quota is used up; 1 spreads all of them.
    public var quotaReserve = 0.1
    /// The least number of calls that are spread so; 5 by default.
    public var quotaReserveCalls = 5
    /// The longest time for which an announced quota can hold calls; one hour by default.
    ///
    /// A reset that is further away, or that was misread, counts as a reset at that time.
    public var quotaLimit = Duration.seconds(3600)
    /// The calls that are held by a quota announced to one account; by default the calls of that account.
    public var quotaSharing = Sharing.account
    /// The calls that are held by a `Retry-After` sent to one account; by default the calls of all accounts.
    public var delaySharing = Sharing.service
    /// How many services may have a state before idle ones are removed; 1,024 by default.
    public var idleKeyLimit = 1_024

    /// How much of a quota is spread.
    var reserve: QuotaReserve { QuotaReserve(share: quotaReserve, least: quotaReserveCalls) }

    /// Which calls to a service share the limits that its server announces.
    public enum Sharing: Sendable, Hashable {
        /// All calls, of any account.
        case service
        /// The calls of one account; see `Call.account`.
        case account
    }

    /// Makes limits.
    ///
    /// - Parameter rate: The rate of services without a specific one; nil for no limit.
    public init(default rate: RateLimits.Rate? = nil) {
        self.default = rate
    }
}
