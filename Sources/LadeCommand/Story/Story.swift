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
    func tell(_ sent: SentRequest) {
        tell([">", showsSecrets ? "\(sent.request.method) \(sent.request.url.absoluteString)" : "\(sent.request)"])
        for field in sent.fields { tell(field, ">") }
        if let body = sent.bodyWords { tell(["*", "sending \(body)"]) }
    }

    private func tell(_ field: Headers.Field, _ sign: String) {
        let line = (showsSecrets ? "\(field.name): \(field.value)" : "\(field)").escapedForDisplay(limit: 4_000)
        talk.write("\(sign) \(isColoured ? HeadColour.field(line) : line)\n")
    }

    /// Prints the details that a lower layer gave for a failure.
    func tell(_ error: LoadingError) {
        if let detail = error.context.detail { tell(["*", detail]) }
    }

    /// Prints an event.
    func record(_ event: Event, of call: Call) {
        switch event {
        case .callStarted, .callFinished, .callFailed: break
        case .exchangeStarted(let method, let url): tell(["*", "exchange \(call.attempt) started: \(method) \(url)"])
        case .waitStarted(let reason): tell(["*", "waiting for \(reason)"])
        case .waitEnded(let reason, let duration):
            tell(["*", "waited \(Self.words(duration)) for \(reason)"])
        case .interimResponse(let status, let headers): tell(status, headers, "interim answer")
        case .headReceived(let status, let headers, let version): tell(status, headers, version?.rawValue ?? "HTTP")
        case .exchangeFinished(let metrics): tell(["*", "exchange finished: \(Self.words(metrics))"])
        case .exchangeFailed(let error, let metrics):
            tell(["*", "exchange failed: \(error)"])
            tell(["*", Self.words(metrics)])
        case .exchangeRepeated: tell(["*", "sent again on a fresh connection"])
        case .certificateCheckSkipped(let host): tell(["*", "the certificate of \(host) was NOT checked"])
        case .malformationTolerated(let fault): tell(["*", "tolerated: \(fault)"])
        case .attemptStarted(let number): if number > 1 { tell(["*", "attempt \(number)"]) }
        case .retryScheduled(let record):
            tell(["*", "attempt \(record.attempt) failed (\(record.rule)); next in \(Self.words(record.delay))"])
        case .retryRefused(let record): tell(["*", "attempt \(record.attempt) is not repeated (\(record.rule))"])
        case .redirectFollowed(let status, _, let to, let method): tell(["*", "\(status): on to \(method) \(to)"])
        case .gateClosed(let key, let duration, let status):
            tell(["*", "\(status): nothing goes to \(key) for \(Self.words(duration))"])
        case .rateAdjusted(let key, let rate):
            tell(["*", rate.map { "\(key) is asked at most \($0) times a second" } ?? "\(key) has its own rate again"])
        case .hostChosen(let host, let address): tell(["*", "\(host) is asked at \(address)"])
        case .hostMarked(_, let address, let reason, let duration):
            tell(["*", "\(address) is left alone for \(Self.words(duration)): \(reason)"])
        case .hostRecovered(_, let address): tell(["*", "\(address) is back"])
        case .refreshStarted(let authoriser): tell(["*", "\(authoriser) gets new credentials"])
        case .refreshFinished(let authoriser, let duration):
            tell(["*", "\(authoriser) has new credentials after \(Self.words(duration))"])
        case .refreshFailed(let authoriser, let error): tell(["*", "\(authoriser) has no new credentials: \(error)"])
        case .requestReplayed(let authoriser): tell(["*", "sent again with other credentials of \(authoriser)"])
        }
    }

    private func tell(_ status: Status, _ headers: Headers, _ version: String) {
        let line = "\(version) \(status.words)".escapedForDisplay(limit: 200)
        talk.write("< \(isColoured ? HeadColour.status(line, status) : line)\n")
        for field in headers { tell(field, "<") }
    }

    private func tell(_ words: [String]) {
        talk.write(words.joined(separator: " ").escapedForDisplay(limit: 4_000) + "\n")
    }

    private static func words(_ metrics: Metrics) -> String {
        let stages: [(String, Duration?)] = [
            ("name", metrics.nameLookup), ("connected", metrics.connect), ("TLS", metrics.secureConnect),
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
