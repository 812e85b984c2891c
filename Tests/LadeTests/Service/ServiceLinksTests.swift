#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Dispatch
import Lade
import LadeCallbacks
import LadeTesting
import SharedDoubles
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
            throw LoadingError(.cancelled)
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
            throw LoadingError(.cancelled, LoadingError.Context(request))
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

        guard case .deadlineExceeded(let report)? = error?.kind else { throw error ?? LoadingError(.cancelled) }
        #expect(report.limit == .seconds(60) && time.sleepers.isEmpty)
        #expect(time.now == Instant(nanoseconds: 60_100_000_000))
    }

    @Test("shows its chain in the order of the design page, and lets it be changed")
    func chain() {
        let service = Service(transport: ScriptedTransport())
        let links = ["HopInterceptor", "AttemptInterceptor", "ExchangeInterceptor", "ScriptedTransport"]
        #expect(service.chain.description == links.joined(separator: " → "))

        var settings = Service.Settings()
        settings.adjustChain = { layout in
            layout.remove(.redirect)
            layout.insert(Repeating(times: 1), above: .retry)
            layout.insert(ScopeProbe(seen: Locked([])), below: .cookies)
            layout.replace(.hosts, with: Chain.interceptor { request, next in try await next(request) })
            // Nothing stands there, as there are no authorisers.
            layout.insert(Repeating(times: 2), above: .authorisation)
        }
        let changed = Service(settings, transport: ScriptedTransport()).chain
        let others = [
            "HopInterceptor", "Repeating", "AttemptInterceptor", "ClosureInterceptor", "Repeating",
            "ExchangeInterceptor", "ScopeProbe", "ExchangeInterceptor",
        ]
        #expect(changed.interceptors.map { "\(type(of: $0))" } == others)
        settings.adjustChain = { $0.removeAll() }
        #expect(Service(settings, transport: ScriptedTransport()).chain.interceptors.isEmpty)
    }

    @Test(
        "policies PL-70 policies PL-74 nothing is hedged by default; with the setting it is, also where the chain is divided",
        arguments: [nil, Chain.Layout.Slot.retry, .hedging, .hosts]
    )
    func hedging(slot: Chain.Layout.Slot?) async throws {
        #expect(!Self.slots(Service.Settings()).contains(.hedging))
        var settings = Service.Settings()
        let time = VirtualTime()
        settings.time = time
        settings.hedging = .delay(.milliseconds(200))
        settings.hosts.setAddresses(["svc.example.com", "10.0.0.1"], for: "svc.example.com")
        #expect(Self.slots(settings).contains(.hedging))
        if let slot {
            settings.adjustChain = {
                $0.insert(Chain.interceptor(observesScope: true) { try await $1($0) }, above: slot)
            }
        }
        let transport = ScriptedTransport(answering: .text("slow").after(.seconds(5)), .text("fast"))
        let loader = Service(settings, transport: transport).anonymous.makeLoader()

        let text = try await time.runAutomatically {
            try await loader.load(Request("https://svc.example.com/a")).text
        }

        #expect(text == "fast")
        #expect(transport.requests.map(\.destination) == [nil, .host("10.0.0.1", port: nil)])
    }

    private static func slots(_ settings: Service.Settings) -> [Chain.Layout.Slot] {
        let (slots, transport) = (Locked<[Chain.Layout.Slot]>([]), ScriptedTransport())
        var settings = settings
        settings.adjustChain = { layout in slots.withLock { $0 = layout.slots } }
        _ = Service(settings, transport: transport).chain
        return slots.withLock(\.self)
    }

    @Test("collects bodies above a transport that does not, and in no other chain", arguments: [true, false])
    func buffering(isForeign: Bool) async throws {
        let foreign = ClosureTransport { request, _ in
            let gate = Signal()
            gate.raise()
            let body = Response.Body(streaming: ReadyPieces(["he", "llo"], then: gate))
            return Response(status: 200, body: body, request: request)
        }
        let scripted = ScriptedTransport()
        scripted.onAnyRequest().respond(.text("hello"))
        let service = Service(transport: isForeign ? foreign : scripted)

        let response = try await service.anonymous.makeLoader().load(Request("https://svc.example.com/a"))

        #expect(response.body.bytes == Data("hello".utf8))
        let collects = service.chain.interceptors.contains { ($0 as? ExchangeInterceptor)?.collectsBodies ?? false }
        #expect(collects == isForeign)
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

    @Test("policies PL-62 leaves the request alone that has a trace of its own, and one that is not HTTP")
    func ownTrace() async throws {
        let rig = Rig {
            $0.tracing = Tracing()
            $0.transportsByScheme = [
                "own": ClosureTransport { (request, _) throws(LoadingError) in
                    Response(status: 200, headers: request.headers, body: Response.Body(), request: request)
                }
            ]
        }
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        request.headers.set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")

        _ = try await rig.loader.load(request)
        let own = try await rig.loader.load(Request("own://host/"))

        #expect(rig.transport.requests.first?.headers.all("traceparent") == request.headers.all("traceparent"))
        #expect(!own.headers.contains("traceparent"))
    }

    /// Keeps the addresses of the calls that it needs, and of all that it receives.
    private struct Choosy: Call.Observer {
        let needed: String?
        let received = Journal<String>()

        func observes(_ request: Request) -> Bool { needed == nil || request.url.path().hasSuffix(needed ?? "") }
        func record(_ event: Call.Event, of call: Call) {
            if case .callStarted(_, let url) = event { received.add(url) }
        }
    }

    @Test("policies PL-64 a call that no observer needs makes no events, and one that any needs makes them for all")
    func neededCalls() async throws {
        let (few, all) = (Choosy(needed: "/needed"), Choosy(needed: nil))
        let rig = Rig { $0.observers = [few] }
        rig.transport.onAnyRequest().respond(.text("ok"))

        _ = try await rig.loader.load(rig.request("/other"))
        _ = try await rig.loader.load(rig.request("/needed"))
        #expect(few.received.all == ["https://svc.example.com/needed"])

        let observation = rig.service.observe(with: all)
        _ = try await rig.loader.load(rig.request("/other"))
        observation.end()
        #expect(all.received.all == ["https://svc.example.com/other"])
        #expect(few.received.all.count == 2)
    }

    /// Keeps the names of the events that it receives.
    private struct Naming: Call.Observer {
        let needsHeads: Bool
        let received = Journal<String>()

        func record(_ event: Call.Event, of call: Call) {
            if case .headReceived = event { received.add("head") } else { received.add("other") }
        }
    }

    @Test("policies PL-64 no event shows a head where no observer needs one", arguments: [true, false])
    func neededHeads(isNeeded: Bool) async throws {
        let naming = Naming(needsHeads: isNeeded)
        let rig = Rig { $0.observers = [naming] }
        rig.transport.onAnyRequest().respond(.text("ok"))

        _ = try await rig.loader.load(rig.request())

        #expect(naming.received.all.contains("head") == isNeeded)
        #expect(naming.received.all.contains("other"))
    }

    private enum Screen: Request.Tag { static let defaultValue = "" }

    @Test("policies PL-63 continues a trace that the request or its task has, with a parent for each exchange")
    func continuedTrace() async throws {
        var tracing = Tracing()
        tracing.state = "lade=1"
        let rig = Rig {
            $0.tracing = tracing
            $0.attemptInterceptors = [Repeating(times: 1)]
        }
        rig.transport.onAnyRequest().respond(.connectionLost()).then(.text("ok"))
        let trace = "12345678901234567890123456789012"
        let context = TraceContext(parents: ["00-\(trace)-1234567890123456-02"], states: ["foo=1,lade=0"])
        var request = try rig.request()
        request.traceContext = context

        _ = try await rig.loader.load(request)
        try await TraceContext.$current.withValue(context) { _ = try await rig.loader.load(rig.request()) }
        _ = try await rig.loader.load(rig.request())

        let fields = rig.transport.requests.map { $0.headers["traceparent"] ?? "" }
        #expect(fields.count == 4)
        let continued = fields.prefix(3)
        #expect(continued.allSatisfy { $0.hasPrefix("00-\(trace)-") && $0.hasSuffix("-02") })
        #expect(Set(continued).count == 3 && !continued.contains { $0.contains("1234567890123456-02") })
        #expect(rig.transport.requests.prefix(3).allSatisfy { $0.headers["tracestate"] == "lade=1,foo=1" })
        #expect(!fields[3].contains(trace) && fields[3].hasSuffix("-01"))
    }

    @Test("policies PL-62 an observer reads the tags of a request when its call starts")
    func observedTags() async throws {
        let screens = Journal<String>()
        struct Sink: Call.Observer {
            let screens: Journal<String>
            func record(_ event: Call.Event, of call: Call) {
                if case .callStarted = event { screens.add(call[Screen.self]) }
            }
        }
        let rig = Rig { $0.observers = [Sink(screens: screens)] }
        rig.transport.onAnyRequest().respond(.text("ok"))
        var request = try rig.request()
        request[Screen.self] = "start"

        _ = try await rig.loader.load(request)
        _ = try await rig.loader.load(rig.request())

        #expect(screens.all == ["start", ""])
    }

    /// Gives the same number each time.
    private struct Constant: RandomSource {
        var number: UInt64
        func next() -> UInt64 { number }
    }

    @Test("policies PL-62 no trace and no parent is all zero, and each has its digits, whatever the random numbers")
    func zeroTrace() async throws {
        let rig = Rig {
            $0.tracing = Tracing()
            $0.random = Constant(number: 0)
        }
        rig.transport.onAnyRequest().respond(.text("ok"))

        _ = try await rig.loader.load(rig.request())

        let zeros = String(repeating: "0", count: 15)
        let expected = "00-0\(zeros)\(zeros)1-\(zeros)1-01"
        #expect(rig.transport.requests.first?.headers["traceparent"] == expected)
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

    @Test("policies PL-61 reports the whole of a call once, when its call and its exchanges have ended")
    func consumptionEndsOnce() throws {
        let totals = Journal<ConsumptionObserver.Total>()
        let observer = ConsumptionObserver(on: nil) { totals.add($0) }
        let call = Call()
        let url = try #require(URL(string: "https://svc.example.com/thing")).redacted()
        var metrics = Response.Metrics()
        metrics.responseBodyBytes = 5

        observer.record(.callStarted(method: .get, url: url), of: call)
        observer.record(.exchangeStarted(method: .get, url: url), of: call)
        observer.record(.callFinished(status: 200), of: call)
        #expect(totals.all.isEmpty)
        observer.record(.exchangeFinished(metrics), of: call)
        observer.record(.exchangeFinished(metrics), of: call)
        observer.record(.callFinished(status: 200), of: call)

        #expect(totals.all.map(\.exchanges) == [1] && totals.all.map(\.status) == [200])
        #expect(totals.all.map(\.bytesReceived) == [metrics.bytesReceived])
    }

    @Test("policies PL-61 reports on the queue that it was given")
    func consumptionQueue() async throws {
        let queue = DispatchQueue(label: "tests")
        let key = DispatchSpecificKey<Bool>()
        queue.setSpecific(key: key, value: true)
        let isOnQueue = Journal<Bool>()
        let report: @Sendable () -> Void = { isOnQueue.add(DispatchQueue.getSpecific(key: key) == true) }
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("hello"))
        let observer = ConsumptionObserver(on: queue, exchange: { _ in report() }, call: { _ in report() })
        let observation = rig.service.observe(with: observer)

        _ = try await rig.loader.load(rig.request())

        #expect(try await isOnQueue.next(2) == [true, true])
        observation.end()
    }

    @Test("an observer is notified of the calls from its addition to the release of its observation")
    func observers() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("hello"))
        let totals = Journal<ConsumptionObserver.Total>()
        _ = try await rig.loader.load(rig.request())

        var observation: Service.Observation? = rig.service.observe(
            with: ConsumptionObserver(on: nil) { totals.add($0) }
        )
        _ = try await rig.loader.load(rig.request())
        #expect(totals.all.count == 1)
        withExtendedLifetime(observation) {}
        observation = nil
        _ = try await rig.loader.load(rig.request())

        #expect(totals.all.count == 1)
    }

    @Test("only HTTP requests get fields of the service, and of the cache mode", arguments: [true, false])
    func fieldsOfHTTP(isHTTP: Bool) async throws {
        let own = ScriptedTransport(answering: .text("own"))
        let rig = Rig {
            $0.transportsByScheme = ["own": own]
            $0.userAgent = .string("Tests")
        }
        rig.transport.onAnyRequest().respond(.text("https"))
        var request = try Request(isHTTP ? "https://host/" : "own://host/")
        request.cacheMode = .revalidate

        _ = try await rig.loader.load(request)

        let sent = try #require((isHTTP ? rig.transport : own).requests.first)
        #expect(sent.headers["User-Agent"] == (isHTTP ? "Tests" : nil))
        #expect(sent.headers["Cache-Control"] == (isHTTP ? "no-cache" : nil))
    }

    @Test("the cache mode leaves a field of the request's own alone")
    func ownCacheControl() async throws {
        let rig = Rig()
        rig.transport.onAnyRequest().respond(.text("hello"))
        var request = try rig.request()
        request.cacheMode = .revalidate
        request.headers.set("Cache-Control", "max-age=5")

        _ = try await rig.loader.load(request)

        #expect(rig.transport.requests.first?.headers.all("Cache-Control") == ["max-age=5"])
    }

    @Test("nothing is sent again when the retry budget of the service is empty")
    func emptyBudget() async throws {
        var budget = RetryBudget.Settings()
        budget.capacity = 1
        let rig = Rig { [budget] in
            $0.retryBudget = RetryBudget(budget)
            $0.retries.limit = 2
            $0.retries.backoff = .none
        }
        rig.transport.onAnyRequest().respond(.status(503))

        await #expect(throws: LoadingError.self) { try await rig.loader.load(rig.request()) }

        #expect(rig.transport.requests.count == 1)
    }

    @Test("the settings of SPTDataLoader retry only on request, and use the given clock")
    func dataLoaderSettings() throws {
        let time = VirtualTime()

        let settings = try Service.Settings.dataLoader(time: time)

        #expect(settings.retries.limit == 0 && settings.retries.delayLimit == .seconds(3_600))
        #expect(settings.time as? VirtualTime === time)
        #expect(settings.deadlines.buffered == nil && settings.deadlines.attempt == .seconds(20))
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

    @Test(
        "an account with authorisers, decorators or holders of credentials has its own identity",
        arguments: ["authoriser", "decorator", "holder"]
    )
    func identities(kind: String) {
        let rig = Rig()
        var settings = Account.Settings()
        switch kind {
        case "authoriser": settings.authorisers = [NotingAuthoriser()]
        case "decorator": settings.decorators = [Service.OAuthDecorator()]
        default: settings.credentialHolders = [Service.OAuthDecorator()]
        }

        let (first, second) = (rig.service.account(settings), rig.service.account(settings))

        #expect(!first.identifier.isEmpty && !second.identifier.isEmpty)
        #expect(first.identifier != second.identifier)
    }
}
