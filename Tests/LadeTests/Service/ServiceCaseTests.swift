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
        "service SV-03 passes the priority of each request on",
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

    /// Performs a request that leads nowhere.
    private func performNowhere(_ rig: Rig, _ witness: Witness) throws -> LoadHandle {
        rig.perform(Request(try #require(URL(string: "thing"))), witness)
    }

    @Test("service SV-06 gives the answer to another request to that one when the first had no address")
    func answerAfterNoURL() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let witness = Witness()

        let nowhere = try performNowhere(rig, witness)
        _ = try await witness.journal.next()
        let other = rig.perform(try rig.request(), witness)

        #expect(try await witness.journal.next().last == .success(200, "ok"))
        #expect(witness.loads.withLock { $0 } == [nowhere.id, other.id])
    }

    @Test("service SV-32 has nothing in flight for a request without an address, and tells its error")
    func noURL() async throws {
        let rig = Rig()
        let witness = Witness()

        let handle = try performNowhere(rig, witness)

        #expect(try await witness.journal.next() == [.failure("call failed: invalidRequest")])
        #expect(rig.loader.currentRequests.isEmpty)
        #expect(rig.transport.requests.isEmpty)
        #expect(!handle.isRunning)
    }

    @Test("service D-12 tells one error of a request without an address, awaited or called back")
    func noSilence() async throws {
        let rig = Rig()
        let results = Journal<String>()
        let nowhere = Request(try #require(URL(string: "thing")))

        rig.loader.load(nowhere, on: .anywhere) { results.add("\($0)") }
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(nowhere) }

        #expect(try await results.next().count == 1)
        guard case .invalidRequest(.url, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
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

    @Test("service D-24 checks every certificate unless it is told not to for tests")
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

    /// Up to ten retries, each at once.
    private func repeating(_ settings: inout Service.Settings) {
        settings.retries.limit = 10
        settings.retries.backoff = .none
    }

    /// A request that the service itself repeats after a failed look-up of its name, while its second exchange runs.
    private func repeated(_ look: (Rig, Witness, LoadHandle) -> Void) async throws {
        let rig = Rig(repeating)
        rig.transport.onAnyRequest().respond(.fails(.nameNotResolved(host: "svc.example.com", .init()))).then(.stalls)
        let witness = Witness()
        let handle = rig.perform(try rig.request(), witness)
        _ = try await rig.transport.request(at: 1)

        look(rig, witness, handle)

        handle.cancel()
        #expect(try await witness.journal.next() == [.cancelled])
    }

    @Test("service SV-34 keeps a request that it repeats in flight, and tells nothing meanwhile")
    func staysInFlight() async throws {
        try await repeated { rig, witness, handle in
            #expect(rig.loader.currentRequests.count == 1)
            #expect(handle.isRunning)
            #expect(witness.told.isEmpty)
        }
    }

    @Test("service SV-35 makes an exchange of its own for each attempt")
    func newExchange() async throws {
        try await repeated { rig, _, _ in
            #expect(rig.transport.received.map(\.call.attempt) == [1, 2])
            #expect(rig.events.story.filter { $0.hasPrefix("exchange started") }.count == 2)
            #expect(rig.events.story.filter { $0.hasPrefix("exchange failed") }.count == 1)
        }
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
        let rig = Rig(repeating)
        rig.transport.onAnyRequest().respond(.fails(.cancelled(.init())))
        let witness = Witness()

        _ = rig.perform(try rig.request(), witness)

        #expect(try await witness.journal.next() == [.cancelled])
        #expect(rig.transport.received.count == 1)
    }

    @Test("service SV-38 asks for a body again once each time it is needed")
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

    @Test("service SV-39 loads the address of a file as it is")
    func file() async throws {
        let path = TemporaryFile.make("local")
        defer { TemporaryFile.remove(path) }
        try await loadsLocally("file://\(path)")
    }

    @Test("service SV-40 loads a data address as it is")
    func data() async throws {
        try await loadsLocally("data:,local")
    }

    /// Loads an address without a host, and finds that it was not changed.
    private func loadsLocally(_ address: String) async throws {
        var settings = Service.Settings()
        settings.transportsByScheme = ["file": LocalTransport(), "data": LocalTransport()]
        let loader = Service(settings, transport: ScriptedTransport()).anonymous.makeLoader()

        let loaded = try await loader.loadValue(of: Endpoint(address).text())

        #expect(loaded.value == "local")
        #expect(loaded.response.request.url.absoluteString == address)
    }

    @Test("service SV-41 tells one cancellation of what is performed after its end")
    func performAfterTheEnd() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        await rig.service.shutDown()
        let witness = Witness()

        let handle = rig.perform(try rig.request(), witness)

        #expect(try await witness.journal.next() == [.cancelled])
        #expect(!handle.isRunning)
        #expect(rig.transport.requests.isEmpty)
    }

    @Test("service D-41 tells a late call as a call that was cancelled")
    func lateCall() async throws {
        let rig = Rig()
        await rig.service.shutDown()

        _ = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }

        #expect(rig.events.story == ["call started GET https://svc.example.com/thing", "call failed: cancelled"])
    }
}
