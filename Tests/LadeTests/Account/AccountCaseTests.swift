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

@Suite("Account", .timeLimit(.minutes(5)))
struct AccountCaseTests {
    private func account(_ rig: Rig, _ decorators: [any Service.Decorator] = []) -> Account {
        var settings = Account.Settings()
        settings.identifier = "alice"
        settings.decorators = decorators
        return rig.service.account(settings)
    }

    @Test("service FA-01 is made with what authorises")
    func creation() {
        let authoriser = NotingAuthoriser()
        let account = Rig().service.account(identifier: "alice", authorisers: [authoriser])
        #expect(account.identifier == "alice")
        #expect(account.settings.authorisers.map(\.identifier) == [authoriser.identifier])
    }

    @Test("service FA-02 makes a new loader each time")
    func makesLoaders() {
        let account = account(Rig())
        let loader = account.makeLoader()
        #expect(loader.account === account)
        #expect(account.makeLoader() !== loader)
    }

    @Test("service FA-03 makes loaders that call back")
    func closures() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let results = Journal<Result<Response, LoadingError>>()
        let loader = account(rig).makeLoader()

        loader.load(try rig.request(), on: .anywhere) { results.add($0) }

        #expect(try await results.next().first?.get().status == 200)
    }

    /// Performs a request with the given response by a loader of the account, and returns the reports to its delegate
    /// until the end.
    ///
    /// Another loader of the account receives nothing.
    private func reported(
        _ answer: ScriptedResponse,
        of change: (inout Request) -> Void = { _ in },
        by recorder: ReportRecorder = ReportRecorder(chunks: true)
    ) async throws -> [Report] {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest().respond(answer)
        let account = account(rig)
        let (loader, other) = (account.makeLoader(), account.makeLoader())
        let stranger = ReportRecorder(chunks: true)
        let delegates = [recorder, stranger].map(WitnessedDelegate.init)
        for (loader, delegate) in zip([loader, other], delegates) { loader.delegate = delegate }
        var request = try rig.request()
        change(&request)
        await loader.perform(request)
        while try await recorder.journal.next().last?.isEnding == false {}
        #expect(stranger.reported.isEmpty)
        return recorder.reported
    }

    @Test("service FA-04 notifies the delegate of one success")
    func success() async throws {
        #expect(try await reported(.text("ok")) == [.success(200, "ok")])
    }

    @Test("service FA-05 notifies the delegate of one failure")
    func failureOnce() async throws {
        #expect(try await reported(.status(500)) == [.failure("call failed: unacceptableStatus(500)")])
    }

    @Test("service FA-06 notifies the delegate of one cancellation")
    func cancellation() async throws {
        #expect(try await reported(.fails(LoadingError(.cancelled))) == [.cancelled])
    }

    @Test("service FA-07 notifies the delegate of one chunk")
    func chunk() async throws {
        let reported = try await reported(.text("chunk"), of: { $0.delivery = .streamed })
        #expect(reported.filter { $0 == .chunk("chunk") }.count == 1)
    }

    @Test("service FA-08 notifies the delegate of the head once, before anything else")
    func head() async throws {
        let reported = try await reported(.text("chunk"), of: { $0.delivery = .streamed })
        #expect(reported.first == .head(200))
        #expect(reported.filter { $0 == .head(200) }.count == 1)
    }

    /// The calls of an authoriser, and what the server received, when a loader of its account made one call.
    private func authorised(by authoriser: NotingAuthoriser) async throws -> (asked: [String], arrived: Request) {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let account = rig.service.account(authorisers: [authoriser])
        _ = try await account.makeLoader().load(rig.request("/a?b=c"))
        return (authoriser.asked, try #require(rig.transport.requests.first))
    }

    @Test("service FA-09 authorises what its authoriser claims")
    func claims() async throws {
        #expect(try await authorised(by: NotingAuthoriser()).arrived.headers["Authorization"] == "noted")
    }

    @Test("service FA-10 authorises nothing that its authoriser does not claim")
    func claimsNothing() async throws {
        let (asked, arrived) = try await authorised(by: NotingAuthoriser(isClaiming: false))
        #expect(!asked.contains("authorise"))
        #expect(arrived.headers["Authorization"] == nil)
    }

    @Test("service FA-11 calls the authoriser once per call")
    func asksOnce() async throws {
        #expect(try await authorised(by: NotingAuthoriser()).asked.filter { $0 == "authorise" }.count == 1)
    }

    @Test("service FA-12 service D-23 answers only from what is stored while it is offline")
    func offline() async throws {
        let modes = Journal<Request.CacheMode>()
        let rig = Rig { $0.callInterceptors = [PassedRequests { modes.add($0.cacheMode) }] }
        rig.transport.onAnyRequest().respond(.text("ok"))
        let account = account(rig)
        let loader = account.makeLoader()

        account.isOffline = true
        let error = await failure { () throws(LoadingError) in try await loader.load(rig.request()) }
        account.isOffline = false
        _ = try await loader.load(rig.request())

        guard case .notStored = error?.kind else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(modes.all == [.storedOnly, .standard])
        #expect(rig.transport.received.count == 1)
    }

    @Test("service FA-13 sends the very request that was performed")
    func forwards() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request("/a?b=c")
        request.headers["X-Own"] = "1"
        request.sourceIdentifier = "screen"

        _ = try await account(rig).makeLoader().load(request)

        #expect(rig.transport.lines == ["GET /a?b=c"])
        #expect(rig.transport.requests[0].headers["X-Own"] == "1")
        #expect(rig.transport.requests[0].sourceIdentifier == "screen")
    }

    @Test("service FA-14 sends what the authoriser made of the request, and only then")
    func forwardsAuthorised() async throws {
        let signal = Signal()
        let authoriser = NotingAuthoriser(holdingUntil: signal)
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let recorder = ReportRecorder()
        let loader = rig.service.account(authorisers: [authoriser]).makeLoader()
        loader.perform(try rig.request("/a?b=c"), recorder)
        try await signal.arrivals(atLeast: 1)

        #expect(rig.transport.requests.isEmpty)
        signal.raise()

        #expect(try await recorder.journal.next() == [.success(200, "ok")])
        #expect(rig.transport.lines == ["GET /a?b=c"])
        #expect(rig.transport.requests[0].headers["Authorization"] == "noted")
    }

    @Test("service SV-10 FA-15 fails a request whose authorisation fails, with its error")
    func authorisingFails() async throws {
        struct Refused: Error {}
        let rig = Rig()
        let loader = account(rig, [Service.decorator { _ in throw Refused() }]).makeLoader()

        let error = await failure { () throws(LoadingError) in try await loader.load(rig.request()) }

        guard case .decorationFailed = error?.kind, error?.underlyingError is Refused else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("service FA-16 service D-26 reports one failure for a 401, and treats no other error as a refusal")
    func refused() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(401))
        let recorder = ReportRecorder()

        _ = rig.perform(try rig.request(), recorder)

        #expect(try await recorder.journal.next() == [.failure("call failed: unacceptableStatus(401)")])
    }

    @Test("service FA-17 reports one failure when the whole call takes longer than allowed")
    func deadline() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let recorder = ReportRecorder()
        var request = try rig.request()
        request.deadline = .milliseconds(100)

        let handle = rig.perform(request, recorder)
        _ = try await rig.time.sleepers(atLeast: 1)
        rig.time.advance(by: .milliseconds(99))
        #expect(handle.isRunning)
        rig.time.advance(by: .milliseconds(1))

        #expect(try await recorder.journal.next() == [.failure("call failed: deadlineExceeded")])
        // D-30: the exchange is over too.
        #expect(rig.events.story.contains("exchange failed: timedOut(whole exchange)"))
    }

    @Test("service FA-18 hands a cancellation down to the exchange")
    func cancels() async throws {
        let rig = Rig()
        let recorder = ReportRecorder()
        let handle = try await rig.performStalling(recorder)

        handle.cancel()
        try await rig.transport.cancellations(atLeast: 1)

        #expect(try await recorder.journal.next() == [.cancelled])
    }

    @Test("service LO-09 FA-19 asks the delegate once for the body, when it is needed again")
    func bodyPrompt() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 1)] }
        rig.transport.onAnyRequest().respond(.connectionLost(isSafeToRepeat: true)).then(.text("ok"))
        let account = account(rig)
        let (loader, other) = (account.makeLoader(), account.makeLoader())
        let (recorder, stranger) = (ReportRecorder(newBody: .text("again")), ReportRecorder(newBody: .text("not this")))
        let delegates = [recorder, stranger].map(WitnessedDelegate.init)
        for (loader, delegate) in zip([loader, other], delegates) { loader.delegate = delegate }
        var request = try rig.request()
        request.method = .put
        request.body = .writer { try await $0(Data("once".utf8)) }

        await loader.perform(request)

        #expect(try await recorder.journal.next(2) == [.askedForBody, .success(200, "ok")])
        #expect(rig.transport.received.map(\.text) == ["once", "again"])
        #expect(stranger.reported.isEmpty)
    }
}

/// Records the requests that pass.
struct PassedRequests: Interceptor {
    let look: @Sendable (Request) -> Void

    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        look(request)
        return try await next(request)
    }
}
