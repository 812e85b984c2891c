#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import LadePolicies
import LadeTesting
import Testing

@testable import LadeCore

/// The ways to end a call early.
enum EarlyEnd: CaseIterable {
    case scope
    case task
    case both
}

/// A call in flight, with both ways to cancel it and its recorded events.
private struct Running {
    struct Ending {
        let result: Result<Response, LoadingError>
        let isTaskCancelled: Bool

        var status: Response.Status? { try? result.get().status }
        var isCancellation: Bool { if case .failure(let error) = result { error.isCancellation } else { false } }
    }

    let scope: Call.Scope
    let events: EventRecorder
    let task: Task<Ending, Never>

    /// Cancels the task first: after the scope was cancelled, the call may be over before its task can be.
    func end(by end: EarlyEnd) {
        if end != .scope { task.cancel() }
        if end != .task { scope.cancel() }
    }

    /// How many waits for credentials began and ended.
    var waits: [Int] {
        [
            events.events.count { if case .waitStarted(.authorisation) = $0 { true } else { false } },
            events.events.count { if case .waitEnded(.authorisation, _) = $0 { true } else { false } },
        ]
    }
}

/// An authoriser of an app, with its own behaviour.
private struct Own: Authoriser {
    let identifier = "own"
    var observesScope = false
    let body: @Sendable (Authorisation.Context) async throws(LoadingError) -> Void

    func claims(_ request: Request) -> Bool { true }

    func authorise(_ request: Request, in context: Authorisation.Context) async throws(LoadingError) -> Request {
        try await body(context)
        return request
    }
}

/// An interceptor that records whether calls arrive with their scope.
private struct Probe: Interceptor {
    let seen = Locked<[Bool]>([])
    var observesScope: Bool { true }

    func intercept(_ request: Request, next: Chain.Next) async throws(LoadingError) -> Response {
        seen.withLock { $0.append(next.call.scope != nil) }
        return try await next(request)
    }
}

/// Cancels a call just before it waits for credentials.
private struct LastMoment: Call.Observer {
    let end: EarlyEnd

    func record(_ event: Call.Event, of call: Call) {
        guard case .waitStarted(.authorisation) = event else { return }
        if end != .task { call.scope?.cancel() }
        if end != .scope { withUnsafeCurrentTask { $0?.cancel() } }
    }
}

/// An app's transport that does not observe scopes.
private struct Unscoped: Transport {
    let base: ScriptedTransport

    func send(_ request: Request, call: Call) async throws(LoadingError) -> Response {
        var call = call
        call.scope = nil
        return try await base.send(request, call: call)
    }
}

@Suite("Authorisation and the scope of a call", .timeLimit(.minutes(5)))
struct AuthorisationScopeTests {
    private let time = VirtualTime()
    private let transport = ScriptedTransport()
    private let refreshes = Locked(0)
    private let gate = Signal()

    init() {
        transport.on("api", where: { $0.url.host() == "api.test" }).respond(.status(200))
        transport.on("id", where: { $0.url.host() == "id.test" }).respond(.stalls)
    }

    /// Bearer tokens whose refresh waits for the gate.
    private func bearer() throws -> Authorisation.Bearer {
        Authorisation.Bearer(scope: try Authorisation.Scope("https://api.test")) {
            [refreshes, gate] (_, _) throws(LoadingError) in
            refreshes.withLock { $0 += 1 }
            try await gate.wait()
            return .init("token")
        }
    }

    private func begin(
        _ authoriser: any Authoriser,
        deadline: Duration? = nil,
        _ scope: Call.Scope = Call.Scope(),
        below links: [any Interceptor] = [],
        reportingTo sink: (any Call.Observer)? = nil
    ) throws -> Running {
        let events = EventRecorder()
        var call = Call(time: time, random: SeededRandom(seed: 1), events: [events] + [sink].compactMap(\.self))
        call.scope = scope
        call.deadline = deadline.map { time.now.advanced(by: $0) }
        let chain = Chain([AttemptInterceptor(authorisers: [authoriser])] + links, transport: transport)
        let request = try Request("https://api.test/")
        let task = Task { [call] in
            do throws(LoadingError) {
                let response = try await chain.send(request, call: call)
                return Running.Ending(result: .success(response), isTaskCancelled: Task.isCancelled)
            } catch {
                return Running.Ending(result: .failure(error), isTaskCancelled: Task.isCancelled)
            }
        }
        return Running(scope: scope, events: events, task: task)
    }

    private func waits(_ call: Running) async throws {
        try await call.events.event { if case .waitStarted(.authorisation) = $0 { true } else { false } }
    }

    @Test("a call with a token at hand stays in its task, and hands its scope on")
    func staysInItsTask() async throws {
        let probe = Probe()
        let authoriser = Authorisation.Bearer(token: "fixed", scope: try Authorisation.Scope("https://api.test"))

        let call = try begin(authoriser, below: [probe])

        #expect(await call.task.value.status == 200)
        #expect(probe.seen.withLock { $0 } == [true])
    }

    @Test(
        "the wait for the refresh of another call ends immediately, and the other call gets its token",
        arguments: EarlyEnd.allCases,
        [nil, Duration.seconds(5)]
    )
    func refreshOfAnother(end: EarlyEnd, deadline: Duration?) async throws {
        let authoriser = try bearer()
        let first = try begin(authoriser)
        try await gate.arrivals(atLeast: 1)
        let second = try begin(authoriser, deadline: deadline)
        try await waits(second)

        second.end(by: end)

        let ending = await second.task.value
        #expect(ending.isCancellation)
        #expect(ending.isTaskCancelled == (end != .scope))
        #expect(second.waits == [1, 1])
        #expect(transport.received.isEmpty)
        gate.raise()
        #expect(await first.task.value.status == 200)
        #expect(refreshes.withLock { $0 } == 1)
    }

    @Test(
        "policies PL-44 the wait for the call's own refresh ends immediately, and the refresh continues",
        arguments: EarlyEnd.allCases,
        [nil, Duration.seconds(5)]
    )
    func ownRefresh(end: EarlyEnd, deadline: Duration?) async throws {
        let authoriser = try bearer()
        let call = try begin(authoriser, deadline: deadline)
        try await gate.arrivals(atLeast: 1)

        call.end(by: end)

        let ending = await call.task.value
        #expect(ending.isCancellation)
        #expect(ending.isTaskCancelled == (end != .scope))
        #expect(call.waits == [1, 1])
        #expect(transport.received.isEmpty)
        gate.raise()
        #expect(await (try begin(authoriser)).task.value.status == 200)
        #expect(refreshes.withLock { $0 } == 1)
    }

    @Test(
        "an end between the question for a token and the wait for it is not missed",
        arguments: EarlyEnd.allCases,
        [nil, Duration.seconds(5)]
    )
    func lastMoment(end: EarlyEnd, deadline: Duration?) async throws {
        let call = try begin(bearer(), deadline: deadline, reportingTo: LastMoment(end: end))

        #expect(await call.task.value.isCancellation)
        #expect(call.waits == [1, 1])
        #expect(transport.received.isEmpty)
        gate.raise()
    }

    @Test("a call that was cancelled before it began needs no token, and is not sent")
    func givenUpBefore() async throws {
        gate.raise()
        let scope = Call.Scope()
        scope.cancel()

        let call = try begin(bearer(), scope)

        #expect(await call.task.value.isCancellation)
        #expect(call.events.story == [])
        #expect(transport.received.isEmpty)
    }

    @Test("an authoriser that supports tasks alone has one that ends with the scope", arguments: EarlyEnd.allCases)
    func authoriserInATask(end: EarlyEnd) async throws {
        let hasScope = Locked<Bool?>(nil)
        let authoriser = Own { [gate] (context) throws(LoadingError) in
            hasScope.withLock { $0 = context.call.scope != nil }
            try await gate.wait()
        }
        let call = try begin(authoriser)
        try await gate.arrivals(atLeast: 1)

        call.end(by: end)

        let ending = await call.task.value
        #expect(ending.isCancellation)
        #expect(ending.isTaskCancelled == (end != .scope))
        #expect(hasScope.withLock { $0 } == false)
        #expect(transport.received.isEmpty)
    }

    @Test("a call that is cancelled while an authoriser ignores it is not sent", arguments: EarlyEnd.allCases)
    func authoriserThatLooksAtNothing(end: EarlyEnd) async throws {
        let authoriser = Own { [gate] (_) throws(LoadingError) in
            // A task that is never cancelled.
            await Task { try? await gate.wait() }.value
        }
        let call = try begin(authoriser)
        try await gate.arrivals(atLeast: 1)

        call.end(by: end)
        gate.raise()

        #expect(await call.task.value.isCancellation)
        #expect(transport.received.isEmpty)
    }

    @Test(
        "an authoriser that supports the scope has it, and what it sends for the call ends with it",
        arguments: [nil, false, true]
    )
    func authoriserThatObserves(observingTransport: Bool?) async throws {
        let hasScope = Locked<Bool?>(nil)
        let authoriser = Own(observesScope: true) { [transport] (context) throws(LoadingError) in
            hasScope.withLock { $0 = context.call.scope != nil }
            var context = context
            if let observingTransport {
                let own: any Transport = observingTransport ? transport : Unscoped(base: transport)
                context = Authorisation.Context(call: context.call, transport: own)
            }
            _ = try await context.send(Request("https://id.test/"), call: context.call)
        }
        let call = try begin(authoriser)
        _ = try await transport.request(at: 0)

        call.end(by: .scope)

        let ending = await call.task.value
        #expect(ending.isCancellation)
        #expect(!ending.isTaskCancelled)
        #expect(hasScope.withLock { $0 } == true)
        #expect(transport.cancellations == 1)
        #expect(transport.received.count == 1)
    }

    @Test(
        "a token, the end of the scope and that of the task at the same time have one outcome",
        arguments: [false, true]
    )
    func race(hasDeadline: Bool) async throws {
        for _ in 0..<300 {
            let round = Self()
            let authoriser = try round.bearer()
            let other = try round.begin(authoriser)
            let call = try round.begin(authoriser, deadline: hasDeadline ? .seconds(5) : nil)
            try await round.gate.arrivals(atLeast: 1)

            await withTaskGroup(of: Void.self) { group in
                group.addTask { call.scope.cancel() }
                group.addTask { call.task.cancel() }
                group.addTask { round.gate.raise() }
            }

            let ending = await call.task.value
            #expect(ending.status == 200 || ending.isCancellation)
            #expect(Set(call.waits).count == 1)
            #expect(await other.task.value.status == 200)
            #expect(round.refreshes.withLock { $0 } == 1)
        }
    }
}
