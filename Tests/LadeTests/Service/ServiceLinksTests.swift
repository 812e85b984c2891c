#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Lade
import LadeTesting
import Testing

@Suite("Service, its links", .timeLimit(.minutes(5)))
struct ServiceLinksTests {
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

    @Test("only what goes to a transport without scopes runs in a task of its own, and ends with its loader")
    func schemesAndScopes() async throws {
        let (links, transports) = (Locked<[Bool]>([]), Locked<[Bool]>([]))
        let started = Signal()
        let foreign = ClosureTransport { (_, call) throws(LoadingError) in
            transports.withLock { $0.append(call.scope != nil) }
            started.raise()
            try await Signal().wait()
            throw .cancelled(ErrorContext())
        }
        let rig = Rig {
            $0.transportsByScheme = ["own": foreign, "data": LocalTransport()]
            $0.attemptInterceptors = [ScopeProbe(seen: links)]
        }

        #expect(try await rig.loader.load(Endpoint("data:,local").text()) == "local")
        let task = Task {
            let error = await failure { () throws(LoadingError) in try await rig.loader.load(Request("own:thing")) }
            return (error?.isCancellation, Task.isCancelled)
        }
        try await started.wait()
        rig.loader.cancelAllLoads()

        let (isCancellation, isTaskCancelled) = await task.value
        #expect(isCancellation == true)
        #expect(!isTaskCancelled)
        #expect(links.withLock { $0 } == [true, true])
        #expect(transports.withLock { $0 } == [false])
    }

    @Test(
        "policies PL-01 bounds a transport that does not observe the deadline, of a scheme or of the service",
        arguments: ["own:thing", "https://svc.example.com/thing"]
    )
    func deadlinesOfTransports(address: String) async throws {
        let time = VirtualTime()
        let slow = ClosureTransport { (request, _) throws(LoadingError) in
            try await time.sleep(until: time.now.advanced(by: .seconds(3_600)))
            throw .cancelled(ErrorContext(request))
        }
        var settings = Service.Settings()
        settings.time = time
        settings.transportsByScheme = ["own": slow]
        let loader = Service(settings, transport: slow).anonymous.makeLoader()
        let error: LoadingError? = await failure { () async throws(LoadingError) -> Response in
            try await time.runAutomatically { () async throws(LoadingError) -> Response in
                try await loader.load(Request(address))
            }
        }

        guard case .deadlineExceeded(let report, _)? = error else { throw error ?? .cancelled(.init()) }
        #expect(report.limit == .seconds(60) && time.sleepers.isEmpty)
        #expect(time.now == Instant(nanoseconds: 60_100_000_000))
    }

    @Test("shows its chain in the order of the design page, and lets it be changed")
    func chain() {
        let service = Service(transport: ScriptedTransport())
        let names = [
            "Preparation", "Decoration", "Deadline", "Redirect", "CacheMode", "Retry", "Hosts", "RateLimit", "Cookie",
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

    @Test("accounts of one service share no cookies")
    func separateCookies() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("in", headers: ["Set-Cookie": "sid=1; Path=/"]))
        let first = rig.service.account(identifier: "first")
        let second = rig.service.account(identifier: "second")

        for account in [first, second, first, rig.service.anonymous] {
            _ = try await account.makeLoader().load(rig.request())
        }

        #expect(rig.transport.requests.map { $0.headers["Cookie"] } == [nil, nil, "sid=1", nil])
    }

    @Test("an account with decorators or holders of credentials has its own identity", arguments: [true, false])
    func identities(hasDecorator: Bool) {
        let rig = Rig()
        var settings = Account.Settings()
        if hasDecorator {
            settings.decorators = [OAuthDecorator()]
        } else {
            settings.credentialHolders = [OAuthDecorator()]
        }

        let (first, second) = (rig.service.account(settings), rig.service.account(settings))

        #expect(!first.identifier.isEmpty && !second.identifier.isEmpty)
        #expect(first.identifier != second.identifier)
    }
}
