public import Lade

// The defaults of SPTDataLoader, for programs that come from it.

extension Service.Settings {
    /// The behaviour that SPTDataLoader documents.
    ///
    /// It has no deadline but 20 s for an attempt, and 10 requests a second for each service. Retries happen only on
    /// request, for all methods alike.
    ///
    /// - Throws: The error of invalid rate limits, which these settings do not have.
    public static func dataLoader(time: any TimeSource = SystemTime()) throws(LoadingError) -> Service.Settings {
        var settings = Service.Settings()
        settings.time = time
        settings.deadlines = .dataLoader
        settings.retries = .dataLoader
        settings.rateLimiter = try RateLimiter(.dataLoader, time: time)
        return settings
    }
}

extension DeadlineSettings {
    /// The defaults of SPTDataLoader: no limit on a whole call unless the request has one, and 20 s for one attempt.
    public static var dataLoader: DeadlineSettings {
        var settings = DeadlineSettings()
        settings.buffered = nil
        settings.attempt = .seconds(20)
        return settings
    }
}

extension RetryPolicy {
    /// The retries that SPTDataLoader documents.
    ///
    /// A request has no retries unless it allows them. The first retry is immediate. The others follow delays of the
    /// exponential timer, from 1 s to 60 s. Server-requested delays of up to an hour are respected.
    ///
    /// Its known defects are not reproduced: statuses and methods are those of the default policy.
    public static var dataLoader: RetryPolicy {
        var policy = RetryPolicy()
        policy.limit = 0
        policy.immediateTries = 1
        policy.backoff = .exponentialTimer()
        policy.delayLimit = .seconds(3600)
        return policy
    }
}

extension RateLimits {
    /// The limits that SPTDataLoader documents: 10 requests per second for each service, and `Retry-After` respected
    /// with any status, up to an hour.
    public static var dataLoader: RateLimits {
        var limits = RateLimits(default: .perSecond(10))
        limits.gateStatuses = .all
        limits.delayLimit = .seconds(3600)
        limits.respectsQuotas = false
        return limits
    }
}

extension HostDirectory.Marking {
    /// The settings of SPTDataLoader's resolver: one hour for every mark, and the host itself when all are marked.
    public static var dataLoader: HostDirectory.Marking {
        var marking = HostDirectory.Marking()
        marking.interval = .seconds(3600)
        marking.maximumInterval = .seconds(3600)
        marking.fallback = .hostItself
        return marking
    }
}

extension Headers.Size {
    /// The size that SPTDataLoader reports: the bytes of name and value plus three for each field.
    ///
    /// A field whose name or value is not valid text counts zero bytes. `Authorisation: Basic thisismytoken` counts 35.
    public static func compatible(_ fields: some Sequence<(Any, Any)>) -> Int64 {
        fields.reduce(0) { sum, field in
            guard let name = field.0 as? String, let value = field.1 as? String else { return sum }
            return sum + Int64(name.utf8.count + value.utf8.count + 3)
        }
    }
}
