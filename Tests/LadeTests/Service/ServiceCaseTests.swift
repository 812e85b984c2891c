#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeCallbacks
import LadeTesting
import SharedDoubles
import Testing

@Suite("Service", .timeLimit(.minutes(5)))
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

    @Test("service SV-05 ignores reports for an unknown call")
    func unknownCall() {
        let totals = Journal<ConsumptionObserver.Total>()
        let observer = ConsumptionObserver(on: nil) { totals.add($0) }

        observer.record(.exchangeFinished(Response.Metrics()), of: Call(id: Call.ID(7)))
        observer.record(.callFinished(status: 200), of: Call(id: Call.ID(7)))

        #expect(totals.all.isEmpty)
    }

    /// Performs a request that no server receives.
    private func performNowhere(_ rig: Rig, _ recorder: ReportRecorder) throws -> Loader.Handle {
        rig.perform(Request(try #require(URL(string: "thing"))), recorder)
    }

    @Test("service SV-06 gives the answer to another request to that one when the first had no address")
    func answerAfterNoURL() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let recorder = ReportRecorder()

        let nowhere = try performNowhere(rig, recorder)
        _ = try await recorder.journal.next()
        let other = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next().last == .success(200, "ok"))
        #expect(recorder.loads.withLock { $0 } == [nowhere.id, other.id])
    }

    @Test("service SV-32 has nothing in flight for a request without an address, and reports its error")
    func noURL() async throws {
        let rig = Rig()
        let recorder = ReportRecorder()

        let handle = try performNowhere(rig, recorder)

        #expect(try await recorder.journal.next() == [.failure("call failed: invalidRequest")])
        #expect(rig.loader.currentRequests.isEmpty)
        #expect(rig.transport.requests.isEmpty)
        #expect(!handle.isRunning)
    }

    @Test("service D-12 reports one error of a request without an address, awaited or called back")
    func noSilence() async throws {
        let rig = Rig()
        let results = Journal<String>()
        let nowhere = Request(try #require(URL(string: "thing")))

        rig.loader.load(nowhere, on: .anywhere) { results.add("\($0)") }
        let error = await failure { () throws(LoadingError) in try await rig.loader.load(nowhere) }

        #expect(try await results.next().count == 1)
        guard case .invalidRequest(.url) = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("service SV-22 service M-18 notifies a consumption observer until it is removed")
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

    @Test("service D-24 checks every certificate unless a setting for tests says otherwise")
    func certificates() {
        #expect(Service.Settings().transport.tls.verification == .full)
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
        var answer = ScriptedResponse.status(400)
        answer.headers = ["Content-Size": "1000"]
        rig.transport.onAnyRequest().respond(answer)
        let totals = Journal<ConsumptionObserver.Total>()
        let observation = rig.service.observe(with: ConsumptionObserver(on: nil) { totals.add($0) })

        _ = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }
        observation.end()

        #expect(Headers.Size.compatible([("Content-Size", "1000")]) == 19)
        #expect(Headers.Size.onWire(["Content-Size": "1000"]) == 20)
        let total = try #require(totals.all.first)
        #expect(total.bytesReceived >= 20)
        #expect(total.error != nil)
    }

    @Test("service SV-39 loads the address of a file as it is")
    func file() async throws {
        let folder = try TemporaryFolder()
        defer { folder.remove() }
        let path = try folder.file("file", "local")
        try await loadsLocally("file://\(path)")
    }

    @Test("service SV-40 loads a data address as it is")
    func data() async throws {
        try await loadsLocally("data:,local")
    }

    /// Loads an address without a host, and checks that it was not changed.
    private func loadsLocally(_ address: String) async throws {
        var settings = Service.Settings.still
        settings.transportsByScheme = ["file": LocalTransport(), "data": LocalTransport()]
        let loader = Service(settings, transport: ScriptedTransport()).anonymous.makeLoader()

        let loaded = try await loader.loadValue(of: Endpoint(address).text())

        #expect(loaded.value == "local")
        #expect(loaded.response.request.url.absoluteString == address)
    }
}
