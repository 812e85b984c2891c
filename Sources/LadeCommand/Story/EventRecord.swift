import Lade

/// An event as a line of NDJSON: a name and facts, without secrets.
struct EventRecord {
    /// The name of the event, as in the library.
    let name: String
    /// The facts of the event; each value is already JSON.
    let facts: [(name: String, value: String)]

    /// The line, with the elapsed time and the call's identifier.
    func line(at elapsed: Duration, of call: Call) -> String {
        let head = [
            ("seconds", Self.seconds(elapsed)), ("call", String(call.id.number)), ("attempt", String(call.attempt)),
            ("event", JSONQuoting.string(name)),
        ]
        return JSONQuoting.object(head.map { (name: $0.0, value: $0.1) } + facts) + "\n"
    }

    /// Makes the record of an event.
    init(_ event: CallEvent) {
        switch event {
        case .callStarted(let method, let url):
            self.init("callStarted", Self.request(method, url))
        case .exchangeStarted(let method, let url):
            self.init("exchangeStarted", Self.request(method, url))
        case .waitStarted(let reason):
            self.init("waitStarted", [("reason", Self.reason(reason))])
        case .waitEnded(let reason, let duration):
            self.init("waitEnded", [("reason", Self.reason(reason)), ("waited", Self.seconds(duration))])
        case .interimResponse(let status, let headers):
            self.init("interimResponse", [("status", String(status.code)), ("headers", Self.headers(headers))])
        case .headReceived(let status, let headers, let version):
            let version = ("version", JSONQuoting.string(version?.rawValue ?? "unknown"))
            self.init("headReceived", [("status", String(status.code)), version, ("headers", Self.headers(headers))])
        case .exchangeFinished(let metrics):
            self.init("exchangeFinished", Self.metrics(metrics))
        case .exchangeFailed(let error, let metrics):
            self.init("exchangeFailed", [Self.error(error)] + Self.metrics(metrics))
        case .exchangeRepeated(let isFresh):
            self.init("exchangeRepeated", [("onFreshConnection", String(isFresh))])
        case .certificateCheckSkipped(let host):
            self.init("certificateCheckSkipped", [("host", JSONQuoting.string(host))])
        case .malformationTolerated(let fault):
            self.init("malformationTolerated", [("fault", JSONQuoting.string(fault.description))])
        case .attemptStarted(let number):
            self.init("attemptStarted", [("number", String(number))])
        case .retryScheduled(let record):
            self.init("retryScheduled", Self.retry(record))
        case .retryRefused(let record):
            self.init("retryRefused", Self.retry(record))
        case .redirectFollowed(let status, let from, let to, let method):
            self.init(
                "redirectFollowed",
                [("status", String(status.code)), ("from", JSONQuoting.string(from)), ("to", JSONQuoting.string(to))]
                    + [("method", JSONQuoting.string(method.rawValue))]
            )
        case .gateClosed(let key, let duration, let status):
            self.init(
                "gateClosed",
                [("key", JSONQuoting.string(key)), ("for", Self.seconds(duration)), ("status", String(status.code))]
            )
        case .rateAdjusted(let key, let rate):
            let perSecond = rate.map { String($0) } ?? "null"
            self.init("rateAdjusted", [("key", JSONQuoting.string(key)), ("perSecond", perSecond)])
        case .hostChosen(let host, let address):
            self.init("hostChosen", Self.address(host, address))
        case .hostMoved(let host, let from, let to):
            self.init("hostMoved", Self.address(host, to) + [("from", JSONQuoting.string(from))])
        case .valueIgnored(let name, let value):
            self.init("valueIgnored", [("name", JSONQuoting.string(name)), ("value", JSONQuoting.string(value))])
        case .hostMarked(let host, let address, let reason, let duration):
            self.init(
                "hostMarked",
                Self.address(host, address) + [("reason", JSONQuoting.string(reason)), ("for", Self.seconds(duration))]
            )
        case .hostRecovered(let host, let address):
            self.init("hostRecovered", Self.address(host, address))
        case .refreshStarted(let authoriser):
            self.init("refreshStarted", [("authoriser", JSONQuoting.string(authoriser))])
        case .refreshFinished(let authoriser, let duration):
            self.init(
                "refreshFinished",
                [("authoriser", JSONQuoting.string(authoriser)), ("after", Self.seconds(duration))]
            )
        case .refreshFailed(let authoriser, let error):
            self.init("refreshFailed", [("authoriser", JSONQuoting.string(authoriser)), Self.error(error)])
        case .requestReplayed(let authoriser):
            self.init("requestReplayed", [("authoriser", JSONQuoting.string(authoriser))])
        case .pageRuleSkipped(let rule, let reason):
            self.init(
                "pageRuleSkipped",
                [("rule", JSONQuoting.string(rule)), ("reason", JSONQuoting.string(reason))]
            )
        case .cacheServed(let rule, let age, let lifetime):
            self.init(
                "cacheServed",
                [Self.rule(rule), ("age", Self.seconds(age)), ("lifetime", Self.seconds(lifetime))]
            )
        case .cacheMissed(let rule):
            self.init("cacheMissed", [Self.rule(rule)])
        case .cacheValidating(let rule):
            self.init("cacheValidating", [Self.rule(rule)])
        case .cacheValidated:
            self.init("cacheValidated", [])
        case .cacheStored(let bytes, let lifetime):
            self.init("cacheStored", [("bytes", String(bytes)), ("lifetime", Self.seconds(lifetime))])
        case .cacheNotStored(let rule):
            self.init("cacheNotStored", [Self.rule(rule)])
        case .cacheInvalidated(let count):
            self.init("cacheInvalidated", [("count", String(count))])
        case .cacheEvicted(let count, let bytes):
            self.init("cacheEvicted", [("count", String(count)), ("bytes", String(bytes))])
        case .cacheJoined(let call):
            self.init("cacheJoined", [("joined", String(call.number))])
        case .cacheStoreUsed(let duration):
            self.init("cacheStoreUsed", [("duration", Self.seconds(duration))])
        case .cacheFault(let reason):
            self.init("cacheFault", [("reason", JSONQuoting.string(reason))])
        case .callFinished(let status):
            self.init("callFinished", [("status", String(status.code))])
        case .bodyFinished(let record):
            var outcome = "\(record.outcome)"
            var failure: [(String, String)] = []
            if case .failed(let error) = record.outcome {
                outcome = "failed"
                failure.append(Self.error(error))
            }
            let facts = [
                ("outcome", JSONQuoting.string(outcome)), ("bytes", String(record.bytes)),
                ("duration", Self.seconds(record.duration)), ("attempts", String(record.attempts)),
            ]
            self.init("bodyFinished", facts + failure)
        case .callFailed(let error):
            self.init("callFailed", [Self.error(error)])
        }
    }

    private init(_ name: String, _ facts: [(String, String)]) {
        self.name = name
        self.facts = facts.map { (name: $0.0, value: $0.1) }
    }

    private static func rule(_ rule: CacheRule) -> (String, String) { ("rule", JSONQuoting.string(rule.rawValue)) }

    private static func request(_ method: HTTPMethod, _ url: String) -> [(String, String)] {
        [("method", JSONQuoting.string(method.rawValue)), ("url", JSONQuoting.string(url))]
    }

    private static func retry(_ record: CallEvent.Retry) -> [(String, String)] {
        [
            ("failedAttempt", String(record.attempt)), ("status", record.status.map { String($0.code) } ?? "null"),
            ("rule", JSONQuoting.string(record.rule)), ("delay", seconds(record.delay)),
            ("budget", record.budget.map { String($0) } ?? "null"),
        ]
    }

    private static func address(_ host: String, _ address: String) -> [(String, String)] {
        [("host", JSONQuoting.string(host)), ("address", JSONQuoting.string(address))]
    }

    private static func reason(_ reason: Call.WaitReason) -> String {
        let (kind, details) =
            switch reason {
            case .connection(let host): ("connection", [("host", JSONQuoting.string(host))])
            case .connectivity: ("connectivity", [])
            case .rateLimit(let key): ("rateLimit", [("key", JSONQuoting.string(key))])
            case .gate(let key): ("gate", [("key", JSONQuoting.string(key))])
            case .concurrency(let key): ("concurrency", [("key", JSONQuoting.string(key))])
            case .backoff(let attempt): ("backoff", [("attempt", String(attempt))])
            case .authorisation(let authoriser): ("authorisation", [("authoriser", JSONQuoting.string(authoriser))])
            case .coalescing(let call): ("coalescing", [("joined", String(call.number))])
            case .anotherProcess: ("anotherProcess", [])
            case .probe(let address): ("probe", [("address", JSONQuoting.string(address))])
            }
        return JSONQuoting.object([("kind", JSONQuoting.string(kind))] + details)
    }

    private static func error(_ error: LoadingError) -> (String, String) {
        ("error", JSONQuoting.string(error.description))
    }

    private static func headers(_ headers: Headers) -> String {
        let fields = headers.map { field in
            "[\(JSONQuoting.string(field.name)),\(JSONQuoting.string(field.redactedValue))]"
        }
        return "[" + fields.joined(separator: ",") + "]"
    }

    private static func metrics(_ metrics: Response.Metrics) -> [(String, String)] {
        let stages: [(String, Duration?)] = [
            ("queued", metrics.queued), ("nameLookup", metrics.nameLookup), ("connect", metrics.connect),
            ("secureConnect", metrics.secureConnect), ("requestStarted", metrics.requestStarted),
            ("firstByte", metrics.firstByte), ("total", metrics.total),
        ]
        let counts = [
            ("requestHeadBytes", metrics.requestHeadBytes), ("requestBodyBytes", metrics.requestBodyBytes),
            ("responseHeadBytes", metrics.responseHeadBytes), ("responseBodyBytes", metrics.responseBodyBytes),
            ("decodedBodyBytes", metrics.decodedBodyBytes),
        ]
        let facts: [(String, String?)] = [
            ("contentEncoding", metrics.contentEncoding.map(JSONQuoting.string)),
            ("version", metrics.version.map { JSONQuoting.string($0.rawValue) }),
            ("isReusedConnection", metrics.isReusedConnection.map(String.init)),
            ("remoteAddress", metrics.remoteAddress.map(JSONQuoting.string)),
            ("remotePort", metrics.remotePort.map { String($0) }),
        ]
        let known = (stages.map { ($0.0, $0.1.map(Self.seconds)) } + facts).compactMap { name, value in
            value.map { (name, $0) }
        }
        return known + counts.map { ($0.0, String($0.1)) }
    }

    private static func seconds(_ duration: Duration) -> String {
        // Finer units than microseconds mean nothing over a network.
        String(Double(duration.wholeNanoseconds / 1_000) / 1_000_000)
    }
}
