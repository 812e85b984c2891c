#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import Testing

@Suite("Service")
struct ServiceCaseTests {
    @Test("service SV-01 is made with a user agent and no transports of its own for schemes")
    func creation() {
        var settings = Service.Settings()
        settings.userAgent = .string("tests")
        let service = Service(settings, transport: ScriptedTransport())
        #expect(service.settings.userAgent?.text == "tests")
        #expect(service.settings.transportsByScheme.isEmpty)
    }

    @Test("service SV-02 service M-09 makes accounts without credentials")
    func anonymous() {
        let service = Service(transport: ScriptedTransport())
        #expect(service.anonymous.identifier.isEmpty)
        #expect(service.account(identifier: "a").identifier == "a")
    }

    @Test(
        "service SV-03 service SV-04 passes the priority of each request on",
        arguments: [Request.Priority.low, .high]
    )
    func priority(_ priority: Request.Priority) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        request.priority = priority

        _ = try await rig.loader.load(request)

        #expect(rig.transport.requests.first?.priority == priority)
    }

    @Test("service SV-05 ignores what is told of a call it does not know")
    func unknownCall() {
        let totals = Journal<ConsumptionObserver.Total>()
        let observer = ConsumptionObserver(on: nil) { totals.add($0) }

        observer.record(.exchangeFinished(Metrics()), of: Call(id: Call.ID(7)))
        observer.record(.callFinished(status: 200), of: Call(id: Call.ID(7)))

        #expect(totals.all.isEmpty)
    }

    @Test("service SV-06 service SV-32 service D-12 fails a request without an address, and sends nothing")
    func noURL() async throws {
        let rig = Rig()
        let witness = Witness()

        _ = rig.perform(Request(try #require(URL(string: "thing"))), witness)

        #expect(try await witness.journal.next() == [.failure("call failed: invalidRequest")])
        #expect(rig.transport.requests.isEmpty)
        #expect(rig.loader.currentRequests.isEmpty)
    }

    @Test("service SV-08 asks who authorises once per call")
    func authorises() async throws {
        let asked = Locked(0)
        let rig = Rig {
            $0.decorators = [
                ClosureDecorator { request in
                    asked.withLock { $0 += 1 }
                    return request
                }
            ]
        }
        rig.transport.onAnyRequest().respond(.text("ok"))

        _ = try await rig.loader.load(rig.request())

        #expect(asked.withLock { $0 } == 1)
    }

    @Test("service SV-09 forgets a request whose authorisation comes after its loader is gone")
    func lateAuthorisation() async throws {
        let signal = Signal()
        let asked = Signal()
        let rig = Rig {
            $0.decorators = [
                ClosureDecorator { request in
                    asked.raise()
                    try await signal.wait()
                    return request
                }
            ]
        }
        let witness = Witness()
        var loader: Loader? = rig.loader.account.makeLoader()
        loader?.delegate = witness
        loader?.delegateExecutor = .anywhere
        loader?.perform(try rig.request())
        try await asked.wait()

        loader = nil
        try await rig.events.line("call failed: cancelled")

        #expect(witness.told.isEmpty)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("service SV-10 tells one failure when authorising fails")
    func authorisationFailed() async throws {
        struct Refused: Error {}
        let rig = Rig { $0.decorators = [ClosureDecorator { _ in throw Refused() }] }
        let witness = Witness()

        _ = rig.perform(try rig.request(), witness)

        #expect(try await witness.journal.next() == [.failure("call failed: decorationFailed")])
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("service SV-11 hands over the head before the body has arrived")
    func head() async throws {
        let rig = Rig()
        let signal = Signal()
        rig.transport.onAnyRequest().respond(.steps([.signal(signal), .bytes(Data("x".utf8))]))

        let response = try await rig.loader.load(rig.request().streamed)

        #expect(response.status == 200)
        signal.raise()
        #expect(try await response.body.collect() == Data("x".utf8))
    }

    @Test("service SV-17 tells a chunk of a streamed request once")
    func chunk() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("thing"))
        let witness = Witness(chunks: true)

        _ = rig.perform(try rig.request().streamed, witness)

        #expect(try await witness.journal.next(3).filter { $0 == .chunk("thing") }.count == 1)
    }

    @Test("service SV-18 tells one success at the end")
    func completion() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("thing"))
        let witness = Witness()

        _ = rig.perform(try rig.request(), witness)

        #expect(try await witness.journal.next() == [.success(200, "thing")])
        #expect(rig.events.story.filter { $0.hasPrefix("call ") }.count == 2)
    }

    @Test("service SV-22 service M-18 tells a consumption observer until it is removed")
    func observer() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let totals = Journal<ConsumptionObserver.Total>()
        let observation = rig.service.observe(with: ConsumptionObserver(on: nil) { totals.add($0) })

        _ = try await rig.loader.load(rig.request())
        observation.end()
        _ = try await rig.loader.load(rig.request())

        #expect(totals.all.count == 1)
        #expect(totals.all.first?.status == 200)
    }

    @Test("service SV-23 service SV-26 service D-24 accepts no certificate unchecked unless it is told so for tests")
    func certificates() {
        #expect(Service.Settings().transport.tls.verification == .full)
    }

    @Test("service SV-25 ends what is in flight when the service is shut down and let go")
    func cancelAll() async throws {
        let transport = ScriptedTransport(answering: .stalls)
        let witness = Witness()
        do {
            let service = Service(transport: transport)
            let loader = service.anonymous.makeLoader()
            loader.delegate = witness
            loader.delegateExecutor = .anywhere
            loader.perform(try Request("https://svc.example.com/"))
            _ = try await transport.request(at: 0)
            await service.shutDown()
            #expect(try await witness.journal.next() == [.cancelled])
        }
        #expect(transport.cancellations == 1)
    }

    @Test(
        "service SV-28 sends the field that belongs to each cache mode, unless the request has its own",
        arguments: [
            (Request.CacheMode.standard, nil), (.bypass, "no-store"), (.revalidate, "no-cache"),
            (.preferStored, "max-stale"),
        ] as [(Request.CacheMode, String?)]
    )
    func cacheModes(_ mode: Request.CacheMode, _ value: String?) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        request.cacheMode = mode
        _ = try await rig.loader.load(request)
        request.headers["Cache-Control"] = "max-age=5"
        _ = try await rig.loader.load(request)

        #expect(rig.transport.requests.map { $0.headers["Cache-Control"] } == [value, "max-age=5"])
    }

    @Test("service SV-29 service D-32 counts heads, also of a refused answer, in 64 bits")
    func countsHeads() async throws {
        let rig = Rig()
        var answer = ScriptedAnswer.status(400)
        answer.headers = ["Content-Size": "1000"]
        rig.transport.onAnyRequest().respond(answer)
        let totals = Journal<ConsumptionObserver.Total>()
        let observation = rig.service.observe(with: ConsumptionObserver(on: nil) { totals.add($0) })

        _ = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }
        observation.end()

        #expect(HeaderSize.compatible([("Content-Size", "1000")]) == 19)
        #expect(HeaderSize.onWire(["Content-Size": "1000"]) == 20)
        let total = try #require(totals.all.first)
        #expect(total.bytesReceived >= 20)
        #expect(total.error != nil)
    }

    @Test("service SV-31 sends nothing for a call that is cancelled at once")
    func cancelledBefore() async throws {
        let signal = Signal()
        let rig = Rig {
            $0.decorators = [
                ClosureDecorator { request in
                    try await signal.wait()
                    return request
                }
            ]
        }
        let witness = Witness()

        rig.perform(try rig.request(), witness).cancel()

        #expect(try await witness.journal.next() == [.cancelled])
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("service SV-33 cancels the exchange of a handle once")
    func cancelHandle() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let witness = Witness()
        let handle = rig.perform(try rig.request(), witness)
        _ = try await rig.transport.request(at: 0)

        handle.cancel()
        _ = try await witness.journal.next()
        try await rig.transport.cancellations(atLeast: 1)

        #expect(rig.transport.cancellations == 1)
    }

    @Test("service SV-34 service SV-35 keeps a repeated request in flight, with an exchange of its own each time")
    func repeats() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 10)] }
        rig.transport.onAnyRequest().respond(.fails(.nameNotResolved(host: "svc.example.com", .init()))).then(.stalls)
        let witness = Witness()
        let handle = rig.perform(try rig.request(), witness)

        _ = try await rig.transport.request(at: 1)

        #expect(rig.loader.currentRequests.count == 1)
        #expect(rig.transport.received.count == 2)
        #expect(witness.told.isEmpty)
        handle.cancel()
        #expect(try await witness.journal.next() == [.cancelled])
    }

    @Test("service SV-36 leaves a call alone when another one ends")
    func foreign() async throws {
        let rig = Rig()
        rig.transport.on(.get, "/own").respond(.stalls)
        rig.transport.on(.get, "/other").respond(.text("ok"))
        let witness = Witness()
        let handle = rig.perform(try rig.request("/own"), witness)

        _ = try await rig.loader.load(rig.request("/other"))

        #expect(handle.isRunning)
        #expect(witness.told.isEmpty)
        handle.cancel()
        _ = try await witness.journal.next()
    }

    @Test("service SV-37 does not repeat what was cancelled")
    func cancelledIsNotRepeated() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 10)] }
        rig.transport.onAnyRequest().respond(.fails(.cancelled(.init())))
        let witness = Witness()

        _ = rig.perform(try rig.request(), witness)

        #expect(try await witness.journal.next() == [.cancelled])
        #expect(rig.transport.received.count == 1)
    }

    @Test("service SV-38 service FA-19 service AT-06 asks for a body again once each time it is needed")
    func newBody() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest().respond(.connectionLost(isSafeToRepeat: true)).then(.text("ok"))
        let witness = Witness(newBody: .bytes(Data("again".utf8)))
        var request = try rig.request()
        request.method = .put
        request.body = .writer { try await $0(Data("once".utf8)) }

        _ = rig.perform(request, witness)
        let told = try await witness.journal.next(2)

        #expect(told.filter { $0 == .askedForBody }.count == 1)
        #expect(rig.transport.received.last?.text == "again")
    }

    @Test("service SV-39 service SV-40 loads addresses without a host as they are", arguments: ["file", "data"])
    func local(_ scheme: String) async throws {
        let path = TemporaryFile.make("local")
        defer { TemporaryFile.remove(path) }
        let address = scheme == "file" ? "file://\(path)" : "data:,local"
        var settings = Service.Settings()
        settings.transportsByScheme = ["file": LocalTransport(), "data": LocalTransport()]
        let loader = Service(settings, transport: ScriptedTransport()).anonymous.makeLoader()

        let loaded = try await loader.loadValue(of: Endpoint(address).text())

        #expect(loaded.value == "local")
        #expect(loaded.response.request.url.absoluteString == address)
    }

    @Test("service M-06 sends each scheme to its own transport")
    func schemes() async throws {
        let other = ScriptedTransport(answering: .text("other"))
        let rig = Rig { $0.transportsByScheme = ["OWN": other] }
        rig.transport.onAnyRequest().respond(.text("https"))

        let own = try await rig.loader.load(Endpoint("own:thing").text())
        let https = try await rig.loader.load(rig.endpoint().text())

        #expect(own == "other")
        #expect(https == "https")
    }

    @Test("shows its chain in the order of the design page, and lets it be changed")
    func chain() {
        let service = Service(transport: ScriptedTransport())
        let names = [
            "Preparation", "Decoration", "Deadline", "Redirect", "Cookie", "CacheMode", "Retry", "Hosts", "RateLimit",
            "ExchangeDeadline", "Buffering",
        ]
        let links = names.map { $0 + "Interceptor" } + ["ScriptedTransport"]
        #expect(service.chain.description == links.joined(separator: " → "))

        var settings = Service.Settings()
        settings.adjustChain = { links in links.removeAll { $0 is DecorationInterceptor } }
        let changed = Service(settings, transport: ScriptedTransport())
        #expect(!changed.chain.description.contains("DecorationInterceptor"))
    }

    @Test("policies PL-62 gives the exchanges of a call one trace and each a parent of its own")
    func tracing() async throws {
        var tracing = Tracing()
        tracing.state = "lade=1"
        let rig = Rig {
            $0.tracing = tracing
            $0.attemptInterceptors = [Repeating(times: 1)]
        }
        rig.transport.onAnyRequest().respond(.connectionLost()).then(.text("ok"))

        _ = try await rig.loader.load(rig.request())
        _ = try await rig.loader.load(rig.request())

        let parts = rig.transport.requests.map {
            ($0.headers["traceparent"] ?? "").split(separator: "-").map(String.init)
        }
        #expect(parts.allSatisfy { $0.map(\.count) == [2, 32, 16, 2] && $0[0] == "00" && $0[3] == "01" })
        #expect(parts[0][1] == parts[1][1] && parts[0][2] != parts[1][2])
        #expect(parts[2][1] != parts[0][1])
        #expect(rig.transport.requests.allSatisfy { $0.headers["tracestate"] == "lade=1" })
    }

    @Test("policies PL-61 counts every exchange, failed, repeated and cancelled ones too, and the whole once")
    func consumption() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest().respond(.connectionLost()).then(.text("hello")).then(.stalls)
        let exchanges = Journal<ConsumptionObserver.Exchange>()
        let totals = Journal<ConsumptionObserver.Total>()
        let observer = ConsumptionObserver(on: nil, exchange: { exchanges.add($0) }, call: { totals.add($0) })
        let observation = rig.service.observe(with: observer)
        var request = try rig.request()
        request.method = .put
        request.body = .text("body")

        _ = try await rig.loader.load(request)
        let task = Task { try? await rig.loader.load(request) }
        _ = try await rig.transport.request(at: 2)
        task.cancel()
        _ = await task.value
        observation.end()

        #expect(exchanges.all.count == 3)
        #expect(exchanges.all.map { $0.error == nil } == [false, true, false])
        #expect(exchanges.all.allSatisfy { $0.metrics.requestBodyBytes == 4 })
        #expect(exchanges.all[1].metrics.responseBodyBytes == 5)
        #expect(totals.all.map(\.exchanges) == [2, 1])
        #expect(totals.all[0].bytesSent == exchanges.all[0].bytesSent + exchanges.all[1].bytesSent)
        #expect(totals.all[1].error?.isCancellation == true)
    }

    @Test("service D-41 tells a late call as a call that was cancelled")
    func lateCall() async throws {
        let rig = Rig()
        await rig.service.shutDown()

        _ = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }

        #expect(rig.events.story == ["call started GET https://svc.example.com/thing", "call failed: cancelled"])
    }
}

/// Files for a test.
enum TemporaryFile {
    static func path() -> String {
        FileManager.default.temporaryDirectory.path() + "lade-\(UInt64.random(in: 0...(.max)))"
    }

    static func make(_ text: String) -> String {
        let path = path()
        // A test that cannot write fails where it reads.
        try? Data(text.utf8).write(to: URL(filePath: path))
        return path
    }

    static func remove(_ path: String) {
        // Nothing to remove is as good as removed.
        try? FileManager.default.removeItem(atPath: path)
    }
}
