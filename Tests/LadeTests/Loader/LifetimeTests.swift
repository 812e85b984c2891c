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

@Suite("Lifetimes", .timeLimit(.minutes(5)))
struct LifetimeTests {
    @Test("service D-01 service M-11 cancels the work of a released loader, and calls no completion")
    func loaderGone() async throws {
        let rig = Rig { $0.attemptInterceptors = [Repeating(times: 3)] }
        rig.transport.onAnyRequest().respond(.stalls)
        let recorder = ReportRecorder()
        let called = Locked(0)
        let executed = Signal()
        let executor = Service.CompletionExecutor { work in
            work()
            executed.step()
        }
        var loader: Loader? = rig.loader.account.makeLoader()
        loader?.perform(try rig.request(), recorder, on: executor)
        loader?.load(try rig.request(), on: executor) { _ in called.withLock { $0 += 1 } }
        _ = try await rig.transport.request(at: 1)

        loader = nil
        try await rig.transport.cancellations(atLeast: 2)
        try await executed.wait()
        try await executed.wait()

        #expect(recorder.reported.isEmpty)
        #expect(called.withLock { $0 } == 0)
        #expect(rig.transport.received.count == 2)
        #expect(rig.events.story.filter { $0 == "call failed: cancelled" }.count == 2)
    }

    @Test("finding FL-13 lets an awaited call end by itself: the task that awaits it holds its loader")
    func awaitedHoldsTheLoader() async throws {
        let rig = Rig()
        let go = Signal()
        rig.transport.onAnyRequest().respond(.text("late").after(go))
        var loader: Loader? = rig.loader.account.makeLoader()
        weak let held = loader
        let task = Task { [loader] in try await loader?.load(rig.request()).body.bytes }
        _ = try await rig.transport.request(at: 0)

        loader = nil

        #expect(held != nil)
        #expect(rig.transport.cancellations == 0)
        go.raise()
        #expect(try await task.value == Data("late".utf8))
    }

    @Test("a streamed body of an awaited call keeps its loader until it is read, cancelled or released, and no longer")
    func bodyKeepsItsLoader() async throws {
        enum End: CaseIterable { case read, cancelled, released, failed, signedOut }
        for end in End.allCases {
            let rig = Rig()
            rig.transport.onAnyRequest()
                .respond(end == .failed ? .text("abcdef").breaking(after: 3) : .text("abcdef").inPieces(of: 3))
            let account = rig.loader.account
            weak var loader: Loader?
            var response: Response?
            do {
                let temporary = account.makeLoader()
                loader = temporary
                response = try await temporary.load(rig.request().streamed)
            }
            #expect(loader != nil, "\(end)")
            #expect(rig.transport.cancellations == 0, "\(end)")

            switch end {
            case .read: #expect(try await response?.body.collect() == Data("abcdef".utf8))
            case .cancelled: response?.body.cancel()
            case .released: response = nil
            case .failed, .signedOut:
                if end == .signedOut { await account.signOut() }
                let read = response
                #expect(await failure { () throws(LoadingError) in try await read?.body.collect() } != nil)
            }

            #expect(loader == nil, "\(end)")
            withExtendedLifetime(response) {}
        }
    }

    @Test("finding DC-7 a temporary loader delivers a streamed body whole, and is freed afterwards with its service")
    func temporaryLoader() async throws {
        let transport = ScriptedTransport()
        transport.onAnyRequest().respond(.chunks(["a", "b", "c"]))
        weak var service: Service?
        let response: Response
        do {
            let owner = Service(.still(in: VirtualTime()), transport: transport)
            service = owner
            response = try await owner.anonymous.makeLoader().load(Request("https://svc.example.com/").streamed)
        }

        let bytes = try await response.body.collect()

        #expect(bytes == Data("abc".utf8))
        #expect(service == nil)
        withExtendedLifetime(response) {}
    }

    @Test("ends a streamed body that a closure has received with the loader it came by")
    func bodyEnds() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("abcdef").stalling(after: 3))
        var loader: Loader? = rig.loader.account.makeLoader()
        let request = try rig.request().streamed
        let result = await withCheckedContinuation { continuation in
            _ = loader?.load(request, on: .anywhere) { continuation.resume(returning: $0) }
        }
        var iterator = try result.get().body.makeAsyncIterator()
        let first = try await iterator.next()

        loader = nil

        #expect(first == Data("abc".utf8))
        await #expect(throws: LoadingError.self) { try await iterator.next() }
        #expect(rig.transport.cancellations == 1)
    }

    @Test("keeps a body's bytes flowing as long as its loader is there, and forgets it afterwards")
    func bodyFlows() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.chunks(["a", "b", "c"]))

        let response = try await rig.loader.load(rig.request().streamed)
        #expect(rig.loader.currentRequests.count == 1)
        let bytes = try await response.body.collect()

        #expect(bytes == Data("abc".utf8))
        #expect(rig.loader.currentRequests.isEmpty)
    }

    @Test("ends a streamed exchange when its scope is left early")
    func scope() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("abcdef").inPieces(of: 1))

        let first = try await rig.loader.withResponse(to: rig.request()) { response in
            var iterator = response.body.makeAsyncIterator()
            return try await iterator.next()
        }

        #expect(first == Data("a".utf8))
        #expect(rig.transport.cancellations == 1)
    }

    @Test("service D-10 service D-33 ends an awaited call as cancelled, without cancelling the task that awaits it")
    func awaitedFromOutside() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let task = Task {
            let error = await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) }
            return (error?.isCancellation, Task.isCancelled)
        }
        _ = try await rig.transport.request(at: 0)

        rig.loader.cancelAllLoads()

        let (isCancellation, isTaskCancelled) = await task.value
        #expect(isCancellation == true)
        #expect(!isTaskCancelled)
    }

    @Test("ends an awaited call from outside wherever it waits", arguments: Waiting.allCases)
    func awaitedWhileWaiting(_ waiting: Waiting) async throws {
        let begun = Signal()
        let rig = Rig { settings in
            switch waiting {
            case .backoff: settings.retries.limit = 5
            case .decorator:
                settings.decorators = [
                    Service.decorator { request in
                        begun.raise()
                        try await Signal().wait()
                        return request
                    }
                ]
            case .ownLink: settings.callInterceptors = [Stalling(begun: begun)]
            case .rateLimit, .gate: break
            }
        }
        let request = try rig.request()
        if waiting == .rateLimit { try rig.service.rateLimiter.setRate(0, for: ServiceKey(request)) }
        if waiting == .gate { rig.service.rateLimiter.closeGate(of: ServiceKey(request), for: .seconds(5)) }
        rig.transport.onAnyRequest().respond(.connectionLost())
        let task = Task {
            let error = await failure { () throws(LoadingError) in try await rig.loader.load(request) }
            return (error?.isCancellation, Task.isCancelled)
        }
        switch waiting {
        case .backoff, .rateLimit, .gate:
            try await rig.events.event { if case .waitStarted = $0 { true } else { false } }
        case .decorator, .ownLink: try await begun.wait()
        }

        rig.loader.cancelAllLoads()

        let (isCancellation, isTaskCancelled) = await task.value
        #expect(isCancellation == true)
        #expect(!isTaskCancelled)
        #expect(rig.service.rateLimiter.waitingCount == 0)
        #expect(rig.loader.currentRequests.isEmpty)
    }

    @Test("service D-34 ends an awaited call when the task around it is cancelled")
    func taskCancelled() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let task = Task { await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) } }
        _ = try await rig.transport.request(at: 0)

        task.cancel()

        #expect(await task.value?.isCancellation == true)
        #expect(rig.transport.cancellations == 1)
    }

    @Test("signing out ends the account's work, refuses more, and forgets its credentials")
    func signOut() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let decorator = Service.SAMLDecorator(clientID: "iplayer")
        decorator.samlToken = "T"
        var settings = Account.Settings()
        settings.identifier = "alice"
        settings.decorators = [decorator]
        let account = rig.service.account(settings)
        let loader = account.makeLoader()
        let other = Task { await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) } }
        let task = Task { await failure { () throws(LoadingError) in try await loader.load(rig.request()) } }
        _ = try await rig.transport.request(at: 1)

        await account.signOut()

        #expect(await task.value?.isCancellation == true)
        #expect(
            await failure { () throws(LoadingError) in try await loader.load(rig.request()) }?.isCancellation == true
        )
        #expect(
            await failure { () throws(LoadingError) in try await account.makeLoader().load(rig.request()) }?
                .isCancellation == true
        )
        #expect(decorator.samlToken == nil)
        #expect(rig.transport.received.count == 2)
        other.cancel()
        _ = await other.value
    }

    @Test("signing out removes the cookies, and forgets what other holders of credentials know")
    func signOutForgets() async throws {
        final class Holder: Account.CredentialHolder {
            let isForgotten = Locked(false)
            func forgetCredentials() async { isForgotten.withLock { $0 = true } }
        }
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("in", headers: ["Set-Cookie": "sid=1; Path=/"]))
        let holder = Holder()
        let jar = CookieJar()
        var settings = Account.Settings()
        settings.cookies = .jar(jar)
        settings.credentialHolders = [holder]
        let account = rig.service.account(settings)
        _ = try await account.makeLoader().load(rig.request())
        _ = try await rig.service.account(settings).makeLoader().load(rig.request())
        let cookies = rig.transport.requests.map { $0.headers["Cookie"] }
        #expect(cookies == [nil, "sid=1"])

        await account.signOut()

        let isForgotten = holder.isForgotten.withLock { $0 }
        #expect(isForgotten)
        _ = try await rig.service.account(settings).makeLoader().load(rig.request())
        #expect(rig.transport.requests.last?.headers.contains("Cookie") == false)
    }

    @Test("service D-37 ends every call after the end of the service as cancelled, once")
    func shutDown() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.stalls)
        let task = Task { await failure { () throws(LoadingError) in try await rig.loader.load(rig.request()) } }
        _ = try await rig.transport.request(at: 0)

        await rig.service.shutDown()
        let recorder = ReportRecorder()
        let handle = rig.perform(try rig.request(), recorder)

        #expect(await task.value?.isCancellation == true)
        #expect(try await recorder.journal.next() == [.cancelled])
        #expect(!handle.isRunning)
        #expect(rig.transport.received.count == 1)
    }

    @Test("service D-14 releases a service with its last reference")
    func serviceGoes() async throws {
        weak var service: Service?
        weak var loader: Loader?
        func use() async throws {
            let rig = Rig()
            rig.transport.onAnyRequest().respond(.text("ok"))
            _ = try await rig.loader.load(rig.request())
            (service, loader) = (rig.service, rig.loader)
            #expect(service != nil && loader != nil)
        }

        try await use()

        #expect(service == nil)
        #expect(loader == nil)
    }
}

/// Where a call may wait without its transport.
enum Waiting: CaseIterable {
    case backoff
    case rateLimit
    case gate
    case decorator
    case ownLink
}

/// A link of the app's own that waits for ever.
private struct Stalling: Interceptor {
    let begun: Signal

    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        begun.raise()
        try await Signal().wait()
        return try await next(request)
    }
}
