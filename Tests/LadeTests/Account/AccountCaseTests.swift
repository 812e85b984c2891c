#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import Testing

@Suite("Account")
struct AccountCaseTests {
    private func account(_ rig: Rig, _ decorators: [any RequestDecorator] = []) -> Account {
        var settings = Account.Settings()
        settings.identifier = "somebody"
        settings.decorators = decorators
        return rig.service.account(settings)
    }

    @Test("service FA-01 service FA-02 is made with what authorises, and makes loaders")
    func creation() {
        let account = account(Rig(), [SAMLDecorator(clientID: "a")])
        #expect(account.settings.decorators.count == 1)
        #expect(account.makeLoader() !== account.makeLoader())
    }

    @Test("service FA-03 service SM-07 service SM-08 makes loaders that call back")
    func closures() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let loader = account(rig).makeLoader()

        let handle = loader.load(try rig.request(), on: .anywhere) { _ in }

        #expect(loader.currentRequests.count == 1)
        handle.cancel()
    }

    @Test(
        "service FA-04 service FA-05 service FA-06 tells the ending to who performed the request, once",
        arguments: [
            (ScriptedAnswer.text("ok"), Told.success(200, "ok")),
            (.status(500), .failure("call failed: unacceptableStatus(500)")),
            (.fails(.cancelled(.init())), .cancelled),
        ]
    )
    func endings(_ answer: ScriptedAnswer, _ told: Told) async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(answer)
        let witness = Witness()

        _ = rig.perform(try rig.request(), witness)

        #expect(try await witness.journal.next() == [told])
    }

    @Test("service FA-07 service FA-08 tells head and chunk to who performed the request, once")
    func streaming() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("chunk"))
        let witness = Witness(chunks: true)

        _ = rig.perform(try rig.request().streamed, witness)

        #expect(try await witness.journal.next(3) == [.head(200), .chunk("chunk"), .success(200, "")])
    }

    @Test("service FA-09 service FA-10 service FA-11 adds credentials while there are some, and asks for them once")
    func claims() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let saml = SAMLDecorator(clientID: "iplayer")
        let loader = account(rig, [saml]).makeLoader()

        _ = try await loader.load(rig.request())
        saml.samlToken = "T"
        _ = try await loader.load(rig.request())

        #expect(rig.transport.requests.map { $0.headers["Authorization"] } == [nil, "iplayer x=T"])
    }

    @Test("service FA-12 service D-23 answers only from what is stored while it is offline")
    func offline() async throws {
        let modes = Journal<Request.CacheMode>()
        let rig = Rig { $0.callInterceptors = [Peek { modes.add($0.cacheMode) }] }
        rig.transport.onAnyRequest().respond(.text("ok"))
        let account = account(rig)
        let loader = account.makeLoader()

        account.isOffline = true
        let error = await failure { () throws(LoadingError) in try await loader.load(rig.request()) }
        account.isOffline = false
        _ = try await loader.load(rig.request())

        guard case .notStored = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(modes.all == [.storedOnly, .standard])
        #expect(rig.transport.received.count == 1)
    }

    @Test("service FA-13 service FA-14 sends the very request, with what authorising added")
    func forwards() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("ok"))
        let saml = SAMLDecorator(clientID: "iplayer")
        saml.samlToken = "T"
        var request = try rig.request("/a?b=c")
        request.headers["X-Own"] = "1"

        _ = try await account(rig, [saml]).makeLoader().load(request)

        #expect(rig.transport.lines == ["GET /a?b=c"])
        #expect(rig.transport.requests[0].headers["X-Own"] == "1")
        #expect(rig.transport.requests[0].headers["Authorization"] == "iplayer x=T")
    }

    @Test("service FA-15 fails a request whose authorising fails, with its error")
    func authorisingFails() async throws {
        struct Refused: Error {}
        let rig = Rig()
        let loader = account(rig, [ClosureDecorator { _ in throw Refused() }]).makeLoader()

        let error = await failure { () throws(LoadingError) in try await loader.load(rig.request()) }

        guard case .decorationFailed(is Refused, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test("service FA-16 service D-26 tells one failure of a 401, and takes no other error for one")
    func refused() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.status(401))
        let witness = Witness()

        _ = rig.perform(try rig.request(), witness)

        #expect(try await witness.journal.next() == [.failure("call failed: unacceptableStatus(401)")])
    }

    @Test("service FA-18 hands a cancellation down to the exchange")
    func cancels() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let witness = Witness()
        let handle = rig.perform(try rig.request(), witness)
        _ = try await rig.transport.request(at: 0)

        handle.cancel()
        try await rig.transport.cancellations(atLeast: 1)

        #expect(try await witness.journal.next() == [.cancelled])
    }
}

/// Looks at requests that pass.
struct Peek: Interceptor {
    let look: @Sendable (Request) -> Void

    func intercept(_ request: Request, next: Next) async throws(LoadingError) -> Response {
        look(request)
        return try await next(request)
    }
}
