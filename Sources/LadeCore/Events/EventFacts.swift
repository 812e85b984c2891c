/// The description of an event: its name, its facts, and its words, without secrets.
///
/// This is the one table of events. Logs, timelines and records of events take from it what they show, so that an event
/// without a row does not compile.
package struct EventFacts: Sendable {
    /// The value of a fact.
    package enum Value: Sendable {
        case nothing
        case text(String)
        case count(Int64)
        case number(Double)
        case flag(Bool)
        case time(Duration)
        /// A header section; the values of fields with credentials are hidden.
        case fields(Headers)
        case group([Fact])
    }

    /// A fact of an event.
    package struct Fact: Sendable {
        package let name: String
        package let value: Value

        init(_ name: String, _ value: Value) {
            self.name = name
            self.value = value
        }
    }

    /// The name of the event, as in ``Call/Event``.
    package let name: String
    /// The facts of the event, in the order in which they are shown.
    package let facts: [Fact]
    /// The event in words, as the rest of a sentence that begins with the call.
    package let words: String
    /// More about it, for a reader who follows a single call; nil for most events.
    package let details: String?

    private init(_ name: String, _ words: String, _ facts: [Fact] = [], details: String? = nil) {
        self.name = name
        self.words = words
        self.facts = facts
        self.details = details
    }

    /// Describes an event.
    package init(_ event: Call.Event) {
        switch event {
        case .callStarted(let method, let url):
            self.init("callStarted", "asks \(method) \(url)", Self.request(method, url))
        case .exchangeStarted(let method, let url):
            self.init("exchangeStarted", "\(method) \(url)", Self.request(method, url))
        case .waitStarted(let reason):
            self.init("waitStarted", "waits for \(reason)", [Self.reason(reason)])
        case .waitEnded(let reason, let duration):
            self.init(
                "waitEnded",
                "has waited \(duration.shortText) for \(reason)",
                [Self.reason(reason), Fact("waited", .time(duration))]
            )
        case .interimResponse(let status, let headers):
            self.init(
                "interimResponse",
                "interim response \(status)",
                [Self.status(status), Fact("headers", .fields(headers))]
            )
        case .headReceived(let status, let headers, let version):
            self.init(
                "headReceived",
                Self.head(status, headers, version),
                [
                    Self.status(status), Fact("version", .text(version?.rawValue ?? "unknown")),
                    Fact("headers", .fields(headers)),
                ]
            )
        case .exchangeFinished(let metrics):
            self.init(
                "exchangeFinished",
                "complete: " + Self.volume(metrics),
                Self.metrics(metrics),
                details: Self.stages(metrics)
            )
        case .exchangeFailed(let error, let metrics):
            self.init(
                "exchangeFailed",
                error.isCancellation ? "cancelled" : "failed: \(error)",
                [Self.error(error)] + Self.metrics(metrics),
                details: [Self.volume(metrics), Self.stages(metrics)].compactMap(\.self).joined(separator: ", ")
            )
        case .exchangeRepeated(let isFresh):
            self.init(
                "exchangeRepeated",
                "sent again on a fresh connection",
                [Fact("onFreshConnection", .flag(isFresh))]
            )
        case .certificateCheckSkipped(let host):
            self.init(
                "certificateCheckSkipped",
                "the certificate of \(host) was NOT checked",
                [Fact("host", .text(host))]
            )
        case .malformationTolerated(let fault):
            self.init("malformationTolerated", "tolerated: \(fault)", [Fact("fault", .text(fault.description))])
        case .attemptStarted(let number):
            self.init("attemptStarted", "attempt \(number)", [Fact("number", .count(Int64(number)))])
        case .retryScheduled(let record):
            self.init(
                "retryScheduled",
                "attempt \(record.attempt): \(record.rule); next in \(record.delay.shortText)",
                Self.retry(record)
            )
        case .retryRefused(let record):
            self.init("retryRefused", "attempt \(record.attempt): \(record.rule); not sent again", Self.retry(record))
        case .hedgeStarted(let number, let delay):
            self.init(
                "hedgeStarted",
                "no head within \(delay.shortText); sent once more, as hedge \(number)",
                [Self.hedge(number), Fact("after", .time(delay))]
            )
        case .hedgeRefused(let number, let reason):
            self.init(
                "hedgeRefused",
                "hedge \(number) is not sent: \(reason)",
                [Self.hedge(number), Fact("reason", .text(reason))]
            )
        case .hedgeFinished(let number):
            let words =
                number == 0 ? "the result is that of the first exchange" : "the result is that of hedge \(number)"
            self.init("hedgeFinished", words, [Fact("used", .count(Int64(number)))])
        case .redirectFollowed(let status, let from, let to, let method):
            self.init(
                "redirectFollowed",
                "\(status) leads to \(method) \(to)",
                [
                    Self.status(status), Fact("from", .text(from)), Fact("to", .text(to)),
                    Fact("method", .text(method.rawValue)),
                ]
            )
        case .gateClosed(let key, let duration, let status):
            self.init(
                "gateClosed",
                "\(key) requests a delay of \(duration.shortText)",
                [Fact("key", .text(key)), Fact("for", .time(duration)), Self.status(status)]
            )
        case .rateAdjusted(let key, let rate):
            self.init(
                "rateAdjusted",
                rate.map { "\(key) receives at most \(Self.perSecond($0)) requests a second" }
                    ?? "\(key) has its configured rate again",
                [Fact("key", .text(key)), Fact("perSecond", rate.map { .number($0) } ?? .nothing)]
            )
        case .fleetJoined(let members):
            self.init(
                "fleetJoined",
                "the limits are shared by a fleet of \(members)",
                [Fact("members", .count(Int64(members)))]
            )
        case .fleetAlone(let members, let reason):
            self.init(
                "fleetAlone",
                "the store of the fleet does not respond (\(reason.escapedForDisplay(limit: 80))): "
                    + "alone, 1/\(members) of the limit",
                [Fact("members", .count(Int64(members))), Fact("reason", .text(reason))]
            )
        case .fleetRejoined(let duration):
            self.init(
                "fleetRejoined",
                "the store of the fleet responds again, after \(duration.shortText)",
                [Fact("after", .time(duration))]
            )
        case .fleetLost: self.init("fleetLost", "the store of the fleet has lost its contents")
        case .fleetClockJumped(let duration):
            self.init(
                "fleetClockJumped",
                "the clock of the store was set by \(duration.shortText)",
                [Fact("by", .time(duration))]
            )
        case .fleetDisagrees(let key):
            self.init(
                "fleetDisagrees",
                "the members of the fleet have different rates for \(key): the lowest counts",
                [Fact("key", .text(key))]
            )
        case .fleetSplit(let members):
            self.init(
                "fleetSplit",
                "members in contact with the store of the fleet do not count this one: their limits may add up to more",
                [Fact("members", .count(Int64(members)))]
            )
        case .fleetCoarse(let reason):
            self.init(
                "fleetCoarse",
                "the shared limits are coarse: \(reason.escapedForDisplay(limit: 200))",
                [Fact("reason", .text(reason))]
            )
        case .fleetFault(let reason):
            self.init(
                "fleetFault",
                "the store of the fleet sent something unexpected: \(reason.escapedForDisplay(limit: 200))",
                [Fact("reason", .text(reason))]
            )
        case .slotsGranted(let key, let count, let until):
            self.init(
                "slotsGranted",
                "\(count) slots of \(key), the last in \(until.shortText)",
                [Fact("key", .text(key)), Fact("count", .count(Int64(count))), Fact("until", .time(until))]
            )
        case .slotsVoided(let key, let count):
            self.init(
                "slotsVoided",
                "\(count) slots of \(key) were not used in time",
                [Fact("key", .text(key)), Fact("count", .count(Int64(count)))]
            )
        case .hostChosen(let host, let address):
            self.init("hostChosen", "\(host) is reached at \(address)", Self.address(host, address))
        case .hostMoved(let host, let from, let to):
            self.init(
                "hostMoved",
                "\(host) is reached at \(to), because \(from) did not serve the request",
                Self.address(host, to) + [Fact("from", .text(from))]
            )
        case .valueIgnored(let name, let value):
            self.init(
                "valueIgnored",
                "\(name) has no effect, because it is not understood: \(value.escapedForDisplay(limit: 80))",
                [Fact("name", .text(name)), Fact("value", .text(value))]
            )
        case .hostMarked(let host, let address, let reason, let duration):
            self.init(
                "hostMarked",
                "\(address) is not used for \(duration.shortText): \(reason)",
                Self.address(host, address) + [Fact("reason", .text(reason)), Fact("for", .time(duration))]
            )
        case .hostRecovered(let host, let address):
            self.init("hostRecovered", "\(address) can be used again", Self.address(host, address))
        case .refreshStarted(let authoriser):
            self.init("refreshStarted", "\(authoriser) is getting credentials", [Self.authoriser(authoriser)])
        case .refreshTaken(let authoriser):
            self.init(
                "refreshTaken",
                "\(authoriser) has the credentials of another member of the fleet",
                [Self.authoriser(authoriser)]
            )
        case .refreshInDoubt(let authoriser):
            self.init(
                "refreshInDoubt",
                "the member of the fleet that renews \(authoriser) is not heard of",
                [Self.authoriser(authoriser)]
            )
        case .refreshFinished(let authoriser, let duration):
            self.init(
                "refreshFinished",
                "\(authoriser) has credentials",
                [Self.authoriser(authoriser), Fact("after", .time(duration))]
            )
        case .refreshFailed(let authoriser, let error):
            self.init(
                "refreshFailed",
                "\(authoriser) could not get credentials: \(error)",
                [Self.authoriser(authoriser), Self.error(error)]
            )
        case .requestReplayed(let authoriser):
            self.init(
                "requestReplayed",
                "refused; sent again with other credentials of \(authoriser)",
                [Self.authoriser(authoriser)]
            )
        case .pageRuleSkipped(let rule, let reason):
            self.init(
                "pageRuleSkipped",
                "the paging rule “\(rule)” is skipped: \(reason)",
                [Fact("rule", .text(rule)), Fact("reason", .text(reason))]
            )
        case .callFinished(let status):
            self.init("callFinished", "the caller has the response: \(status)", [Self.status(status)])
        case .bodyFinished(let record): self.init(record)
        case .callFailed(let error):
            self.init(
                "callFailed",
                error.isCancellation ? "cancelled" : "the caller has the error: \(error)",
                [Self.error(error)]
            )
        case .cacheServed(let rule, let age, let lifetime):
            self.init(
                "cacheServed",
                "served from the cache: \(rule.rawValue), \(age.shortText) old, fresh for \(lifetime.shortText)",
                [Self.rule(rule), Fact("age", .time(age)), Fact("lifetime", .time(lifetime))]
            )
        case .cacheMissed(let rule):
            self.init("cacheMissed", "not served from the cache: \(rule.rawValue)", [Self.rule(rule)])
        case .cacheValidating(let rule):
            self.init(
                "cacheValidating",
                "the server is asked whether the stored response is current: \(rule.rawValue)",
                [Self.rule(rule)]
            )
        case .cacheValidated: self.init("cacheValidated", "the stored response is current")
        case .cacheStored(let bytes, let lifetime):
            self.init(
                "cacheStored",
                "stored: \(bytes) bytes, fresh for \(lifetime.shortText)",
                [Fact("bytes", .count(bytes)), Fact("lifetime", .time(lifetime))]
            )
        case .cacheNotStored(let rule):
            self.init("cacheNotStored", "not stored: \(rule.rawValue)", [Self.rule(rule)])
        case .cacheInvalidated(let count):
            self.init(
                "cacheInvalidated",
                "\(count) stored responses must be validated",
                [Fact("count", .count(Int64(count)))]
            )
        case .cacheEvicted(let count, let bytes):
            self.init(
                "cacheEvicted",
                "\(count) stored responses of \(bytes) bytes were evicted",
                [Fact("count", .count(Int64(count))), Fact("bytes", .count(bytes))]
            )
        case .cacheJoined(let call):
            self.init(
                "cacheJoined",
                "shares the response to the equal call \(call)",
                [Fact("joined", .count(Int64(clamping: call.number)))]
            )
        case .cacheStoreUsed(let duration):
            self.init(
                "cacheStoreUsed",
                "has waited \(duration.shortText) for the store of the cache",
                [Fact("duration", .time(duration))]
            )
        case .cacheFault(let reason):
            self.init(
                "cacheFault",
                "the cache failed: \(reason.escapedForDisplay(limit: 200))",
                [Fact("reason", .text(reason))]
            )
        }
    }

    /// Describes the end of a body.
    private init(_ record: Call.Event.Body) {
        var outcome = "\(record.ending)"
        var failure: [Fact] = []
        let words: String
        switch record.ending {
        case .whole: words = "the body is complete: \(record.bytes) bytes"
        case .failed(let error):
            words = "the body failed after \(record.bytes) bytes: \(error)"
            outcome = "failed"
            failure.append(Self.error(error))
        case .cancelled, .abandoned: words = "the body was \(record.ending) after \(record.bytes) bytes"
        }
        let facts = [
            Fact("outcome", .text(outcome)), Fact("bytes", .count(record.bytes)),
            Fact("duration", .time(record.duration)), Fact("attempts", .count(Int64(record.attempts))),
        ]
        self.init("bodyFinished", words, facts + failure)
    }

    // MARK: - Words

    private static func head(_ status: Response.Status, _ headers: Headers, _ version: Response.Version?) -> String {
        var text = "response \(status)" + (version.map { ", \($0.rawValue)" } ?? "")
        if let delay = headers.joined("Retry-After") { text += ", Retry-After: \(delay.escapedForDisplay(limit: 40))" }
        return text
    }

    private static func volume(_ metrics: Response.Metrics) -> String {
        var text = "\(metrics.bytesSent) bytes up, \(metrics.bytesReceived) down"
        if let address = metrics.remoteAddress {
            let kind = metrics.isReusedConnection == true ? "open" : "new"
            text += ", \(kind) connection to \(address)" + (metrics.remotePort.map { " port \($0)" } ?? "")
        }
        return text
    }

    /// The ends of the stages of an exchange, counted from its start.
    private static func stages(_ metrics: Response.Metrics) -> String? {
        let stages: [(String, Duration?)] = [
            ("name", metrics.nameLookup), ("connected", metrics.connect), ("TLS", metrics.secureConnect),
            // Without a body, the time is the time to connect.
            ("request sent", metrics.requestBodyBytes > 0 ? metrics.requestSent : nil),
            ("first byte", metrics.firstByte), ("end", metrics.total),
        ]
        var parts = stages.compactMap { name, time in time.map { "\(name) after \(fine($0))" } }
        if let coding = metrics.contentEncoding {
            parts.append("\(metrics.decodedBodyBytes) bytes decoded from \(coding)")
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    /// A duration in a unit that leaves few digits; stages often take less than a millisecond.
    private static func fine(_ duration: Duration) -> String {
        let microseconds = duration.wholeNanoseconds / 1_000
        return microseconds < 1_000 ? "\(microseconds) µs" : duration.shortText
    }

    /// The rate with at most one decimal.
    private static func perSecond(_ rate: Double) -> String {
        let tenths = Int(min(max(rate, 0), 1e15) * 10)
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
    }

    // MARK: - Facts

    private static func status(_ status: Response.Status) -> Fact { Fact("status", .count(Int64(status.code))) }

    private static func rule(_ rule: Response.CacheRule) -> Fact { Fact("rule", .text(rule.rawValue)) }

    private static func hedge(_ number: Int) -> Fact { Fact("number", .count(Int64(number))) }

    private static func authoriser(_ name: String) -> Fact { Fact("authoriser", .text(name)) }

    private static func error(_ error: LoadingError) -> Fact { Fact("error", .text(error.description)) }

    private static func request(_ method: Request.Method, _ url: String) -> [Fact] {
        [Fact("method", .text(method.rawValue)), Fact("url", .text(url))]
    }

    private static func address(_ host: String, _ address: String) -> [Fact] {
        [Fact("host", .text(host)), Fact("address", .text(address))]
    }

    private static func retry(_ record: Call.Event.Retry) -> [Fact] {
        [
            Fact("failedAttempt", .count(Int64(record.attempt))),
            Fact("status", record.status.map { .count(Int64($0.code)) } ?? .nothing),
            Fact("rule", .text(record.rule.name)),
            Fact("reason", .text(record.rule.description)), Fact("delay", .time(record.delay)),
            Fact("budget", record.budget.map { .count(Int64($0)) } ?? .nothing),
        ]
    }

    private static func reason(_ reason: Call.WaitReason) -> Fact {
        let (kind, details): (String, [Fact]) =
            switch reason {
            case .connection(let host): ("connection", [Fact("host", .text(host))])
            case .connectivity: ("connectivity", [])
            case .rateLimit(let key): ("rateLimit", [Fact("key", .text(key))])
            case .gate(let key): ("gate", [Fact("key", .text(key))])
            case .fleet(let key): ("fleet", [Fact("key", .text(key))])
            case .concurrency(let key): ("concurrency", [Fact("key", .text(key))])
            case .backoff(let attempt): ("backoff", [Fact("attempt", .count(Int64(attempt)))])
            case .authorisation(let name): ("authorisation", [authoriser(name)])
            case .coalescing(let call): ("coalescing", [Fact("joined", .count(Int64(clamping: call.number)))])
            case .anotherProcess: ("anotherProcess", [])
            case .probe(let address): ("probe", [Fact("address", .text(address))])
            }
        return Fact("reason", .group([Fact("kind", .text(kind))] + details))
    }

    private static func metrics(_ metrics: Response.Metrics) -> [Fact] {
        let stages: [(String, Duration?)] = [
            ("queued", metrics.queued), ("nameLookup", metrics.nameLookup), ("connect", metrics.connect),
            ("secureConnect", metrics.secureConnect), ("requestStarted", metrics.requestStarted),
            ("requestSent", metrics.requestSent), ("firstByte", metrics.firstByte), ("total", metrics.total),
        ]
        let counts = [
            ("requestHeadBytes", metrics.requestHeadBytes), ("requestBodyBytes", metrics.requestBodyBytes),
            ("responseHeadBytes", metrics.responseHeadBytes), ("responseBodyBytes", metrics.responseBodyBytes),
            ("decodedBodyBytes", metrics.decodedBodyBytes),
        ]
        let facts: [(String, Value?)] = [
            ("contentEncoding", metrics.contentEncoding.map { .text($0) }),
            ("version", metrics.version.map { .text($0.rawValue) }),
            ("isReusedConnection", metrics.isReusedConnection.map { .flag($0) }),
            ("remoteAddress", metrics.remoteAddress.map { .text($0) }),
            ("remotePort", metrics.remotePort.map { .count(Int64($0)) }),
        ]
        let known = (stages.map { ($0.0, $0.1.map { Value.time($0) }) } + facts).compactMap { name, value in
            value.map { Fact(name, $0) }
        }
        return known + counts.map { Fact($0.0, .count(Int64($0.1))) }
    }
}
