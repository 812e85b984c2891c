public import LadeCore

/// How many exchanges a service may start: so many per second, and so many at once after a pause.
public struct Rate: Sendable, Hashable {
    /// Starts per second in the long run; zero holds every call until the rate is changed.
    public var perSecond: Double
    /// How many may start at once after a pause; 1, evenly spaced, by default.
    public var burst: Int

    /// Makes a rate.
    public init(perSecond: Double, burst: Int = 1) {
        self.perSecond = perSecond
        self.burst = burst
    }

    /// So many per second.
    public static func perSecond(_ count: Double, burst: Int = 1) -> Rate { Rate(perSecond: count, burst: burst) }

    /// So many per minute.
    public static func perMinute(_ count: Double, burst: Int = 1) -> Rate {
        Rate(perSecond: count / 60, burst: burst)
    }

    /// None until the rate is changed.
    public static var held: Rate { Rate(perSecond: 0) }

    /// Checks what cannot be meant.
    func validate() throws(LoadingError) {
        guard perSecond >= 0, perSecond.isFinite else {
            throw .invalidSetting(
                name: "rate",
                reason: "\(perSecond) per second is no rate; zero holds every call",
                ErrorContext()
            )
        }
        guard burst >= 1 else {
            throw .invalidSetting(name: "burst", reason: "\(burst) is less than one", ErrorContext())
        }
    }

    /// The time from one start to the next in nanoseconds, at most twelve years; nil for a rate of zero.
    var interval: Int64? {
        perSecond > 0 ? Int64(min(1e9 / perSecond, 4e17)) : nil
    }
}

/// What a ``RateLimiter`` starts with.
public struct RateLimits: Sendable {
    /// The rate of services that have none of their own; nil, no limit, by default.
    public var `default`: Rate?
    /// The rates of single services.
    public var rates: [ServiceKey: Rate] = [:]
    /// How many exchanges with one service may run at a time, unless it has a number of its own; nil, no limit, by default.
    public var concurrency: Int?
    /// How many exchanges may run at a time in all; nil, no limit, by default.
    public var totalConcurrency: Int?
    /// Which requests share a rate: host, port and first path component by default.
    public var keyRule: ServiceKey.Rule = { ServiceKey($0) }
    /// The statuses whose `Retry-After` closes the gate of a service; 429 and 503 by default.
    public var gateStatuses: StatusSet = [429, 503]
    /// The longest time for which a server can close a gate; one hour by default.
    public var gateLimit = Duration.seconds(3600)
    /// The longest time a call waits at a gate.
    ///
    /// 60 s by default. One that would have to wait longer fails at once.
    public var pauseLimit = Duration.seconds(60)
    /// How many calls may wait for one service; 100,000 by default, nil for any number.
    ///
    /// A further one fails immediately, so that a service that has stopped answering cannot fill the memory.
    public var waitingLimit: Int? = 100_000
    /// The time over which the calls that waited at a gate are spread when the service has no rate; 2 s by default.
    public var releaseSpread = Duration.seconds(2)
    /// Whether the quota that a server announces is spent evenly; true by default.
    public var respectsQuotas = true
    /// The longest time for which an announced quota can hold calls; one hour by default.
    ///
    /// A reset that is further away, or that was misread, counts as one at that time.
    public var quotaLimit = Duration.seconds(3600)
    /// What a quota that a server announces to a call of one account holds; the calls of that account by default.
    public var quotaSharing = Sharing.account
    /// What a `Retry-After` that a server sends to a call of one account holds; the calls of all accounts by default.
    public var delaySharing = Sharing.service
    /// How many services may be remembered before those that are idle are forgotten; 1,024 by default.
    public var idleKeyLimit = 1_024

    /// Which calls to a service share what its server wants.
    public enum Sharing: Sendable, Hashable {
        /// All of them, whatever their account.
        case service
        /// Those of one account; see `Call.account`.
        case account
    }

    /// Makes limits.
    ///
    /// - Parameter rate: The rate of services that have none of their own; nil for no limit.
    public init(default rate: Rate? = nil) {
        self.default = rate
    }

    /// What SPTDataLoader documents: 10 requests per second for each service, and `Retry-After` respected with whatever
    /// status, up to an hour.
    public static var dataLoader: RateLimits {
        var limits = RateLimits(default: .perSecond(10))
        limits.gateStatuses = .all
        limits.pauseLimit = .seconds(3600)
        limits.respectsQuotas = false
        return limits
    }
}
