#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadePolicies
import LadeTesting
import SharedDoubles
import Testing

/// What cancels a call from outside of its task.
enum Ender: CaseIterable {
    case loader
    case account
    case service
}

@Suite("Lifetimes with authorisers", .timeLimit(.minutes(5)))
struct AuthorisedLifetimeTests {
    private let gate = Signal()

    private func account(of rig: Rig, _ authoriser: any Authoriser) -> Account {
        var settings = Account.Settings()
        settings.identifier = "alice"
        settings.authorisers = [authoriser]
        return rig.service.account(settings)
    }

    @Test("a call of an account with authorisers runs in its caller's task")
    func callersTask() async throws {
        let seen = Locked<[Bool]>([])
        let rig = Rig { $0.attemptInterceptors = [ScopeProbe(seen: seen)] }
        rig.transport.onAnyRequest().respond(.text("ok"))
        let token = Authorisation.Bearer(token: "fixed", scope: try Authorisation.Scope("https://svc.example.com"))

        _ = try await account(of: rig, token).makeLoader().load(rig.request())
        _ = try await account(of: rig, NotingAuthoriser()).makeLoader().load(rig.request())

        #expect(seen.withLock { $0 } == [true, true])
    }

    @Test(
        "service D-10 ends an awaited call from outside while its authoriser gets a token, and once",
        arguments: Ender.allCases,
        [false, true]
    )
    func awaitedWhileAuthorising(ender: Ender, ownAuthoriser: Bool) async throws {
        let rig = Rig()
        let token = Authorisation.Bearer(scope: try Authorisation.Scope("https://svc.example.com")) {
            [gate] (_, _) throws(LoadingError) in
            try await gate.wait()
            return .init("token")
        }
        let account = account(of: rig, ownAuthoriser ? NotingAuthoriser(holdingUntil: gate) : token)
        let loader = account.makeLoader()
        let task = Task {
            let error = await failure { () throws(LoadingError) in try await loader.load(rig.request()) }
            return (error?.isCancellation, error?.context.url, Task.isCancelled)
        }
        try await gate.arrivals(atLeast: 1)

        switch ender {
        case .loader: loader.cancelAllLoads()
        case .account: await account.signOut()
        case .service: await rig.service.shutDown()
        }

        let (isCancellation, url, isTaskCancelled) = await task.value
        #expect(isCancellation == true)
        #expect(url == "https://svc.example.com/thing")
        #expect(!isTaskCancelled)
        #expect(rig.events.story.filter { $0.hasPrefix("call f") } == ["call failed: cancelled"])
        #expect(rig.transport.received.isEmpty)
        #expect(loader.currentRequests.isEmpty)
        gate.raise()
    }
}
