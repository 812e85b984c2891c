#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeCore
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

/// Rules of the service, its accounts, loaders and requests, each asserted completely and after everything has ended.
@Suite("Rows of service, account, loader and request", .timeLimit(.minutes(5)))
struct ServiceRowTests {
    /// An error with its own domain and code.
    struct Refused: Error, Equatable {
        var domain = "test"
        var code = 1
    }

    @Test("finding FQ-24 service SV-03 each exchange of a call has its priority", arguments: Request.Priority.allRows)
    func priorities(priority: Request.Priority) async throws {
        let rig = Rig {
            $0.retries.limit = 1
            $0.retries.backoff = .none
        }
        rig.transport.on(.get, "/thing").respond(.status(302, headers: ["Location": "/moved"]))
        rig.transport.on(.get, "/moved").respond(.status(503)).then(.text("ok"))
        var request = try rig.request()
        if priority != .normal { request.priority = priority }

        _ = try await rig.loader.load(request)

        #expect(rig.transport.requests.map(\.priority) == [priority, priority, priority])
        #expect(rig.transport.lines == ["GET /thing", "GET /moved", "GET /moved"])
    }

    @Test("finding FQ-24 service SV-08 an authoriser that claims all is asked once for each exchange it is sent with")
    func authorisesOnce() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let authoriser = NotingAuthoriser()
        let loader = rig.service.account(authorisers: [authoriser]).makeLoader()
        let request = try rig.request()

        try await rig.time.runToTheEnd { _ = try await loader.load(request) }

        #expect(authoriser.asked.count { $0 == "authorise" } == 1)
        #expect(rig.transport.requests.map { $0.headers["Authorization"] } == ["noted"])
    }

    @Test("finding FQ-24 service SV-09 credentials that come after loader and delegate are released are for no call")
    func lateCredentials() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let (asked, given) = (Signal(), Signal())
        let decorator = Service.decorator { request in
            asked.raise()
            // It heeds no cancellation.
            await Task { try? await given.wait() }.value
            return request
        }
        var settings = Account.Settings()
        settings.identifier = "a"
        settings.decorators = [decorator]
        let account = rig.service.account(settings)
        let reported = Locked<[Report]>([])
        func begin() throws -> (Loader, ReportRecorder) {
            let recorder = ReportRecorder { entry, _ in reported.withLock { $0.append(entry) } }
            let loader = account.makeLoader()
            loader.perform(try rig.request(), recorder)
            loader.load(try rig.request(), on: .anywhere) { _ in reported.withLock { $0.append(.cancelled) } }
            return (loader, recorder)
        }
        var kept: (Loader, ReportRecorder)? = try begin()
        try await asked.wait()

        _ = consume kept
        kept = nil
        given.raise()
        // Both, one after the other; without the second one, the limit of the suite ends the test.
        while rig.events.story.count(where: { $0.hasPrefix("call failed") }) < 2 { await Task.yield() }
        try await rig.time.runToTheEnd {}

        #expect(reported.withLock { $0 }.isEmpty)
        #expect(rig.transport.requests.isEmpty)
        #expect(
            rig.events.story.filter { $0.hasPrefix("call f") } == Array(repeating: "call failed: cancelled", count: 2)
        )
    }

    /// The reports about a call whose authorisation fails, to a delegate and by an error.
    private func failing(_ change: (inout Account.Settings) -> Void) async throws -> (Rig, [Report], LoadingError?) {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        var settings = Account.Settings()
        settings.identifier = "a"
        change(&settings)
        let loader = rig.service.account(settings).makeLoader()
        let recorder = ReportRecorder()
        let request = try rig.request()
        let error = try await rig.time.runToTheEnd {
            loader.perform(request, recorder)
            return await failure { () throws(LoadingError) in try await loader.load(request) }
        }
        return (rig, recorder.reported, error)
    }

    @Test("finding FQ-24 service SV-10 FA-15 a decorator's own error is the one failure, and nothing is sent")
    func decoratorFails() async throws {
        let (rig, reported, error) = try await failing { $0.decorators = [Service.decorator { _ in throw Refused() }] }

        #expect(reported == [.failure("call failed: decorationFailed")])
        guard case .decorationFailed? = error?.kind, let cause = error?.underlyingError else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause as? Refused == Refused())
        #expect(error?.context.url == "https://svc.example.com/thing")
        #expect(rig.transport.requests.isEmpty)
        #expect(rig.events.story.filter { $0.hasPrefix("call f") }.count == 2)
    }

    @Test("finding FQ-24 service SV-10 FA-15 an authoriser's own error is the one failure, and nothing is sent")
    func authoriserFails() async throws {
        struct Failing: Authoriser {
            let identifier = "failing"
            func claims(_ request: Request) -> Bool { true }
            func authorise(
                _ request: Request,
                in context: Authorisation.Context
            ) async throws(LoadingError) -> Request {
                throw LoadingError(.transport(code: 1, message: "test"), LoadingError.Context(request))
            }
        }
        let (rig, reported, error) = try await failing { $0.authorisers = [Failing()] }

        #expect(reported == [.failure("call failed: transport")])
        guard case .transport(code: 1, message: "test")? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rig.transport.requests.isEmpty)
    }

    /// A bearer token with a counting source.
    private func account(of rig: Rig, _ sources: Locked<Int>) throws -> Account {
        rig.service.account(
            identifier: "a",
            authorisers: [
                Authorisation.Bearer(scope: try Authorisation.Scope("https://svc.example.com")) {
                    (_, _) throws(LoadingError) in
                    .init(
                        Secret(
                            "token-\(sources.withLock { number in number += 1; return number })"
                        )
                    )
                }
            ]
        )
    }

    @Test("finding FQ-24 service FA-16 service D-26 a second 401 is one failure, after one refresh and one replay")
    func twoRefusals() async throws {
        let rig = Rig { $0.retries.limit = 5 }
        rig.transport.onAnyRequest().respond(.status(401, headers: ["WWW-Authenticate": "Bearer"]))
        let sources = Locked(0)
        let loader = try account(of: rig, sources).makeLoader()
        let recorder = ReportRecorder()
        let request = try rig.request()

        try await rig.time.runToTheEnd { _ = loader.perform(request, recorder) }

        #expect(recorder.reported == [.failure("call failed: unacceptableStatus(401)")])
        #expect(rig.transport.requests.map { $0.headers["Authorization"] } == ["Bearer token-1", "Bearer token-2"])
        #expect(sources.withLock { $0 } == 2)
    }

    @Test("finding FQ-24 service FA-16 service D-26 a failure that only looks like a 401 is not replayed")
    func otherFailures() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.fails(LoadingError(.transport(code: 401, message: "401"))))
            .then(.status(403))
        let sources = Locked(0)
        let loader = try account(of: rig, sources).makeLoader()
        let recorder = ReportRecorder()
        let request = try rig.request()

        try await rig.time.runToTheEnd {
            loader.perform(request, recorder)
            try await rig.time.sleep(for: .seconds(1))
            loader.perform(request, recorder)
        }

        #expect(
            recorder.reported == [.failure("call failed: transport"), .failure("call failed: unacceptableStatus(403)")]
        )
        #expect(rig.transport.requests.count == 2)
        #expect(sources.withLock { $0 } == 1)
    }

    @Test("finding FQ-24 service SV-28 a cache mode adds its field and changes nothing else; only-stored sends nothing")
    func cacheModes() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        request.headers["X-Own"] = "1"
        _ = try await rig.loader.load(request)
        let plain = try #require(rig.transport.requests.first?.headers)
        #expect(!plain.contains("Cache-Control"))

        for (mode, value) in [
            (Request.CacheMode.bypass, "no-store"), (.revalidate, "no-cache"), (.preferStored, "max-stale"),
        ] {
            request.cacheMode = mode
            _ = try await rig.loader.load(request)
            var sent = try #require(rig.transport.requests.last?.headers)
            #expect(sent.all("Cache-Control") == [value])
            sent.remove("Cache-Control")
            #expect(sent == plain)
        }
        request.cacheMode = .storedOnly
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(request) }
        guard case .notStored? = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(rig.transport.requests.count == 4)
    }

    @Test("finding FQ-24 service SV-29 service D-32 the heads of a refused answer are counted to the byte")
    func countsHeads() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(400, headers: ["Content-Size": "1000"]))
        let totals = Journal<ConsumptionObserver.Total>()
        let exchanges = Journal<ConsumptionObserver.Exchange>()
        let observation = rig.service.observe(
            with: ConsumptionObserver(on: nil, exchange: { exchanges.add($0) }, call: { totals.add($0) })
        )
        let request = try rig.request()

        try await rig.time.runToTheEnd {
            _ = await failure { () throws(LoadingError) in try await rig.loader.load(request) }
        }
        observation.end()

        let sent = try #require(rig.transport.requests.first)
        let head = "GET /thing HTTP/1.1\r\n" + sent.headers.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
        // The script gives every text a length and a type.
        let fields = ScriptedResponse.status(400, headers: ["Content-Size": "1000"]).headers
        let answer = "HTTP/1.1 400\r\n" + fields.map { "\($0.name): \($0.value)\r\n" }.joined() + "\r\n"
        #expect(totals.all.map(\.bytesReceived) == [Int64(answer.utf8.count)])
        #expect(totals.all.map(\.bytesSent) == [Int64(head.utf8.count)])
        #expect(totals.all.map(\.exchanges) == [1])
        #expect(exchanges.all.map(\.bytesReceived) == totals.all.map(\.bytesReceived))
        guard case .unacceptableStatus(400)? = totals.all.first?.error?.kind else {
            Issue.record("\(totals.all)")
            return
        }
    }

    @Test("finding FQ-24 service SV-29 sums beyond 32 bits are exact")
    func largeSums() {
        let totals = Journal<ConsumptionObserver.Total>()
        let observer = ConsumptionObserver(on: nil) { totals.add($0) }
        let call = Call(id: Call.ID(7))
        var metrics = Response.Metrics()
        metrics.responseHeadBytes = 19
        metrics.responseBodyBytes = 5_000_000_000
        observer.record(.callStarted(method: .get, url: "https://svc.example.com/"), of: call)
        for _ in 0..<2 {
            observer.record(.exchangeStarted(method: .get, url: "https://svc.example.com/"), of: call)
            observer.record(.exchangeFinished(metrics), of: call)
        }
        observer.record(.callFinished(status: 200), of: call)
        #expect(totals.all.map(\.bytesReceived) == [10_000_000_038])
    }

    @Test(
        "finding FQ-24 service LO-10 service D-05 without a delegate's consent the request's own stream is sent, once"
    )
    func ownStream() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest().respond(.text("ok"))
        let recorder = ReportRecorder()
        let opened = Locked(0)
        var request = try rig.request()
        request.method = .post
        request.body = .writer { write in
            opened.withLock { $0 += 1 }
            try await write(Data("first".utf8))
        }
        let sent = request

        try await rig.time.runToTheEnd { _ = rig.perform(sent, recorder) }

        #expect(recorder.reported == [.success(200, "ok")])
        #expect(rig.transport.received.map(\.text) == ["first"])
        #expect(rig.transport.requests.map { $0.body?.isReplayable } == [false])
        #expect(opened.withLock { $0 } == 1)
    }

    @Test(
        "finding FQ-24 service LO-14 LO-15 LO-16 LO-17 LO-18 a loader's delegate is not notified of another loader's calls",
        arguments: [
            (.text("ok"), false, [.success(200, "ok")]),
            (.timesOut(), false, [.failure("call failed: timedOut(idle)")]),
            (.fails(LoadingError(.cancelled)), false, [.cancelled]),
            (.chunks(["a", "b"]), true, [.head(200), .chunk("a"), .chunk("b"), .success(200, "")]),
            (.text("ab").breaking(after: 1), true, [.head(200), .chunk("a"), .failure("call failed: incompleteBody")]),
        ] as [(ScriptedResponse, Bool, [Report])]
    )
    func foreignCalls(answer: ScriptedResponse, isStreamed: Bool, expected: [Report]) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(answer)
        let (own, other) = (ReportRecorder(chunks: true), ReportRecorder(chunks: true))
        let second = rig.loader.account.makeLoader()
        let delegates = [own, other].map(WitnessedDelegate.init)
        for (loader, delegate) in zip([rig.loader, second], delegates) { loader.delegate = delegate }
        let request = isStreamed ? try rig.request().streamed : try rig.request()

        await second.perform(request)
        while try await other.journal.next().last?.isEnding == false {}

        #expect(own.reported == [])
        #expect(other.reported == expected)
    }

    @Test("finding FQ-24 service RQ-17 a copy has every property, and changing it changes nothing of the original")
    func copies() throws {
        var request = try Request(.put, "https://svc.example.com/a?b=c", headers: ["A": "1"], body: .text("Test"))
        request.delivery = .streamed
        request.priority = .high
        request.destination = .host("elsewhere.test", port: 8443)
        request.cacheMode = .bypass
        request.redirectLimit = 0
        request.retryLimit = 10
        request.acceptableStatuses = .codes(200..<500)
        request.sourceIdentifier = "screen"
        request.secretQueryNames = ["b"]
        request.deadline = .seconds(9)
        request.idempotencyKey = .generated
        request.timeouts.connect = .seconds(1)
        request.timeouts.idle = .seconds(2)
        request.timeouts.whole = .seconds(3)
        let original = Self.properties(request)

        var copy = request
        #expect(Self.properties(copy) == original)

        copy.method = .post
        copy.url = try #require(URL(string: "https://other.example.com/"))
        copy.headers["A"] = "2"
        copy.body = nil
        copy.delivery = .buffered(limit: 1)
        copy.priority = .low
        copy.destination = nil
        copy.cacheMode = .standard
        copy.redirectLimit = 1
        copy.retryLimit = 3
        copy.acceptableStatuses = nil
        copy.sourceIdentifier = nil
        copy.secretQueryNames = []
        copy.deadline = nil
        copy.idempotencyKey = nil
        copy.timeouts = .init()
        #expect(Self.properties(request) == original)
        #expect(zip(Self.properties(copy), original).allSatisfy { $0 != $1 })
    }

    private static func properties(_ request: Request) -> [String] {
        var bytes: Data?
        if case .bytes(let all)? = request.body?.content { bytes = all }
        return [
            "\(request.method)", request.url.absoluteString, "\(request.headers.all("A"))",
            "\(String(describing: bytes))",
            "\(request.delivery)", "\(request.priority)", "\(String(describing: request.destination))",
            "\(request.cacheMode)", "\(String(describing: request.redirectLimit))",
            "\(String(describing: request.retryLimit))", "\(String(describing: request.acceptableStatuses))",
            "\(String(describing: request.sourceIdentifier))", "\(request.secretQueryNames)",
            "\(String(describing: request.deadline))", "\(String(describing: request.idempotencyKey))",
            "\(request.timeouts)",
        ]
    }

    @Test("finding FQ-24 service RS-14 an answer and its failure show address, status and headers, without secrets")
    func descriptions() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(404, headers: ["X-Plain": "shown", "Set-Cookie": "secret"], "no"))
        let request = try rig.request("/thing?token=secret")

        let error = try #require(await failure { () throws(LoadingError) in try await rig.loader.load(request) })

        #expect(
            error.description == "GET https://svc.example.com/thing?token=<redacted>: The server responded with 404."
        )
        #expect(error.context.status == 404)
        #expect(error.context.url == "https://svc.example.com/thing?token=<redacted>")
        #expect(error.context.headers["X-Plain"] == "shown")
        let headers = "\(error.context.headers)"
        #expect(headers.contains("X-Plain: shown"))
        #expect(!headers.contains("secret") && !"\(error)".contains("secret"))
    }

    @Test("finding FQ-24 service SM-07 a loader without a delegate calls its closure, once, and nothing else")
    func closureLoader() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let loader = rig.service.anonymous.makeLoader()
        let results = Journal<String>()
        let request = try rig.request()

        try await rig.time.runToTheEnd {
            loader.load(request, on: .anywhere) { result in
                results.add((try? result.get().body.bytes).flatMap { String(decoding: $0, as: UTF8.self) } ?? "failed")
            }
            #expect(loader.currentRequests.map(\.url) == [request.url])
        }

        #expect(loader.delegate == nil)
        #expect(results.all == ["ok"])
        #expect(loader.currentRequests.isEmpty)
    }
}

extension Request.Priority {
    /// All of them.
    fileprivate static var allRows: [Request.Priority] { [.low, .normal, .high] }
}
