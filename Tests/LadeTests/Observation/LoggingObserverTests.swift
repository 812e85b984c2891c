import Foundation
import Lade
import LadeTesting
import SharedDoubles
import Testing

@Suite("Logs of calls", .timeLimit(.minutes(5)))
struct LoggingObserverTests {
    private let lines = Journal<String>()

    private func rig(_ detail: LoggingObserver.Detail = .calls) -> Rig {
        Rig { [lines] in
            $0.observers = [LoggingObserver(detail) { lines.add($0) }]
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
    }

    @Test("a call is one line: method, address, status, bytes, duration, attempts")
    func succeeds() async throws {
        let rig = rig()
        rig.transport.on(.get, "/thing?page=1").respond(.status(503).after(.milliseconds(40)))
            .then(.text("hello").after(.milliseconds(80)))
        let (loader, request) = (rig.loader, try rig.request("/thing?page=1"))
        _ = try await rig.time.runAutomatically { () async throws(LoadingError) in
            try await loader.load(request)
        }
        #expect(lines.all.count == 1)
        #expect(lines.all[0].hasPrefix("#1 GET https://svc.example.com/thing?page=1: 200, "))
        #expect(lines.all[0].hasSuffix(" bytes, 120 ms, 2 attempts"))
    }

    @Test("the bytes of a call are those of all its attempts")
    func countsBytes() async throws {
        let rig = rig()
        rig.transport.on(.get, "/one").respond(.text("hello"))
        rig.transport.on(.get, "/two").respond(.status(503, "unavailable")).then(.text("hello"))
        for path in ["/one", "/two"] {
            let (loader, request) = (rig.loader, try rig.request(path))
            _ = try await rig.time.runAutomatically { () async throws(LoadingError) in
                try await loader.load(request)
            }
        }

        let bytes = lines.all.compactMap { $0.split(separator: ", ").first { $0.hasSuffix(" bytes") }?.dropLast(6) }
            .compactMap { Int($0) }
        #expect(bytes.count == 2 && bytes[0] > 0)
        #expect(bytes[1] > bytes[0] + 11)
    }

    @Test("a call that has had its line gets no other")
    func endsOnce() throws {
        let observer = LoggingObserver { [lines] in lines.add($0) }
        let call = Call()
        let url = try #require(URL(string: "https://svc.example.com/thing"))
        let story: [Call.Event] = [
            .callStarted(method: .get, url: url.redacted()), .callFinished(status: 204),
            .bodyFinished(Call.Event.Body(.whole, bytes: 0, duration: .zero, attempts: 1)), .callFinished(status: 204),
            .exchangeFinished(Response.Metrics()),
        ]

        for event in story { observer.record(event, of: call) }

        #expect(lines.all.count == 1)
    }

    @Test("a call that fails says why, once, in its line")
    func fails() async throws {
        let rig = rig()
        rig.transport.onAnyRequest().respond(.status(404))
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }
        #expect(error != nil)
        #expect(
            lines.all == [
                "#1 GET https://svc.example.com/thing: 404, 35 bytes, 0 ms, 1 attempt: The server responded with 404"
            ]
        )
    }

    @Test("a cancelled call is no error, and a broken stream is one line after its end")
    func endings() async throws {
        let rig = rig()
        rig.transport.on(.get, "/stalls").respond(.stalls)
        rig.transport.on(.get, "/breaks").respond(
            .text("hello").breaking(
                after: 2,
                with: LoadingError(.connectionLost(.body(received: 2), isSafeToRepeat: false))
            )
        )
        let (loader, stalling) = (rig.loader, try rig.request("/stalls"))
        let task = Task { () async throws(LoadingError) in try await loader.load(stalling) }
        while rig.transport.requests.isEmpty { await Task.yield() }
        task.cancel()
        _ = await task.result
        #expect(lines.all == ["#1 GET https://svc.example.com/stalls: cancelled, 0 bytes, 0 ms, 1 attempt"])

        var streamed = try rig.request("/breaks")
        streamed.delivery = .streamed
        let response = try await rig.loader.load(streamed)
        #expect(lines.all.count == 1)
        await #expect(throws: LoadingError.self) { for try await _ in response.body {} }
        #expect(lines.all.count == 2)
        #expect(lines.all[1].hasPrefix("#2 GET https://svc.example.com/breaks: 200, body failed, "))
        #expect(lines.all[1].hasSuffix(": The connection was lost after 2 bytes of the body"))
    }

    @Test("an exchange that fails with its call adds nothing to the line of the call")
    func failsTogether() throws {
        let observer = LoggingObserver { [lines] in lines.add($0) }
        let call = Call()
        let url = try #require(URL(string: "https://svc.example.com/thing"))
        let context = LoadingError.Context(try Request("https://svc.example.com/thing"))
        let story: [Call.Event] = [
            .callStarted(method: .get, url: url.redacted()), .exchangeStarted(method: .get, url: url.redacted()),
            .callFailed(LoadingError(.timedOut(.idle), context)),
            .exchangeFailed(LoadingError(.cannotConnect(host: "a", reason: .refused), context), Response.Metrics()),
        ]

        for event in story { observer.record(event, of: call) }

        let line = try #require(lines.all.first)
        #expect(line.contains(": failed, 0 bytes, ") && !line.contains("body") && !line.contains("refused"))
    }

    @Test("shows no fields that carry credentials, nor those that are named as secret, in whatever case")
    func secretFields() async throws {
        let rig = Rig { [lines] in
            $0.observers = [LoggingObserver(.events, secretFields: ["x-OWN"]) { lines.add($0) }]
        }
        let headers: Headers = ["Set-Cookie": "sid=canary", "X-Own": "canary", "X-Open": "shown"]
        rig.transport.onAnyRequest().respond(.text("hello", headers: headers))

        _ = try await rig.loader.load(rig.request())

        let head = try #require(lines.all.first { $0.contains("response 200") })
        #expect(
            head.contains("X-Open: shown") && head.contains("X-Own: <redacted>") && head.contains("Set-Cookie: ")
        )
        #expect(!head.contains("canary"))
    }

    @Test("finding DC-4 a line for each event is a setting")
    func events() async throws {
        let rig = rig(.events)
        rig.transport.onAnyRequest().respond(.text("hello"))
        _ = try await rig.loader.load(rig.request())
        #expect(lines.all.count >= 7)
        let words = [
            "asks GET", "attempt 1", "GET https", "response 200", "complete: ", "the caller has", "the body is",
        ]
        for word in words { #expect(lines.all.contains { $0.hasPrefix("#1 \(word)") }, "\(lines.all)") }
    }

    @Test("finding DC-4 every event has a line, which says what happened")
    func everyEvent() throws {
        let error = LoadingError(.timedOut(.idle))
        let retry = Call.Event.Retry(attempt: 1, status: 503, rule: .notIdempotent(.post))
        let events: [Call.Event] = [
            .callStarted(method: .get, url: "u"), .exchangeStarted(method: .get, url: "u"),
            .waitStarted(.connectivity), .waitEnded(.gate(key: "k"), after: .seconds(1)),
            .interimResponse(status: 103, headers: ["Link": "x"]),
            .headReceived(status: 200, headers: ["A": "b"], version: nil), .exchangeFinished(Response.Metrics()),
            .exchangeFailed(error, Response.Metrics()), .exchangeFailed(LoadingError(.cancelled), Response.Metrics()),
            .exchangeRepeated(onFreshConnection: true), .certificateCheckSkipped(host: "h"),
            .malformationTolerated(LoadingError.MalformedResponse(.lineEnd)), .attemptStarted(2),
            .retryScheduled(retry), .retryRefused(retry),
            .hedgeStarted(1, after: .seconds(1)), .hedgeRefused(1, reason: "r"), .hedgeFinished(used: 0),
            .hedgeFinished(used: 1),
            .redirectFollowed(status: 301, from: "a", to: "b", method: .get),
            .gateClosed(key: "k", for: .seconds(1), status: 429), .rateAdjusted(key: "k", perSecond: 0.5),
            .rateAdjusted(key: "k", perSecond: nil), .valueIgnored(name: "Retry-After", value: "x"),
            .hostChosen(host: "h", address: "a"), .hostMoved(host: "h", from: "dead", to: "b"),
            .hostMarked(host: "h", address: "a", reason: "r", for: .seconds(1)),
            .hostRecovered(host: "h", address: "a"),
            .refreshStarted(authoriser: "x"), .refreshTaken(authoriser: "x"), .refreshInDoubt(authoriser: "x"),
            .refreshFinished(authoriser: "x", after: .seconds(1)),
            .refreshFailed(authoriser: "x", error), .requestReplayed(authoriser: "x"),
            .pageRuleSkipped(rule: "r", reason: "s"), .cacheServed(.fresh, age: .zero, lifetime: .seconds(1)),
            .cacheMissed(.fresh), .cacheValidating(.fresh), .cacheValidated, .cacheStored(bytes: 1, lifetime: .zero),
            .cacheNotStored(.fresh), .cacheInvalidated(count: 1), .cacheEvicted(count: 1, bytes: 2),
            .cacheJoined(Call.ID(7)), .cacheStoreUsed(for: .seconds(1)), .cacheFault("f"), .callFinished(status: 200),
            .bodyFinished(Call.Event.Body(.whole, bytes: 5, duration: .zero, attempts: 1)),
            .bodyFinished(Call.Event.Body(.abandoned, bytes: 5, duration: .zero, attempts: 1)), .callFailed(error),
            .callFailed(LoadingError(.cancelled)),
        ]
        let observer = LoggingObserver(.events) { [lines] in lines.add($0) }
        let call = Call()

        for event in events { observer.record(event, of: call) }

        #expect(lines.all.count == events.count)
        #expect(lines.all.allSatisfy { $0.utf8.count > "#1 ".utf8.count + 3 })
        #expect(lines.all.contains { $0.contains("POST is not idempotent; not sent again") })
        #expect(lines.all.contains { $0.contains("dead did not serve the request") })
    }

    @Test(
        "finding DC-4 an error after one attempt says which rule refused the next, and so do log and events",
        arguments: [
            (Request.Method.post, 503, 5, "POST is not idempotent"), (.patch, 503, 2, "PATCH is not idempotent"),
            (.get, 501, 5, "status 501 is final"), (.get, 404, 5, nil), (.post, 503, 0, nil),
        ] as [(Request.Method, Int, Int, String?)]
    )
    func refusedRetry(method: Request.Method, status: Int, limit: Int, rule: String?) async throws {
        let rig = Rig { [lines] in
            $0.observers = [LoggingObserver { lines.add($0) }, LoggingObserver(.events) { lines.add($0) }]
            $0.retries.limit = limit
        }
        rig.transport.onAnyRequest().respond(.status(Response.Status(status)))
        let request = Request(method, try rig.request().url)

        let error = await failure { () throws(LoadingError) in try await rig.loader.load(request) }

        #expect(rig.transport.requests.count == 1)
        #expect(error?.context.retryRefusal == rule)
        let words = rule.map { "The server responded with \(status); it was not sent again, because \($0)." }
        #expect(
            error?.description.hasSuffix(words ?? "The server responded with \(status).") == true,
            "\(error as Any)"
        )
        if let rule {
            #expect(lines.all.contains { $0.contains("1 attempt: ") && $0.contains(rule) })
            #expect(lines.all.contains { $0.contains("attempt 1: \(rule); not sent again") })
        }
    }

    @Test("finding DC-4 a lost POST says in its error why it was not sent again")
    func refusedAfterLoss() async throws {
        let rig = Rig { $0.retries.limit = 5 }
        rig.transport.onAnyRequest().respond(.fails(LoadingError(.connectionLost(.nothing, isSafeToRepeat: false))))
        let request = Request(.post, try rig.request().url)

        let error = await failure { () throws(LoadingError) in try await rig.loader.load(request) }

        #expect(error?.description.hasSuffix("; it was not sent again, because POST is not idempotent.") == true)
    }
}
