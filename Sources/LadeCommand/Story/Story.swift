#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade

/// Prints the events of a call while they happen, without secrets (`--verbose`).
///
/// A line begins with `>` for what is sent, `<` for what is received, and `*` for everything else.
struct Story: EventSink {
    private let talk: LineLog
    private let isColoured: Bool
    private let showsSecrets: Bool

    /// Makes a story that is printed on a console.
    init(_ console: Console) {
        talk = console.talk
        isColoured = console.coloursTalk
        showsSecrets = console.secrets.showsSecrets
    }

    /// Prints a request: every field, including those that the transport adds, and the size of the body.
    func show(_ sent: SentRequest) {
        show([">", showsSecrets ? "\(sent.request.method) \(sent.request.url.absoluteString)" : "\(sent.request)"])
        for field in sent.fields { show(field, ">") }
        if let body = sent.bodyWords { show(["*", "sending \(body)"]) }
        guard let text = showsSecrets ? sent.wholeBodyText : sent.bodyText else { return }
        for line in text.utf8.split(separator: 0x0A) {
            talk.write("> \(String(decoding: line, as: UTF8.self).escapedForDisplay(limit: 4_000))\n")
        }
    }

    private func show(_ field: Headers.Field, _ sign: String) {
        let line = (showsSecrets ? "\(field.name): \(field.value)" : "\(field)").escapedForDisplay(limit: 4_000)
        talk.write("\(sign) \(isColoured ? HeadColour.field(line) : line)\n")
    }

    /// Prints the details that a lower layer gave for a failure.
    func show(_ error: LoadingError) {
        if let detail = error.context.detail { show(["*", detail]) }
    }

    /// Prints an event.
    func record(_ event: CallEvent, of call: Call) {
        switch event {
        case .callStarted, .callFinished, .bodyFinished, .callFailed: break
        case .exchangeStarted(let method, let url): show(["*", "exchange \(call.attempt) started: \(method) \(url)"])
        case .waitStarted(let reason): show(["*", "waiting for \(reason)"])
        case .waitEnded(let reason, let duration):
            show(["*", "waited \(Self.words(duration)) for \(reason)"])
        case .interimResponse(let status, let headers): show(status, headers, "interim answer")
        case .headReceived(let status, let headers, let version): show(status, headers, version?.rawValue ?? "HTTP")
        case .exchangeFinished(let metrics): show(["*", "exchange finished: \(Self.words(metrics))"])
        case .exchangeFailed(let error, let metrics):
            show(["*", "exchange failed: \(error)"])
            show(["*", Self.words(metrics)])
        case .exchangeRepeated: show(["*", "sent again on a fresh connection"])
        case .certificateCheckSkipped(let host): show(["*", "the certificate of \(host) was NOT checked"])
        case .malformationTolerated(let fault): show(["*", "tolerated: \(fault)"])
        case .attemptStarted(let number): if number > 1 { show(["*", "attempt \(number)"]) }
        case .retryScheduled(let record):
            show(["*", "attempt \(record.attempt) failed (\(record.rule)); next in \(Self.words(record.delay))"])
        case .retryRefused(let record): show(["*", "attempt \(record.attempt) is not repeated (\(record.rule))"])
        case .redirectFollowed(let status, _, let to, let method): show(["*", "\(status): on to \(method) \(to)"])
        case .gateClosed(let key, let duration, let status):
            show(["*", "\(status): nothing goes to \(key) for \(Self.words(duration))"])
        case .rateAdjusted(let key, let rate):
            show(["*", rate.map { "\(key) is called at most \($0) times a second" } ?? "\(key) has its own rate again"])
        case .hostChosen(let host, let address): show(["*", "\(host) is called at \(address)"])
        case .hostMoved(let host, let from, let to): show(["*", "\(host) is called at \(to) instead of \(from)"])
        case .valueIgnored(let name, let value): show(["*", "\(name) is not understood and has no effect: \(value)"])
        case .hostMarked(_, let address, let reason, let duration):
            show(["*", "\(address) is left alone for \(Self.words(duration)): \(reason)"])
        case .hostRecovered(_, let address): show(["*", "\(address) is back"])
        case .refreshStarted(let authoriser): show(["*", "\(authoriser) gets new credentials"])
        case .refreshFinished(let authoriser, let duration):
            show(["*", "\(authoriser) has new credentials after \(Self.words(duration))"])
        case .refreshFailed(let authoriser, let error): show(["*", "\(authoriser) has no new credentials: \(error)"])
        case .requestReplayed(let authoriser): show(["*", "sent again with other credentials of \(authoriser)"])
        case .cacheServed(let rule, let age, let lifetime):
            let ages = "\(age.shortText) old, fresh for \(lifetime.shortText)"
            show(["*", "served from the cache: \(rule.rawValue), \(ages)"])
        case .cacheMissed(let rule):
            show(["*", "not served from the cache: \(rule.rawValue)"])
        case .cacheValidating(let rule):
            show(["*", "the server is asked whether the stored response is current: \(rule.rawValue)"])
        case .cacheValidated:
            show(["*", "the stored response is current"])
        case .cacheStored(let bytes, let lifetime):
            show(["*", "stored: \(bytes) bytes, fresh for \(lifetime.shortText)"])
        case .cacheNotStored(let rule):
            show(["*", "not stored: \(rule.rawValue)"])
        case .cacheInvalidated(let count):
            show(["*", "\(count) stored responses must be validated"])
        case .cacheEvicted(let count, let bytes):
            show(["*", "\(count) stored responses of \(bytes) bytes were evicted"])
        case .cacheJoined(let call):
            show(["*", "shares the response to the equal call \(call)"])
        case .cacheStoreUsed: break
        case .cacheFault(let reason):
            show(["*", "the cache failed: \(reason.escapedForDisplay(limit: 200))"])
        case .pageRuleSkipped(let rule, let reason): show(["*", "the paging rule “\(rule)” is skipped: \(reason)"])
        }
    }

    private func show(_ status: HTTPStatus, _ headers: Headers, _ version: String) {
        let line = "\(version) \(status.words)".escapedForDisplay(limit: 200)
        talk.write("< \(isColoured ? HeadColour.status(line, status) : line)\n")
        for field in headers { show(field, "<") }
    }

    private func show(_ words: [String]) {
        talk.write(words.joined(separator: " ").escapedForDisplay(limit: 4_000) + "\n")
    }

    private static func words(_ metrics: Response.Metrics) -> String {
        let stages: [(String, Duration?)] = [
            ("name", metrics.nameLookup), ("connected", metrics.connect), ("TLS", metrics.secureConnect),
            // Without a body, the time is that of connecting.
            ("request sent", metrics.requestBodyBytes > 0 ? metrics.requestSent : nil),
            ("first byte", metrics.firstByte), ("end", metrics.total),
        ]
        var parts = stages.compactMap { name, time in time.map { "\(name) after \(words($0))" } }
        parts += ["\(metrics.bytesSent) bytes sent", "\(metrics.bytesReceived) received"]
        if let coding = metrics.contentEncoding { parts += ["\(metrics.decodedBodyBytes) decoded from \(coding)"] }
        if let address = metrics.remoteAddress {
            let kind = metrics.isReusedConnection == true ? "open connection" : "new connection"
            parts += ["\(kind) to \(address)" + (metrics.remotePort.map { " port \($0)" } ?? "")]
        }
        return parts.joined(separator: ", ")
    }

    /// A duration in a unit that leaves few digits.
    private static func words(_ duration: Duration) -> String {
        let microseconds = duration.wholeNanoseconds / 1_000
        return switch microseconds {
        case ..<1_000: "\(microseconds) µs"
        case ..<10_000_000: "\(microseconds / 1_000) ms"
        default: "\(microseconds / 1_000_000) s"
        }
    }
}
