#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
@testable import Lade
import LadeCore
import LadeTesting
import SharedDoubles
import Testing

@Suite("Loads that resume where their body failed", .timeLimit(.minutes(5)))
struct ResumableLoadTests {
    /// The result for a reader of a load.
    private struct Reading {
        var text = ""
        var heads: [Response.Status] = []
        var error: LoadingError?
    }

    private static let tagged = ["ETag": "\"1\""] as Headers

    private func rest(_ text: String, from first: Int, of whole: Int, tag: String = "\"1\"") -> ScriptedResponse {
        let range = "bytes \(first)-\(first + text.utf8.count - 1)/\(whole)"
        return .bytes(Data(text.utf8), status: 206, headers: ["ETag": tag, "Content-Range": range])
    }

    private func read(
        _ request: Request,
        by loader: Loader,
        mayBeginAnew: Bool = true
    ) async -> Reading {
        var load = ResumableLoad(request, by: loader)
        var reading = Reading()
        do throws(LoadingError) {
            reading.heads.append(try await load.head().status)
            while let piece = try await load.next(mayBeginAnew: mayBeginAnew) {
                switch piece {
                case .bytes(let bytes): reading.text += String(decoding: bytes, as: UTF8.self)
                case .anew(let response):
                    reading.heads.append(response.status)
                    reading.text = ""
                }
            }
        } catch {
            reading.error = error
        }
        return reading
    }

    private func rig(retries: Int = 2, _ change: (inout Service.Settings) -> Void = { _ in }) -> Rig {
        Rig {
            $0.retries.limit = retries
            $0.retries.backoff = .none
            change(&$0)
        }
    }

    // MARK: - The story

    @Test("reports one call with its attempts counted together, and waits as the policy says")
    func story() async throws {
        let rig = rig { $0.retries.backoff = .exponentialTimer(initial: .seconds(2), growth: 2, jitter: 0) }
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(rest(" world", from: 5, of: 11).breaking(after: 3))
            .then(rest("rld", from: 8, of: 11))
        let request = try rig.request()

        let reading = await rig.time.runAutomatically { await read(request, by: rig.loader) }

        #expect(reading.text == "hello world")
        #expect(reading.heads == [200])
        #expect(
            rig.events.events.map(Self.line) == [
                "call started GET https://svc.example.com/thing", "attemptStarted(1)",
                "exchange started GET https://svc.example.com/thing", "head 200 HTTP/1.1", "call finished 200",
                "exchange failed: incompleteBody", "1 failed: the transfer failed; next in 2.0 seconds",
                "wait started: attempt 2", "wait ended: attempt 2", "attemptStarted(2)",
                "exchange started GET https://svc.example.com/thing", "head 206 HTTP/1.1",
                "exchange failed: incompleteBody", "2 failed: the transfer failed; next in 4.0 seconds",
                "wait started: attempt 3", "wait ended: attempt 3", "attemptStarted(3)",
                "exchange started GET https://svc.example.com/thing", "head 206 HTTP/1.1", "exchange finished",
                "body whole",
            ]
        )
        #expect(Set(rig.events.records.map(\.call)).count == 1)
    }

    private static func line(_ event: Call.Event) -> String {
        guard case .retryScheduled(let record) = event else { return EventRecorder.line(for: event) }
        return "\(record.attempt) failed: \(record.rule); next in \(record.delay)"
    }

    @Test("counts the attempts of heads and bodies together, and ends with what the last one failed with")
    func usedUp() async throws {
        let rig = rig()
        rig.transport.onAnyRequest()
            .respond(.status(503))
            .then(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(rest(" world", from: 5, of: 11).breaking(after: 3))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(rig.transport.requests.count == 3)
        #expect(reading.text == "hello wo")
        guard case .incompleteBody(received: 8, expected: 11) = reading.error?.kind else {
            Issue.record("\(String(describing: reading.error))")
            return
        }
        #expect(reading.error?.context.attempts == 3)
    }

    @Test("counts the attempts that the answer with the rest took")
    func attemptsOfTheRest() async throws {
        let rig = rig()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(.status(503))
            .then(rest(" world", from: 5, of: 11).breaking(after: 3))
            .then(rest("rld", from: 8, of: 11))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(rig.transport.requests.count == 3)
        #expect(reading.text == "hello wo" && reading.error?.context.attempts == 3)
    }

    @Test("sends the first retries without a delay, as many as the policy says")
    func immediateRetries() async throws {
        let rig = rig {
            $0.retries.immediateTries = 1
            $0.retries.backoff = .exponentialTimer(initial: .seconds(2), growth: 2, jitter: 0)
        }
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(rest(" world", from: 5, of: 11).breaking(after: 3)).then(rest("rld", from: 8, of: 11))
        let request = try rig.request()

        let reading = await rig.time.runAutomatically { await read(request, by: rig.loader) }

        #expect(reading.text == "hello world")
        let delays = rig.events.events.compactMap { event in
            if case .retryScheduled(let record) = event { record.delay } else { nil }
        }
        #expect(delays == [.zero, .seconds(2)])
    }

    @Test("does nothing itself where the policy retries nothing")
    func noRetries() async throws {
        let rig = rig(retries: 0)
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(rig.transport.requests.count == 1)
        #expect(reading.text == "hello")
        #expect(reading.error.map { EventRecorder.line(for: .callFailed($0)) } == "call failed: incompleteBody")
    }

    // MARK: - Sending again

    @Test(
        "resends a GET without a body, and nothing else",
        arguments: [
            (Request.Method.get, false, 2), (.put, false, 1), (.delete, false, 1), (.post, false, 1), (.get, true, 1),
        ]
    )
    func methods(_ method: Request.Method, _ hasBody: Bool, _ count: Int) async throws {
        let rig = rig { $0.retries.methods = .all }
        rig.transport.onAnyRequest().respond(.text("hello", headers: Self.tagged).breaking(after: 2))
            .then(.text("hello"))
        var request = Request(method, try rig.request().url)
        if hasBody { request.body = .text("x") }

        let reading = await read(request, by: rig.loader)

        #expect(rig.transport.requests.count == count)
        #expect((reading.error == nil) == (count == 2))
    }

    @Test(
        "resumes after a temporary failure, and after nothing else",
        arguments: [
            (LoadingError(.incompleteBody(received: 5, expected: 11)), 2), (LoadingError(.timedOut(.idle)), 2),
            (LoadingError(.timedOut(.whole)), 2),
            (LoadingError(.malformedResponse(LoadingError.MalformedResponse(.chunk))), 1),
            (LoadingError(.cancelled), 1),
        ] as [(LoadingError, Int)]
    )
    func errors(_ error: LoadingError, _ count: Int) async throws {
        let rig = rig()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: Self.tagged).breaking(after: 5, with: error))
            .then(rest(" world", from: 5, of: 11))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(rig.transport.requests.count == count)
        #expect(reading.text == (count == 2 ? "hello world" : "hello"))
        // After a cancellation, no refused retry is reported.
        let isRefused = rig.events.events.contains { if case .retryRefused = $0 { true } else { false } }
        #expect(isRefused == (count == 1 && !error.isCancellation))
    }

    @Test("starts again when bytes were requested as a range, or arrived decoded")
    func notResumable() async throws {
        let rig = rig()
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: Self.tagged).breaking(after: 5)).then(.text("hello world"))
        var request = try rig.request()
        request.headers["Range"] = "bytes=0-10"

        let reading = await read(request, by: rig.loader)

        #expect(reading.text == "hello world")
        #expect(rig.transport.requests.map { $0.headers["Range"] } == ["bytes=0-10", "bytes=0-10"])
        #expect(rig.transport.requests.map { $0.headers["If-Range"] } == [nil, nil])
    }

    @Test("nothing of an earlier answer applies to one that starts again: neither its range nor its version")
    func startsAgainAfterARange() async throws {
        let rig = rig(retries: 3)
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(rest(" world", from: 5, of: 11).breaking(after: 3))
            .then(.text("a longer text than before").breaking(after: 20))
            .then(.text("a longer text than before"))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(reading.text == "a longer text than before")
        #expect(reading.heads == [200, 200, 200])
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, "bytes=5-", "bytes=8-", nil])
    }

    /// A body that was decoded, and that fails after its first bytes.
    private final class DecodedBody: Response.Body.Source {
        private let count = Locked(0)

        func next() async throws(LoadingError) -> Data? {
            let number = count.withLock { count in
                count += 1
                return count
            }
            guard number == 1 else {
                throw LoadingError(.connectionLost(.body(received: 5), isSafeToRepeat: false))
            }
            return Data("hello".utf8)
        }

        func cancel() {}

        var trailers: Headers { Headers() }

        var metrics: Response.Metrics {
            var metrics = Response.Metrics()
            metrics.contentEncoding = "gzip"
            return metrics
        }
    }

    @Test("starts again after a body that was decoded, whose bytes are at no offset of the server")
    func decodedBody() async throws {
        let asked = Locked<[Request]>([])
        let transport = ClosureTransport { request, _ throws(LoadingError) in
            let number = asked.withLock { asked in
                asked.append(request)
                return asked.count
            }
            let body = number == 1 ? Response.Body(streaming: DecodedBody()) : Response.Body(Data("hello world".utf8))
            return Response(status: 200, headers: Self.tagged, body: body, request: request)
        }
        var settings = Service.Settings.still
        settings.retries.limit = 2
        settings.retries.backoff = .none
        let loader = Service(settings, transport: transport).anonymous.makeLoader()

        let reading = await read(try Request("https://svc.example.com/thing"), by: loader)

        #expect(reading.text == "hello world" && reading.heads == [200, 200])
        #expect(asked.withLock { $0.map { $0.headers["Range"] } } == [nil, nil])
    }

    @Test("requests the rest undecoded, unless the answer was left coded")
    func codings() async throws {
        for isCoded in [false, true] {
            let rig = rig()
            var headers = Self.tagged
            if isCoded { headers["Content-Encoding"] = "gzip" }
            var rangeHeaders = headers
            rangeHeaders["Content-Range"] = "bytes 5-10/11"
            rig.transport.onAnyRequest().respond(.text("hello world", headers: headers).breaking(after: 5))
                .then(.bytes(Data(" world".utf8), status: 206, headers: rangeHeaders))

            let reading = await read(try rig.request(), by: rig.loader)

            #expect(reading.text == "hello world" && reading.heads == [200])
            #expect(rig.transport.requests.last?.headers["Accept-Encoding"] == (isCoded ? nil : "identity"))
        }
    }

    @Test("requests the rest with the codings that the request names, where it names some")
    func ownCodings() async throws {
        let rig = rig()
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(rest(" world", from: 5, of: 11))
        var request = try rig.request()
        request.headers.set("Accept-Encoding", "br")

        let reading = await read(request, by: rig.loader)

        #expect(reading.text == "hello world")
        #expect(rig.transport.requests.map { $0.headers["Accept-Encoding"] } == ["br", "br"])
    }

    @Test("the version stays that of the first answer when the answer with the rest names none")
    func versionOfFirst() async throws {
        let rig = rig()
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(
                .bytes(Data(" world".utf8), status: 206, headers: ["Content-Range": "bytes 5-10/11"]).breaking(after: 3)
            )
            .then(rest("rld", from: 8, of: 11))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(reading.text == "hello world")
        #expect(rig.transport.requests.map { $0.headers["If-Range"] } == [nil, "\"1\"", "\"1\""])
    }

    @Test("RFC 9110 §15.3.4: what was transformed on its way begins again")
    func transformed() async throws {
        let rig = rig()
        rig.transport.onAnyRequest()
            .respond(.bytes(Data("hello world".utf8), status: 203, headers: Self.tagged).breaking(after: 5))
            .then(.text("hello world", headers: Self.tagged))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(reading.text == "hello world" && reading.heads == [203, 200])
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, nil])
    }

    @Test("requests everything if no byte had arrived")
    func nothingYet() async throws {
        let rig = rig()
        rig.transport.onAnyRequest().respond(.text("hello", headers: Self.tagged).breaking(after: 0))
            .then(.text("hello"))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(reading.text == "hello")
        #expect(reading.heads == [200, 200])
        #expect(rig.transport.requests.map { $0.headers["Range"] } == [nil, nil])
    }

    @Test("ends with the status when the server refuses to resume")
    func refused() async throws {
        let rig = rig()
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(.status(404))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(rig.transport.requests.count == 2)
        guard case .unacceptableStatus(404) = reading.error?.kind else {
            Issue.record("\(String(describing: reading.error))")
            return
        }
    }

    @Test("accepts no byte beyond the announced range")
    func tooLong() async throws {
        let rig = rig()
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(
                .steps([.bytes(Data(" worlds".utf8))], status: 206, headers: ["Content-Range": "bytes 5-10/11"])
            )

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(reading.text == "hello")
        guard case .malformedResponse = reading.error?.kind else {
            Issue.record("\(String(describing: reading.error))")
            return
        }
    }

    @Test("sends nothing again for a reader that has bytes which nothing continues")
    func nothingContinues() async throws {
        let rig = rig()
        rig.transport.onAnyRequest().respond(.text("hello world").breaking(after: 5)).then(.text("hello world"))

        let reading = await read(try rig.request(), by: rig.loader, mayBeginAnew: false)

        #expect(reading.text == "hello" && reading.heads == [200])
        #expect(reading.error != nil)
        #expect(rig.transport.requests.count == 1)
        let rules = rig.events.events.compactMap { event in
            if case .retryRefused(let record) = event { record.rule.description } else { nil }
        }
        #expect(rules == ["the server named no version to resume"])
    }

    @Test("reports why the rest does not continue the body, to a reader that cannot begin again")
    func misfit() async throws {
        let rig = rig()
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(rest("o world", from: 4, of: 11))

        let reading = await read(try rig.request(), by: rig.loader, mayBeginAnew: false)

        #expect(reading.text == "hello" && reading.heads == [200] && reading.error != nil)
        #expect(rig.transport.requests.count == 2)
        let rules = rig.events.events.compactMap { event in
            if case .retryRefused(let record) = event { record.rule.description } else { nil }
        }
        #expect(rules == ["the server sent another range than requested"])
    }

    @Test(
        "a malformed body that a hook sends again begins from its start, and is never continued",
        arguments: [true, false]
    )
    func malformedAgain(mayBeginAnew: Bool) async throws {
        let rig = rig { $0.retries.hook = RetryPolicy.Hook { _, _ in true } }
        let fault = LoadingError(.malformedResponse(LoadingError.MalformedResponse(.chunk)))
        rig.transport.onAnyRequest()
            .respond(.text("hello world", headers: Self.tagged).breaking(after: 5, with: fault))
            .then(.text("hello world", headers: Self.tagged))

        let reading = await read(try rig.request(), by: rig.loader, mayBeginAnew: mayBeginAnew)

        #expect(reading.text == (mayBeginAnew ? "hello world" : "hello"))
        #expect(reading.heads == (mayBeginAnew ? [200, 200] : [200]))
        #expect((reading.error == nil) == mayBeginAnew)
        #expect(rig.transport.requests.map { $0.headers["Range"] } == (mayBeginAnew ? [nil, nil] : [nil]))
        let rules = rig.events.events.compactMap { event in
            switch event {
            case .retryScheduled(let record), .retryRefused(let record): record.rule.description
            default: nil
            }
        }
        #expect(rules == ["the body was malformed"])
    }

    @Test(
        "ends the exchange of each answer whose body it does not read",
        arguments: [416, 404, 206] as [Response.Status]
    )
    func unread(status: Response.Status) async throws {
        let rig = rig { $0.acceptableStatuses = .all }
        let range = status == 416 ? "bytes */5" : "bytes 0-4/5"
        rig.transport.onAnyRequest()
            .respond(.steps([.bytes(Data("hello".utf8))], headers: Self.tagged).breaking(after: 5))
            .then(.text("never read", status: status, headers: ["Content-Range": range]).stalling(after: 1))
            .then(.text("HELLO"))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(rig.transport.cancellations == 1)
        #expect(reading.text == (status == 206 ? "HELLO" : "hello"))
        #expect((reading.error == nil) == (status != 404))
    }

    // MARK: - Limits

    @Test(
        "has one deadline in total, of the request or the service, and no delay that would end after it",
        arguments: [true, false]
    )
    func deadline(isOfRequest: Bool) async throws {
        let rig = rig(retries: 9) {
            $0.retries.backoff = .exponentialTimer(initial: .seconds(6), growth: 1, jitter: 0)
            $0.deadlines.streamed = isOfRequest ? nil : .seconds(10)
        }
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(rest(" world", from: 5, of: 11).breaking(after: 3))
        var request = try rig.request()
        if isOfRequest { request.deadline = .seconds(10) }

        let reading = await rig.time.runAutomatically { [request] in await read(request, by: rig.loader) }

        #expect(rig.transport.requests.count == 2)
        guard case .deadlineExceeded(let report) = reading.error?.kind else {
            Issue.record("\(String(describing: reading.error))")
            return
        }
        #expect(report.limit == .seconds(10))
        #expect(report.elapsed == .seconds(6))
        #expect(report.impossibleWait?.stage == .wait(.backoff(attempt: 3)))
        // The second delay would end after the deadline, so it is not scheduled and costs nothing.
        #expect(rig.events.events.count { if case .retryScheduled = $0 { true } else { false } } == 1)
        #expect(rig.events.events.count { if case .retryRefused = $0 { true } else { false } } == 1)
    }

    @Test("withdraws from the service's budget, and refunds when the body is whole")
    func budget() async throws {
        var settings = RetryBudget.Settings()
        settings.capacity = 12
        let budget = RetryBudget(settings)
        let rig = rig(retries: 9) { $0.retryBudget = budget }
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(rest(" world", from: 5, of: 11).breaking(after: 3)).then(rest("rld", from: 8, of: 11))
            .then(.text("hello world", headers: Self.tagged).breaking(after: 5, with: LoadingError(.timedOut(.idle))))
            .then(rest(" world", from: 5, of: 11).breaking(after: 3))
        let key = rig.service.rateLimiter.keyRule(try rig.request())

        let first = await read(try rig.request(), by: rig.loader)
        let left = budget.left(for: key)
        let second = await read(try rig.request(), by: rig.loader)

        #expect(first.text == "hello world")
        #expect(left == 12)
        #expect(second.error != nil)
        let budgets = rig.events.events.compactMap { event in
            if case .retryScheduled(let record) = event { record.budget } else { nil }
        }
        // The response with the rest gives one unit back.
        #expect(budgets == [7, 3, 2])
        #expect(rig.transport.requests.count == 5)
    }

    @Test("refunds once, however often the end of the body is read")
    func refundsOnce() async throws {
        let budget = RetryBudget()
        let rig = rig { $0.retryBudget = budget }
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
            .then(rest(" world", from: 5, of: 11))
        let key = rig.service.rateLimiter.keyRule(try rig.request())
        #expect(budget.withdraw(for: key, cost: 50))

        var load = ResumableLoad(try rig.request(), by: rig.loader)
        _ = try await load.head()
        while try await load.next(mayBeginAnew: false) != nil {}
        let after = budget.left(for: key)
        let end = try await load.next(mayBeginAnew: false)

        #expect(end == nil)
        #expect(after < 500 && budget.left(for: key) == after)
    }

    @Test("ends with its loader, also during a delay")
    func ends() async throws {
        let rig = rig { $0.retries.backoff = .exponentialTimer() }
        rig.transport.onAnyRequest().respond(.text("hello world", headers: Self.tagged).breaking(after: 5))
        async let reading = read(try rig.request(), by: rig.loader)
        try await rig.events.line("wait started: attempt 2")

        rig.loader.cancelAllLoads()

        #expect(try await reading.error?.isCancellation == true)
        #expect(rig.transport.requests.count == 1)
        #expect(rig.loader.currentRequests.isEmpty)
    }

    // MARK: - Heads and messages

    @Test(
        "expects no body of 204 and 304, whatever length they announce (RFC 9110 §8.6)",
        arguments: [204, 304] as [Response.Status]
    )
    func withoutBody(status: Response.Status) async throws {
        let rig = rig(retries: 0) { $0.acceptableStatuses = .all }
        rig.transport.onAnyRequest().respond(.steps([], status: status, headers: ["Content-Length": "5"]))

        let reading = await read(try rig.request(), by: rig.loader)

        #expect(reading.heads == [status] && reading.text == "" && reading.error == nil)
    }

    @Test("waits five seconds for the message of a refusal that arrives slowly")
    func slowMessage() async throws {
        let rig = rig(retries: 0) { $0.acceptableStatuses = .all }
        let steps = [
            ScriptedResponse.Step.bytes(Data("so".utf8)), .wait(.seconds(4)), .bytes(Data("rry".utf8)), .stall,
        ]
        rig.transport.onAnyRequest().respond(.steps(steps, status: 404))
        let start = rig.time.now

        let message = try await rig.time.runAutomatically {
            var load = ResumableLoad(try rig.request(), by: rig.loader)
            _ = try await load.head()
            return await load.message()
        }

        #expect(String(decoding: message, as: UTF8.self) == "sorry")
        #expect(start.duration(to: rig.time.now) == .seconds(5))
    }
}
