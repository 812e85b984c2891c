import Foundation
import LadeConformance
import LadeCore
import LadeCurl
import LadeTesting
import LadeWire
import Testing

/// The events and the errors of `WireTransport` beside those of `CurlTransport`, over the cases of the conformance suite.
///
/// Most of their time is time-outs, so the cases run together. What depends on the speed of both sides is no difference.
@Suite("Events and errors of WireTransport and CurlTransport", .timeLimit(.minutes(30)))
struct EquivalenceTests {
    @Test(
        "wire WR-10 records the events and errors that LadeCurl records, except for what is listed",
        arguments: numbers
    )
    func equal(number: String) async throws {
        let test = try #require(TransportConformance.conformanceCase(number))
        var findings: [String] = []
        // What depends on which bytes arrive together is not found each time.
        for _ in 0..<3 {
            findings = await Self.findings(test)
            if findings.isEmpty { return }
        }
        for finding in findings { Issue.record("\(number) \(finding)") }
    }

    /// What one transport alone records, and is not listed; and what is listed, and was not found.
    private static func findings(_ test: ConformanceCase) async -> [String] {
        let (wire, curl) = (ExchangeStories(), ExchangeStories())
        // Whether the case passes is what the suites of both transports check.
        async let ofWire: Void? = try? test.run(context(wire) { try WireTransport(settings: $0) })
        async let ofCurl: Void? = try? test.run(context(curl) { try CurlTransport(settings: $0) })
        _ = await (ofWire, ofCurl)
        let onlyWire = wire.all.subtracting(curl.all), onlyCurl = curl.all.subtracting(wire.all)
        let listed = Difference.all.filter { $0.number == test.number }
        var findings: [String] = []
        for story in onlyWire.sorted() where !listed.contains(where: { $0.wire.contains(where: story.contains) }) {
            findings.append("only wire: \(story)")
        }
        for story in onlyCurl.sorted() where !listed.contains(where: { $0.curl.contains(where: story.contains) }) {
            findings.append("only curl: \(story)")
        }
        for difference in listed where difference.isAlways {
            for (parts, stories) in [(difference.wire, onlyWire), (difference.curl, onlyCurl)] {
                for part in parts where !stories.contains(where: { $0.contains(part) }) {
                    findings.append("the difference “\(part)” (\(difference.reason)) is listed and has vanished")
                }
            }
        }
        return findings
    }

    /// Without the long and random runs, which measure the process with exchanges that other cases make.
    private static let numbers = TransportConformance.cases.filter { !$0.measuresProcess }.map(\.number)

    private static func context(
        _ stories: ExchangeStories,
        _ make: @escaping @Sendable (TransportSettings) throws -> any Transport
    ) -> ConformanceContext {
        var context = ConformanceContext(
            shutDown: { transport in
                switch (transport as? RecordedTransport)?.inner {
                case let wire as WireTransport: await wire.shutDown()
                case let curl as CurlTransport: await curl.shutDown()
                default: break
                }
            }
        ) { RecordedTransport(inner: try make($0), stories: stories) }
        context.patience = .seconds(60)
        // Long runs repeat what a few calls show.
        context.scale = 0.001
        context.seed = 1
        return context
    }
}

/// A case in which the transports record something else, on purpose or because libcurl leaves no choice.
private struct Difference {
    let number: String
    /// Parts of the stories that only one transport has.
    var wire: [String] = []
    var curl: [String] = []
    let reason: String
    /// Whether each run has it; otherwise it depends on which bytes arrive together.
    var isAlways = true

    static let all = [
        Difference(
            number: "TR-01",
            wire: ["its status line is malformed (“FOOBAR”)"],
            curl: ["it is not HTTP"],
            reason: "libcurl does not tell a faulty status line from another protocol"
        ),
        Difference(
            number: "TR-20",
            wire: ["its status line is malformed"],
            curl: ["it is not HTTP"],
            reason: "libcurl does not tell a faulty status line from another protocol"
        ),
        Difference(
            number: "TR-21",
            curl: ["a header field's value has a forbidden character"],
            reason: "libcurl refuses a NUL itself and does not show the line"
        ),
        Difference(
            number: "TR-55",
            curl: ["/goaway?token=<redacted> · repeated"],
            reason: "libcurl finds a connection closed only when it has sent the request; the wire looks before"
        ),
        Difference(
            number: "TR-55",
            curl: ["/close-after?token=<redacted> · repeated"],
            reason: "as for GOAWAY, when the end has not arrived at libcurl",
            isAlways: false
        ),
        Difference(
            number: "TR-55",
            curl: ["/goaway-before · started GET https://localhost:#/goaway-before?token=<redacted> · failed"],
            reason: "libcurl fails a request that GOAWAY excludes; the wire moves it to another connection"
        ),
        Difference(
            number: "TR-55",
            wire: ["/reset"],
            curl: ["/reset"],
            reason: "libcurl drops a head that arrives together with a reset",
            isAlways: false
        ),
        Difference(
            number: "TR-58",
            wire: ["it was refused"],
            curl: ["No such file or directory"],
            reason: "a Unix socket that does not exist is one that nothing listens on"
        ),
        Difference(
            number: "TR-62",
            wire: ["failed cancelled"],
            curl: ["failed cancelled"],
            reason: "what arrives before a cancellation depends on the speed of both sides",
            isAlways: false
        ),
        Difference(
            number: "TR-81",
            wire: ["failed cancelled"],
            curl: ["finished many"],
            reason: "a large body that is left is cancelled, or has arrived in libcurl's buffers",
            isAlways: false
        ),
        Difference(
            number: "TR-38",
            wire: ["failed cancelled"],
            curl: ["failed cancelled"],
            reason: "what has begun before a cancellation depends on the speed of both sides",
            isAlways: false
        ),
        Difference(
            number: "TR-80",
            wire: ["TimeoutPhase.whole) "],
            curl: ["TimeoutPhase.whole) "],
            reason: "how much arrives before a time-out depends on the speed of both sides",
            isAlways: false
        ),
        Difference(
            number: "FH-2",
            wire: ["kind=data", "kind=ping", "kind=window"],
            reason: "a flood of frames ends the connection; libcurl waits until the idle time-out"
        ),
        Difference(
            number: "FH-2",
            curl: ["TimeoutPhase.idle"],
            reason: "libcurl waits during a flood; how long depends on the speed of both sides",
            isAlways: false
        ),
        Difference(
            number: "FH-4",
            wire: ["/break?count=1&token=<redacted> · head 200 HTTP/2  · failed malformedResponse"],
            curl: ["/break?count=1&token=<redacted> · head 200 HTTP/2  · failed incompleteBody"],
            reason: "the wire says that a frame was malformed; libcurl reports the streams as ended"
        ),
        Difference(
            number: "FH-4",
            wire: ["/break?count=20"],
            curl: ["/break?count=20"],
            reason: "the same with 20 streams, of which some may have ended before",
            isAlways: false
        ),
        Difference(
            number: "FH-11",
            wire: ["/too-long?token=<redacted> · head 200", "/too-short · head 200"],
            curl: ["/too-long?token=<redacted> · failed", "/too-short · failed"],
            reason: "libcurl drops a head that arrives together with the frame that breaks its length"
        ),
        Difference(
            number: "FH-11",
            curl: ["/break-head?token=<redacted> · repeated"],
            reason: "libcurl finds a connection closed only when it has sent the request",
            isAlways: false
        ),
        Difference(
            number: "FH-14",
            wire: ["X-0: ", "no-streams.lade.test/ · failed timedOut(LadeCore.LoadingError.TimeoutPhase.connect)"],
            curl: ["headTooLarge", "no-streams.lade.test/ · failed timedOut(LadeCore.LoadingError.TimeoutPhase.idle)"],
            reason: "libcurl has a limit of heads of its own, and sends a first request before the settings allow it"
        ),
        Difference(
            number: "FH-14",
            wire: ["/refuse"],
            curl: ["/refuse"],
            reason: "libcurl sends a refused request again itself, and how often depends on what was sent before",
            isAlways: false
        ),
        Difference(
            number: "UF-1",
            wire: ["failed cancelled"],
            curl: ["failed cancelled"],
            reason: "what arrives before a cancellation depends on the speed of both sides",
            isAlways: false
        ),
    ]
}

/// What happened in the exchanges of one transport.
private final class ExchangeStories: Sendable {
    private let began = Locked<[Story]>([])

    func begin(_ request: Request, _ call: Call) -> Story {
        let story = Story(request, call)
        began.withLock { $0.append(story) }
        return story
    }

    /// The different stories, without those of requests for a peer's own counts.
    ///
    /// How often each happened depends on the speed of both sides.
    var all: Set<String> { Set(began.withLock { $0 }.map(\.text).filter { !$0.hasPrefix("GET /stats") }) }
}

/// The events of one exchange without times, ports and generated names, which are passed on to the call's own sinks.
private final class Story: Call.Observer {
    private let call: Call
    private let parts: Locked<[String]>

    init(_ request: Request, _ call: Call) {
        self.call = call
        parts = Locked(["\(request.method.rawValue) \(Self.plain(request.url.path))"])
    }

    func record(_ event: Call.Event, of _: Call) {
        if let part = Self.part(event) { parts.withLock { $0.append(part) } }
        call.record(event)
    }

    var text: String { parts.withLock { $0.joined(separator: " · ") } }

    private static func part(_ event: Call.Event) -> String? {
        switch event {
        // Whether a call waits depends on the speed of both sides.
        case .waitStarted, .waitEnded: nil
        case .exchangeStarted(let method, let url): "started \(method.rawValue) \(plain(url))"
        case .interimResponse(let status, let headers): "interim \(status.code) \(text(headers))"
        case .headReceived(let status, let headers, let version):
            "head \(status.code) \(version?.rawValue ?? "–") \(text(headers))"
        case .exchangeFinished(let metrics): "finished \(bytes(metrics))"
        case .exchangeFailed(let error, let metrics): "failed \(plain("\(error.kind)")) \(bytes(metrics))"
        case .exchangeRepeated(let isFresh): "repeated \(isFresh)"
        case .malformationTolerated(let fault): "tolerated \(fault.rule)"
        default: plain("\(event)")
        }
    }

    private static func text(_ headers: Headers) -> String {
        let generated = ["date", "etag", "last-modified", "set-cookie", "x-connection"]
        return headers.map { field in
            generated.contains(field.name.lowercased())
                ? field.name : "\(field.name): \(plain(field.value).replacing(#/[0-9]{3,}/#, with: "#"))"
        }
        .joined(separator: ", ")
    }

    /// The bytes of the body, unless there are so many that a port, a time or the buffers of the system decide.
    private static func bytes(_ metrics: Response.Metrics) -> String {
        metrics.decodedBodyBytes < 100 ? "\(metrics.decodedBodyBytes)" : "many"
    }

    /// A text without durations, numbers of more than three digits and random names, and without the position of what was
    /// malformed, which libcurl does not tell.
    private static func plain(_ text: String) -> String {
        unlike.reduce(text) { $0.replacing($1.regex, with: $1.mark) }
    }

    // Made once, because making one takes longer than its use. A regular expression is a value that never changes.
    private nonisolated(unsafe) static let unlike: [(regex: Regex<AnyRegexOutput>, mark: String)] = [
        (Regex(#/, at byte [0-9]+/#), ""),
        (Regex(#/[0-9]{4,}/#), "#"),
        (Regex(#/-?[0-9]+ ms/#), "# ms"),
        (Regex(#/lade[- ](file )?[^ ,"\/]*/#), "lade-#"),
    ]
}

/// A transport whose exchanges are recorded.
private final class RecordedTransport: Transport {
    let inner: any Transport
    private let stories: ExchangeStories

    init(inner: any Transport, stories: ExchangeStories) {
        self.inner = inner
        self.stories = stories
    }

    var observesScope: Bool { inner.observesScope }
    var collectsBodies: Bool { inner.collectsBodies }

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        var recorded = Call(
            id: call.id,
            account: call.account,
            time: call.time,
            random: call.random,
            events: [stories.begin(request, call)]
        )
        recorded.scope = call.scope
        recorded.deadline = call.deadline
        return try await inner.send(request, call: recorded)
    }
}
