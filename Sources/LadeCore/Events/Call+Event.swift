extension Call {
    /// Something that happened to a call.
    ///
    /// Events carry facts, never secrets.
    @nonexhaustive
    public enum Event: Sendable {
        /// The app started a call.
        case callStarted(method: Request.Method, url: String)
        /// The transport began an exchange, after any wait for a connection slot.
        case exchangeStarted(method: Request.Method, url: String)
        /// A wait began, for the reason given.
        case waitStarted(Call.WaitReason)
        /// A wait ended after the time given.
        case waitEnded(Call.WaitReason, after: Duration)
        /// An interim response arrived (1xx, RFC 9110 §15.2).
        case interimResponse(status: Response.Status, headers: Headers)
        /// The head of the response arrived; the version is nil when the transport does not report it.
        case headReceived(status: Response.Status, headers: Headers, version: Response.Version?)
        /// The exchange succeeded.
        case exchangeFinished(Response.Metrics)
        /// The exchange failed; the metrics say how many bytes it moved.
        case exchangeFailed(LoadingError, Response.Metrics)
        /// The transport sent the request again.
        ///
        /// Either a reused connection was found closed before any byte of the response arrived, or the server required
        /// HTTP/1.1 instead of HTTP/2.
        case exchangeRepeated(onFreshConnection: Bool)
        /// A server's certificate was not checked, because the settings say so.
        case certificateCheckSkipped(host: String)
        /// A malformed response was accepted, because the settings say so.
        case malformationTolerated(LoadingError.MalformedResponse)
        /// An attempt began, the first included; redirects and replays count within their attempt.
        case attemptStarted(Int)
        /// A failed attempt will be retried after a delay; the record names the rule.
        case retryScheduled(Event.Retry)
        /// A failed attempt will not be retried; the record names the rule.
        case retryRefused(Event.Retry)
        /// No head came within the delay of the hedging policy: the request is sent once more, as the hedge with this number.
        case hedgeStarted(Int, after: Duration)
        /// A hedge is not sent, for the reason given.
        case hedgeRefused(Int, reason: String)
        /// An attempt with hedges has ended, with the result of this hedge; 0 for the result of the first exchange.
        case hedgeFinished(used: Int)
        /// A redirect is followed.
        case redirectFollowed(status: Response.Status, from: String, to: String, method: Request.Method)
        /// A server requested a delay: nothing is sent to the service for the given time.
        case gateClosed(key: String, for: Duration, status: Response.Status)
        /// The rate limit of a service was set to the one that its server announced; nil when that limit ended.
        case rateAdjusted(key: String, perSecond: Double?)
        /// The process shares its limits with a fleet of so many members, itself included.
        case fleetJoined(members: Int)
        /// The store of the fleet does not respond: the process calls at its share of the rate.
        case fleetAlone(members: Int, reason: String)
        /// The store of the fleet responds again, after the time given.
        case fleetRejoined(after: Duration)
        /// The store has lost its contents, which the members replace.
        case fleetLost
        /// The clock of the store was set, by about this much.
        case fleetClockJumped(by: Duration)
        /// Members have different rates for a service; the lowest counts.
        case fleetDisagrees(key: String)
        /// The store has not responded for so long that members in contact with it no longer count this one.
        case fleetSplit(members: Int)
        /// The limits are kept, but not evenly or not fully used, for the reason given.
        case fleetCoarse(reason: String)
        /// The store sent something that no script returns, or refused a command.
        case fleetFault(String)
        /// The store has reserved slots for calls of this process; the last one starts after the time given.
        case slotsGranted(key: String, count: Int, until: Duration)
        /// Slots have passed without a call, or lie within a delay that a server requested.
        case slotsVoided(key: String, count: Int)
        /// A value that a server sent, or that stands in the environment, is not understood whole and has no effect.
        case valueIgnored(name: String, value: String)
        /// An attempt uses another address than its host's own.
        case hostChosen(host: String, address: String)
        /// An attempt continues at the next address of its host's list: the request certainly was not processed.
        case hostMoved(host: String, from: String, to: String)
        /// An address is marked as unusable for a while, for the given reason.
        case hostMarked(host: String, address: String, reason: String, for: Duration)
        /// An address is used again.
        case hostRecovered(host: String, address: String)
        /// An authoriser began to get new credentials.
        case refreshStarted(authoriser: String)
        /// An authoriser has credentials that another member of its fleet has renewed.
        case refreshTaken(authoriser: String)
        /// The member of the fleet that renews the credentials is not heard of: it may still have them.
        case refreshInDoubt(authoriser: String)
        /// An authoriser has new credentials, after the time given.
        case refreshFinished(authoriser: String, after: Duration)
        /// An authoriser could not get new credentials.
        case refreshFailed(authoriser: String, LoadingError)
        /// A refused request is sent again with other credentials.
        case requestReplayed(authoriser: String)
        /// A paging rule found no next page on a page, and another rule was tried; see `Pages.Rule` of `Lade`.
        case pageRuleSkipped(rule: String, reason: String)
        /// The cache gave the response without asking the server.
        case cacheServed(Response.CacheRule, age: Duration, lifetime: Duration)
        /// The cache leaves the request to the server.
        case cacheMissed(Response.CacheRule)
        /// The cache asks the server whether the stored response is current.
        case cacheValidating(Response.CacheRule)
        /// The server confirmed the stored response, which the call gets.
        case cacheValidated
        /// The response was stored; `bytes` is the length of its body.
        case cacheStored(bytes: Int64, lifetime: Duration)
        /// The response was not stored.
        case cacheNotStored(Response.CacheRule)
        /// The call made stored responses invalid: each is validated before its next use.
        case cacheInvalidated(count: Int)
        /// Storing the response evicted others.
        case cacheEvicted(count: Int, bytes: Int64)
        /// The call gets the response of the exchange that another call began.
        case cacheJoined(Call.ID)
        /// The call waited for the store of the cache until now; waits too short to matter are not reported.
        case cacheStoreUsed(for: Duration)
        /// The store of the cache failed, which counts as a miss or a write that is dropped.
        case cacheFault(String)
        /// The call ended with a response; for a streamed one, when its head arrived. ``bodyFinished(_:)`` follows.
        case callFinished(status: Response.Status)
        /// The body of a call ended: the last event of each call that ended with a response, buffered or streamed.
        ///
        /// It follows the end of the last exchange, which may come some time after a body was cancelled or released.
        case bodyFinished(Event.Body)
        /// The call ended with an error, and has no body: its last event, after the end of the last exchange.
        case callFailed(LoadingError)
    }
}

extension Call {
    /// The reasons for which a call waits.
    @nonexhaustive
    public enum WaitReason: Sendable, Hashable {
        /// A free connection to the host.
        case connection(host: String)
        /// Any network at all; see ``Request/waitsForConnectivity``.
        case connectivity
        /// The rate limit of a service.
        case rateLimit(key: String)
        /// The end of a delay that the server requested for its service.
        case gate(key: String)
        /// The first contact with the store that the rate limit of a service is shared by.
        case fleet(key: String)
        /// A concurrency slot of a service.
        case concurrency(key: String)
        /// The delay before another attempt.
        case backoff(attempt: Int)
        /// The response to an equal request that another call has sent.
        case coalescing(Call.ID)
        /// The response to an equal request that another process has sent, which uses the same store of the cache.
        case anotherProcess
        /// Credentials that an authoriser is getting.
        case authorisation(authoriser: String)
        /// The probe that finds out whether an address can be used again.
        case probe(address: String)
    }
}

extension Call.Event {
    /// A decision about retrying an attempt, with the facts that led to it.
    public struct Retry: Sendable, Hashable {
        /// The attempt that failed, from 1 on.
        public var attempt: Int
        /// The status it ended with; nil when it ended without one.
        public var status: Response.Status?
        /// The rule that decided.
        public var rule: Call.RetryRule
        /// How long the next attempt waits; zero when there is none.
        public var delay: Duration
        /// The rest of the service's retry budget; nil when it has no budget.
        public var budget: Int?

        /// Makes a record.
        public init(
            attempt: Int,
            status: Response.Status? = nil,
            rule: Call.RetryRule,
            delay: Duration = .zero,
            budget: Int? = nil
        ) {
            self.attempt = attempt
            self.status = status
            self.rule = rule
            self.delay = delay
            self.budget = budget
        }
    }
}

extension Call {
    /// Receives what happens to calls: a log, metrics, an activity indicator, a test.
    public protocol Observer: Sendable {
        /// Whether the observer needs the events of a call; true by default.
        ///
        /// It is asked once, in the caller's task, before the first event. A call that no observer needs makes no events, and costs
        /// as much as one of a service without observers. The observer may receive events of a call that it does not need.
        func observes(_ request: Request) -> Bool

        /// Whether the observer needs the events that show the fields of responses; true by default.
        ///
        /// These are ``Call/Event/headReceived(status:headers:version:)`` and ``Call/Event/interimResponse(status:headers:)``, which
        /// cost more than all others, because their secrets are searched for. They are not made where no observer needs them.
        var needsHeads: Bool { get }

        /// Receives one event.
        ///
        /// It is called on any thread, possibly the transport's own: return quickly and never block.
        func record(_ event: Call.Event, of call: Call)
    }
}

extension Call.Observer {
    /// True: every call is observed.
    public func observes(_ request: Request) -> Bool { true }

    /// True: the observer needs all events.
    public var needsHeads: Bool { true }
}
